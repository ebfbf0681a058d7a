//! Networks as scenarios describe them, and what becomes of them.

use xoff_sim::time::Time;

use super::*;
use crate::metrics::{Metric, Quantity, Recorder};
use crate::network::Simulation;

/// A scenario of 50 µs with model NICs.
fn scenario(text: &str) -> Scenario {
    let head = "title = 'network'\nduration = '50 us'\n[host]\nnic = 'model'\n";
    let scenario: Scenario = toml::from_str(&format!("{head}{text}")).unwrap();
    scenario.check().unwrap();
    scenario
}

/// The metrics of a whole run.
fn run(scenario: &Scenario) -> (Simulation, crate::metrics::Metrics) {
    let mut simulation = Simulation::new(scenario).unwrap();
    let mut recorder = Recorder::new(&simulation);
    simulation
        .run_until(Time::ZERO + scenario.duration)
        .unwrap();
    let metrics = recorder.metrics(&simulation);
    (simulation, metrics)
}

/// Two racks of two hosts, joined by two switches: every group is linked each with each.
const RACKS: &str = "
    [[hosts]]
    name = 'a'
    count = 2
    [[hosts]]
    name = 'b'
    count = 2
    [[switches]]
    name = 't'
    count = 2
    faults = ['dst 10.0.0.4, psn +10, shots 1: drop']
    [[switches]]
    name = 'l'
    count = 2
    [[links]]
    ends = ['a', 't0']
    [[links]]
    ends = ['b', 't1']
    [[links]]
    ends = ['t', 'l']
    faults = ['dst 10.0.0.4, psn +20, shots 1: drop']
    [[flows]]
    name = 'f'
    from = 'a'
    to = 'b1'
    message = '64 KiB'
    count = 1
";

#[test]
fn a_group_of_switches_is_linked_and_faulty_as_a_group() {
    let scenario = scenario(RACKS);
    let plan = Plan::new(&scenario);
    assert_eq!(
        plan.names,
        ["a0", "a1", "b0", "b1", "t0", "t1", "l0", "l1"]
    );
    // 2 + 2 cables to hosts, and 2 · 2 between the switches.
    assert_eq!(plan.cables.len(), 8);
    assert_eq!(plan.ports, [1, 1, 1, 1, 4, 4, 2, 2]);
    let (simulation, metrics) = run(&scenario);
    assert!(simulation.finished());
    let uses = simulation.rule_uses(&scenario);
    let of = |place: &str| {
        let rule = uses.iter().find(|rule| rule.place == place).unwrap();
        (rule.counters.matched, rule.counters.hit)
    };
    // Each switch and each cable has the rule for itself: t0 drops packet 10 of the first flow and lets that of the
    // second pass, which t1 drops. Data goes up only, by one uplink of t0 or by two.
    let (_, in_switches) = of("switches.t.faults.0");
    assert_eq!(in_switches, 2, "one at each ToR");
    let (_, on_links) = of("links.2.faults.0");
    assert!((1..=2).contains(&on_links), "one on each uplink in use");
    assert_eq!(metrics[&Metric::network(Quantity::PayloadErrors)], 0.0);
}
