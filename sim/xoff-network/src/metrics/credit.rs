//! Goodput accounting.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{Node, NodeId};
use xoff_sim::time::{LineRate, Time};

use crate::{FlowEnds, Simulation};

/// The flows that end at one host.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Credit {
    rate: LineRate,
    flows: Vec<usize>,
}

/// Bytes that flows have delivered.
///
/// Bytes are counted once they have been written to memory, but never faster than the line carries them: a NIC's
/// buffer may be emptied at the rate of the bus, and a packet is written in one instant. Bytes above the line's rate
/// are credited later, so the only bytes not counted are those still uncredited at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Credits {
    hosts: Vec<Credit>,
    at: Time,
    /// Bytes credited to each flow until now.
    pub(super) bytes: Vec<u64>,
}

impl Credits {
    /// What was delivered until now is credited.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let flows = simulation.flows();
        let mut ends = BTreeMap::<NodeId, Vec<usize>>::new();
        for (place, flow) in flows.iter().enumerate() {
            ends.entry(flow.target).or_default().push(place);
        }
        let credit = |(host, flows): (NodeId, Vec<usize>)| Credit {
            rate: simulation.network().node(host).line_rates()[0],
            flows,
        };
        Self {
            hosts: ends.into_iter().map(credit).collect(),
            at: simulation.now(),
            bytes: flows.iter().map(|flow| fresh(simulation, flow)).collect(),
        }
    }

    /// Credits flows with the bytes delivered since the last call, as far as the line carries them.
    pub(super) fn credit(&mut self, simulation: &Simulation) {
        let flows = simulation.flows();
        let elapsed = simulation.now().saturating_since(self.at);
        self.at = simulation.now();
        for credit in &self.hosts {
            let waiting =
                |place: usize, credited: &[u64]| fresh(simulation, &flows[place]) - credited[place];
            let due = credit.flows.iter().map(|&flow| waiting(flow, &self.bytes));
            let mut due: u64 = due.sum();
            // Unused line time is not carried over.
            let mut room = elapsed.as_ps() / credit.rate.byte_time().as_ps();
            // Each flow gets its proportional part of the room; rounding remainders go to later flows.
            for &flow in &credit.flows {
                let bytes = waiting(flow, &self.bytes);
                let part = match room < due {
                    true => (u128::from(bytes) * u128::from(room) / u128::from(due)) as u64,
                    false => bytes,
                };
                self.bytes[flow] += part;
                room -= part;
                due -= bytes;
            }
        }
    }
}

/// Bytes delivered to a flow's receiver in order and for the first time.
pub(super) fn fresh(simulation: &Simulation, flow: &FlowEnds) -> u64 {
    simulation.receiver(flow).fresh_bytes()
}
