//! Helpers that run scenarios.

use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::{Setting, Source};
use xoff_network::scenario::{Recovery, Scenario};
use xoff_waves::report::{Finding, FindingKind, Report, Summary};

/// Returns a built-in scenario with settings applied.
pub fn scenario(name: &str, settings: &[(&str, &str)]) -> Scenario {
    let setting = |(key, value): &(&str, &str)| Setting {
        key: (*key).into(),
        value: (*value).into(),
    };
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    Source::find(name)
        .unwrap()
        .read(&settings)
        .unwrap()
        .written()
        .clone()
}

/// Runs a scenario with the protocol monitors at every port. They have to find that frames break these rules, and no
/// other.
pub fn run_watched(scenario: &Scenario, broken: &[&str]) -> Report {
    watched(
        scenario,
        &[FindingKind::Violation, FindingKind::ByDesign],
        broken,
    )
}

/// The same, where frames may break what the scenario says that they break by design.
pub fn run_by_design(scenario: &Scenario) -> Report {
    watched(scenario, &[FindingKind::Violation], &[])
}

/// Runs a scenario with monitors, whose findings of these kinds have to be of these rules.
fn watched(scenario: &Scenario, kinds: &[FindingKind], broken: &[&str]) -> Report {
    let scenario = &scenario.checked().unwrap();
    let options = RunOptions {
        check: Some(execute::all_ports(scenario)),
        ..RunOptions::new(xoff_cosim::endpoints())
    };
    let report = execute::run(scenario, &options).unwrap();
    let of_kind = |finding: &&Finding| kinds.contains(&finding.kind);
    let violations = report.summary.findings.iter().filter(of_kind);
    let found: Vec<&str> = (violations.clone())
        .filter_map(|finding| finding.text.split(':').next())
        .collect();
    assert_eq!(
        found,
        broken,
        "{}: {:#?}",
        scenario.name,
        violations.collect::<Vec<_>>()
    );
    report
}

/// Runs a scenario, in which nothing may go wrong.
pub fn summary(name: &str, settings: &[(&str, &str)]) -> Summary {
    let scenario = scenario(name, settings);
    // Go-back-0 does not conform to RoCE: after a loss it goes back behind what was acknowledged. A READ is asked for
    // again, and nothing acknowledges it but its responses.
    let go_back_0 = scenario
        .flows
        .iter()
        .any(|flow| flow.recovery == Recovery::GoBack0 && !flow.operation.returns());
    let report = run_watched(&scenario, if go_back_0 { &["ack-back"] } else { &[] });
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
