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
    /// Ended here: no room in the MAC's FIFO, because the NIC did not take what came before.
    #[serde(default)]
    pub overflows: u64,
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

/// The receive MAC, store-and-forward. A frame's first beat is at the first clock edge that is not before its last bit, or right behind
/// the frame before; then one beat a cycle, without holes.
///
/// A NIC that takes every beat uses [`cycle`](Self::cycle). For a stream with `ready`, [`offer`](Self::offer) shows the beat and
/// [`take`](Self::take) moves on; a frame that does not fit the FIFO then is dropped and counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMac {
    clock: Clock,
    /// Bytes of a beat.
    width: usize,
    max_frame: ByteCount,
    /// Bytes of frames that wait at most, with that which is going out.
    fifo: ByteCount,
    /// Frames go out with their FCS.
    fcs: bool,
    /// Those whose last bit is not in at the edge of last time.
    coming: VecDeque<Frame>,
    frames: VecDeque<Frame>,
    /// Bytes of the frames that wait.
    waiting: u64,
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
            fifo: ByteCount::new(u64::MAX),
            fcs: false,
            coming: VecDeque::new(),
            frames: VecDeque::new(),
            waiting: 0,
            sent: 0,
            next: Cycles(0),
            counters: ReceiveCounters {
                frames: 0,
                bytes: 0,
                bad_fcs: 0,
                runts: 0,
                giants: 0,
                overflows: 0,
            },
        }
    }

    /// With a FIFO of so many bytes, for a stream that may wait.
    #[must_use]
    pub const fn with_fifo(mut self, fifo: ByteCount) -> Self {
        self.fifo = fifo;
        self
    }

    /// For a NIC that checks the FCS itself: frames come with it, broken ones too.
    #[must_use]
    pub const fn with_fcs(mut self) -> Self {
        self.fcs = true;
        self
    }

    /// A frame whose last bit comes in at its end. To be told before the edge that follows; in any order.
    pub fn arrive(&mut self, mut frame: Frame) {
        let handed_on = self.counters.admit(&frame, self.max_frame);
        if self.fcs {
            frame.bytes = super::fcs::append(&frame.bytes, frame.fcs_ok);
        } else if !handed_on {
            return;
        }
        let place = self.coming.partition_point(|other| other.end <= frame.end);
        self.coming.insert(place, frame);
    }

    /// Puts frames into the FIFO whose last bit is in at this edge.
    fn fill(&mut self, edge: Cycles) {
        while let Some(frame) = self.coming.front() {
            if self.clock.edge_from(frame.end) > edge {
                return;
            }
            let Some(frame) = self.coming.pop_front() else {
                return;
            };
            let bytes = frame.bytes.len() as u64;
            if self.waiting + bytes > self.fifo.get() {
                self.counters.overflows += 1;
            } else {
                self.waiting += bytes;
                self.frames.push_back(frame);
            }
        }
    }

    /// The edge of the next beat, if one is to come.
    pub fn next_beat(&self) -> Option<Cycles> {
        let first = self.frames.front().or(self.coming.front())?;
        let arrived = self.clock.edge_from(first.end);
        Some(arrived.max(self.next))
    }

    /// What the stream shows at a clock edge: a beat, or nothing valid. Edges go up; those before [`next_beat`](Self::next_beat) may be
    /// left out.
    pub fn offer(&mut self, edge: Cycles) -> Option<Beat> {
        self.fill(edge);
        if edge < self.next {
            return None;
        }
        let bytes = &self.frames.front()?.bytes;
        let end = bytes.len().min(self.sent + self.width);
        Some(Beat {
            data: bytes.slice(self.sent..end),
            last: end == bytes.len(),
        })
    }

    /// The beat that was offered at this edge is taken.
    pub fn take(&mut self, edge: Cycles, beat: &Beat) {
        self.next = Cycles(edge.0 + 1);
        self.sent += beat.data.len();
        if beat.last {
            self.waiting -= self.sent as u64;
            self.frames.pop_front();
            self.sent = 0;
        }
    }

    /// The stream at a clock edge of a NIC that takes every beat.
    pub fn cycle(&mut self, edge: Cycles) -> Option<Beat> {
        let beat = self.offer(edge)?;
        self.take(edge, &beat);
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
            overflows: 0,
        };
        assert_eq!(mac.counters(), expected);
    }

    #[test]
    fn what_a_waiting_nic_has_no_room_for_is_counted() {
        let mut mac = mac().with_fifo(ByteCount::new(200));
        for end in [1_000, 2_000, 3_000] {
            mac.arrive(frame(100, end));
        }
        assert_eq!((mac.counters().overflows, mac.counters().frames), (0, 3));
        // The same beat until it is taken; the frame's room is free after its last.
        let beat = mac.offer(Cycles(10)).unwrap();
        assert_eq!(mac.counters().overflows, 1);
        assert_eq!(mac.offer(Cycles(11)), Some(beat));
        for edge in (12..16).map(Cycles) {
            mac.cycle(edge).unwrap();
        }
        mac.arrive(frame(100, 90_000));
        assert!(mac.offer(Cycles(40)).is_some());
        assert_eq!(mac.counters().overflows, 1);
    }

    #[test]
    fn a_nic_that_checks_the_fcs_gets_it() {
        let mut mac = mac().with_fcs();
        let broken = Frame {
            fcs_ok: false,
            ..frame(64, 2_000)
        };
        mac.arrive(frame(64, 1_000));
        mac.arrive(broken);
        let mut frames = [vec![], vec![]];
        let mut edges = (100..).map(Cycles);
        for frame in &mut frames {
            while let Some(beat) = edges.next().and_then(|edge| mac.cycle(edge)) {
                frame.extend_from_slice(&beat.data);
                if beat.last {
                    break;
                }
            }
        }
        assert_eq!(frames.each_ref().map(Vec::len), [68, 68]);
        let checked = frames.map(|frame| super::super::fcs::strip(&mut frame.clone()));
        assert_eq!(checked, [true, false]);
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
