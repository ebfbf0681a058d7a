//! Helpers that run scenarios.

use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::{Setting, Source};
use xoff_cosim::scenario::Scenario;
use xoff_waves::report::Summary;

/// Returns a built-in scenario with settings applied.
pub fn scenario(name: &str, settings: &[(&str, &str)]) -> Scenario {
    let setting = |(key, value): &(&str, &str)| Setting {
        key: (*key).into(),
        value: (*value).into(),
    };
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    Source::find(name).unwrap().read(&settings).unwrap()
}

/// Runs a scenario, in which nothing may go wrong.
pub fn summary(name: &str, settings: &[(&str, &str)]) -> Summary {
    let report = execute::run(&scenario(name, settings), &RunOptions::default()).unwrap();
    let wrong = ["payload_errors", "completion_errors", "failed_qps"];
    for metric in wrong {
        assert_eq!(
            report.summary.metrics[metric], 0.0,
            "{name} {settings:?}: {metric}"
        );
    }
    report.summary
}

/// Asserts that the expectations hold.
pub fn holds(summary: &Summary) {
    let failed: Vec<_> = summary
        .expectations
        .iter()
        .filter(|expectation| !expectation.held)
        .collect();
    assert!(failed.is_empty(), "{}: {failed:?}", summary.scenario);
}
