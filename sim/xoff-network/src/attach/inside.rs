//! The host of a network with which the peer at an attached port speaks: a NIC of any kind, with the host's stack and
//! the tool that [`Attached`] has.

use std::fmt;
use std::net::IpAddr;

use xoff_sim::frame::Frame;
use xoff_sim::host::Host;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::{DcqcnChange, NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::time::{Duration, LineRate, Time};
use xoff_sim::wire::Psn;

use super::verbs::READS;
use super::{
    Attached, Ended, Error, Perftest, Pingpong, Report, Role, Rping, Settings, Tool, Verb,
};
use crate::bench::Bench;
use crate::endpoint::{
    Clocked, Created, Endpoint, EndpointError, EndpointSetup, Kind, TranslationCost,
};
use crate::scenario::{NicKind, ToolName, ToolSettings};

/// What is said of a host with a tool that should be part of a checkpoint.
const NOT_SAVED: &str =
    "a host with a tool is in no checkpoint: its peer is outside, and cannot be saved";
/// What is said of a flow that should begin or end there.
const NO_FLOWS: &str = "flows neither begin nor end at a host with a tool";
/// Receive buffers of a server of SENDs.
const BUFFERS: u64 = 16;
/// How often a tool that waits for the clock is looked at.
const LOOK: Duration = Duration::from_ms(1);

/// The tool of a scenario.
fn tool_of(settings: &ToolSettings) -> Tool {
    let (size, mtu, iterations) = (settings.message.get() as u32, settings.mtu, settings.count);
    let port = Pingpong::default().port;
    let perftest = |verb, size| {
        Tool::Perftest(Perftest {
            verb,
            size,
            mtu,
            iterations,
            buffers: BUFFERS,
            reads: READS,
            port,
            wrong_key: false,
        })
    };
    match settings.name {
        ToolName::IbvRcPingpong => Tool::Pingpong(Pingpong {
            size,
            mtu,
            iterations,
            port,
        }),
        ToolName::IbSendBw => perftest(Verb::Send, size),
        ToolName::IbWriteBw => perftest(Verb::Write, size),
        ToolName::IbReadBw => perftest(Verb::Read, size),
        ToolName::IbAtomicBw => perftest(Verb::FetchAdd, 8),
        ToolName::Rping => Tool::Rping(Rping {
            size,
            mtu,
            count: Some(iterations),
            ..Rping::default()
        }),
    }
}

/// The host.
pub(crate) struct Inside {
    rate: LineRate,
    attached: Attached,
    next: Option<Time>,
    /// Until when its last frame had the line.
    last: Time,
    failure: Option<String>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("nic", self.nic())
            .finish_non_exhaustive()
    }
}

impl Inside {
    /// A host with a tool, whose NIC is `nic`, of which `kind` is the kind.
    ///
    /// # Errors
    ///
    /// The NIC cannot be set up.
    pub fn new(
        nic: NicKind,
        kind: &Kind,
        setup: EndpointSetup,
        tool: &ToolSettings,
        server: Option<IpAddr>,
    ) -> Result<Self, EndpointError> {
        let (rate, own) = (setup.host.rate, setup.host.address);
        let IpAddr::V4(ipv4) = own.ip else {
            return Err(EndpointError::new("a host with a tool has an IPv4 address"));
        };
        let settings = Settings {
            nic,
            mac: own.mac,
            ipv4,
            ipv6: None,
            tool: tool_of(tool),
            role: server.map_or(Role::Server, Role::Client),
            dscp: tool.dscp,
            faults_in: Vec::new(),
            faults_out: Vec::new(),
            seed: setup.seed,
        };
        let neighbours = setup.host.others();
        let bench = Bench::of(kind, setup)?;
        let attached =
            Attached::with(&settings, bench, neighbours).map_err(|error| match error {
                Error::Endpoint(error) => error,
                other => EndpointError::new(other.to_string()),
            })?;
        Ok(Self {
            rate,
            attached,
            next: Some(Time::ZERO),
            last: Time::ZERO,
            failure: None,
        })
    }

    fn nic(&self) -> &dyn Endpoint {
        self.attached.nic()
    }

    fn nic_mut(&mut self) -> &mut dyn Endpoint {
        self.attached.nic_mut()
    }

    /// Has a frame leave behind the one before it.
    fn leave(&mut self, frame: Frame, departures: &mut Departures) {
        self.last = self.last.max(frame.end);
        let frame = Frame {
            end: self.last,
            ..frame
        };
        departures.push(PortId(0), frame);
    }
}

impl Node for Inside {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.rate]
    }

    fn cost(&self) -> u32 {
        self.nic().cost()
    }

    fn weight(&self) -> u32 {
        self.nic().weight()
    }

    fn next_event(&self) -> Option<Time> {
        let nic = self.nic().next_event();
        self.next.into_iter().chain(nic).min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        for arrival in arrivals {
            self.attached.arrive_at(arrival.frame);
        }
        if let Err(error) = self.attached.run_until(until) {
            self.failure.get_or_insert(error.to_string());
        }
        // Captures are taken at ports of the network.
        self.attached.take_seen();
        let mut frames = self.attached.take_frames();
        frames.sort_by_key(|frame| frame.end);
        for frame in frames {
            self.leave(frame, departures);
        }
        let looked = (*self.attached.ended() == Ended::Running).then(|| until + LOOK);
        let next = self.attached.next_event().into_iter().chain(looked).min();
        self.next = next.map(|next| next.max(until));
    }
}

impl Endpoint for Inside {
    fn host(&self) -> &Host {
        self.nic().host()
    }

    fn host_mut(&mut self) -> &mut Host {
        self.nic_mut().host_mut()
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

    fn translation(&self) -> Option<TranslationCost> {
        self.nic().translation()
    }

    fn counters(&self) -> &NicCounters {
        self.nic().counters()
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.nic().mac_counters()
    }

    fn pauses(&self) -> &PauseLog {
        self.nic().pauses()
    }

    fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.nic().rate(qp)
    }

    fn set_dcqcn(&mut self, qp: Option<u16>, change: &DcqcnChange) -> bool {
        self.nic_mut().set_dcqcn(qp, change)
    }

    fn set_link(&mut self, now: Time, up: bool) {
        self.nic_mut().set_link(now, up);
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref().or_else(|| self.nic().failure())
    }

    fn clocked(&self) -> Option<&dyn Clocked> {
        self.nic().clocked()
    }

    fn clocked_mut(&mut self) -> Option<&mut dyn Clocked> {
        self.nic_mut().clocked_mut()
    }

    fn tool(&self) -> Option<Report> {
        Some(self.attached.report())
    }

    fn unsaved(&self) -> Option<&'static str> {
        Some(NOT_SAVED)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        Err(NOT_SAVED.into())
    }
}
