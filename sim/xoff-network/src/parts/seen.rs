//! A host that runs in another part of the network, as that part has shown it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xoff_sim::host::{Host, HostKnown};
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::{NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::time::{Clock, LineRate, Time};
use xoff_sim::wire::Psn;

use crate::endpoint::{
    Clocked, Created, Endpoint, EndpointError, ProcessorTime, TranslationCost, WaveWindow,
};

/// What is said where something is asked of a host that only its own part can answer.
const ELSEWHERE: &str = "the host runs in another part of the network";

/// How much of what grows at a host was shown before.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    host: HostKnown,
    pauses: [usize; 8],
}

impl Known {
    /// What somebody knows who has a copy of the host.
    pub(super) fn of(endpoint: &dyn Endpoint) -> Self {
        Self {
            host: HostKnown::of(endpoint.host()),
            pauses: endpoint.pauses().lengths(),
        }
    }

    /// What somebody knows who has seen nothing of the host.
    pub(super) fn nothing(endpoint: &dyn Endpoint) -> Self {
        Self {
            host: HostKnown::nothing(endpoint.host()),
            pauses: [0; 8],
        }
    }
}

/// All that is measured of a host and its NIC. It stands at the host's place, and cannot run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seen {
    line_rates: Vec<LineRate>,
    host: Host,
    counters: NicCounters,
    mac_counters: ReceiveCounters,
    pauses: PauseLog,
    /// Of the QPs that flows use.
    rates: BTreeMap<u16, (Rate, Alpha, bool)>,
    failure: Option<String>,
    clock: Option<SeenClock>,
    processor_time: Option<ProcessorTime>,
    translation: Option<TranslationCost>,
    sending_since: Option<Time>,
}

/// The clock of an RTL NIC.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SeenClock {
    clock: Clock,
    cycles_evaluated: u64,
}

impl Seen {
    /// The state of a host with only what came since `known`, which is all of it from then on.
    pub(super) fn of(endpoint: &dyn Endpoint, known: &mut Known) -> Self {
        let host = endpoint.host();
        let senders = host.senders().iter().map(|sender| sender.qp);
        let receivers = host.receivers().iter().map(|receiver| receiver.qp);
        let qps: BTreeSet<u16> = senders.chain(receivers).collect();
        let rate = |qp: u16| Some((qp, endpoint.rate(qp)?));
        let clock = |nic: &dyn Clocked| SeenClock {
            clock: nic.clock(),
            cycles_evaluated: nic.cycles_evaluated(),
        };
        Self {
            line_rates: endpoint.line_rates(),
            host: host.tail(&mut known.host),
            counters: endpoint.counters().clone(),
            mac_counters: endpoint.mac_counters(),
            pauses: endpoint.pauses().tail(&mut known.pauses),
            rates: qps.into_iter().filter_map(rate).collect(),
            failure: endpoint.failure().map(str::to_owned),
            clock: endpoint.clocked().map(clock),
            processor_time: endpoint.processor_time(),
            translation: endpoint.translation(),
            sending_since: endpoint.sending_since(PortId(0)),
        }
    }

    /// Takes what was shown later, behind what is here.
    pub(crate) fn follow(&mut self, later: Self) {
        let Self { host, pauses, .. } = later;
        self.host.follow(host);
        self.pauses.follow(pauses);
        self.counters = later.counters;
        self.mac_counters = later.mac_counters;
        self.rates = later.rates;
        self.failure = later.failure;
        self.clock = later.clock;
        self.processor_time = later.processor_time;
        self.translation = later.translation;
        self.sending_since = later.sending_since;
    }
}

impl Node for Seen {
    fn line_rates(&self) -> Vec<LineRate> {
        self.line_rates.clone()
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.sending_since
    }

    fn advance(&mut self, _: Time, _: &mut Arrivals<'_>, _: &mut Departures) {
        unreachable!("{ELSEWHERE}")
    }
}

impl Endpoint for Seen {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        unreachable!("{ELSEWHERE}")
    }

    fn create(&mut self, _: u16, _: Psn, _: &Region) -> Result<Option<Created>, EndpointError> {
        unreachable!("{ELSEWHERE}")
    }

    fn created(&self, _: u16) -> Option<Created> {
        unreachable!("{ELSEWHERE}")
    }

    fn connect(&mut self, _: u16, _: &QpSettings) -> Result<(), EndpointError> {
        unreachable!("{ELSEWHERE}")
    }

    fn connected(&self, _: u16) -> bool {
        unreachable!("{ELSEWHERE}")
    }

    fn translation(&self) -> Option<TranslationCost> {
        self.translation
    }

    fn counters(&self) -> &NicCounters {
        &self.counters
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.mac_counters
    }

    fn pauses(&self) -> &PauseLog {
        &self.pauses
    }

    fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.rates.get(&qp).copied()
    }

    fn set_link(&mut self, _: Time, _: bool) {
        unreachable!("{ELSEWHERE}")
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn clocked(&self) -> Option<&dyn Clocked> {
        self.clock.as_ref().map(|clock| clock as &dyn Clocked)
    }

    fn processor_time(&self) -> Option<ProcessorTime> {
        self.processor_time
    }

    fn stand_in(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn unsaved(&self) -> Option<&'static str> {
        Some(ELSEWHERE)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        Err(ELSEWHERE.into())
    }
}

impl Clocked for SeenClock {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn cycles_evaluated(&self) -> u64 {
        self.cycles_evaluated
    }

    fn clock_signal(&self) -> Option<String> {
        None
    }

    fn set_skip(&mut self, _: bool) {
        unreachable!("{ELSEWHERE}")
    }

    fn set_waves(&mut self, _: WaveWindow) {
        unreachable!("{ELSEWHERE}")
    }

    fn close_waves(&mut self) -> Result<(), EndpointError> {
        unreachable!("{ELSEWHERE}")
    }
}
