//! From frames to beats.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Beat;
use crate::kernel::Frame;
use crate::time::{ByteCount, Clock, Cycles};
use crate::wire::MIN_FRAME_BYTES;

/// What a receive MAC has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReceiveCounters {
    /// Whole frames, handed on.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// Ended here: FCS wrong. Judged before length.
    pub bad_fcs: u64,
    /// Ended here: shorter than 64 bytes.
    pub runts: u64,
    /// Ended here: longer than the MAC takes.
    pub giants: u64,
}

impl ReceiveCounters {
    /// Counts a frame, and says whether it is handed on: `max_frame`, FCS included, is the longest that is.
    pub fn admit(&mut self, frame: &Frame, max_frame: ByteCount) -> bool {
        if !frame.fcs_ok {
            self.bad_fcs += 1;
        } else if frame.bytes.len() < MIN_FRAME_BYTES {
            self.runts += 1;
        } else if frame.size() > max_frame.get() {
            self.giants += 1;
        } else {
            self.frames += 1;
            self.bytes += frame.size();
            return true;
        }
        false
    }
}

/// The receive MAC, store-and-forward: a frame's first beat is at the first clock edge that is not before its last bit, or right behind the frame before; one beat a cycle, without holes.
/// Nothing makes it wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMac {
    clock: Clock,
    /// Bytes of a beat.
    width: usize,
    max_frame: ByteCount,
    frames: VecDeque<Frame>,
    /// Bytes of the first frame that are out.
    sent: usize,
    /// No beat before this edge.
    next: Cycles,
    counters: ReceiveCounters,
}

impl ReceiveMac {
    /// A MAC for a stream of `width` bytes a beat that takes frames up to `max_frame`, FCS included.
    pub const fn new(clock: Clock, width: usize, max_frame: ByteCount) -> Self {
        Self {
            clock,
            width,
            max_frame,
            frames: VecDeque::new(),
            sent: 0,
            next: Cycles(0),
            counters: ReceiveCounters {
                frames: 0,
                bytes: 0,
                bad_fcs: 0,
                runts: 0,
                giants: 0,
            },
        }
    }

    /// A frame's last bit has come in. To be told in the order of time, and before the edge that follows.
    pub fn arrive(&mut self, frame: Frame) {
        if self.counters.admit(&frame, self.max_frame) {
            self.frames.push_back(frame);
        }
    }

    /// The edge of the next beat, if one is to come.
    pub fn next_beat(&self) -> Option<Cycles> {
        let arrived = self.clock.edge_from(self.frames.front()?.end);
        Some(arrived.max(self.next))
    }

    /// The stream at a clock edge: a beat, or nothing valid. Edges go up; those before [`next_beat`](Self::next_beat) may be left out.
    pub fn cycle(&mut self, edge: Cycles) -> Option<Beat> {
        self.next_beat().filter(|next| *next <= edge)?;
        let bytes = &self.frames.front()?.bytes;
        let end = bytes.len().min(self.sent + self.width);
        let beat = Beat {
            data: bytes.slice(self.sent..end),
            last: end == bytes.len(),
        };
        self.next = Cycles(edge.0 + 1);
        if beat.last {
            self.frames.pop_front();
            self.sent = 0;
        } else {
            self.sent = end;
        }
        Some(beat)
    }

    /// What it has seen.
    pub const fn counters(&self) -> ReceiveCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::time::{Duration, LineRate, Time};

    fn mac() -> ReceiveMac {
        let clock = Clock::new(Clock::PERIOD_40G, Duration::from_ps(120));
        ReceiveMac::new(clock, 32, ByteCount::new(1522))
    }

    fn frame(size: usize, end: u64) -> Frame {
        Frame {
            bytes: vec![7; size].into(),
            fcs_ok: true,
            start: Time::ZERO,
            end: Time::from_ps(end),
        }
    }

    #[test]
    fn beats_start_at_the_first_edge_not_before_the_last_bit() {
        let edge = 120 + 10 * 5120;
        for (end, cycle) in [(edge, 10), (edge + 1, 11), (edge - 1, 10)] {
            let mut mac = mac();
            mac.arrive(frame(70, end));
            assert_eq!(mac.next_beat(), Some(Cycles(cycle)));
            assert_eq!(mac.cycle(Cycles(cycle - 1)), None);
            let beats: Vec<Beat> = (0..3)
                .filter_map(|i| mac.cycle(Cycles(cycle + i)))
                .collect();
            let sizes: Vec<usize> = beats.iter().map(|beat| beat.data.len()).collect();
            assert_eq!(sizes, [32, 32, 6]);
            assert_eq!(beats.iter().position(|beat| beat.last), Some(2));
            assert_eq!(mac.next_beat(), None);
        }
    }

    #[test]
    fn the_broken_end_here() {
        let mut mac = mac();
        mac.arrive(frame(59, 1000));
        mac.arrive(frame(60, 2000));
        mac.arrive(frame(1518, 3000));
        mac.arrive(frame(1519, 4000));
        let bad = Frame {
            fcs_ok: false,
            ..frame(10, 5000)
        };
        mac.arrive(bad);
        let expected = ReceiveCounters {
            frames: 2,
            bytes: 64 + 1522,
            bad_fcs: 1,
            runts: 1,
            giants: 1,
        };
        assert_eq!(mac.counters(), expected);
    }

    proptest! {
        #[test]
        fn a_full_line_passes_and_waits_for_a_frame_at_most(sizes in proptest::collection::vec(60usize..1518, 1..60), phase in 0u64..5120) {
            let clock = Clock::new(Clock::PERIOD_40G, Duration::from_ps(phase));
            let mut mac = ReceiveMac::new(clock, 32, ByteCount::new(1522));
            let mut start = Time::ZERO;
            let mut free = Cycles(0);
            for (i, size) in sizes.iter().enumerate() {
                let bytes = Bytes::from(vec![i as u8; *size]);
                let frame = Frame::sent(bytes.clone(), start, LineRate::G40);
                start = frame.line_free(LineRate::G40);
                let arrives = clock.edge_from(frame.end);
                mac.arrive(frame);
                // Right behind the one before, which was longer perhaps: a frame waits for that one's beats, and no queue grows.
                let first = arrives.max(free);
                prop_assert!(first.0 - arrives.0 <= 48);
                prop_assert_eq!(mac.next_beat(), Some(first));
                let mut out = Vec::new();
                free = first;
                while let Some(beat) = mac.cycle(free) {
                    out.extend_from_slice(&beat.data);
                    free.0 += 1;
                }
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
