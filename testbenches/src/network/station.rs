//! A node of any kind.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::NicCounters;
use xoff_sim::switch::Switch;
use xoff_sim::time::{LineRate, Time};

use super::RtlHost;

/// A node of a scenario.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// A host with the RTL NIC.
    Rtl(Box<RtlHost>),
    /// A switch.
    Switch(Box<Switch>),
}

impl Station {
    /// The host, if it is one.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Self::Rtl(node) => Some(node.host()),
            Self::Switch(_) => None,
        }
    }

    /// The RTL NIC with its host, if it is one.
    pub fn rtl(&self) -> Option<&RtlHost> {
        match self {
            Self::Rtl(node) => Some(node),
            Self::Switch(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn rtl_mut(&mut self) -> Option<&mut RtlHost> {
        match self {
            Self::Rtl(node) => Some(node),
            Self::Switch(_) => None,
        }
    }

    /// The switch, if it is one.
    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Rtl(_) => None,
        }
    }

    /// What the NIC has counted, if it is a host.
    pub fn nic_counters(&self) -> Option<&NicCounters> {
        match self {
            Self::Rtl(node) => Some(node.counters()),
            Self::Switch(_) => None,
        }
    }

    /// What the NIC's receive MAC has seen, if it is a host.
    pub fn mac_counters(&self) -> Option<ReceiveCounters> {
        match self {
            Self::Rtl(node) => Some(node.mac_counters()),
            Self::Switch(_) => None,
        }
    }

    /// Classes that the port's peer keeps a NIC from sending.
    pub fn nic_paused(&self) -> Option<u8> {
        match self {
            Self::Rtl(node) => Some(node.paused()),
            Self::Switch(_) => None,
        }
    }

    /// Why it no longer works.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Rtl(node) => node.failure(),
            Self::Switch(_) => None,
        }
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Rtl(node) => &**node,
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

    fn next_event(&self) -> Option<Time> {
        self.node().next_event()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Rtl(node) => node.advance(until, arrivals, departures),
            Self::Switch(switch) => switch.advance(until, arrivals, departures),
        }
    }
}
