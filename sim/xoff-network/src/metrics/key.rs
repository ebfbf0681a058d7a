//! Names of metrics: the quantity measured and its subject.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// What a quantity is measured for, with an example of a metric's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole network: `jain_index`.
    Network,
    /// Each flow: `messages.bulk`.
    Flow,
    /// Each flow, as quantiles over its messages: `message_latency_ns.bulk.p99`.
    Quantile,
    /// Each workload, which is an entry of flows with a file: `flows_unfinished.web`.
    Workload,
    /// Each workload, as quantiles over its flows: `slowdown.web.p99`.
    WorkloadQuantile,
    /// Each job, which is an entry of flows with a pattern, a schedule or answers: `job_rounds.reduce`.
    Job,
    /// Each job, as quantiles over its rounds: `job_completion_ns.reduce.p50`.
    JobQuantile,
    /// Each host: `cnps_tx.a`.
    Host,
    /// Each host that speaks TCP: `tcp_cpu_share.a`.
    TcpHost,
    /// Each host whose NIC translates addresses: `translation_hits.r`.
    TranslatingHost,
    /// Each traffic class of such a host: `translation_stall_ns.r.3`.
    TranslatingClass,
    /// Each switch: `ecn_marked.s`.
    Switch,
    /// Each host and each switch: `pause_frames_tx.s`.
    Node,
    /// Each traffic class of each node: `pause_time_ns.a.3`.
    Class,
    /// Each traffic class of each switch: `headroom_peak_bytes.s.3`.
    SwitchClass,
    /// Each traffic class of each switch, as quantiles over the samples: `queue_bytes.s.3.p90`.
    SwitchClassQuantile,
    /// Each port of each node: `wire_utilization.s.0`.
    Port,
    /// Each pair of groups of switches with links from the first to the second: `tier_utilization.l.s`. A group is an
    /// entry with a count, or generated: the ToRs, leafs and spines of a Clos network are `t`, `l` and `s`.
    Tier,
    /// Each reason for which each node may drop frames: `drops.s.no_route`.
    Reason,
}

impl Scope {
    /// What is measured, and what stands for it in a metric's name behind the quantity.
    pub const fn form(self) -> (&'static str, &'static str) {
        match self {
            Self::Network => ("the network", ""),
            Self::Flow => ("each flow", ".FLOW"),
            Self::Quantile => ("each flow", ".FLOW.QUANTILE"),
            Self::Workload => ("each workload", ".FLOW"),
            Self::WorkloadQuantile => ("each workload", ".FLOW.QUANTILE"),
            Self::Job => ("each job", ".FLOW"),
            Self::JobQuantile => ("each job", ".FLOW.QUANTILE"),
            Self::Host => ("each host", ".HOST"),
            Self::TcpHost => ("each host with TCP", ".HOST"),
            Self::TranslatingHost => ("each host with translation", ".HOST"),
            Self::TranslatingClass => ("each class of each host with translation", ".HOST.CLASS"),
            Self::Switch => ("each switch", ".SWITCH"),
            Self::Node => ("each host and switch", ".NODE"),
            Self::Class => ("each class of each node", ".NODE.CLASS"),
            Self::SwitchClass => ("each class of each switch", ".SWITCH.CLASS"),
            Self::SwitchClassQuantile => ("each class of each switch", ".SWITCH.CLASS.QUANTILE"),
            Self::Port => ("each port", ".NODE.PORT"),
            Self::Tier => ("each pair of groups of switches", ".GROUP.GROUP"),
            Self::Reason => ("each node and reason", ".NODE.REASON"),
        }
    }
}

macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $scope:ident $($total:ident)?;)+) => {
        /// A measured quantity.
        ///
        /// Rates and times cover the measured window, which starts at [`Recorder::begin`](super::Recorder::begin).
        /// Counters cover the same window unless their description says otherwise.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Quantity {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Quantity {
            /// All quantities, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The first part of a metric's name, such as `goodput_gbps`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// What the quantity is measured for.
            pub const fn scope(self) -> Scope {
                match self {
                    $(Self::$name => Scope::$scope,)+
                }
            }

            /// Whether there is also a sum over all subjects, such as `goodput_gbps.total`.
            pub const fn has_total(self) -> bool {
                match self {
                    $(Self::$name => false $(|| !stringify!($total).is_empty())?,)+
                }
            }

            /// The unit, which is the end of the name: `Gb/s`, `ns`, `µs`, `bytes`; empty for counts and parts.
            pub fn unit(self) -> &'static str {
                let ends = [("_gbps", "Gb/s"), ("_ns", "ns"), ("_us", "µs"), ("_bytes", "bytes")];
                let is_it = |(end, _): &&(&str, _)| self.name().ends_with(end);
                ends.iter().find(is_it).map_or("", |(_, unit)| unit)
            }

            /// The quantity's description: the text of its doc comment.
            pub fn description(self) -> String {
                match self {
                    $(Self::$name => concat!($($doc),+).trim().to_owned(),)+
                }
            }
        }
    };
}

quantities! {
    /// Payload that was written to the receiver's memory in order and for the first time, over the measured window,
    /// in Gb/s. A receiver is never credited with more than its line carries: what a NIC's buffer delivers faster
    /// counts as soon as the line could have brought it.
    GoodputGbps = "goodput_gbps", Flow total;
    /// Jain's index of the flows' goodput: 1 is even, 1/n is all to one of n. Flows of workloads and probes
    /// do not count.
    JainIndex = "jain_index", Network;
    /// Messages completed, since the start.
    Messages = "messages", Flow total;
    /// From post to completion of a message, as the application sees it, in nanoseconds.
    MessageLatencyNs = "message_latency_ns", Quantile;
    /// From the start of a flow to the completion of its last message, as the application sees it, in nanoseconds, for
    /// flows that finish within the measured window.
    FlowCompletionNs = "flow_completion_ns", WorkloadQuantile;
    /// Flow completion time over the time that the flow takes when nothing else is on its way, 1 and above.
    Slowdown = "slowdown", WorkloadQuantile;
    /// Flows that have started and not finished.
    FlowsUnfinished = "flows_unfinished", Workload;
    /// Rounds of a pattern, or requests with their answers, that are over within the measured window.
    JobRounds = "job_rounds", Job;
    /// Rounds a second that are over within the measured window: of NVMe over Fabrics its I/O operations.
    Iops = "iops", Job;
    /// From the first post of a round until the last host has seen all of its messages, in nanoseconds; of requests until
    /// the answer has arrived, and of a schedule from its start to the end of its last operation.
    JobCompletionNs = "job_completion_ns", JobQuantile;
    /// How much later the last host of a round was than the median one, in nanoseconds.
    StragglerNs = "straggler_ns", JobQuantile;
    /// Bytes that each host has to send in a round at least, over the median time of a round: of an all-reduce 2 (n − 1)/n
    /// of the data, of all-gather, reduce-scatter and all-to-all (n − 1)/n; of an incast and of queries what the one host
    /// receives, in Gb/s.
    BusBandwidthGbps = "bus_bandwidth_gbps", Job;
    /// Part of the line's time that frames fill, with preambles and gaps, 0 to 1.
    WireUtilization = "wire_utilization", Port;
    /// Part of what all links from one group of switches to another could carry that frames fill, with preambles and
    /// gaps, 0 to 1.
    TierUtilization = "tier_utilization", Tier;
    /// Frames dropped, since the start.
    Drops = "drops", Reason total;
    /// PFC and PAUSE frames sent.
    PauseFramesTx = "pause_frames_tx", Node total;
    /// Time in which a class could not be sent, in nanoseconds; of a switch the sum over its ports.
    PauseTimeNs = "pause_time_ns", Class;
    /// The longest single time in which a class could not be sent, in nanoseconds; of a switch that of all its ports.
    /// Pauses that are refreshed before they end are one, and one that began before the window counts from there.
    LongestPauseNs = "longest_pause_ns", Class;
    /// PFC and PAUSE frames received.
    PauseFramesRx = "pause_frames_rx", Node total;
    /// Ingress queues that entered XOFF; repeated pauses are not counted.
    XoffTransitions = "xoff_transitions", Switch total;
    /// Priorities that the pause watchdog of a switch has given up, since the start.
    WatchdogActs = "watchdog_acts", Switch total;
    /// Times that a NIC's watchdog ended its own pauses, since the start.
    NicWatchdogBites = "nic_watchdog_bites", Host total;
    /// Most bytes that an ingress queue held, headroom included, since the start; the fullest port counts.
    IngressPeakBytes = "ingress_peak_bytes", SwitchClass;
    /// Most bytes that were in the headroom of an ingress queue, since the start; the fullest port counts.
    HeadroomPeakBytes = "headroom_peak_bytes", SwitchClass;
    /// Most bytes that waited in an egress queue, since the start; the fullest port counts.
    EgressPeakBytes = "egress_peak_bytes", SwitchClass;
    /// Bytes that waited in an egress queue at the instants of `sample`, without the frame on the wire; the fullest
    /// port counts.
    QueueBytes = "queue_bytes", SwitchClassQuantile;
    /// Bytes in the buffer at the end.
    HeldBytes = "held_bytes", Switch total;
    /// Frames lost on links, by fault rules and where a link is down or a server dead, since the start.
    LinkLosses = "link_losses", Network;
    /// Time in which a port could not send, in nanoseconds, summed over classes.
    PortPauseTimeNs = "port_pause_time_ns", Port;
    /// Cyclic waits that could not end by themselves, since the start.
    Deadlocks = "deadlocks", Network;
    /// When the first deadlock closed, in microseconds from the start; undefined without one.
    DeadlockUs = "deadlock_us", Network;
    /// Cycles of stopped links that waited for each other, deadlocks among them, since the start.
    CyclicWaits = "cyclic_waits", Network;
    /// Pause storms: hosts that stopped their neighbour for a large part of the time, since the start.
    Storms = "storms", Network;
    /// Directed links that stood because of pause storms, with those that hosts stopped, since the start.
    StormLinks = "storm_links", Network;
    /// Hosts that paused for more than a thousandth of the time and were no storms, since the start.
    PauseAlarms = "pause_alarms", Network;
    /// Flows that stood for more than a thousandth of the time because of pauses that they did not cause, since the
    /// start.
    Victims = "victims", Network;
    /// The deadlocks that were there in the measured window.
    MeasuredDeadlocks = "measured_deadlocks", Network;
    /// The pause storms that were there in the measured window.
    MeasuredStorms = "measured_storms", Network;
    /// Flows that stood for more than a thousandth of the measured window because of pauses that they did not cause.
    MeasuredVictims = "measured_victims", Network;
    /// Places whose probes of Pingmesh have no answers, late ones or lost ones, since the start: findings tell which.
    PingmeshFaults = "pingmesh_faults", Network;
    /// Servers whose pauses were above the alarm of `watch` in an interval, since the start; 0 without that key.
    ServerAlarms = "server_alarms", Network;
    /// The most servers that were unavailable in an interval of `watch`, since the start; 0 without that key.
    ServersUnavailable = "servers_unavailable", Network;
    /// Settings of devices and of ends of links that were not as wanted by `audit`, since the start; 0 without that key.
    AuditDifferences = "audit_differences", Network;
    /// Stages of `onboarding` that were let in; 0 without that key.
    StagesBegun = "stages_begun", Network;
    /// Packets marked with congestion experienced (ECN), those that came marked not counted.
    EcnMarked = "ecn_marked", Switch total;
    /// Congestion notification packets sent.
    CnpsTx = "cnps_tx", Host total;
    /// Congestion notification packets received.
    CnpsRx = "cnps_rx", Host total;
    /// NAKs for a PSN sequence error sent.
    NaksTx = "naks_tx", Host total;
    /// NAKs for a PSN sequence error received.
    NaksRx = "naks_rx", Host total;
    /// RNR NAKs sent.
    RnrNaksTx = "rnr_naks_tx", Host total;
    /// Request packets that left the NIC, retransmissions included.
    RequestPackets = "request_packets", Host total;
    /// Request packets that left the NIC more than once, counted for each time after the first.
    RetransmittedPackets = "retransmitted_packets", Host total;
    /// Expiries of the transport timer.
    Timeouts = "timeouts", Host total;
    /// Packets sent between a lost packet and the arrival of its NAK, on average.
    PacketsBehindALoss = "packets_behind_a_loss", Host;
    /// Part of the request packets that were not sent before, 0 to 1.
    FirstSentFraction = "first_sent_fraction", Host;
    /// Part of the processors' time that TCP takes, 0 to 1: segments by what each costs, over the cores that `host.tcp`
    /// names.
    TcpCpuShare = "tcp_cpu_share", TcpHost;
    /// Pages of packets whose translation the NIC had.
    TranslationHits = "translation_hits", TranslatingHost;
    /// Pages of packets that waited for a translation from the host's memory.
    TranslationMisses = "translation_misses", TranslatingHost;
    /// Time for which packets waited for translations that were next to be taken from the receive buffer, or to be read
    /// for sending, in nanoseconds.
    TranslationStallNs = "translation_stall_ns", TranslatingClass;
    /// Bytes written to memory that are not what belongs there, since the start.
    PayloadErrors = "payload_errors", Network;
    /// Completions that were not to come, or came in the wrong order, since the start.
    CompletionErrors = "completion_errors", Network;
    /// QPs that ended in error, since the start.
    FailedQps = "failed_qps", Network;
}

/// A quantile of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it: 50, 90, 99 and 99.9 %")]
pub enum Quantile {
    P50,
    P90,
    P99,
    P999,
}

impl Quantile {
    /// All quantiles.
    pub const ALL: [Self; 4] = [Self::P50, Self::P90, Self::P99, Self::P999];

    /// The quantile's name, which is the last part of a metric's name: `p99`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p999",
        }
    }

    /// The fraction of the values that lie at or below the quantile.
    pub const fn part(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
        }
    }
}

/// The subject of a measurement. Names are those of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The network.
    Network,
    /// The sum over all flows, nodes or reasons.
    Total,
    /// A flow.
    Flow(Arc<str>),
    /// A quantile over the messages of a flow.
    Quantile(Arc<str>, Quantile),
    /// A host or a switch.
    Node(Arc<str>),
    /// A traffic class of a node, 0 to 7.
    Class(Arc<str>, u8),
    /// A quantile over the samples of a traffic class of a switch, 0 to 7.
    ClassQuantile(Arc<str>, u8, Quantile),
    /// A port of a node.
    Port(Arc<str>, u16),
    /// The links from one group of switches to another.
    Tier(Arc<str>, Arc<str>),
    /// A reason for which a node drops frames, such as `no_route`.
    Reason(Arc<str>, Arc<str>),
}

/// A metric: a quantity and its subject.
///
/// Its name, such as `goodput_gbps.bulk`, is written by [`Display`](fmt::Display) and read back by [`FromStr`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// The quantity measured.
    pub quantity: Quantity,
    /// What it is measured for.
    pub subject: Subject,
}

impl Metric {
    /// A metric of the whole network.
    pub const fn network(quantity: Quantity) -> Self {
        Self {
            quantity,
            subject: Subject::Network,
        }
    }

    /// The sum of a quantity over all its subjects.
    pub const fn total(quantity: Quantity) -> Self {
        Self {
            quantity,
            subject: Subject::Total,
        }
    }

    /// A metric of a flow.
    pub fn flow(quantity: Quantity, flow: &str) -> Self {
        Self {
            quantity,
            subject: Subject::Flow(flow.into()),
        }
    }

    /// A metric of a host or a switch.
    pub fn node(quantity: Quantity, node: &str) -> Self {
        Self {
            quantity,
            subject: Subject::Node(node.into()),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.quantity.name())?;
        match &self.subject {
            Subject::Network => Ok(()),
            Subject::Total => f.write_str(".total"),
            Subject::Flow(name) | Subject::Node(name) => write!(f, ".{name}"),
            Subject::Quantile(flow, quantile) => write!(f, ".{flow}.{}", quantile.name()),
            Subject::Class(node, class) => write!(f, ".{node}.{class}"),
            Subject::ClassQuantile(node, class, quantile) => {
                write!(f, ".{node}.{class}.{}", quantile.name())
            }
            Subject::Port(node, port) => write!(f, ".{node}.{port}"),
            Subject::Tier(from, to) => write!(f, ".{from}.{to}"),
            Subject::Reason(node, reason) => write!(f, ".{node}.{reason}"),
        }
    }
}

/// The error for a text that is not the name of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no metric '{0}'")]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let (name, subject) = match text.split_once('.') {
            Some((name, subject)) => (name, Some(subject)),
            None => (text, None),
        };
        let known = Quantity::ALL.iter().find(|known| known.name() == name);
        let read = known.and_then(|&quantity| {
            let subject = read_subject(quantity, subject)?;
            Some(Self { quantity, subject })
        });
        read.ok_or_else(|| UnknownMetric(text.into()))
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// Reads the part of a metric's name after the quantity.
fn read_subject(quantity: Quantity, text: Option<&str>) -> Option<Subject> {
    let Some(text) = text else {
        return (quantity.scope() == Scope::Network).then_some(Subject::Network);
    };
    if quantity.has_total() && text == "total" {
        return Some(Subject::Total);
    }
    let name = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
    // Names of flows may contain dots; names of nodes contain none.
    let last = text.rsplit_once('.');
    let quantile = |text: &str| {
        let mut known = Quantile::ALL.into_iter();
        known.find(|known| known.name() == text)
    };
    let read = match quantity.scope() {
        Scope::Network => return None,
        Scope::Flow | Scope::Workload | Scope::Job => Subject::Flow(name(text)?),
        Scope::Host | Scope::TcpHost | Scope::TranslatingHost | Scope::Switch | Scope::Node => {
            Subject::Node(name(text)?)
        }
        Scope::Quantile | Scope::WorkloadQuantile | Scope::JobQuantile => {
            let (flow, part) = last?;
            Subject::Quantile(name(flow)?, quantile(part)?)
        }
        Scope::SwitchClassQuantile => {
            let (queue, part) = last?;
            let (node, class) = queue.rsplit_once('.')?;
            Subject::ClassQuantile(name(node)?, class.parse().ok()?, quantile(part)?)
        }
        Scope::Class | Scope::SwitchClass | Scope::TranslatingClass => {
            Subject::Class(name(last?.0)?, last?.1.parse().ok()?)
        }
        Scope::Port => Subject::Port(name(last?.0)?, last?.1.parse().ok()?),
        Scope::Tier => Subject::Tier(name(last?.0)?, name(last?.1)?),
        Scope::Reason => Subject::Reason(name(last?.0)?, name(last?.1)?),
    };
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in [
            "goodput_gbps.total",
            "goodput_gbps.f.s0",
            "jain_index",
            "message_latency_ns.f.s0.p999",
            "flow_completion_ns.web.p99",
            "slowdown.web.p50",
            "flows_unfinished.web",
            "job_rounds.reduce",
            "job_completion_ns.reduce.p50",
            "bus_bandwidth_gbps.reduce",
            "pause_time_ns.t0.3",
            "longest_pause_ns.t0.3",
            "queue_bytes.t0.3.p90",
            "wire_utilization.a0.0",
            "tier_utilization.l.s",
            "drops.t.no_route",
            "drops.total",
            "cnps_tx.r",
            "translation_hits.r",
            "translation_stall_ns.r.3",
        ] {
            assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "goodput",
            "goodput_gbps",
            "goodput_gbps.",
            "jain_index.a",
            "jain_index.total",
            "message_latency_ns.f",
            "message_latency_ns.f.p42",
            "queue_bytes.t0.3",
            "queue_bytes.t0.p90",
            "wire_utilization.a",
            "wire_utilization.a.x",
            "tier_utilization.l",
            "drops.t",
        ] {
            let error = text.parse::<Metric>().unwrap_err();
            assert_eq!(error.to_string(), format!("no metric '{text}'"));
        }
    }

    #[test]
    fn every_quantity_has_a_name_of_its_own_and_a_sentence() {
        let names: std::collections::BTreeSet<_> = Quantity::ALL
            .iter()
            .map(|quantity| quantity.name())
            .collect();
        assert_eq!(names.len(), Quantity::ALL.len());
        for quantity in Quantity::ALL {
            assert!(quantity.description().ends_with('.'), "{quantity:?}");
        }
    }
}
