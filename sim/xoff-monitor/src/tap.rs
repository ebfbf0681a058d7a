//! Where frames are seen.

use xoff_sim::headers::Headers;
use xoff_sim::time::{Duration, LineRate};

use crate::pauses;

/// A place where frames are seen: a port, or an interface of a capture.
#[derive(Debug, Clone)]
pub struct Tap {
    /// What reports call it.
    pub name: String,
    /// Whether it is a host's own port, so that all that the host sends is seen, and all that it receives. Elsewhere
    /// frames may be lost before the tap, and behind it.
    pub host: bool,
    /// Whether frames come to the tap in the order in which they were sent, none of them twice, as through Ethernet.
    /// Where not, rules about order apply to what a host sends at its own port alone.
    pub orderly: bool,
    /// Rate of the line, for rules about pauses.
    pub rate: Option<LineRate>,
    /// Ticks of the clock: a time is that much later at most than it says.
    pub resolution: Duration,
    /// Class of each DSCP, for frames without a VLAN tag; of those with one the PCP is the class. By default DSCP / 8.
    pub classes: [u8; 64],
    /// How long after a pause frames may still start, when not what the standard allows for the rate.
    pub pause_response: Option<Duration>,
}

impl Tap {
    /// A tap somewhere, of which nothing is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            host: false,
            orderly: true,
            rate: None,
            resolution: Duration::ZERO,
            classes: std::array::from_fn(|dscp| dscp as u8 >> 3),
            pause_response: None,
        }
    }

    /// Class of a frame, 0 to 7.
    pub(crate) fn class(&self, headers: &Headers) -> u8 {
        match (headers.tag, headers.ip) {
            (Some(tag), _) => tag.pcp & 7,
            (None, Some(ip)) => self.classes[usize::from(ip.traffic_class >> 2)] & 7,
            (None, None) => 0,
        }
    }

    /// How long after a pause frames may still start.
    pub(crate) fn response(&self) -> Duration {
        self.pause_response
            .or_else(|| self.rate.map(pauses::response))
            .unwrap_or(Duration::MAX)
    }
}
