//! Frames injected into a wire from outside.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::frame::{Frame, GAP_BYTES};
use crate::time::{LineRate, Time};

/// Whose frames are injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    /// Somebody on the wire: the port does not count them.
    Wire,
    /// The port at which the wire starts, which counts and shows them as its own.
    Port,
}

/// What an injection has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InjectionCounters {
    /// Number of frames put on the wire, without those of the port.
    pub injected: u64,
    /// Number of frames put on the wire that are the port's own.
    pub of_port: u64,
    /// How many of both had to wait until the wire was free.
    pub waited: u64,
    /// Number of frames of the port that were delayed because an injected frame was on the wire.
    pub delayed: u64,
}

/// A store-and-forward injector at the start of a wire, between the sending port and the link's faults.
///
/// A frame, whether injected or from the port, is ready at the instant at which its last bit would have passed.
/// Frames are sent in the order in which they are ready; of two that are ready at the same instant, the port's goes
/// first. A frame that finds the wire free passes at its own time, so without injected frames nothing changes. A
/// frame that finds the wire taken follows the previous frame and its gap. The injector neither sees nor obeys
/// pauses: frames that arrive faster than the line carries them wait in it, without a limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Injection {
    /// Sorted by `end`.
    frames: VecDeque<(Frame, Origin)>,
    /// When the wire becomes free.
    free: Time,
    counters: InjectionCounters,
}

impl Injection {
    /// Adds frames. Their `start` and `end` are those on a free wire.
    pub(super) fn add(&mut self, origin: Origin, frames: impl IntoIterator<Item = Frame>) {
        let frames = frames.into_iter().map(|frame| (frame, origin));
        self.frames.extend(frames);
        // The sort is stable: of frames with equal times, the one added first goes first.
        let all = self.frames.make_contiguous();
        all.sort_by_key(|(frame, _)| frame.end);
    }

    /// When the next injected frame is ready.
    pub(super) fn next(&self) -> Option<Time> {
        self.frames.front().map(|(frame, _)| frame.end)
    }

    /// Takes the next injected frame that is ready before `until`, with the times at which it actually passes.
    pub(super) fn take_before(&mut self, until: Time, rate: LineRate) -> Option<(Frame, Origin)> {
        self.next().filter(|ready| *ready < until)?;
        let (frame, origin) = self.frames.pop_front()?;
        let ready = frame.end;
        let frame = self.on_wire(frame, rate);
        match origin {
            Origin::Wire => self.counters.injected += 1,
            Origin::Port => self.counters.of_port += 1,
        }
        self.counters.waited += u64::from(frame.end > ready);
        Some((frame, origin))
    }

    /// Takes a frame of the port and returns it with the times at which it actually passes.
    pub(super) fn pass(&mut self, frame: Frame, rate: LineRate) -> Frame {
        if self.counters.injected + self.counters.of_port == 0 {
            self.free = frame.line_free(rate);
            return frame;
        }
        let ready = frame.end;
        let frame = self.on_wire(frame, rate);
        self.counters.delayed += u64::from(frame.end > ready);
        frame
    }

    fn on_wire(&mut self, mut frame: Frame, rate: LineRate) -> Frame {
        let late = self.free.saturating_since(frame.start);
        frame.start += late;
        frame.end += late;
        self.free = frame.end + rate.time_of(GAP_BYTES);
        frame
    }

    /// Takes what an injection into this wire has done in another part of the network.
    pub(super) const fn see(&mut self, counters: InjectionCounters) {
        self.counters = counters;
    }

    /// What the injection has done so far.
    pub const fn counters(&self) -> InjectionCounters {
        self.counters
    }

    /// Number of frames that have not been put on the wire yet.
    pub fn waiting(&self) -> usize {
        self.frames.len()
    }
}
