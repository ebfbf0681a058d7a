//! Flows that stand because of pauses that they did not cause.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::headers::{Headers, IpFields};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::QpSettings;
use xoff_sim::switch::forwarding::Verdict;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{EtherType, IP_PROTOCOL_UDP, UDP_PORT_ROCE, address_bits};

use super::graph::{Root, Tree, WaitGraph};
use super::pauses::LinkClass;
use crate::{FlowEnds, Simulation};

/// A flow that stood because of pauses that it did not cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victim {
    /// The flow's index in [`Simulation::flows`].
    pub flow: usize,
    /// How long it stood in all: the time for which a link was stopped where its bytes waited. Of several such links in
    /// an observed interval the longest time counts.
    pub stood: Duration,
    /// The first observation at which it stood.
    pub from: Time,
    /// The last.
    pub to: Time,
    /// Links where it stood, and roots of their pauses, each with its part of the time.
    pub because: BTreeMap<(LinkClass, Root), Duration>,
}

impl Victim {
    /// The link where it stood for the longest time, and the root of the pauses there.
    pub fn most(&self) -> Option<(LinkClass, Root)> {
        let most = self.because.iter().rev().max_by_key(|(_, time)| **time);
        most.map(|(key, _)| *key)
    }
}

/// A flow's path is asked for again after so many observations.
const PATH_AGE: usize = 16;

/// A link of a path, and the port of its node where frames of the flow arrive; `None` at the sender.
pub(super) type Hop = (LinkClass, Option<PortId>);

/// The flows that stood in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Victims {
    pub(super) all: BTreeMap<usize, Victim>,
    /// The last known path of each flow; empty if it was not asked for yet.
    paths: Vec<Vec<Hop>>,
    observations: usize,
}

/// The headers of a flow's requests as they leave the sender.
fn headers(qp: &QpSettings) -> Headers {
    let v4 = qp.own.ip.is_ipv4();
    Headers {
        dst: qp.peer.mac,
        src: qp.own.mac,
        tag: None,
        ether_type: match v4 {
            true => EtherType::IPV4,
            false => EtherType::IPV6,
        },
        ip: Some(IpFields {
            offset: 14,
            version: if v4 { 4 } else { 6 },
            traffic_class: qp.dscp << 2,
            id: 0,
            ttl: qp.hop_limit,
            protocol: IP_PROTOCOL_UDP,
            src: address_bits(qp.own.ip),
            dst: address_bits(qp.peer.ip),
        }),
        ports: Some((qp.udp_port, UDP_PORT_ROCE)),
        bth: None,
    }
}

/// The links that a flow's data takes now, by the switches' tables, each with the port where they arrive at its
/// node. After a switch that floods, all of its links.
pub fn path(simulation: &Simulation, flow: &FlowEnds) -> Vec<Hop> {
    path_of(simulation, flow.source, flow.class, headers(&flow.qp))
}

/// The links that a flow's answers take now, if they have its class and its DSCP. Empty if no flow starts where they
/// do, for then it is not known which router they are sent to.
pub(super) fn path_back(simulation: &Simulation, flow: &FlowEnds) -> Vec<Hop> {
    let mut flows = simulation.flows().iter();
    let Some(other) = flows.find(|other| other.source == flow.target) else {
        return Vec::new();
    };
    let mut headers = headers(&flow.qp);
    headers.dst = other.qp.peer.mac;
    headers.src = other.qp.own.mac;
    if let Some(ip) = &mut headers.ip {
        std::mem::swap(&mut ip.src, &mut ip.dst);
    }
    path_of(simulation, flow.target, flow.class, headers)
}

/// The links that a frame takes now that a host sends.
fn path_of(simulation: &Simulation, from: NodeId, class: u8, headers: Headers) -> Vec<Hop> {
    let network = simulation.network();
    let first = LinkClass {
        node: from,
        port: PortId(0),
        class,
    };
    let mut path = vec![(first, None)];
    let mut ahead = vec![(first, headers)];
    while let Some((link, headers)) = ahead.pop() {
        let Some((node, arrived)) = network.peer(link.node, link.port) else {
            continue;
        };
        let Some(switch) = network.node(node).switch() else {
            continue;
        };
        let (class, verdict) = switch.route(simulation.now(), arrived, &headers);
        let (outs, dst, routed) = match verdict {
            Verdict::Port { port, dst, routed } => (vec![port], dst, routed),
            Verdict::Flood { dst, routed } => {
                let others = simulation.ports(node).filter(|other| *other != arrived);
                (others.collect(), dst, routed)
            }
            Verdict::Drop(_) => continue,
        };
        let mut headers = headers;
        headers.dst = dst.unwrap_or(headers.dst);
        if let Some(ip) = headers.ip.as_mut().filter(|_| routed) {
            ip.ttl -= 1;
        }
        for port in outs {
            let next = LinkClass { node, port, class };
            // Each link once: a loop ends here.
            if path.iter().all(|(link, _)| *link != next) {
                path.push((next, Some(arrived)));
                ahead.push((next, headers));
            }
        }
    }
    path
}

impl Victims {
    /// Adds the time since the last observation to the flows that stand now.
    pub(super) fn observe(&mut self, simulation: &Simulation, graph: &WaitGraph, trees: &[Tree]) {
        self.observations += 1;
        if trees.is_empty() {
            return;
        }
        let now = simulation.now();
        let links = trees.iter().enumerate();
        let mut roots: BTreeMap<LinkClass, Vec<usize>> = BTreeMap::new();
        // Hosts that pause and cycles come after congestion.
        let mut last: Vec<Option<usize>> = vec![None; graph.waits.len()];
        for (number, tree) in links {
            roots.entry(tree.root.link()).or_default().push(number);
            for (place, _) in &tree.links {
                last[*place] = Some(number);
            }
        }
        self.paths.resize(simulation.flows().len(), Vec::new());
        for (index, flow) in simulation.flows().iter().enumerate() {
            if simulation.sender(flow).open() == 0 {
                continue;
            }
            let hops = &mut self.paths[index];
            if hops.is_empty() || (index + self.observations).is_multiple_of(PATH_AGE) {
                *hops = path(simulation, flow);
            }
            let own: Vec<usize> = (hops.iter())
                .filter_map(|(link, _)| roots.get(link))
                .flatten()
                .copied()
                .collect();
            let mut stood: Option<(Duration, LinkClass, Root)> = None;
            for hop in hops.iter() {
                let Some(place) = graph.place(hop.0) else {
                    continue;
                };
                let Some(root) = last[place] else { continue };
                let has_part = own.iter().any(|root| trees[*root].has[place]);
                let paused = graph.waits[place].paused;
                let longer = stood.is_none_or(|(longest, ..)| longest < paused);
                if !has_part && longer && waits(simulation, hop) {
                    stood = Some((paused, hop.0, trees[root].root));
                }
            }
            let Some((time, link, root)) = stood else {
                continue;
            };
            let victim = self.all.entry(index).or_insert_with(|| Victim {
                flow: index,
                stood: Duration::ZERO,
                from: now,
                to: now,
                because: BTreeMap::new(),
            });
            victim.stood += time;
            victim.to = now;
            *victim.because.entry((link, root)).or_default() += time;
        }
    }
}

/// Whether bytes that came as those of a flow do wait for a link.
fn waits(simulation: &Simulation, &(link, arrived): &Hop) -> bool {
    let switch = simulation.network().node(link.node).switch();
    let (Some(switch), Some(arrived)) = (switch, arrived) else {
        return true;
    };
    switch.waits_from(link.port, link.class, arrived)
}
