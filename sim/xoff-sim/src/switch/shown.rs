//! What a switch that runs in another part of a network shows of itself.
//!
//! Its buffer, counters and queues, and on request its tables. Of queues it shows how many bytes came by which port.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::buffer::SharedBuffer;
use super::egress::{self, ShownEgress};
use super::forwarding::Forwarding;
use super::node::Switch;
use super::{PortCounters, RedConfig};
use crate::link::FaultInjector;
use crate::wire::PRIORITIES;

/// The longest frame without content, with its FCS.
pub(super) const HOLLOW_BYTES: usize = 1 << 20;

/// A frame of so many bytes, at most [`HOLLOW_BYTES`], whose content is not shown. It takes no memory.
pub(super) fn hollow(bytes: usize) -> Bytes {
    static NOTHING: [u8; HOLLOW_BYTES] = [0; HOLLOW_BYTES];
    Bytes::from_static(&NOTHING[..bytes])
}

/// A switch as it was shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownSwitch {
    buffer: SharedBuffer,
    red: [Option<RedConfig>; PRIORITIES],
    faults: FaultInjector,
    ports: Vec<(ShownEgress, PortCounters, bool)>,
}

/// What rates of a switch's ports are measured by: the frames on their wires, and when they were paused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownRates(Vec<egress::ShownRates>);

impl Switch {
    /// What rates of the ports are measured by, which is little beside all that [`shown`](Self::shown) returns.
    pub fn rates_shown(&self) -> ShownRates {
        let ports = self.ports.iter();
        ShownRates(ports.map(|port| port.egress.rates_shown()).collect())
    }

    /// Takes what [`rates_shown`](Self::rates_shown) returned where the switch runs.
    pub fn see_rates(&mut self, shown: ShownRates) {
        for (port, shown) in self.ports.iter_mut().zip(shown.0) {
            port.egress.see_rates(shown);
        }
    }

    /// What is to be seen of the switch now, without its [tables](Self::forwarding), which seldom change. What
    /// [`take_levels`](Self::take_levels) and [`frames`](Self::frames) return is not shown.
    pub fn shown(&self) -> ShownSwitch {
        let ports = self.ports.iter();
        ShownSwitch {
            buffer: self.buffer.clone(),
            red: self.config.red,
            faults: self.faults.clone(),
            ports: ports
                .map(|port| (port.egress.shown(), port.counters.clone(), port.up))
                .collect(),
        }
    }

    /// Takes what the switch showed in the part where it runs, and its tables if they have changed. It cannot run from
    /// then on.
    pub fn see(&mut self, shown: ShownSwitch, tables: Option<Forwarding>) {
        self.buffer = shown.buffer;
        self.config.red = shown.red;
        self.faults = shown.faults;
        for (port, (egress, counters, up)) in self.ports.iter_mut().zip(shown.ports) {
            port.egress.see(egress);
            (port.counters, port.up) = (counters, up);
        }
        if let Some(tables) = tables {
            self.forwarding = tables;
        }
    }
}
