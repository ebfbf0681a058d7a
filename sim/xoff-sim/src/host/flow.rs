//! Flows: messages of one kind and length from one host's memory to another's, on a QP of its own.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::memory;
use crate::protocol::gbn::{Recv, Status, Work, WorkKind};
use crate::time::{Clock, Cycles, Duration, Time};

/// A flow's memory: 2^36 bytes from here on, times its number and one. Both hosts have it at the same address.
const WINDOW_BITS: u32 = 36;
/// Messages go round in this much of it.
const ROUND_BYTES: u64 = 1 << 33;

/// What a flow does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowConfig {
    /// Number in the whole network: fixes its memory. Below 2^20.
    pub number: u32,
    /// SEND or WRITE, with or without immediate data.
    pub kind: WorkKind,
    /// Bytes of a message, 1 to 2^31.
    pub message: u32,
    /// Messages in all; `None`: without end.
    pub count: Option<u64>,
    /// Messages posted and not completed at most, 1 to the ring's size.
    pub outstanding: u32,
    /// Nothing is posted before.
    pub start: Time,
    /// Message i is posted no earlier than so long after message i − 1 should have been; `None`: as soon as there is room.
    pub interval: Option<Duration>,
}

impl FlowConfig {
    /// Where its memory starts.
    pub const fn base(&self) -> u64 {
        (self.number as u64 + 1) << WINDOW_BITS
    }

    /// How long its memory is.
    pub const fn region_bytes(&self) -> u64 {
        1 << WINDOW_BITS
    }

    /// From message to message; never a multiple of the page sizes, so that all alignments come.
    const fn stride(&self) -> u64 {
        (self.message as u64 + 64) | 1
    }

    const fn slots(&self) -> u64 {
        let slots = ROUND_BYTES / self.stride();
        if slots < 2 { 2 } else { slots }
    }

    /// Where message `index` lies, at both ends.
    pub const fn address(&self, index: u64) -> u64 {
        self.base() + index % self.slots() * self.stride()
    }

    /// The number of the flow in whose memory an address is.
    pub const fn number_at(va: u64) -> Option<u32> {
        match va >> WINDOW_BITS {
            0 => None,
            n if n > u32::MAX as u64 => None,
            n => Some(n as u32 - 1),
        }
    }
}

/// A message that was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// When the application saw the completion.
    pub at: Time,
    /// From when it should have been posted to then.
    pub latency: Duration,
}

/// The end that sends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sender {
    /// What it does.
    pub config: FlowConfig,
    /// QP index at its NIC.
    pub qp: u16,
    /// Key of its memory here.
    pub local_key: u32,
    /// Key of its memory there.
    pub remote_key: u32,
    /// Its QP is connected: it may post.
    connected: bool,
    posted: u64,
    /// When each posted message that is not complete should have been posted.
    open: VecDeque<Time>,
    /// No post before: the completion that made room.
    unblocked: Cycles,
    delivered: Vec<Delivered>,
    failed: Option<Status>,
    flushed: u64,
}

impl Sender {
    /// A sender of nothing yet.
    pub fn new(config: FlowConfig, qp: u16, local_key: u32, remote_key: u32) -> Self {
        Self {
            config,
            qp,
            local_key,
            remote_key,
            connected: true,
            posted: 0,
            open: VecDeque::new(),
            unblocked: Cycles(0),
            delivered: Vec::new(),
            failed: None,
            flushed: 0,
        }
    }

    /// A sender whose QP is not connected: it posts nothing until [`Host::connect`](super::Host::connect).
    pub fn unconnected(config: FlowConfig, qp: u16) -> Self {
        Self {
            connected: false,
            ..Self::new(config, qp, 0, 0)
        }
    }

    /// The QP is connected at `at`: the flow starts now, if it was to start before.
    pub(super) fn connect(&mut self, at: Time, local_key: u32, remote_key: u32) {
        (self.local_key, self.remote_key) = (local_key, remote_key);
        self.config.start = self.config.start.max(at);
        self.connected = true;
    }

    fn due(&self) -> Time {
        let interval = self.config.interval.unwrap_or(Duration::ZERO);
        self.config.start.saturating_add(interval * self.posted)
    }

    /// When it posts next, as the application sees it. `None`: not before a completion.
    pub(super) fn next_post(&self, clock: &Clock) -> Option<Cycles> {
        let room = self.open.len() < self.config.outstanding as usize;
        let more = self.config.count.is_none_or(|count| self.posted < count);
        (self.connected && room && more && self.failed.is_none())
            .then(|| clock.edge_from(self.due()).max(self.unblocked))
    }

    /// The next work request; [`posted`](Self::posted) when the NIC has taken it.
    pub(super) fn work(&self) -> Work {
        let config = &self.config;
        let va = config.address(self.posted);
        let (remote_va, remote_key) = if config.kind.writes() {
            (va, self.remote_key)
        } else {
            (0, 0)
        };
        Work {
            kind: config.kind,
            signaled: true,
            length: config.message,
            local_va: va,
            local_key: self.local_key,
            remote_va,
            remote_key,
            imm: if config.kind.has_imm() {
                self.posted as u32
            } else {
                0
            },
            id: self.posted,
            ..Work::default()
        }
    }

    pub(super) fn posted(&mut self, at: Time) {
        let due = if self.config.interval.is_some() {
            self.due()
        } else {
            at
        };
        self.open.push_back(due);
        self.posted += 1;
    }

    /// A completion, seen at `at`. False when it is not the one that has to come.
    pub(super) fn completed(&mut self, id: u64, status: Status, at: (Cycles, Time)) -> bool {
        let Some(due) = self.open.pop_front() else {
            return false;
        };
        let expected = self.delivered.len() as u64 + self.flushed;
        if status == Status::Success && self.failed.is_none() {
            let latency = at.1.saturating_since(due);
            self.delivered.push(Delivered { at: at.1, latency });
        } else {
            self.failed.get_or_insert(status);
            self.flushed += 1;
        }
        self.unblocked = at.0;
        id == expected
    }

    /// Messages that are complete, in order.
    pub fn delivered(&self) -> &[Delivered] {
        &self.delivered
    }

    /// How the first message that failed ended.
    pub const fn failed(&self) -> Option<Status> {
        self.failed
    }

    /// Messages posted that have not come back.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether all messages there are have been completed, or the QP is gone.
    pub fn finished(&self) -> bool {
        let all = self
            .config
            .count
            .is_some_and(|count| self.delivered.len() as u64 == count);
        all || self.failed.is_some() && self.open.is_empty()
    }
}

/// The end that receives.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receiver {
    /// What the other end does.
    pub config: FlowConfig,
    /// QP index at its NIC.
    pub qp: u16,
    /// Key of its memory here.
    pub local_key: u32,
    /// Receive buffers that are kept posted.
    pub buffers: u32,
    /// Its QP is connected: it may post.
    connected: bool,
    posted: u64,
    /// Buffers that came back.
    completed: u64,
    /// No post before.
    unblocked: Cycles,
    /// Messages of which all bytes were written.
    whole: u64,
    /// Bytes of the next one, from its start.
    covered: u64,
    failed: Option<Status>,
    /// Bytes written for the first time.
    fresh: u64,
}

impl Receiver {
    /// A receiver of nothing yet that keeps so many buffers posted, when the flow needs some.
    pub fn new(config: FlowConfig, qp: u16, local_key: u32, buffers: u32) -> Self {
        Self {
            config,
            qp,
            local_key,
            buffers,
            connected: true,
            posted: 0,
            completed: 0,
            unblocked: Cycles(0),
            whole: 0,
            covered: 0,
            failed: None,
            fresh: 0,
        }
    }

    /// A receiver whose QP is not connected: it posts nothing until [`Host::connect`](super::Host::connect).
    pub fn unconnected(config: FlowConfig, qp: u16, buffers: u32) -> Self {
        Self {
            connected: false,
            ..Self::new(config, qp, 0, buffers)
        }
    }

    /// The QP is connected, with memory of this key, as seen in cycle `seen`.
    pub(super) const fn connect(&mut self, seen: Cycles, local_key: u32) {
        self.local_key = local_key;
        self.unblocked = seen;
        self.connected = true;
    }

    pub(super) fn next_post(&self) -> Option<Cycles> {
        let open = self.posted - self.completed;
        let more = self.config.count.is_none_or(|count| self.posted < count);
        (self.connected
            && self.config.kind.takes_buffer()
            && more
            && open < self.buffers.into()
            && self.failed.is_none())
        .then_some(self.unblocked)
    }

    pub(super) fn recv(&self) -> Recv {
        // A WRITE with immediate data takes a buffer and puts nothing in it.
        let length = if self.config.kind.writes() {
            0
        } else {
            self.config.message
        };
        Recv {
            length,
            local_va: self.config.address(self.posted),
            local_key: self.local_key,
            id: self.posted,
        }
    }

    pub(super) fn posted(&mut self) {
        self.posted += 1;
    }

    /// A buffer came back. False when it is not the one that has to come, or its message is not there.
    pub(super) fn completed(&mut self, id: u64, status: Status, length: u32, seen: Cycles) -> bool {
        let expected = self.completed;
        self.completed += 1;
        self.unblocked = seen;
        if status != Status::Success {
            self.failed.get_or_insert(status);
            return id == expected;
        }
        id == expected && length == self.config.message && self.whole == expected + 1
    }

    /// The NIC wrote here. Gives how many bytes are wrong, or do not belong here now.
    pub(super) fn written(&mut self, va: u64, bytes: &[u8]) -> u64 {
        let length = u64::from(self.config.message);
        let Some(offset) = va.checked_sub(self.config.address(self.whole)) else {
            return bytes.len() as u64;
        };
        let end = offset + bytes.len() as u64;
        // A message comes in order; go-back-0 may bring its beginning again.
        if offset > self.covered || end > length {
            return bytes.len() as u64;
        }
        self.fresh += end.saturating_sub(self.covered);
        self.covered = self.covered.max(end);
        if self.covered == length {
            self.whole += 1;
            self.covered = 0;
        }
        memory::differing(va, bytes)
    }

    /// Bytes that were written for the first time.
    pub const fn fresh_bytes(&self) -> u64 {
        self.fresh
    }

    /// Messages of which all bytes were written.
    pub const fn whole(&self) -> u64 {
        self.whole
    }

    /// How the first buffer that failed ended.
    pub const fn failed(&self) -> Option<Status> {
        self.failed
    }
}
