//! Flows: messages from one host's memory to another's and back, each flow on a QP of its own.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::gate::Allowance;
use super::memory;
use super::payload::View;
use super::room::Room;
use super::shapes::{Shape, Shapes};
use super::working_set::WorkingSet;
use crate::protocol::gbn::{Recv, Status, Work, WorkKind};
use crate::time::{Clock, Cycles, Duration, Time};

/// A flow's memory region has 2^36 bytes. The region of flow n starts at (n + 1) · 2^36, at the same address in both
/// hosts.
const WINDOW_BITS: u32 = 36;
/// Messages are placed in this many bytes of the region, and then from its start again.
const ROUND_BYTES: u64 = 1 << 33;
/// Where in the region the word is that atomics change.
const WORD_OFFSET: u64 = 1 << 35;

/// Settings of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowConfig {
    /// The flow's number in the whole network, below 2^20. Determines the addresses of its memory.
    pub number: u32,
    /// What its messages are: SEND or WRITE, with or without immediate data; a READ or an atomic, whose data comes back
    /// to where it is posted.
    pub shapes: Shapes,
    /// Number of messages; `None` for a flow without end.
    pub count: Option<u64>,
    /// Most messages that are posted and not completed, 1 to the ring's size.
    pub outstanding: u32,
    /// Time before which nothing is posted.
    pub start: Time,
    /// Message i is posted no earlier than this time after message i − 1 was due. `None`: as soon as there is room.
    pub interval: Option<Duration>,
    /// The memory in which its messages lie. `None`: one behind the other through 8 GiB, at distances that have all
    /// alignments.
    pub working_set: Option<WorkingSet>,
}

impl FlowConfig {
    /// First address of the memory of the flow with a number.
    pub const fn base_of(number: u32) -> u64 {
        (number as u64 + 1) << WINDOW_BITS
    }

    /// First address of the flow's memory.
    pub const fn base(&self) -> u64 {
        Self::base_of(self.number)
    }

    /// Bytes of the memory of a flow without a working set.
    pub const WINDOW: u64 = 1 << WINDOW_BITS;

    /// Size of the flow's memory in bytes.
    pub const fn region_bytes(&self) -> u64 {
        match self.working_set {
            Some(working_set) => working_set.bytes,
            None => Self::WINDOW,
        }
    }

    /// Distance of consecutive messages. It is odd and thus no multiple of a page size, so that all alignments occur.
    fn stride(&self) -> u64 {
        (u64::from(self.shapes.longest()) + 64) | 1
    }

    /// Where the word is that all atomics of the flow change: behind all other messages.
    const fn word(&self) -> u64 {
        self.base() + WORD_OFFSET
    }

    /// What an atomic of the flow finds in its word at the other end: each adds 1, also those that compare and swap.
    fn original(&self, index: u64) -> u64 {
        let before = self.shapes.before(index, WorkKind::is_atomic);
        memory::number(self.word()).wrapping_add(before)
    }

    /// How many bytes of a payload, which was written for message `index`, are wrong at an address.
    fn differing(&self, index: u64, va: u64, payload: View<'_>) -> u64 {
        if !self.shape(index).0.is_atomic() {
            return payload.differing(va);
        }
        let skipped = va.saturating_sub(self.address(index)) as usize;
        let right = self.original(index).to_le_bytes();
        let bytes = payload.to_vec();
        let pairs = bytes.iter().zip(right.iter().skip(skipped));
        pairs.filter(|(found, right)| found != right).count() as u64
    }

    /// Whether data of any of its messages arrives at its other end.
    pub fn arrives(&self) -> bool {
        self.shapes.any(|kind| !kind.returns())
    }

    /// Whether data of any of its messages comes to the host that posts them: READs and atomics.
    pub fn returns(&self) -> bool {
        self.shapes.any(WorkKind::returns)
    }

    /// Kind and bytes of message `index`.
    pub fn shape(&self, index: u64) -> Shape {
        self.shapes.of(index)
    }

    /// Whether any of its messages takes a receive buffer.
    fn takes_buffers(&self) -> bool {
        self.shapes.any(WorkKind::takes_buffer)
    }

    /// The message that takes the receive buffer of this number.
    fn message_of(&self, buffer: u64) -> u64 {
        self.shapes.nth(buffer, WorkKind::takes_buffer)
    }

    fn slots(&self) -> u64 {
        let slots = ROUND_BYTES / self.stride();
        if slots < 2 { 2 } else { slots }
    }

    /// Address of message `index`, at both ends.
    pub fn address(&self, index: u64) -> u64 {
        self.base()
            + match self.working_set {
                Some(working_set) => working_set.offset(self.number, index, self.shapes.longest()),
                None => index % self.slots() * self.stride(),
            }
    }

    /// Number of the flow whose memory contains an address.
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
    /// Time from when the message was due to be posted until `at`.
    pub latency: Duration,
}

/// The sending end of a flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sender {
    /// The flow's settings.
    pub config: FlowConfig,
    /// QP index in the host's NIC.
    pub qp: u16,
    /// Key of the flow's memory in this host.
    pub local_key: u32,
    /// Key of the flow's memory in the receiving host.
    pub remote_key: u32,
    /// Whether the QP is connected, so that work may be posted.
    connected: bool,
    /// Whether the application posts nothing more for now.
    stopped: bool,
    posted: u64,
    /// For each message that is posted and not complete, when it was due to be posted.
    open: VecDeque<Time>,
    /// Cycle before which nothing is posted.
    unblocked: Cycles,
    room: Room,
    delivered: Vec<Delivered>,
    failed: Option<Status>,
    flushed: u64,
    /// What each gate of the sender has let through.
    allowances: Vec<(usize, Allowance)>,
}

impl Sender {
    /// Creates a sender that has not sent anything yet.
    pub fn new(config: FlowConfig, qp: u16, local_key: u32, remote_key: u32) -> Self {
        Self {
            config,
            qp,
            local_key,
            remote_key,
            connected: true,
            stopped: false,
            posted: 0,
            open: VecDeque::new(),
            unblocked: Cycles(0),
            room: Room::default(),
            delivered: Vec::new(),
            failed: None,
            flushed: 0,
            allowances: Vec::new(),
        }
    }

    /// Lets the sender post no more than so many messages as far as a gate goes, the new ones from cycle `from` on.
    pub(super) fn allow(&mut self, gate: usize, messages: u64, from: Cycles) {
        let known = self.allowances.iter().position(|(own, _)| *own == gate);
        let place = known.unwrap_or_else(|| {
            self.allowances.push((gate, Allowance::default()));
            self.allowances.len() - 1
        });
        self.allowances[place].1.add(messages, from);
    }

    /// From which cycle on the gates let the next message through. `None`: not yet.
    fn let_through(&self) -> Option<Cycles> {
        let mut gates = self.allowances.iter();
        gates.try_fold(Cycles(0), |from, (_, gate)| {
            Some(from.max(gate.from(self.posted)?))
        })
    }

    /// Creates a sender whose QP is not connected. It posts nothing until
    /// [`Host::connect_sender`](super::Host::connect_sender).
    pub fn unconnected(config: FlowConfig, qp: u16) -> Self {
        Self {
            connected: false,
            ..Self::new(config, qp, 0, 0)
        }
    }

    /// Notes that the QP is connected at `at`. A flow whose start has passed starts at `at`.
    pub(super) fn connect(&mut self, at: Time, local_key: u32, remote_key: u32) {
        (self.local_key, self.remote_key) = (local_key, remote_key);
        self.config.start = self.config.start.max(at);
        self.connected = true;
    }

    /// Stops posting at `at`, or goes on. Messages at intervals that would have been due in between are left out.
    pub(super) fn set_stopped(&mut self, clock: &Clock, at: Time, stopped: bool) {
        self.stopped = stopped;
        self.unblocked = self.unblocked.max(clock.edge_from(at));
        let late = at.saturating_since(self.due());
        if !stopped && self.config.interval.is_some() {
            self.config.start += late;
        }
    }

    fn due(&self) -> Time {
        let interval = self.config.interval.unwrap_or(Duration::ZERO);
        self.config.start.saturating_add(interval * self.posted)
    }

    /// When the application posts next. `None`: not before a completion.
    pub(super) fn next_post(&self, clock: &Clock) -> Option<Cycles> {
        let room = self.open.len() < self.config.outstanding as usize;
        let more = self.config.count.is_none_or(|count| self.posted < count);
        if !(self.connected && !self.stopped && room && more && self.failed.is_none()) {
            return None;
        }
        let gates = self.let_through()?;
        let due = clock.edge_from(self.due()).max(self.unblocked);
        let room = (self.room).from(self.open.len() as u64, self.config.outstanding);
        Some(due.max(room).max(gates))
    }

    /// The next work request. [`posted`](Self::posted) is called once the NIC has taken it.
    pub(super) fn work(&self) -> Work {
        let config = &self.config;
        let va = config.address(self.posted);
        let (kind, length) = config.shape(self.posted);
        let (remote_va, remote_key) = match kind {
            kind if kind.is_atomic() => (config.word(), self.remote_key),
            kind if kind.writes() || kind.returns() => (va, self.remote_key),
            _ => (0, 0),
        };
        let compare = match kind {
            WorkKind::CMP_SWAP => config.original(self.posted),
            _ => 0,
        };
        let swap_add = match kind {
            WorkKind::CMP_SWAP => compare.wrapping_add(1),
            WorkKind::FETCH_ADD => 1,
            _ => 0,
        };
        Work {
            kind,
            signaled: true,
            length,
            local_va: va,
            local_key: self.local_key,
            remote_va,
            remote_key,
            imm: if kind.has_imm() {
                self.posted as u32
            } else {
                0
            },
            swap_add,
            compare,
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
        (self.room).used(self.open.len() as u64, self.config.outstanding);
        self.posted += 1;
        for (_, gate) in &mut self.allowances {
            gate.posted(self.posted);
        }
    }

    /// Takes a completion, seen at `at`. Returns false when it is not the one expected.
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
        self.room.made(at.0);
        id == expected
    }

    /// A copy that has only the messages behind the first `known` ones.
    pub(super) fn tail(&self, known: usize) -> Self {
        Self {
            config: self.config.clone(),
            open: self.open.clone(),
            room: self.room.clone(),
            delivered: self.delivered[known..].to_vec(),
            allowances: self.allowances.clone(),
            ..*self
        }
    }

    /// Takes the state of `tail`, whose messages come behind those that are known here.
    pub(super) fn follow(&mut self, tail: Self) {
        let mut delivered = std::mem::take(&mut self.delivered);
        delivered.extend_from_slice(&tail.delivered);
        *self = Self { delivered, ..tail };
    }

    /// When a message was due to be posted, if it was posted; of those that failed it is not known.
    pub fn due_at(&self, message: u64) -> Option<Time> {
        let message = usize::try_from(message).ok()?;
        match self.delivered.get(message) {
            Some(delivered) => {
                let latency = delivered.latency.as_ps();
                Some(Time::from_ps(delivered.at.as_ps().saturating_sub(latency)))
            }
            None => self.open.get(message - self.delivered.len()).copied(),
        }
    }

    /// The messages that are complete, in order.
    pub fn delivered(&self) -> &[Delivered] {
        &self.delivered
    }

    /// The status of the first message that failed.
    pub const fn failed(&self) -> Option<Status> {
        self.failed
    }

    /// Number of messages that failed or were flushed.
    pub const fn unsuccessful(&self) -> u64 {
        self.flushed
    }

    /// Number of messages that are posted and not complete.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether all messages of the flow are complete, or its QP has failed and no posted message is left.
    pub fn finished(&self) -> bool {
        let all = self
            .config
            .count
            .is_some_and(|count| self.delivered.len() as u64 == count);
        all || self.failed.is_some() && self.open.is_empty()
    }
}

/// Where data of a flow arrives: at its other end, or what it reads at its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receiver {
    /// The flow's settings.
    pub config: FlowConfig,
    /// Whether it is the data of READs and atomics, at the end that posts them.
    returns: bool,
    /// QP index in the host's NIC.
    pub qp: u16,
    /// Key of the flow's memory in this host.
    pub local_key: u32,
    /// Number of receive buffers that are kept posted.
    pub buffers: u32,
    /// Whether the QP is connected, so that buffers may be posted.
    connected: bool,
    posted: u64,
    /// Number of buffers that were completed.
    completed: u64,
    /// Cycle before which nothing is posted.
    unblocked: Cycles,
    room: Room,
    /// Number of messages, of those whose data arrives here, that have been written completely.
    whole: u64,
    /// Bytes of the next one that have been written, from its start.
    covered: u64,
    failed: Option<Status>,
    /// Bytes written for the first time.
    fresh: u64,
    /// When the application saw each message, if that is kept.
    arrivals: Option<Vec<Time>>,
}

impl Receiver {
    /// Creates a receiver at the other end of a flow that has received nothing yet. It keeps `buffers` receive buffers
    /// posted if the flow needs any.
    pub fn new(config: FlowConfig, qp: u16, local_key: u32, buffers: u32) -> Self {
        Self {
            returns: false,
            config,
            qp,
            local_key,
            buffers,
            connected: true,
            posted: 0,
            completed: 0,
            unblocked: Cycles(0),
            room: Room::default(),
            whole: 0,
            covered: 0,
            failed: None,
            fresh: 0,
            arrivals: None,
        }
    }

    /// Keeps when the application saw each message.
    pub(super) fn keep_arrivals(&mut self) {
        self.arrivals.get_or_insert_default();
    }

    /// Number of messages that the application has seen: with a completion if they take a receive buffer, else in
    /// memory.
    pub(super) fn seen(&self) -> u64 {
        match self.takes_buffers() {
            true => self.completed,
            false => self.whole,
        }
    }

    fn takes_buffers(&self) -> bool {
        !self.returns && self.config.takes_buffers()
    }

    /// The message whose data arrives next.
    fn next(&self) -> u64 {
        let arrives = |kind: WorkKind| kind.returns() == self.returns;
        self.config.shapes.nth(self.whole, arrives)
    }

    /// Notes that the application has seen a message at `at`.
    pub(super) fn arrived(&mut self, at: Time) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.push(at);
        }
    }

    /// When the application saw each message, in order; empty unless
    /// [`Host::keep_arrivals`](super::Host::keep_arrivals) was called.
    pub fn arrivals(&self) -> &[Time] {
        self.arrivals.as_deref().unwrap_or_default()
    }

    /// A copy that has only the arrivals behind the first `known` ones.
    pub(super) fn tail(&self, known: usize) -> Self {
        Self {
            config: self.config.clone(),
            room: self.room.clone(),
            arrivals: (self.arrivals.as_ref()).map(|arrivals| arrivals[known..].to_vec()),
            ..*self
        }
    }

    /// Takes the state of `tail`, whose arrivals come behind those that are known here.
    pub(super) fn follow(&mut self, tail: Self) {
        let mut arrivals = self.arrivals.take();
        if let (Some(arrivals), Some(more)) = (&mut arrivals, &tail.arrivals) {
            arrivals.extend_from_slice(more);
        }
        *self = Self { arrivals, ..tail };
    }

    /// Creates a receiver whose QP is not connected. It posts nothing until
    /// [`Host::connect_receiver`](super::Host::connect_receiver).
    pub fn unconnected(config: FlowConfig, qp: u16, buffers: u32) -> Self {
        Self {
            connected: false,
            ..Self::new(config, qp, 0, buffers)
        }
    }

    /// The receiver of what a flow reads, at the end that posts its messages.
    #[must_use]
    pub fn returning(self) -> Self {
        Self {
            returns: true,
            ..self
        }
    }

    /// Notes that the QP is connected, with memory of this key, as seen in cycle `seen`.
    pub(super) const fn connect(&mut self, seen: Cycles, local_key: u32) {
        self.local_key = local_key;
        self.unblocked = seen;
        self.connected = true;
    }

    pub(super) fn next_post(&self) -> Option<Cycles> {
        if !(self.connected && self.takes_buffers() && self.failed.is_none()) {
            return None;
        }
        let open = self.posted - self.completed;
        let next = self.config.message_of(self.posted);
        let more = self.config.count.is_none_or(|count| next < count);
        (more && open < self.buffers.into())
            .then(|| self.unblocked.max(self.room.from(open, self.buffers)))
    }

    /// Whether the QP is connected and all buffers that are kept posted are.
    pub(super) fn has_posted(&self) -> bool {
        self.connected && self.next_post().is_none()
    }

    pub(super) fn recv(&self) -> Recv {
        let message = self.config.message_of(self.posted);
        // A WRITE with immediate data takes a buffer but puts nothing into it.
        let length = match self.config.shape(message) {
            (kind, _) if kind.writes() => 0,
            (_, bytes) => bytes,
        };
        Recv {
            length,
            local_va: self.config.address(message),
            local_key: self.local_key,
            id: self.posted,
        }
    }

    pub(super) fn posted(&mut self) {
        self.posted += 1;
        (self.room).used(self.posted - self.completed, self.buffers);
    }

    /// Takes the completion of a buffer. Returns false when it is not the one expected, or its message has not been
    /// written.
    pub(super) fn completed(&mut self, id: u64, status: Status, length: u32, seen: Cycles) -> bool {
        let expected = self.completed;
        self.completed += 1;
        self.room.made(seen);
        if status != Status::Success {
            self.failed.get_or_insert(status);
            return id == expected;
        }
        // All of the message is in memory. Later ones may be there too: writes and completions have paths of their own,
        // and no message has to wait until the one before has been reported.
        let message = self.config.message_of(expected);
        let right = self.config.shape(message).1;
        id == expected && length == right && self.next() > message
    }

    /// Whether the message that is being written is a WRITE.
    pub(super) fn is_written(&self) -> bool {
        self.config.shape(self.next()).0.writes()
    }

    /// Takes a write of the NIC. Returns how many bytes are wrong or not expected there at this point.
    pub(super) fn written(&mut self, va: u64, payload: View<'_>) -> u64 {
        let message = self.next();
        let length = u64::from(self.config.shape(message).1);
        let Some(offset) = va.checked_sub(self.config.address(message)) else {
            return payload.len() as u64;
        };
        let end = offset + payload.len() as u64;
        // A message arrives in order; go-back-0 may repeat its beginning.
        if offset > self.covered || end > length {
            return payload.len() as u64;
        }
        let differing = self.config.differing(message, va, payload);
        self.fresh += end.saturating_sub(self.covered);
        self.covered = self.covered.max(end);
        if self.covered == length {
            self.whole += 1;
            self.covered = 0;
        }
        differing
    }

    /// Number of bytes written for the first time.
    pub const fn fresh_bytes(&self) -> u64 {
        self.fresh
    }

    /// Number of messages that have been written completely.
    pub const fn whole(&self) -> u64 {
        self.whole
    }

    /// The status of the first buffer that failed.
    pub const fn failed(&self) -> Option<Status> {
        self.failed
    }
}
