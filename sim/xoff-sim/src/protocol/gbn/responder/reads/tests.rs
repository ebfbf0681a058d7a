//! Directed tests: one for each rule of the contract about READs.

use super::*;
use crate::protocol::gbn::{Refusal, ResponderConfig, ResponderEvent};

const MTU: u32 = 256;
/// Near the wrap.
const FIRST: u32 = 0xFF_FFFE;

fn psn(n: u32) -> Psn {
    Psn::wrapping(FIRST + n)
}

fn open() -> ResponderQp {
    let mut qp = ResponderQp::with_reads(4, 4);
    qp.step(ResponderEvent::Open {
        configuration: ResponderConfig::default(),
        psn: psn(0),
    });
    qp
}

fn read(n: u32, va: u64, bytes: u32) -> Arrival {
    Arrival {
        operation: Opcode::RC_READ_REQUEST.0,
        psn: psn(n),
        access: true,
        va,
        rkey: 5,
        dma_len: bytes,
        ..Arrival::default()
    }
}

impl ResponderQp {
    /// Takes a READ, and looks for the one that it repeats; whether it was accepted, or is answered again.
    fn asks(&mut self, arrival: Arrival) -> (ResponderNote, bool) {
        let mut step = self.step(ResponderEvent::Packet(arrival));
        let (note, mut found) = (step.note, step.accepts_read.is_some());
        while step.walk {
            step = self.step(ResponderEvent::Walk);
            found |= step.reread.is_some();
        }
        (note, found)
    }

    fn accepts(&mut self, arrival: Arrival) {
        assert_eq!(self.asks(arrival), (ResponderNote::Accepted, true));
        self.step(ResponderEvent::Settle);
    }

    /// Opcode, PSN after the first one, MSN, address, bytes of the next response.
    fn next(&mut self) -> Option<(u8, i32, u32, u64, u16)> {
        let it = self.step(ResponderEvent::Read).read?;
        let ahead = it.psn.ahead_of(psn(0));
        Some((it.opcode.0, ahead, it.msn.get(), it.va, it.bytes))
    }

    fn nak(&mut self) -> Option<(i32, u8)> {
        let answer = self.step(ResponderEvent::Grant).response?;
        Some((answer.psn.ahead_of(psn(0)), answer.syndrome.0))
    }
}

#[test]
fn responses_come_in_order_when_earlier_writes_are_in_memory() {
    let mut qp = open();
    assert_eq!(
        qp.asks(read(0, 0x1000, 2 * MTU + 1)).0,
        ResponderNote::Accepted
    );
    assert_eq!(qp.asks(read(3, 0x9000, 0)).0, ResponderNote::Accepted);
    assert_eq!(qp.context.expected_psn, psn(4));
    assert_eq!(qp.next(), None, "a write in front of it is not in memory");
    qp.step(ResponderEvent::Settle);
    assert_eq!(qp.next(), Some((0x0D, 0, 1, 0x1000, 256)));
    assert_eq!(qp.next(), Some((0x0E, 1, 1, 0x1100, 256)));
    assert_eq!(qp.next(), Some((0x0F, 2, 1, 0x1200, 1)));
    assert_eq!(qp.next(), None);
    qp.step(ResponderEvent::Settle);
    assert_eq!(qp.next(), Some((0x10, 3, 2, 0x9000, 0)));
    assert!(!qp.context.reads.wait());
}

#[test]
fn no_answer_goes_past_a_response() {
    let mut qp = open();
    qp.accepts(read(0, 0, 2 * MTU));
    let write = |n| Arrival {
        operation: Opcode::RC_WRITE_ONLY.0,
        ack_req: true,
        ..read(n, 0, 0)
    };
    assert_eq!(
        qp.step(ResponderEvent::Packet(write(2))).note,
        ResponderNote::Accepted
    );
    assert_eq!(qp.nak(), None);
    qp.next();
    assert_eq!(qp.nak(), None);
    qp.next();
    assert_eq!(qp.nak(), Some((2, 0x1F)));
}

#[test]
fn at_most_so_many_are_unanswered() {
    let mut qp = open();
    for n in 0..4 {
        qp.accepts(read(n, 0, 1));
    }
    let mut full = qp.clone();
    assert_eq!(full.asks(read(4, 0, 1)).0, ResponderNote::Invalid);
    // What was before is answered, and then comes the NAK.
    assert_eq!(full.nak(), None);
    for n in 0..4 {
        assert_eq!(full.next().unwrap().1, n);
    }
    assert_eq!(full.nak(), Some((4, 0x61)));
    qp.next();
    qp.accepts(read(4, 0, 1));
}

#[test]
fn what_is_asked_again_is_answered_from_there() {
    let mut qp = open();
    qp.accepts(read(0, 0x1000, 4 * MTU));
    qp.accepts(read(4, 0x9000, 1));
    while qp.next().is_some() {}
    assert_eq!(
        qp.asks(read(2, 0x1200, 2 * MTU)),
        (ResponderNote::Duplicate, true)
    );
    assert_eq!(qp.next(), Some((0x0D, 2, 1, 0x1200, 256)));
    // Also while it is answered, and the oldest first.
    assert!(qp.asks(read(4, 0x9000, 1)).1);
    assert!(qp.asks(read(1, 0x1100, MTU)).1);
    assert_eq!(qp.next(), Some((0x10, 1, 1, 0x1100, 256)));
    assert_eq!(qp.next(), Some((0x10, 4, 2, 0x9000, 1)));
    assert_eq!(qp.next(), None);
    // Another address, key or length, and one that was never asked.
    let key = Arrival {
        rkey: 6,
        ..read(0, 0x1000, 1)
    };
    for other in [
        read(0, 0x1001, 1),
        key,
        read(3, 0x1300, MTU + 1),
        read(0x80_0005, 0, 1),
    ] {
        assert_eq!(qp.asks(other), (ResponderNote::Duplicate, false));
    }
    assert!(!qp.context.reads.wait());
}

#[test]
fn what_must_not_be_read() {
    let note = |change: fn(&mut Arrival)| {
        let mut arrival = read(0, 0, MTU);
        change(&mut arrival);
        open().asks(arrival).0
    };
    assert_eq!(note(|it| it.access = false), ResponderNote::Access);
    assert_eq!(
        note(|it| (it.access, it.dma_len) = (false, 0)),
        ResponderNote::Accepted
    );
    assert_eq!(note(|it| it.payload_bytes = 1), ResponderNote::Invalid);
    assert_eq!(note(|it| it.dma_len = 1 << 30), ResponderNote::Accepted);
    assert_eq!(
        note(|it| it.dma_len = (1 << 30) + 1),
        ResponderNote::Invalid
    );
    assert_eq!(note(|it| it.psn = psn(1)), ResponderNote::Gap);
    assert_eq!(
        ResponderQp::new(4)
            .step(ResponderEvent::Packet(read(0, 0, 1)))
            .note,
        ResponderNote::NotReady
    );
}

#[test]
fn a_qp_that_fails_answers_what_was_before() {
    let mut qp = open();
    for n in 0..3 {
        qp.accepts(read(2 * n, 0, 2 * MTU));
    }
    let mut flushed = qp.clone();
    flushed.step(ResponderEvent::Fail);
    assert_eq!(flushed.next(), None);
    let refusal = Refusal {
        psn: psn(3),
        ..Refusal::default()
    };
    qp.step(ResponderEvent::Refuse(refusal));
    for n in 0..3 {
        assert_eq!(qp.next().unwrap().1, n);
    }
    assert_eq!((qp.nak(), qp.next()), (None, None));
    assert_eq!(qp.nak(), Some((3, 0x63)));
    // What FAIL has dropped is not passed by a NAK that comes to be owed later.
    flushed.step(ResponderEvent::Refuse(refusal));
    assert_eq!((flushed.next(), flushed.nak()), (None, None));
}

fn add(n: u32, va: u64) -> Arrival {
    Arrival {
        operation: Opcode::RC_FETCH_ADD.0,
        ..read(n, va, 0)
    }
}

/// An atomic is answered when the host has performed it, once; a duplicate from what was kept.
#[test]
fn an_atomic_waits_for_its_original() {
    let mut qp = open();
    qp.accepts(read(0, 0x1000, 1));
    qp.accepts(add(1, 0x2000));
    assert_eq!(qp.next(), Some((0x10, 0, 1, 0x1000, 1)));
    assert_eq!(qp.next(), None);
    let original = Original {
        index: 1,
        original: 77,
    };
    for note in [ResponderNote::None, ResponderNote::Ignored] {
        assert_eq!(qp.step(ResponderEvent::Return(original)).note, note);
    }
    assert_eq!(qp.next(), Some((0x12, 1, 2, 77, 0)));
    assert_eq!(qp.asks(add(1, 0x2000)), (ResponderNote::Duplicate, true));
    assert_eq!(qp.next(), Some((0x12, 1, 2, 77, 0)));
    assert_eq!(qp.next(), None);
    // Unaligned.
    assert_eq!(qp.asks(add(2, 0x2004)).0, ResponderNote::Invalid);
}
