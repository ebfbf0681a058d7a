//! Incasts without a pause: why PFC had nothing to do.

use std::collections::BTreeMap;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::switch::Limit;
use xoff_sim::switch::headroom::longest_frame;
use xoff_sim::time::ByteCount;

use crate::words::bytes;
use crate::{FlowEnds, Simulation};

/// The most bytes of frames that a flow has under way.
fn outstanding(simulation: &Simulation, flow: &FlowEnds) -> u64 {
    let config = &simulation.sender(flow).config;
    let messages = u64::from(config.outstanding).min(config.count.unwrap_or(u64::MAX));
    let packets = u64::from(config.shapes.longest().div_ceil(flow.mtu)) * messages;
    packets.min(flow.qp.requester.window.into()) * longest_frame(flow.mtu.into())
}

/// What to say of a network in which no switch has paused anybody, although several hosts sent to one: that they do not
/// have enough under way to fill an ingress queue of its switch. `None` if that is not so.
pub fn note(simulation: &Simulation) -> Option<String> {
    let network = simulation.network();
    let mut switches = simulation.stations().filter_map(|(node, station)| {
        let switch = station.switch()?;
        Some(simulation.ports(node).map(|port| switch.counters(port)))
    });
    if switches.any(|mut ports| ports.any(|port| port.pauses_sent > 0)) {
        return None;
    }
    // For each receiver and class, what each sender has under way.
    let mut incasts: BTreeMap<(NodeId, u8), BTreeMap<NodeId, u64>> = BTreeMap::new();
    // Probes are not meant to fill anything.
    let probes: Vec<_> = (simulation.series().iter())
        .filter(|series| series.probes)
        .map(|series| series.flows.clone())
        .collect();
    let is_probe = |at: &usize| probes.iter().any(|flows| flows.contains(at));
    let flows = simulation.flows().iter().enumerate();
    for (_, flow) in flows.filter(|(at, _)| !is_probe(at)) {
        let senders = incasts.entry((flow.target, flow.qp.dscp >> 3)).or_default();
        *senders.entry(flow.source).or_default() += outstanding(simulation, flow);
    }
    let several = incasts.iter().filter(|(_, senders)| senders.len() > 1);
    let ((to, class), senders) = several.max_by_key(|(_, senders)| senders.len())?;
    let (edge, _) = network.peer(*to, PortId(0))?;
    let switch = network.node(edge).switch()?;
    if !switch.buffer().lossless(*class) {
        return None;
    }
    // Hosts behind other switches may all come by one port.
    let mut by_port: BTreeMap<Option<NodeId>, u64> = BTreeMap::new();
    for (sender, bytes) in senders {
        let here = network.peer(*sender, PortId(0)).map(|(node, _)| node) == Some(edge);
        *by_port.entry(here.then_some(*sender)).or_default() += bytes;
    }
    let all = by_port.values().sum();
    let most = by_port.into_values().max()?;
    let xoff = switch.buffer().least_xoff(*class, all);
    let least = match switch.buffer().of_priority(*class).limit {
        Limit::Static(_) => "",
        Limit::Alpha { .. } => "at least ",
    };
    let name = |node: NodeId| &simulation.names()[node.0 as usize];
    (most < xoff).then(|| {
        format!(
            "{} hosts send to {}, and no switch pauses: at most {} are outstanding by one port of {}, XOFF is {least}{} there",
            senders.len(),
            name(*to),
            bytes(ByteCount::new(most)),
            name(edge),
            bytes(ByteCount::new(xoff))
        )
    })
}
