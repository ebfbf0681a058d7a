//! Reception of frames: the MAC's checks, and when a frame has passed the parser.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{NEVER, latency};
use crate::kernel::Frame;
use crate::kernel::prefetch::{prefetch, prefetch_one};
use crate::mac::ReceiveCounters;
use crate::time::{ByteCount, Clock};
use crate::wire::EtherType;

/// Store-and-forward reception as in [`ReceiveMac`](crate::mac::ReceiveMac), but without individual beats.
///
/// A frame's first beat is at the first edge that is not before its last bit, or right after the previous frame. The
/// following beats come one a cycle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Inlet {
    clock: Clock,
    data_bytes: u64,
    max_frame: ByteCount,
    /// Earliest cycle of the next beat.
    next_beat: u64,
    /// Frames, each with the cycle in which it can be judged.
    frames: VecDeque<(u64, Bytes)>,
    counters: ReceiveCounters,
}

impl Inlet {
    pub(super) fn new(clock: Clock, data_bytes: usize, max_frame: ByteCount) -> Self {
        Self {
            clock,
            data_bytes: data_bytes as u64,
            max_frame,
            next_beat: 0,
            frames: VecDeque::new(),
            counters: ReceiveCounters::default(),
        }
    }

    /// Takes a frame whose last bit has arrived. Must be called in the order of time.
    pub(super) fn arrive(&mut self, frame: Frame) {
        if !self.counters.admit(&frame, self.max_frame) {
            return;
        }
        let first = self.clock.edge_from(frame.end).0.max(self.next_beat);
        self.next_beat = first + (frame.bytes.len() as u64).div_ceil(self.data_bytes);
        // Pause frames do not wait for the lookup of a QP.
        let control = frame.bytes[12..14] == EtherType::MAC_CONTROL.0.to_be_bytes();
        let after = latency::PARSE + if control { 0 } else { latency::CLASSIFY };
        self.frames
            .push_back((self.next_beat - 1 + after, frame.bytes));
    }

    /// Asks for the memory of the next frame: in step 0 for its entry, in step 1 for its headers.
    pub(super) fn prefetch(&self, step: u8) {
        if let Some(entry) = self.frames.front() {
            match step {
                0 => prefetch_one(entry),
                _ => prefetch(&entry.1),
            }
        }
    }

    /// The next frame, for [`prefetch`](Self::prefetch) of what it is about.
    pub(super) fn first(&self) -> Option<&Bytes> {
        self.frames.front().map(|(_, frame)| frame)
    }

    /// When the next frame can be judged.
    pub(super) fn next(&self) -> u64 {
        self.frames.front().map_or(NEVER, |(at, _)| *at)
    }

    /// The next frame that can be judged at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<Bytes> {
        (self.next() <= now)
            .then(|| self.frames.pop_front())?
            .map(|(_, frame)| frame)
    }

    pub(super) const fn counters(&self) -> ReceiveCounters {
        self.counters
    }
}
