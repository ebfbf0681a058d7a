//! Faults in a Clos network of 32 hosts.

use super::*;
use crate::Run;
use crate::results::Summary;
use crate::scenario::event::{Action, Event, Faults, PauseStorm};
use crate::scenario::{Clos, NicKind, Pingmesh, Scenario, Topology};

fn faults(from: &str, to: &str, rule: &str) -> Event {
    let faults = Faults {
        from: from.into(),
        to: to.into(),
        rules: vec![rule.parse().unwrap()],
    };
    Event::once(Duration::ZERO, Action::Faults(faults))
}

/// Two podsets of two racks with eight hosts, which probe each other.
fn run(events: Vec<Event>) -> Summary {
    run_for(Duration::from_ms(6), events)
}

fn run_for(duration: Duration, events: Vec<Event>) -> Summary {
    let mut scenario = Scenario::new("probes", duration);
    scenario.host.nic = NicKind::Model;
    scenario.topology = Some(Topology {
        clos: Some(Clos {
            podsets: 2,
            tors: 2,
            hosts: 8,
            leafs: 2,
            spines: 4,
            ..Clos::PAPER
        }),
        ..Topology::default()
    });
    scenario.pingmesh = Some(Pingmesh::default());
    scenario.events = events;
    let mut run = Run::new(&scenario.checked().unwrap(), &crate::Endpoints::default()).unwrap();
    run.go(&mut (), &mut []).unwrap();
    Summary::of(&mut run, &scenario.checked().unwrap()).unwrap()
}

fn told(summary: &Summary) -> Vec<&str> {
    let probes = summary.findings.iter();
    let probes = probes.filter(|finding| finding.kind == FindingKind::Probes);
    probes.map(|finding| &*finding.text).collect()
}

fn failed(summary: &Summary) -> BTreeMap<Failure, u64> {
    let mut failed = BTreeMap::new();
    for probes in &summary.probes {
        for (reason, count) in &probes.failed {
            *failed.entry(*reason).or_default() += count;
        }
    }
    failed
}

/// Every probe is answered, and the farther it goes the later.
#[test]
fn a_healthy_network() {
    let summary = run(Vec::new());
    assert_eq!(told(&summary), [""; 0]);
    let reaches: Vec<&str> = summary.probes.iter().map(|probes| &*probes.reach).collect();
    assert_eq!(reaches, ["tor", "podset", "dc"]);
    for probes in &summary.probes {
        // Every 100 µs from each of 32 hosts.
        assert_eq!((probes.pairs, probes.answered), (32, 32 * 60));
        assert_eq!(probes.failed, BTreeMap::new());
    }
    let medians = summary
        .probes
        .iter()
        .map(|probes| probes.latency_ns.unwrap()[0]);
    assert!(medians.is_sorted_by(|near, far| near < far));
}

/// One link loses frames: it is named, and its probes were sent again.
#[test]
fn a_lossy_link() {
    let summary = run(vec![faults("t1", "l0", "chance 1/30: drop")]);
    let told = told(&summary);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("rack t1: "), "{told:?}");
    assert!(
        told[0].contains(" that go over t1 → l0, there or back"),
        "{told:?}"
    );
    let failed = failed(&summary);
    assert!(failed[&Failure::SentAgain] > 10, "{failed:?}");
    assert_eq!(failed.len(), 1, "{failed:?}");
}

/// A slow host is late, and nothing of it was lost.
#[test]
fn a_slow_host() {
    let summary = run(vec![faults("h3", "t0", "any: delay 60 us")]);
    let told = told(&summary);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("h3: 6 of 6 probed pairs (tor, podset, dc) are late"),
        "{told:?}"
    );
    assert_eq!(failed(&summary), BTreeMap::new());
}

/// A host that pauses without end gets no probes: there are no answers, and later QPs give up.
#[test]
fn a_storm() {
    let storm = PauseStorm {
        host: "h20".into(),
        time: None,
        classes: None,
        interval: None,
    };
    let summary = run(vec![Event::once(
        Duration::from_ms(1),
        Action::PauseStorm(storm),
    )]);
    let told = told(&summary);
    assert_eq!(
        told,
        ["h20: 6 of 6 probed pairs (tor, podset, dc) have no answers"]
    );
    let failed = failed(&summary);
    // Four probes are under way of each pair.
    assert_eq!(failed, [(Failure::NoAnswer, 24)].into());
}

/// A dead host lets QPs give up, each with the reason, and what was sent behind.
#[test]
fn a_dead_host() {
    let summary = run_for(
        Duration::from_ms(14),
        vec![Event::once(
            Duration::from_us(150),
            Action::Die("h20".into()),
        )],
    );
    let told = told(&summary);
    assert_eq!(
        told,
        ["h20: 6 of 6 probed pairs (tor, podset, dc) have no answers"]
    );
    let failed = failed(&summary);
    assert_eq!(failed[&Failure::RetryExceeded], 6, "{failed:?}");
    assert_eq!(failed[&Failure::Flushed], 18, "{failed:?}");
}
