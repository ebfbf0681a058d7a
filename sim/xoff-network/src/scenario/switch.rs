//! Settings of switches, as a scenario describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::switch::{Limit, MarkAt, Miss, PauseKind, RedConfig};
use xoff_sim::time::{ByteCount, Duration, LineRate};

use super::names::numbered;

/// Settings of a switch, or of several. It has a port for each link that ends at it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchSettings {
    /// Name of the switch. With a count it is the first part of the names: `t` and 2 make `t0` and `t1`.
    pub name: String,
    /// How many switches the entry stands for; without it one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// With a count: the numbers behind the name, if they are not 0, 1, 2 …
    #[serde(skip)]
    pub numbers: Option<Vec<u32>>,
    /// Of switches that a topology generates: the key that the settings stand under, such as `topology.tor`.
    #[serde(skip)]
    pub key: Option<&'static str>,
    /// Size of the shared buffer; those of the papers have 9 or 12 MB.
    pub buffer: ByteCount,
    /// Priorities that pause instead of dropping, 0 to 7, at most seven of them. The priority is DSCP / 8.
    pub lossless: Vec<u8>,
    /// Fill of an ingress queue at which a lossless priority pauses its peer: `{ static = "24.47 KB" }`, or a part of
    /// the free shared buffer, `{ alpha = { num = 1, den = 16 } }`.
    pub xoff: Limit,
    /// Buffer for what arrives after XOFF, for each port and lossless priority; without it the most that a link here
    /// can need with packets of any sizes up to the longest of the flows (`xoff calc headroom`, form "any sizes").
    pub headroom: Option<ByteCount>,
    /// How far below XOFF the fill has to fall for XON.
    pub xon_offset: ByteCount,
    /// Buffer reserved for each port and lossless priority, used before the shared buffer.
    pub reserved: ByteCount,
    /// Fill of an ingress queue at which a lossy priority drops.
    pub lossy_limit: Limit,
    /// Which pauses are sent and obeyed: PFC by priority, PAUSE for all at once, or none, so that every class is lossy.
    pub pauses: PauseKind,
    /// Pause time of an XOFF in quanta of 512 bit times, 1 to 65535.
    pub pause_quanta: u16,
    /// Time after which an XOFF is repeated while it lasts; without it half of the pause time.
    pub pause_refresh: Option<Duration>,
    /// Time from a pause frame's last bit in until no further frame of its priority starts; at most what the standard
    /// allows at the rate: 614.4 ns at 10 Gb/s, 1.51 us at 40 Gb/s, 2.02 us at 100 Gb/s, 1.16 us at 200 and 400 Gb/s.
    pub pause_response: Duration,
    /// PFC stops every class of a port, also those that are not lossless; without it PFC of a class that is not lossless
    /// has no effect. SONiC has this mode by the same name. PAUSE stops all classes in any case.
    pub asymmetric_pfc: bool,
    /// Ends pauses that do not end by themselves; without this table they may last for ever.
    pub watchdog: Option<Watchdog>,
    /// Where the priority of a frame comes from.
    pub classify: Classify,
    /// VLAN of the ports to hosts, 0 to 4094, which are trunk ports then: frames without a tag are dropped, and packets
    /// to the hosts get a tag with their priority. Without it ports are access ports. Links between switches carry no
    /// tags.
    pub trunk: Option<u16>,
    /// Time after which the ARP entry of a host ends; without it never. The paper's switches: 4 h.
    pub arp_timeout: Option<Duration>,
    /// Time after which the MAC entry of a host ends when no frame of the host comes; without it never. The paper's
    /// switches: 5 min.
    pub mac_timeout: Option<Duration>,
    /// What is done with a packet for a host that has an ARP entry and no MAC entry: it is dropped, or flooded to all
    /// other ports.
    pub on_mac_miss: Miss,
    /// The paper's cure for deadlock: lossless packets are dropped where others are flooded.
    pub lossless_never_floods: bool,
    /// Seed of the hash that chooses among equal-cost paths. Without it every switch has its own, drawn from the
    /// scenario's; the same number in all switches makes them choose alike.
    pub hash_seed: Option<u64>,
    /// Sprays packets over equal-cost paths in turn instead of keeping flows together.
    pub spray: bool,
    /// Sends packets whose shortest paths are all down to any other neighbouring switch instead of dropping them.
    pub reroute: bool,
    /// How the priorities share a port: bytes that each may send in its turn, or 0 for a priority that is served
    /// before all that have turns, the higher of several first.
    pub weights: [u32; 8],
    /// ECN marking; without this table there is none.
    pub ecn: Option<Ecn>,
    /// Classes that have settings of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSettings>,
    /// Time from a frame's last bit in until it may start to go out.
    pub latency: Duration,
    /// Faults of frames in this switch.
    pub faults: Vec<FaultRule>,
}

impl Default for SwitchSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: None,
            numbers: None,
            key: None,
            buffer: ByteCount::new(12_000_000),
            lossless: vec![3],
            xoff: Limit::Alpha { num: 1, den: 16 },
            headroom: None,
            xon_offset: ByteCount::new(2 * 1086),
            reserved: ByteCount::ZERO,
            lossy_limit: Limit::Alpha { num: 1, den: 1 },
            pauses: PauseKind::Pfc,
            pause_quanta: u16::MAX,
            pause_refresh: None,
            pause_response: Duration::ZERO,
            asymmetric_pfc: false,
            watchdog: None,
            classify: Classify::Dscp,
            trunk: None,
            arp_timeout: None,
            mac_timeout: None,
            on_mac_miss: Miss::Drop,
            lossless_never_floods: false,
            hash_seed: None,
            spray: false,
            reroute: false,
            // CNPs and network control are served first (SIGCOMM 2015, section 4: CNPs have high priority).
            weights: [1600, 1600, 1600, 1600, 1600, 1600, 0, 0],
            ecn: None,
            classes: Vec::new(),
            latency: Duration::from_ns(300),
            faults: Vec::new(),
        }
    }
}

/// Where the priority, or class, of a frame comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classify {
    /// DSCP / 8; frames that are not IP have class 0.
    #[default]
    Dscp,
    /// PCP of the VLAN tag; frames without a tag have class 0.
    Pcp,
}

impl Classify {
    /// The class of packets with this DSCP (RFC 2474, section 4.2.2: its upper bits) and PCP; without a tag it is 0.
    pub fn class(self, dscp: u8, pcp: Option<u8>) -> u8 {
        match self {
            Self::Dscp => dscp >> 3,
            Self::Pcp => pcp.unwrap_or(0),
        }
    }
}

/// Pause watchdog of a switch. It gives up a lossless priority at a port where frames wait behind a pause that does
/// not end: the frames are dropped, and pauses ignored, until the pauses have stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Watchdog {
    /// How long frames wait behind a pause, with none of them starting, until the watchdog acts. SONiC: 400 ms.
    pub detect: Duration,
    /// How long no pause may come until the priority is lossless again. The paper: 200 ms; SONiC: 2 s.
    pub restore: Duration,
    /// Which ports are watched: the paper's watchdog faces servers, SONiC's watches all.
    pub ports: Watched,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self {
            detect: Duration::from_ms(100),
            restore: Duration::from_ms(200),
            ports: Watched::Hosts,
        }
    }
}

/// Ports that a watchdog watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Watched {
    /// Those that lead to hosts.
    #[default]
    Hosts,
    /// All.
    All,
}

impl SwitchSettings {
    /// Where the settings are in the scenario, for messages: `switches.NAME`, or the key of a topology.
    pub fn place(&self) -> String {
        self.key
            .map_or_else(|| format!("switches.{}", self.name), Into::into)
    }

    /// Names of the switches that the entry stands for.
    pub fn names(&self) -> Vec<String> {
        numbered(&self.name, self.count, self.numbers.as_deref())
    }
}

/// Settings of one class of a switch, in place of those that all have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSettings {
    /// The class, 0 to 7.
    pub class: u8,
    /// Fill of an ingress queue at which it pauses its peer, if it is lossless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Limit>,
    /// How far below XOFF the fill has to fall for XON, if it is lossless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon_offset: Option<ByteCount>,
    /// Buffer for what arrives after XOFF, for each port, if it is lossless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<ByteCount>,
    /// Fill of an ingress queue at which it drops, if it is lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy_limit: Option<Limit>,
    /// Buffer reserved for each port, used before the shared buffer; also of a lossy class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ByteCount>,
    /// Curve of its marks. The class is marked, whether or not `ecn` of the switch has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Curve>,
}

/// The rate that the DCQCN paper's Kmin and Kmax are for.
const PAPER: LineRate = LineRate::G40;

/// The curve of RED. Without other values it has the DCQCN paper's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Curve {
    /// Length of the egress queue up to which nothing is marked. 5 KB without it, and without `kmax`, too, at ports of
    /// more than 40 Gb/s as much more as they are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<ByteCount>,
    /// Length above which every packet is marked. 200 KB without it, and without `kmin`, too, at ports of more than
    /// 40 Gb/s as much more as they are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<ByteCount>,
    /// Probability of a mark at `kmax`, 0 to 1.
    pub pmax: f64,
}

impl Default for Curve {
    fn default() -> Self {
        Self {
            kmin: None,
            kmax: None,
            pmax: 0.01,
        }
    }
}

impl Curve {
    /// The settings of RED.
    pub fn red(&self) -> RedConfig {
        RedConfig {
            kmin: self.kmin.unwrap_or(RedConfig::DCQCN.kmin),
            kmax: self.kmax.unwrap_or(RedConfig::DCQCN.kmax),
            pmax_ppm: (self.pmax * 1e6).round() as u32,
            drop_incapable: false,
            line: (self.kmin.is_none() && self.kmax.is_none()).then_some(PAPER),
        }
    }
}

/// RED on the egress queues. Without other values it has the DCQCN paper's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// Length of the egress queue up to which nothing is marked. 5 KB without it, and without `kmax`, too, at ports of
    /// more than 40 Gb/s as much more as they are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<ByteCount>,
    /// Length above which every packet is marked. 200 KB without it, and without `kmin`, too, at ports of more than
    /// 40 Gb/s as much more as they are faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<ByteCount>,
    /// Probability of a mark at `kmax`, 0 to 1.
    pub pmax: f64,
    /// Priorities that are marked, 0 to 7; without it the lossless ones.
    pub classes: Option<Vec<u8>>,
    /// Where a packet is judged: when it joins the queue, by what waits before it, or when it leaves, by what waits
    /// behind it, as switch ASICs do.
    pub mark_at: MarkAt,
}

impl Default for Ecn {
    fn default() -> Self {
        let Curve { kmin, kmax, pmax } = Curve::default();
        Self {
            kmin,
            kmax,
            pmax,
            classes: None,
            mark_at: MarkAt::Enqueue,
        }
    }
}

impl Ecn {
    /// The curve of its marks.
    pub const fn curve(&self) -> Curve {
        Curve {
            kmin: self.kmin,
            kmax: self.kmax,
            pmax: self.pmax,
        }
    }
}
