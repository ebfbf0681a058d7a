//! Links: the cable, the MAC and PHY at both ends, and faults on the way.
//!
//! | module | what is in it |
//! |---|---|
//! | [`fault_rule`] | [`FaultRule`]: which frames, and what is done to them; as text |
//! | [`fault_injector`] | [`FaultInjector`]: rules applied to one direction of a link, or in a switch, with counters |

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::{Duration, Length};

pub mod fault_injector;
pub mod fault_rule;

pub use fault_injector::{FaultInjector, FirstPsn, RuleCounters};
pub use fault_rule::{FaultAction, FaultMatch, FaultRule, FaultRuleError, FrameKind, PsnRange};

/// The least latency of a link, 100 ns. The kernel's windows are as long as the least latency between nodes, and in
/// shorter windows nodes would have nothing to do.
pub const MIN_LATENCY: Duration = Duration::from_ns(100);

/// A link: what lies between the last bit at one port and the last bit at the other. The ports have their own rates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Link {
    /// The cable, 5 ns a metre.
    pub cable: Length,
    /// Delay of MAC and PHY, summed over the two ends, for either direction. Annex O of IEEE 802.1Q calls this the
    /// interface delay, once for sending and once for receiving.
    pub interface: Duration,
    /// Faults of frames from the first end to the second, and of frames from the second end to the first.
    #[serde(default)]
    pub faults: [Vec<FaultRule>; 2],
}

/// The error for a link that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "link latency {latency} (cable {cable}, interface {interface}) is below {MIN_LATENCY}: take an interface delay of {needed} or more, or a longer cable"
)]
pub struct LatencyTooSmall {
    /// The link's latency.
    pub latency: Duration,
    /// The link's cable.
    pub cable: Length,
    /// The link's interface delay.
    pub interface: Duration,
    /// The least interface delay that would do for this cable.
    pub needed: Duration,
}

impl Link {
    /// Creates a link without faults.
    pub const fn new(cable: Length, interface: Duration) -> Self {
        Self {
            cable,
            interface,
            faults: [Vec::new(), Vec::new()],
        }
    }

    /// The time from the last bit at one port to the last bit at the other.
    ///
    /// # Errors
    ///
    /// [`LatencyTooSmall`] below [`MIN_LATENCY`].
    pub fn latency(&self) -> Result<Duration, LatencyTooSmall> {
        let latency = self.cable.delay() + self.interface;
        if latency < MIN_LATENCY {
            return Err(LatencyTooSmall {
                latency,
                cable: self.cable,
                interface: self.interface,
                needed: MIN_LATENCY.saturating_sub(self.cable.delay()),
            });
        }
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_links_say_what_would_do() {
        let link = Link::new(Length::from_m(2), Duration::from_ns(50));
        assert_eq!(
            link.latency().unwrap_err().to_string(),
            "link latency 60 ns (cable 2 m, interface 50 ns) is below 100 ns: take an interface delay of 90 ns or more, or a longer cable"
        );
        let link = Link::new(Length::from_m(300), Duration::ZERO);
        assert_eq!(link.latency(), Ok(Duration::from_ns(1500)));
    }
}
