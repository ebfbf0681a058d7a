//! Goodput accounting.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{Node, NodeId};
use xoff_sim::time::{LineRate, Time};

use crate::Simulation;

/// Where data of a flow arrives.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Arriving {
    flow: usize,
    /// Index among the receivers of the host.
    receiver: usize,
    /// Bytes credited until now.
    credited: u64,
}

/// What arrives at one host.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Credit {
    host: NodeId,
    rate: LineRate,
    flows: Vec<Arriving>,
}

/// Bytes that flows have delivered.
///
/// Bytes are counted once they have been written to memory, but never faster than the line carries them: a NIC's
/// buffer may be emptied at the rate of the bus, and a packet is written in one instant. Bytes above the line's rate
/// are credited later, so the only bytes not counted are those still uncredited at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credits {
    hosts: Vec<Credit>,
    at: Time,
    /// Bytes credited to each flow until now.
    pub(crate) bytes: Vec<u64>,
}

impl Credits {
    /// What was delivered until now is credited.
    pub(crate) fn new(simulation: &Simulation) -> Self {
        let flows = simulation.flows();
        let mut ends = BTreeMap::<NodeId, Vec<Arriving>>::new();
        for (place, flow) in flows.iter().enumerate() {
            for (host, receiver) in flow.sinks() {
                ends.entry(host).or_default().push(Arriving {
                    flow: place,
                    receiver,
                    credited: fresh_at(simulation, host, receiver),
                });
            }
        }
        let credit = |(host, flows): (NodeId, Vec<Arriving>)| Credit {
            host,
            rate: simulation.network().node(host).line_rates()[0],
            flows,
        };
        let bytes = flows.iter().map(|flow| simulation.fresh_bytes(flow));
        Self {
            hosts: ends.into_iter().map(credit).collect(),
            at: simulation.now(),
            bytes: bytes.collect(),
        }
    }

    /// Credits flows with the bytes delivered since the last call, as far as the line carries them.
    pub(crate) fn credit(&mut self, simulation: &Simulation) {
        let elapsed = simulation.now().saturating_since(self.at);
        self.at = simulation.now();
        for credit in &mut self.hosts {
            let host = credit.host;
            let waiting = |it: &Arriving| fresh_at(simulation, host, it.receiver) - it.credited;
            let mut due: u64 = credit.flows.iter().map(waiting).sum();
            // Unused line time is not carried over.
            let mut room = elapsed.as_ps() / credit.rate.byte_time().as_ps();
            // Each flow gets its proportional part of the room; rounding remainders go to later flows.
            for arriving in &mut credit.flows {
                let bytes = waiting(arriving);
                let part = match room < due {
                    true => (u128::from(bytes) * u128::from(room) / u128::from(due)) as u64,
                    false => bytes,
                };
                arriving.credited += part;
                self.bytes[arriving.flow] += part;
                room -= part;
                due -= bytes;
            }
        }
    }
}

/// Bytes delivered to a receiver of a host in order and for the first time.
fn fresh_at(simulation: &Simulation, host: NodeId, receiver: usize) -> u64 {
    simulation.host(host).receivers()[receiver].fresh_bytes()
}
