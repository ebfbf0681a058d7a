//! Hosts: memory, the bus to the NIC, and applications that send messages and check what they receive.
//!
//! | module | what is in it |
//! |---|---|
//! | [`memory`] | memory content as a function of the address |
//! | [`pcie`] | [`Pcie`]: latency and bandwidth between NIC and host |
//! | [`flow`] | [`FlowConfig`], [`Sender`], [`Receiver`]: messages from one host's memory to another's |
//! | [`gate`] | [`GateConfig`]: messages that wait until the host has seen others |
//! | [`schedule`] | [`ScheduleConfig`]: operations that require each other |
//! | [`working_set`] | [`WorkingSet`]: in which memory the messages of a flow lie, and in which order |
//! | [`shapes`] | [`Shapes`]: what the messages of a flow are |
//! | `room` | room for messages and receive buffers, which completions make |
//! | [`shown`] | [`HostKnown`]: what a host shows of itself to other parts of the network |
//! | [`stalls`] | [`Stalls`]: cycles in which the host does not serve the NIC |
//!
//! [`Host`] combines them behind a NIC's pins, in cycles of the NIC's clock. An RTL NIC calls it beat by beat
//! ([`Host::data`], [`Host::write_beat`]), which also checks what the NIC asks for. A model NIC calls it packet by
//! packet ([`Host::read_whole`], [`Host::write`]).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use self::memory::Extent;
use self::payload::{Payload, View};
use crate::kernel::Digest;
use crate::nic::Region;
use crate::protocol::gbn::responder::answered::{ATOMIC_BYTES, AtomicKind};
use crate::protocol::gbn::{Completion, Recv, Status, Work};
use crate::seeded::Seed;
use crate::time::{Clock, Cycles, Duration, Time};

pub mod flow;
pub mod gate;
mod manual;
pub mod memory;
mod overlay;
pub mod payload;
pub mod pcie;
mod room;
pub mod schedule;
pub mod shapes;
pub mod shown;
pub mod stalls;
#[cfg(test)]
mod tests;
pub mod working_set;

pub use flow::{Delivered, FlowConfig, Receiver, Sender};
pub use gate::{End, GateConfig};
pub use manual::Written;
pub use pcie::{Pcie, PcieConfig};
pub use schedule::{Progress, ScheduleConfig};
pub use shapes::{Shape, Shapes};
pub use shown::HostKnown;
pub use stalls::{Stalled, Stalls};
pub use working_set::{Order, WorkingSet};

use gate::Gates;
use manual::Manual;
use overlay::Overlay;
use schedule::Schedules;

/// Errors that the applications of a host have found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostErrors {
    /// Bytes written that differ from what belongs there, or that were written where nothing belongs.
    pub payload_bytes: u64,
    /// Completions that were not expected, were out of order, or came before their message.
    pub completions: u64,
    /// QPs that ended in error.
    pub failed_qps: u64,
}

/// A beat of the data of a DMA read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataBeat {
    /// Tag of the read.
    pub tag: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether it is the read's last beat.
    pub last: bool,
    /// With the last beat: the memory could not be read, and the bytes of all beats mean nothing.
    pub error: bool,
}

/// A DMA read request. Its data is returned with its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest {
    /// Tag that distinguishes the reads in progress.
    pub tag: u8,
    /// Address of the first byte.
    pub va: u64,
    /// Key of the memory; `None` if the NIC's pins carry no key.
    pub key: Option<u32>,
    /// Number of bytes, 1 to [`READ_BYTES_MAX`].
    pub bytes: usize,
}

/// An atomic for the host to perform, as a PCIe AtomicOp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicRequest {
    /// Address of its eight bytes.
    pub va: u64,
    /// Key of the memory.
    pub key: u32,
    /// What it does.
    pub kind: AtomicKind,
}

/// A beat of a DMA write. A write has the payload of one packet, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteBeat<'a> {
    /// Address of the beat's first byte.
    pub va: u64,
    /// Key of the memory, and whether it is the peer's (a WRITE) rather than a receive buffer's; `None` if the NIC's
    /// pins carry no key.
    pub key: Option<(u32, bool)>,
    /// Whether it is the packet's first beat.
    pub first: bool,
    /// Whether it is the packet's last beat.
    pub last: bool,
    /// The bytes: a full beat, except in the packet's last beat.
    pub bytes: &'a [u8],
}

/// Most bytes of a DMA read: the payload of one packet. The largest path MTU is 4,096 (IBTA volume 1 §9.7.4.1.6).
pub const READ_BYTES_MAX: usize = 4096;

/// The gate that schedules are for their senders.
const SCHEDULE: usize = usize::MAX;

/// Bytes of an entry of a page table.
pub const ENTRY_BYTES: usize = 8;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Fetch {
    next: Cycles,
    tag: u8,
    va: u64,
    left: usize,
    /// Whether it ends with an error.
    fails: bool,
}

/// Indices of flows in the lists of a host. They are kept in maps because every beat of a DMA write looks up its
/// flow.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Places {
    sender_of_qp: BTreeMap<u16, usize>,
    /// Indexed by [`FlowConfig::number`].
    sender_of_flow: BTreeMap<u32, usize>,
    receiver_of_qp: BTreeMap<u16, usize>,
    /// Indexed by [`FlowConfig::number`].
    receiver_of_flow: BTreeMap<u32, usize>,
}

/// A DMA write between its first and its last beat.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct OpenWrite {
    first: u64,
    next: u64,
    key: Option<(u32, bool)>,
}

/// A host: its memory, its bus and its applications.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Host {
    clock: Clock,
    /// Bytes of a beat of DMA data.
    width: usize,
    pcie: Pcie,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    places: Places,
    gates: Gates,
    /// Operations that require each other, if the host has such.
    schedules: Option<Box<Schedules>>,
    fetches: VecDeque<Fetch>,
    /// What atomics found in memory, and the cycles from which on the NIC is told, in the order of their requests.
    originals: VecDeque<(Cycles, u64)>,
    /// Whether data of the first fetch has been returned in part.
    answering: bool,
    writing: Option<OpenWrite>,
    stalls: Stalls,
    manual: Option<Box<Manual>>,
    /// Memory that remembers what was written, if it does.
    overlay: Option<Box<Overlay>>,
    /// Memory that cannot be read: first address, bytes.
    unreadable: Vec<(u64, u64)>,
    errors: HostErrors,
    digest: Digest,
    /// The earliest post of each kind: the cycle in which it is at the NIC, and the index of its sender or receiver.
    next_work: Option<(Cycles, usize)>,
    next_recv: Option<(Cycles, usize)>,
}

impl Host {
    /// Creates a host without flows, behind a NIC with this clock and `width` bytes a beat.
    pub fn new(clock: Clock, width: usize, pcie: &PcieConfig) -> Self {
        Self {
            clock,
            width,
            pcie: Pcie::new(pcie, &clock),
            senders: Vec::new(),
            receivers: Vec::new(),
            places: Places::default(),
            gates: Gates::default(),
            schedules: None,
            fetches: VecDeque::new(),
            originals: VecDeque::new(),
            answering: false,
            writing: None,
            stalls: Stalls::default(),
            manual: None,
            overlay: None,
            unreadable: Vec::new(),
            errors: HostErrors::default(),
            digest: Digest::default(),
            next_work: None,
            next_recv: None,
        }
    }

    /// Creates a host whose work requests and receive buffers are posted by a test. It keeps completions and DMA
    /// writes for the test.
    ///
    /// Reads do not wait for each other. Each is due after twice the latency of the bus, and any of the due reads may
    /// be answered next, as drawn from `order`.
    pub fn manual(clock: Clock, width: usize, pcie: &PcieConfig, order: Seed) -> Self {
        Self {
            manual: Some(Box::new(Manual::new(order.draws()))),
            ..Self::new(clock, width, pcie)
        }
    }

    /// Makes a host [`manual`](Self::manual), with memory that remembers what was written. For hosts whose NIC was made
    /// with them.
    pub fn take_over(&mut self, order: Seed) {
        self.manual = Some(Box::new(Manual::new(order.draws())));
        self.overlay.get_or_insert_default().whole = true;
    }

    /// Reads the memory from `va` on: what was written there, if the host remembers it, and else the content that the
    /// addresses have.
    pub fn read_memory(&self, va: u64, bytes: &mut [u8]) {
        match &self.overlay {
            Some(overlay) => overlay.read(va, bytes),
            None => memory::fill(va, bytes),
        }
    }

    /// The `bytes` bytes of memory from `va` on, as a packet carries them.
    pub fn payload(&self, va: u64, bytes: u16) -> Payload {
        let Some(extent) = Extent::new(va, bytes) else {
            return Payload::default();
        };
        let overlay = self.overlay.as_ref();
        if !overlay.is_some_and(|overlay| overlay.holds(va, extent.len())) {
            return Payload::Content(extent);
        }
        let mut written = vec![0; extent.len()];
        self.read_memory(va, &mut written);
        Payload::Written(written.into())
    }

    /// Has reads of the `bytes` from `va` on answered with an error from now on, as where an IOMMU has no page.
    pub fn forbid_reads(&mut self, va: u64, bytes: u64) {
        self.unreadable.push((va, bytes));
    }

    /// Lets all memory be read again.
    pub fn allow_reads(&mut self) {
        self.unreadable.clear();
    }

    /// Whether the `bytes` from `va` on can be read.
    pub fn can_read(&self, va: u64, bytes: usize) -> bool {
        let meets = |(base, length): &(u64, u64)| {
            let meets = va.wrapping_sub(*base) < *length || base.wrapping_sub(va) < bytes as u64;
            *length > 0 && bytes > 0 && meets
        };
        !self.unreadable.iter().any(meets)
    }

    /// Writes to the memory from `va` on, as software of the host does. Only a host that was [taken
    /// over](Self::take_over) remembers the NIC's writes, too.
    pub fn write_memory(&mut self, va: u64, bytes: &[u8]) {
        let overlay = self.overlay.get_or_insert_default();
        overlay.write(va, bytes);
    }

    /// Performs an atomic on the eight bytes from `va` on, little-endian, and returns what they were before.
    pub fn atomic(&mut self, va: u64, kind: AtomicKind) -> u64 {
        let mut bytes = [0; 8];
        self.read_memory(va, &mut bytes);
        let original = u64::from_le_bytes(bytes);
        self.write_memory(va, &kind.apply(original).to_le_bytes());
        original
    }

    /// Posts a work request that is at the NIC's pins from cycle `at` on, after those posted earlier for the same
    /// cycle.
    ///
    /// # Panics
    ///
    /// If the host is not [`manual`](Self::manual). The same holds for `post_recv`, `take_completions` and
    /// `take_written`.
    pub fn post(&mut self, at: Cycles, qp: u16, work: Work) {
        let manual = self.by_hand();
        let memory = (work.local_va, work.length.into(), work.local_key);
        if manual.readable.last() != Some(&memory) {
            manual.readable.push(memory);
        }
        manual::sort_in(&mut manual.work, (at, qp, work));
    }

    /// Posts a receive buffer, in the same way as [`post`](Self::post).
    pub fn post_recv(&mut self, at: Cycles, qp: u16, recv: Recv) {
        manual::sort_in(&mut self.by_hand().recv, (at, qp, recv));
    }

    /// Completions since the last call, each with its QP index.
    pub fn take_completions(&mut self) -> Vec<(u16, Completion)> {
        std::mem::take(&mut self.by_hand().completions)
    }

    /// Packets written to memory since the last call.
    pub fn take_written(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.by_hand().written)
    }

    fn by_hand(&mut self) -> &mut Manual {
        let manual = self.manual.as_deref_mut();
        manual.expect("a host made by Host::manual")
    }

    /// Mutable access to the stalls.
    pub const fn stalls_mut(&mut self) -> &mut Stalls {
        &mut self.stalls
    }

    /// Whether the host takes DMA read requests in this cycle.
    pub fn takes_read(&self, now: Cycles) -> bool {
        !self.stalls.holds(Stalled::Reads, now)
    }

    /// Whether the host takes completions in this cycle.
    pub fn takes_completion(&self, now: Cycles) -> bool {
        !self.stalls.holds(Stalled::Completions, now)
    }

    /// Adds the sending end of a flow. Panics when its QP already sends for a flow.
    pub fn send(&mut self, sender: Sender) {
        let taken = (self.places.sender_of_qp).insert(sender.qp, self.senders.len());
        assert_eq!(taken, None, "QP {} sends for two flows", sender.qp);
        let number = sender.config.number;
        (self.places.sender_of_flow).insert(number, self.senders.len());
        self.senders.push(sender);
        self.plan();
    }

    /// Adds the receiving end of a flow. Panics when its QP or its number already receives for a flow.
    pub fn receive(&mut self, receiver: Receiver) {
        let (qp, number) = (receiver.qp, receiver.config.number);
        let place = self.receivers.len();
        let taken = [
            self.places.receiver_of_qp.insert(qp, place),
            self.places.receiver_of_flow.insert(number, place),
        ];
        assert_eq!(
            taken, [None; 2],
            "QP {qp} or number {number} receives for two flows"
        );
        self.receivers.push(receiver);
        self.plan();
    }

    /// Notes that flow `number`'s QPs are connected at `at`, but not before the host's next cycle, and that the other
    /// end can receive: its sender in this host may post. The keys are those of the flow's memory in this host and at
    /// the other end.
    pub fn connect_sender(&mut self, number: u32, at: Time, local_key: u32, remote_key: u32) {
        if let Some(place) = self.places.sender_of_flow.get(&number) {
            self.senders[*place].connect(at, local_key, remote_key);
        }
        self.plan();
    }

    /// Notes that flow `number`'s QPs are connected at `at`, but not before the host's next cycle: its receiver in this
    /// host may post. The key is that of the flow's memory in this host.
    pub fn connect_receiver(&mut self, number: u32, at: Time, local_key: u32) {
        if let Some(place) = self.places.receiver_of_flow.get(&number) {
            self.receivers[*place].connect(self.clock.edge_from(at), local_key);
        }
        self.plan();
    }

    /// Whether flow `number`'s receiver in this host is connected, and the NIC has taken the receive buffers that it
    /// keeps posted, if the flow needs any.
    pub fn has_posted(&self, number: u32) -> bool {
        let place = self.places.receiver_of_flow.get(&number);
        place.is_some_and(|place| self.receivers[*place].has_posted())
    }

    /// Stops posting messages of flow `number` at `at`, or goes on. Messages that are posted already are sent.
    pub fn set_stopped(&mut self, number: u32, at: Time, stopped: bool) {
        if let Some(place) = self.places.sender_of_flow.get(&number) {
            self.senders[*place].set_stopped(&self.clock, at, stopped);
        }
        self.plan();
    }

    /// Takes no DMA writes until `until`: the NIC's receive side stands still.
    pub fn hold_writes(&mut self, until: Time) {
        self.pcie.hold_writes(self.clock.edge_from(until));
    }

    fn plan(&mut self) {
        let work = |(i, sender): (usize, &Sender)| Some((sender.next_post(&self.clock)?, i));
        let recv = |(i, receiver): (usize, &Receiver)| Some((receiver.next_post()?, i));
        let doorbell = |(at, i): (Cycles, usize)| (Cycles(at.0 + self.pcie.latency().0), i);
        self.next_work = self
            .senders
            .iter()
            .enumerate()
            .filter_map(work)
            .min()
            .map(doorbell);
        self.next_recv = self
            .receivers
            .iter()
            .enumerate()
            .filter_map(recv)
            .min()
            .map(doorbell);
    }

    /// The first cycle in which the host has something for the NIC, unless the NIC asks for more before.
    pub fn next_event(&self) -> Option<Cycles> {
        let data = match &self.manual {
            None => self.fetches.front().map(|fetch| fetch.next),
            Some(_) => self.fetches.iter().map(|fetch| fetch.next).min(),
        };
        let original = self.originals.front().map(|(at, _)| *at);
        let data = data.into_iter().chain(original);
        let posts = [self.next_work, self.next_recv].into_iter().flatten();
        let manual = self.manual.as_ref().and_then(|manual| manual.next_event());
        let posts = posts.map(|(at, _)| at).chain(self.next_operation());
        posts.chain(data).chain(manual).min()
    }

    /// The cycle from which on the next work request is at the NIC's pins, or may be: it may wait for what its
    /// application does until then, and [`work`](Self::work) knows.
    pub fn next_work(&self) -> Option<Cycles> {
        match &self.manual {
            Some(manual) => manual.work.front().map(|(at, ..)| *at),
            None => {
                let posted = self.next_work.map(|(at, _)| at);
                posted.into_iter().chain(self.next_operation()).min()
            }
        }
    }

    /// The cycle in which something happens in the schedules.
    fn next_operation(&self) -> Option<Cycles> {
        let next = self.schedules.as_ref()?.next()?;
        Some(self.clock.edge_from(next))
    }

    /// The cycle from which on the next receive buffer is at the NIC's pins.
    pub fn next_recv(&self) -> Option<Cycles> {
        match &self.manual {
            Some(manual) => manual.recv.front().map(|(at, ..)| *at),
            None => self.next_recv.map(|(at, _)| at),
        }
    }

    /// The work request that is at the NIC's pins, with its QP index.
    pub fn work(&mut self, now: Cycles) -> Option<(u16, Work)> {
        if let Some(manual) = &self.manual {
            let front = manual.work.front().filter(|(at, ..)| *at <= now);
            return front.map(|(_, qp, work)| (*qp, *work));
        }
        self.operate(now);
        let (_, i) = self.next_work.filter(|(at, _)| *at <= now)?;
        let sender = &self.senders[i];
        Some((sender.qp, sender.work()))
    }

    /// Notes that the NIC took the work request.
    pub fn work_taken(&mut self, now: Cycles) {
        if let Some(manual) = &mut self.manual {
            manual.work.pop_front();
        } else if let Some((at, i)) = self.next_work {
            debug_assert!(at <= now, "work taken before it was offered");
            let rung = self.clock.edge(Cycles(at.0 - self.pcie.latency().0));
            self.senders[i].posted(rung);
            self.plan();
        }
    }

    /// The receive buffer that is at the NIC's pins, with its QP index.
    pub fn recv(&self, now: Cycles) -> Option<(u16, Recv)> {
        if let Some(manual) = &self.manual {
            let front = manual.recv.front().filter(|(at, ..)| *at <= now);
            return front.map(|(_, qp, recv)| (*qp, *recv));
        }
        let (_, i) = self.next_recv.filter(|(at, _)| *at <= now)?;
        let receiver = &self.receivers[i];
        Some((receiver.qp, receiver.recv()))
    }

    /// Notes that the NIC took the receive buffer.
    pub fn recv_taken(&mut self) {
        if let Some(manual) = &mut self.manual {
            manual.recv.pop_front();
        } else if let Some((_, i)) = self.next_recv {
            self.receivers[i].posted();
            self.plan();
        }
    }

    /// Takes a DMA read request of the NIC, for at most the payload of a packet.
    ///
    /// # Errors
    ///
    /// The rule that the request breaks: its length is wrong, its tag is in use, or its key is not that of the
    /// memory.
    pub fn read(&mut self, now: Cycles, request: &ReadRequest) -> Result<(), String> {
        let ReadRequest {
            tag,
            va,
            key,
            bytes,
        } = *request;
        if !(1..=READ_BYTES_MAX).contains(&bytes) {
            return Err(format!(
                "a DMA read of {bytes} bytes at {va:#x}: 1 to {READ_BYTES_MAX} are right"
            ));
        }
        if self.fetches.iter().any(|fetch| fetch.tag == tag) {
            return Err(format!(
                "a DMA read with tag {tag}, whose last read is not answered"
            ));
        }
        if let Some(key) = key {
            self.check_read(va, bytes, key)?;
        }
        let next = match &self.manual {
            None => {
                let beats = bytes.div_ceil(self.width) as u64;
                self.pcie.read(now, bytes, beats)
            }
            Some(_) => Cycles(now.0 + (2 * self.pcie.latency().0).max(1)),
        };
        self.fetches.push_back(Fetch {
            next,
            tag,
            va,
            left: bytes,
            fails: !self.can_read(va, bytes),
        });
        Ok(())
    }

    /// Notes that the NIC was reset: what it has asked for before is not delivered. The tags of the old reads would be
    /// taken for those of new ones.
    pub fn nic_was_reset(&mut self) {
        self.fetches.clear();
        self.originals.clear();
        self.answering = false;
        self.writing = None;
    }

    /// Takes an atomic of the NIC and performs it. The NIC is told what it found when it has crossed the bus twice.
    ///
    /// # Errors
    ///
    /// The rule that the request breaks: its address is not aligned, or its key is not that of the memory.
    pub fn take_atomic(&mut self, now: Cycles, request: &AtomicRequest) -> Result<(), String> {
        let AtomicRequest { va, key, kind } = *request;
        if !va.is_multiple_of(ATOMIC_BYTES.into()) {
            return Err(format!(
                "an atomic at {va:#x}: an address that is a multiple of {ATOMIC_BYTES} is right"
            ));
        }
        self.check_read(va, ATOMIC_BYTES as usize, key)?;
        let at = match &self.manual {
            None => self.pcie.read(now, ATOMIC_BYTES as usize, 1),
            Some(_) => Cycles(now.0 + (2 * self.pcie.latency().0).max(1)),
        };
        let original = self.atomic(va, kind);
        self.originals.push_back((at, original));
        Ok(())
    }

    /// What the oldest atomic found, if the NIC is told in this cycle. Call it exactly once a cycle.
    pub fn original(&mut self, now: Cycles) -> Option<u64> {
        if self.originals.is_empty() || self.stalls.holds(Stalled::Data, now) {
            return None;
        }
        let (_, original) = *self.originals.front().filter(|(at, _)| *at <= now)?;
        self.originals.pop_front();
        Some(original)
    }

    /// Lets a peer's READs and atomics have the memory of a region with this key. Of a [`manual`](Self::manual) host;
    /// others check what is read when it arrives.
    pub fn permit_reads(&mut self, region: &Region, key: u32) {
        if let Some(manual) = &mut self.manual {
            manual.readable.push((region.base, region.length, key));
        }
    }

    fn check_read(&self, va: u64, bytes: usize, key: u32) -> Result<(), String> {
        let right = match &self.manual {
            Some(manual) => manual.covers(va, bytes, key),
            // Reads outside the memory of all flows are found later, when the payload is checked.
            None => FlowConfig::number_at(va).is_none_or(|number| {
                let place = self.places.sender_of_flow.get(&number);
                place.is_none_or(|place| self.senders[*place].local_key == key)
            }),
        };
        match right {
            true => Ok(()),
            false => Err(format!(
                "a DMA read or an atomic of {bytes} bytes at {va:#x} with key {key:#x}: no work request and no region \
                 for READs has that memory and key"
            )),
        }
    }

    /// The data returned to the NIC in this cycle, if any. Call it exactly once a cycle.
    pub fn data(&mut self, now: Cycles) -> Option<DataBeat> {
        if self.fetches.is_empty() || self.stalls.holds(Stalled::Data, now) {
            return None;
        }
        if let Some(manual) = &mut self.manual
            && !self.answering
        {
            let due = |fetch: &Fetch| fetch.next <= now;
            let count = self.fetches.iter().filter(|fetch| due(fetch)).count() as u64;
            if count == 0 {
                return None;
            }
            let pick = manual.order.below(count) as usize;
            let mut places = (0..self.fetches.len()).filter(|place| due(&self.fetches[*place]));
            let place = places.nth(pick)?;
            self.fetches.swap(0, place);
        }
        let width = self.width;
        let fetch = self.fetches.front_mut().filter(|fetch| fetch.next <= now)?;
        let mut bytes = vec![0; fetch.left.min(width)];
        match &self.overlay {
            Some(overlay) => overlay.read(fetch.va, &mut bytes),
            None => memory::fill(fetch.va, &mut bytes),
        }
        if fetch.fails {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
        }
        fetch.va += bytes.len() as u64;
        fetch.left -= bytes.len();
        fetch.next = Cycles(now.0 + 1);
        let (tag, last) = (fetch.tag, fetch.left == 0);
        let error = last && fetch.fails;
        self.answering = !last;
        if last {
            self.fetches.pop_front();
        }
        Some(DataBeat {
            tag,
            bytes,
            last,
            error,
        })
    }

    /// Performs a whole read of so many bytes at once, for model NICs, which fill in the content themselves. Returns
    /// the cycles of its first and its last beat.
    pub fn read_whole(&mut self, now: Cycles, bytes: usize) -> [Cycles; 2] {
        let beats = bytes.div_ceil(self.width).max(1) as u64;
        let first = self.pcie.read(now, bytes, beats);
        [first, Cycles(first.0 + beats - 1)]
    }

    /// Reads an entry of a page table. Returns the cycle in which it comes.
    pub fn read_entry(&mut self, now: Cycles) -> Cycles {
        self.pcie.read(now, ENTRY_BYTES, 1)
    }

    /// Whether a beat of a DMA write is accepted in this cycle.
    pub fn takes_write(&self, now: Cycles) -> bool {
        self.pcie.takes_write(now) && !self.stalls.holds(Stalled::Writes, now)
    }

    /// The earliest cycle in which the bus accepts the next beat of a DMA write.
    pub fn write_free(&self) -> Cycles {
        self.pcie.write_free()
    }

    /// Takes a beat of a DMA write.
    ///
    /// # Errors
    ///
    /// The rule that the beat breaks: `first` and `last` do not frame a packet, its address or key does not continue
    /// the previous beat, it is not full, or its key is not that of the memory.
    pub fn write_beat(&mut self, now: Cycles, beat: &WriteBeat<'_>) -> Result<(), String> {
        let &WriteBeat {
            va,
            key,
            first,
            last,
            bytes,
        } = beat;
        let place = || format!("a beat of a DMA write at {va:#x}, {} bytes", bytes.len());
        let open = match (self.writing, first) {
            (None, true) => OpenWrite {
                first: va,
                next: va,
                key,
            },
            (Some(open), false) => open,
            (None, false) => return Err(format!("{}, without a first one", place())),
            (Some(open), true) => {
                let write = open.first;
                return Err(format!(
                    "{}, first, but the write at {write:#x} has no last one",
                    place()
                ));
            }
        };
        if (open.next, open.key) != (va, key) {
            return Err(format!(
                "{}, key {key:x?}: {:#x}, key {:x?} comes next",
                place(),
                open.next,
                open.key
            ));
        }
        if bytes.is_empty() || !last && bytes.len() != self.width {
            return Err(format!(
                "{}, last {last}: only a last beat may have fewer than {}, and none has none",
                place(),
                self.width
            ));
        }
        let next = va.wrapping_add(bytes.len() as u64);
        self.writing = (!last).then_some(OpenWrite { next, ..open });
        if let Some(manual) = &mut self.manual {
            self.pcie.written(now, bytes.len(), 1);
            manual.packet.extend_from_slice(bytes);
            if last {
                let (key, remote) = open.key.unwrap_or_default();
                let bytes = std::mem::take(&mut manual.packet);
                if let Some(overlay) = self.overlay.as_mut().filter(|it| it.whole) {
                    overlay.write(open.first, &bytes);
                }
                manual.written.push(Written {
                    va: open.first,
                    key,
                    remote,
                    bytes,
                });
            }
            return Ok(());
        }
        if let (true, Some((key, remote)), Some(number)) = (first, key, self.receiver_at(va)) {
            let receiver = &self.receivers[number];
            let (right, writes) = (receiver.local_key, receiver.is_written());
            if (key, remote) != (right, writes) {
                return Err(format!(
                    "{} with key {key:#x}, the peer's: {remote}; right are {right:#x} and {writes}",
                    place()
                ));
            }
        }
        self.write(now, va, View::Written(bytes));
        Ok(())
    }

    /// Adds a gate, behind which its senders wait from now on.
    ///
    /// # Panics
    ///
    /// If it names a sender or a receiver that there is not, or waits for nothing.
    pub fn add_gate(&mut self, gate: GateConfig) {
        assert!(!gate.ends.is_empty(), "a gate that waits for nothing");
        let known = |(end, _): &(End, u64)| match *end {
            End::Sender(place) => place < self.senders.len(),
            End::Receiver(place) => place < self.receivers.len(),
        };
        assert!(gate.ends.iter().all(known), "a gate of unknown flows");
        let senders = gate.senders.clone();
        let number = self.gates.len();
        let first = self.gates.add(gate);
        for sender in senders {
            self.senders[sender].allow(number, first, Cycles(0));
        }
        self.plan();
    }

    /// Adds a schedule: its senders post what its operations let through, and nothing else.
    ///
    /// # Panics
    ///
    /// If it names a sender, a receiver or an operation that there is not, or a flow that another schedule has.
    pub fn add_schedule(&mut self, schedule: ScheduleConfig) {
        let mut senders = std::collections::BTreeSet::new();
        for operation in &schedule.operations {
            let known = match operation.step {
                schedule::Step::Calc { .. } => true,
                schedule::Step::Send { sender, .. } => {
                    senders.insert(sender);
                    sender < self.senders.len()
                }
                schedule::Step::Receive { receiver, .. } => receiver < self.receivers.len(),
            };
            assert!(known, "a schedule of unknown flows");
        }
        for sender in senders {
            self.senders[sender].allow(SCHEDULE, 0, Cycles(0));
        }
        self.schedules.get_or_insert_default().add(schedule);
        self.plan();
    }

    /// How far the host's schedules are.
    pub fn progress(&self) -> &[Progress] {
        self.schedules.as_ref().map_or(&[], |all| all.progress())
    }

    /// When each operation of the schedules of a job started and ended, in their order; [`Time::MAX`]: not yet.
    pub fn operation_times(&self, job: u32) -> Vec<[Time; 2]> {
        let schedules = self.schedules.iter();
        schedules.flat_map(|all| all.times(job)).collect()
    }

    /// Has happen in the schedules what is due in cycle `now`.
    fn operate(&mut self, now: Cycles) {
        let Some(schedules) = &mut self.schedules else {
            return;
        };
        let now = self.clock.edge(now);
        if schedules.next().is_none_or(|next| next > now) {
            return;
        }
        for opening in schedules.advance(now) {
            let from = self.clock.edge_from(opening.from);
            self.senders[opening.sender].allow(SCHEDULE, opening.messages, from);
        }
        self.plan();
    }

    /// Has a receiver keep when each message arrives.
    pub fn keep_arrivals(&mut self, receiver: usize) {
        self.receivers[receiver].keep_arrivals();
    }

    /// Opens the gates that waited for this many messages of an end, as seen in cycle `seen`. Returns whether it opened
    /// any.
    fn open_gates(&mut self, end: End, messages: u64, seen: Cycles) -> bool {
        if let Some(schedules) = &mut self.schedules {
            schedules.notice(end, messages, self.clock.edge(seen));
        }
        let opened = self.gates.advance(end, messages);
        for opening in &opened {
            let from = match opening.think {
                Duration::ZERO => seen,
                think => self.clock.edge_from(self.clock.edge(seen) + think),
            };
            for &sender in &self.gates.get(opening.gate).senders {
                self.senders[sender].allow(opening.gate, opening.messages, from);
            }
        }
        !opened.is_empty()
    }

    /// The place of the receiver whose memory has an address.
    fn receiver_at(&self, va: u64) -> Option<usize> {
        let number = FlowConfig::number_at(va)?;
        self.places.receiver_of_flow.get(&number).copied()
    }

    /// Takes a DMA write: a beat, or a whole packet.
    pub fn write(&mut self, now: Cycles, va: u64, payload: View<'_>) {
        self.occupy(now, payload.len());
        self.place(now, va, payload);
    }

    /// Keeps the bus busy for as long as a DMA write of so many bytes takes.
    pub fn occupy(&mut self, now: Cycles, bytes: usize) {
        let beats = bytes.div_ceil(self.width) as u64;
        self.pcie.written(now, bytes, beats);
    }

    /// Has what crossed the bus in memory.
    pub fn place(&mut self, now: Cycles, va: u64, payload: View<'_>) {
        if let Some(overlay) = self.overlay.as_mut().filter(|it| it.whole) {
            overlay.write(va, &payload.to_vec());
        }
        if let Some(manual) = &mut self.manual {
            // A packet of a model NIC, which names no key.
            manual.written.push(Written {
                va,
                key: 0,
                remote: false,
                bytes: payload.to_vec(),
            });
            return;
        }
        let Some(place) = self.receiver_at(va) else {
            self.errors.payload_bytes += payload.len() as u64;
            return;
        };
        let receiver = &mut self.receivers[place];
        let before = receiver.seen();
        self.errors.payload_bytes += receiver.written(va, payload);
        let messages = receiver.seen();
        if messages != before {
            let seen = Cycles(now.0 + self.pcie.latency().0);
            receiver.arrived(self.clock.edge(seen));
            if self.open_gates(End::Receiver(place), messages, seen) {
                self.plan();
            }
        }
    }

    /// Takes a completion of a QP from the NIC.
    pub fn complete(&mut self, now: Cycles, qp: u16, completion: &Completion) {
        let seen = Cycles(now.0 + self.pcie.latency().0);
        let at = self.clock.edge(seen);
        self.digest.bytes(&seen.0.to_le_bytes());
        self.digest.bytes(&[
            completion.receive.into(),
            completion.status as u8,
            completion.operation,
            qp as u8,
            (qp >> 8) as u8,
        ]);
        self.digest.bytes(&completion.id.to_le_bytes());
        self.digest.bytes(&completion.length.to_le_bytes());
        if let Some(manual) = &mut self.manual {
            manual.completions.push((qp, *completion));
            return;
        }
        let right = match completion.receive {
            true => self.received(qp, completion, (seen, at)),
            false => self.sent(qp, completion, (seen, at)),
        };
        self.errors.completions += u64::from(!right);
        self.plan();
    }

    /// Takes the completion of a receive buffer. Returns whether it is the one expected.
    fn received(&mut self, qp: u16, completion: &Completion, (seen, at): (Cycles, Time)) -> bool {
        let Some(&place) = self.places.receiver_of_qp.get(&qp) else {
            return false;
        };
        let receiver = &mut self.receivers[place];
        let before = receiver.failed();
        let Completion {
            id, status, length, ..
        } = *completion;
        let right = receiver.completed(id, status, length, seen);
        self.errors.failed_qps += u64::from(before.is_none() && receiver.failed().is_some());
        if status == Status::Success {
            receiver.arrived(at);
            let messages = receiver.seen();
            self.open_gates(End::Receiver(place), messages, seen);
        }
        right
    }

    /// Takes the completion of a work request. Returns whether it is the one expected.
    fn sent(&mut self, qp: u16, completion: &Completion, (seen, at): (Cycles, Time)) -> bool {
        let Some(&place) = self.places.sender_of_qp.get(&qp) else {
            return false;
        };
        let sender = &mut self.senders[place];
        let before = sender.failed();
        let right = sender.completed(completion.id, completion.status, (seen, at));
        self.errors.failed_qps += u64::from(before.is_none() && sender.failed().is_some());
        let complete = sender.delivered().len() as u64;
        self.open_gates(End::Sender(place), complete, seen);
        right
    }

    /// The sending ends of the flows that start at this host.
    pub fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// The receiving ends of the flows that end at this host.
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// The errors found so far.
    pub const fn errors(&self) -> HostErrors {
        self.errors
    }

    /// The digest over every completion so far, with its time.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether all flows that start at this host have finished, and all operations of its schedules have ended.
    pub fn finished(&self) -> bool {
        let ended = self.progress().iter().all(|schedule| schedule.left == 0);
        ended && self.senders.iter().all(Sender::finished)
    }

    /// The status with which a flow of this host failed, if one did.
    pub fn failure(&self) -> Option<Status> {
        let senders = self.senders.iter().filter_map(Sender::failed);
        let receivers = self.receivers.iter().filter_map(Receiver::failed);
        senders.chain(receivers).next()
    }
}
