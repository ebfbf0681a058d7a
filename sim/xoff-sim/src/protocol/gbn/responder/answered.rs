//! READs and atomics at the responder: what the standard has it answer with data, and answer again (IBTA volume 1
//! §9.4.4, §9.4.5, §9.7.5).
//!
//! This is an addition to [`ResponderQp`] for model NICs. The RTL's responder answers them by steps of its own, which
//! are in [`reads`](super::reads).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::read_rules::{ReadAsked, opcode, responses};
use super::{ResponderNote, ResponderQp, ResponderStep};
use crate::protocol::gbn::{Arrival, QpState, Response, mtu_bytes};
use crate::wire::{Msn, Opcode, Psn, Syndrome};

/// Bytes of an atomic's operand.
pub const ATOMIC_BYTES: u32 = 8;

/// What an atomic does to the eight bytes at its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtomicKind {
    /// Stores a value if the memory has another one.
    CompareSwap {
        /// The value that the memory must have.
        compare: u64,
        /// The value that is stored.
        swap: u64,
    },
    /// Adds a value, modulo 2⁶⁴.
    FetchAdd {
        /// The value.
        add: u64,
    },
}

impl AtomicKind {
    /// The memory after the atomic, if it was `original` before.
    pub const fn apply(self, original: u64) -> u64 {
        match self {
            Self::CompareSwap { compare, swap } if original == compare => swap,
            Self::CompareSwap { .. } => original,
            Self::FetchAdd { add } => original.wrapping_add(add),
        }
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// So many bytes.
    Read {
        /// Their number.
        bytes: u32,
    },
    /// An atomic.
    Atomic(AtomicKind),
}

impl Asked {
    /// What a request asks for; `None` if it is neither a READ nor an atomic.
    pub fn of(arrival: &Arrival) -> Option<Self> {
        match Opcode(arrival.operation) {
            Opcode::RC_READ_REQUEST => Some(Self::Read {
                bytes: arrival.dma_len,
            }),
            Opcode::RC_CMP_SWAP => Some(Self::Atomic(AtomicKind::CompareSwap {
                compare: arrival.compare,
                swap: arrival.swap_add,
            })),
            Opcode::RC_FETCH_ADD => Some(Self::Atomic(AtomicKind::FetchAdd {
                add: arrival.swap_add,
            })),
            _ => None,
        }
    }

    /// Bytes of memory that it needs.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Read { bytes } => bytes,
            Self::Atomic(_) => ATOMIC_BYTES,
        }
    }

    /// Number of PSNs that it takes: one for each response.
    fn psns(self, mtu: u32) -> u32 {
        match self {
            Self::Read { bytes } => responses(bytes, mtu),
            Self::Atomic(_) => 1,
        }
    }
}

/// A request that was accepted, and is to be answered once the QP's earlier writes are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "those of the request")]
pub struct Accepted {
    pub psn: Psn,
    pub va: u64,
    pub rkey: u32,
    pub asked: Asked,
    /// Number of messages that were complete with it.
    pub msn: Msn,
    /// Whether it was accepted before.
    pub again: bool,
}

impl Accepted {
    /// The PSN behind its last response, of at most `mtu` bytes each.
    pub fn end(&self, mtu: u32) -> Psn {
        self.psn.advance(self.asked.psns(mtu))
    }
}

/// A request that is kept for duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    request: Accepted,
    /// What the memory had before the atomic, once it was performed.
    original: Option<u64>,
}

/// A response to be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Opcode, PSN and AETH; of an atomic the original, too.
    pub response: Response,
    /// Where its payload is.
    pub va: u64,
    /// The key of that memory.
    pub rkey: u32,
    /// Bytes of payload.
    pub bytes: u16,
    /// Whether it was built before.
    pub again: bool,
}

/// Responses to one request that are not all sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    next: Psn,
    va: u64,
    rkey: u32,
    left: u32,
    begun: bool,
    msn: Msn,
    /// What an atomic returns.
    original: Option<u64>,
    /// Whether all of it was sent before.
    again: bool,
}

/// What a QP owes for READs and atomics, in the order of their requests, and what it keeps for duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// How many requests may be unanswered, and are kept.
    granted: usize,
    kept: VecDeque<Kept>,
    /// Number of requests that wait for earlier writes, and how many of them are new.
    waiting: usize,
    waiting_new: usize,
    /// In the order of PSNs, one a request at most.
    cursors: VecDeque<Cursor>,
    /// The PSN behind the last response that was ever built.
    top: Option<Psn>,
    /// Responses that were built and are not on the wire.
    unsent: usize,
}

impl Answered {
    /// Nothing owed; at most `granted` requests unanswered (`max_dest_rd_atomic`), 1 or more.
    pub fn new(granted: u16) -> Self {
        Self {
            granted: usize::from(granted).max(1),
            ..Self::default()
        }
    }

    /// Forgets all: the QP is opened.
    pub fn clear(&mut self) {
        self.fail();
        (self.top, self.unsent) = (None, 0);
    }

    /// Builds nothing more: the QP has failed. What is built is sent.
    pub fn fail(&mut self) {
        self.kept.clear();
        (self.waiting, self.waiting_new) = (0, 0);
        self.cursors.clear();
    }

    /// Notes that a response that was built is on the wire.
    pub const fn sent(&mut self) {
        self.unsent = self.unsent.saturating_sub(1);
    }

    /// Whether a response can be built.
    pub fn owes(&self) -> bool {
        !self.cursors.is_empty()
    }

    /// Whether an ACK or NAK has to wait for a response: none goes past one that is not yet sent.
    pub fn is_before_acks(&self) -> bool {
        self.waiting > 0 || self.unsent > 0 || self.owes()
    }

    /// Whether so many new requests are unanswered as may be. Those that were answered before do not count.
    fn is_full(&self) -> bool {
        let begun = self.cursors.iter().filter(|cursor| !cursor.again);
        self.waiting_new + begun.count() >= self.granted
    }

    /// Answers a request whose turn has come: all earlier writes of its QP are in memory. `perform` does an atomic and
    /// returns what the memory had before; it is called once for each atomic, whatever comes again.
    pub fn answer(&mut self, request: &Accepted, perform: impl FnOnce(u64, AtomicKind) -> u64) {
        // The QP may have failed meanwhile.
        let Some(waiting) = self.waiting.checked_sub(1) else {
            return;
        };
        self.waiting = waiting;
        self.waiting_new -= usize::from(!request.again);
        let mut original = None;
        if let Asked::Atomic(kind) = request.asked {
            let of = |kept: &&mut Kept| kept.request.psn == request.psn;
            let Some(kept) = self.kept.iter_mut().rev().find(of) else {
                return;
            };
            original = Some(
                *kept
                    .original
                    .get_or_insert_with(|| perform(request.va, kind)),
            );
        }
        self.place(Cursor {
            next: request.psn,
            va: request.va,
            rkey: request.rkey,
            left: match request.asked {
                Asked::Read { bytes } => bytes,
                Asked::Atomic(_) => 0,
            },
            begun: false,
            msn: request.msn,
            original,
            again: request.again,
        });
    }

    /// Puts a cursor in its place. A READ that is asked again is answered from where the requester stands, and what was
    /// still to be sent of it is not (IBTA volume 1 §9.7.5.1.2).
    fn place(&mut self, cursor: Cursor) {
        // One message has one MSN, also when it is answered again.
        let same = |old: &&mut Cursor| old.msn == cursor.msn;
        if let Some(old) = self.cursors.iter_mut().find(same) {
            let again = old.again;
            *old = Cursor { again, ..cursor };
            return;
        }
        let before = |old: &Cursor| old.next.ahead_of(cursor.next) < 0;
        let at = self.cursors.partition_point(before);
        self.cursors.insert(at, cursor);
    }

    /// The next response, of packets of at most `mtu` bytes.
    pub fn next(&mut self, mtu: u32) -> Option<Data> {
        let cursor = self.cursors.front_mut()?;
        let bytes = cursor.left.min(mtu);
        let last = cursor.left <= mtu;
        let opcode = match cursor.original {
            Some(_) => Opcode::RC_ATOMIC_ACK,
            None => opcode(cursor.begun, last),
        };
        let data = Data {
            response: Response {
                opcode,
                psn: cursor.next,
                syndrome: Syndrome::ACK,
                msn: cursor.msn,
                original: cursor.original.unwrap_or_default(),
            },
            va: cursor.va,
            rkey: cursor.rkey,
            bytes: bytes as u16,
            again: self.top.is_some_and(|top| cursor.next.ahead_of(top) < 0),
        };
        cursor.begun = true;
        cursor.next = cursor.next.advance(1);
        if !data.again {
            self.top = Some(cursor.next);
        }
        cursor.va = cursor.va.wrapping_add(bytes.into());
        cursor.left -= bytes;
        if last {
            self.cursors.pop_front();
        }
        self.unsent += 1;
        Some(data)
    }

    /// The kept request that a request repeats: a READ from its beginning or its inside, with the same key; the same
    /// atomic.
    fn repeated(&self, arrival: &Arrival, asked: Asked, mtu: u32) -> Option<&Kept> {
        self.kept.iter().rev().find(|kept| {
            let old = &kept.request;
            match (old.asked, asked) {
                (Asked::Read { bytes }, Asked::Read { .. }) => {
                    let first = ReadAsked {
                        psn: old.psn,
                        va: old.va,
                        rkey: old.rkey,
                        bytes,
                    };
                    first.is_repeated_by(&ReadAsked::of(arrival), mtu)
                }
                (Asked::Atomic(first), Asked::Atomic(again)) => {
                    arrival.psn == old.psn && first == again
                }
                _ => false,
            }
        })
    }
}

impl ResponderQp {
    /// Takes a READ or an atomic. `allowed` is whether the key permits it. Returns the step, and the request if it is
    /// to be answered: by [`Answered::answer`], when the QP's earlier writes are in memory.
    pub fn ask(
        &mut self,
        arrival: &Arrival,
        asked: Asked,
        answered: &mut Answered,
        allowed: bool,
    ) -> (ResponderStep, Option<Accepted>) {
        let context = &self.context;
        if context.state != QpState::Ready {
            return (ResponderNote::NotReady.into(), None);
        }
        let mtu = mtu_bytes(context.configuration.mtu);
        let ahead = arrival.psn.ahead_of(context.expected_psn);
        if ahead > 0 {
            return (self.gap(), None);
        }
        if ahead < 0 {
            let room = answered.waiting < 2 * answered.granted;
            let again = answered.repeated(arrival, asked, mtu).filter(|_| room);
            let request = again.map(|kept| Accepted {
                psn: arrival.psn,
                va: arrival.va,
                asked,
                again: true,
                ..kept.request
            });
            answered.waiting += usize::from(request.is_some());
            return (ResponderNote::Duplicate.into(), request);
        }
        let full = answered.is_full();
        if let Some(fault) = context.fault_of_asked(arrival, asked, full, allowed) {
            return (self.refuse(fault), None);
        }
        let context = &mut self.context;
        context.accept_asked(arrival.psn, asked.psns(mtu));
        let request = Accepted {
            psn: arrival.psn,
            va: arrival.va,
            rkey: arrival.rkey,
            asked,
            msn: context.msn,
            again: false,
        };
        answered.waiting += 1;
        answered.waiting_new += 1;
        answered.kept.push_back(Kept {
            request,
            original: None,
        });
        if answered.kept.len() > answered.granted {
            answered.kept.pop_front();
        }
        (ResponderNote::Accepted.into(), Some(request))
    }
}

#[cfg(test)]
mod tests;
