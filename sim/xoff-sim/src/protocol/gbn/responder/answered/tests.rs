//! Directed tests: what is answered, in which order, and what is refused.

use super::*;
use crate::protocol::gbn::{Recv, ResponderConfig, ResponderEvent};

const MTU: u32 = 256;
/// Near the wrap.
const FIRST: u32 = 0xFF_FFFE;
const KEY: u32 = 0x105;

fn psn(n: u32) -> Psn {
    Psn::wrapping(FIRST + n)
}

/// A responder with its memory: a byte an address, and how often an atomic was performed.
struct Bench {
    qp: ResponderQp,
    answered: Answered,
    word: u64,
    performed: u32,
}

impl Bench {
    fn new(granted: u16) -> Self {
        let mut qp = ResponderQp::new(4);
        qp.step(ResponderEvent::Open {
            configuration: ResponderConfig::default(),
            psn: psn(0),
        });
        Self {
            qp,
            answered: Answered::new(granted),
            word: 7,
            performed: 0,
        }
    }

    /// Passes a request on, and answers it at once if it is accepted.
    fn ask(&mut self, arrival: Arrival) -> ResponderNote {
        let (note, accepted) = self.take(arrival);
        self.answer(accepted);
        note
    }

    fn take(&mut self, arrival: Arrival) -> (ResponderNote, Option<Accepted>) {
        let asked = Asked::of(&arrival).expect("a READ or an atomic");
        let allowed = arrival.access;
        let (step, accepted) = self.qp.ask(&arrival, asked, &mut self.answered, allowed);
        (step.note, accepted)
    }

    fn answer(&mut self, accepted: Option<Accepted>) {
        let Self {
            answered,
            word,
            performed,
            ..
        } = self;
        if let Some(request) = accepted {
            answered.answer(&request, |_, kind| {
                *performed += 1;
                std::mem::replace(word, kind.apply(*word))
            });
        }
    }

    /// What is sent: opcode, PSN after the first one, MSN, address, bytes.
    fn sent(&mut self) -> Vec<(Opcode, u32, u32, u64, u16)> {
        let next = || {
            let it = self.answered.next(MTU)?;
            self.answered.sent();
            Some(it)
        };
        std::iter::from_fn(next)
            .map(|it| {
                let Response { opcode, msn, .. } = it.response;
                let ahead = it.response.psn.ahead_of(psn(0));
                (opcode, ahead as u32, msn.get(), it.va, it.bytes)
            })
            .collect()
    }

    /// PSN after the first one, syndrome and MSN of the ACK or NAK.
    fn acknowledged(&mut self) -> Option<(i32, u8, u32)> {
        assert!(!self.answered.is_before_acks());
        let answer = self.qp.step(ResponderEvent::Grant).response?;
        let ahead = answer.psn.ahead_of(psn(0));
        Some((ahead, answer.syndrome.0, answer.msn.get()))
    }
}

fn read(n: u32, va: u64, bytes: u32) -> Arrival {
    Arrival {
        operation: Opcode::RC_READ_REQUEST.0,
        psn: psn(n),
        ack_req: true,
        access: true,
        va,
        rkey: KEY,
        dma_len: bytes,
        ..Arrival::default()
    }
}

fn fetch_add(n: u32, va: u64, add: u64) -> Arrival {
    Arrival {
        operation: Opcode::RC_FETCH_ADD.0,
        swap_add: add,
        dma_len: 0,
        ..read(n, va, 0)
    }
}

const FIRST_: Opcode = Opcode::RC_READ_RESP_FIRST;
const MIDDLE: Opcode = Opcode::RC_READ_RESP_MIDDLE;
const LAST: Opcode = Opcode::RC_READ_RESP_LAST;
const ONLY: Opcode = Opcode::RC_READ_RESP_ONLY;
const INVALID: u8 = 0x61;
const ACCESS: u8 = 0x62;

#[test]
fn a_read_takes_as_many_psns_as_responses() {
    for (bytes, opcodes) in [
        (0, vec![(ONLY, 0)]),
        (1, vec![(ONLY, 1)]),
        (MTU, vec![(ONLY, 256)]),
        (MTU + 1, vec![(FIRST_, 256), (LAST, 1)]),
        (3 * MTU, vec![(FIRST_, 256), (MIDDLE, 256), (LAST, 256)]),
    ] {
        let mut bench = Bench::new(16);
        assert_eq!(bench.ask(read(0, 0x1000, bytes)), ResponderNote::Accepted);
        let count = opcodes.len() as u32;
        let expected: Vec<_> = (0..)
            .zip(opcodes)
            .map(|(n, (opcode, bytes))| (opcode, n, 1, 0x1000 + u64::from(n * MTU), bytes))
            .collect();
        assert_eq!(bench.sent(), expected);
        assert_eq!(bench.qp.context.expected_psn, psn(count));
        assert_eq!(bench.acknowledged(), None, "the responses say it");
    }
}

#[test]
fn several_are_answered_in_their_order_and_acks_wait() {
    let mut bench = Bench::new(16);
    let send = |n| {
        ResponderEvent::Packet(Arrival {
            operation: Opcode::RC_SEND_ONLY.0,
            psn: psn(n),
            ack_req: true,
            ..Arrival::default()
        })
    };
    for id in 1..=2 {
        bench.qp.step(ResponderEvent::Post(Recv {
            id,
            length: 100,
            ..Recv::default()
        }));
    }
    bench.qp.step(send(0));
    let (_, first) = bench.take(read(1, 0x1000, MTU + 1));
    let (_, second) = bench.take(fetch_add(3, 0x2000, 5));
    bench.qp.step(send(4));
    assert!(bench.answered.is_before_acks() && !bench.answered.owes());
    bench.answer(first);
    bench.answer(second);
    assert!(bench.answered.is_before_acks() && bench.answered.owes());
    let sent = bench.sent();
    let opcodes: Vec<_> = sent.iter().map(|it| (it.0, it.1, it.2)).collect();
    let atomic = Opcode::RC_ATOMIC_ACK;
    assert_eq!(opcodes, [(FIRST_, 1, 2), (LAST, 2, 2), (atomic, 3, 3)]);
    assert_eq!(bench.acknowledged(), Some((4, 0x1F, 4)));
}

#[test]
fn one_more_than_granted_is_invalid() {
    let mut bench = Bench::new(2);
    let mut accepted = Vec::new();
    for n in 0..2 {
        accepted.push(bench.take(read(n, 0x1000, 1)));
    }
    assert_eq!(
        bench.take(read(2, 0x1000, 1)),
        (ResponderNote::Invalid, None)
    );
    for (note, request) in accepted {
        assert_eq!(note, ResponderNote::Accepted);
        bench.answer(request);
    }
    assert_eq!(bench.sent().len(), 2, "what was granted is answered");
    assert_eq!(bench.acknowledged(), Some((2, INVALID, 2)));
}

#[test]
fn a_duplicate_is_answered_again_also_from_its_inside() {
    let mut bench = Bench::new(16);
    bench.ask(read(0, 0x1000, 3 * MTU + 5));
    assert_eq!(bench.sent().len(), 4);
    assert_eq!(
        bench.ask(read(0, 0x1000, 3 * MTU + 5)),
        ResponderNote::Duplicate
    );
    assert_eq!(bench.sent().len(), 4);
    let inside = read(2, 0x1000 + 2 * u64::from(MTU), MTU + 5);
    assert_eq!(bench.ask(inside), ResponderNote::Duplicate);
    let at = inside.va;
    let after = at + u64::from(MTU);
    assert_eq!(
        bench.sent(),
        [(FIRST_, 2, 1, at, 256), (LAST, 3, 1, after, 5)]
    );
    assert_eq!(bench.qp.context.expected_psn, psn(4));
    assert_eq!(bench.qp.context.msn.get(), 1);
    for wrong in [
        Arrival {
            rkey: KEY + 1,
            ..inside
        },
        Arrival {
            va: inside.va + 1,
            ..inside
        },
        Arrival {
            dma_len: inside.dma_len + 1,
            ..inside
        },
    ] {
        assert_eq!(bench.ask(wrong), ResponderNote::Duplicate);
        assert_eq!(bench.sent(), [], "not what was asked for: {wrong:x?}");
    }
}

#[test]
fn an_atomic_is_performed_once() {
    let mut bench = Bench::new(16);
    bench.ask(fetch_add(0, 0x2000, 5));
    bench.ask(fetch_add(1, 0x2000, 1));
    assert_eq!((bench.word, bench.performed), (13, 2));
    let originals = |bench: &mut Bench| -> Vec<u64> {
        let next = std::iter::from_fn(|| {
            bench.answered.sent();
            bench.answered.next(MTU)
        });
        next.map(|it| it.response.original).collect()
    };
    assert_eq!(originals(&mut bench), [7, 12]);
    for _ in 0..3 {
        assert_eq!(bench.ask(fetch_add(0, 0x2000, 5)), ResponderNote::Duplicate);
        assert_eq!(originals(&mut bench), [7]);
    }
    assert_eq!((bench.word, bench.performed), (13, 2));
    // Another atomic at the PSN of an old one is not that one.
    bench.ask(fetch_add(0, 0x2000, 6));
    assert_eq!(originals(&mut bench), vec![0_u64; 0]);
    let swap = |n, compare| Arrival {
        operation: Opcode::RC_CMP_SWAP.0,
        compare,
        ..fetch_add(n, 0x2000, 99)
    };
    bench.ask(swap(2, 1));
    assert_eq!(bench.word, 13, "another value");
    bench.ask(swap(3, 13));
    assert_eq!(bench.word, 99);
    assert_eq!(originals(&mut bench), [13, 13]);
}

#[test]
fn a_duplicate_of_an_atomic_that_waits_is_answered_with_it() {
    let mut bench = Bench::new(16);
    let (_, first) = bench.take(fetch_add(0, 0x2000, 5));
    let (_, again) = bench.take(fetch_add(0, 0x2000, 5));
    bench.answer(first);
    bench.answer(again);
    assert_eq!((bench.word, bench.performed), (12, 1));
    assert_eq!(
        bench.sent().len(),
        1,
        "neither was sent before the other came"
    );
}

/// What is asked again is sent from there, once; what was asked behind it stays in its place.
#[test]
fn a_read_that_is_asked_again_is_not_sent_to_its_end_before() {
    let mut bench = Bench::new(2);
    bench.ask(read(0, 0x1000, 4 * MTU));
    bench.ask(read(4, 0x8000, 2 * MTU));
    for n in 0..3 {
        let it = bench.answered.next(MTU).expect("a response");
        assert_eq!(it.response.psn, psn(n));
    }
    let inside = |n: u32| read(n, 0x1000 + u64::from(n * MTU), (4 - n) * MTU);
    assert_eq!(bench.ask(inside(1)), ResponderNote::Duplicate);
    assert_eq!(
        bench.ask(read(4, 0x8000, 2 * MTU)),
        ResponderNote::Duplicate
    );
    let sent = bench.sent();
    let opcodes: Vec<_> = sent.iter().map(|it| (it.0, it.1)).collect();
    let second = [(FIRST_, 4), (LAST, 5)];
    assert_eq!(opcodes[..3], [(FIRST_, 1), (MIDDLE, 2), (LAST, 3)]);
    assert_eq!(opcodes[3..], second);
    // Of a younger one that is under way, the older one goes first.
    bench.ask(read(4, 0x8000, 2 * MTU));
    bench.answered.next(MTU);
    bench.ask(inside(3));
    let opcodes: Vec<_> = bench.sent().iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(opcodes, [(ONLY, 3), (LAST, 5)]);
    // What is answered again does not count as unanswered.
    bench.ask(inside(0));
    bench.ask(read(4, 0x8000, 2 * MTU));
    assert_eq!(bench.ask(read(6, 0x9000, 1)), ResponderNote::Accepted);
    assert_eq!(bench.ask(read(7, 0x9000, 1)), ResponderNote::Accepted);
    assert_eq!(bench.ask(read(8, 0x9000, 1)), ResponderNote::Invalid);
}

#[test]
fn an_ack_waits_until_responses_are_on_the_wire() {
    let mut bench = Bench::new(2);
    bench.ask(read(0, 0x1000, MTU));
    bench.answered.next(MTU);
    assert!(!bench.answered.owes() && bench.answered.is_before_acks());
    bench.answered.fail();
    assert!(bench.answered.is_before_acks(), "a NAK waits, too");
    bench.answered.sent();
    assert!(!bench.answered.is_before_acks());
}

#[test]
fn what_is_wrong_is_refused() {
    let refused = |arrival: Arrival| {
        let mut bench = Bench::new(16);
        let (note, accepted) = bench.take(arrival);
        assert_eq!(accepted, None);
        assert_eq!(bench.qp.context.state, QpState::Error);
        let syndrome = bench.acknowledged().expect("a NAK");
        assert_eq!((syndrome.0, syndrome.2), (0, 0));
        (note, syndrome.1)
    };
    let denied = |arrival| Arrival {
        access: false,
        ..arrival
    };
    let (access, invalid) = (ResponderNote::Access, ResponderNote::Invalid);
    assert_eq!(refused(denied(read(0, 0x1000, 1))), (access, ACCESS));
    assert_eq!(refused(denied(fetch_add(0, 0x2000, 1))), (access, ACCESS));
    assert_eq!(refused(fetch_add(0, 0x2004, 1)), (invalid, INVALID));
    assert_eq!(refused(read(0, 0x1000, (1 << 31) + 1)), (invalid, INVALID));
    assert_eq!(
        refused(read(0, 0x1000, 1 << 31)),
        (invalid, INVALID),
        "2^23 responses"
    );
    // No memory is needed for nothing.
    let mut bench = Bench::new(16);
    assert_eq!(
        bench.ask(denied(read(0, 0x1000, 0))),
        ResponderNote::Accepted
    );
    assert_eq!(
        bench.ask(read(1, 0x1000, 1 << 30)),
        ResponderNote::Accepted,
        "2^22"
    );
    assert_eq!(bench.qp.context.expected_psn, psn(1 + (1 << 22)));
}

#[test]
fn a_read_inside_of_a_message_is_invalid() {
    let mut bench = Bench::new(16);
    bench.qp.step(ResponderEvent::Post(Recv {
        length: 1_000,
        ..Recv::default()
    }));
    bench.qp.step(ResponderEvent::Packet(Arrival {
        operation: Opcode::RC_SEND_FIRST.0,
        psn: psn(0),
        payload_bytes: 256,
        ..Arrival::default()
    }));
    assert_eq!(bench.take(read(1, 0x1000, 1)).0, ResponderNote::Invalid);
}

#[test]
fn a_gap_is_refused_once_and_nothing_is_answered() {
    let mut bench = Bench::new(16);
    assert_eq!(bench.ask(read(1, 0x1000, 1)), ResponderNote::Gap);
    assert_eq!(bench.ask(fetch_add(2, 0x1000, 1)), ResponderNote::GapAgain);
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.acknowledged(), Some((0, 0x60, 0)));
    assert_eq!(bench.ask(read(0, 0x1000, 1)), ResponderNote::Accepted);
    assert_eq!((bench.sent().len(), bench.acknowledged()), (1, None));
}

#[test]
fn what_waits_when_the_qp_fails_is_not_answered() {
    let mut bench = Bench::new(16);
    let (_, accepted) = bench.take(fetch_add(0, 0x2000, 5));
    bench.answered.clear();
    bench.answer(accepted);
    assert_eq!((bench.sent(), bench.performed), (vec![], 0));
    assert!(!bench.answered.is_before_acks());
}
