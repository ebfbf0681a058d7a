//! Where frames are seen.

use xoff_sim::headers::Headers;
use xoff_sim::kernel::Direction;
use xoff_sim::switch::headroom::longest_response;
use xoff_sim::time::{Duration, LineRate};
use xoff_sim::wire::PRIORITIES;

/// A place where frames are seen: a port, or an interface of a capture.
#[derive(Debug, Clone)]
pub struct Tap {
    /// The name used in reports.
    pub name: String,
    /// Whether it is a host's own port, so that everything that the host sends or receives is seen. Elsewhere frames
    /// may be lost both before and behind the tap.
    pub host: bool,
    /// Whether frames reach the tap in the order in which they were sent and none of them twice, as over Ethernet. If
    /// not, rules about order apply only to what a host sends at its own port.
    pub orderly: bool,
    /// Line rate, for rules about pauses.
    pub rate: Option<LineRate>,
    /// Resolution of the clock: the actual time is at most this much later than the recorded one.
    pub resolution: Duration,
    /// Class of each DSCP. The default is DSCP / 8.
    pub classes: [u8; 64],
    /// Class of each PCP, for frames with a VLAN tag; by default the same number. `None`: their DSCP counts, too.
    pub pcp_classes: Option<[u8; PRIORITIES]>,
    /// The classes, one bit each, for which the node obeys PFC. By default all.
    pub pfc_classes: u8,
    /// Whether the node obeys 802.3x PAUSE. By default it does.
    pub pause: bool,
    /// How long after a pause frames may still start; `None` for what the standard allows at the rate:
    /// [`longest_response`].
    pub pause_response: Option<Duration>,
}

/// Which end of a connection's requests a tap is at: what may be judged depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The port of the host that sends them: what it has sent and what has arrived of the answers is known.
    Sender,
    /// The port of the host that answers them: what has arrived of them and what it has answered is known.
    Receiver,
    /// Anywhere else: frames may be lost before and behind the tap, and may cross others.
    Between,
}

impl Side {
    /// The side of what passes a host's own port in this direction; `None` where the tap is no host's own port.
    pub fn of(direction: Option<Direction>) -> Self {
        match direction {
            Some(Direction::Sent) => Self::Sender,
            Some(Direction::Received) => Self::Receiver,
            None => Self::Between,
        }
    }

    /// The same tap, for the requests in the other direction.
    pub fn reversed(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
            Self::Between => Self::Between,
        }
    }
}

impl Tap {
    /// Creates a tap at an unknown place, of which nothing is assumed.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            host: false,
            orderly: true,
            rate: None,
            resolution: Duration::ZERO,
            classes: std::array::from_fn(|dscp| dscp as u8 >> 3),
            pcp_classes: Some(std::array::from_fn(|pcp| pcp as u8)),
            pfc_classes: u8::MAX,
            pause: true,
            pause_response: None,
        }
    }

    /// Class of a frame, 0 to 7.
    pub(crate) fn class(&self, headers: &Headers) -> u8 {
        match (headers.tag, self.pcp_classes, headers.ip) {
            (Some(tag), Some(classes), _) => classes[usize::from(tag.pcp & 7)] & 7,
            (_, _, Some(ip)) => self.classes[usize::from(ip.traffic_class >> 2)] & 7,
            (_, _, None) => 0,
        }
    }

    /// How long after a pause frames may still start.
    pub(crate) fn response(&self) -> Duration {
        self.pause_response
            .or_else(|| self.rate.map(longest_response))
            .unwrap_or(Duration::MAX)
    }
}
