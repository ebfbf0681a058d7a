//! Transmission of frames: when a selected frame starts, and when the next one may be selected.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::latency;
use crate::frame::{Frame, FrameBytes};
use crate::time::{Clock, Cycles, LineRate, Time};

/// The line, with picosecond resolution, and the selected frames whose last bit has not left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outlet {
    clock: Clock,
    rate: LineRate,
    data_bytes: u64,
    /// When the gap after the last frame ends.
    line_free: Time,
    /// Earliest cycle of the next selection.
    select_from: u64,
    leaving: VecDeque<Frame>,
}

impl Outlet {
    pub(super) const fn new(clock: Clock, rate: LineRate, data_bytes: usize) -> Self {
        Self {
            clock,
            rate,
            data_bytes: data_bytes as u64,
            line_free: Time::ZERO,
            select_from: 0,
            leaving: VecDeque::new(),
        }
    }

    /// The cycle in which the next frame may be selected.
    pub(super) const fn select_from(&self) -> u64 {
        self.select_from
    }

    /// Sends a frame selected at `now`. Its first beat is at the MAC `after` cycles later, and `payload` bytes have
    /// to be read for it.
    pub(super) fn send(&mut self, now: u64, after: u64, bytes: FrameBytes, payload: usize) {
        let at_mac = self.clock.edge(Cycles(now + after));
        let frame = Frame::sent(bytes, at_mac.max(self.line_free), self.rate);
        self.line_free = frame.line_free(self.rate);
        let free = self.clock.edge_from(self.line_free).0;
        let read = (payload as u64).div_ceil(self.data_bytes).max(1);
        self.select_from = free.saturating_sub(latency::SELECT_AHEAD).max(now + read);
        self.leaving.push_back(frame);
    }

    /// The start of the preamble of the first frame whose last bit has not left.
    pub(super) fn sending_since(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.start)
    }

    /// The first clock edge at which all of the last frame has left.
    pub(super) fn last_bit(&self) -> u64 {
        let last = self
            .leaving
            .back()
            .map_or(self.line_free, |frame| frame.end);
        self.clock.edge_from(last).0
    }

    /// When the last bit of the next frame leaves.
    pub(super) fn next_departure(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.end)
    }

    /// Takes the next frame whose last bit leaves before `until`.
    pub(super) fn depart(&mut self, until: Time) -> Option<Frame> {
        self.next_departure().filter(|end| *end < until)?;
        self.leaving.pop_front()
    }
}
