//! A node of any kind.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::{NicCounters, PauseLog};
use xoff_sim::protocol::dcqcn::Alpha;
use xoff_sim::switch::Switch;
use xoff_sim::time::{Duration, LineRate, Time};

use crate::endpoint::{Clocked, Endpoint, Placed};

/// A node of a scenario.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// A host with its NIC.
    Endpoint(Placed),
    /// A switch.
    Switch(Box<Switch>),
}

impl Station {
    /// The endpoint, if it is one.
    pub fn endpoint(&self) -> Option<&dyn Endpoint> {
        match self {
            Self::Endpoint(placed) => Some(placed.node()),
            Self::Switch(_) => None,
        }
    }

    /// The endpoint, if it is one, for changes.
    pub fn endpoint_mut(&mut self) -> Option<&mut dyn Endpoint> {
        match self {
            Self::Endpoint(placed) => Some(placed.node_mut()),
            Self::Switch(_) => None,
        }
    }

    /// The switch, if it is one.
    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Endpoint(_) => None,
        }
    }

    /// The host, if it is one.
    pub fn host(&self) -> Option<&Host> {
        self.endpoint().map(Endpoint::host)
    }

    /// The host, if it is one, for adding flows.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        self.endpoint_mut().map(Endpoint::host_mut)
    }

    /// The RTL NIC, if it has one.
    pub fn clocked(&self) -> Option<&dyn Clocked> {
        self.endpoint()?.clocked()
    }

    /// The RTL NIC, if it has one, for changes.
    pub fn clocked_mut(&mut self) -> Option<&mut dyn Clocked> {
        self.endpoint_mut()?.clocked_mut()
    }

    /// States at `now` that the link of a port went down or came up. Pauses end with the link.
    pub fn set_link(&mut self, now: Time, port: PortId, up: bool) {
        match self {
            Self::Switch(switch) => switch.set_link(now, port, up),
            Self::Endpoint(placed) => placed.node_mut().set_link(now, up),
        }
    }

    /// The NIC's counters, if this is a host.
    pub fn nic_counters(&self) -> Option<&NicCounters> {
        self.endpoint().map(Endpoint::counters)
    }

    /// The counters of the NIC's receive MAC, if this is a host.
    pub fn mac_counters(&self) -> Option<ReceiveCounters> {
        self.endpoint().map(Endpoint::mac_counters)
    }

    /// When the NIC could not send each class, if this is a host.
    pub fn pauses(&self) -> Option<&PauseLog> {
        self.endpoint().map(Endpoint::pauses)
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

    /// The longest time from `from` until `now` for which each class could not be sent without a gap; for a switch, of
    /// all its ports.
    pub fn longest_pauses(&self, from: Time, now: Time) -> [Duration; 8] {
        let within =
            |(began, ended): (Time, Time)| ended.min(now).saturating_since(began.max(from));
        std::array::from_fn(|class| {
            let longest = match self {
                Self::Switch(switch) => (0..switch.line_rates().len() as u16)
                    .flat_map(|port| switch.long_stops(PortId(port), class as u8))
                    .map(|stop| within(*stop))
                    .max(),
                _ => self.pause_spans(class, now).into_iter().map(within).max(),
            };
            longest.unwrap_or(Duration::ZERO)
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
        let (rate, alpha, _) = self.endpoint()?.rate(qp)?;
        Some((
            f64::from(rate.0) * 1e3,
            f64::from(alpha.0) / f64::from(Alpha::ONE.0),
        ))
    }

    /// Why the NIC has stopped working, if it has.
    pub fn failure(&self) -> Option<&str> {
        self.endpoint().and_then(Endpoint::failure)
    }

    #[inline]
    fn node(&self) -> &dyn Node {
        match self {
            Self::Endpoint(placed) => placed.node(),
            Self::Switch(switch) => &**switch,
        }
    }

    #[inline]
    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Endpoint(placed) => placed.node_mut(),
            Self::Switch(switch) => &mut **switch,
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

    fn weight(&self) -> u32 {
        self.node().weight()
    }

    fn sending_since(&self, port: PortId) -> Option<Time> {
        self.node().sending_since(port)
    }

    fn next_event(&self) -> Option<Time> {
        self.node().next_event()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        self.node_mut().advance(until, arrivals, departures);
    }
}
