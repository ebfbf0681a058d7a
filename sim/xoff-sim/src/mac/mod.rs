//! MACs between a wire and an RTL NIC's streams: frames on one side, beats at clock edges on the other.
//!
//! | module | what is in it |
//! |---|---|
//! | [`transmit`] | [`TransmitMac`]: beats to frames, with the timing of every byte |
//! | [`receive`] | [`ReceiveMac`]: frames to beats, store-and-forward; drops runts, giants and frames with a bad FCS |
//!
//! Both report when something happens next, so that an idle NIC need not be evaluated. The delay of MAC and PHY
//! belongs to the link: [`Link::interface`](crate::link::Link::interface).

mod fcs;
pub mod receive;
pub mod transmit;

pub use receive::{ReceiveCounters, ReceiveMac};
pub use transmit::{TransmitError, TransmitMac};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

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
