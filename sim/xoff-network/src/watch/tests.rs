//! Servers at one switch, some of which fail.

use super::*;
use crate::scenario::event::{Action, Event, PauseStorm};
use crate::scenario::{FlowSettings, NicKind, Scenario};
use crate::{Endpoints, Run};
use xoff_sim::time::{ByteCount, Length};

/// Four servers at a switch; each sends 4 KiB every 50 µs to the next and to the one behind it, for 4 ms.
fn servers() -> Scenario {
    let mut scenario = Scenario::new("servers", Duration::from_ms(4)).switch("s");
    scenario.host.nic = NicKind::Model;
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        scenario = scenario.host(name).link(name, "s", Length::from_m(2));
        for step in [1, 2] {
            let to = ["a", "b", "c", "d"][(number + step) % 4];
            let mut flow = FlowSettings::new(&format!("{name}{to}"), name, to);
            flow.message = ByteCount::new(4_096);
            flow.interval = Some(Duration::from_us(50));
            scenario = scenario.flow(flow);
        }
    }
    scenario.watch = Some(Watch::default());
    scenario
}

fn storm_of(host: &str) -> Event {
    let storm = PauseStorm {
        host: host.into(),
        time: Some(Duration::from_ms(1)),
        classes: None,
        interval: None,
    };
    Event::once(Duration::from_us(1_500), Action::PauseStorm(storm))
}

fn run(scenario: &Scenario) -> Run {
    let mut run = Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
    run.go(&mut (), &mut []).unwrap();
    run
}

fn seen(run: &Run) -> (Servers, Vec<Finding>) {
    let watch = run.recorder.watch().unwrap();
    (watch.servers(), watch.findings())
}

#[test]
fn quiet_servers_have_no_rows() {
    let (servers, findings) = seen(&run(&servers()));
    assert_eq!((servers.number, servers.intervals.len()), (4, 4));
    assert_eq!(
        (servers.noted, servers.rows, findings),
        (vec![], vec![], vec![])
    );
    assert_eq!(
        servers.intervals.iter().map(|all| all.available).min(),
        Some(4)
    );
}

/// `b` stops its switch from 1.5 to 2.5 ms: half of two intervals each. What is sent to it waits, and that is all: a
/// server whose other flows go on is available, and so is `b`, whose own requests leave.
#[test]
fn a_storm_is_an_alarm_while_it_lasts() {
    let mut scenario = servers();
    scenario.events = vec![storm_of("b")];
    let (servers, findings) = seen(&run(&scenario));
    let alarms: Vec<(&str, u64)> = (servers.rows.iter())
        .filter(|row| row.alarm)
        .map(|row| (&*row.server, row.from_ns))
        .collect();
    assert_eq!(alarms, [("b", 1_000_000), ("b", 2_000_000)]);
    let stopped: u64 = servers.rows.iter().map(|row| row.stopped_ns).sum();
    assert!(stopped.abs_diff(1_000_000) < 2_000, "{stopped}");
    // Every 419 µs, and the end.
    assert_eq!(servers.noted[0].pauses_sent, 4);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0]
            .text
            .starts_with("b is in alarm in 2 of 4 intervals of 1 ms"),
        "{findings:?}"
    );
    assert_eq!(
        (findings[0].from_ns, findings[0].to_ns),
        (1_000_000, Some(3_000_000))
    );
}

/// A dead server is unavailable from the first whole interval on. Those that send to it have other flows that go on.
#[test]
fn a_dead_server_is_unavailable() {
    let mut scenario = servers();
    scenario.events = vec![Event::once(
        Duration::from_us(1_500),
        Action::Die("c".into()),
    )];
    let run = run(&scenario);
    assert_eq!(run.recorder.watch().unwrap().worst(), (0, 1));
    let (servers, findings) = seen(&run);
    let available: Vec<u64> = servers.intervals.iter().map(|all| all.available).collect();
    assert_eq!(available, [4, 4, 3, 3]);
    assert_eq!(servers.noted.len(), 1);
    assert_eq!(
        (&*servers.noted[0].name, servers.noted[0].unavailable),
        ("c", 2)
    );
    assert_eq!(servers.availability(), 14.0 / 16.0);
    assert_eq!(servers.availability_text(), "87.500 %");
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].text,
        "3 of 4 servers were available at worst, in the 1 ms before 3 ms"
    );
}

/// The thresholds are parameters, and what is watched changes no frame.
#[test]
fn who_watches_changes_nothing() {
    let mut scenario = servers();
    scenario.events = vec![storm_of("b")];
    let watched = run(&scenario);
    scenario.watch = Some(Watch {
        interval: Duration::from_us(300),
        pauses: 1e9,
        stopped: 1.0,
    });
    let patient = run(&scenario);
    assert_eq!(patient.recorder.watch().unwrap().worst().0, 0);
    assert_eq!(seen(&patient).0.intervals.len(), 13);
    scenario.watch = None;
    let alone = run(&scenario);
    assert!(alone.recorder.watch().is_none());
    for other in [&patient, &alone] {
        assert_eq!(other.simulation.digest(), watched.simulation.digest());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |change: fn(&mut Watch)| {
        let mut scenario = servers();
        let watch = scenario.watch.as_mut().unwrap();
        change(watch);
        scenario.checked().unwrap_err().to_string()
    };
    assert_eq!(
        refused(|watch| watch.interval = Duration::from_ms(5)),
        "watch.interval: 5 ms must be above 0 and at most the duration, 4 ms"
    );
    assert_eq!(
        refused(|watch| watch.pauses = -1.0),
        "watch.pauses: -1 must be 0 or above: pause frames a second"
    );
    assert_eq!(
        refused(|watch| watch.stopped = 2.0),
        "watch.stopped: 2 must be 0 to 1: a part of the interval"
    );
}
