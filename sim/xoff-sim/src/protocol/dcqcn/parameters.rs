//! The parameters of a reaction point.

use serde::{Deserialize, Serialize};

use super::Rate;
use crate::protocol::cycle::cycles_of_ns;

/// Gain g of α in the paper, 1/256, in units of 2⁻¹⁶ (SIGCOMM 2015, section 5.2 and figure 14).
pub const PAPER_G: u16 = 256;
/// Time without a CNP after which α decays, in ns (SIGCOMM 2015, section 3.1: K = 55 µs).
pub const PAPER_ALPHA_NS: u64 = 55_000;
/// Period of the rate timer in ns (figure 14).
pub const PAPER_RATE_NS: u64 = 55_000;
/// Bytes between rate increases (figure 14: 10 MB).
pub const PAPER_BYTE_LIMIT: u32 = 10_000_000;
/// Stages of fast recovery, F (section 3.1).
pub const PAPER_STAGES: u8 = 5;
/// Additive increase (section 3.1: 40 Mb/s).
pub const PAPER_RATE_AI: Rate = Rate::mbps(40);
/// Hyper increase. The paper gives no number; this is the one in the authors' ns-3 configuration.
pub const NS3_RATE_HAI: Rate = Rate::mbps(200);
/// The slowest rate. This is our choice: the paper has none, and a QP with rate 0 would never hear from the network
/// again.
pub const SLOWEST_RATE: Rate = Rate::mbps(10);
/// Least time between two CNPs of a flow, in ns (section 3.1: N = 50 µs).
pub const PAPER_CNP_NS: u64 = 50_000;

/// Parameters of a reaction point (`rp_params_t`). Any value is legal, and they may change between any two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RpParameters {
    /// Line rate: the rate at which a QP starts, and the upper clamp.
    pub rate_max: Rate,
    /// Lower clamp; above `rate_max` it has no effect.
    pub rate_min: Rate,
    /// Step of the target in additive increase.
    pub rate_ai: Rate,
    /// Step of the target in hyper increase.
    pub rate_hai: Rate,
    /// Gain of α in units of 2⁻¹⁶.
    pub g: u16,
    /// Cycles without a CNP after which α decays; 0: it does not decay.
    pub alpha_time: u32,
    /// Cycles between rate increases by time; 0: none.
    pub rate_time: u32,
    /// Bytes between rate increases by bytes; 0: none.
    pub byte_limit: u32,
    /// Stages of fast recovery, F: 0 to 31.
    pub stages: u8,
}

impl RpParameters {
    /// The paper's parameters at this line rate and clock period.
    pub const fn paper(rate_max: Rate, period_ps: u64) -> Self {
        Self {
            rate_max,
            rate_min: SLOWEST_RATE,
            rate_ai: PAPER_RATE_AI,
            rate_hai: NS3_RATE_HAI,
            g: PAPER_G,
            alpha_time: cycles_of_ns(PAPER_ALPHA_NS, period_ps),
            rate_time: cycles_of_ns(PAPER_RATE_NS, period_ps),
            byte_limit: PAPER_BYTE_LIMIT,
            stages: PAPER_STAGES,
        }
    }
}
