//! Frames on wires.

mod bytes;

pub use bytes::FrameBytes;

use serde::{Deserialize, Serialize};

use crate::time::{LineRate, Time};

/// Preamble and start frame delimiter (IEEE 802.3 §3.1.1).
pub const PREAMBLE_BYTES: u64 = 8;
/// Frame check sequence (IEEE 802.3 §3.2.9).
pub const FCS_BYTES: u64 = 4;
/// Gap between frames: 96 bit times (IEEE 802.3 §4.4.2, interPacketGap).
pub const GAP_BYTES: u64 = 12;

/// A frame at one end of a link. It is passed on once its last bit has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The frame from the destination address to the end of data, without FCS.
    pub bytes: FrameBytes,
    /// Whether the FCS is correct. The FCS itself is not kept.
    pub fcs_ok: bool,
    /// When the first bit of the preamble passed; used only for captures.
    pub start: Time,
    /// When the last bit of the FCS passed.
    pub end: Time,
}

impl Frame {
    /// Creates a frame with a correct FCS whose preamble starts at `start`.
    pub fn sent(bytes: FrameBytes, start: Time, rate: LineRate) -> Self {
        let on_wire = PREAMBLE_BYTES + bytes.len() as u64 + FCS_BYTES;
        Self {
            bytes,
            fcs_ok: true,
            start,
            end: start + rate.time_of(on_wire),
        }
    }

    /// When the next frame may start after this one: the end of the gap.
    pub fn line_free(&self, rate: LineRate) -> Time {
        self.end + rate.time_of(GAP_BYTES)
    }

    /// Bytes that the frame takes up in a buffer, FCS included: the frame's size as IEEE 802.3 counts it.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64 + FCS_BYTES
    }

    /// Bytes of line time that the frame takes: preamble, frame, FCS and gap.
    pub fn wire_bytes(&self) -> u64 {
        wire_bytes(self.size())
    }
}

/// Bytes of line time that a frame of `size` bytes takes, where `size` includes the FCS.
pub const fn wire_bytes(size: u64) -> u64 {
    PREAMBLE_BYTES + size + GAP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_frame_at_40g() {
        // 1,086 bytes with FCS, 1,106 bytes of line time.
        let frame = Frame::sent(vec![0; 1082].into(), Time::ZERO, LineRate::G40);
        assert_eq!((frame.size(), frame.wire_bytes()), (1086, 1106));
        assert_eq!(frame.line_free(LineRate::G40), Time::from_ps(221_200));
    }
}
