//! Settings of a switch.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::buffer::NothingToShare;
use super::classify::DscpMap;
use super::headroom::PAUSE_FRAME_BYTES;
use super::{
    BufferConfig, Classify, ForwardingConfig, Limit, MarkAt, PriorityBuffer, RedConfig, Service,
    WatchdogConfig,
};
use crate::frame::wire_bytes;
use crate::kernel::PortId;
use crate::link::FaultRule;
pub use crate::mac::PauseKind;
use crate::seeded::Seed;
use crate::time::{ByteCount, Duration, LineRate};
use crate::wire::MacAddr;
use crate::wire::PRIORITIES;

/// Settings of pauses in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseConfig {
    /// The kind of pauses.
    pub kind: PauseKind,
    /// Pause time of an XOFF in quanta of 512 bit times, 1 … 65,535.
    pub quanta: u16,
    /// Time after which an XOFF is repeated while it lasts; must be shorter than the pause time. `None`: half of the
    /// pause time.
    pub refresh: Option<Duration>,
    /// Time from a pause frame's last bit until no further frame starts.
    pub response: Duration,
    /// PFC stops all priorities, not only the lossless ones.
    pub asymmetric: bool,
}

impl Default for PauseConfig {
    /// PFC with the longest pause time, repeated after half of it, and obeyed at once.
    fn default() -> Self {
        Self {
            kind: PauseKind::Pfc,
            quanta: u16::MAX,
            refresh: None,
            response: Duration::ZERO,
            asymmetric: false,
        }
    }
}

/// Settings of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortConfig {
    /// Its rate.
    pub rate: LineRate,
    /// Its MAC address: packets to it are routed; it is the source of pause frames and of packets routed out of this
    /// port.
    pub mac: MacAddr,
    /// MAC address of the router at the other end, for packets that are routed out of this port to it.
    pub peer: Option<MacAddr>,
    /// Whether frames to other MAC addresses are bridged. A port that only routes drops them.
    pub bridges: bool,
    /// Whether source addresses are learned from frames received here. Set this for hosts, not for other switches.
    pub learn: bool,
    /// A port that carries VLAN tags: frames without one are dropped, and packets routed out of it get a tag. Routed
    /// packets lose the tag they came with in any case (IEEE 802.1Q: a tag belongs to one bridged network).
    pub trunk: Option<u16>,
    /// The pause watchdog; without one, pauses last as long as the peer likes.
    pub watchdog: Option<WatchdogConfig>,
}

/// Settings of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchConfig {
    /// Its ports.
    pub ports: Vec<PortConfig>,
    /// Its buffer.
    pub buffer: BufferConfig,
    /// How the priority of a frame is determined.
    pub classify: Classify,
    /// Priority of broadcast and multicast, whatever it would be otherwise. It must not be lossless.
    pub group_priority: u8,
    /// Where frames go.
    pub forwarding: ForwardingConfig,
    /// Time from a frame's last bit in until it may start to be sent.
    pub latency: Duration,
    /// How the priorities share a port.
    pub services: [Service; PRIORITIES],
    /// ECN marking for each priority.
    pub red: [Option<RedConfig>; PRIORITIES],
    /// Where packets are marked.
    pub mark_at: MarkAt,
    /// Settings of pauses.
    pub pause: PauseConfig,
    /// The largest frame accepted, FCS included.
    pub max_frame: ByteCount,
    /// Faults applied to frames in the switch, before they are processed further.
    pub faults: Vec<FaultRule>,
    /// Seed for marking and faults.
    pub seed: Seed,
}

/// Why settings do not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The buffer is too small.
    #[error(transparent)]
    Buffer(#[from] NothingToShare),
    /// A pause would end before it is repeated.
    #[error(
        "pause refresh {refresh} is not shorter than the pause: {quanta} quanta are {lasts} at port {port}"
    )]
    Refresh {
        /// Time between two XOFFs.
        refresh: Duration,
        /// Pause time of an XOFF in quanta.
        quanta: u16,
        /// Pause time of an XOFF at the port's rate.
        lasts: Duration,
        /// The first port for which it does not fit.
        port: usize,
    },
    /// Pauses would be repeated faster than they can be sent.
    #[error(
        "pause refresh {refresh} is shorter than a pause frame on the wire, {least} at port {port}; without it an XOFF is \
         repeated after half of its time"
    )]
    RefreshAtOnce {
        /// Time between two XOFFs.
        refresh: Duration,
        /// Time of a pause frame, with preamble and gap.
        least: Duration,
        /// The first port for which it does not fit.
        port: usize,
    },
    /// RED's limits are in the wrong order, or its probability is above one.
    #[error("ECN of priority {0}: kmin is not below kmax, or pmax is above 1,000,000 ppm")]
    Red(usize),
    /// Group frames are in a lossless class.
    #[error(
        "group_priority {0} is lossless or above 7: broadcast and multicast never ride in a lossless class"
    )]
    GroupPriority(u8),
    /// A route leads out of a port to an unknown router.
    #[error("a route goes out of port {0}, and the MAC address of the router there is not set")]
    NoPeer(u16),
    /// The port does not exist.
    #[error("a route or host names port {0}, but there are {1}")]
    NoPort(u16, usize),
}

impl SwitchConfig {
    /// Settings with ports of one rate and the paper's buffer.
    ///
    /// The buffer has 12 MB. Priorities 3 and 4 are lossless with α = 1/16 and 40,000 bytes of headroom a port; all
    /// others are lossy with α = 1. Priority is DSCP / 8. Scheduling is deficit round robin with equal weights, and
    /// nothing is marked.
    pub fn new(ports: usize, rate: LineRate) -> Self {
        let mut priorities = [PriorityBuffer::lossy(1, 1); PRIORITIES];
        for lossless in &mut priorities[3..=4] {
            let alpha = Limit::Alpha { num: 1, den: 16 };
            *lossless = PriorityBuffer::lossless(alpha, ByteCount::new(40_000));
        }
        let port = |i: usize| PortConfig {
            rate,
            mac: MacAddr([0x02, 0, 0, 0, (i >> 8) as u8, i as u8]),
            peer: None,
            bridges: true,
            learn: true,
            trunk: None,
            watchdog: None,
        };
        Self {
            ports: (0..ports).map(port).collect(),
            buffer: BufferConfig {
                total: ByteCount::new(12_000_000),
                priorities,
            },
            classify: Classify::Dscp(DscpMap::class_selectors()),
            group_priority: 0,
            forwarding: ForwardingConfig::default(),
            latency: Duration::ZERO,
            services: [Service::Weighted(1600); PRIORITIES],
            red: [None; PRIORITIES],
            mark_at: MarkAt::Enqueue,
            pause: PauseConfig::default(),
            max_frame: ByteCount::new(9216),
            faults: Vec::new(),
            seed: Seed(0),
        }
    }

    /// Priorities that a pause of the configured kind stops, one bit each: by PFC those on which it is, the lossless
    /// ones (IEEE 802.1Q, clause 36), unless it is asymmetric; by PAUSE all.
    pub(super) fn obeying(&self) -> u8 {
        if self.pause.kind != PauseKind::Pfc || self.pause.asymmetric {
            return u8::MAX;
        }
        let bits = self.buffer.priorities.iter().enumerate();
        bits.fold(0, |bits, (priority, settings)| {
            bits | u8::from(settings.lossless) << priority
        })
    }

    /// Checks the settings, other than those of the buffer.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (port, settings) in self.ports.iter().enumerate() {
            let lasts = settings.rate.time_of_quanta(self.pause.quanta);
            let refresh = self.refresh(settings.rate);
            let least = settings.rate.time_of(wire_bytes(PAUSE_FRAME_BYTES));
            if self.pause.kind != PauseKind::Off
                && let Some(refresh) = self.pause.refresh.filter(|refresh| *refresh < least)
            {
                return Err(ConfigError::RefreshAtOnce {
                    refresh,
                    least,
                    port,
                });
            }
            if self.pause.kind != PauseKind::Off && refresh >= lasts {
                return Err(ConfigError::Refresh {
                    refresh,
                    quanta: self.pause.quanta,
                    lasts,
                    port,
                });
            }
        }
        for (priority, red) in self.red.iter().enumerate() {
            if red.is_some_and(|red| red.kmin >= red.kmax || red.pmax_ppm > 1_000_000) {
                return Err(ConfigError::Red(priority));
            }
        }
        let group = self.buffer.priorities.get(usize::from(self.group_priority));
        if group.is_none_or(|group| group.lossless) {
            return Err(ConfigError::GroupPriority(self.group_priority));
        }
        let of_routes = self
            .forwarding
            .routes
            .iter()
            .flat_map(|route| match &route.hop {
                super::NextHop::Ports(ports) => ports.as_slice(),
                super::NextHop::Connected => &[],
            });
        let of_routes: Vec<_> = of_routes.collect();
        let of_hosts = self.forwarding.hosts.iter().map(|host| &host.port);
        let wrong = (of_routes.iter().copied())
            .chain(of_hosts)
            .find(|port| usize::from(port.0) >= self.ports.len());
        if let Some(port) = wrong {
            return Err(ConfigError::NoPort(port.0, self.ports.len()));
        }
        let unknown = |port: &&&PortId| self.ports[usize::from(port.0)].peer.is_none();
        match of_routes.iter().find(unknown) {
            Some(port) => Err(ConfigError::NoPeer(port.0)),
            None => Ok(()),
        }
    }

    /// The time between two XOFFs at a rate.
    pub(super) fn refresh(&self, rate: LineRate) -> Duration {
        let half = || rate.time_of_quanta(self.pause.quanta) / 2;
        self.pause.refresh.unwrap_or_else(half)
    }
}
