//! The wire out: when a selected frame starts, and when the next may be selected.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::latency;
use crate::kernel::Frame;
use crate::time::{Clock, Cycles, LineRate, Time};

/// The line, to the picosecond, and the frames that were selected and whose last bit has not left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outlet {
    clock: Clock,
    rate: LineRate,
    data_bytes: u64,
    /// When the gap behind the last frame is over.
    line_free: Time,
    /// Nothing is selected before this cycle.
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

    /// A frame is selected at `now`; its first beat is at the MAC `after` cycles later. `payload` bytes have to be read for it.
    pub(super) fn send(&mut self, now: u64, after: u64, bytes: Bytes, payload: usize) {
        let at_mac = self.clock.edge(Cycles(now + after));
        let frame = Frame::sent(bytes, at_mac.max(self.line_free), self.rate);
        self.line_free = frame.line_free(self.rate);
        let free = self.clock.edge_from(self.line_free).0;
        let read = (payload as u64).div_ceil(self.data_bytes).max(1);
        self.select_from = free.saturating_sub(latency::SELECT_AHEAD).max(now + read);
        self.leaving.push_back(frame);
    }

    /// When the preamble of the first frame starts whose last bit has not left.
    pub(super) fn sending_since(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.start)
    }

    /// The cycle in which all of the last frame has left.
    pub(super) fn last_bit(&self) -> u64 {
        let last = self
            .leaving
            .back()
            .map_or(self.line_free, |frame| frame.end);
        self.clock.edge_from(last).0
    }

    /// When the next frame's last bit leaves.
    pub(super) fn next_departure(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.end)
    }

    /// The next frame whose last bit leaves before `until`.
    pub(super) fn depart(&mut self, until: Time) -> Option<Frame> {
        self.next_departure().filter(|end| *end < until)?;
        self.leaving.pop_front()
    }
}
