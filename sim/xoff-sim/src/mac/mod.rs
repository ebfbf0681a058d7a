//! MACs between a wire and an RTL NIC's streams: frames on one side, beats at clock edges on the other.
//!
//! | module | what is in it |
//! |---|---|
//! | [`transmit`] | [`TransmitMac`]: beats to frames, with the timing of every byte |
//! | [`receive`] | [`ReceiveMac`]: frames to beats, store-and-forward; drops runts, giants and frames with a bad FCS |
//! | [`control`] | [`MacControl`]: takes and sends pauses for a NIC that leaves them to its MAC |
//! | [`pause_sender`] | XOFF, XON and refresh, as frames to the peer; for switches too |
//! | [`pause_receiver`] | which classes the peer's pauses stop; for switches too |
//!
//! All report when something happens next, so that an idle NIC need not be evaluated. The delay of MAC and PHY
//! belongs to the link: [`Link::interface`](crate::link::Link::interface).

pub mod control;
mod fcs;
pub mod pause_receiver;
pub mod pause_sender;
pub mod receive;
pub mod transmit;

pub use control::{ControlConfig, ControlFrame, MacControl};
pub use pause_receiver::PauseReceiver;
pub use pause_sender::PauseSender;
pub use receive::{ReceiveCounters, ReceiveMac};
pub use transmit::{TransmitError, TransmitMac};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::wire::{EtherType, Ethernet};

/// The kind of pauses on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// Pauses for each priority (IEEE 802.1Q clause 36).
    Pfc,
    /// Pauses for all priorities at once (IEEE 802.3 annex 31B).
    Link,
    /// No pauses are sent, and those of the peer are ignored.
    Off,
}

/// Whether a frame is of MAC control (IEEE 802.3 clause 31): its EtherType, directly behind the addresses, says so.
pub fn is_control(frame: &[u8]) -> bool {
    let eth = Ethernet::new_checked(frame);
    eth.is_ok_and(|eth| eth.ether_type() == EtherType::MAC_CONTROL)
}

/// What a stream carries in one cycle: a piece of a frame, in network order. Every piece but the last is as wide as
/// the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// The bytes, 1 to 128.
    pub data: Bytes,
    /// Whether it ends the frame.
    pub last: bool,
}

#[cfg(test)]
mod tests;
