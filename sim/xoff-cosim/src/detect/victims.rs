//! Flows that stand because of pauses that they did not cause.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use xoff_sim::headers::{Headers, IpFields};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::QpSettings;
use xoff_sim::switch::forwarding::Verdict;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{EtherType, IP_PROTOCOL_UDP, UDP_PORT_ROCE};

use super::graph::{Root, WaitGraph};
use super::pauses::LinkClass;
use crate::network::{FlowEnds, Simulation};

/// A flow that stood because of pauses that it did not cause.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// What a switch sees of a flow, and the frames of a flow are known by: IP addresses and UDP source port.
type Tuple = (u128, u128, u16);

/// The flows that stood in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Victims {
    pub(super) all: BTreeMap<usize, Victim>,
    /// Flows by what their frames show.
    by_tuple: BTreeMap<Tuple, Vec<usize>>,
    by_sender: BTreeMap<NodeId, Vec<usize>>,
}

const fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits() as u128,
        IpAddr::V6(ip) => ip.to_bits(),
    }
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
            src: number(qp.own.ip),
            dst: number(qp.peer.ip),
        }),
        ports: Some((qp.udp_port, UDP_PORT_ROCE)),
        bth: None,
    }
}

/// The links that a flow's requests take now, by the switches' tables. After a switch that floods, all of them.
pub fn path(simulation: &Simulation, flow: &FlowEnds) -> BTreeSet<LinkClass> {
    let network = simulation.network();
    let first = LinkClass {
        node: flow.from,
        port: PortId(0),
        // The class of a NIC is DSCP / 8 (RFC 2474 §4.2.2).
        class: flow.qp.dscp >> 3,
    };
    let mut path = BTreeSet::from([first]);
    let mut ahead = vec![(first, headers(&flow.qp))];
    while let Some((link, headers)) = ahead.pop() {
        let Some((node, port)) = network.peer(link.node, link.port) else {
            continue;
        };
        let Some(switch) = network.node(node).switch() else {
            continue;
        };
        let (class, verdict) = switch.route(simulation.now(), port, &headers);
        let (outs, dst, routed) = match verdict {
            Verdict::Port { port, dst, routed } => (vec![port], dst, routed),
            Verdict::Flood { dst, routed } => {
                let others = simulation.ports(node).filter(|other| *other != port);
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
            if path.insert(next) {
                ahead.push((next, headers));
            }
        }
    }
    path
}

impl Victims {
    pub(super) fn new(simulation: &Simulation) -> Self {
        let mut this = Self::default();
        for (index, flow) in simulation.flows().iter().enumerate() {
            let tuple = (
                number(flow.qp.own.ip),
                number(flow.qp.peer.ip),
                flow.qp.udp_port,
            );
            this.by_tuple.entry(tuple).or_default().push(index);
            this.by_sender.entry(flow.from).or_default().push(index);
        }
        this
    }

    /// The flows that have bytes waiting at a stopped link and messages that are not complete.
    fn waiting_at(&self, simulation: &Simulation, link: LinkClass) -> BTreeSet<usize> {
        let mut flows = BTreeSet::new();
        match simulation.network().node(link.node).switch() {
            Some(switch) => {
                let mut last = None;
                for (_, frame) in switch.waiting_frames(link.port, link.class) {
                    let Some(tuple) = tuple(frame) else { continue };
                    // Packets of a flow often follow each other.
                    if last.replace(tuple) != Some(tuple) {
                        flows.extend(self.by_tuple.get(&tuple).into_iter().flatten());
                    }
                }
            }
            None => {
                let of_host = self.by_sender.get(&link.node).into_iter().flatten();
                let of_class =
                    |flow: &&usize| simulation.flows()[**flow].qp.dscp >> 3 == link.class;
                flows.extend(of_host.filter(of_class));
            }
        }
        flows.retain(|flow| simulation.sender(&simulation.flows()[*flow]).open() > 0);
        flows
    }

    /// Adds the time since the last observation to the flows that stand now.
    pub(super) fn observe(
        &mut self,
        simulation: &Simulation,
        graph: &WaitGraph,
        trees: &BTreeMap<Root, Vec<(usize, u32)>>,
    ) {
        let now = simulation.now();
        let mut roots = vec![Vec::new(); graph.waits.len()];
        for (root, tree) in trees {
            for (place, _) in tree {
                roots[*place].push(*root);
            }
        }
        let mut paths: BTreeMap<usize, BTreeSet<LinkClass>> = BTreeMap::new();
        let mut stood: BTreeMap<usize, (Duration, LinkClass, Root)> = BTreeMap::new();
        for (wait, roots) in graph.waits.iter().zip(&roots) {
            // Hosts that pause and cycles come after congestion.
            let Some(&root) = roots.last() else { continue };
            for flow in self.waiting_at(simulation, wait.link) {
                let path = paths
                    .entry(flow)
                    .or_insert_with(|| path(simulation, &simulation.flows()[flow]));
                let has_part = roots.iter().any(|root| path.contains(&root.link()));
                if has_part || !path.contains(&wait.link) {
                    continue;
                }
                let longest = stood.entry(flow).or_insert((wait.paused, wait.link, root));
                if longest.0 < wait.paused {
                    *longest = (wait.paused, wait.link, root);
                }
            }
        }
        for (flow, (time, link, root)) in stood {
            let victim = self.all.entry(flow).or_insert_with(|| Victim {
                flow,
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

/// What a frame shows of its flow.
fn tuple(frame: &[u8]) -> Option<Tuple> {
    let headers = Headers::at(frame)?;
    let ip = headers.ip?;
    Some((ip.src, ip.dst, headers.ports?.0))
}
