//! Tests in small networks with model NICs.

use std::collections::BTreeSet;

use bytes::Bytes;
use xoff_sim::kernel::{Digest, Frame, NodeId, PortId};
use xoff_sim::seeded::Seed;
use xoff_sim::switch::forwarding::{Forwarding, ForwardingConfig};
use xoff_sim::switch::{Limit, NextHop};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate, Time};
use xoff_sim::wire::{
    EtherType, Ethernet, EthernetRepr, MIN_FRAME_BYTES, MacAddr, Pfc, PfcRepr,
};

use super::*;
use crate::metrics::{Metric, Metrics, Quantity, Recorder};
use crate::network::Station;
use crate::network::topology::Plan;
use crate::scenario::{FlowSettings, NicKind, Scenario};

const CLASS: u8 = 3;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
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
    let plan = Plan::new(scenario);
    let mut configs = plan.routes();
    for (switch, to, next) in pins {
        let [at, to, next] = [switch, to, next].map(|name| simulation.node(name).unwrap());
        let leads = |port: &PortId| simulation.network().peer(at, *port).unwrap().0 == next;
        let port = simulation.ports(at).find(leads).unwrap();
        let address = plan.address(to).ip;
        let mut routes = configs[at.0 as usize - plan.hosts].routes.iter_mut();
        let route = routes.find(|route| std::net::IpAddr::from(route.prefix) == address);
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
    let mut simulation = Simulation::new(&scenario).unwrap();
    let pins = [
        ("sa", "hd", "sb"),
        ("sb", "hd", "sc"),
        ("sc", "hb", "sd"),
        ("sd", "hb", "sa"),
    ];
    pin(&mut simulation, &scenario, &pins);
    (scenario, simulation)
}

#[test]
fn probe() {
    for third in [false, true] {
        let (scenario, mut simulation) = ring(third, Duration::from_us(2_000));
        let (recorder, _) = run(&mut simulation, &scenario, Duration::from_us(10));
        println!("{third}: {:#?}", recorder.detector().findings(&simulation));
        for (link, pauses) in recorder.detector().pauses() {
            println!("{} {} {}", link.text(&simulation), pauses.total, pauses.spans.len());
        }
    }
}
