//! The port of a host without an RDMA NIC: a MAC that checks what comes, and a line on which frames leave one behind
//! the other.

use std::collections::VecDeque;

use xoff_sim::frame::{Frame, FrameBytes};
use xoff_sim::kernel::{Departures, PortId};
use xoff_sim::mac::{ReceiveCounters, is_control};
use xoff_sim::nic::{NicCounters, PauseLog};
use xoff_sim::nic_registers as reg;
use xoff_sim::time::{ByteCount, LineRate, Time};

/// The port. It pauses for nobody and obeys no pause; those that come are counted.
#[derive(Debug)]
pub(crate) struct PlainPort {
    pub rate: LineRate,
    max_frame: ByteCount,
    pub counters: NicCounters,
    pub mac_counters: ReceiveCounters,
    /// Nobody stops it.
    pub pauses: PauseLog,
    /// Frames on their way to the line's end.
    leaving: VecDeque<Frame>,
    line_free: Time,
}

impl PlainPort {
    /// A port that takes frames of at most `max_frame` bytes, FCS included.
    pub fn new(rate: LineRate, max_frame: ByteCount) -> Self {
        Self {
            rate,
            max_frame,
            counters: NicCounters::default(),
            mac_counters: ReceiveCounters::default(),
            pauses: PauseLog::default(),
            leaving: VecDeque::new(),
            line_free: Time::ZERO,
        }
    }

    /// Takes a frame whose last bit has arrived. `None`: it goes no further than this.
    pub fn arrive(&mut self, frame: Frame) -> Option<Frame> {
        if !self.mac_counters.admit(&frame, self.max_frame) {
            return None;
        }
        self.counters.add(reg::FRAMES_IN, 1);
        self.counters.add(reg::BYTES_IN, frame.bytes.len() as u64);
        if is_control(frame.bytes.headers()) {
            self.counters.add(reg::PAUSE_IGNORED, 1);
            return None;
        }
        Some(frame)
    }

    /// Puts a frame on the line at `now`, or behind those before it.
    pub fn send(&mut self, bytes: FrameBytes, now: Time) {
        self.counters.add(reg::FRAMES_OUT, 1);
        self.counters.add(reg::BYTES_OUT, bytes.len() as u64);
        let frame = Frame::sent(bytes, now.max(self.line_free), self.rate);
        self.line_free = frame.line_free(self.rate);
        self.leaving.push_back(frame);
    }

    /// When the preamble of the frame on the line started.
    pub fn sending_since(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.start)
    }

    /// When the last bit of the next frame leaves.
    pub fn next_departure(&self) -> Option<Time> {
        self.leaving.front().map(|frame| frame.end)
    }

    /// Hands over the frames whose last bit leaves before `until`.
    pub fn depart(&mut self, until: Time, departures: &mut Departures) {
        while self.next_departure().is_some_and(|end| end < until) {
            if let Some(frame) = self.leaving.pop_front() {
                departures.push(PortId(0), frame);
            }
        }
    }
}
