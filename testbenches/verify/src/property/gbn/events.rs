//! Events of the go-back-N units. PSNs and lengths are relative to the state of the QP at the time of the event, so
//! that histories reach deep states and shrink well.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::gbn::requester::reading::Returned;
use xoff_sim::protocol::gbn::responder::answered::ATOMIC_BYTES;
use xoff_sim::protocol::gbn::responder::reads::Original;
use xoff_sim::protocol::gbn::{
    Arrival, Recv, Refusal, RequesterConfig, RequesterEvent, RequesterQp, ResponderConfig,
    ResponderContext, ResponderEvent, ResponderQp, Work, WorkKind, mtu_bytes,
};
use xoff_sim::wire::{Opcode, Psn, Syndrome};

use crate::property::history::{Part, valid_start};
use xoff_sim::seeded::SplitMix;

/// The unit, its number of QPs, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names of tops, and of the module `pair`")]
pub enum Bench {
    Requester,
    Requester4,
    Responder,
    Responder4,
    Pair,
    PairOfModels,
}

/// Settings of a whole case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The bench.
    pub bench: Bench,
    /// The cycle of reset.
    pub start: u64,
    /// Run the case a second time without skipping idle cycles, and compare.
    pub twice: bool,
    /// The path between the units of a pair.
    pub path: Path,
}

/// What a path does to packets, in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Seed of its random choices.
    pub seed: u64,
    /// Packets lost, of a thousand.
    pub drops: u16,
    /// Duplicated packets, of a thousand.
    pub doubles: u16,
    /// Packets that are overtaken by later ones, of a thousand.
    pub late: u16,
    /// Delay of the path in cycles.
    pub delay: u16,
    /// Minimum number of cycles between two packets. An answer may also wait this long before it is granted.
    pub gap: u16,
}

impl Path {
    /// Returns whether every packet arrives once and in order.
    pub fn is_clean(&self) -> bool {
        (self.drops, self.doubles, self.late) == (0, 0, 0)
    }
}

/// A PSN that a QP of a requester knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields of its context")]
pub enum Anchor {
    Una,
    Next,
    Top,
    Asked,
    /// The first of the oldest message.
    First,
}

impl Anchor {
    fn psn(self, stands: &RequesterQp) -> Psn {
        let context = &stands.context;
        match self {
            Anchor::Una => context.una_psn,
            Anchor::Next => context.next_psn,
            Anchor::Top => context.top_psn,
            Anchor::Asked => context.asked_psn,
            Anchor::First => stands.posted(context.tail).first,
        }
    }
}

/// The operation of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Continues the message under way, or begins a message of several packets.
    GoOn,
    /// Ends the message under way, or is a whole message. 1: with immediate data, 2: with a key to invalidate.
    End(u8),
    /// This opcode.
    Code(u8),
}

/// An event. Events of other units than the bench's, and of QPs that the unit does not have, do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// This many cycles without another event.
    Wait(u32),
    /// The next event comes this many times.
    Many(u32),
    /// For a requester alone: holds its timers from now on, or releases them.
    Hold(bool),
    /// For a requester alone: from now on, whether a packet of the QP that asks for an ACK waits for the wire.
    Asks {
        /// Whose.
        qp: u16,
        /// One waits.
        asks: bool,
    },
    /// For a requester alone: from now on, whether an answer of the QP's peer waits to become an event.
    AnswerWaits {
        /// Whose.
        qp: u16,
        /// One waits.
        waits: bool,
    },
    /// For a requester alone: such a packet leaves.
    Left {
        /// Whose.
        qp: u16,
        /// Its last bit; `false`: it is about to leave.
        end: bool,
    },
    /// Wait until this many cycles after (or before) the QP's deadline.
    Due {
        /// Whose.
        qp: u16,
        /// How many.
        offset: i8,
    },
    /// A requester's QP is opened.
    Open {
        /// Which.
        qp: u16,
        /// The configuration.
        configuration: RequesterConfig,
        /// Its first PSN.
        psn: u32,
    },
    /// A responder's QP is opened.
    Listen {
        /// Which.
        qp: u16,
        /// The configuration.
        configuration: ResponderConfig,
        /// Its first PSN.
        psn: u32,
    },
    /// The QP is closed.
    Close {
        /// Which.
        qp: u16,
    },
    /// An event of an undefined kind.
    Kind {
        /// The QP.
        qp: u16,
        /// 5 to 7 and 10 to 15.
        kind: u8,
    },
    /// A work request of this many full packets minus `less` bytes.
    Post {
        /// The QP.
        qp: u16,
        /// `work_e`.
        kind: u8,
        /// How many.
        packets: u32,
        /// Bytes that the last one lacks. An atomic has the bytes that it has to have if they are below 2¹⁵.
        less: u16,
        /// Success makes a completion too.
        signaled: bool,
        /// Seed of all other fields.
        seed: u64,
    },
    /// A work request of this many bytes.
    PostBytes {
        /// The QP.
        qp: u16,
        /// `work_e`.
        kind: u8,
        /// How many.
        length: u32,
    },
    /// SEND, this many times.
    Send {
        /// The QP.
        qp: u16,
        /// How many.
        times: u8,
    },
    /// An answer arrives.
    Answer {
        /// The QP.
        qp: u16,
        /// The PSN that `offset` counts from.
        at: Anchor,
        /// Offset of the PSN.
        offset: i32,
        /// Its syndrome.
        syndrome: u8,
    },
    /// The payload of a packet cannot be read.
    Unread {
        /// The QP.
        qp: u16,
        /// The PSN that `offset` counts from.
        at: Anchor,
        /// Offset of the PSN.
        offset: i32,
    },
    /// A READ response, or the answer of an atomic, arrives: the next one of the oldest that is not answered, or one like
    /// it.
    Returns {
        /// The QP.
        qp: u16,
        /// Offset of its PSN from that of the next one.
        offset: i32,
        /// 1: a First or Only is none, and the other way round; 2: so of Last and Only; 3: one byte more; 4: one less;
        /// 5: the answer of an atomic to a READ, and the other way round; 6: the NAK of its AETH; 0: as it should be.
        odd: u8,
    },
    /// A buffer for this many full packets plus `more` bytes.
    Buffer {
        /// The QP.
        qp: u16,
        /// How many.
        packets: u32,
        /// How many.
        more: i32,
        /// Seed of all other fields.
        seed: u64,
    },
    /// A packet arrives.
    Packet {
        /// The QP.
        qp: u16,
        /// `offset` counts from the first PSN of the message under way instead of the expected PSN.
        first: bool,
        /// Offset of the PSN.
        offset: i32,
        /// The operation.
        operation: Operation,
        /// A message that begins is a WRITE.
        write: bool,
        /// Payload bytes in excess of the right number.
        more: i32,
        /// Packets of its WRITE.
        packets: u8,
        /// Bytes in excess of the right length of its WRITE.
        dma_more: i64,
        /// It asks for an ACK.
        ack_req: bool,
        /// Its memory region may be written.
        access: bool,
        /// Seed of all other fields.
        seed: u64,
    },
    /// A packet that was accepted cannot be written.
    Refuse {
        /// The QP.
        qp: u16,
        /// Number of packets that were accepted since then, with this one.
        back: u8,
        /// It is a WRITE.
        remote: bool,
    },
    /// An answer may be sent.
    Grant {
        /// The QP.
        qp: u16,
    },
    /// A READ request arrives.
    AskRead {
        /// The QP.
        qp: u16,
        /// Offset of the PSN from the expected one, if it does not repeat another one.
        offset: i32,
        /// Full responses.
        packets: u32,
        /// Bytes in excess of them.
        more: i32,
        /// Bytes of payload, which is illegal.
        payload: u8,
        /// Its memory region may be read.
        access: bool,
        /// Seed of all other fields.
        seed: u64,
    },
    /// An atomic arrives.
    AskAtomic {
        /// The QP.
        qp: u16,
        /// Offset of the PSN from the expected one.
        offset: i32,
        /// Fetch and add, not compare and swap.
        add: bool,
        /// Bytes of payload, which is illegal.
        payload: u8,
        /// Its memory region may be used.
        access: bool,
        /// Bytes from an aligned address to its own.
        unaligned: u8,
        /// Seed of all other fields.
        seed: u64,
    },
    /// A READ request or an atomic is asked again.
    AskReadAgain {
        /// The QP.
        qp: u16,
        /// How many READs and atomics were accepted since then, with this one.
        back: u8,
        /// How many responses of it are left out.
        inside: u32,
        /// 1: another key, 2: another address, 3: more bytes, 4: fewer bytes, 5: another operation; 0: what is left of
        /// it.
        odd: u8,
    },
    /// The host has performed an atomic, if there is one.
    Performed {
        /// The QP.
        qp: u16,
        /// How many READs and atomics were accepted since then, with this one.
        back: u8,
        /// What it found.
        original: u64,
    },
    /// All that came before the next READ is in memory. Nothing if no READ waits for that.
    Settle {
        /// The QP.
        qp: u16,
    },
    /// A READ response may be sent.
    ReadResponse {
        /// The QP.
        qp: u16,
    },
}

impl Part for Head {
    fn valid(&self) -> Result<(), String> {
        valid_start(self.start)
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = *self;
        match &mut simpler {
            Event::Wait(cycles) if *cycles > 0 => *cycles /= 2,
            Event::Many(times) if *times > 1 => *times /= 2,
            Event::Due { offset, .. } if *offset != 0 => *offset /= 2,
            Event::Post { packets, .. } if *packets > 1 => *packets /= 2,
            Event::Post { less, .. } if *less > 0 => *less /= 2,
            Event::Send { times, .. } if *times > 1 => *times -= 1,
            Event::Answer { offset, .. } if *offset != 0 => *offset /= 2,
            Event::Unread { offset, .. } if *offset != 0 => *offset /= 2,
            Event::Returns { offset, .. } if *offset != 0 => *offset /= 2,
            Event::Buffer { packets, .. } if *packets > 0 => *packets /= 2,
            Event::Packet { offset, .. } if *offset != 0 => *offset /= 2,
            Event::Packet { packets, .. } if *packets > 1 => *packets -= 1,
            Event::Refuse { back, .. } if *back > 1 => *back -= 1,
            Event::AskRead { packets, .. } if *packets > 0 => *packets /= 2,
            Event::AskReadAgain { inside, .. } if *inside > 0 => *inside /= 2,
            _ => return vec![],
        }
        vec![simpler]
    }
}

impl Event {
    /// Whose.
    pub fn qp(&self) -> Option<u16> {
        match *self {
            Event::Wait(_) | Event::Many(_) | Event::Hold(_) => None,
            Event::Due { qp, .. }
            | Event::Asks { qp, .. }
            | Event::AnswerWaits { qp, .. }
            | Event::Left { qp, .. }
            | Event::Open { qp, .. }
            | Event::Listen { qp, .. }
            | Event::Close { qp }
            | Event::Kind { qp, .. }
            | Event::Post { qp, .. }
            | Event::PostBytes { qp, .. }
            | Event::Send { qp, .. }
            | Event::Answer { qp, .. }
            | Event::Unread { qp, .. }
            | Event::Returns { qp, .. }
            | Event::Buffer { qp, .. }
            | Event::Packet { qp, .. }
            | Event::Refuse { qp, .. }
            | Event::Grant { qp }
            | Event::AskRead { qp, .. }
            | Event::AskAtomic { qp, .. }
            | Event::AskReadAgain { qp, .. }
            | Event::Performed { qp, .. }
            | Event::Settle { qp }
            | Event::ReadResponse { qp } => Some(qp),
        }
    }

    /// Returns the event for a requester's QP in this state.
    pub fn at_requester(&self, stands: &RequesterQp) -> Option<RequesterEvent> {
        let context = &stands.context;
        Some(match *self {
            Event::Open {
                configuration, psn, ..
            } => RequesterEvent::Open {
                configuration,
                psn: Psn::wrapping(psn),
            },
            Event::Close { .. } => RequesterEvent::Close,
            Event::Kind { kind: 7, .. } => RequesterEvent::Fail,
            Event::Kind { kind, .. } => RequesterEvent::Other(kind),
            Event::Post {
                kind,
                packets,
                less,
                signaled,
                seed,
                ..
            } => {
                let mtu = mtu_bytes(context.configuration.mtu);
                let length = u64::from(packets) * u64::from(mtu);
                let length = length.min(u32::MAX.into()) as u32;
                let kind = WorkKind(kind & 15);
                let length = match kind.is_atomic() && less < 1 << 15 {
                    true => ATOMIC_BYTES,
                    false => length.saturating_sub(less.into()),
                };
                RequesterEvent::Post(Work {
                    kind,
                    signaled,
                    ..work(length, seed)
                })
            }
            Event::PostBytes { kind, length, .. } => RequesterEvent::Post(Work {
                kind: WorkKind(kind & 15),
                signaled: true,
                ..work(length, u64::from(length))
            }),
            Event::Send { .. } => RequesterEvent::Send,
            Event::Answer {
                at,
                offset,
                syndrome,
                ..
            } => RequesterEvent::Ack {
                psn: at.psn(stands).advance(offset as u32),
                syndrome: Syndrome(syndrome),
            },
            Event::Unread { at, offset, .. } => RequesterEvent::Unread {
                psn: at.psn(stands).advance(offset as u32),
            },
            Event::Returns { offset, odd, .. } => {
                RequesterEvent::Response(returned(stands, offset, odd))
            }
            _ => return None,
        })
    }

    /// Returns the event for a responder's QP in this state.
    pub fn at_responder(&self, stands: &ResponderQp) -> Option<ResponderEvent> {
        let context = &stands.context;
        let mtu = mtu_bytes(context.configuration.mtu);
        Some(match *self {
            Event::Listen {
                configuration, psn, ..
            } => ResponderEvent::Open {
                configuration,
                psn: Psn::wrapping(psn),
            },
            Event::Close { .. } => ResponderEvent::Close,
            Event::Kind { kind: 5, .. } => ResponderEvent::Fail,
            Event::Kind { kind: 7, .. } => refuse(context, 1, false),
            Event::Kind { kind, .. } => ResponderEvent::Other(kind),
            Event::Refuse { back, remote, .. } => refuse(context, back, remote),
            Event::Buffer {
                packets,
                more,
                seed,
                ..
            } => {
                let length = i64::from(packets) * i64::from(mtu) + i64::from(more);
                ResponderEvent::Post(buffer(length.clamp(0, u32::MAX.into()) as u32, seed))
            }
            Event::Packet { .. } => ResponderEvent::Packet(self.arrival(stands, mtu)?),
            Event::Grant { .. } => ResponderEvent::Grant,
            Event::AskRead { .. } => ResponderEvent::Packet(self.read(context, mtu)?),
            Event::AskAtomic { .. } => ResponderEvent::Packet(self.atomic(context)?),
            Event::AskReadAgain {
                back, inside, odd, ..
            } => ResponderEvent::Packet(read_again(stands.asked(back)?, mtu, inside, odd)),
            Event::Performed { back, original, .. } => ResponderEvent::Return(Original {
                index: context.reads.head.wrapping_sub(back) % 16,
                original,
            }),
            Event::Settle { .. } if context.reads.head == context.reads.settled => return None,
            Event::Settle { .. } => ResponderEvent::Settle,
            Event::ReadResponse { .. } => ResponderEvent::Read,
            _ => return None,
        })
    }

    fn read(&self, context: &ResponderContext, mtu: u32) -> Option<Arrival> {
        let Event::AskRead {
            offset,
            packets,
            more,
            payload,
            access,
            seed,
            ..
        } = *self
        else {
            return None;
        };
        let mut draw = SplitMix::new(seed);
        let bytes = i64::from(packets) * i64::from(mtu) + i64::from(more);
        Some(Arrival {
            operation: Opcode::RC_READ_REQUEST.0,
            psn: context.expected_psn.advance(offset as u32),
            ack_req: draw.once_in(2),
            payload_bytes: payload.into(),
            access,
            va: draw.bits(),
            rkey: draw.bits() as u32,
            dma_len: bytes.clamp(0, u32::MAX.into()) as u32,
            ..Arrival::default()
        })
    }

    fn atomic(&self, context: &ResponderContext) -> Option<Arrival> {
        let Event::AskAtomic {
            offset,
            add,
            payload,
            access,
            unaligned,
            seed,
            ..
        } = *self
        else {
            return None;
        };
        let mut draw = SplitMix::new(seed);
        let operation = match add {
            true => Opcode::RC_FETCH_ADD,
            false => Opcode::RC_CMP_SWAP,
        };
        Some(Arrival {
            operation: operation.0,
            psn: context.expected_psn.advance(offset as u32),
            ack_req: draw.once_in(2),
            payload_bytes: payload.into(),
            access,
            va: draw.bits() & !7 | u64::from(unaligned % 8),
            rkey: draw.bits() as u32,
            // An AtomicETH has no length.
            dma_len: draw.bits() as u32,
            swap_add: draw.bits(),
            compare: draw.bits(),
            ..Arrival::default()
        })
    }

    fn arrival(&self, stands: &ResponderQp, mtu: u32) -> Option<Arrival> {
        let Event::Packet {
            first,
            offset,
            operation,
            write,
            more,
            packets,
            dma_more,
            ack_req,
            access,
            seed,
            ..
        } = *self
        else {
            return None;
        };
        let context = &stands.context;
        let mut draw = SplitMix::new(seed);
        // A packet with an old PSN is mostly the first of the message, and restarts it.
        let under_way = context.under_way && !first;
        let writing = if under_way { context.writing } else { write };
        let left = context.dma_len.saturating_sub(context.offset);
        let code = match operation {
            Operation::Code(code) => code & 31,
            Operation::GoOn | Operation::End(_) => {
                let full = under_way && writing && left <= mtu;
                let (end, imm) = match operation {
                    Operation::End(imm) => (!(under_way && writing) || left <= mtu, imm),
                    _ => (full, 0),
                };
                let opcode = match (writing, imm) {
                    (false, 1) => WorkKind::SEND_IMM,
                    (false, 2) => WorkKind::SEND_INV,
                    (false, _) => WorkKind::SEND,
                    (true, 1) => WorkKind::WRITE_IMM,
                    (true, _) => WorkKind::WRITE,
                };
                opcode.opcode(!under_way, end).0
            }
        };
        let some = draw.within(0, mtu.into()) as u32;
        let right = match Opcode(code) {
            Opcode::RC_SEND_FIRST
            | Opcode::RC_SEND_MIDDLE
            | Opcode::RC_WRITE_FIRST
            | Opcode::RC_WRITE_MIDDLE => mtu,
            Opcode::RC_WRITE_LAST | Opcode::RC_WRITE_LAST_IMM => left.min(mtu),
            Opcode::RC_SEND_LAST | Opcode::RC_SEND_LAST_IMM | Opcode::RC_SEND_LAST_INV => {
                some.max(1)
            }
            _ => some,
        };
        let payload = (i64::from(right) + i64::from(more)).clamp(0, 0xFFFF) as u32;
        let dma_len = match Opcode(code) {
            // Sometimes exactly this many full packets. With one packet that is illegal, since its only packet would be
            // no First.
            Opcode::RC_WRITE_FIRST => {
                let more = if draw.once_in(16) { 0 } else { some.max(1) };
                mtu * u32::from(packets.max(1)) + more
            }
            _ => payload,
        };
        let psn = match first {
            true => context.first_psn,
            false => context.expected_psn,
        };
        Some(Arrival {
            operation: code,
            psn: psn.advance(offset as u32),
            ack_req,
            solicited: draw.once_in(2),
            payload_bytes: payload as u16,
            access,
            va: draw.bits(),
            rkey: draw.bits() as u32,
            dma_len: (i64::from(dma_len) + dma_more).clamp(0, u32::MAX.into()) as u32,
            imm: draw.bits() as u32,
            swap_add: draw.bits(),
            compare: draw.bits(),
        })
    }
}

/// A READ that was accepted, asked again from its inside.
fn read_again(asked: Arrival, mtu: u32, inside: u32, odd: u8) -> Arrival {
    let skipped = mtu.wrapping_mul(inside);
    let left = asked.dma_len.saturating_sub(skipped);
    let other = match Opcode(asked.operation) {
        Opcode::RC_FETCH_ADD => Opcode::RC_CMP_SWAP,
        Opcode::RC_CMP_SWAP => Opcode::RC_READ_REQUEST,
        _ => Opcode::RC_FETCH_ADD,
    };
    Arrival {
        operation: if odd == 5 { other.0 } else { asked.operation },
        psn: asked.psn.advance(inside),
        va: (asked.va.wrapping_add(skipped.into())).wrapping_add(u64::from(odd == 2) << 40),
        rkey: asked.rkey ^ u32::from(odd == 1) << 31,
        dma_len: match odd {
            3 => left.saturating_add(1),
            4 => left / 2,
            _ => left,
        },
        ..asked
    }
}

/// REFUSE for the packet `back` packets ago; every second packet is as if it had ended a message.
fn refuse(context: &ResponderContext, back: u8, remote: bool) -> ResponderEvent {
    ResponderEvent::Refuse(Refusal {
        psn: (context.expected_psn).advance(u32::from(back).wrapping_neg()),
        msn: context.msn.advance(u32::from(back / 2).wrapping_neg()),
        remote,
    })
}

/// Returns the response at this distance from the one that a requester's QP waits for; an empty Only if it waits for
/// none.
fn returned(stands: &RequesterQp, offset: i32, odd: u8) -> Returned {
    let context = &stands.context;
    let first = context.asking.first_psn;
    let next = match context.una_psn.ahead_of(first) > 0 {
        true => context.una_psn,
        false => first,
    };
    let psn = next.advance(offset as u32);
    let asked = (0..context.head.wrapping_sub(context.tail))
        .map(|place| stands.posted(context.tail.wrapping_add(place)))
        .filter(|posted| posted.work.kind.returns())
        .find(|posted| (0..posted.packets as i32).contains(&psn.ahead_of(posted.first)));
    let mtu = mtu_bytes(context.configuration.mtu);
    let (begins, ends, bytes) = match asked {
        None => (true, true, 0),
        Some(posted) => {
            let number = psn.ahead_of(posted.first) as u32;
            let begins = number == 0 || context.asking.resumed == Some(psn);
            let bytes = posted.work.length - number * mtu;
            (begins, number + 1 == posted.packets, bytes.min(mtu) as u16)
        }
    };
    let atomic = asked.is_some_and(|posted| posted.work.kind.is_atomic());
    let opcode = match (begins != (odd == 1), ends != (odd == 2)) {
        _ if atomic != (odd == 5) => Opcode::RC_ATOMIC_ACK,
        (true, false) => Opcode::RC_READ_RESP_FIRST,
        (false, false) => Opcode::RC_READ_RESP_MIDDLE,
        (false, true) => Opcode::RC_READ_RESP_LAST,
        (true, true) => Opcode::RC_READ_RESP_ONLY,
    };
    Returned {
        opcode,
        psn,
        syndrome: match odd {
            6 => Syndrome(0x62),
            _ => Syndrome::ACK,
        },
        bytes: match odd {
            3 => bytes + 1,
            4 => bytes.saturating_sub(1),
            _ => bytes,
        },
    }
}

fn work(length: u32, seed: u64) -> Work {
    let mut draw = SplitMix::new(seed);
    Work {
        length,
        solicited: draw.once_in(2),
        local_va: draw.bits(),
        local_key: draw.bits() as u32,
        remote_va: draw.bits(),
        remote_key: draw.bits() as u32,
        imm: draw.bits() as u32,
        swap_add: draw.bits(),
        compare: draw.bits(),
        id: draw.bits(),
        fence: draw.once_in(8),
        ..Work::default()
    }
}

fn buffer(length: u32, seed: u64) -> Recv {
    let mut draw = SplitMix::new(seed);
    Recv {
        length,
        local_va: draw.bits(),
        local_key: draw.bits() as u32,
        id: draw.bits(),
    }
}

/// Returns the cycle `offset` cycles after the QP's deadline.
pub fn due(context_due: Option<Cycle>, offset: i8) -> Option<Cycle> {
    context_due.map(|due| Cycle(due.0.saturating_add_signed(offset.into())))
}
