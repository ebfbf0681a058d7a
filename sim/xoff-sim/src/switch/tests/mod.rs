//! Tests of the switch with simple sources.

mod digest;
mod headroom;
mod incidents;
mod lossless;
mod rules;
mod sonic;
mod throughput;

use serde::{Deserialize, Serialize};

use super::forwarding::HostEntry;
use super::*;
use crate::kernel::{Arrivals, Departures, Network, NetworkBuilder, Node, NodeId, PortId};
use crate::link::Link;
use crate::seeded::Seed;
use crate::testing::{Source, host_ip, host_mac, router_mac};
use crate::time::{Duration, Length, LineRate, Time};

/// A node of either kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Either {
    Source(Box<Source>),
    Switch(Box<Switch>),
}

impl Node for Either {
    fn line_rates(&self) -> Vec<LineRate> {
        match self {
            Self::Source(source) => source.line_rates(),
            Self::Switch(switch) => switch.line_rates(),
        }
    }

    fn next_event(&self) -> Option<Time> {
        match self {
            Self::Source(source) => source.next_event(),
            Self::Switch(switch) => switch.next_event(),
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Source(source) => source.advance(until, arrivals, departures),
            Self::Switch(switch) => switch.advance(until, arrivals, departures),
        }
    }
}

/// Settings of a switch whose port i is connected to host i + 1.
fn star_config(ports: usize, rate: LineRate) -> SwitchConfig {
    let host = |port: usize| HostEntry {
        ip: host_ip(port as u8 + 1).into(),
        mac: host_mac(port as u8 + 1),
        port: PortId(port as u16),
    };
    let mut config = SwitchConfig::new(ports, rate);
    config.forwarding.routes = vec![Route {
        prefix: [10, 0, 0, 0].into(),
        length: 24,
        hop: NextHop::Connected,
    }];
    config.forwarding.hosts = (0..ports).map(host).collect();
    routes_between(&mut config);
    config
}

/// Gives all ports the MAC address of the router of tests, and the same one to the routers at the other ends.
fn routes_between(config: &mut SwitchConfig) {
    for port in &mut config.ports {
        (port.mac, port.peer) = (router_mac(), Some(router_mac()));
    }
}

/// A switch, node 0, with a source at each port: host i + 1 is node i + 1.
fn star(config: SwitchConfig, sources: Vec<Source>, link: &Link) -> Network<Either> {
    let mut builder = NetworkBuilder::new(Seed(1));
    let switch = builder.node(Either::Switch(Box::new(Switch::new(config).unwrap())));
    for (port, source) in sources.into_iter().enumerate() {
        let host = builder.node(Either::Source(Box::new(source)));
        builder
            .connect((host, PortId(0)), (switch, PortId(port as u16)), link)
            .unwrap();
    }
    builder.build()
}

fn switch(network: &Network<Either>) -> &Switch {
    match network.node(NodeId(0)) {
        Either::Switch(switch) => switch,
        Either::Source(_) => unreachable!("node 0 is the switch"),
    }
}

fn source(network: &Network<Either>, host: u32) -> &Source {
    match network.node(NodeId(host)) {
        Either::Source(source) => source,
        Either::Switch(_) => unreachable!("node 0 is the switch"),
    }
}

fn short_link() -> Link {
    Link::new(Length::from_m(2), Duration::from_ns(100))
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Checks for all ports: the frames received are those that were sent or dropped, or are still in the switch.
fn conserved(switch: &Switch) -> Result<(), String> {
    let ports = switch.line_rates().len() as u16;
    let all = || (0..ports).map(|port| switch.counters(PortId(port)));
    let made: u64 = all().map(|port| port.frames_received() + port.copies).sum();
    let sent: u64 = all().map(PortCounters::frames_sent).sum();
    let dropped: u64 = all().map(PortCounters::dropped_in_all).sum();
    let there = switch.frames();
    if made == sent + dropped + there {
        return Ok(());
    }
    Err(format!(
        "{made} in, {sent} out, {dropped} dropped, {there} there"
    ))
}
