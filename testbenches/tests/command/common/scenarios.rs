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

/// Hosts with these names, and a link from each to the switch `s`, as a part of the text of a scenario. It ends in the
/// table of the last host, to which keys may be added; the switch is in the other part.
pub fn star(hosts: &[&str]) -> String {
    let link = |host: &&str| format!("[[links]]\nends = [\"{host}\", \"s\"]\n");
    let host = |host: &&str| format!("[[hosts]]\nname = \"{host}\"\n");
    hosts
        .iter()
        .map(link)
        .chain(hosts.iter().map(host))
        .collect()
}
