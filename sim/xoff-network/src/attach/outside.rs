//! A port of a network whose host is outside of the simulation, `nic = "attached"`: what arrives goes out, and what
//! comes from outside goes into the network, at line rate.
//!
//! Switches route: the port answers ARP for all hosts with the address of the first hop. From outside it takes IP to
//! that hop, and from the network all but MAC control. It pauses for nobody and obeys no pause; both are counted.

use std::fmt;

use bytes::Bytes;
use xoff_sim::frame::FrameBytes;
use xoff_sim::headers::Headers;
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::shape::BEAT_BYTES;
use xoff_sim::nic::{Address, ModelNicConfig, NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::time::{LineRate, Time};
use xoff_sim::wire::{EtherType, Psn};

use crate::arp;
use crate::endpoint::{Created, Endpoint, EndpointError, EndpointSetup, Kind, Limits};
use crate::plain_port::PlainPort;

/// What is said of an attached host that should be part of a checkpoint.
const NOT_SAVED: &str = "an attached host is in no checkpoint: nobody can save the peer outside";
/// What is said of a flow that should begin or end there.
const NO_FLOWS: &str =
    "flows neither begin nor end at an attached host: its peer outside does what it wants";

/// The kind of attached hosts.
pub(crate) fn kind() -> Kind {
    Kind {
        limits: || Limits {
            qps: 0,
            operations: &[],
            answers: &[],
            granted: 0,
            ipv6: false,
            ..Limits::MODEL
        },
        period: ModelNicConfig::period,
        too_slow: |_| None,
        make: |setup| Ok(Box::new(Outside::new(setup))),
        restore: |_| Err(NOT_SAVED.into()),
    }
}

/// The port.
pub struct Outside {
    own: Address,
    neighbours: Vec<Address>,
    host: Host,
    /// To and from the network.
    port: PlainPort,
    /// Frames for the peer outside.
    out: Vec<Bytes>,
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Outside");
        text.field("own", &self.own).field("port", &self.port);
        text.finish_non_exhaustive()
    }
}

impl Outside {
    fn new(setup: EndpointSetup) -> Self {
        let own = setup.host;
        Self {
            own: own.address,
            neighbours: own.others(),
            host: Host::new(own.clock, BEAT_BYTES, &setup.pcie),
            port: PlainPort::new(own.rate, setup.max_frame),
            out: Vec::new(),
        }
    }

    /// The addresses that the peer has to have.
    pub const fn address(&self) -> Address {
        self.own
    }

    /// Takes a frame of the peer, without FCS, at the time at which the network is.
    pub fn give(&mut self, bytes: &[u8], now: Time) {
        if let Some(reply) = arp::answer(bytes, |ip| arp::mac_of(&self.neighbours, ip)) {
            return self.out.push(reply);
        }
        let ip = [EtherType::IPV4, EtherType::IPV6];
        let routed = |headers: &Headers| {
            ip.contains(&headers.ether_type)
                && headers.dst.0[0] & 1 == 0
                && headers.dst != self.own.mac
        };
        if !Headers::at(bytes).is_some_and(|headers| routed(&headers)) {
            return self.port.counters.add(reg::DROP_ADDRESS, 1);
        }
        self.port
            .send(FrameBytes::from(bytes.to_vec()).padded(), now);
    }

    /// Frames for the peer since the last call.
    pub fn take(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.out)
    }
}

impl Node for Outside {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.port.rate]
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.port.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        self.port.next_departure()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        for arrival in arrivals {
            let frame = self.port.arrive(arrival.frame);
            self.out.extend(frame.map(|frame| frame.bytes.whole()));
        }
        self.port.depart(until, departures);
    }
}

impl Endpoint for Outside {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn create(
        &mut self,
        _index: u16,
        _psn: Psn,
        _region: &Region,
    ) -> Result<Option<Created>, EndpointError> {
        Err(EndpointError::new(NO_FLOWS))
    }

    fn connect(&mut self, _index: u16, _settings: &QpSettings) -> Result<(), EndpointError> {
        Err(EndpointError::new(NO_FLOWS))
    }

    fn connected(&self, _index: u16) -> bool {
        false
    }

    fn counters(&self) -> &NicCounters {
        &self.port.counters
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.port.mac_counters
    }

    fn pauses(&self) -> &PauseLog {
        &self.port.pauses
    }

    fn rate(&self, _qp: u16) -> Option<(Rate, Alpha, bool)> {
        None
    }

    fn set_link(&mut self, _now: Time, _up: bool) {}

    fn outside(&mut self) -> Option<&mut Outside> {
        Some(self)
    }

    fn unsaved(&self) -> Option<&'static str> {
        Some(NOT_SAVED)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        Err(NOT_SAVED.into())
    }
}
