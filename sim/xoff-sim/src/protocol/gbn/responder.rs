//! The receiver's half: takes packets in order, says where payload goes, owes ACKs and NAKs.

use serde::{Deserialize, Serialize};

use super::types::MESSAGE_BYTES_MAX;
use super::{Arrival, Completion, Place, QpState, Recv, Response, Status, mtu_bytes};
use crate::wire::{Msn, NakCode, Opcode, Psn, RnrTimer, Syndrome};

/// `responder_config_t`: what software chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResponderConfig {
    /// 256 « mtu bytes; 5 to 7 count as 4.
    pub mtu: u8,
    /// IBTA volume 1 table 45, 0 to 31: sent with RNR NAKs.
    pub rnr_timer: u8,
    /// Go-back-0: after a gap the message's first packet is expected.
    pub restart: bool,
}

/// `owed_e`: the answer to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Owed {
    #[default]
    None,
    Ack,
    Nak,
}

/// `responder_context_t`: what the responder knows of a QP. Head and tail count modulo 256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct ResponderContext {
    pub state: QpState,
    pub configuration: ResponderConfig,
    pub head: u8,
    pub tail: u8,
    pub expected_psn: Psn,
    pub first_psn: Psn,
    pub msn: Msn,
    pub under_way: bool,
    pub writing: bool,
    pub offset: u32,
    pub va: u64,
    pub rkey: u32,
    pub dma_len: u32,
    pub silent: bool,
    pub owed: Owed,
    pub syndrome: Syndrome,
    pub status: Status,
}

/// What can happen to a QP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponderEvent {
    /// It is made.
    Open {
        /// As software chooses.
        configuration: ResponderConfig,
        /// Of the first packet.
        psn: Psn,
    },
    /// It is gone.
    Close,
    /// A buffer for it.
    Post(Recv),
    /// A request packet came.
    Packet(Arrival),
    /// It may send the answer that it owes.
    Grant,
    /// The QP's requester has failed.
    Fail,
    /// It has something to walk. The unit's own.
    Walk,
    /// An event from outside whose kind, 5 to 7, means nothing there.
    Other(u8),
}

/// `responder_note_e`: what came of a step. Codes 13 and 14 are nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the package says what they are")]
pub enum ResponderNote {
    None,
    Accepted,
    Duplicate,
    Gap,
    GapAgain,
    NoBuffer,
    Invalid,
    Access,
    TooLong,
    NotReady,
    NothingOwed,
    RefusedFull,
    RefusedState,
    Ignored,
}

impl ResponderNote {
    /// The note of a code.
    pub const fn from_code(code: u8) -> Option<Self> {
        const ALL: [ResponderNote; 13] = [
            ResponderNote::None,
            ResponderNote::Accepted,
            ResponderNote::Duplicate,
            ResponderNote::Gap,
            ResponderNote::GapAgain,
            ResponderNote::NoBuffer,
            ResponderNote::Invalid,
            ResponderNote::Access,
            ResponderNote::TooLong,
            ResponderNote::NotReady,
            ResponderNote::NothingOwed,
            ResponderNote::RefusedFull,
            ResponderNote::RefusedState,
        ];
        match code {
            0..=12 => Some(ALL[code as usize]),
            15 => Some(Self::Ignored),
            _ => None,
        }
    }
}

/// What a step gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderStep {
    /// What came of it.
    pub note: ResponderNote,
    /// A buffer that ended.
    pub completion: Option<Completion>,
    /// Where the packet's payload goes.
    pub place: Option<Place>,
    /// An answer to send.
    pub response: Option<Response>,
    /// A WALK step comes next.
    pub walk: bool,
}

impl From<ResponderNote> for ResponderStep {
    fn from(note: ResponderNote) -> Self {
        Self {
            note,
            completion: None,
            place: None,
            response: None,
            walk: false,
        }
    }
}

/// Which packet of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    Middle,
    Last,
    Only,
}

/// What an opcode asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operation {
    position: Position,
    writing: bool,
    /// Immediate data, or a key to invalidate.
    imm: bool,
}

/// READ and atomics.
const NOT_SERVED: [u8; 3] = [
    Opcode::RC_READ_REQUEST.0,
    Opcode::RC_CMP_SWAP.0,
    Opcode::RC_FETCH_ADD.0,
];

impl Operation {
    /// `None` for what is no SEND and no WRITE.
    fn of(code: u8) -> Option<Self> {
        use Position::*;
        let (position, writing, imm) = match Opcode(code) {
            Opcode::RC_SEND_FIRST => (First, false, false),
            Opcode::RC_SEND_MIDDLE => (Middle, false, false),
            Opcode::RC_SEND_LAST => (Last, false, false),
            Opcode::RC_SEND_LAST_IMM | Opcode::RC_SEND_LAST_INV => (Last, false, true),
            Opcode::RC_SEND_ONLY => (Only, false, false),
            Opcode::RC_SEND_ONLY_IMM | Opcode::RC_SEND_ONLY_INV => (Only, false, true),
            Opcode::RC_WRITE_FIRST => (First, true, false),
            Opcode::RC_WRITE_MIDDLE => (Middle, true, false),
            Opcode::RC_WRITE_LAST => (Last, true, false),
            Opcode::RC_WRITE_LAST_IMM => (Last, true, true),
            Opcode::RC_WRITE_ONLY => (Only, true, false),
            Opcode::RC_WRITE_ONLY_IMM => (Only, true, true),
            _ => return None,
        };
        Some(Self {
            position,
            writing,
            imm,
        })
    }

    fn begins(self) -> bool {
        matches!(self.position, Position::First | Position::Only)
    }

    fn ends(self) -> bool {
        matches!(self.position, Position::Last | Position::Only)
    }

    /// Takes a buffer from the queue with its last packet.
    fn takes_buffer(self) -> bool {
        !self.writing || self.imm
    }
}

/// Why a packet in order is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Invalid,
    Access,
    NoBuffer,
    TooLong,
}

/// A QP at the responder: context and ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderQp {
    /// The context.
    pub context: ResponderContext,
    ring: Vec<Recv>,
}

impl ResponderQp {
    /// A closed one, with a ring of `slots` (a power of two, 2 to 128).
    pub fn new(slots: usize) -> Self {
        Self {
            context: ResponderContext::default(),
            ring: vec![Recv::default(); slots],
        }
    }

    /// The buffer of the next message that takes one.
    pub fn buffer(&self) -> Option<&Recv> {
        let context = &self.context;
        (context.tail != context.head)
            .then(|| &self.ring[usize::from(context.tail) % self.ring.len()])
    }

    /// One step.
    pub fn step(&mut self, event: ResponderEvent) -> ResponderStep {
        match event {
            ResponderEvent::Open { configuration, psn } => {
                self.context = ResponderContext {
                    state: QpState::Ready,
                    configuration,
                    expected_psn: psn,
                    ..ResponderContext::default()
                };
                ResponderNote::None.into()
            }
            ResponderEvent::Close => {
                self.context = ResponderContext::default();
                ResponderNote::None.into()
            }
            ResponderEvent::Post(recv) => self.post(recv),
            ResponderEvent::Packet(arrival) => {
                let operation = Operation::of(arrival.operation);
                if operation.is_none() && !NOT_SERVED.contains(&arrival.operation) {
                    return ResponderNote::Ignored.into();
                }
                if self.context.state != QpState::Ready {
                    return ResponderNote::NotReady.into();
                }
                self.packet(&arrival, operation)
            }
            ResponderEvent::Grant => self.grant(),
            ResponderEvent::Walk => self.walk(),
            ResponderEvent::Fail if self.context.state == QpState::Ready => {
                self.context.state = QpState::Error;
                self.context.status = Status::Flushed;
                ResponderStep {
                    walk: true,
                    ..ResponderNote::None.into()
                }
            }
            ResponderEvent::Fail | ResponderEvent::Other(_) => ResponderNote::Ignored.into(),
        }
    }

    fn post(&mut self, recv: Recv) -> ResponderStep {
        let slots = self.ring.len();
        let context = &mut self.context;
        if context.state == QpState::Closed {
            return ResponderNote::RefusedState.into();
        }
        if usize::from(context.head.wrapping_sub(context.tail)) == slots {
            return ResponderNote::RefusedFull.into();
        }
        self.ring[usize::from(context.head) % slots] = recv;
        context.head = context.head.wrapping_add(1);
        ResponderStep {
            walk: context.state == QpState::Error,
            ..ResponderNote::None.into()
        }
    }

    fn packet(&mut self, arrival: &Arrival, operation: Option<Operation>) -> ResponderStep {
        let context = &mut self.context;
        let ahead = arrival.psn.ahead_of(context.expected_psn);
        if ahead > 0 {
            return self.gap();
        }
        if ahead < 0 {
            let restarts = context.configuration.restart
                && context.under_way
                && arrival.psn == context.first_psn;
            if !restarts {
                if context.owed == Owed::None {
                    context.owed = Owed::Ack;
                }
                return ResponderNote::Duplicate.into();
            }
            context.forget_message();
            context.expected_psn = arrival.psn;
        }
        let accepted = operation
            .ok_or(Refusal::Invalid)
            .and_then(|operation| self.refuses(arrival, operation).map_or(Ok(operation), Err));
        match accepted {
            Ok(operation) => self.accept(arrival, operation),
            Err(refusal) => self.refuse(refusal),
        }
    }

    fn gap(&mut self) -> ResponderStep {
        let context = &mut self.context;
        if context.silent {
            return ResponderNote::GapAgain.into();
        }
        context.owe_nak(Syndrome::PSN_SEQUENCE_ERROR);
        context.silent = true;
        if context.configuration.restart && context.under_way {
            context.expected_psn = context.first_psn;
            context.forget_message();
        }
        ResponderNote::Gap.into()
    }

    fn refuses(&self, arrival: &Arrival, operation: Operation) -> Option<Refusal> {
        let context = &self.context;
        let (position, writing) = (operation.position, operation.writing);
        let fits = match context.under_way {
            true => !operation.begins() && writing == context.writing,
            false => operation.begins(),
        };
        if !fits {
            return Some(Refusal::Invalid);
        }
        let mtu = mtu_bytes(context.configuration.mtu);
        let payload = u32::from(arrival.payload_bytes);
        let sized = match position {
            Position::First | Position::Middle => payload == mtu,
            Position::Last => (1..=mtu).contains(&payload),
            Position::Only => payload <= mtu,
        };
        if !sized {
            return Some(Refusal::Invalid);
        }
        let dma_len = match operation.begins() {
            true => arrival.dma_len,
            false => context.dma_len,
        };
        let bytes = u64::from(context.offset) + u64::from(payload);
        if writing {
            if operation.begins() && dma_len > MESSAGE_BYTES_MAX {
                return Some(Refusal::Invalid);
            }
            if operation.begins() && dma_len != 0 && !arrival.access {
                return Some(Refusal::Access);
            }
            let right = match operation.ends() {
                true => bytes == u64::from(dma_len),
                false => bytes < u64::from(dma_len),
            };
            if !right {
                return Some(Refusal::Invalid);
            }
        }
        let needs = match writing {
            false => operation.begins(),
            true => operation.ends() && operation.imm,
        };
        match self.buffer() {
            None if needs => Some(Refusal::NoBuffer),
            Some(buffer) if !writing && bytes > u64::from(buffer.length) => Some(Refusal::TooLong),
            _ => None,
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> ResponderStep {
        let context = &mut self.context;
        let (note, status, code) = match refusal {
            Refusal::NoBuffer => {
                let timer = RnrTimer::from_code(context.configuration.rnr_timer & 31);
                context.owe_nak(Syndrome::rnr_nak(timer.expect("5 bits")));
                context.silent = true;
                return ResponderNote::NoBuffer.into();
            }
            Refusal::Invalid => (
                ResponderNote::Invalid,
                Status::Flushed,
                NakCode::InvalidRequest,
            ),
            Refusal::Access => (
                ResponderNote::Access,
                Status::Flushed,
                NakCode::RemoteAccessError,
            ),
            Refusal::TooLong => (
                ResponderNote::TooLong,
                Status::LocalLength,
                NakCode::InvalidRequest,
            ),
        };
        context.state = QpState::Error;
        context.owe_nak(Syndrome::nak(code));
        context.status = status;
        ResponderStep {
            walk: true,
            ..note.into()
        }
    }

    fn accept(&mut self, arrival: &Arrival, operation: Operation) -> ResponderStep {
        let buffer = self.buffer().copied();
        let context = &mut self.context;
        let mut step = ResponderStep::from(ResponderNote::Accepted);
        if operation.begins() && operation.writing {
            context.va = arrival.va;
            context.rkey = arrival.rkey;
            context.dma_len = arrival.dma_len;
        }
        if arrival.payload_bytes > 0 {
            let (va, key) = match (operation.writing, buffer) {
                (true, _) => (context.va, context.rkey),
                (false, buffer) => {
                    let buffer = buffer.expect("a SEND under way has a buffer");
                    (buffer.local_va, buffer.local_key)
                }
            };
            step.place = Some(Place {
                va: va.wrapping_add(context.offset.into()),
                key,
                remote: operation.writing,
                bytes: arrival.payload_bytes,
            });
        }
        context.silent = false;
        context.expected_psn = arrival.psn.advance(1);
        if context.owed == Owed::Nak || arrival.ack_req {
            context.owed = Owed::Ack;
        }
        context.offset += u32::from(arrival.payload_bytes);
        if operation.position == Position::First {
            context.under_way = true;
            context.writing = operation.writing;
            context.first_psn = arrival.psn;
        }
        if operation.ends() {
            if operation.takes_buffer() {
                step.completion = Some(Completion {
                    receive: true,
                    status: Status::Success,
                    id: buffer.expect("checked").id,
                    operation: arrival.operation,
                    length: match operation.writing {
                        true => context.dma_len,
                        false => context.offset,
                    },
                    imm: if operation.imm { arrival.imm } else { 0 },
                    solicited: arrival.solicited,
                });
                context.tail = context.tail.wrapping_add(1);
            }
            context.forget_message();
            context.msn =
                Msn::new(context.msn.get().wrapping_add(1) & Msn::MAX.get()).expect("24 bits");
        }
        step
    }

    fn grant(&mut self) -> ResponderStep {
        let context = &mut self.context;
        let (psn, syndrome) = match context.owed {
            Owed::None => return ResponderNote::NothingOwed.into(),
            Owed::Ack => (context.expected_psn.advance(Psn::MAX.get()), Syndrome::ACK),
            Owed::Nak => (context.expected_psn, context.syndrome),
        };
        context.owed = Owed::None;
        ResponderStep {
            response: Some(Response {
                opcode: Opcode::RC_ACK,
                psn,
                syndrome,
                msn: context.msn,
                original: 0,
            }),
            ..ResponderNote::None.into()
        }
    }

    fn walk(&mut self) -> ResponderStep {
        let mut step = ResponderStep::from(ResponderNote::None);
        if self.context.state != QpState::Error {
            return step;
        }
        if let Some(buffer) = self.buffer().copied() {
            let context = &mut self.context;
            step.completion = Some(Completion {
                receive: true,
                status: context.status,
                id: buffer.id,
                ..Completion::default()
            });
            context.status = Status::Flushed;
            context.tail = context.tail.wrapping_add(1);
            step.walk = context.tail != context.head;
        }
        step
    }
}

impl ResponderContext {
    fn owe_nak(&mut self, syndrome: Syndrome) {
        self.owed = Owed::Nak;
        self.syndrome = syndrome;
    }

    /// None is under way.
    fn forget_message(&mut self) {
        self.under_way = false;
        self.writing = false;
        self.first_psn = Psn::default();
        self.offset = 0;
        self.va = 0;
        self.rkey = 0;
        self.dma_len = 0;
    }
}

#[cfg(test)]
mod tests;
