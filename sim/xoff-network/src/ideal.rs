//! How long a message takes when nothing else is on its way: what flow completion times are compared with.

use std::collections::BTreeMap;

use xoff_sim::frame::{GAP_BYTES, wire_bytes};
use xoff_sim::host::PcieConfig;
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::ModelNicConfig;
use xoff_sim::nic::model::latency;
use xoff_sim::nic::shape;
use xoff_sim::time::{ByteCount, Duration, LineRate};

use crate::plan::{IPV6_MORE_BYTES, Plan};
use crate::scenario::{Connection, HostSettings, IpVersion, Operation, Scenario};

/// Bytes of a packet over IPv4 without payload, FCS included: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const PACKET_BYTES: u64 = 62;
/// Bytes of the RETH, which the first packet of a WRITE has, and of the AETH of an ACK.
const RETH_BYTES: u64 = 16;
const AETH_BYTES: u64 = 4;
/// Bytes of the headers of an atomic's request, and of the original in its response.
const ATOMIC_ETH_BYTES: u64 = 28;
const ATOMIC_ACK_BYTES: u64 = 8;
/// Bytes of a beat of a NIC, and of its DMA.
const BEAT_BYTES: u64 = shape::BEAT_BYTES as u64;

/// A link on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hop {
    rate: LineRate,
    /// From a last bit at one end until the frame may go out at the other: cable, interfaces, and the switch there.
    delay: Duration,
}

/// Paths of a network, with the times that a message takes on them alone.
#[derive(Debug)]
pub struct Paths<'a> {
    plan: &'a Plan,
    scenario: &'a Scenario,
    /// By the number of each host.
    hosts: Vec<HostSettings>,
    /// By the number of each switch, counted from the hosts on.
    forwarding: Vec<Duration>,
    /// Distances of all switches from one, as far as they were asked for.
    distances: BTreeMap<NodeId, Vec<Option<u32>>>,
}

impl<'a> Paths<'a> {
    /// The paths of a scenario written out.
    pub fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        let entries = scenario.hosts.iter();
        let hosts = entries.flat_map(|entry| plan.hosts_of(scenario, entry));
        let each = |entry: &crate::scenario::SwitchSettings| {
            vec![entry.latency; entry.count.unwrap_or(1) as usize]
        };
        Self {
            plan,
            scenario,
            hosts: hosts.map(|(_, _, settings)| settings).collect(),
            forwarding: scenario.switches.iter().flat_map(each).collect(),
            distances: BTreeMap::new(),
        }
    }

    /// The plan of the network.
    pub const fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The settings of a host.
    pub fn host(&self, node: NodeId) -> &HostSettings {
        &self.hosts[node.0 as usize]
    }

    /// The links of a shortest path: of several the one by the lowest ports.
    fn hops(&mut self, from: NodeId, to: NodeId) -> Vec<Hop> {
        let plan = self.plan;
        let hop = |node: NodeId, port: PortId, peer: NodeId| {
            let link = &self.scenario.links[plan.entry(node, port)];
            let wire = link.cable.delay() + link.interface;
            let switch = (peer.0 as usize).checked_sub(plan.hosts);
            let forwarding = switch.and_then(|switch| self.forwarding.get(switch));
            Hop {
                rate: plan.rate(node, port),
                delay: wire + forwarding.copied().unwrap_or(Duration::ZERO),
            }
        };
        let Some(&(port, (mut node, _))) = plan.peers(from).first() else {
            return Vec::new();
        };
        let mut hops = vec![hop(from, port, node)];
        let edge = plan.peers(to).first().map_or(to, |(_, (edge, _))| *edge);
        while node != to {
            let next = if node == edge {
                plan.peers(node).iter().find(|(_, (peer, _))| *peer == to)
            } else {
                let distances = &mut self.distances;
                let far = distances
                    .entry(edge)
                    .or_insert_with(|| plan.distances(edge));
                let own = far[node.0 as usize];
                let nearer = |(_, (peer, _)): &&(PortId, (NodeId, PortId))| {
                    far[peer.0 as usize].is_some_and(|peer| own.is_some_and(|own| peer < own))
                };
                plan.peers(node).iter().find(nearer)
            };
            // The scenario was checked: there is a path.
            let Some(&(port, (peer, _))) = next else {
                break;
            };
            hops.push(hop(node, port, peer));
            node = peer;
        }
        hops
    }

    /// The same for READs and atomics: a request, and all data back.
    fn ideal_read(
        &mut self,
        [from, to]: [NodeId; 2],
        mtu: u64,
        (operation, message): (Operation, ByteCount),
        count: u64,
    ) -> Duration {
        let [there, back] = [self.hops(from, to), self.hops(to, from)];
        let [reader, holder] = [from, to].map(|end| &self.hosts[end.0 as usize]);
        let [own, peer] = [reader, holder].map(|host| ModelNicConfig::period(host.rate));
        let packet = match reader.ip {
            IpVersion::V4 => PACKET_BYTES,
            IpVersion::V6 => PACKET_BYTES + IPV6_MORE_BYTES,
        };
        let atomic = operation != Operation::Read;
        let (request, bytes) = match atomic {
            true => (packet + ATOMIC_ETH_BYTES, 0),
            false => (packet + RETH_BYTES, message.get()),
        };
        let stages: Vec<Stage> = (there.iter())
            .map(|hop| Stage::of_link(hop, request, request))
            .collect();
        let there = through(&stages, 0);
        let packets = bytes.div_ceil(mtu).max(1);
        let last = bytes - (packets - 1) * mtu;
        let more = if atomic { ATOMIC_ACK_BYTES } else { 0 };
        let full = packet + mtu;
        let last_frame = packet + last.next_multiple_of(4) + AETH_BYTES + more;
        // The bus of the holder brings what is sent; an atomic's original is there.
        let mut stages = Vec::new();
        let mut fetched = Duration::ZERO;
        if bytes > 0 {
            stages.push(Stage::of_bus(&holder.pcie(), peer, mtu, last));
            fetched = holder.pcie_latency * 2 + peer * latency::READY;
        }
        stages.extend(back.iter().map(|hop| Stage::of_link(hop, full, last_frame)));
        let back = through(&stages, packets * count - 1);
        let beats = |bytes: u64| bytes.div_ceil(BEAT_BYTES) - 1;
        let into_memory = beats(message.get().min(mtu)) + latency::WRITE + 2;
        reader.pcie_latency
            + own * (latency::POST + latency::READ + latency::SELECT)
            + there
            + peer * (beats(request - 4) + latency::ASKED)
            + fetched
            + back
            + own * (beats(last_frame - 4) + latency::RETURNED + into_memory)
            + reader.pcie_latency
    }

    /// From the post of the first of `count` messages of a flow, all of a kind and length, to the completion of the
    /// last, as the application sees them: payload read over the bus, all packets back to back at the slowest link,
    /// each hop store-and-forward, and an ACK on the way back.
    ///
    /// Exact up to some cycles of the NICs as long as the QP's window covers the path.
    pub fn ideal(
        &mut self,
        flow: &Connection<'_>,
        (operation, message): (Operation, ByteCount),
        count: u64,
    ) -> Duration {
        let ends = [&flow.from, &flow.to].map(|name| self.plan.number(name));
        if operation.returns() {
            return self.ideal_read(ends, flow.settings.mtu.into(), (operation, message), count);
        }
        let hops = self.hops(ends[0], ends[1]);
        let [sender, receiver] = ends.map(|end| &self.hosts[end.0 as usize]);
        let [own, peer] = [sender, receiver].map(|host| ModelNicConfig::period(host.rate));
        let (bytes, mtu) = (message.get(), u64::from(flow.settings.mtu));
        let packets = bytes.div_ceil(mtu).max(1);
        let last = bytes - (packets - 1) * mtu;
        // Further messages follow without a gap.
        let packets = packets * count;
        let reth = match operation {
            Operation::Write | Operation::WriteImm => RETH_BYTES,
            _ => 0,
        };
        // What the RETH makes the first packet longer goes behind the others, as if the last had it.
        let packet = match sender.ip {
            IpVersion::V4 => PACKET_BYTES,
            IpVersion::V6 => PACKET_BYTES + IPV6_MORE_BYTES,
        };
        let data = |payload: u64, more: u64| packet + payload.next_multiple_of(4) + more;
        let (full, last_frame) = (data(mtu, 0), data(last, reth));
        let mut stages = vec![Stage::of_bus(&sender.pcie(), own, mtu, last)];
        stages.extend(hops.iter().map(|hop| Stage::of_link(hop, full, last_frame)));
        let forth = through(&stages, packets - 1);
        // The ACK: a single frame.
        let ack = packet + AETH_BYTES;
        let back: Vec<Stage> = (hops.iter().rev())
            .map(|hop| Stage::of_link(hop, ack, ack))
            .collect();
        let back = through(&back, 0);
        let beats = |bytes: u64| bytes.div_ceil(BEAT_BYTES) - 1;
        let latency = sender.pcie_latency;
        latency
            + latency * 2
            + own * latency::OUT
            + forth
            + peer * (beats(last_frame - 4) + latency::ANSWERED)
            + back
            + own * (beats(ack - 4) + latency::COMPLETED)
            + latency
    }
}

/// A stage that packets pass one after the other: the time of a full packet and of the last one, and the time from its
/// end to the next stage.
#[derive(Debug, Clone, Copy)]
struct Stage {
    full: Duration,
    last: Duration,
    delay: Duration,
}

impl Stage {
    fn of_bus(bus: &PcieConfig, period: Duration, full: u64, last: u64) -> Self {
        let time = |bytes: u64| {
            let beats = period * bytes.div_ceil(BEAT_BYTES);
            let bits = u128::from(bytes) * 8_000_000_000_000;
            let rate = bus.rate.map_or(u64::MAX, |rate| rate.as_bits_per_second());
            beats.max(Duration::from_ps((bits / u128::from(rate.max(1))) as u64))
        };
        Self {
            full: time(full),
            last: time(last),
            delay: Duration::ZERO,
        }
    }

    /// A frame that has passed has held the line for its gap too, but is there with its last bit.
    fn of_link(hop: &Hop, full: u64, last: u64) -> Self {
        Self {
            full: hop.rate.time_of(wire_bytes(full)),
            last: hop.rate.time_of(wire_bytes(last)),
            delay: hop.delay.saturating_sub(hop.rate.time_of(GAP_BYTES)),
        }
    }
}

/// When the last packet has passed all stages, behind `full` packets of full length.
///
/// The m-th of equal packets leaves stage i at Σ (times up to i) + (m − 1) · (the longest of them): the times of a line
/// of servers. The last packet then waits in each stage for the one before it.
fn through(stages: &[Stage], full: u64) -> Duration {
    let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
    let mut last = Duration::ZERO;
    for stage in stages {
        let before = match full {
            0 => Duration::ZERO,
            _ => {
                sum += stage.full;
                longest = longest.max(stage.full);
                sum + longest * (full - 1)
            }
        };
        last = last.max(before) + stage.last + stage.delay;
        sum += stage.delay;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets of 10 and a last one of 4, over stages of factor 1, 3 and 1: by hand, each packet's end at each
    /// stage is 10 20 30 34, 40 70 100 112, 50 80 110 116, and a delay shifts all behind it.
    #[test]
    fn packets_queue_at_the_slowest_stage() {
        let stage = |factor: u64, delay: u64| Stage {
            full: Duration::from_ps(10 * factor),
            last: Duration::from_ps(4 * factor),
            delay: Duration::from_ps(delay),
        };
        let through = |stages: &[Stage], full| through(stages, full).as_ps();
        assert_eq!(through(&[stage(1, 0), stage(3, 0), stage(1, 0)], 3), 116);
        assert_eq!(through(&[stage(1, 7), stage(3, 0), stage(1, 5)], 3), 128);
        assert_eq!(through(&[stage(1, 0), stage(3, 0), stage(1, 0)], 0), 20);
        // Behind equal stages the last waits for the one before it: 10 20 30 34, 20 30 40 44.
        assert_eq!(through(&[stage(1, 0), stage(1, 0)], 3), 44);
    }
}
