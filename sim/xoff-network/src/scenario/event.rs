//! What happens during a run: links that fail, servers that die, tables that forget, settings that change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration, Rate, Time};

use super::switch::Ecn;

/// Something that happens at a point of time in the run. It takes effect before everything else at that instant;
/// of several events at the same time, the one that is listed first happens first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When it happens, before the end of the run.
    pub at: Duration,
    /// Happens again each time this long after the last, until the run ends; without it once.
    #[serde(default)]
    pub every: Option<Duration>,
    /// With `link_down` and `link_up`: how long it takes until all switches know and have routes over the links that
    /// are up. Without it only the ends of the link know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converge: Option<Duration>,
    /// What happens: one of the actions below, such as `do.die = "s2"`.
    #[serde(rename = "do")]
    pub action: Action,
}

impl Event {
    /// An action that happens once, at a time.
    pub const fn once(at: Duration, action: Action) -> Self {
        Self {
            at,
            every: None,
            converge: None,
            action,
        }
    }

    /// When it happens, before `end`.
    pub fn times(&self, end: Time) -> impl Iterator<Item = Time> + use<> {
        let every = self.every;
        let next = move |at: &Time| every.map(|every| at.saturating_add(every));
        std::iter::successors(Some(Time::ZERO + self.at), next).take_while(move |at| *at < end)
    }
}

/// What happens in an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// The links between two nodes go down: `["t0", "l0"]`. Frames in the cable arrive, later ones are lost; a switch
    /// drops what waits for the link, and routes over others.
    LinkDown([String; 2]),
    /// The links between two nodes come up again.
    LinkUp([String; 2]),
    /// A link gets fault rules, such as bit errors, in one direction.
    Faults(Faults),
    /// A server dies: its link stays up, but everything that is sent to it is swallowed, and nothing comes from it.
    Die(String),
    /// A dead server lives again.
    Revive(String),
    /// A host takes no DMA writes for a while, so that the receive side of its NIC stands still.
    Stall(Stall),
    /// A NIC sends pauses without end, whatever the state of its buffer.
    PauseStorm(PauseStorm),
    /// A switch forgets what a table has about a host.
    Forget(Forget),
    /// A host whose NIC translates addresses frees pages of a flow's memory, although they are registered.
    Free(Free),
    /// Settings of a switch change. What is left out stays.
    Set(Box<Set>),
    /// Parameters of DCQCN change, at NICs or for the QP of a flow. What is left out stays.
    Dcqcn(Box<SetDcqcn>),
    /// The QP that sends a flow's data gets a bound of its rate and window. What is left out stays.
    Pace(Pace),
    /// The application posts no more messages of a flow. `f` means `f.s0` and all others of that entry too.
    Stop(String),
    /// The application goes on posting messages of a flow.
    Start(String),
}

impl Action {
    /// The key of the action.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::LinkDown(_) => "link_down",
            Self::LinkUp(_) => "link_up",
            Self::Faults(_) => "faults",
            Self::Die(_) => "die",
            Self::Revive(_) => "revive",
            Self::Stall(_) => "stall",
            Self::PauseStorm(_) => "pause_storm",
            Self::Forget(_) => "forget",
            Self::Free(_) => "free",
            Self::Set(_) => "set",
            Self::Dcqcn(_) => "dcqcn",
            Self::Pace(_) => "pace",
            Self::Stop(_) => "stop",
            Self::Start(_) => "start",
        }
    }
}

/// Fault rules for one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// The node that sends.
    pub from: String,
    /// The node at the other end of the link.
    pub to: String,
    /// The rules, which come after those that the link has.
    pub rules: Vec<FaultRule>,
}

/// A host that takes no DMA writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// The host.
    pub host: String,
    /// For how long; without it until the end of the run.
    #[serde(default, rename = "for")]
    pub time: Option<Duration>,
}

/// A NIC that pauses without end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseStorm {
    /// The host.
    pub host: String,
    /// For how long; without it until the end of the run.
    #[serde(default, rename = "for")]
    pub time: Option<Duration>,
    /// Classes that are paused, 0 to 7; without it the lossless ones of `host`.
    #[serde(default)]
    pub classes: Option<Vec<u8>>,
    /// Time from one pause frame to the next; without it half of the longest pause, so that the pause has no gap. The
    /// paper's NIC sent over 2,000 a second.
    #[serde(default)]
    pub interval: Option<Duration>,
}

/// An entry that a switch forgets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The switch.
    pub switch: String,
    /// The host that the entry is about.
    pub host: String,
    /// The table.
    pub table: Table,
}

/// A table of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// IP addresses to MAC addresses.
    Arp,
    /// MAC addresses to ports.
    Mac,
}

/// Pages that are freed. Messages that need one of them afterwards are refused, and their QP ends with an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Free {
    /// The flow, with its memory at `host`. `f` means `f.s0` and all others of that entry too.
    pub flow: String,
    /// The host, an end of the flow. The name of an entry with a count means each of its hosts.
    pub host: String,
    /// The first byte whose page is freed, from the start of the flow's memory on, which is its `working_set`.
    #[serde(default)]
    pub offset: ByteCount,
    /// How many bytes from there: each page that has one of them is freed. Without it one, and so one page.
    #[serde(default = "one_byte")]
    pub bytes: ByteCount,
}

const fn one_byte() -> ByteCount {
    ByteCount::new(1)
}

/// New settings of a switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The switch. The name of one with a count means each of them.
    pub switch: String,
    /// Fill of an ingress queue at which a lossless priority pauses its peer.
    #[serde(default)]
    pub xoff: Option<Limit>,
    /// ECN marking.
    #[serde(default)]
    pub ecn: Option<Ecn>,
    /// Whether lossless packets are dropped where others are flooded.
    #[serde(default)]
    pub lossless_never_floods: Option<bool>,
}

/// New parameters of DCQCN, with the units of `host.dcqcn`. `host` or `flow` says whose.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetDcqcn {
    /// The host, with all QPs of its NIC. The name of an entry with a count means each of its hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The flow, with the QP that sends its data: at model NICs only, since the registers of RTL NICs are those of all
    /// QPs. `f` means `f.s0` and all others of that entry too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Gain of α, 0 to below 1. Rounded to 2⁻¹⁶.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<f64>,
    /// Step of additive increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_ai: Option<Rate>,
    /// Step of hyper increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_hai: Option<Rate>,
    /// Time without a CNP after which α decays; 0: it does not decay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_timer: Option<Duration>,
    /// Period of the rate timer; 0: it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_timer: Option<Duration>,
    /// Bytes between rate increases; 0: rates do not rise by bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<ByteCount>,
    /// Stages of fast recovery, 0 to 31.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<u8>,
    /// Least time between two CNPs that a NIC sends for a flow; with `host`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Duration>,
}

/// A bound of what the QP that sends a flow's data may do, whatever its congestion control allows. Model NICs only: an
/// RTL NIC has no register for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The flow. `f` means `f.s0` and all others of that entry too.
    pub flow: String,
    /// The rate at which its packets may start at most, preambles and gaps included, 10 Mb/s and more. That of the line
    /// takes the bound away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Packets that it may have sent and not acknowledged at most, 1 and more; the flow's own `window` stays the upper
    /// bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

/// A route that is given rather than found: the paths that packets for a host, or for all hosts at a switch, take
/// from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteEntry {
    /// The switch that has the route.
    pub switch: String,
    /// The host that packets are for; or a switch, for all hosts with a link to it.
    pub to: String,
    /// The neighbouring switches that packets may go to next; of several one is chosen by the hash.
    pub via: Vec<String>,
}
