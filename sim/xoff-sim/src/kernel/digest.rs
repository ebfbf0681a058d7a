//! Digests: everything that happened, hashed to 64 bits.

use std::fmt;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::frame::{Frame, FrameBytes};

/// The hash (XXH3) of a frame's bytes. A frame that leaves one port and arrives at another has it at both. Payload that
/// is not written counts as its place in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHash(u64);

impl FrameHash {
    pub(super) fn of(bytes: &FrameBytes) -> Self {
        // The headers say how long it is.
        let place = bytes.content().map_or(0, |content| content.va);
        Self(XxHash3_64::oneshot_with_seed(place, bytes.headers()))
    }
}

/// A hash (XXH3) over a sequence of frames with their times, or over a sequence of digests. Two runs with the same
/// digest did the same.
///
/// Each direction of each port has its own digest, and a network's digest combines them in the order of node and
/// port. The result therefore does not depend on which thread handled which frame when.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(u64);

impl Digest {
    /// Adds a frame.
    pub fn frame(&mut self, frame: &Frame) {
        self.hashed(FrameHash::of(&frame.bytes), frame);
    }

    /// Adds a frame whose bytes have this hash.
    pub(super) fn hashed(&mut self, FrameHash(bytes): FrameHash, frame: &Frame) {
        let mut all = [0; 25];
        all[..8].copy_from_slice(&bytes.to_le_bytes());
        all[8..16].copy_from_slice(&frame.start.as_ps().to_le_bytes());
        all[16..24].copy_from_slice(&frame.end.as_ps().to_le_bytes());
        all[24] = frame.fcs_ok.into();
        self.bytes(&all);
    }

    /// Adds the digest of a part.
    pub fn part(&mut self, part: Self) {
        self.bytes(&part.0.to_le_bytes());
    }

    /// Adds bytes. Their division into calls matters: the same bytes in other pieces give another digest.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::host::memory::Extent;
    use crate::time::{LineRate, Time};

    #[test]
    fn headers_place_of_payload_times_and_fcs_count() {
        let digest = |frame: &Frame| {
            let mut digest = Digest::default();
            digest.frame(frame);
            digest
        };
        let frame = |head: u8, va| {
            let headers = Bytes::from(vec![head; 54]);
            let bytes = FrameBytes::of(headers, Extent::new(va, 1024).unwrap());
            Frame::sent(bytes, Time::ZERO, LineRate::G40)
        };
        let late = Frame::sent(frame(1, 0).bytes, Time::from_ps(1), LineRate::G40);
        let broken = Frame {
            fcs_ok: false,
            ..frame(1, 0)
        };
        let all = [frame(1, 0), frame(2, 0), frame(1, 1024), late, broken];
        let distinct: std::collections::BTreeSet<_> = all.iter().map(|one| digest(one).0).collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(digest(&frame(1, 0)), digest(&frame(1, 0)));
    }
}
