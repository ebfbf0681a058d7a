//! A node of any kind.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::{ModelNic, NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::protocol::dcqcn::Alpha;
use xoff_sim::switch::Switch;
use xoff_sim::time::{Duration, LineRate, Time};

use super::RtlHost;
use crate::units::UnitError;
use crate::units::registers::Registers;

/// A node of a scenario.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// A host with the RTL NIC.
    Rtl(Box<RtlHost>),
    /// A host with the model NIC.
    Model(Box<ModelNic>),
    /// A switch.
    Switch(Box<Switch>),
}

impl Station {
    /// The host, if it is one.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Self::Rtl(node) => Some(node.host()),
            Self::Model(node) => Some(node.host()),
            Self::Switch(_) => None,
        }
    }

    /// The same, to be given flows before time starts.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Self::Rtl(node) => Some(node.host_mut()),
            Self::Model(node) => Some(node.host_mut()),
            Self::Switch(_) => None,
        }
    }

    /// Opens a QP of a NIC and registers a region at the same index; gives the region's key. Before time starts. Panics for a switch.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a register refused.
    pub fn open(&mut self, index: u16, qp: &QpSettings, region: &Region) -> Result<u32, UnitError> {
        match self {
            Self::Rtl(node) => {
                node.open(index, qp)?;
                node.register(index, region)
            }
            Self::Model(node) => {
                node.open(index, qp);
                Ok(node.register(index, *region))
            }
            Self::Switch(_) => panic!("a switch has no QPs"),
        }
    }

    /// The RTL NIC with its host, if it is one.
    pub fn rtl(&self) -> Option<&RtlHost> {
        match self {
            Self::Rtl(node) => Some(node),
            Self::Model(_) | Self::Switch(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn rtl_mut(&mut self) -> Option<&mut RtlHost> {
        match self {
            Self::Rtl(node) => Some(node),
            Self::Model(_) | Self::Switch(_) => None,
        }
    }

    /// The switch, if it is one.
    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Rtl(_) | Self::Model(_) => None,
        }
    }

    /// What the NIC has counted, if it is a host.
    pub fn nic_counters(&self) -> Option<&NicCounters> {
        match self {
            Self::Rtl(node) => Some(node.counters()),
            Self::Model(node) => Some(node.counters()),
            Self::Switch(_) => None,
        }
    }

    /// What the NIC's receive MAC has seen, if it is a host.
    pub fn mac_counters(&self) -> Option<ReceiveCounters> {
        match self {
            Self::Rtl(node) => Some(node.mac_counters()),
            Self::Model(node) => Some(node.mac_counters()),
            Self::Switch(_) => None,
        }
    }

    fn pauses(&self) -> Option<&PauseLog> {
        match self {
            Self::Rtl(node) => Some(node.pauses()),
            Self::Model(node) => Some(node.pauses()),
            Self::Switch(_) => None,
        }
    }

    /// For how long each class could not be sent, until `now`; of a switch the sum over its ports.
    pub fn pause_times(&self, now: Time) -> [Duration; 8] {
        std::array::from_fn(|class| match self {
            Self::Rtl(node) => node.pauses().time(class, now),
            Self::Model(node) => node.pauses().time(class, now),
            Self::Switch(switch) => (0..switch.line_rates().len() as u16)
                .map(|port| switch.paused_for(PortId(port), class as u8, now))
                .fold(Duration::ZERO, |sum, time| sum + time),
        })
    }

    /// When a NIC could not send a class. Empty for a switch.
    pub fn pause_spans(&self, class: usize, now: Time) -> Vec<(Time, Time)> {
        let spans = |log: &PauseLog| log.spans(class, now);
        self.pauses().map(spans).unwrap_or_default()
    }

    /// What DCQCN lets a NIC's QP send, b/s, and its α.
    pub fn dcqcn(&self, qp: u16) -> Option<(f64, f64)> {
        let (rate, alpha, _) = match self {
            Self::Rtl(node) => node.rate(qp),
            Self::Model(node) => node.rate(qp),
            Self::Switch(_) => None,
        }?;
        Some((
            f64::from(rate.0) * 1e3,
            f64::from(alpha.0) / f64::from(Alpha::ONE.0),
        ))
    }

    /// Why it no longer works.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Rtl(node) => node.failure(),
            Self::Model(_) | Self::Switch(_) => None,
        }
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Rtl(node) => &**node,
            Self::Model(node) => &**node,
            Self::Switch(switch) => &**switch,
        }
    }
}

impl Node for Station {
    fn line_rates(&self) -> Vec<LineRate> {
        self.node().line_rates()
    }

    fn cost(&self) -> u32 {
        self.node().cost()
    }

    fn sending_since(&self, port: PortId) -> Option<Time> {
        self.node().sending_since(port)
    }

    fn next_event(&self) -> Option<Time> {
        self.node().next_event()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Rtl(node) => node.advance(until, arrivals, departures),
            Self::Model(node) => node.advance(until, arrivals, departures),
            Self::Switch(switch) => switch.advance(until, arrivals, departures),
        }
    }
}
