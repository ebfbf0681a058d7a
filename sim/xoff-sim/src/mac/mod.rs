//! MACs between a wire and an RTL NIC's streams: frames on one side, beats at clock edges on the other.
//!
//! | module | what is in it |
//! |---|---|
//! | [`transmit`] | [`TransmitMac`]: beats to frames, paced to the byte |
//! | [`receive`] | [`ReceiveMac`]: frames to beats, store-and-forward; runts, giants and bad FCS end there |
//!
//! Both say when something happens next, so that an idle NIC need not be evaluated. The delay of MAC and PHY is the link's: [`Link::interface`](crate::link::Link::interface).

mod fcs;
pub mod receive;
pub mod transmit;

pub use receive::{ReceiveCounters, ReceiveMac};
pub use transmit::{TransmitError, TransmitMac};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What a stream carries in one cycle: a piece of a frame, in network order. Every piece but the last is as wide as the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// 1 to 128 bytes.
    pub data: Bytes,
    /// The frame ends with it.
    pub last: bool,
}

#[cfg(test)]
mod tests;
