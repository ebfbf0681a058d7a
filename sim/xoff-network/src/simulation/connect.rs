//! How the QPs of flows are connected.

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{Network, NodeId};
use xoff_sim::link::FirstPsn;
use xoff_sim::nic::QpSettings;
use xoff_sim::time::Time;
use xoff_sim::wire::{Qpn, address_bits};

use super::build::{endpoint_of, host_of};
use super::{Simulation, SimulationError};
use crate::endpoint::{Created, EndpointError};
use crate::station::Station;

/// A flow whose two QPs are being connected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Connecting {
    pub(super) number: u32,
    pub(super) ends: [NodeId; 2],
    pub(super) qps: [u16; 2],
    /// The QPs' settings, without what the other end will report.
    pub(super) settings: [QpSettings; 2],
    pub(super) created: [Option<Created>; 2],
    /// The sides at which its data arrives.
    pub(super) arrives: [bool; 2],
    pub(super) connecting: bool,
    /// Whether the receiving end has been told to post its buffers.
    pub(super) receiving: bool,
}

impl Simulation {
    /// Continues connecting QPs, as far as their drivers are done. All parts take the same steps, each at the ends that
    /// it has.
    pub(super) fn connect(&mut self) -> Result<(), SimulationError> {
        let mut flows = std::mem::take(&mut self.connecting_flows);
        let (now, divided) = (self.now(), self.parts.is_some());
        let (mut first_psns, mut failed) = (Vec::new(), None);
        let mut going = true;
        while going {
            going = false;
            let mut reached: Vec<Reached> = Vec::new();
            if divided {
                reached = flows
                    .iter()
                    .map(|flow| flow.reached(&self.network))
                    .collect();
                for others in self.share(&reached)? {
                    let all = reached.iter_mut().zip(others);
                    all.for_each(|(known, other)| known.join(other));
                }
            }
            let mut reached = reached.into_iter();
            let network = &mut self.network;
            flows.retain_mut(|flow| {
                let step = match reached.next() {
                    Some(reached) => flow.step(network, now, &reached),
                    None => flow.advance(network, now),
                };
                match step {
                    Ok(Step::Connected) => {
                        first_psns.extend(flow.first_psns());
                        return false;
                    }
                    Ok(Step::Went) => going = true,
                    Ok(Step::Waits) => {}
                    Err(error) => failed = failed.take().or(Some(error.to_string())),
                }
                true
            });
        }
        self.connecting_flows = flows;
        if !first_psns.is_empty() {
            self.set_first_psns(&first_psns);
        }
        failed.map_or(Ok(()), |what| {
            Err(SimulationError::Failed { at: now, what })
        })
    }
}

/// How far the two ends of a flow have come, as far as their nodes run here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Reached {
    created: [Option<Created>; 2],
    connected: [bool; 2],
    posted: [bool; 2],
}

impl Reached {
    /// Adds what another part knows.
    fn join(&mut self, other: Self) {
        for side in 0..2 {
            self.created[side] = self.created[side].or(other.created[side]);
            self.connected[side] |= other.connected[side];
            self.posted[side] |= other.posted[side];
        }
    }
}

/// What a step towards connected QPs came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A driver is not done yet.
    Waits,
    /// The next step can be tried.
    Went,
    /// The flow has started.
    Connected,
}

/// Changes a node, if it runs here.
pub(super) fn update<R>(
    network: &mut Network<Station>,
    node: NodeId,
    change: impl FnOnce(&mut Station) -> R,
) -> Option<R> {
    network.has(node).then(|| network.update(node, change))
}

impl Connecting {
    /// How far its ends have come, as far as they run here.
    fn reached(&self, network: &Network<Station>) -> Reached {
        let mut reached = Reached::default();
        for (side, end) in self.ends.into_iter().enumerate() {
            let Some(endpoint) = network.node(end).endpoint().filter(|_| network.has(end)) else {
                continue;
            };
            let qp = self.qps[side];
            reached.created[side] = self.created[side].or_else(|| endpoint.created(qp));
            reached.connected[side] = self.connecting && endpoint.connected(qp);
            if self.arrives[side] {
                reached.posted[side] = self.receiving && endpoint.host().has_posted(self.number);
            }
        }
        reached
    }

    /// Takes all steps towards connected QPs that can be taken now, in a network of one part.
    fn advance(
        &mut self,
        network: &mut Network<Station>,
        now: Time,
    ) -> Result<Step, EndpointError> {
        loop {
            let reached = self.reached(network);
            match self.step(network, now, &reached)? {
                Step::Went => {}
                step => return Ok(step),
            }
        }
    }

    /// Takes the next step at the ends that run here, given how far both have come. The last one is that both QPs are
    /// connected, the receiving end has posted its buffers, and the flow starts.
    fn step(
        &mut self,
        network: &mut Network<Station>,
        now: Time,
        reached: &Reached,
    ) -> Result<Step, EndpointError> {
        for side in 0..2 {
            self.created[side] = self.created[side].or(reached.created[side]);
        }
        let [Some(a), Some(b)] = self.created else {
            return Ok(Step::Waits);
        };
        if !self.connecting {
            for (side, own, peer) in [(0, a, b), (1, b, a)] {
                let qp = &mut self.settings[side];
                qp.peer_qpn = peer.qpn;
                (qp.requester_psn, qp.responder_psn) = (own.psn, peer.psn);
                let connected = update(network, self.ends[side], |station| {
                    endpoint_of(station).connect(self.qps[side], qp)
                });
                connected.unwrap_or(Ok(()))?;
            }
            self.connecting = true;
            return Ok(Step::Went);
        }
        if reached.connected != [true; 2] {
            return Ok(Step::Waits);
        }
        if !self.receiving {
            for (side, own) in [a, b]
                .into_iter()
                .enumerate()
                .filter(|(side, _)| self.arrives[*side])
            {
                update(network, self.ends[side], |station| {
                    host_of(station).connect_receiver(self.number, now, own.key);
                });
            }
            self.receiving = true;
            return Ok(Step::Went);
        }
        // A message that finds no buffer is refused, and may end a QP whose sender was only too early.
        if reached.posted != self.arrives {
            return Ok(Step::Waits);
        }
        update(network, self.ends[0], |station| {
            host_of(station).connect_sender(self.number, now, a.key, b.key);
        });
        Ok(Step::Connected)
    }

    /// The flow's first PSN, listed for the QPs of both ends, for use by fault rules.
    fn first_psns(&self) -> impl Iterator<Item = FirstPsn> {
        let psn = self.settings[0].requester_psn;
        self.settings.iter().map(move |side| FirstPsn {
            dst: address_bits(side.peer.ip),
            qpn: Qpn::new(side.peer_qpn).expect("a NIC's QPNs have 24 bits"),
            psn,
        })
    }
}
