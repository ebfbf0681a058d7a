//! Hosts: memory, the bus to the NIC, and applications that send messages and check what comes.
//!
//! | module | what is in it |
//! |---|---|
//! | [`memory`] | content as a function of the address |
//! | [`pcie`] | [`Pcie`]: latency and bandwidth between NIC and host |
//! | [`flow`] | [`FlowConfig`], [`Sender`], [`Receiver`]: messages from one host's memory to another's |
//!
//! [`Host`] is all of it behind a NIC's pins, in cycles of the NIC's clock. An RTL NIC calls it beat by beat ([`Host::data`], [`Host::write`]), a model packet by packet with the
//! same functions and wider pieces.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::kernel::Digest;
use crate::protocol::gbn::{Completion, Recv, Status, Work};
use crate::time::{Clock, Cycles};

pub mod flow;
pub mod memory;
pub mod pcie;
#[cfg(test)]
mod tests;

pub use flow::{Delivered, FlowConfig, Receiver, Sender};
pub use pcie::{Pcie, PcieConfig};

/// What an application may find wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostErrors {
    /// Bytes written that are not what belongs there, or that belong nowhere.
    pub payload_bytes: u64,
    /// Completions that were not to come, came in the wrong order, or came before their message.
    pub completions: u64,
    /// QPs that ended in error.
    pub failed_qps: u64,
}

/// A piece of what a DMA read asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataBeat {
    /// The read's tag.
    pub tag: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The read's last piece.
    pub last: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Fetch {
    next: Cycles,
    tag: u8,
    va: u64,
    left: usize,
}

/// Places of flows in the lists of a host: every piece of a DMA write looks its flow up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Places {
    sender_of_qp: BTreeMap<u16, usize>,
    receiver_of_qp: BTreeMap<u16, usize>,
    /// By [`FlowConfig::number`].
    receiver_of_flow: BTreeMap<u32, usize>,
}

/// A host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Host {
    clock: Clock,
    /// Bytes of a beat of DMA data.
    width: usize,
    pcie: Pcie,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    places: Places,
    fetches: VecDeque<Fetch>,
    errors: HostErrors,
    digest: Digest,
    /// The earliest post of each kind, at the NIC, and whose.
    next_work: Option<(Cycles, usize)>,
    next_recv: Option<(Cycles, usize)>,
}

impl Host {
    /// A host behind a NIC with this clock and `width` bytes a beat, without flows.
    pub fn new(clock: Clock, width: usize, pcie: &PcieConfig) -> Self {
        Self {
            clock,
            width,
            pcie: Pcie::new(pcie, &clock),
            senders: Vec::new(),
            receivers: Vec::new(),
            places: Places::default(),
            fetches: VecDeque::new(),
            errors: HostErrors::default(),
            digest: Digest::default(),
            next_work: None,
            next_recv: None,
        }
    }

    /// A flow starts here. Panics when its QP has one already.
    pub fn send(&mut self, sender: Sender) {
        let taken = (self.places.sender_of_qp).insert(sender.qp, self.senders.len());
        assert_eq!(taken, None, "QP {} sends for two flows", sender.qp);
        self.senders.push(sender);
        self.plan();
    }

    /// A flow ends here. Panics when its QP or its number has one already.
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

    /// The first cycle in which the host has something for the NIC unless the NIC asks for more.
    pub fn next_event(&self) -> Option<Cycles> {
        let data = self.fetches.front().map(|fetch| fetch.next);
        let posts = [self.next_work, self.next_recv].into_iter().flatten();
        posts.map(|(at, _)| at).chain(data).min()
    }

    /// When the next work request is at the NIC's pins.
    pub fn next_work(&self) -> Option<Cycles> {
        self.next_work.map(|(at, _)| at)
    }

    /// When the next receive buffer is at the NIC's pins.
    pub fn next_recv(&self) -> Option<Cycles> {
        self.next_recv.map(|(at, _)| at)
    }

    /// The work request that stands at the NIC's pins, with its QP index.
    pub fn work(&self, now: Cycles) -> Option<(u16, Work)> {
        let (_, i) = self.next_work.filter(|(at, _)| *at <= now)?;
        let sender = &self.senders[i];
        Some((sender.qp, sender.work()))
    }

    /// The NIC took it.
    pub fn work_taken(&mut self, now: Cycles) {
        if let Some((at, i)) = self.next_work {
            debug_assert!(at <= now, "work taken before it was offered");
            let rung = self.clock.edge(Cycles(at.0 - self.pcie.latency().0));
            self.senders[i].posted(rung);
            self.plan();
        }
    }

    /// The receive buffer that stands at the NIC's pins, with its QP index.
    pub fn recv(&self, now: Cycles) -> Option<(u16, Recv)> {
        let (_, i) = self.next_recv.filter(|(at, _)| *at <= now)?;
        let receiver = &self.receivers[i];
        Some((receiver.qp, receiver.recv()))
    }

    /// The NIC took it.
    pub fn recv_taken(&mut self) {
        if let Some((_, i)) = self.next_recv {
            self.receivers[i].posted();
            self.plan();
        }
    }

    /// The NIC reads memory. A read of no bytes is answered by one empty beat.
    pub fn read(&mut self, now: Cycles, tag: u8, va: u64, bytes: usize) {
        let beats = bytes.div_ceil(self.width).max(1) as u64;
        let next = self.pcie.read(now, bytes, beats);
        self.fetches.push_back(Fetch {
            next,
            tag,
            va,
            left: bytes,
        });
    }

    /// The data that comes to the NIC in this cycle. To be called once a cycle.
    pub fn data(&mut self, now: Cycles) -> Option<DataBeat> {
        let width = self.width;
        let fetch = self.fetches.front_mut().filter(|fetch| fetch.next <= now)?;
        let mut bytes = vec![0; fetch.left.min(width)];
        memory::fill(fetch.va, &mut bytes);
        fetch.va += bytes.len() as u64;
        fetch.left -= bytes.len();
        fetch.next = Cycles(now.0 + 1);
        let (tag, last) = (fetch.tag, fetch.left == 0);
        if last {
            self.fetches.pop_front();
        }
        Some(DataBeat { tag, bytes, last })
    }

    /// A whole read at once, for models: its bytes, and the cycle of its last beat.
    pub fn read_whole(&mut self, now: Cycles, va: u64, bytes: &mut [u8]) -> Cycles {
        let beats = bytes.len().div_ceil(self.width).max(1) as u64;
        memory::fill(va, bytes);
        Cycles(self.pcie.read(now, bytes.len(), beats).0 + beats - 1)
    }

    /// Whether the bus takes a piece of a DMA write.
    pub fn takes_write(&self, now: Cycles) -> bool {
        self.pcie.takes_write(now)
    }

    /// When it takes the next one at the earliest.
    pub fn write_free(&self) -> Cycles {
        self.pcie.write_free()
    }

    /// The NIC writes memory: a beat, or a whole packet.
    pub fn write(&mut self, now: Cycles, va: u64, bytes: &[u8]) {
        self.pcie
            .written(now, bytes.len(), bytes.len().div_ceil(self.width) as u64);
        let place =
            FlowConfig::number_at(va).and_then(|number| self.places.receiver_of_flow.get(&number));
        self.errors.payload_bytes += match place {
            Some(place) => self.receivers[*place].written(va, bytes),
            None => bytes.len() as u64,
        };
    }

    /// The NIC hands over a completion of a QP.
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
        let right = if completion.receive {
            self.places.receiver_of_qp.get(&qp).is_some_and(|place| {
                let receiver = &mut self.receivers[*place];
                let before = receiver.failed();
                let Completion {
                    id, status, length, ..
                } = *completion;
                let right = receiver.completed(id, status, length, seen);
                self.errors.failed_qps +=
                    u64::from(before.is_none() && receiver.failed().is_some());
                right
            })
        } else {
            self.places.sender_of_qp.get(&qp).is_some_and(|place| {
                let sender = &mut self.senders[*place];
                let before = sender.failed();
                let right = sender.completed(completion.id, completion.status, (seen, at));
                self.errors.failed_qps += u64::from(before.is_none() && sender.failed().is_some());
                right
            })
        };
        self.errors.completions += u64::from(!right);
        self.plan();
    }

    /// Flows that start here.
    pub fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// Flows that end here.
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// What was wrong so far.
    pub const fn errors(&self) -> HostErrors {
        self.errors
    }

    /// Every completion so far, with its time.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether all flows that start here have come to their end.
    pub fn finished(&self) -> bool {
        self.senders.iter().all(Sender::finished)
    }

    /// The status that ended a flow of this host, if one was.
    pub fn failure(&self) -> Option<Status> {
        let senders = self.senders.iter().filter_map(Sender::failed);
        let receivers = self.receivers.iter().filter_map(Receiver::failed);
        senders.chain(receivers).next()
    }
}
