//! Frames put on a wire from outside.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Frame;
use super::frame::GAP_BYTES;
use crate::time::{LineRate, Time};

/// What an injection has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InjectionCounters {
    /// Frames put on the wire.
    pub injected: u64,
    /// Of these, frames that waited until the wire was free.
    pub waited: u64,
    /// Frames of the port that came later because an injected frame was on the wire.
    pub delayed: u64,
}

/// A store-and-forward injector at the start of a wire, between the port that sends and the link's faults.
///
/// A frame is ready when its last bit would have passed, the port's frames and the injected ones alike, and frames go
/// out in the order in which they are ready; of two at the same instant the port's goes first. A frame that finds the
/// wire free goes out when it is ready, so without injected frames nothing changes. A frame that finds it taken goes
/// out behind the frame before it and the gap. The injector neither sees nor obeys pauses: what arrives faster than the
/// line carries waits in it, without a limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Injection {
    /// Sorted by `end`.
    frames: VecDeque<Frame>,
    /// When the wire is free again.
    free: Time,
    counters: InjectionCounters,
}

impl Injection {
    /// Adds frames; their `start` and `end` are those on a free wire.
    pub(super) fn add(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.frames.extend(frames);
        // Stable: of equals the one that was added first goes first.
        self.frames.make_contiguous().sort_by_key(|frame| frame.end);
    }

    /// When the next injected frame is ready.
    pub(super) fn next(&self) -> Option<Time> {
        self.frames.front().map(|frame| frame.end)
    }

    /// The next injected frame that is ready before `until`, with the times at which it passes.
    pub(super) fn take_before(&mut self, until: Time, rate: LineRate) -> Option<Frame> {
        self.next().filter(|ready| *ready < until)?;
        let frame = self.frames.pop_front()?;
        let ready = frame.end;
        let frame = self.on_wire(frame, rate);
        self.counters.injected += 1;
        self.counters.waited += u64::from(frame.end > ready);
        Some(frame)
    }

    /// A frame of the port, with the times at which it passes.
    pub(super) fn pass(&mut self, frame: Frame, rate: LineRate) -> Frame {
        if self.counters.injected == 0 {
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

    /// What it has done so far.
    pub const fn counters(&self) -> InjectionCounters {
        self.counters
    }

    /// Frames that wait for their time.
    pub fn waiting(&self) -> usize {
        self.frames.len()
    }
}
