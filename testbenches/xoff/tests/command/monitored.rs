//! Tests of scenarios with the protocol monitors: every port is a tap.

use xoff_monitor::{Habit, Report, Rule};
use xoff_network::scenario::Scenario;
use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::time::Time;

use crate::common::run;
use crate::scenario_runs::scenario;
use xoff::Outcome;
use xoff::run::monitors::Monitors;

/// Runs a scenario and returns what the monitors found at the ports of switches and hosts: first at nodes that are not
/// `known` to break rules, then at those that are.
fn watched(scenario: &Scenario, known: &[&str]) -> [Report; 2] {
    let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
    let is_known = |(node, _): &(NodeId, PortId)| {
        known.contains(&simulation.names()[node.0 as usize].as_str())
    };
    let (known, others): (Vec<_>, Vec<_>) = simulation.all_ports().into_iter().partition(is_known);
    let mut monitors = [others, known].map(|ports| {
        Monitors::at(
            Monitors::rules(scenario),
            &mut simulation,
            &ports,
            |_, _| (),
        )
    });
    let see = |records: &[Record]| {
        for monitors in &mut monitors {
            records.iter().for_each(|record| monitors.see(record));
        }
    };
    simulation
        .run_until_observed(Time::ZERO + scenario.duration, see)
        .unwrap();
    monitors.map(Monitors::into_report)
}

/// Runs a scenario in which the monitors find violations only at `known` nodes, and returns the findings.
fn found(name: &str, settings: &[(&str, &str)], loss: Option<&str>, known: &[&str]) -> [Report; 2] {
    let mut scenario = scenario(name, settings);
    scenario.expect.clear();
    if let Some(rule) = loss {
        scenario.links[0].faults.push(rule.parse().unwrap());
    }
    let reports = watched(&scenario, known);
    assert_eq!(reports[0].violations, [], "{name} {settings:?}");
    for report in &reports {
        assert_eq!(report.remarks.get(&Habit::Unpaired), None);
    }
    reports
}

#[test]
fn monitors_find_nothing_at_any_port_of_a_pair() {
    for (nic, ip) in [
        ("rtl", "v4"),
        ("rtl", "v6"),
        ("model", "v4"),
        ("model", "v6"),
    ] {
        let settings = [
            ("duration", "200 us"),
            ("host.nic", nic),
            ("host.ip", ip),
            ("flows.bulk.message", "20 KB"),
        ];
        let checked = |report: &Report, rule| report.rules[rule].checked;
        let [whole, _] = found("pair", &settings, None, &[]);
        assert!(checked(&whole, Rule::PsnOrder) > 500);
        assert_eq!(checked(&whole, Rule::ResendStart), 0);
        let from_a = match ip {
            "v6" => "src fd00::1, chance 1/50: drop",
            _ => "src 10.0.0.1, chance 1/50: drop",
        };
        for loss in [from_a, "any, chance 1/30: drop"] {
            let [lossy, _] = found("pair", &settings, Some(loss), &[]);
            assert!(checked(&lossy, Rule::ResendStart) > 5);
            assert!(checked(&lossy, Rule::NakFirstMissing) > 5);
        }
    }
}

#[test]
fn monitors_find_nothing_at_any_port_of_an_incast() {
    for (nic, duration) in [("rtl", "300 us"), ("model", "3 ms")] {
        for dcqcn in ["true", "false"] {
            let settings = [
                ("variant", "static"),
                ("duration", duration),
                ("measure_from", "0 us"),
                ("host.nic", nic),
                ("host.dcqcn.on", dcqcn),
                ("switches.t.ecn.pmax", "1.0"),
            ];
            let [report, _] = found("incast", &settings, None, &[]);
            let checked = |rule| report.rules[rule].checked;
            assert!(checked(Rule::PauseObeyed) > 100);
            assert_eq!(checked(Rule::CnpCause) > 2, dcqcn == "true");
            assert_eq!(checked(Rule::CnpInterval) > 0, dcqcn == "true");
        }
    }
}

/// Go-back-0 does not conform to RoCE: after a loss the responder asks for the first packet of the message,
/// acknowledged or not, and the requester restarts there. Its pair breaks that rule and no other, the other pairs none.
#[test]
fn monitors_find_go_back_0_and_nothing_else_in_livelock() {
    for (nic, duration) in [("rtl", "500 us"), ("model", "2 ms")] {
        let settings = [("duration", duration), ("host.nic", nic)];
        let [_, report] = found("livelock", &settings, None, &["a0", "b0", "s0"]);
        let broken = report
            .rules
            .iter()
            .filter(|(_, tally)| tally.violations > 0);
        let broken: Vec<_> = broken.map(|(rule, _)| rule).collect();
        assert_eq!(broken, [Rule::AckBack]);
    }
}

/// `xoff run --check` says what was watched; a violation is a finding and fails the run, on the terminal, in
/// summary.json and on the page.
#[test]
fn a_run_with_check_fails_for_a_violation() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let checked = |scenario: &str, ports: &str| {
        let arguments = [
            &["run"],
            &*scenario.split(' ').collect::<Vec<_>>(),
            &["--set", "duration=500 us"],
            &["--set", "host.nic=model", "--set", "expect=[]"],
            &["--out", out, "--check", ports],
        ]
        .concat();
        let said = run(&arguments, None, false);
        (said.outcome.unwrap(), said.out)
    };
    let (outcome, said) = checked("pair", "all");
    assert_eq!(outcome, Outcome::Held, "{said}");
    assert!(
        said.contains(" ports, ") && said.contains(" checks, no violation\n"),
        "{said}"
    );

    // What a scenario breaks by design is counted apart.
    let (outcome, said) = checked("livelock", "a0,b0,s0");
    assert_eq!(outcome, Outcome::Held, "{said}");
    assert!(
        said.contains("  by design: ack-back: ") && !said.contains("  violation: "),
        "{said}"
    );
    assert!(
        said.contains(" checks, no violation, ") && said.contains(" by design\n"),
        "{said}"
    );

    let (outcome, said) = checked("livelock --set breaks=[]", "a0,b0,s0");
    assert_eq!(outcome, Outcome::Failed);
    let finding = "  violation: ack-back: ";
    assert!(
        said.contains(finding) && said.contains(" violations\n"),
        "{said}"
    );
    let file =
        |name: &str| std::fs::read_to_string(folder.path().join("livelock").join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&file("summary.json")).unwrap();
    let violations = summary["findings"].as_array().unwrap().iter();
    let violations: Vec<_> = violations
        .filter(|finding| finding["kind"] == "violation")
        .collect();
    assert_eq!(violations.len(), 1);
    assert!(
        violations[0]["details"][1]
            .as_str()
            .unwrap()
            .contains(" at b0.0: NAK")
    );
    assert!(summary["monitored"]["violations"].as_u64().unwrap() > 100);
    assert!(file("report.html").contains("The monitors found violations of standards."));
    // The other pair, which goes back to N, keeps all rules.
    let (outcome, said) = checked("livelock", "an,bn");
    assert_eq!(outcome, Outcome::Held, "{said}");
}
