//! Settings of switches, as a scenario describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration};

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
    /// Size of the shared buffer; those of the papers have 9 or 12 MB.
    pub buffer: ByteCount,
    /// Priorities that pause instead of dropping, 0 to 7. The priority is DSCP / 8.
    pub lossless: Vec<u8>,
    /// Fill of an ingress queue at which a lossless priority pauses its peer: `{ static = "24.47 KB" }`, or a part of
    /// the free shared buffer, `{ alpha = { num = 1, den = 16 } }`.
    pub xoff: Limit,
    /// Buffer for what arrives after XOFF, for each port and lossless priority; without it what the longest link here
    /// needs (IEEE 802.1Q annex O).
    pub headroom: Option<ByteCount>,
    /// How far below XOFF the fill has to fall for XON.
    pub xon_offset: ByteCount,
    /// ECN marking of lossless priorities; without this table there is none.
    pub ecn: Option<Ecn>,
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
            buffer: ByteCount::new(12_000_000),
            lossless: vec![3],
            xoff: Limit::Alpha { num: 1, den: 16 },
            headroom: None,
            xon_offset: ByteCount::new(2 * 1086),
            ecn: None,
            latency: Duration::from_ns(300),
            faults: Vec::new(),
        }
    }
}

impl SwitchSettings {
    /// Names of the switches that the entry stands for.
    pub fn names(&self) -> Vec<String> {
        numbered(&self.name, self.count, self.numbers.as_deref())
    }
}

/// RED on the egress queues. Without other values it has the DCQCN paper's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// Length of the egress queue up to which nothing is marked.
    pub kmin: ByteCount,
    /// Length above which every packet is marked.
    pub kmax: ByteCount,
    /// Probability of a mark at `kmax`, 0 to 1.
    pub pmax: f64,
}

impl Default for Ecn {
    fn default() -> Self {
        Self {
            kmin: ByteCount::new(5_000),
            kmax: ByteCount::new(200_000),
            pmax: 0.01,
        }
    }
}
