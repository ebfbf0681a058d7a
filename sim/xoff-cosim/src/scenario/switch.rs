//! Settings of switches, as scenarios say them.

use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration};

/// Settings of a switch. Ports are as many as links end here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchSettings {
    /// Its name.
    pub name: String,
    /// Shared buffer. The paper's: 9 or 12 MB.
    pub buffer: ByteCount,
    /// Priorities that pause instead of dropping. Priority = DSCP / 8.
    pub lossless: Vec<u8>,
    /// Where an ingress queue of a lossless priority pauses its peer: `{ static = "24.47 KB" }` or `{ alpha = { num = 1, den = 16 } }`.
    pub xoff: Limit,
    /// For what comes after XOFF, a port and lossless priority; left out: the exact need of the longest link here (annex O's terms).
    pub headroom: Option<ByteCount>,
    /// How far below XOFF it says XON.
    pub xon_offset: ByteCount,
    /// Marks lossless priorities; left out: not.
    pub ecn: Option<Ecn>,
    /// From a frame's last bit in to where it may start to go out.
    pub latency: Duration,
    /// What befalls frames in here.
    pub faults: Vec<FaultRule>,
}

impl Default for SwitchSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
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

/// RED on the egress queue; left out: the DCQCN paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// No mark up to here.
    pub kmin: ByteCount,
    /// Every packet above.
    pub kmax: ByteCount,
    /// Probability at kmax.
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
