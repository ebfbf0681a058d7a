//! A node of any kind.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::{ModelNic, NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::protocol::dcqcn::Alpha;
use xoff_sim::switch::Switch;
use xoff_sim::time::{Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use super::device::Created;
use super::own::Own;
use super::rtl_host::{RtlHost, RtlNode};
use crate::units::UnitError;

/// A node of a scenario.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// A host with this repository's RTL NIC.
    Rtl(Box<RtlHost>),
    /// A host with an RTL NIC of your own.
    Own(Own),
    /// A host with the model NIC.
    Model(Box<ModelNic>),
    /// A switch.
    Switch(Box<Switch>),
}

impl Station {
    /// The host, if it is one.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Self::Model(node) => Some(node.host()),
            _ => self.rtl().map(RtlNode::host),
        }
    }

    /// The host, if it is one, for adding flows.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Self::Model(node) => Some(node.host_mut()),
            _ => self.rtl_mut().map(RtlNode::host_mut),
        }
    }

    /// Asks for a QP with a region of memory. Returns what the other end has to know if that is known at once;
    /// otherwise [`created`](Self::created) returns it later.
    ///
    /// Panics for a switch, as do `created`, `connect` and `connected`.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed, or a register refused an access.
    pub fn create(
        &mut self,
        index: u16,
        psn: Psn,
        region: &Region,
    ) -> Result<Option<Created>, UnitError> {
        if let Self::Model(node) = self {
            let key = node.register(index, *region);
            let qpn = node.config().settings.qpn_base + u32::from(index);
            return Ok(Some(Created { qpn, psn, key }));
        }
        let node = self.rtl_mut().expect("a host has QPs");
        node.create(index, psn, region)?;
        Ok(node.created(index))
    }

    /// States at `now` that the link of a port went down or came up. Pauses end with the link.
    pub fn set_link(&mut self, now: Time, port: PortId, up: bool) {
        match self {
            Self::Switch(switch) => switch.set_link(now, port, up),
            Self::Model(node) => node.set_link(up),
            Self::Rtl(node) => node.set_link(now, up),
            Self::Own(own) => own.node_mut().set_link(now, up),
        }
    }

    /// The result of `create` for a QP, once it is done.
    pub fn created(&self, index: u16) -> Option<Created> {
        self.rtl().and_then(|node| node.created(index))
    }

    /// Connects a QP.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn connect(&mut self, index: u16, qp: &QpSettings) -> Result<(), UnitError> {
        if let Self::Model(node) = self {
            node.open(index, qp);
            return Ok(());
        }
        let node = self.rtl_mut().expect("a host has QPs");
        node.connect(index, qp)
    }

    /// Whether a QP is connected.
    pub fn connected(&self, index: u16) -> bool {
        self.rtl().is_none_or(|node| node.connected(index))
    }

    /// The RTL NIC with its host, if it is one.
    pub fn rtl(&self) -> Option<&dyn RtlNode> {
        match self {
            Self::Rtl(node) => Some(&**node),
            Self::Own(own) => Some(own.node()),
            Self::Model(_) | Self::Switch(_) => None,
        }
    }

    /// Mutable access to the RTL NIC with its host, if it is one.
    pub fn rtl_mut(&mut self) -> Option<&mut dyn RtlNode> {
        match self {
            Self::Rtl(node) => Some(&mut **node),
            Self::Own(own) => Some(own.node_mut()),
            Self::Model(_) | Self::Switch(_) => None,
        }
    }

    /// The switch, if it is one.
    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Rtl(_) | Self::Own(_) | Self::Model(_) => None,
        }
    }

    /// The NIC's counters, if this is a host.
    pub fn nic_counters(&self) -> Option<&NicCounters> {
        match self {
            Self::Model(node) => Some(node.counters()),
            _ => self.rtl().map(RtlNode::counters),
        }
    }

    /// The counters of the NIC's receive MAC, if this is a host.
    pub fn mac_counters(&self) -> Option<ReceiveCounters> {
        match self {
            Self::Model(node) => Some(node.mac_counters()),
            _ => self.rtl().map(RtlNode::mac_counters),
        }
    }

    /// When the NIC could not send each class, if this is a host.
    pub fn pauses(&self) -> Option<&PauseLog> {
        match self {
            Self::Model(node) => Some(node.pauses()),
            _ => self.rtl().map(RtlNode::pauses),
        }
    }

    /// How long each class could not be sent until `now`; for a switch, the sum over its ports.
    pub fn pause_times(&self, now: Time) -> [Duration; 8] {
        std::array::from_fn(|class| match self {
            Self::Switch(switch) => (0..switch.line_rates().len() as u16)
                .map(|port| switch.paused_for(PortId(port), class as u8, now))
                .fold(Duration::ZERO, |sum, time| sum + time),
            _ => self
                .pauses()
                .map_or(Duration::ZERO, |log| log.time(class, now)),
        })
    }

    /// How long a port could not send until `now`, summed over classes.
    pub fn port_pause_time(&self, port: PortId, now: Time) -> Duration {
        let times: [Duration; 8] = match self {
            Self::Switch(switch) => {
                std::array::from_fn(|class| switch.paused_for(port, class as u8, now))
            }
            _ => self.pause_times(now),
        };
        times
            .into_iter()
            .fold(Duration::ZERO, |sum, time| sum + time)
    }

    /// The spans of time in which a NIC could not send a class. Empty for a switch.
    pub fn pause_spans(&self, class: usize, now: Time) -> Vec<(Time, Time)> {
        let spans = |log: &PauseLog| log.spans(class, now);
        self.pauses().map(spans).unwrap_or_default()
    }

    /// The rate that DCQCN allows a NIC's QP, in b/s, and its α.
    pub fn dcqcn(&self, qp: u16) -> Option<(f64, f64)> {
        let (rate, alpha, _) = match self {
            Self::Model(node) => node.rate(qp),
            _ => self.rtl()?.rate(qp),
        }?;
        Some((
            f64::from(rate.0) * 1e3,
            f64::from(alpha.0) / f64::from(Alpha::ONE.0),
        ))
    }

    /// Why the NIC has stopped working, if it has.
    pub fn failure(&self) -> Option<&str> {
        self.rtl().and_then(RtlNode::failure)
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Rtl(node) => &**node,
            Self::Own(own) => own.node(),
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

    fn prefetch(&self, step: u8, until: Time) {
        match self {
            Self::Model(node) => node.prefetch(step, until),
            Self::Switch(switch) => switch.prefetch(step, until),
            // One of them takes longer than the rest of the network.
            Self::Rtl(_) | Self::Own(_) => {}
        }
    }

    fn prefetch_arrival(&self, port: PortId) {
        if let Self::Switch(switch) = self {
            switch.prefetch_arrival(port);
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Rtl(node) => node.advance(until, arrivals, departures),
            Self::Own(own) => own.node_mut().advance(until, arrivals, departures),
            Self::Model(node) => node.advance(until, arrivals, departures),
            Self::Switch(switch) => switch.advance(until, arrivals, departures),
        }
    }
}
