//! Tests in small networks with model NICs.

use std::collections::BTreeSet;

use xoff_sim::frame::Frame;
use xoff_sim::kernel::{Direction, NodeId, PortId, Record};
use xoff_sim::switch::forwarding::Forwarding;
use xoff_sim::switch::{Limit, NextHop};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate, Time};
use xoff_sim::wire::{EtherType, Ethernet, EthernetRepr, MacAddr, Pfc, PfcRepr, control_frame};

use super::*;
use crate::Station;
use crate::metrics::{Metric, Metrics, Quantity, Recorder};
use crate::plan::Plan;
use crate::results::{FindingKind, ns};
use crate::scenario::{FlowSettings, NicKind, Scenario};
use crate::testing::to_the_end;

const CLASS: u8 = 3;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// A scenario with these hosts, each at the switch that its name ends in, and static XOFF at 40 KB.
fn network(hosts: &[(&str, &str)], cables: &[(&str, &str)], duration: Duration) -> Scenario {
    let mut scenario = Scenario::new("test", duration);
    scenario.host.nic = NicKind::Model;
    let mut switches = BTreeSet::new();
    for (host, switch) in hosts {
        scenario = scenario.host(host).link(host, switch, Length::from_m(2));
        switches.insert(*switch);
    }
    for (a, b) in cables {
        scenario = scenario.link(a, b, Length::from_m(20));
        switches.extend([*a, *b]);
    }
    for switch in switches {
        scenario = scenario.switch(switch);
    }
    for switch in &mut scenario.switches {
        switch.xoff = Limit::Static(ByteCount::new(40_000));
    }
    scenario
}

fn flow(name: &str, from: &str, to: &str) -> FlowSettings {
    let mut flow = FlowSettings::new(name, from, to);
    flow.window = 4_096;
    flow
}

/// Pins routes: at a switch, what is for a host goes to one neighbour.
fn pin(simulation: &mut Simulation, scenario: &Scenario, pins: &[(&str, &str, &str)]) {
    let plan = Plan::new(&scenario.checked().unwrap());
    let mut configs = plan.routes(scenario);
    for (switch, to, next) in pins {
        let [at, to, next] = [switch, to, next].map(|name| simulation.node(name).unwrap());
        let leads = |port: &PortId| simulation.network().peer(at, *port).unwrap().0 == next;
        let port = simulation.ports(at).find(leads).unwrap();
        let address = plan.address(to).ip;
        let mut routes = configs[at.0 as usize - plan.hosts].routes.iter_mut();
        let route = routes.find(|route| route.prefix == address);
        route.unwrap().hop = NextHop::Ports(vec![port]);
    }
    for (number, config) in (plan.hosts as u32..).zip(configs) {
        simulation.network_mut().update(NodeId(number), |station| {
            let Station::Switch(switch) = station else {
                panic!("switches follow hosts")
            };
            *switch.forwarding_mut() = Forwarding::new(&config);
        });
    }
}

/// Runs to the end with a sample every `every`.
fn run(simulation: &mut Simulation, scenario: &Scenario, every: Duration) -> (Recorder, Metrics) {
    let mut recorder = Recorder::new(simulation);
    let end = Time::ZERO + scenario.duration;
    while simulation.now() < end {
        let next = (simulation.now() + every).min(end);
        simulation.run_until(next).unwrap();
        recorder.sample(simulation);
    }
    let metrics = recorder.metrics(simulation);
    (recorder, metrics)
}

fn of(metrics: &Metrics, quantity: Quantity) -> f64 {
    metrics[&Metric::network(quantity)]
}

fn texts(recorder: &Recorder, simulation: &Simulation) -> Vec<String> {
    let findings = recorder.detector().findings(simulation);
    findings.into_iter().map(|finding| finding.text).collect()
}

/// The ring of HotNets 2016: switches a to d in a ring, with flows a → b → c → d, c → d → a → b and, as the third,
/// b → c.
fn ring(third: bool, duration: Duration) -> (Scenario, Simulation) {
    let hosts = [
        ("ha", "sa"),
        ("hb", "sb"),
        ("hc", "sc"),
        ("hd", "sd"),
        ("ib", "sb"),
        ("ic", "sc"),
    ];
    let cables = [("sa", "sb"), ("sb", "sc"), ("sc", "sd"), ("sd", "sa")];
    let mut scenario = network(&hosts, &cables, duration)
        .flow(flow("one", "ha", "hd"))
        .flow(flow("two", "hc", "hb"));
    if third {
        scenario = scenario.flow(flow("three", "ib", "ic"));
    }
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let pins = [
        ("sa", "hd", "sb"),
        ("sb", "hd", "sc"),
        ("sc", "hb", "sd"),
        ("sd", "hb", "sa"),
    ];
    pin(&mut simulation, &scenario, &pins);
    (scenario, simulation)
}

/// The pause time of the class in a PFC frame, in quanta; `None` for other frames.
fn quanta(frame: &Frame) -> Option<u16> {
    let control = frame.bytes.headers().get(EthernetRepr::LEN..)?;
    let eth = Ethernet::new_checked(&frame.bytes.headers()[..]).ok()?;
    if eth.ether_type() != EtherType::MAC_CONTROL {
        return None;
    }
    let pfc = PfcRepr::parse(&Pfc::new_checked(control).ok()?);
    (pfc.class_enable & 1 << CLASS != 0).then_some(pfc.timers[usize::from(CLASS)])
}

/// A PFC frame that starts at `start`.
fn pfc(start: Time, quanta: u16) -> Frame {
    let mut timers = [0; 8];
    timers[usize::from(CLASS)] = quanta;
    let pause = PfcRepr {
        class_enable: 1 << CLASS,
        timers,
    };
    let emit = |control: &mut [u8]| pause.emit(&mut Pfc::new_unchecked(control));
    let bytes = control_frame(MacAddr([2; 6]), emit);
    Frame::sent(bytes.into(), start, LineRate::G40)
}

/// When a frame that is injected at `start` applies as a pause at the other end of a cable of so many metres: preamble
/// and 64 bytes of 200 ps, 5 ns a metre, 187.5 ns of interfaces. Switches obey at once.
fn applies(start: Time, metres: u64) -> Time {
    start + Duration::from_ps(72 * 200 + 5_000 * metres + 187_500)
}

/// The start of the pause that lasts to the end, for the egress queue of a port: from the PFC frames that it received.
fn last_start(records: &[Record], node: NodeId, port: PortId) -> Time {
    let mut start = None;
    for record in records {
        let ours = record.node == node && record.port == port;
        if !ours || record.direction != Direction::Received {
            continue;
        }
        match quanta(&record.frame) {
            Some(0) => start = None,
            Some(_) => start = start.or(Some(record.frame.end)),
            None => {}
        }
    }
    start.expect("the link is paused")
}

#[test]
fn the_third_flow_locks_the_ring() {
    let (_, mut simulation) = ring(true, Duration::from_us(1_500));
    let links = [("sa", "sb"), ("sb", "sc"), ("sc", "sd"), ("sd", "sa")].map(|(a, b)| {
        let [a, b] = [a, b].map(|name| simulation.node(name).unwrap());
        let leads = |port: &PortId| simulation.network().peer(a, *port).unwrap().0 == b;
        (a, simulation.ports(a).find(leads).unwrap())
    });
    for (node, port) in links {
        simulation.network_mut().tap(node, port, true);
    }
    let mut recorder = Recorder::new(&simulation);
    let mut records = Vec::new();
    let mut delivered = 0;
    let mut told = None;
    while simulation.now() < us(1_500) {
        let next = simulation.now() + Duration::from_us(7);
        let observe = |frames: &[Record]| records.extend_from_slice(frames);
        simulation.run_until_observed(next, observe).unwrap();
        recorder.sample(&mut simulation);
        let mut broken = recorder.detector().broken(&simulation).into_iter();
        told = told.or_else(|| Some((simulation.now(), broken.next()?)));
        if simulation.now() == us(700) {
            let flows = simulation.flows().iter();
            delivered = flows
                .map(|flow| simulation.receiver(flow).fresh_bytes())
                .sum();
        }
    }
    let starts = links.map(|(node, port)| last_start(&records, node, port));
    let metrics = recorder.metrics(&simulation);
    let detector = recorder.detector();
    let [cycle] = detector.cycles() else {
        panic!("{:?}", detector.cycles());
    };
    assert_eq!(cycle.text(&simulation), "sa → sb → sc → sd → sa");
    assert_eq!(cycle.class(), CLASS);
    let since: Vec<Time> = cycle.dependencies.iter().map(|link| link.since).collect();
    assert_eq!(since, starts);
    assert_eq!(Some(cycle.closed), starts.into_iter().max());
    assert!(cycle.locked.is_some() && cycle.opened.is_none());
    // It is told while the run goes on, soon after it has closed.
    let (at, finding) = told.unwrap();
    assert_eq!(
        (finding.kind, finding.from_ns),
        (FindingKind::Deadlock, ns(cycle.closed))
    );
    assert!(
        at.saturating_since(cycle.closed) < Duration::from_us(30),
        "{at}"
    );
    for dependency in &cycle.dependencies {
        // An ingress queue pauses with the first frame of 1,086 bytes above 40,000; what was on the way comes later.
        assert!(
            (38_000..60_000).contains(&dependency.bytes),
            "{dependency:?}"
        );
    }
    // Nothing gets through any more.
    let flows = simulation.flows().iter();
    let after: u64 = flows
        .map(|flow| simulation.receiver(flow).fresh_bytes())
        .sum();
    assert_eq!(after, delivered);
    assert_eq!(of(&metrics, Quantity::Deadlocks), 1.0);
    let us = cycle.closed.as_ps() as f64 / 1e6;
    assert_eq!(of(&metrics, Quantity::DeadlockUs), us);
    assert_eq!(of(&metrics, Quantity::Storms), 0.0);
}

/// The cyclic buffer dependency is there all the same (HotNets 2016, section 3).
#[test]
fn two_flows_do_not_lock_the_ring() {
    let (scenario, mut simulation) = ring(false, Duration::from_us(1_500));
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(7));
    assert_eq!(texts(&recorder, &simulation), [""; 0]);
    assert_eq!(of(&metrics, Quantity::Deadlocks), 0.0);
    assert!(of(&metrics, Quantity::DeadlockUs).is_nan());
    assert!(recorder.detector().pauses().count() >= 4);
}

#[test]
fn a_cycle_opens_when_a_link_of_it_may_send() {
    let (scenario, mut simulation) = ring(true, Duration::from_us(600));
    let [sa, sb] = ["sa", "sb"].map(|name| simulation.node(name).unwrap());
    let leads = |port: &PortId| simulation.network().peer(sb, *port).unwrap().0 == sa;
    let back = simulation.ports(sb).find(leads).unwrap();
    let xon = us(300);
    simulation.network_mut().inject(sb, back, [pfc(xon, 0)]);
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(7));
    let first = &recorder.detector().cycles()[0];
    assert_eq!(first.opened, Some(applies(xon, 20)));
    assert!(first.closed < xon && first.locked.is_some());
    let found = &recorder.detector().findings(&simulation)[0];
    assert_eq!(
        (found.kind, found.to_ns),
        (FindingKind::Deadlock, first.opened.map(ns))
    );
    assert!(of(&metrics, Quantity::Deadlocks) >= 1.0);
}

/// Two racks under a leaf. `h` is sick; `a` sends to it, `b` to its neighbour `r`, and `c` to `d` in the same rack.
fn racks(duration: Duration) -> (Scenario, Simulation) {
    let hosts = [
        ("a", "t0"),
        ("b", "t0"),
        ("c", "t1"),
        ("d", "t1"),
        ("h", "t1"),
        ("r", "t1"),
    ];
    let scenario = network(&hosts, &[("t0", "le"), ("t1", "le")], duration)
        .flow(flow("sick", "a", "h"))
        .flow(flow("beside", "b", "r"))
        .flow(flow("apart", "c", "d"));
    let simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    (scenario, simulation)
}

/// Has `h` send these pauses.
fn pause(simulation: &mut Simulation, pauses: impl IntoIterator<Item = (u64, u16)>) {
    let host = simulation.node("h").unwrap();
    let frames = pauses.into_iter().map(|(at, quanta)| pfc(us(at), quanta));
    simulation.network_mut().inject(host, PortId(0), frames);
}

#[test]
fn a_host_that_pauses_without_end_is_a_storm() {
    let (scenario, mut simulation) = racks(Duration::from_ms(3));
    // 65,535 quanta are 838.8 µs; from 200 µs to 2,000 µs.
    let pauses = [
        (200, 0xFFFF),
        (700, 0xFFFF),
        (1_200, 0xFFFF),
        (1_700, 0xFFFF),
        (2_000, 0),
    ];
    pause(&mut simulation, pauses);
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(15));
    let detector = recorder.detector();
    let storms = detector.storms();
    let [storm] = &storms[..] else {
        panic!("{storms:?}");
    };
    assert_eq!(simulation.names()[storm.origin.0 as usize], "h");
    assert_eq!(storm.from, applies(us(200), 2));
    assert_eq!(storm.to, Some(applies(us(2_000), 2)));
    assert_eq!(storm.paused, Duration::from_us(1_800));
    // The closure of the sick port over the traffic: what a sends, and b, which shares two links with it.
    let stopped = storm.stopped.keys().map(|link| link.text(&simulation));
    assert_eq!(
        stopped.collect::<BTreeSet<_>>(),
        ["t1 → h", "le → t1", "t0 → le", "a → t0", "b → t0"]
            .map(String::from)
            .into()
    );
    let victims = detector.victims();
    let names = victims
        .iter()
        .map(|victim| &*simulation.flows()[victim.flow].name);
    assert_eq!(names.collect::<Vec<_>>(), ["beside"]);
    // It stands from when the buffers are full until the pause ends and they have drained.
    let stood = victims[0].stood.as_ps() / 1_000_000;
    assert!((1_500..2_000).contains(&stood), "{stood}");
    let (_, root) = victims[0].most().unwrap();
    assert_eq!(root, Root::Paused(storm.link));
    assert_eq!(of(&metrics, Quantity::Storms), 1.0);
    assert_eq!(of(&metrics, Quantity::StormLinks), 5.0);
    assert_eq!(of(&metrics, Quantity::Victims), 1.0);
    assert_eq!(of(&metrics, Quantity::Deadlocks), 0.0);
    let spread = |text: &str| {
        let mut links = storm.stopped.keys();
        let link = links.find(|link| link.text(&simulation) == text).unwrap();
        detector.spread(*link).unwrap().distance
    };
    let distances = ["t1 → h", "le → t1", "t0 → le", "a → t0"].map(spread);
    assert_eq!(distances, [0, 1, 2, 3]);
}

/// 100 µs of pause in 3 ms: above Collie's limit of a thousandth, far below a storm.
#[test]
fn a_host_that_pauses_a_little_is_an_alarm() {
    let (scenario, mut simulation) = racks(Duration::from_ms(3));
    pause(&mut simulation, [(1_000, 0xFFFF), (1_100, 0)]);
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(15));
    let alarms = recorder.detector().alarms();
    assert_eq!(alarms.len(), 1);
    assert_eq!(alarms[0].paused, Duration::from_us(100));
    assert_eq!(of(&metrics, Quantity::PauseAlarms), 1.0);
    assert_eq!(of(&metrics, Quantity::Storms), 0.0);
}

#[test]
fn thresholds_are_parameters() {
    let (scenario, mut simulation) = racks(Duration::from_us(1_200));
    pause(&mut simulation, [(100, 0xFFFF), (700, 0)]);
    let mut detectors = [0.59, 0.61].map(|storm_part| {
        let thresholds = Thresholds {
            storm_part,
            ..Thresholds::default()
        };
        Detector::new(&simulation, thresholds)
    });
    while simulation.now() < Time::ZERO + scenario.duration {
        let next = simulation.now() + Duration::from_us(10);
        simulation.run_until(next).unwrap();
        detectors
            .iter_mut()
            .for_each(|detector| detector.observe(&simulation));
    }
    // 600 µs of 1 ms.
    assert_eq!(detectors.map(|detector| detector.storms().len()), [1, 0]);
}

/// An incast pauses its senders all the time: congestion, which is no finding. Nobody stands who did not cause it.
#[test]
fn an_incast_is_no_finding() {
    let hosts = [
        ("a", "t0"),
        ("b", "t0"),
        ("c", "t1"),
        ("d", "t1"),
        ("r", "t1"),
    ];
    let mut scenario = network(&hosts, &[("t0", "le"), ("t1", "le")], Duration::from_ms(3));
    for from in ["a", "b", "c", "d"] {
        scenario = scenario.flow(flow(from, from, "r"));
    }
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(15));
    assert_eq!(texts(&recorder, &simulation), [""; 0]);
    // All four senders, and the links on the way from the other rack.
    let paused: Vec<Duration> = recorder
        .detector()
        .pauses()
        .map(|(_, link)| link.total)
        .collect();
    assert_eq!(paused.len(), 6);
    assert!(
        paused.iter().all(|paused| *paused > Duration::from_us(900)),
        "{paused:?}"
    );
    for (link, pauses) in recorder.detector().pauses() {
        let sum = pauses
            .spans
            .iter()
            .fold(Duration::ZERO, |sum, span| sum + span.paused);
        assert_eq!(sum, pauses.total);
        let in_time =
            |span: &Span| span.from < span.to && span.paused <= span.to.saturating_since(span.from);
        assert!(pauses.spans.iter().all(in_time), "{link:?}");
        assert!(
            pauses
                .spans
                .windows(2)
                .all(|pair| pair[0].to <= pair[1].from)
        );
    }
    for quantity in [
        Quantity::Deadlocks,
        Quantity::Storms,
        Quantity::PauseAlarms,
        Quantity::Victims,
    ] {
        assert_eq!(of(&metrics, quantity), 0.0);
    }
}

/// Figure 4 of DCQCN (SIGCOMM 2015): `vs` sends to `vr`, and shares only the way up with an incast on `r`.
#[test]
fn the_victim_flow_of_dcqcn() {
    let hosts = [
        ("h1", "t1"),
        ("h2", "t1"),
        ("vs", "t1"),
        ("vr", "t2"),
        ("r", "t4"),
        ("h4", "t4"),
    ];
    let cables = [("t1", "le"), ("t2", "le"), ("t4", "le")];
    let mut scenario = network(&hosts, &cables, Duration::from_ms(3));
    for (name, from, to) in [
        ("f1", "h1", "r"),
        ("f2", "h2", "r"),
        ("f4", "h4", "r"),
        ("victim", "vs", "vr"),
    ] {
        scenario = scenario.flow(flow(name, from, to));
    }
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let (recorder, metrics) = run(&mut simulation, &scenario, Duration::from_us(15));
    let victims = recorder.detector().victims();
    let names = victims
        .iter()
        .map(|victim| &*simulation.flows()[victim.flow].name);
    assert_eq!(names.collect::<Vec<_>>(), ["victim"]);
    let (_, root) = victims[0].most().unwrap();
    assert!(matches!(root, Root::Congested(_)));
    assert_eq!(root.link().text(&simulation), "t4 → r");
    assert_eq!(of(&metrics, Quantity::Storms), 0.0);
    // It gets what one of the flows to r gets from its leaf, not the 20 Gb/s that the way up leaves it.
    let goodput = metrics[&Metric::flow(Quantity::GoodputGbps, "victim")];
    assert!(goodput < 15.0, "{goodput}");
}

/// The way of a flow by the switches' tables, on which its bytes have been.
#[test]
fn the_path_of_a_flow() {
    let (_, simulation) = racks(Duration::from_us(10));
    let path = |flow: usize| {
        let path = victims::path(&simulation, &simulation.flows()[flow]);
        let links = path
            .iter()
            .map(|(link, _)| (link.text(&simulation), link.class));
        links.collect::<BTreeSet<_>>()
    };
    let named = |links: &[&str]| links.iter().map(|link| ((*link).into(), CLASS)).collect();
    assert_eq!(path(0), named(&["a → t0", "t0 → le", "le → t1", "t1 → h"]));
    assert_eq!(path(2), named(&["c → t1", "t1 → d"]));
}

#[test]
fn who_looks_changes_nothing() {
    let digest = |observed: bool| {
        let (scenario, mut simulation) = ring(true, Duration::from_us(300));
        if observed {
            run(&mut simulation, &scenario, Duration::from_ns(700));
        } else {
            to_the_end(&mut simulation, &scenario);
        }
        simulation.digest()
    };
    assert_eq!(digest(true), digest(false));
}
