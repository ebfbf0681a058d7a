//! Flows, as a scenario describes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::host::Order;
use xoff_sim::protocol::gbn::{WorkKind, mtu_code};
use xoff_sim::time::{ByteCount, Duration};

use super::check::Issues;
use super::ns3::{FlowList, Sizes};
use super::{Goal, Pattern};

/// The RDMA operation that carries a message.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum Operation {
    Send,
    SendImm,
    #[default]
    Write,
    WriteImm,
    Read,
    CmpSwap,
    FetchAdd,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Send,
        Self::SendImm,
        Self::Write,
        Self::WriteImm,
        Self::Read,
        Self::CmpSwap,
        Self::FetchAdd,
    ];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::SendImm => "send_imm",
            Self::Write => "write",
            Self::WriteImm => "write_imm",
            Self::Read => "read",
            Self::CmpSwap => "cmp_swap",
            Self::FetchAdd => "fetch_add",
        }
    }

    /// Whether the data of a message comes back to the host that posts it: READs and atomics.
    pub const fn returns(self) -> bool {
        matches!(self, Self::Read | Self::CmpSwap | Self::FetchAdd)
    }

    /// Whether it is an atomic.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CmpSwap | Self::FetchAdd)
    }
}

impl From<Operation> for WorkKind {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Send => Self::SEND,
            Operation::SendImm => Self::SEND_IMM,
            Operation::Write => Self::WRITE,
            Operation::WriteImm => Self::WRITE_IMM,
            Operation::Read => Self::READ,
            Operation::CmpSwap => Self::CMP_SWAP,
            Operation::FetchAdd => Self::FETCH_ADD,
        }
    }
}

/// Where both ends continue after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// With the first packet that is missing.
    #[default]
    GoBackN,
    /// With the first packet of the message.
    #[serde(rename = "go-back-0")]
    GoBack0,
    /// Only what is missing is sent again, and the receiver keeps what is behind it (IRN, SIGCOMM 2018). Model NICs
    /// have it, for SENDs and WRITEs.
    Selective,
}

/// Which hosts of two groups are the ends of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// The first sends to the first, the second to the second, and so on around the shorter list; within one group each
    /// sends to the next.
    #[default]
    InOrder,
    /// The same with the receivers in an order that is drawn from the seed. No host sends to itself.
    Permutation,
    /// Each sends to each, itself excepted.
    Each,
    /// Those of [`Pingmesh`](super::Pingmesh): from each host to one of each reach.
    #[serde(skip)]
    Reaches,
}

/// Messages from one host to another, and the QP that carries them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSettings {
    /// Name of the flow in metrics and charts. With several senders or receivers it is the first part of the names: `f`
    /// makes `f.s0` and `f.s1`, or `f.s0.r0` if both are several.
    pub name: String,
    /// The sender. The name of a host with a count means each of its hosts, and a range such as `h0..7` the hosts h0 to
    /// h7. Required, but for `ns3`, `goal` and `sizes`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The receiver, or several as with `from`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// Who sends to whom if there are several: the first to the first and so on, around the shorter list, and within
    /// one group each to the next; the same with the receivers in an order drawn from the seed in which nobody sends to
    /// itself; or each to each.
    #[serde(default)]
    pub pairs: Pairs,
    /// How many such flows there are between the same two hosts, each on a QP of its own; two make `f.0` and `f.1`.
    /// With `goal`: among how many QPs the tags of two ranks take turns.
    #[serde(default = "single")]
    pub qps: u32,
    /// A list of flows of ns-3's RDMA simulations: each is a message from host h`src` to host h`dst`, in the class of
    /// its priority. The first starts at `start`, the others as much later as in the list. A relative path starts at
    /// the folder of the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns3: Option<String>,
    /// A schedule in the GOAL format of LogGOPSim and ATLAHS: what each rank sends, receives and computes, and what
    /// requires what. Rank r is host h`r`, or with `from` its host number r, from 0. A relative path starts at the
    /// folder of the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// A distribution of flow sizes, a file with lines of bytes and percentile, or the name of one, `websearch` (DCTCP,
    /// SIGCOMM 2010) or `irn` (IRN, SIGCOMM 2018): flows of one message begin at random (Poisson arrivals) at each host
    /// of `from`, to random hosts of `to`; without these keys all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// With `sizes`: how many bytes the flows of a host have, as a part of its line rate, above 0 to 1. With `incast`:
    /// how many a receiver gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// With `sizes` and `incast`: until when flows begin, counted from the start of the run; without it until its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// The flows of `ns3`, or what is wrong with the file; read by whoever reads the scenario.
    #[serde(skip)]
    pub listed: Option<Result<FlowList, Issues>>,
    /// The schedule of `goal`, or what is wrong with the file; read by whoever reads the scenario.
    #[serde(skip)]
    pub schedule: Option<Result<Arc<Goal>, Issues>>,
    /// The distribution of `sizes`, or what is wrong with the file; read by whoever reads the scenario.
    #[serde(skip)]
    pub distribution: Option<Result<Sizes, Issues>>,
    /// SEND or WRITE, with or without immediate data. READs and atomics are posted at `from`, and their data comes from
    /// `to`; atomics have messages of 8 B.
    #[serde(default)]
    pub operation: Operation,
    /// In place of `operation`: several on one QP, message by message, with weights of 1 to 100. Of `{ write = 3, read =
    /// 1 }` every fourth message is a READ. Atomics have 8 B, the others `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, u32>>")]
    pub mix: Option<BTreeMap<Operation, u32>>,
    /// Bytes of a message, 1 B to 2 GiB.
    #[serde(default = "mebibyte")]
    pub message: ByteCount,
    /// How many messages are sent; without it the flow does not end.
    #[serde(default)]
    pub count: Option<u64>,
    /// Most messages that are posted and not completed, 1 to 16.
    #[serde(default = "four")]
    pub outstanding: u32,
    /// Whether message k is posted when message k − 1 of a flow of this entry has arrived at its sender: the steps of a
    /// ring, which each host of the entry is a part of. A ring all-reduce of S bytes over n hosts has 2 (n − 1)
    /// messages of S / n bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lockstep: bool,
    /// Whether message k of the flows of a sender is posted when message k − 1 of all of them is complete: QPs in
    /// lock-step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lockstep_qps: bool,
    /// What the hosts of `from` do together, instead of flows between pairs: `message` is the data of each host, and
    /// `count` says how often they do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Entries of `flows` that come before: nothing is posted until the host has seen all flows of these entries that
    /// end or start at it finish.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The entry of `flows` that this one answers, in place of `from` and `to`: message k goes back when its message k
    /// has arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Of an entry that another one answers: most messages without an answer; without it messages do not wait for
    /// answers. With storage such as `nvme-read`: most commands without a completion, 1 if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Time from what a message has waited for to its post: compute time between the rounds of a pattern, behind
    /// `after`, before an answer, or between an answer and the next request. With storage such as `nvme-read` the
    /// time of the target's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Duration>,
    /// With `tree-all-reduce`: bytes of a chunk; without it all of the data is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ByteCount>,
    /// With `queries`: bytes of an answer; without it as many as the query has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ByteCount>,
    /// With `incast`: how many hosts of `from` send at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<u32>,
    /// The memory that the messages of each QP go through, a multiple of `message`, up to 64 GiB; without it one
    /// message lies behind the other through 8 GiB, at distances that have all alignments. What it costs says
    /// `host.translation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<ByteCount>,
    /// With `working_set`: the order in which messages go through it, `walk` from its start to its end and round again,
    /// which is also the default, or `uniform`, each at a place that is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Size of the pages of its memory at hosts whose NICs translate addresses, a power of two, 4 KiB to 2 MiB; without
    /// it that of the host's `translation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<ByteCount>,
    /// With `working_set`: whether each page was used before the run, one after the other, so that NICs have as many of
    /// the translations as they keep. An RTL NIC then receives a WRITE of a byte to each of these pages during its
    /// bring-up, which takes no simulated time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    /// When the first message is posted.
    #[serde(default)]
    pub start: Duration,
    /// Time from one message to the next; without it the next is posted as soon as `outstanding` allows.
    #[serde(default)]
    pub interval: Option<Duration>,
    /// Path MTU: 256, 512, 1024, 2048 or 4096.
    #[serde(default = "kibibyte")]
    pub mtu: u32,
    /// DSCP, 0 to 63. The class is DSCP / 8: 24 to 31 are class 3.
    #[serde(default = "dscp")]
    pub dscp: u8,
    /// PCP, 0 to 7: packets carry a VLAN tag with it. Without it they have no tag.
    #[serde(default)]
    pub pcp: Option<u8>,
    /// DSCP of ACKs and NAKs, 0 to 63; without it that of the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_dscp: Option<u8>,
    /// PCP of ACKs and NAKs in the tag, 0 to 7; without it that of the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_pcp: Option<u8>,
    /// VLAN of the tag, 0 to 4094; 0: the tag has only a priority. Hosts drop packets of another VLAN. Without it that
    /// of the host's port: of its switch's `trunk`, 0 at a switch without one, which takes tags off, else 1.
    #[serde(default)]
    pub vlan: Option<u16>,
    /// TTL, or hop limit, of packets and of their acknowledgements, 1 to 255: how many switches they may pass, which is
    /// one less.
    #[serde(default = "ttl")]
    pub ttl: u8,
    /// UDP source port, which ECMP hashes; without it drawn from the seed.
    #[serde(default)]
    pub udp_port: Option<u16>,
    /// Where both ends continue after a loss.
    #[serde(default)]
    pub recovery: Recovery,
    /// Most packets that are not acknowledged, 1 to 4194304.
    #[serde(default = "window")]
    pub window: u32,
    /// Every how many packets an ACK is asked for; 0: only for the last packet of a message.
    #[serde(default = "ack_every")]
    pub ack_every: u8,
    /// Code t of the retransmission timeout, 4.096 µs · 2^t, 0 to 31; 0: off.
    #[serde(default = "timeout")]
    pub timeout: u8,
    /// With `recovery = "selective"`: code of the retransmission timeout while fewer than three packets are not
    /// acknowledged, 0 to 31; 0: that of `timeout`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub few_timeout: u8,
    /// Timeouts and sequence NAKs in a row, without an ACK of something new between them, before the QP fails, 0 to 7.
    #[serde(default = "seven")]
    pub retries: u8,
    /// Whether sequence NAKs use up retries; without it only timeouts do.
    #[serde(default = "yes")]
    pub nak_retry: bool,
    /// RNR NAKs in a row before the QP fails, 0 to 7; 7: never.
    #[serde(default = "seven")]
    pub rnr_retries: u8,
}

const fn is_zero(code: &u8) -> bool {
    *code == 0
}
const fn single() -> u32 {
    1
}
const fn mebibyte() -> ByteCount {
    ByteCount::new(1 << 20)
}
const fn kibibyte() -> u32 {
    1024
}
const fn four() -> u32 {
    4
}
const fn seven() -> u8 {
    7
}
const fn yes() -> bool {
    true
}
const fn dscp() -> u8 {
    26
}
const fn ttl() -> u8 {
    64
}
const fn window() -> u32 {
    256
}
const fn ack_every() -> u8 {
    16
}
/// The default timeout code, 67 ms: losses are found by NAKs, and a pause must not be taken for a loss.
const fn timeout() -> u8 {
    14
}

impl FlowSettings {
    /// A flow of 1 MiB WRITEs without end, with an MTU of 1,024.
    pub fn new(name: &str, from: &str, to: &str) -> Self {
        Self {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            pairs: Pairs::InOrder,
            qps: single(),
            ns3: None,
            goal: None,
            sizes: None,
            load: None,
            until: None,
            listed: None,
            schedule: None,
            distribution: None,
            operation: Operation::Write,
            mix: None,
            message: mebibyte(),
            count: None,
            outstanding: four(),
            lockstep: false,
            lockstep_qps: false,
            pattern: None,
            after: Vec::new(),
            answers: None,
            depth: None,
            think: None,
            chunk: None,
            response: None,
            senders: None,
            working_set: None,
            order: None,
            page: None,
            touched: false,
            start: Duration::ZERO,
            interval: None,
            mtu: kibibyte(),
            dscp: dscp(),
            pcp: None,
            ack_dscp: None,
            ack_pcp: None,
            vlan: None,
            ttl: ttl(),
            udp_port: None,
            recovery: Recovery::GoBackN,
            window: window(),
            ack_every: ack_every(),
            timeout: timeout(),
            few_timeout: 0,
            retries: seven(),
            nak_retry: yes(),
            rnr_retries: seven(),
        }
    }

    /// Sets the number of messages and their size.
    #[must_use]
    pub const fn messages(mut self, count: u64, size: ByteCount) -> Self {
        self.count = Some(count);
        self.message = size;
        self
    }

    /// Whether its flows begin when others have come to some point, and not at `start`.
    pub const fn waits(&self) -> bool {
        self.pattern.is_some()
            || self.goal.is_some()
            || self.answers.is_some()
            || !self.after.is_empty()
    }

    /// The code of the MTU, where the MTU is 256 « code bytes; `None` if there is no such code.
    pub fn mtu_code(&self) -> Option<u8> {
        mtu_code(self.mtu)
    }
}
