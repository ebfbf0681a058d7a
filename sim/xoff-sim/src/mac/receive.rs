//! The receive MAC: frames to beats.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Beat, is_control};
use crate::frame::Frame;
use crate::time::{ByteCount, Clock, Cycles};
use crate::wire::MIN_FRAME_BYTES;

/// Counters of a receive MAC.
///
/// Each frame counts in exactly one of `frames`, `bad_fcs`, `runts` and `giants`. A frame that does not fit in the
/// FIFO counts in `overflows` as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReceiveCounters {
    /// Intact frames of a valid length.
    pub frames: u64,
    /// Bytes of these frames, FCS included.
    pub bytes: u64,
    /// Frames with a wrong FCS, whatever their length. Dropped, unless the NIC checks the FCS itself.
    pub bad_fcs: u64,
    /// Frames shorter than 64 bytes. Dropped, unless the NIC checks the FCS itself.
    pub runts: u64,
    /// Frames longer than the MAC accepts. Dropped, unless the NIC checks the FCS itself.
    pub giants: u64,
    /// Frames dropped because they did not fit in the MAC's FIFO, since the NIC had not taken earlier ones.
    #[serde(default)]
    pub overflows: u64,
}

impl ReceiveCounters {
    /// Counts a frame. Returns whether it is intact and of a valid length; `max_frame`, FCS included, is the longest
    /// allowed.
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

/// The receive MAC, store-and-forward.
///
/// A frame's first beat is at the first clock edge that is not before its last bit, or right after the previous
/// frame. From then on there is one beat a cycle, without gaps.
///
/// With [`with_control_ahead`](Self::with_control_ahead), frames of MAC control wait for no other frame: their beats
/// come between those of the frame that is on its way, which go on behind them.
///
/// A NIC that takes every beat uses [`cycle`](Self::cycle). For a stream with `ready`, [`offer`](Self::offer) returns
/// the beat and [`take`](Self::take) advances to the next one; a frame that does not fit in the FIFO is then dropped
/// and counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMac {
    clock: Clock,
    /// Bytes of a beat.
    width: usize,
    max_frame: ByteCount,
    /// Most bytes of waiting frames, including the frame that is going out.
    fifo: ByteCount,
    /// Whether frames go out with their FCS.
    fcs: bool,
    /// Whether frames of MAC control go out ahead of others.
    control_ahead: bool,
    /// Frames whose last bit had not arrived at the last edge.
    coming: VecDeque<Frame>,
    frames: VecDeque<Frame>,
    /// Frames of MAC control that go out ahead of `frames`.
    control: VecDeque<Frame>,
    /// Bytes of the waiting frames.
    waiting: u64,
    /// Bytes that have gone out: of the first of `frames`, and of the first of `control`.
    sent: [usize; 2],
    /// The earliest edge for the next beat.
    next: Cycles,
    counters: ReceiveCounters,
}

impl ReceiveMac {
    /// Creates a MAC for a stream of `width` bytes a beat that accepts frames up to `max_frame`, FCS included.
    pub const fn new(clock: Clock, width: usize, max_frame: ByteCount) -> Self {
        Self {
            clock,
            width,
            max_frame,
            fifo: ByteCount::new(u64::MAX),
            fcs: false,
            control_ahead: false,
            coming: VecDeque::new(),
            frames: VecDeque::new(),
            control: VecDeque::new(),
            waiting: 0,
            sent: [0; 2],
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

    /// Sets the size of the FIFO, for a stream with `ready`.
    #[must_use]
    pub const fn with_fifo(mut self, fifo: ByteCount) -> Self {
        self.fifo = fifo;
        self
    }

    /// Keeps the FCS, for a NIC that checks it itself: frames are handed on with it, even broken ones.
    #[must_use]
    pub const fn with_fcs(mut self) -> Self {
        self.fcs = true;
        self
    }

    /// Hands frames of MAC control on ahead of all others, for a NIC that tells their beats apart by
    /// [`offers_control`](Self::offers_control).
    #[must_use]
    pub const fn with_control_ahead(mut self) -> Self {
        self.control_ahead = true;
        self
    }

    /// Takes a frame whose last bit arrives at its `end`. Must be called before the edge that follows; the order of
    /// calls does not matter.
    pub fn arrive(&mut self, mut frame: Frame) {
        let handed_on = self.admit(&frame);
        if self.fcs {
            frame.bytes = super::fcs::append(&frame.bytes.whole(), frame.fcs_ok).into();
        } else if !handed_on {
            return;
        }
        self.hand_on(frame);
    }

    /// Counts a frame that does not go to the NIC, or not as it is. Returns whether it is intact and of a valid
    /// length.
    pub fn admit(&mut self, frame: &Frame) -> bool {
        self.counters.admit(frame, self.max_frame)
    }

    /// Takes a frame that [`admit`](Self::admit) has counted, in the form in which the NIC gets it. Otherwise as
    /// [`arrive`](Self::arrive).
    pub fn hand_on(&mut self, mut frame: Frame) {
        frame.bytes = frame.bytes.whole().into();
        let place = self.coming.partition_point(|other| other.end <= frame.end);
        self.coming.insert(place, frame);
    }

    /// Puts the frames whose last bit has arrived at this edge into the FIFO.
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
                match self.control_ahead && is_control(frame.bytes.headers()) {
                    true => self.control.push_back(frame),
                    false => self.frames.push_back(frame),
                }
            }
        }
    }

    /// The edge of the next beat, if there is one to come.
    pub fn next_beat(&self) -> Option<Cycles> {
        let waiting = self.control.front().or(self.frames.front());
        let first = waiting.or(self.coming.front())?;
        let arrived = self.clock.edge_from(first.end);
        Some(arrived.max(self.next))
    }

    /// What the stream shows at a clock edge: a beat, or `None` if `valid` is low. Edges must not decrease; those
    /// before [`next_beat`](Self::next_beat) may be skipped.
    pub fn offer(&mut self, edge: Cycles) -> Option<Beat> {
        self.fill(edge);
        if edge < self.next {
            return None;
        }
        let control = self.offers_control();
        let from = if control { &self.control } else { &self.frames };
        // Frames are whole here.
        let bytes = from.front()?.bytes.headers();
        let sent = self.sent[usize::from(control)];
        let end = bytes.len().min(sent + self.width);
        Some(Beat {
            data: bytes.slice(sent..end),
            last: end == bytes.len(),
        })
    }

    /// Whether the beat that is offered is one of a frame of MAC control that goes ahead of others.
    pub fn offers_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Notes that the beat offered at this edge is taken.
    pub fn take(&mut self, edge: Cycles, beat: &Beat) {
        self.next = Cycles(edge.0 + 1);
        let (from, sent) = match self.offers_control() {
            true => (&mut self.control, &mut self.sent[1]),
            false => (&mut self.frames, &mut self.sent[0]),
        };
        *sent += beat.data.len();
        if beat.last {
            self.waiting -= std::mem::take(sent) as u64;
            from.pop_front();
        }
    }

    /// The beat at a clock edge, for a NIC that takes every beat.
    pub fn cycle(&mut self, edge: Cycles) -> Option<Beat> {
        let beat = self.offer(edge)?;
        self.take(edge, &beat);
        Some(beat)
    }

    /// The counters.
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
        // The same beat is offered until it is taken; a frame's room is free after its last beat.
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
    fn control_goes_between_the_beats_of_a_frame() {
        let mut mac = mac().with_control_ahead();
        let pause = |end: u64| Frame {
            bytes: [&[1; 12][..], &[0x88, 0x08], &[9; 46]].concat().into(),
            ..frame(60, end)
        };
        let edge = |cycle: u64| 120 + cycle * 5120;
        // The long frame has its beats from cycle 10 on, the two pauses come in its cycles 12 and 13.
        mac.arrive(frame(200, edge(10)));
        mac.arrive(pause(edge(12)));
        mac.arrive(pause(edge(13)));
        let mut beats = vec![];
        for cycle in (10..22).map(Cycles) {
            let offered = mac.offer(cycle);
            beats.extend(offered.map(|beat| {
                let control = mac.offers_control();
                mac.take(cycle, &beat);
                (cycle.0, control, beat.data.len(), beat.last)
            }));
        }
        let long = |cycle| (cycle, false, 32, false);
        let [first, last] = [|at| (at, true, 32, false), |at| (at, true, 28, true)];
        let order = [
            [long(10), long(11)],
            [first(12), last(13)],
            [first(14), last(15)],
            [long(16), long(17)],
            [long(18), long(19)],
        ];
        assert_eq!(beats[..10], order.concat());
        assert_eq!(beats[10..], [(20, false, 8, true)]);
        assert_eq!((mac.waiting, mac.next_beat()), (0, None));
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
                let frame = Frame::sent(bytes.clone().into(), start, LineRate::G40);
                start = frame.line_free(LineRate::G40);
                let arrives = clock.edge_from(frame.end);
                mac.arrive(frame);
                // A frame may have to wait for the beats of a longer previous frame, but no queue builds up.
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
