//! Links: cable, MAC and PHY at both ends, faults on the way.
//!
//! | module | what is in it |
//! |---|---|
//! | [`fault_rule`] | [`FaultRule`]: which frames, and what is done to them; as text |
//! | [`fault_injector`] | [`FaultInjector`]: rules at work on one direction of a link, or in a switch, with counters |

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::{Duration, Length};

pub mod fault_injector;
pub mod fault_rule;

pub use fault_injector::{FaultInjector, FirstPsn, RuleCounters};
pub use fault_rule::{FaultAction, FaultMatch, FaultRule, FaultRuleError, PsnRange};

/// The least latency of a link, 100 ns: the kernel's windows are as long as the least of the network, and shorter ones
/// would leave nodes nothing to do in them.
pub const MIN_LATENCY: Duration = Duration::from_ns(100);

/// A link: what lies between the last bit at one port and at the other. Ports know their rate themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Link {
    /// The cable, 5 ns a metre.
    pub cable: Length,
    /// MAC and PHY at the two ends together, for either direction: what annex O of IEEE 802.1Q calls interface delay,
    /// once for sending and once for receiving.
    pub interface: Duration,
    /// Faults of frames from the first end to the second, and back.
    #[serde(default)]
    pub faults: [Vec<FaultRule>; 2],
}

/// A link that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "link latency {latency} (cable {cable}, interface {interface}) is below {MIN_LATENCY}: take an interface delay of {needed} or more, or a longer cable"
)]
pub struct LatencyTooSmall {
    /// What it comes to.
    pub latency: Duration,
    /// The cable.
    pub cable: Length,
    /// Its interface delay.
    pub interface: Duration,
    /// The least interface delay for this cable.
    pub needed: Duration,
}

impl Link {
    /// A link without faults.
    pub const fn new(cable: Length, interface: Duration) -> Self {
        Self {
            cable,
            interface,
            faults: [Vec::new(), Vec::new()],
        }
    }

    /// From the last bit at one port to the last bit at the other.
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
