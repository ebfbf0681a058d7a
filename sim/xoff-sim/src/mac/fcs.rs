//! The frame check sequence, for NICs that generate and check it themselves: CRC-32, least significant byte first
//! (IEEE 802.3 §3.2.9).

use bytes::Bytes;

/// Bytes of an FCS.
const LENGTH: usize = 4;

/// A frame followed by its FCS; if `right` is false, by a wrong FCS.
pub(super) fn append(frame: &[u8], right: bool) -> Bytes {
    let fcs = crc32fast::hash(frame) ^ if right { 0 } else { u32::MAX };
    [frame, &fcs.to_le_bytes()].concat().into()
}

/// Removes the FCS from a frame. Returns whether it was correct; false for a frame that is shorter than an FCS.
pub(super) fn strip(frame: &mut Vec<u8>) -> bool {
    let Some(end) = frame.len().checked_sub(LENGTH) else {
        return false;
    };
    let right = crc32fast::hash(&frame[..end]).to_le_bytes() == frame[end..];
    frame.truncate(end);
    right
}
