//! READs and atomics at the responder, as `gbn_responder` of the RTL answers them (IBTA volume 1 §9.4.4, §9.4.5,
//! §9.7.5). What is accepted takes the next slot, and is answered when all that came before it is in memory, response
//! by response, the oldest first; an atomic when the host has performed it. The slots keep the last ones, so that they
//! can be answered again. What is said of READs here holds for atomics, too, unless these are named.
//!
//! [`answered`](super::answered) does the same for model NICs, without the RTL's steps.

use serde::{Deserialize, Serialize};

use super::answered::{ATOMIC_BYTES, Asked};
use super::read_rules::{ReadAsked, opcode, responses};
use super::{ResponderNote, ResponderQp, ResponderStep};
use crate::protocol::gbn::{Arrival, Place, QpState, mtu_bytes};
use crate::wire::{Msn, Opcode, Psn};

/// READs are counted modulo this.
const INDEXES: u8 = 32;

/// What a QP owes for READs (`reads_t`). Indexes of READs count modulo 32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reads {
    /// The next READ.
    pub head: u8,
    /// The oldest READ with writes in front of it that are not in memory yet.
    pub settled: u8,
    /// The oldest READ that was never answered to its end.
    pub done: u8,
    /// How many READs are kept: those before `head`.
    pub kept: u8,
    /// Slots of READs before `done` that are to be answered again, one bit each.
    pub again: u16,
    /// Atomics whose original has not come from the host, one bit each, by their index modulo 16.
    pub performing: u16,
    /// The PSN behind the highest of a response.
    pub top_psn: Psn,
}

impl Reads {
    /// Whether responses are to be sent, at once or later.
    pub const fn wait(&self) -> bool {
        self.again != 0 || self.done != self.head
    }

    /// Whether a response can be sent now. In a QP that has `failed`, an atomic that was refused has its turn too: it
    /// leaves.
    pub const fn answerable(&self, failed: bool) -> bool {
        self.again != 0
            || (self.done != self.head
                && self.done != self.settled
                && (failed || !self.performs(self.done)))
    }

    /// Whether the host has still to perform the atomic at an index.
    const fn performs(&self, index: u8) -> bool {
        self.performing & bit(index) != 0
    }

    /// The number of READs from one to `head`.
    const fn behind(&self, index: u8) -> u8 {
        self.head.wrapping_sub(index) % INDEXES
    }
}

/// The bit of an index in `performing`.
const fn bit(index: u8) -> u16 {
    1 << (index % 16)
}

/// What an atomic found in memory (`original_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Original {
    /// The index of the atomic, modulo 16.
    pub index: u8,
    /// What the memory had.
    pub original: u64,
}

/// A READ response, or the answer of an atomic, to be built (`read_response_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadResponse {
    /// READ response first, middle, last or only; atomic ACK.
    pub opcode: Opcode,
    /// Its PSN.
    pub psn: Psn,
    /// MSN of its AETH, whose syndrome is that of an ACK.
    pub msn: Msn,
    /// Whether it was built before.
    pub again: bool,
    /// Where its payload is; of an atomic its original.
    pub va: u64,
    /// The peer's key of that memory.
    pub key: u32,
    /// Bytes of payload.
    pub bytes: u16,
}

/// PSNs of a READ that is asked again (`reread_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reread {
    /// The first.
    pub first_psn: Psn,
    /// The one behind the last.
    pub end_psn: Psn,
}

/// A READ that is kept, and what is left to be sent of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    /// READ request, or which atomic.
    operation: Opcode,
    asked: ReadAsked,
    msn: Msn,
    next: Psn,
    va: u64,
    left: u32,
    begun: bool,
}

impl Slot {
    /// Whether a later request repeats this one. An atomic is known by its PSN, as it is to Linux.
    fn is_repeated_by(&self, operation: Opcode, asked: &ReadAsked, mtu: u32) -> bool {
        self.operation == operation
            && match operation {
                Opcode::RC_READ_REQUEST => self.asked.is_repeated_by(asked, mtu),
                _ => self.asked.psn == asked.psn,
            }
    }

    fn is_atomic(&self) -> bool {
        self.operation != Opcode::RC_READ_REQUEST
    }

    /// Has it answered from where `asked` begins.
    const fn restart(&mut self, asked: &ReadAsked) {
        self.next = asked.psn;
        self.va = asked.va;
        self.left = asked.bytes;
        self.begun = false;
    }
}

/// Kept READs that are still to be compared with one that is asked again, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Search {
    operation: Opcode,
    asked: ReadAsked,
    index: u8,
    left: u8,
}

/// The READs of a QP beside its context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadSlots {
    slots: Vec<Slot>,
    search: Option<Search>,
}

impl ReadSlots {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots: vec![Slot::default(); slots],
            search: None,
        }
    }

    const fn slot_of(&self, index: u8) -> usize {
        index as usize % self.slots.len()
    }
}

impl ResponderQp {
    /// The request for a READ or an atomic that is kept, `back` of them ago, 1 or more; the flags that it came with, and
    /// what an atomic does, are not kept.
    pub fn asked(&self, back: u8) -> Option<Arrival> {
        let reads = &self.context.reads;
        let kept = (1..=reads.kept).contains(&back);
        let at = kept.then(|| self.reads.slot_of(reads.head.wrapping_sub(back) % INDEXES))?;
        let slot = &self.reads.slots[at];
        let ReadAsked {
            psn,
            va,
            rkey,
            bytes,
        } = slot.asked;
        Some(Arrival {
            operation: slot.operation.0,
            psn,
            access: true,
            va,
            rkey,
            dma_len: bytes,
            ..Arrival::default()
        })
    }

    fn mtu(&self) -> u32 {
        mtu_bytes(self.context.configuration.mtu)
    }

    /// What a request asks for, at a QP that answers with data.
    pub(super) fn wants(&self, arrival: &Arrival) -> Option<Asked> {
        Asked::of(arrival).filter(|_| !self.reads.slots.is_empty())
    }

    /// Takes a READ or an atomic of a QP that is ready.
    pub(super) fn read_request(&mut self, arrival: &Arrival, wanted: Asked) -> ResponderStep {
        let ahead = arrival.psn.ahead_of(self.context.expected_psn);
        if ahead > 0 {
            return self.gap();
        }
        let reads = &mut self.context.reads;
        let operation = Opcode(arrival.operation);
        let asked = ReadAsked {
            bytes: wanted.bytes(),
            ..ReadAsked::of(arrival)
        };
        if ahead < 0 {
            self.reads.search = (reads.kept > 0).then(|| Search {
                operation,
                asked,
                index: reads.head.wrapping_sub(1) % INDEXES,
                left: reads.kept,
            });
            return ResponderStep {
                walk: reads.kept > 0,
                ..ResponderNote::Duplicate.into()
            };
        }
        let full = usize::from(reads.behind(reads.done)) == self.reads.slots.len();
        let fault = (self.context).fault_of_asked(arrival, wanted, full, arrival.access);
        if let Some(fault) = fault {
            return self.refuse(fault);
        }
        let mtu = self.mtu();
        let context = &mut self.context;
        context.accept_asked(arrival.psn, responses(asked.bytes, mtu));
        let reads = &mut context.reads;
        if reads.head == reads.done {
            reads.top_psn = arrival.psn;
        }
        let (at, index) = (self.reads.slot_of(reads.head), reads.head);
        reads.head = (reads.head + 1) % INDEXES;
        reads.kept = (reads.kept + 1).min(self.reads.slots.len() as u8);
        reads.again &= !(1 << at);
        let slot = &mut self.reads.slots[at];
        slot.operation = operation;
        slot.asked = asked;
        slot.msn = context.msn;
        slot.restart(&asked);
        match slot.is_atomic() {
            true => reads.performing |= bit(index),
            false => reads.performing &= !bit(index),
        }
        let place = slot.is_atomic().then_some(Place {
            va: asked.va,
            key: asked.rkey,
            remote: true,
            bytes: ATOMIC_BYTES as u16,
        });
        ResponderStep {
            place,
            accepts_read: Some(index % 16),
            ..ResponderNote::Accepted.into()
        }
    }

    /// Compares a kept READ with the one that is asked again. `None` if there is none to be looked for.
    pub(super) fn search(&mut self) -> Option<ResponderStep> {
        let search = self.reads.search.take()?;
        let mtu = self.mtu();
        let at = self.reads.slot_of(search.index);
        let mut step = ResponderStep::from(ResponderNote::None);
        let slot = &mut self.reads.slots[at];
        if slot.is_repeated_by(search.operation, &search.asked, mtu) {
            if !slot.is_atomic() {
                slot.restart(&search.asked);
            }
            let reads = &mut self.context.reads;
            if reads.behind(search.index) > reads.behind(reads.done) {
                reads.again |= 1 << at;
            }
            let ReadAsked { psn, bytes, .. } = search.asked;
            step.reread = Some(Reread {
                first_psn: psn,
                end_psn: psn.advance(responses(bytes, mtu)),
            });
        } else if search.left > 1 {
            step.walk = true;
            self.reads.search = Some(Search {
                index: search.index.wrapping_sub(1) % INDEXES,
                left: search.left - 1,
                ..search
            });
        }
        Some(step)
    }

    /// Notes what the host found when it performed an atomic.
    pub(super) fn returned(&mut self, returned: Original) -> ResponderStep {
        let reads = &mut self.context.reads;
        if !reads.performs(returned.index) {
            return ResponderNote::Ignored.into();
        }
        reads.performing &= !bit(returned.index);
        let at = self.reads.slot_of(returned.index);
        self.reads.slots[at].va = returned.original;
        ResponderNote::None.into()
    }

    /// Notes that all that came before the next READ is in memory.
    pub(super) fn settle(&mut self) -> ResponderStep {
        if self.context.state == QpState::Closed {
            return ResponderNote::Ignored.into();
        }
        let reads = &mut self.context.reads;
        reads.settled = (reads.settled + 1) % INDEXES;
        ResponderNote::None.into()
    }

    /// Builds the next response, if one can be sent.
    pub(super) fn read(&mut self) -> ResponderStep {
        let mtu = self.mtu();
        let context = &mut self.context;
        let reads = &mut context.reads;
        let failed = context.state == QpState::Error;
        if !reads.answerable(failed) {
            return ResponderNote::NothingOwed.into();
        }
        // The oldest slot is the one that the next READ takes.
        let count = self.reads.slots.len();
        let oldest = (0..count).map(|n| (usize::from(reads.head) + n) % count);
        let again = oldest.into_iter().find(|slot| reads.again >> slot & 1 != 0);
        let at = again.unwrap_or(self.reads.slot_of(reads.done));
        let slot = &mut self.reads.slots[at];
        if failed && slot.next.ahead_of(context.expected_psn) >= 0 {
            // The QP has failed in front of it.
            reads.done = reads.head;
            reads.again = 0;
            return ResponderNote::NothingOwed.into();
        }
        if again.is_none() && reads.performs(reads.done) {
            return ResponderNote::NothingOwed.into();
        }
        let atomic = slot.is_atomic();
        let bytes = if atomic { 0 } else { slot.left.min(mtu) };
        let last = atomic || slot.left <= mtu;
        let response = ReadResponse {
            opcode: match atomic {
                true => Opcode::RC_ATOMIC_ACK,
                false => opcode(slot.begun, last),
            },
            psn: slot.next,
            msn: slot.msn,
            again: slot.next.ahead_of(reads.top_psn) < 0,
            va: slot.va,
            key: slot.asked.rkey,
            bytes: bytes as u16,
        };
        if !response.again {
            reads.top_psn = slot.next.advance(1);
        }
        if !atomic {
            slot.next = slot.next.advance(1);
            slot.va = slot.va.wrapping_add(bytes.into());
            slot.left -= bytes;
            slot.begun = true;
        }
        match again {
            Some(_) if last => reads.again &= !(1 << at),
            None if last => reads.done = (reads.done + 1) % INDEXES,
            _ => {}
        }
        ResponderStep {
            read: Some(response),
            ..ResponderNote::None.into()
        }
    }
}

#[cfg(test)]
mod tests;
