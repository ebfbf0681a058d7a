//! Hosts with their NICs, of any kind, and the kinds by the names that scenarios use.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::path::PathBuf;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use xoff_sim::host::{Host, PcieConfig};
use xoff_sim::kernel::Node;
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::congestion::{Chosen, CongestionKind, CongestionSetup, Pace};
use xoff_sim::nic::shape::BEAT_BYTES;
use xoff_sim::nic::translation::{PageSize, TranslationConfig};
use xoff_sim::nic::{
    Address, DcqcnChange, ModelNic, ModelNicConfig, NicCounters, NicSettings, PauseLog, QpSettings,
    ReadRights, Region,
};
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::protocol::gbn::WorkKind;
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Time};
use xoff_sim::wire::{PRIORITIES, Psn};

use crate::attach::Report as ToolReport;
use crate::attach::outside::{self, Outside};
use crate::parts::Seen;
use crate::policy::{EcnTuner, PolicyKind};
use crate::scenario::check::{Issue, MODEL_QPS, RING};
use crate::scenario::host::DCQCN;
use crate::scenario::{Connection, HostSettings, IpVersion, NicKind, Operation, TcpSettings};
use crate::tcp;
use crate::words::did_you_mean;

/// Why an endpoint cannot be made or cannot go on: an assertion of RTL that failed, a register that refused an access.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct EndpointError(Box<dyn Error + Send + Sync>);

impl EndpointError {
    /// The error of an endpoint of one's own.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

/// What the other end of a connection must know about a QP before it can connect to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// QP number.
    pub qpn: u32,
    /// PSN of the QP's first request.
    pub psn: Psn,
    /// Key of the QP's memory region.
    pub key: u32,
}

/// A host with its NIC, at the end of one cable.
pub trait Endpoint: Node + Debug {
    /// The host.
    fn host(&self) -> &Host;

    /// The host, for adding flows.
    fn host_mut(&mut self) -> &mut Host;

    /// Asks for a QP with a region of memory. `psn` is a proposal for the PSN of its first request. Returns what the
    /// other end has to know if that is known at once; otherwise [`created`](Self::created) returns it later.
    ///
    /// # Errors
    ///
    /// The endpoint cannot go on.
    fn create(
        &mut self,
        index: u16,
        psn: Psn,
        region: &Region,
    ) -> Result<Option<Created>, EndpointError>;

    /// The result of `create`, once it is done. For those that do not return it at once.
    fn created(&self, index: u16) -> Option<Created> {
        let _ = index;
        None
    }

    /// Connects a QP that was created. The settings contain the other end's [`Created`].
    ///
    /// # Errors
    ///
    /// The endpoint cannot go on.
    fn connect(&mut self, index: u16, settings: &QpSettings) -> Result<(), EndpointError>;

    /// Whether the QP is connected.
    fn connected(&self, index: u16) -> bool;

    /// Has the QPs that are connected from now on ask for READs and atomics and answer them, at most `limit` unanswered
    /// at a time in each direction, 1 or more; an RTL NIC answers as many as it is made for. Returns which of them the
    /// NIC answers; it refuses the others.
    fn enable_reads(&mut self, limit: u16) -> ReadRights {
        let _ = limit;
        ReadRights::default()
    }

    /// Sets what the peer's READs and atomics may do with the region that was created with a QP. Of no effect at a NIC
    /// that does not answer them.
    fn permit(&mut self, index: u16, rights: ReadRights) {
        let _ = (index, rights);
    }

    /// Has the region that is created with a QP from now on pages of a size of its own. Of no effect at a NIC that does
    /// not translate addresses.
    fn set_page(&mut self, index: u16, size: PageSize) {
        let _ = (index, size);
    }

    /// Has the pages of the regions that were created with these QPs used, one after the other in this order, before
    /// anything else. Called before the first QP is connected, and before simulated time starts; without it no page was
    /// used. Of no effect at a NIC that does not translate addresses.
    ///
    /// # Errors
    ///
    /// The endpoint cannot go on.
    fn touch(&mut self, qps: &[u16]) -> Result<(), EndpointError> {
        let _ = qps;
        Ok(())
    }

    /// Frees the pages that have the `bytes` from an address of the region on that was created with a QP, between two
    /// runs. An RTL NIC is told by register writes, which take some cycles. Returns whether it can: not at a NIC that
    /// does not translate addresses.
    fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        let _ = (index, va, bytes);
        false
    }

    /// What translation of addresses has cost. `None`: all translations are on chip.
    fn translation(&self) -> Option<TranslationCost> {
        None
    }

    /// The NIC's counters.
    fn counters(&self) -> &NicCounters;

    /// The counters of the receive MAC.
    fn mac_counters(&self) -> ReceiveCounters;

    /// When each class could not be sent.
    fn pauses(&self) -> &PauseLog;

    /// DCQCN's latest values for a QP: its rate, α, and whether it is limited to the rate. `None` while the QP is
    /// closed or DCQCN is off.
    fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)>;

    /// Changes parameters of DCQCN between two runs, of one QP or of all. Returns whether it can.
    fn set_dcqcn(&mut self, qp: Option<u16>, change: &DcqcnChange) -> bool {
        let _ = (qp, change);
        false
    }

    /// Bounds the rate and the window of a QP between two runs, whatever its congestion control allows; what is `None`
    /// stays. Returns whether it can.
    fn set_pace(&mut self, qp: u16, bound: Pace) -> bool {
        let _ = (qp, bound);
        false
    }

    /// States at `now`, between two runs, that the link went down or came up. Pauses end with the link.
    fn set_link(&mut self, now: Time, up: bool);

    /// The congestion control that it has in place of DCQCN.
    fn own_congestion(&self) -> Option<&Chosen> {
        None
    }

    /// Gives it its own congestion control, after it was made from saved state.
    ///
    /// # Errors
    ///
    /// Its state is not that of this kind.
    fn attach_congestion(&mut self, own: Chosen) -> Result<(), String> {
        let _ = own;
        Ok(())
    }

    /// Why the NIC has stopped working: an assertion that failed, or a rule of its pins that it broke.
    fn failure(&self) -> Option<&str> {
        None
    }

    /// What it has beyond this if its NIC is RTL.
    fn clocked(&self) -> Option<&dyn Clocked> {
        None
    }

    /// The same, for changes.
    fn clocked_mut(&mut self) -> Option<&mut dyn Clocked> {
        None
    }

    /// What TCP has cost the host's processors. `None`: it has no TCP.
    fn processor_time(&self) -> Option<ProcessorTime> {
        None
    }

    /// Itself, if it only stands at the place of a host that runs in another part of the network.
    #[doc(hidden)]
    fn stand_in(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Itself, if its host is outside of the simulation.
    fn outside(&mut self) -> Option<&mut Outside> {
        None
    }

    /// What its tool did with the peer outside, if it has one.
    fn tool(&self) -> Option<ToolReport> {
        None
    }

    /// Why it can be in no checkpoint. `None`: it can.
    fn unsaved(&self) -> Option<&'static str>;

    /// Its state, from which its kind restores it.
    ///
    /// # Errors
    ///
    /// It has failed, or cannot be saved.
    fn save(&self) -> Result<Vec<u8>, String>;
}

/// The time of processors that a host's network stack has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorTime {
    /// The sum over all processors.
    pub busy: Duration,
    /// How many there are.
    pub cores: u32,
}

/// What the translation of addresses has cost a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranslationCost {
    /// Pages of packets whose translation was there.
    pub hits: u64,
    /// Pages of packets that had to wait for it.
    pub misses: u64,
    /// For how long packets of each class waited that were next.
    pub stalled: [Duration; PRIORITIES],
}

/// A NIC that is evaluated clock by clock, and has waves.
pub trait Clocked {
    /// Its clock.
    fn clock(&self) -> Clock;

    /// Cycles until a time. An idle NIC may not have been run until then.
    fn cycles(&self, until: Time) -> u64 {
        self.clock().edges_before(until)
    }

    /// Cycles that were evaluated since the simulation started.
    fn cycles_evaluated(&self) -> u64;

    /// The period of its clock.
    fn period(&self) -> Duration {
        self.clock().period
    }

    /// The whole name of the clock in waves. `None` if it writes none.
    fn clock_signal(&self) -> Option<String>;

    /// Sets whether idle cycles are skipped.
    fn set_skip(&mut self, skip: bool);

    /// Writes waves for a window of time. Replaces any window set before.
    fn set_waves(&mut self, window: WaveWindow);

    /// Closes the file of waves if its window has not passed yet.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    fn close_waves(&mut self) -> Result<(), EndpointError>;
}

/// A window of time for which waves are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveWindow {
    /// The file; its extension is `.fst` or `.vcd`.
    pub path: PathBuf,
    /// Start of the window (inclusive).
    pub from: Time,
    /// End of the window (exclusive).
    pub until: Time,
    /// The signals that are written, by their names with all scopes; all of them if there is none.
    pub only: Vec<String>,
}

/// The limits of an endpoint. A scenario that exceeds them is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Number of QPs.
    pub qps: u16,
    /// Operations that it posts.
    pub operations: &'static [WorkKind],
    /// Operations of its peer: that it receives, and of READs and atomics, answers.
    pub answers: &'static [WorkKind],
    /// How many READs of its peer a QP may have unanswered; 0 without READs.
    pub granted: u16,
    /// Supported path MTUs in bytes.
    pub mtus: &'static [u32],
    /// Largest message in bytes.
    pub message: u32,
    /// How many work requests a QP holds, and how many receive buffers: 1 or more.
    pub outstanding: u32,
    /// Whether packets may go over IPv6.
    pub ipv6: bool,
}

impl Limits {
    /// All operations: those of the model NIC and of `rtl/nic`.
    pub const ALL: &[WorkKind] = &[
        WorkKind::SEND,
        WorkKind::SEND_IMM,
        WorkKind::WRITE,
        WorkKind::WRITE_IMM,
        WorkKind::READ,
        WorkKind::CMP_SWAP,
        WorkKind::FETCH_ADD,
    ];

    /// Which of READs and atomics it answers.
    pub fn read_rights(&self) -> ReadRights {
        ReadRights {
            read: self.answers.contains(&WorkKind::READ),
            atomic: self.answers.contains(&WorkKind::FETCH_ADD),
        }
    }

    /// The limits of the model NIC, and but for the numbers of QPs and of READs those of `rtl/nic`.
    pub const MODEL: Self = Self {
        qps: MODEL_QPS as u16,
        operations: Self::ALL,
        answers: Self::ALL,
        granted: u16::MAX,
        mtus: &[256, 512, 1024, 2048, 4096],
        message: 1 << 31,
        outstanding: RING,
        ipv6: true,
    };
}

/// What the software of a NIC is told when it is made.
#[derive(Debug, Clone)]
pub struct HostSetup {
    /// The host's name.
    pub name: String,
    /// The host's addresses.
    pub address: Address,
    /// The clock of the NIC's port.
    pub clock: Clock,
    /// The port's line.
    pub rate: LineRate,
    /// The scenario's settings: classes, pauses, DCQCN.
    pub settings: NicSettings,
    /// Addresses of all hosts, for answers to ARP. The MAC address is that of the first hop: the switch's port, unless
    /// the host is at the other end of the cable.
    pub neighbours: Vec<Address>,
}

impl HostSetup {
    /// [`neighbours`](Self::neighbours) without the host itself.
    pub(crate) fn others(&self) -> Vec<Address> {
        let mut others = self.neighbours.clone();
        others.retain(|it| it.ip != self.address.ip);
        others
    }
}

/// What an endpoint is told when it is made.
#[derive(Debug, Clone)]
pub struct EndpointSetup {
    /// What its software is told.
    pub host: HostSetup,
    /// Seed of all that is random in it.
    pub seed: u64,
    /// Largest frame, FCS included.
    pub max_frame: ByteCount,
    /// Size of the receive buffer in bytes, where it can be set.
    pub buffer: u64,
    /// Number of QPs that flows take, and at least that of an RTL NIC.
    pub qps: usize,
    /// The bus between NIC and memory.
    pub pcie: PcieConfig,
    /// The congestion control in place of DCQCN. Model NICs alone get one.
    pub congestion: Option<Chosen>,
    /// Page tables and their cache. Model NICs and RTL NICs alone get them.
    pub translation: Option<TranslationConfig>,
    /// TCP, for the hosts that speak it.
    pub tcp: TcpSettings,
}

/// A kind of endpoint: what is known of it before there is one, and how one is made.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its limits.
    pub limits: fn() -> Limits,
    /// Period of the port's clock at a line rate.
    pub period: fn(LineRate) -> Duration,
    /// Why it cannot carry a line's rate, as text for a warning. `None` if it can.
    pub too_slow: fn(LineRate) -> Option<String>,
    /// Makes one.
    pub make: Make,
    /// Makes one from what [`Endpoint::save`] returned.
    pub restore: Restore,
}

/// Makes an endpoint.
pub type Make = fn(EndpointSetup) -> Result<Box<dyn Endpoint>, EndpointError>;
/// Makes an endpoint from its saved state.
pub type Restore = fn(&[u8]) -> Result<Box<dyn Endpoint>, String>;

/// Name of the kind of this repository's RTL NIC.
pub const RTL: &str = "rtl";
/// Name of the kind of model NICs.
pub const MODEL: &str = "model";
/// Name of the kind of hosts that are outside of the simulation.
pub const ATTACHED: &str = "attached";
/// Name of the kind of hosts with TCP.
pub const TCP: &str = "tcp";

/// The kinds of endpoints that a simulation can make: `model`, `tcp`, `rtl` where it was added, and NICs of one's own,
/// `nic = { own = "NAME" }` in a scenario; kinds of congestion control, `host.congestion = "NAME"`; and policies,
/// `policy.name = "NAME"`.
#[derive(Debug, Clone)]
pub struct Endpoints {
    kinds: BTreeMap<String, Kind>,
    congestion: BTreeMap<String, CongestionKind>,
    policies: BTreeMap<String, PolicyKind>,
}

impl Default for Endpoints {
    /// Model NICs, TCP hosts, and the policy `ecn-tuner`.
    fn default() -> Self {
        Self {
            kinds: BTreeMap::from([(MODEL.into(), model()), (TCP.into(), tcp::kind())]),
            congestion: BTreeMap::new(),
            policies: BTreeMap::from([(EcnTuner::NAME.into(), PolicyKind::of::<EcnTuner>())]),
        }
    }
}

impl Endpoints {
    /// Adds a kind under a name, or replaces it.
    #[must_use]
    pub fn with(mut self, name: &str, kind: Kind) -> Self {
        self.kinds.insert(name.into(), kind);
        self
    }

    /// Adds a kind of congestion control for model NICs under a name, or replaces it.
    ///
    /// # Panics
    ///
    /// When the name is that of DCQCN.
    #[must_use]
    pub fn with_congestion(mut self, name: &str, kind: CongestionKind) -> Self {
        assert_ne!(name, DCQCN, "DCQCN is there already");
        self.congestion.insert(name.into(), kind);
        self
    }

    /// Adds a policy under a name, or replaces it.
    #[must_use]
    pub fn with_policy(mut self, name: &str, kind: PolicyKind) -> Self {
        self.policies.insert(name.into(), kind);
        self
    }

    /// The policy of a name.
    ///
    /// # Errors
    ///
    /// What there is instead.
    pub(crate) fn policy(&self, name: &str) -> Result<PolicyKind, String> {
        self.policies.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.policies.keys().map(String::as_str).collect();
            format!(
                "no policy of the name '{name}': this program has {}; docs/own-policy.md says how to add one{}",
                known.join(", "),
                did_you_mean(name, known.iter().copied())
            )
        })
    }

    /// The congestion control in place of DCQCN that a host's settings ask for.
    ///
    /// # Errors
    ///
    /// A name that is not known, a NIC that has DCQCN only, or parameters that do not fit.
    pub(crate) fn congestion_of(
        &self,
        host: &str,
        settings: &HostSettings,
    ) -> Result<Option<Chosen>, Issue> {
        let refuse = |key: &str, message: String| {
            Err(Issue {
                key: format!("host.{key}"),
                message,
            })
        };
        let parameters = settings.congestion_parameters.clone();
        let Some(name) = settings.own_congestion() else {
            return match parameters.keys().next() {
                None => Ok(None),
                Some(key) => refuse(
                    "congestion_parameters",
                    format!("{key}: goes with congestion = \"NAME\"; DCQCN's are in host.dcqcn"),
                ),
            };
        };
        let Some(kind) = self.congestion.get(name).copied() else {
            let own = self.congestion.keys().map(String::as_str);
            let known: Vec<&str> = std::iter::once(DCQCN).chain(own).collect();
            let problem = format!(
                "no congestion control of the name '{name}': this program has {}; docs/own-congestion.md says how to \
                 add one",
                known.join(", ")
            );
            return refuse("congestion", problem);
        };
        if settings.nic == NicKind::Tcp {
            // Its windows are those of `host.tcp`, beside NICs with any congestion control.
            return Ok(None);
        }
        if settings.nic != NicKind::Model {
            let nic = settings.nic.name();
            let problem = format!(
                "{name}: the NIC '{nic}' of {host} has dcqcn only; \"model\" NICs have any"
            );
            return refuse("congestion", problem);
        }
        let setup = CongestionSetup {
            clock: Clock::new(ModelNicConfig::period(settings.rate), Duration::ZERO),
            rate: settings.rate,
            mtu: 1024,
            parameters: &parameters,
        };
        if let Err(wrong) = kind.check(&setup) {
            return refuse("congestion_parameters", wrong);
        }
        Ok(Some(Chosen {
            name: name.into(),
            parameters,
            kind: Some(kind),
        }))
    }

    /// The kinds that there are, as scenarios name them.
    pub fn names(&self) -> impl Iterator<Item = NicKind> + '_ {
        self.kinds.keys().map(|name| match &name[..] {
            RTL => NicKind::Rtl,
            MODEL => NicKind::Model,
            TCP => NicKind::Tcp,
            name => NicKind::Custom(name.into()),
        })
    }

    /// The kind of a NIC that is not a scenario's.
    ///
    /// # Errors
    ///
    /// What is there instead of a kind of this name.
    pub(crate) fn kind(&self, kind: &NicKind) -> Result<Kind, String> {
        self.named("", kind.name()).map_err(|issue| issue.message)
    }

    /// The limits of a kind. `None` if it is not there.
    pub fn limits(&self, kind: &NicKind) -> Option<Limits> {
        let kind = self.kinds.get(kind.name())?;
        Some((kind.limits)())
    }

    /// The name and the kind of a host's endpoint.
    ///
    /// # Errors
    ///
    /// A name that is not known, or a kind that does not speak the host's version of IP.
    pub(crate) fn of<'s>(
        &self,
        host: &str,
        settings: &'s HostSettings,
    ) -> Result<(&'s str, Kind), Issue> {
        let name = settings.nic.name();
        let kind = self.named(host, name)?;
        if settings.ip == IpVersion::V6 && !(kind.limits)().ipv6 {
            return Err(Issue {
                key: format!("hosts.{host}.ip"),
                message: format!("v6: the NIC '{name}' has IPv4 only, \"v4\""),
            });
        }
        Ok((name, kind))
    }

    /// The kind of a name.
    fn named(&self, host: &str, name: &str) -> Result<Kind, Issue> {
        if let Some(kind) = self.kinds.get(name) {
            return Ok(*kind);
        }
        if name == ATTACHED {
            return Ok(outside::kind());
        }
        let known = self.kinds.keys().map(String::as_str);
        let known: Vec<&str> = known
            .filter(|name| ![RTL, MODEL, TCP].contains(name))
            .collect();
        let problem = match known.as_slice() {
            _ if name == RTL => "rtl: this program has no RTL NIC; \"model\" is right".into(),
            [] => format!(
                "no own NIC of the name '{name}': this program has none; docs/own-nic.md says how to build one that has"
            ),
            known => format!(
                "no own NIC of the name '{name}': there are {}",
                known.join(", ")
            ),
        };
        Err(Issue {
            key: format!("hosts.{host}.nic"),
            message: problem,
        })
    }

    /// The endpoint of a host that was read from a checkpoint. `None` if it is there already.
    ///
    /// # Errors
    ///
    /// A name that is not known, or an endpoint that is not the one that was saved.
    pub(crate) fn restore(&self, host: &str, placed: &Placed) -> Result<Option<Placed>, Issue> {
        let Content::Saved(saved) = &placed.content else {
            return Ok(None);
        };
        let kind = self.named(host, &placed.kind)?;
        let refuse = |why| Issue {
            key: format!("hosts.{host}.nic"),
            message: format!(
                "the NIC '{}' cannot go on from saved state: {why}",
                placed.kind
            ),
        };
        let mut node = (kind.restore)(saved).map_err(refuse)?;
        if let Some(own) = node.own_congestion().cloned() {
            let kind = self.congestion.get(&own.name).copied();
            let unknown = || format!("it has no congestion control '{}' here", own.name);
            let kind = Some(kind.ok_or_else(unknown).map_err(refuse)?);
            node.attach_congestion(Chosen { kind, ..own })
                .map_err(refuse)?;
        }
        Ok(Some(Placed {
            kind: placed.kind.clone(),
            content: Content::Node(node),
        }))
    }
}

impl Kind {
    /// Checks whether the endpoint can be an end of a flow, with this QP index: the one that posts it, which may have
    /// `max_rd_atomic` READs unanswered, or the other.
    pub(crate) fn check(
        &self,
        host: &str,
        connection: &Connection<'_>,
        posts: bool,
        max_rd_atomic: u16,
        qp: u16,
    ) -> Result<(), Issue> {
        let flow = connection.settings;
        let limits = (self.limits)();
        let list = |values: Vec<String>| values.join(", ");
        let bytes = connection.messages.iter().map(|(_, bytes)| *bytes);
        let longest = bytes.max().unwrap_or_default();
        let returns = connection.operations().any(Operation::returns);
        let key = if flow.mix.is_some() {
            "mix"
        } else {
            "operation"
        };
        let (known, does) = match posts {
            true => (limits.operations, "does"),
            false => (limits.answers, "answers"),
        };
        let problem = if !(connection.operations()).all(|it| known.contains(&it.into())) {
            let can = Operation::ALL.iter();
            let can = can.filter(|it| known.contains(&WorkKind::from(**it)));
            let can = list(can.map(|it| it.name().into()).collect());
            Some((key, format!("the NIC of {host} {does} {can}")))
        } else if !posts && returns && max_rd_atomic > limits.granted {
            let granted = limits.granted;
            Some((
                key,
                format!(
                    "the NIC of {host} has {granted} READs of a QP unanswered at most, and max_rd_atomic of {} \
                     is {max_rd_atomic}",
                    connection.from
                ),
            ))
        } else if !limits.mtus.contains(&flow.mtu) {
            let can = list(limits.mtus.iter().map(u32::to_string).collect());
            Some(("mtu", format!("{}: the NIC of {host} has {can}", flow.mtu)))
        } else if longest.get() > limits.message.into() {
            let most = limits.message;
            Some((
                "message",
                format!("{longest}: the NIC of {host} carries {most} bytes at most"),
            ))
        } else if flow.outstanding > limits.outstanding {
            let most = limits.outstanding;
            Some((
                "outstanding",
                format!("{}: the NIC of {host} holds {most}", flow.outstanding),
            ))
        } else if qp >= limits.qps {
            let most = limits.qps;
            Some((
                "from",
                format!("host {host} has more than {most} flows, as many as its NIC has QPs"),
            ))
        } else {
            None
        };
        problem.map_or(Ok(()), |(key, problem)| {
            Err(Issue {
                key: format!("flows.{}.{key}", flow.name),
                message: problem,
            })
        })
    }
}

/// An endpoint at its place in a network, with the name of its kind.
///
/// Since only the program knows the kinds, a host that was read from a checkpoint is of no use until
/// [`Simulation::attach`](crate::Simulation::attach) has made its endpoint.
#[derive(Debug)]
pub struct Placed {
    kind: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Node(Box<dyn Endpoint>),
    /// The state of a node that was read from a checkpoint.
    Saved(Bytes),
}

/// What is said of a host with an own NIC that cannot be part of a checkpoint.
pub const NOT_SAVED: &str = "a host with an own NIC is in no checkpoint unless its device says \
    `const CHECKPOINTS: bool = true`; an `RtlHost` alone can be saved and restored by whoever knows its driver";
const NOT_ATTACHED: &str =
    "a simulation that was read from a checkpoint gets its endpoints by `attach`";

impl Placed {
    pub(crate) fn new(kind: &str, node: Box<dyn Endpoint>) -> Self {
        Self {
            kind: kind.into(),
            content: Content::Node(node),
        }
    }

    /// The endpoint. Panics if it was read from a checkpoint and has not been attached, as does
    /// [`node_mut`](Self::node_mut).
    #[inline]
    pub(crate) fn node(&self) -> &dyn Endpoint {
        match &self.content {
            Content::Node(node) => &**node,
            Content::Saved(_) => panic!("{NOT_ATTACHED}"),
        }
    }

    #[inline]
    pub(crate) fn node_mut(&mut self) -> &mut dyn Endpoint {
        match &mut self.content {
            Content::Node(node) => &mut **node,
            Content::Saved(_) => panic!("{NOT_ATTACHED}"),
        }
    }

    /// Why it can be in no checkpoint.
    pub(crate) fn unsaved(&self) -> Option<&'static str> {
        match &self.content {
            Content::Node(node) => node.unsaved(),
            Content::Saved(_) => None,
        }
    }

    /// Has another part of the network run it: here is what that has shown of it.
    pub(crate) fn replace(&mut self, seen: Seen) {
        self.content = Content::Node(Box::new(seen));
    }

    /// Takes what the part that runs it has shown since the last call. Panics if it runs here.
    pub(crate) fn see(&mut self, later: Seen) {
        let stand_in = self.node_mut().stand_in();
        let seen = stand_in.and_then(|stand_in| stand_in.downcast_mut::<Seen>());
        seen.expect("the host runs in another part").follow(later);
    }
}

impl Serialize for Placed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let custom = <S::Error as serde::ser::Error>::custom;
        let saved = match &self.content {
            Content::Saved(saved) => saved.clone(),
            Content::Node(node) => match node.unsaved() {
                None => node.save().map_err(custom)?.into(),
                Some(why) => return Err(custom(why.into())),
            },
        };
        (&self.kind, saved).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, saved) = Deserialize::deserialize(deserializer)?;
        Ok(Self {
            kind,
            content: Content::Saved(saved),
        })
    }
}

/// The kind of model NICs.
fn model() -> Kind {
    Kind {
        limits: || Limits::MODEL,
        period: ModelNicConfig::period,
        too_slow: |_| None,
        make: |setup| {
            let HostSetup {
                clock,
                rate,
                settings,
                ..
            } = setup.host;
            let config = ModelNicConfig {
                max_frame: setup.max_frame,
                buffer_bytes: setup.buffer,
                qps: setup.qps,
                ..ModelNicConfig::at(rate, clock, settings)
            };
            let host = Host::new(clock, BEAT_BYTES, &setup.pcie);
            let mut nic = ModelNic::new(config, host);
            if let Some(own) = setup.congestion {
                nic.choose_congestion(own);
            }
            if let Some(translation) = setup.translation {
                nic.enable_translation(translation, Seed(setup.seed).derive(&[1]));
            }
            Ok(Box::new(nic))
        },
        restore: |saved| {
            let nic: ModelNic = postcard::from_bytes(saved).map_err(|error| error.to_string())?;
            Ok(Box::new(nic))
        },
    }
}

impl Endpoint for ModelNic {
    fn host(&self) -> &Host {
        self.host()
    }

    fn host_mut(&mut self) -> &mut Host {
        self.host_mut()
    }

    fn create(
        &mut self,
        index: u16,
        psn: Psn,
        region: &Region,
    ) -> Result<Option<Created>, EndpointError> {
        let key = self.register(index, *region);
        let qpn = self.config().settings.qpn_base + u32::from(index);
        Ok(Some(Created { qpn, psn, key }))
    }

    fn connect(&mut self, index: u16, settings: &QpSettings) -> Result<(), EndpointError> {
        self.open(index, settings);
        Ok(())
    }

    fn connected(&self, _index: u16) -> bool {
        true
    }

    fn enable_reads(&mut self, limit: u16) -> ReadRights {
        self.enable_reads(limit);
        Limits::MODEL.read_rights()
    }

    fn permit(&mut self, index: u16, rights: ReadRights) {
        self.permit(index, rights);
    }

    fn set_page(&mut self, index: u16, size: PageSize) {
        self.set_page(index, size);
    }

    fn touch(&mut self, qps: &[u16]) -> Result<(), EndpointError> {
        qps.iter().for_each(|index| self.touch(*index));
        Ok(())
    }

    fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        self.free_pages(index, va, bytes);
        self.translation().is_some()
    }

    fn translation(&self) -> Option<TranslationCost> {
        let counters = self.translation()?;
        let period = self.config().clock.period;
        Some(TranslationCost {
            hits: counters.hits,
            misses: counters.misses,
            stalled: counters.stalled.map(|cycles| period * cycles),
        })
    }

    fn counters(&self) -> &NicCounters {
        self.counters()
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.mac_counters()
    }

    fn pauses(&self) -> &PauseLog {
        self.pauses()
    }

    fn rate(&self, qp: u16) -> Option<(Rate, Alpha, bool)> {
        self.rate(qp)
    }

    fn set_dcqcn(&mut self, qp: Option<u16>, change: &DcqcnChange) -> bool {
        self.set_dcqcn(qp, change)
    }

    fn set_pace(&mut self, qp: u16, bound: Pace) -> bool {
        self.set_pace(qp, bound)
    }

    fn set_link(&mut self, _now: Time, up: bool) {
        self.set_link(up);
    }

    fn own_congestion(&self) -> Option<&Chosen> {
        self.own_congestion()
    }

    fn attach_congestion(&mut self, own: Chosen) -> Result<(), String> {
        self.attach_congestion(own)
    }

    fn unsaved(&self) -> Option<&'static str> {
        None
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        postcard::to_stdvec(self).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod congestion_tests;
#[cfg(test)]
mod tests {
    use xoff_sim::time::Length;

    use crate::Simulation;
    use crate::scenario::{FlowSettings, NicKind, Scenario};

    use super::*;

    fn pair(nic: NicKind) -> Scenario {
        let mut scenario = Scenario::new("pair", Duration::from_us(10))
            .host("a")
            .host("b")
            .link("a", "b", Length::from_m(2))
            .flow(FlowSettings::new("f", "a", "b").messages(1, ByteCount::new(1_000)));
        scenario.hosts[1].nic = Some(nic);
        scenario.host.nic = NicKind::Model;
        scenario
    }

    #[test]
    fn kinds_that_a_program_does_not_have_are_named() {
        let said = |nic: NicKind| {
            let error = Simulation::new(&pair(nic.clone()).checked().unwrap())
                .unwrap_err()
                .to_string();
            let checked = Simulation::check(&pair(nic).checked().unwrap(), &Endpoints::default());
            assert_eq!(checked.unwrap_err().to_string(), error);
            error
        };
        assert_eq!(
            said(NicKind::Rtl),
            "hosts.b.nic: rtl: this program has no RTL NIC; \"model\" is right"
        );
        assert_eq!(
            said(NicKind::Custom("mine".into())),
            "hosts.b.nic: no own NIC of the name 'mine': this program has none; docs/own-nic.md says how to build one that has"
        );
    }

    /// A kind of one's own is a model NIC under another name here: it runs, and goes on from its saved state.
    #[test]
    fn a_kind_of_ones_own_runs_and_is_restored() {
        let endpoints = Endpoints::default().with("mine", model());
        let scenario = pair(NicKind::Custom("mine".into()));
        let mut whole = Simulation::with(&scenario.checked().unwrap(), &endpoints).unwrap();
        let saved = whole.save().unwrap();
        let end = Time::ZERO + scenario.duration;
        whole.run_until(end).unwrap();
        assert!(whole.finished());
        let mut restored = Simulation::restore(&saved, &endpoints).unwrap();
        restored.run_until(end).unwrap();
        assert_eq!(restored.digest(), whole.digest());
        let error = Simulation::restore(&saved, &Endpoints::default()).unwrap_err();
        assert!(error.to_string().contains("'mine'"), "{error}");
    }
}
