//! The transmit MAC: beats to frames.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Beat;
use crate::frame::{Frame, PREAMBLE_BYTES};
use crate::time::{Duration, LineRate, Time};
use crate::wire::MIN_FRAME_BYTES;

/// Errors of the NIC for which a MAC cannot compensate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TransmitError {
    /// `valid` fell inside a frame.
    #[error("valid fell at {at}, {bytes} bytes into a frame")]
    ValidFell {
        /// The clock edge.
        at: Time,
        /// Bytes of the frame that had come until then.
        bytes: usize,
    },
    /// A frame below the least length, from a NIC that is responsible for padding.
    #[error(
        "a frame of {bytes} bytes at {at}: {MIN_FRAME_BYTES} are the least, and padding is the NIC's"
    )]
    Runt {
        /// The clock edge.
        at: Time,
        /// Its length, without FCS.
        bytes: usize,
    },
    /// The wire needed a byte that had not come yet.
    #[error(
        "underrun at {needed}: the next beat came at {at}, {bytes} bytes into a frame; the clock is too slow for the line"
    )]
    Underrun {
        /// The clock edge.
        at: Time,
        /// When the byte was due.
        needed: Time,
        /// Bytes of the frame that had come until then.
        bytes: usize,
    },
}

/// The transmit MAC: takes beats, adds preamble, padding, FCS and gap, and releases each frame when its last bit has
/// left.
///
/// It holds at most `ahead` bytes for the wire: `ready` is low while the wire needs longer than the time of `ahead`
/// bytes, counted from the clock edge, for everything that was taken. Two beats are enough for a line without
/// avoidable gaps, as long as a cycle is shorter than a beat on the wire.
///
/// It adds padding and FCS unless [`without_padding`](Self::without_padding) and [`with_fcs`](Self::with_fcs) state
/// that the NIC does. It starts a frame with its first beat unless [`store_and_forward`](Self::store_and_forward) is
/// set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransmitMac {
    rate: LineRate,
    ahead: Duration,
    /// Whether a frame starts only when its last beat has come. Then `valid` may fall inside it, and beats may be
    /// slower than the line.
    stores: bool,
    /// Whether short frames are padded here.
    pads: bool,
    /// Whether frames come with their FCS.
    fcs: bool,
    /// The frame of which some beats have come but not the last, and the start of its preamble.
    open: Option<(Vec<u8>, Time)>,
    /// When the wire is done with everything that was taken, including the gap after a frame.
    done: Time,
    /// Complete frames that have not been released yet.
    leaving: VecDeque<Frame>,
}

impl TransmitMac {
    /// Creates a MAC for a line that holds at most `ahead_bytes` for the wire; two beats are the right amount.
    pub const fn new(rate: LineRate, ahead_bytes: u64) -> Self {
        Self {
            rate,
            ahead: rate.time_of(ahead_bytes),
            stores: false,
            pads: true,
            fcs: false,
            open: None,
            done: Time::ZERO,
            leaving: VecDeque::new(),
        }
    }

    /// Starts a frame only when all of it has come, for NICs whose `valid` may fall inside a frame.
    #[must_use]
    pub const fn store_and_forward(mut self) -> Self {
        self.stores = true;
        self
    }

    /// Leaves padding to the NIC: a frame below the least length is an error.
    #[must_use]
    pub const fn without_padding(mut self) -> Self {
        self.pads = false;
        self
    }

    /// Takes frames with their FCS. A wrong FCS is found by the next receiver.
    #[must_use]
    pub const fn with_fcs(mut self) -> Self {
        self.fcs = true;
        self
    }

    /// The stream's `ready` at a clock edge. It does not depend on inputs at this edge.
    pub fn ready(&self, edge: Time) -> bool {
        self.ready_from() <= edge
    }

    /// The time from which on `ready` is high if nothing more is taken.
    pub fn ready_from(&self) -> Time {
        let latest = self.done.saturating_since(Time::ZERO + self.ahead);
        Time::ZERO + latest
    }

    /// Whether a frame has begun and not ended. If so, the NIC has to be evaluated at each edge.
    pub const fn in_frame(&self) -> bool {
        self.open.is_some()
    }

    /// The start of the preamble of the first frame that has not been released.
    pub fn sending_since(&self) -> Option<Time> {
        // A frame that is stored first is not on the wire yet.
        let open = self.open.as_ref().filter(|_| !self.stores);
        let open = open.map(|(_, start)| *start);
        self.leaving.front().map(|frame| frame.start).or(open)
    }

    /// Performs a clock edge. `offered` is the beat that the stream shows, if `valid` is high. Returns whether it is
    /// taken, which is the case if `ready` is high.
    ///
    /// # Errors
    ///
    /// `valid` falls inside a frame, a frame is too short and padding is left to the NIC, or the wire has run dry.
    /// The frame is then lost.
    pub fn cycle(&mut self, edge: Time, offered: Option<&Beat>) -> Result<bool, TransmitError> {
        let Some(beat) = offered else {
            return match self.open.take() {
                None => Ok(false),
                Some(open) if self.stores => {
                    self.open = Some(open);
                    Ok(false)
                }
                Some((bytes, _)) => Err(TransmitError::ValidFell {
                    at: edge,
                    bytes: bytes.len(),
                }),
            };
        };
        if !self.ready(edge) {
            return Ok(false);
        }
        let (mut bytes, mut start) = match self.open.take() {
            None if self.stores => (Vec::new(), edge),
            Some(open) if self.stores => open,
            None => {
                let start = edge.max(self.done);
                self.done = start + self.rate.time_of(PREAMBLE_BYTES);
                (Vec::new(), start)
            }
            Some((bytes, _)) if self.done < edge => {
                return Err(TransmitError::Underrun {
                    at: edge,
                    needed: self.done,
                    bytes: bytes.len(),
                });
            }
            Some(open) => open,
        };
        bytes.extend_from_slice(&beat.data);
        if self.stores {
            start = edge.max(self.done);
        } else {
            self.done += self.rate.time_of(beat.data.len() as u64);
        }
        if beat.last {
            let fcs_ok = !self.fcs || super::fcs::strip(&mut bytes);
            if !self.pads && bytes.len() < MIN_FRAME_BYTES {
                let bytes = bytes.len();
                return Err(TransmitError::Runt { at: edge, bytes });
            }
            // The MAC pads (IEEE 802.3 §4.2.3.3).
            bytes.resize(bytes.len().max(MIN_FRAME_BYTES), 0);
            let bytes = BytesMut::from(&bytes[..]).freeze();
            self.leave(bytes, start, fcs_ok);
        } else {
            self.open = Some((bytes, start));
        }
        Ok(true)
    }

    fn leave(&mut self, bytes: Bytes, start: Time, fcs_ok: bool) {
        let frame = Frame {
            fcs_ok,
            ..Frame::sent(bytes.into(), start, self.rate)
        };
        self.done = frame.line_free(self.rate);
        self.leaving.push_back(frame);
    }

    /// Whether a frame that is whole already may go out at a clock edge, before what the NIC offers: `ready` is high,
    /// and no frame is on the wire of which beats are still to come.
    pub fn takes_whole(&self, edge: Time) -> bool {
        self.ready(edge) && (self.stores || self.open.is_none())
    }

    /// Sends a whole frame, without FCS, of [`MIN_FRAME_BYTES`] or more, as soon as the wire is free. For frames of the
    /// MAC itself, and for those that it completes.
    ///
    /// # Panics
    ///
    /// If a frame is on the wire of which beats are still to come; [`takes_whole`](Self::takes_whole) says so.
    pub fn send(&mut self, edge: Time, frame: Bytes) {
        assert!(self.stores || self.open.is_none(), "inside another frame");
        self.leave(frame, edge.max(self.done), true);
    }

    /// The last frame that was taken completely, as long as its last bit has not left.
    pub fn last_frame(&self) -> Option<&Frame> {
        self.leaving.back()
    }

    /// When the last bit of the next frame leaves.
    pub fn next_departure(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.end)
    }

    /// Releases the next frame whose last bit leaves before `until`.
    pub fn depart(&mut self, until: Time) -> Option<Frame> {
        self.next_departure().filter(|end| *end < until)?;
        self.leaving.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::time::{Clock, Cycles};

    fn beats(bytes: &Bytes, width: usize) -> Vec<Beat> {
        let pieces = bytes.len().div_ceil(width);
        (0..pieces)
            .map(|i| Beat {
                data: bytes.slice(i * width..bytes.len().min((i + 1) * width)),
                last: i + 1 == pieces,
            })
            .collect()
    }

    /// Sends frames as fast as the MAC takes them. Returns the frames that left, and when the first beat was taken.
    fn send(rate: LineRate, clock: Clock, width: usize, sizes: &[usize]) -> (Vec<Frame>, Time) {
        let mut mac = TransmitMac::new(rate, 2 * width as u64);
        let mut offered = sizes
            .iter()
            .flat_map(|size| beats(&Bytes::from(vec![*size as u8; *size]), width))
            .collect::<VecDeque<_>>();
        let mut cycle = Cycles(3);
        while !offered.is_empty() {
            if mac.cycle(clock.edge(cycle), offered.front()).unwrap() {
                offered.pop_front();
            }
            cycle.0 += 1;
        }
        let left = std::iter::from_fn(|| mac.depart(Time::MAX)).collect();
        (left, clock.edge(Cycles(3)))
    }

    const LINES: [(LineRate, Duration, usize); 2] = [
        (LineRate::G40, Clock::PERIOD_40G, 32),
        (LineRate::G100, Clock::PERIOD_100G, 64),
    ];

    #[test]
    fn every_length_runs_back_to_back() {
        for (rate, period, width) in LINES {
            for size in 60..=1600 {
                let clock = Clock::new(period, Duration::from_ps(1234));
                let (left, start) = send(rate, clock, width, &[size; 12]);
                assert_eq!(left[0].start, start);
                for pair in left.windows(2) {
                    assert_eq!(
                        pair[1].start,
                        pair[0].line_free(rate),
                        "{rate}, {size} bytes"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn mixed_lengths_too_and_no_byte_is_lost(
            sizes in proptest::collection::vec(1usize..2000, 1..40), phase in 0u64..5120, line in 0usize..2,
        ) {
            let (rate, period, width) = LINES[line];
            let (left, _) = send(rate, Clock::new(period, Duration::from_ps(phase)), width, &sizes);
            prop_assert_eq!(left.len(), sizes.len());
            for (frame, size) in left.iter().zip(&sizes) {
                let mut bytes = vec![*size as u8; *size];
                bytes.resize(bytes.len().max(60), 0);
                prop_assert_eq!(&frame.bytes.headers()[..], &bytes[..]);
            }
            // Holds for all frames: even padded frames come in fewer cycles than they take on the wire.
            for pair in left.windows(2) {
                prop_assert_eq!(pair[1].start, pair[0].line_free(rate));
            }
        }
    }

    #[test]
    fn ready_falls_for_what_the_wire_needs() {
        let mut mac = TransmitMac::new(LineRate::G40, 64);
        let beat = Beat {
            data: Bytes::from_static(&[0; 32]),
            last: false,
        };
        let at = |ps| Time::from_ps(ps);
        // Preamble and 32 bytes: the wire is done at 8,000 ps; 64 bytes take 12,800 ps.
        assert_eq!(mac.cycle(at(0), Some(&beat)), Ok(true));
        assert_eq!((mac.in_frame(), mac.ready_from()), (true, at(0)));
        assert_eq!(mac.cycle(at(5_120), Some(&beat)), Ok(true));
        assert_eq!(mac.cycle(at(5_120), Some(&beat)), Ok(true));
        // The wire is done at 20,800 ps.
        assert_eq!(mac.ready_from(), at(8_000));
        assert_eq!(mac.cycle(at(7_999), Some(&beat)), Ok(false));
        assert_eq!(mac.cycle(at(8_000), Some(&beat)), Ok(true));
    }

    #[test]
    fn a_dry_wire_and_a_fallen_valid_are_errors() {
        let beat = Beat {
            data: Bytes::from_static(&[0; 32]),
            last: false,
        };
        let mut mac = TransmitMac::new(LineRate::G40, 64);
        mac.cycle(Time::ZERO, Some(&beat)).unwrap();
        let late = mac.clone().cycle(Time::from_ps(8_001), Some(&beat));
        assert_eq!(
            late.unwrap_err().to_string(),
            "underrun at 8 ns: the next beat came at 8.001 ns, 32 bytes into a frame; the clock is too slow for the line"
        );
        assert_eq!(
            mac.cycle(Time::from_ps(5_120), None)
                .unwrap_err()
                .to_string(),
            "valid fell at 5.12 ns, 32 bytes into a frame"
        );
    }

    fn beat(bytes: &[u8], last: bool) -> Beat {
        let data = Bytes::copy_from_slice(bytes);
        Beat { data, last }
    }

    #[test]
    fn a_frame_with_holes_starts_when_it_is_whole() {
        let mut mac = TransmitMac::new(LineRate::G40, 64).store_and_forward();
        let at = Time::from_ps;
        assert_eq!(mac.cycle(at(0), Some(&beat(&[1; 32], false))), Ok(true));
        assert_eq!(mac.cycle(at(10_000), None), Ok(false));
        assert_eq!(mac.cycle(at(90_000), Some(&beat(&[2; 32], true))), Ok(true));
        let frame = mac.depart(Time::MAX).unwrap();
        assert_eq!((frame.bytes.len(), frame.start), (64, at(90_000)));
        // The next frame waits for the gap after this one.
        mac.cycle(at(95_000), Some(&beat(&[3; 32], false))).unwrap();
        mac.cycle(at(100_000), Some(&beat(&[3; 32], true))).unwrap();
        let next = mac.depart(Time::MAX).unwrap();
        assert_eq!(next.start, frame.line_free(LineRate::G40));
    }

    #[test]
    fn a_stored_frame_is_not_on_the_wire() {
        let mut mac = TransmitMac::new(LineRate::G40, 64).store_and_forward();
        let at = Time::from_ps;
        mac.cycle(at(0), Some(&beat(&[1; 32], false))).unwrap();
        assert_eq!(mac.sending_since(), None);
        mac.cycle(at(9_000), Some(&beat(&[1; 32], true))).unwrap();
        assert_eq!(mac.sending_since(), Some(at(9_000)));
    }

    #[test]
    fn a_whole_frame_goes_between_those_of_the_nic() {
        let at = Time::from_ps;
        let control = Bytes::from_static(&[9; 60]);
        // Cut-through: behind the frame on the wire, whose last byte leaves at 8 + 60 bytes of 200 ps; with FCS and
        // gap the line is free after 84 · 200 ps, and free again 84 bytes later.
        let mut mac = TransmitMac::new(LineRate::G40, 64);
        mac.cycle(at(0), Some(&beat(&[1; 32], false))).unwrap();
        assert!(mac.ready(at(5_120)) && !mac.takes_whole(at(5_120)));
        mac.cycle(at(5_120), Some(&beat(&[1; 28], true))).unwrap();
        assert!(mac.takes_whole(at(10_240)));
        mac.send(at(10_240), control.clone());
        assert!(!mac.ready(at(10_240)));
        let starts: Vec<Time> = std::iter::from_fn(|| mac.depart(Time::MAX))
            .map(|frame| frame.start)
            .collect();
        assert_eq!(starts, [at(0), at(84 * 200)]);
        // Store-and-forward: before the frame that is being stored.
        let mut mac = TransmitMac::new(LineRate::G40, 64).store_and_forward();
        mac.cycle(at(0), Some(&beat(&[1; 32], false))).unwrap();
        assert!(mac.takes_whole(at(5_120)));
        mac.send(at(5_120), control.clone());
        mac.cycle(at(9_120), Some(&beat(&[1; 32], true))).unwrap();
        let left: Vec<Frame> = std::iter::from_fn(|| mac.depart(Time::MAX)).collect();
        assert_eq!(left[0].bytes.headers(), &control);
        assert_eq!(left[0].start, at(5_120));
        assert_eq!(left[1].start, at(5_120 + 84 * 200));
    }

    #[test]
    fn padding_and_fcs_may_be_the_nics() {
        let mut mac = TransmitMac::new(LineRate::G40, 64).without_padding();
        let error = mac.cycle(Time::ZERO, Some(&beat(&[0; 32], true)));
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("a frame of 32 bytes")
        );
        let mac = TransmitMac::new(LineRate::G40, 64).with_fcs();
        for right in [true, false] {
            let mut mac = mac.clone();
            let bytes = super::super::fcs::append(&[7; 60], right);
            mac.cycle(Time::ZERO, Some(&beat(&bytes[..32], false)))
                .unwrap();
            let next = Time::from_ps(5_120);
            mac.cycle(next, Some(&beat(&bytes[32..], true))).unwrap();
            let frame = mac.depart(Time::MAX).unwrap();
            let plain = Frame::sent(vec![7; 60].into(), Time::ZERO, LineRate::G40);
            assert_eq!(
                frame,
                Frame {
                    fcs_ok: right,
                    ..plain
                }
            );
        }
    }

    #[test]
    fn a_frame_leaves_with_its_last_bit() {
        let mut mac = TransmitMac::new(LineRate::G40, 64);
        let beat = Beat {
            data: Bytes::from_static(&[0; 20]),
            last: true,
        };
        mac.cycle(Time::from_ps(1_000), Some(&beat)).unwrap();
        // Padded to 60 bytes: 72 bytes with preamble and FCS.
        let end = Time::from_ps(1_000 + 72 * 200);
        assert_eq!(mac.next_departure(), Some(end));
        assert_eq!(mac.depart(end), None);
        let frame = mac.depart(end + Duration::from_ps(1)).unwrap();
        assert_eq!((frame.bytes.len(), frame.end), (60, end));
        assert!(!mac.in_frame());
    }
}
