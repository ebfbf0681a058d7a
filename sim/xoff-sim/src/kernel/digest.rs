//! Digests: what happened, in 64 bits.

use std::fmt;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::Frame;

/// A hash (XXH3) over a sequence of frames with their times, and over sequences of digests. Two runs with the same digest did the same.
///
/// Each port has its own for each direction, and a network's digest goes over them in the order of node and port: so it does not matter which thread saw which frame when.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(u64);

impl Digest {
    /// One more frame.
    pub fn frame(&mut self, frame: &Frame) {
        self.bytes(&frame.bytes);
        let mut rest = [0; 17];
        rest[..8].copy_from_slice(&frame.start.as_ps().to_le_bytes());
        rest[8..16].copy_from_slice(&frame.end.as_ps().to_le_bytes());
        rest[16] = frame.fcs_ok.into();
        self.bytes(&rest);
    }

    /// One more part.
    pub fn part(&mut self, part: Self) {
        self.bytes(&part.0.to_le_bytes());
    }

    /// So many bytes more; as one piece, for where pieces end matters.
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
