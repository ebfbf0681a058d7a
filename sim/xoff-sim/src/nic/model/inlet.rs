//! Where frames come in: the MAC's judgement, and when a frame has passed the parser.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{NEVER, latency};
use crate::kernel::Frame;
use crate::mac::ReceiveCounters;
use crate::time::{ByteCount, Clock};
use crate::wire::EtherType;

/// Store-and-forward as [`ReceiveMac`](crate::mac::ReceiveMac), without the beats: a frame's first beat is at the first edge not before its last bit or right behind the frame before, its last beat as many cycles
/// later as it has beats.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Inlet {
    clock: Clock,
    data_bytes: u64,
    max_frame: ByteCount,
    /// No beat before this cycle.
    next_beat: u64,
    /// When it can be judged, and the frame.
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

    /// A frame's last bit has come in. In the order of time.
    pub(super) fn arrive(&mut self, frame: Frame) {
        if !self.counters.admit(&frame, self.max_frame) {
            return;
        }
        let first = self.clock.edge_from(frame.end).0.max(self.next_beat);
        self.next_beat = first + (frame.bytes.len() as u64).div_ceil(self.data_bytes);
        // Pauses do not wait for whose frame it is.
        let control = frame.bytes[12..14] == EtherType::MAC_CONTROL.0.to_be_bytes();
        let after = latency::PARSE + if control { 0 } else { latency::CLASSIFY };
        self.frames
            .push_back((self.next_beat - 1 + after, frame.bytes));
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
