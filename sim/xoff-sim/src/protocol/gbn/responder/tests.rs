//! One test for each rule of the contract.

use super::*;
use ResponderEvent::*;
use ResponderNote as Note;

fn psn(n: u32) -> Psn {
    Psn::wrapping(n)
}

fn open_as(configuration: ResponderConfig, first: u32) -> ResponderQp {
    let mut qp = ResponderQp::new(4);
    let psn = psn(first);
    qp.step(Open { configuration, psn });
    qp
}

/// A QP with two buffers of 1,000 bytes at 0x1000 and 0x2000.
fn ready(configuration: ResponderConfig) -> ResponderQp {
    let mut qp = open_as(configuration, 0xFF_FFFE);
    for id in [1, 2] {
        qp.step(Post(Recv {
            length: 1_000,
            local_va: id << 12,
            local_key: 7,
            id,
        }));
    }
    qp
}

/// A packet of `bytes` bytes whose PSN is `n` after the first one.
fn packet(operation: u8, n: u32, bytes: u16) -> Arrival {
    Arrival {
        operation,
        psn: psn(0xFF_FFFE + n),
        payload_bytes: bytes,
        access: true,
        ..Arrival::default()
    }
}

/// The first or only packet of a WRITE.
fn write(operation: u8, n: u32, bytes: u16, dma_len: u32) -> Arrival {
    Arrival {
        va: 0x7000,
        rkey: 9,
        dma_len,
        ..packet(operation, n, bytes)
    }
}

impl ResponderQp {
    fn takes(&mut self, arrival: Arrival) -> Note {
        self.step(Packet(arrival)).note
    }

    /// PSN, syndrome and MSN of the answer.
    fn answer(&mut self) -> Option<(u32, u8, u32)> {
        let step = self.step(Grant);
        let answer = step.response?;
        Some((answer.psn.get(), answer.syndrome.0, answer.msn.get()))
    }

    fn flushed(&mut self) -> Vec<(u64, Status)> {
        let mut all = Vec::new();
        loop {
            let step = self.step(Walk);
            all.extend(step.completion.map(|it| (it.id, it.status)));
            if !step.walk {
                return all;
            }
        }
    }
}

#[test]
fn a_send_fills_its_buffer() {
    let mut qp = ready(ResponderConfig::default());
    let place = |step: ResponderStep| step.place.map(|it| (it.va, it.key, it.remote, it.bytes));
    let step = qp.step(Packet(packet(0x00, 0, 256)));
    assert_eq!(place(step), Some((0x1000, 7, false, 256)));
    assert_eq!(qp.answer(), None);
    let step = qp.step(Packet(packet(0x01, 1, 256)));
    assert_eq!(place(step), Some((0x1100, 7, false, 256)));
    let last = Arrival {
        ack_req: true,
        solicited: true,
        imm: 0xAB,
        ..packet(0x03, 2, 5)
    };
    let step = qp.step(Packet(last));
    assert_eq!(place(step), Some((0x1200, 7, false, 5)));
    let completion = Completion {
        receive: true,
        status: Status::Success,
        id: 1,
        operation: 3,
        length: 517,
        imm: 0xAB,
        solicited: true,
    };
    assert_eq!(step.completion, Some(completion));
    assert_eq!(qp.answer(), Some((0, 0x1F, 1)));
    assert_eq!(qp.answer(), None);
    let context = qp.context;
    assert_eq!(
        (context.tail, context.offset, context.first_psn),
        (1, 0, psn(0))
    );
    // An empty message has nothing to write.
    let step = qp.step(Packet(packet(0x04, 3, 0)));
    assert_eq!((step.place, step.completion.unwrap().length), (None, 0));
}

#[test]
fn a_write_goes_where_its_reth_says() {
    let mut qp = ready(ResponderConfig::default());
    assert_eq!(qp.takes(write(0x06, 0, 256, 600)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x07, 1, 256)), Note::Accepted);
    let step = qp.step(Packet(packet(0x08, 2, 88)));
    let place = Place {
        va: 0x7200,
        key: 9,
        remote: true,
        bytes: 88,
    };
    assert_eq!((step.place, step.completion), (Some(place), None));
    assert_eq!((qp.context.tail, qp.context.msn.get()), (0, 1));
    // With immediate data it completes a buffer, whose length does not matter.
    let step = qp.step(Packet(write(0x0B, 3, 0, 0)));
    assert_eq!(step.completion.map(|it| (it.id, it.length)), Some((1, 0)));
    assert_eq!(qp.takes(write(0x06, 4, 256, 257)), Note::Accepted);
    let step = qp.step(Packet(packet(0x09, 5, 1)));
    assert_eq!(step.completion.map(|it| (it.id, it.length)), Some((2, 257)));
}

#[test]
fn a_gap_is_told_once() {
    let mut qp = ready(ResponderConfig::default());
    qp.takes(packet(0x00, 0, 256));
    assert_eq!(qp.takes(packet(0x02, 2, 1)), Note::Gap);
    assert_eq!(qp.takes(packet(0x04, 0x7F_FFFF, 1)), Note::GapAgain);
    assert_eq!(qp.answer(), Some((0xFF_FFFF, 0x60, 0)));
    assert_eq!(qp.takes(packet(0x02, 2, 1)), Note::GapAgain);
    assert_eq!(qp.answer(), None);
    assert_eq!(qp.takes(packet(0x01, 1, 256)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x02, 3, 1)), Note::Gap);
    // A packet in order then replaces the NAK, whether it asks for an ACK or not.
    assert_eq!(qp.takes(packet(0x02, 2, 1)), Note::Accepted);
    assert_eq!(qp.answer(), Some((0, 0x1F, 1)));
}

#[test]
fn duplicates_are_acknowledged_again() {
    let mut qp = ready(ResponderConfig::default());
    qp.takes(packet(0x04, 0, 9));
    assert_eq!(qp.takes(packet(0x04, 0, 9)), Note::Duplicate);
    assert_eq!(qp.answer(), Some((0xFF_FFFE, 0x1F, 1)));
    assert_eq!(qp.takes(packet(0x04, 2, 9)), Note::Gap);
    assert_eq!(qp.takes(packet(0x0C, 0, 0)), Note::Duplicate);
    assert_eq!(qp.answer(), Some((0xFF_FFFF, 0x60, 1)));
    // The PSN exactly opposite counts as behind.
    assert_eq!(qp.takes(packet(0x04, 0x80_0001, 9)), Note::Duplicate);
}

#[test]
fn sequences_of_opcodes() {
    let all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xA, 0xB, 0x16, 0x17];
    let allowed = |begun: Option<u8>| {
        let mut allowed = Vec::new();
        for operation in all {
            let mut qp = ready(ResponderConfig::default());
            if let Some(begun) = begun {
                assert_eq!(qp.takes(write(begun, 0, 256, 512)), Note::Accepted);
            }
            let bytes = match operation {
                4 | 5 | 0x17 => 1,
                _ => 256,
            };
            let dma_len = if operation == 6 { 512 } else { 256 };
            let n = u32::from(begun.is_some());
            match qp.takes(write(operation, n, bytes, dma_len)) {
                Note::Accepted => allowed.push(operation),
                // A middle packet that would complete the length of the WRITE.
                Note::Invalid if begun == Some(6) && operation == 7 => allowed.push(operation),
                note => {
                    assert_eq!(note, Note::Invalid);
                    assert_eq!(qp.context.status, Status::Flushed);
                    assert_eq!(qp.flushed(), [(1, Status::Flushed), (2, Status::Flushed)]);
                    assert_eq!(qp.answer(), Some((qp.context.expected_psn.get(), 0x61, 0)));
                    assert_eq!(qp.takes(packet(4, 9, 1)), Note::NotReady);
                }
            }
        }
        allowed
    };
    assert_eq!(allowed(None), [0, 4, 5, 6, 0xA, 0xB, 0x17]);
    assert_eq!(allowed(Some(0)), [1, 2, 3, 0x16]);
    assert_eq!(allowed(Some(6)), [7, 8, 9]);
}

#[test]
fn opcodes_that_are_no_requests() {
    let mut qp = ready(ResponderConfig::default());
    for operation in 0x0D..=0x12 {
        assert_eq!(qp.takes(packet(operation, 0, 0)), Note::Ignored);
    }
    // READ and atomics, which are not served; then what is reserved.
    for operation in [0x0C, 0x13, 0x14, 0x15].into_iter().chain(0x18..=0x1F) {
        let mut qp = qp.clone();
        assert_eq!(qp.takes(packet(operation, 1, 0)), Note::Gap);
        assert_eq!(qp.takes(packet(operation, 0, 0)), Note::Invalid);
        let expected = qp.context.expected_psn.get();
        assert_eq!(qp.answer(), Some((expected, 0x61, 0)));
        assert_eq!(qp.takes(packet(operation, 0, 0)), Note::NotReady);
    }
    let mut closed = ResponderQp::new(4);
    assert_eq!(closed.takes(packet(0x11, 0, 0)), Note::Ignored);
    assert_eq!(closed.takes(packet(0x1F, 0, 0)), Note::NotReady);
    assert_eq!(closed.takes(packet(0x04, 0, 0)), Note::NotReady);
    assert_eq!(closed.step(Grant).note, Note::NothingOwed);
}

#[test]
fn lengths_around_the_mtu() {
    let note = |arrival| ready(ResponderConfig::default()).takes(arrival);
    for (bytes, first) in [
        (255, Note::Invalid),
        (256, Note::Accepted),
        (257, Note::Invalid),
    ] {
        assert_eq!(note(packet(0x00, 0, bytes)), first);
    }
    assert_eq!(note(packet(0x04, 0, 256)), Note::Accepted);
    assert_eq!(note(packet(0x04, 0, 257)), Note::Invalid);
    let last = |bytes| {
        let mut qp = ready(ResponderConfig::default());
        qp.takes(packet(0x00, 0, 256));
        qp.takes(packet(0x02, 1, bytes))
    };
    assert_eq!(
        [0, 1, 256, 257].map(last),
        [Note::Invalid, Note::Accepted, Note::Accepted, Note::Invalid]
    );
}

#[test]
fn lengths_around_the_reth() {
    let note = |arrival| ready(ResponderConfig::default()).takes(arrival);
    assert_eq!(note(write(0x0A, 0, 9, 9)), Note::Accepted);
    assert_eq!(note(write(0x0A, 0, 9, 8)), Note::Invalid);
    assert_eq!(note(write(0x0A, 0, 9, 10)), Note::Invalid);
    assert_eq!(note(write(0x06, 0, 256, 256)), Note::Invalid);
    assert_eq!(note(write(0x06, 0, 256, 257)), Note::Accepted);
    assert_eq!(note(write(0x06, 0, 256, 1 << 31)), Note::Accepted);
    assert_eq!(note(write(0x06, 0, 256, (1 << 31) + 1)), Note::Invalid);
    let denied = |arrival| {
        note(Arrival {
            access: false,
            ..arrival
        })
    };
    assert_eq!(denied(write(0x0A, 0, 9, 8)), Note::Access);
    assert_eq!(denied(write(0x0A, 0, 0, 0)), Note::Accepted);
    assert_eq!(denied(write(0x06, 0, 255, 300)), Note::Invalid);
    let mut qp = ready(ResponderConfig::default());
    qp.takes(Arrival {
        access: false,
        ..write(0x0A, 0, 9, 9)
    });
    assert_eq!(qp.answer(), Some((0xFF_FFFE, 0x62, 0)));
}

#[test]
fn without_a_buffer_it_is_not_ready() {
    let configuration = ResponderConfig {
        rnr_timer: 12,
        ..ResponderConfig::default()
    };
    let mut qp = open_as(configuration, 0xFF_FFFE);
    assert_eq!(qp.takes(write(0x06, 0, 256, 257)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x09, 1, 1)), Note::NoBuffer);
    assert_eq!(qp.takes(packet(0x04, 2, 1)), Note::GapAgain);
    assert_eq!(qp.answer(), Some((0xFF_FFFF, 0x2C, 0)));
    assert_eq!(qp.takes(packet(0x09, 1, 1)), Note::NoBuffer);
    assert_eq!(qp.answer(), Some((0xFF_FFFF, 0x2C, 0)));
    qp.step(Post(Recv::default()));
    assert_eq!(qp.takes(packet(0x09, 1, 1)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x04, 2, 0)), Note::NoBuffer);
}

#[test]
fn a_message_longer_than_its_buffer() {
    let mut qp = ready(ResponderConfig::default());
    for n in 0..3 {
        let operation = u8::from(n > 0);
        assert_eq!(qp.takes(packet(operation, n, 256)), Note::Accepted);
    }
    assert_eq!(qp.clone().takes(packet(0x02, 3, 232)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x02, 3, 233)), Note::TooLong);
    assert_eq!(
        qp.flushed(),
        [(1, Status::LocalLength), (2, Status::Flushed)]
    );
    assert_eq!(qp.answer(), Some((1, 0x61, 0)));
    let post = |qp: &mut ResponderQp| {
        qp.step(Post(Recv {
            id: 5,
            ..Recv::default()
        }))
    };
    assert!(post(&mut qp).walk);
    assert_eq!(qp.flushed(), [(5, Status::Flushed)]);
}

#[test]
fn rings_fill() {
    let mut qp = open_as(ResponderConfig::default(), 0);
    for _ in 0..4 {
        assert_eq!(qp.step(Post(Recv::default())).note, Note::None);
    }
    assert_eq!(qp.step(Post(Recv::default())).note, Note::RefusedFull);
    qp.step(Close);
    assert_eq!(qp.context, ResponderContext::default());
    assert_eq!(qp.step(Post(Recv::default())).note, Note::RefusedState);
}

#[test]
fn go_back_0_expects_the_first_packet_again() {
    let configuration = ResponderConfig {
        restart: true,
        ..ResponderConfig::default()
    };
    let mut qp = ready(configuration);
    qp.takes(packet(0x00, 0, 256));
    qp.takes(packet(0x01, 1, 256));
    assert_eq!(qp.takes(packet(0x02, 3, 9)), Note::Gap);
    assert_eq!(qp.answer(), Some((0xFF_FFFE, 0x60, 0)));
    assert_eq!(qp.takes(packet(0x01, 1, 256)), Note::GapAgain);
    assert_eq!(qp.takes(packet(0x00, 0, 256)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x01, 1, 256)), Note::Accepted);
    // The requester starts over by itself, after a timeout.
    assert_eq!(qp.takes(packet(0x00, 0, 256)), Note::Accepted);
    assert_eq!(qp.context.offset, 256);
    assert_eq!(qp.takes(packet(0x02, 1, 9)), Note::Accepted);
    assert_eq!(qp.takes(packet(0x00, 0, 256)), Note::Duplicate);
    // Outside a message a gap does not move the expected PSN.
    assert_eq!(qp.takes(packet(0x04, 3, 9)), Note::Gap);
    assert_eq!(qp.context.expected_psn, psn(0));
}
