//! READs at the responder, as `gbn_responder` of the RTL answers them (IBTA volume 1 §9.4.4, §9.7.5). A READ that is
//! accepted takes the next slot, and is answered when all that came before it is in memory: response by response, the
//! oldest READ first. The slots keep the last READs, so that they can be answered again.
//!
//! [`answered`](super::answered) does the same for model NICs, and atomics, without the RTL's steps.

use serde::{Deserialize, Serialize};

use super::read_rules::{ReadAsked, is_too_long, opcode, responses};
use super::{Fault, ResponderNote, ResponderQp, ResponderStep};
use crate::protocol::gbn::{Arrival, QpState, mtu_bytes};
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
    /// The PSN behind the highest of a response.
    pub top_psn: Psn,
}

impl Reads {
    /// Whether responses are to be sent, at once or later.
    pub const fn wait(&self) -> bool {
        self.again != 0 || self.done != self.head
    }

    /// Whether a response can be sent now.
    pub const fn answerable(&self) -> bool {
        self.again != 0 || (self.done != self.head && self.done != self.settled)
    }

    /// The number of READs from one to `head`.
    const fn behind(&self, index: u8) -> u8 {
        self.head.wrapping_sub(index) % INDEXES
    }
}

/// A READ response to be built (`read_response_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadResponse {
    /// READ response first, middle, last or only.
    pub opcode: Opcode,
    /// Its PSN.
    pub psn: Psn,
    /// MSN of its AETH, whose syndrome is that of an ACK.
    pub msn: Msn,
    /// Whether it was built before.
    pub again: bool,
    /// Where its payload is.
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
    asked: ReadAsked,
    msn: Msn,
    next: Psn,
    va: u64,
    left: u32,
    begun: bool,
}

impl Slot {
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

    /// Whether READs are served.
    pub(super) const fn serves(&self) -> bool {
        !self.slots.is_empty()
    }

    const fn slot_of(&self, index: u8) -> usize {
        index as usize % self.slots.len()
    }
}

impl ResponderQp {
    /// The request for a READ that is kept, `back` READs ago, 1 or more; the flags that it came with are not kept.
    pub fn asked(&self, back: u8) -> Option<Arrival> {
        let reads = &self.context.reads;
        let kept = (1..=reads.kept).contains(&back);
        let at = kept.then(|| self.reads.slot_of(reads.head.wrapping_sub(back) % INDEXES))?;
        let ReadAsked {
            psn,
            va,
            rkey,
            bytes,
        } = self.reads.slots[at].asked;
        Some(Arrival {
            operation: Opcode::RC_READ_REQUEST.0,
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

    /// Takes a READ of a QP that is ready.
    pub(super) fn read_request(&mut self, arrival: &Arrival) -> ResponderStep {
        let ahead = arrival.psn.ahead_of(self.context.expected_psn);
        if ahead > 0 {
            return self.gap();
        }
        let reads = &mut self.context.reads;
        let asked = ReadAsked::of(arrival);
        if ahead < 0 {
            self.reads.search = (reads.kept > 0).then(|| Search {
                asked,
                index: reads.head.wrapping_sub(1) % INDEXES,
                left: reads.kept,
            });
            return ResponderStep {
                walk: reads.kept > 0,
                ..ResponderNote::Duplicate.into()
            };
        }
        if let Some(fault) = self.fault_of_read(arrival) {
            return self.refuse(fault);
        }
        let mtu = self.mtu();
        let context = &mut self.context;
        context.accept_asked(arrival.psn, responses(asked.bytes, mtu));
        let reads = &mut context.reads;
        if reads.head == reads.done {
            reads.top_psn = arrival.psn;
        }
        let at = self.reads.slot_of(reads.head);
        reads.head = (reads.head + 1) % INDEXES;
        reads.kept = (reads.kept + 1).min(self.reads.slots.len() as u8);
        reads.again &= !(1 << at);
        let slot = &mut self.reads.slots[at];
        slot.asked = asked;
        slot.msn = context.msn;
        slot.restart(&asked);
        ResponderStep {
            accepts_read: true,
            ..ResponderNote::Accepted.into()
        }
    }

    fn fault_of_read(&self, arrival: &Arrival) -> Option<Fault> {
        let bytes = arrival.dma_len;
        let too_long = is_too_long(bytes, self.mtu());
        let reads = &self.context.reads;
        let full = usize::from(reads.behind(reads.done)) == self.reads.slots.len();
        if self.context.under_way || full || too_long || arrival.payload_bytes > 0 {
            return Some(Fault::Invalid);
        }
        (bytes > 0 && !arrival.access).then_some(Fault::Access)
    }

    /// Compares a kept READ with the one that is asked again. `None` if there is none to be looked for.
    pub(super) fn search(&mut self) -> Option<ResponderStep> {
        let search = self.reads.search.take()?;
        let mtu = self.mtu();
        let at = self.reads.slot_of(search.index);
        let mut step = ResponderStep::from(ResponderNote::None);
        if self.reads.slots[at]
            .asked
            .is_repeated_by(&search.asked, mtu)
        {
            self.reads.slots[at].restart(&search.asked);
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
        if !reads.answerable() {
            return ResponderNote::NothingOwed.into();
        }
        // The oldest slot is the one that the next READ takes.
        let count = self.reads.slots.len();
        let oldest = (0..count).map(|n| (usize::from(reads.head) + n) % count);
        let again = oldest.into_iter().find(|slot| reads.again >> slot & 1 != 0);
        let at = again.unwrap_or(self.reads.slot_of(reads.done));
        let slot = &mut self.reads.slots[at];
        if context.state == QpState::Error && slot.next.ahead_of(context.expected_psn) >= 0 {
            // The QP has failed in front of it.
            reads.done = reads.head;
            reads.again = 0;
            return ResponderNote::NothingOwed.into();
        }
        let bytes = slot.left.min(mtu);
        let last = slot.left <= mtu;
        let response = ReadResponse {
            opcode: opcode(slot.begun, last),
            psn: slot.next,
            msn: slot.msn,
            again: slot.next.ahead_of(reads.top_psn) < 0,
            va: slot.va,
            key: slot.asked.rkey,
            bytes: bytes as u16,
        };
        slot.next = slot.next.advance(1);
        slot.va = slot.va.wrapping_add(bytes.into());
        slot.left -= bytes;
        slot.begun = true;
        if !response.again {
            reads.top_psn = slot.next;
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
