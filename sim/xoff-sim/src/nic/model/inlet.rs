//! Reception of frames: the MAC's checks, and when a frame has passed the parser.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{NEVER, latency};
use crate::frame::{Frame, FrameBytes};
use crate::mac::{ReceiveCounters, is_control};
use crate::time::{ByteCount, Clock};

/// Store-and-forward reception as in [`ReceiveMac`](crate::mac::ReceiveMac), but without individual beats.
///
/// A frame's first beat is at the first edge that is not before its last bit, or right after the previous frame. The
/// following beats come one a cycle. Frames of MAC control do not wait for other frames, whose beats go on behind them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Inlet {
    clock: Clock,
    data_bytes: u64,
    max_frame: ByteCount,
    /// Earliest cycle of the next beat.
    next_beat: u64,
    /// The same for a frame of MAC control.
    next_control: u64,
    /// Frames in the order in which they can be judged, each with the cycle.
    frames: VecDeque<(u64, FrameBytes)>,
    counters: ReceiveCounters,
}

impl Inlet {
    pub(super) fn new(clock: Clock, data_bytes: usize, max_frame: ByteCount) -> Self {
        Self {
            clock,
            data_bytes: data_bytes as u64,
            max_frame,
            next_beat: 0,
            next_control: 0,
            frames: VecDeque::new(),
            counters: ReceiveCounters::default(),
        }
    }

    /// Takes a frame whose last bit has arrived. Must be called in the order of time.
    pub(super) fn arrive(&mut self, frame: Frame) {
        if !self.counters.admit(&frame, self.max_frame) {
            return;
        }
        let edge = self.clock.edge_from(frame.end).0;
        let beats = (frame.bytes.len() as u64).div_ceil(self.data_bytes);
        if is_control(frame.bytes.headers()) {
            self.arrive_control(edge, beats, frame.bytes);
        } else {
            self.next_beat = edge.max(self.next_beat).max(self.next_control) + beats;
            let judged = self.next_beat - 1 + latency::PARSE + latency::CLASSIFY;
            self.frames.push_back((judged, frame.bytes));
        }
    }

    /// Takes a frame of MAC control, and delays what is still to come of the frames before it.
    fn arrive_control(&mut self, edge: u64, beats: u64, frame: FrameBytes) {
        let first = edge.max(self.next_control);
        self.next_control = first + beats;
        if self.next_beat > first {
            self.next_beat += beats;
            let delayed = first + latency::PARSE + latency::CLASSIFY;
            for (judged, frame) in &mut self.frames {
                if *judged >= delayed && !is_control(frame.headers()) {
                    *judged += beats;
                }
            }
        }
        let judged = first + beats - 1 + latency::CONTROL;
        let place = self.frames.partition_point(|(at, _)| *at <= judged);
        self.frames.insert(place, (judged, frame));
    }

    /// When the next frame can be judged.
    pub(super) fn next(&self) -> u64 {
        self.frames.front().map_or(NEVER, |(at, _)| *at)
    }

    /// The next frame that can be judged at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<FrameBytes> {
        (self.next() <= now)
            .then(|| self.frames.pop_front())?
            .map(|(_, frame)| frame)
    }

    pub(super) const fn counters(&self) -> ReceiveCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mac::ReceiveMac;
    use crate::time::{Cycles, Duration, LineRate, Time};

    proptest! {
        /// Without beats the model has each frame when the MAC has given its last one.
        #[test]
        fn frames_end_with_the_last_beat_of_the_mac(
            frames in proptest::collection::vec((60usize..1518, prop::bool::ANY, 0u64..40_000), 1..60),
            phase in 0u64..5120,
        ) {
            let clock = Clock::new(Clock::PERIOD_40G, Duration::from_ps(phase));
            let max_frame = ByteCount::new(1522);
            let mut mac = ReceiveMac::new(clock, 32, max_frame).with_control_ahead();
            let mut inlet = Inlet::new(clock, 32, max_frame);
            let mut start = Time::ZERO;
            for (number, (size, control, pause)) in frames.into_iter().enumerate() {
                let mut bytes = vec![number as u8; if control { 60 } else { size }];
                if control {
                    bytes[12..14].copy_from_slice(&[0x88, 0x08]);
                }
                let frame = Frame::sent(bytes.into(), start, LineRate::G40);
                start = frame.line_free(LineRate::G40) + Duration::from_ps(pause);
                mac.arrive(frame.clone());
                inlet.arrive(frame);
            }
            for cycle in 0.. {
                let Some(beat) = mac.offer(Cycles(cycle)) else {
                    if mac.next_beat().is_none() {
                        break;
                    }
                    continue;
                };
                let control = mac.offers_control();
                mac.take(Cycles(cycle), &beat);
                if beat.last {
                    let stages = match control {
                        true => latency::CONTROL,
                        false => latency::PARSE + latency::CLASSIFY,
                    };
                    // Each frame is full of its number.
                    let number = beat.data.last();
                    let place = inlet.frames.iter().position(|(at, frame)| {
                        *at == cycle + stages
                            && is_control(frame.headers()) == control
                            && frame.headers().first() == number
                    });
                    prop_assert!(place.is_some(), "cycle {cycle}: {:?}", inlet.frames);
                    inlet.frames.remove(place.unwrap_or_default());
                }
            }
            prop_assert!(inlet.frames.is_empty());
        }
    }
}
