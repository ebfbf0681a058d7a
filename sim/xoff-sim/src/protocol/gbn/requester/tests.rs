//! One test for each rule of the contract.

use super::*;
use RequesterEvent::*;
use RequesterNote as Note;

const NOW: Cycle = Cycle(1_000_000);
const TIMES: Times = Times { period_ps: 5_120 };
/// 4.096 µs « 1.
const T: u64 = 1_600;

fn psn(n: u32) -> Psn {
    Psn::wrapping(n)
}

fn configuration() -> RequesterConfig {
    RequesterConfig {
        timeout: 1,
        retry: 2,
        nak_retry: true,
        rnr_retry: 2,
        ..RequesterConfig::default()
    }
}

fn open_as(configuration: RequesterConfig, first: u32) -> RequesterQp {
    let mut qp = RequesterQp::new(4, TIMES);
    let psn = psn(first);
    qp.step(Open { configuration, psn }, NOW);
    qp
}

/// A message of `packets` packets of 256 bytes.
fn message(id: u64, packets: u32) -> Work {
    Work {
        kind: WorkKind::SEND,
        signaled: true,
        length: 256 * packets,
        id,
        ..Work::default()
    }
}

impl RequesterQp {
    /// Performs an event and its walks. Returns its note and the completions.
    fn all(&mut self, event: RequesterEvent, now: Cycle) -> (Note, Vec<(u64, Status)>) {
        let mut step = self.step(event, now);
        let note = step.note;
        let mut ended = Vec::new();
        loop {
            ended.extend(step.completion.map(|it| (it.id, it.status)));
            if !step.walk {
                return (note, ended);
            }
            step = self.step(Walk, now);
            assert!(matches!(step.note, Note::None | Note::Unreadable));
        }
    }

    fn answer_now(&mut self, at: u32, syndrome: u8) -> (Note, Vec<(u64, Status)>) {
        let event = Ack {
            psn: psn(at),
            syndrome: Syndrome(syndrome),
        };
        self.all(event, NOW)
    }

    fn sends(&mut self, count: usize) -> Vec<Request> {
        (0..count)
            .map(|_| self.step(Send, NOW).request.expect("sendable"))
            .collect()
    }
}

/// A QP with three messages of three packets each from PSN 0xFFFFFC on, all sent: they wrap around.
fn sent(configuration: RequesterConfig) -> RequesterQp {
    let mut qp = open_as(configuration, 0xFF_FFFC);
    for id in 1..4 {
        qp.step(Post(message(id, 3)), NOW);
    }
    qp.sends(9);
    qp
}

fn at(n: i32) -> u32 {
    0xFF_FFFC_u32.wrapping_add_signed(n) & 0xFF_FFFF
}

#[test]
fn open_and_close() {
    let qp = open_as(configuration(), 7);
    let context = RequesterContext {
        state: QpState::Ready,
        configuration: configuration(),
        post_psn: psn(7),
        next_psn: psn(7),
        top_psn: psn(7),
        una_psn: psn(7),
        asked_psn: psn(7),
        retries: 2,
        rnr_retries: 2,
        ..RequesterContext::default()
    };
    assert_eq!(qp.context, context);
    let mut qp = sent(configuration());
    assert_eq!(qp.all(Close, NOW), (Note::None, vec![]));
    assert_eq!(qp.context, RequesterContext::default());
    assert_eq!(qp.all(Send, NOW).0, Note::Blocked);
    assert_eq!(qp.answer_now(at(0), 0x1F).0, Note::Ignored);
    assert_eq!(qp.all(Post(message(1, 1)), NOW).0, Note::RefusedState);
    assert_eq!(qp.all(Other(5), NOW).0, Note::Ignored);
}

#[test]
fn what_cannot_be_posted() {
    let mut qp = open_as(configuration(), 0);
    let mut post = |kind, length| {
        let work = Work {
            kind: WorkKind(kind),
            length,
            ..Work::default()
        };
        qp.step(Post(work), NOW).note
    };
    for kind in 5..16 {
        assert_eq!(post(kind, 1), Note::RefusedWork);
    }
    // 2^22 packets of 256 bytes, and a byte more. With a larger MTU the limit is 2^31 bytes.
    assert_eq!(post(0, (1 << 30) + 1), Note::RefusedWork);
    assert_eq!(post(0, 1 << 30), Note::None);
    assert_eq!(qp.context.post_psn, psn(1 << 22));
    let wide = RequesterConfig {
        mtu: 7,
        ..configuration()
    };
    let mut qp = open_as(wide, 0);
    let work = |length| {
        Post(Work {
            length,
            ..Work::default()
        })
    };
    assert_eq!(
        qp.step(work(MESSAGE_BYTES_MAX + 1), NOW).note,
        Note::RefusedWork
    );
    assert_eq!(qp.step(work(MESSAGE_BYTES_MAX), NOW).note, Note::None);
    assert_eq!(qp.context.post_psn, psn(1 << 19));
}

#[test]
fn a_ring_holds_its_slots() {
    let mut qp = open_as(configuration(), 0);
    for id in 0..4 {
        assert_eq!(qp.all(Post(message(id, 1)), NOW).0, Note::None);
    }
    assert_eq!(qp.all(Post(message(4, 1)), NOW).0, Note::RefusedFull);
    // An invalid work request is refused as such even if there is no room.
    let read = Work {
        kind: WorkKind::READ,
        ..Work::default()
    };
    assert_eq!(qp.all(Post(read), NOW).0, Note::RefusedWork);
    qp.sends(1);
    assert_eq!(
        qp.answer_now(0, 0),
        (Note::Progress, vec![(0, Status::Success)])
    );
    assert_eq!(qp.all(Post(message(4, 1)), NOW).0, Note::None);
}

#[test]
fn a_write_is_cut_into_packets() {
    let mut qp = open_as(configuration(), 0xFF_FFFF);
    let work = Work {
        kind: WorkKind::WRITE_IMM,
        signaled: true,
        solicited: true,
        fence: true,
        length: 2 * 256 + 1,
        local_va: u64::MAX - 255,
        local_key: 5,
        remote_va: 0x7000,
        remote_key: 6,
        imm: 0xABCD,
        swap_add: 1,
        compare: 2,
        id: 3,
    };
    qp.step(Post(work), NOW);
    let first = Request {
        opcode: crate::wire::Opcode::RC_WRITE_FIRST,
        psn: psn(0xFF_FFFF),
        payload_bytes: 256,
        local_va: u64::MAX - 255,
        local_key: 5,
        va: 0x7000,
        rkey: 6,
        dma_len: 513,
        ..Request::default()
    };
    let middle = Request {
        opcode: crate::wire::Opcode::RC_WRITE_MIDDLE,
        psn: psn(0),
        payload_bytes: 256,
        local_va: 0,
        local_key: 5,
        ..Request::default()
    };
    let last = Request {
        opcode: crate::wire::Opcode::RC_WRITE_LAST_IMM,
        psn: psn(1),
        payload_bytes: 1,
        local_va: 256,
        ack_req: true,
        solicited: true,
        imm: 0xABCD,
        ..middle
    };
    assert_eq!(qp.sends(3), [first, middle, last]);
    assert_eq!(qp.all(Send, NOW).0, Note::Blocked);
    assert_eq!((qp.context.current, qp.context.tail), (1, 0));
}

#[test]
fn opcodes_of_every_kind() {
    let opcodes = |kind, length| {
        let mut qp = open_as(configuration(), 0);
        let work = Work {
            kind,
            length,
            imm: 9,
            ..Work::default()
        };
        qp.step(Post(work), NOW);
        let packets = qp.sends(work.packets(256) as usize);
        let last = packets.last().unwrap();
        assert_eq!(last.imm, if kind.has_imm() { 9 } else { 0 });
        packets.iter().map(|it| it.opcode.0).collect::<Vec<_>>()
    };
    for (kind, only, many) in [
        (WorkKind::SEND, 0x04, [0x00, 0x01, 0x02]),
        (WorkKind::SEND_IMM, 0x05, [0x00, 0x01, 0x03]),
        (WorkKind::SEND_INV, 0x17, [0x00, 0x01, 0x16]),
        (WorkKind::WRITE, 0x0A, [0x06, 0x07, 0x08]),
        (WorkKind::WRITE_IMM, 0x0B, [0x06, 0x07, 0x09]),
    ] {
        assert_eq!(opcodes(kind, 0), [only]);
        assert_eq!(opcodes(kind, 256), [only]);
        assert_eq!(opcodes(kind, 257), [many[0], many[2]]);
        assert_eq!(opcodes(kind, 768), many);
    }
}

#[test]
fn who_asks_for_an_ack() {
    let asks = |ack_every, window| {
        let configuration = RequesterConfig {
            ack_every,
            window,
            ..configuration()
        };
        let mut qp = open_as(configuration, 0);
        qp.step(Post(message(0, 5)), NOW);
        let count = if window == 0 { 5 } else { window.min(5) };
        let asks: Vec<_> = qp
            .sends(count as usize)
            .iter()
            .map(|it| it.ack_req)
            .collect();
        assert_eq!(qp.context.sendable(), asks.len() < 5 && window > 5);
        asks
    };
    assert_eq!(asks(0, 0), [false, false, false, false, true]);
    assert_eq!(asks(0, 1 << 22 | 1), [false, false, false, false, true]);
    assert_eq!(asks(2, 0), [false, true, false, true, true]);
    assert_eq!(asks(1, 0), [true; 5]);
    assert_eq!(asks(0, 3), [false, false, true]);
}

#[test]
fn the_ack_timer() {
    let mut qp = open_as(configuration(), 0);
    qp.step(Post(message(0, 3)), NOW);
    qp.step(Post(message(1, 1)), NOW);
    qp.sends(2);
    assert_eq!(qp.context.due(), None);
    qp.step(Send, Cycle(NOW.0 + 5));
    assert_eq!(qp.context.due(), Some(Cycle(NOW.0 + 5 + T)));
    // The timer keeps running when later packets ask, and restarts with an ACK.
    qp.step(Send, Cycle(NOW.0 + 9));
    assert_eq!(qp.context.due(), Some(Cycle(NOW.0 + 5 + T)));
    let later = Cycle(NOW.0 + 700);
    let event = |n| Ack {
        psn: psn(n),
        syndrome: Syndrome::ACK,
    };
    qp.all(event(1), later);
    assert_eq!(qp.context.due(), Some(Cycle(later.0 + T)));
    qp.all(event(3), later);
    assert_eq!(qp.context.due(), None);
    // With the timeout off.
    let off = RequesterConfig {
        timeout: 0,
        ..configuration()
    };
    assert_eq!(sent(off).context.due(), None);
}

#[test]
fn acks_complete_in_order_around_the_wrap() {
    let mut qp = sent(configuration());
    assert_eq!(qp.answer_now(at(1), 0x1F), (Note::Progress, vec![]));
    let two = vec![(1, Status::Success), (2, Status::Success)];
    assert_eq!(qp.answer_now(at(6), 0x00), (Note::Progress, two));
    assert_eq!(qp.context.una_psn, psn(at(7)));
    assert_eq!(qp.answer_now(at(6), 0x1F), (Note::Stale, vec![]));
    assert_eq!(qp.answer_now(at(9), 0x1F), (Note::Unsent, vec![]));
    assert_eq!(
        qp.answer_now(at(7 - 0x80_0000), 0x1F),
        (Note::Stale, vec![])
    );
    assert_eq!(
        qp.answer_now(at(7 + 0x7F_FFFF), 0x1F),
        (Note::Unsent, vec![])
    );
    assert_eq!(qp.answer_now(at(8), 0x1F).1, [(3, Status::Success)]);
    assert_eq!(qp.answer_now(at(9), 0x1F), (Note::Unsent, vec![]));
}

#[test]
fn silent_success_makes_no_completion() {
    let mut qp = open_as(configuration(), 0);
    let work = Work {
        signaled: false,
        ..message(1, 1)
    };
    qp.step(Post(work), NOW);
    qp.sends(1);
    assert_eq!(qp.answer_now(0, 0x1F), (Note::Progress, vec![]));
    assert_eq!(qp.context.tail, 1);
}

#[test]
fn reserved_syndromes() {
    let mut qp = sent(configuration());
    for syndrome in (0x40..0x60).chain(0x64..=0xFF) {
        assert_eq!(
            qp.answer_now(at(0), syndrome).0,
            Note::Reserved,
            "{syndrome:#x}"
        );
    }
}

#[test]
fn a_sequence_nak_goes_back() {
    let mut qp = sent(configuration());
    assert_eq!(
        qp.answer_now(at(4), 0x60),
        (Note::Nak, vec![(1, Status::Success)])
    );
    assert_eq!((qp.context.next_psn, qp.context.current), (psn(at(4)), 1));
    assert_eq!((qp.context.due(), qp.context.retries), (None, 1));
    assert_eq!(qp.context.asked_psn, psn(at(4)));
    let again = qp.sends(5);
    assert!(again.iter().all(|it| it.again));
    assert_eq!(qp.context.top_psn, psn(at(9)));
    // An ACK of packets sent before going back advances what is to be sent next.
    assert_eq!(qp.answer_now(at(4), 0x60).0, Note::Nak);
    assert_eq!(qp.answer_now(at(7), 0x1F).1, [(2, Status::Success)]);
    assert_eq!((qp.context.next_psn, qp.context.current), (psn(at(8)), 2));
    assert_eq!((qp.context.asked_psn, qp.context.due()), (psn(at(8)), None));
}

/// IBTA volume 1, 9.9.2: NAKs and timeouts share one count of retries.
#[test]
fn sequence_naks_use_up_retries_as_timeouts_do() {
    let mut qp = sent(configuration());
    assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Nak);
    assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Nak);
    assert_eq!(qp.context.retries, 0);
    let ends = [
        (1, Status::RetryExceeded),
        (2, Status::Flushed),
        (3, Status::Flushed),
    ];
    assert_eq!(
        qp.clone().answer_now(at(1), 0x60),
        (Note::Exhausted, ends.to_vec())
    );
    // The last one was a NAK's: none is left for a timeout.
    let mut late = qp.clone();
    late.sends(8);
    let due = late.context.due().unwrap();
    assert_eq!(late.all(Timer, due), (Note::Exhausted, ends.to_vec()));
    // Progress restores the retries, and then one is used up.
    assert_eq!(qp.answer_now(at(2), 0x60).0, Note::Nak);
    assert_eq!(qp.context.retries, 1);
}

/// Other than RNR retries, 7 retries are seven, and a packet is sent eight times.
#[test]
fn seven_retries_are_seven() {
    let configuration = RequesterConfig {
        retry: 7,
        ..configuration()
    };
    let mut qp = sent(configuration);
    for _ in 0..7 {
        assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Nak);
    }
    assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Exhausted);
}

#[test]
fn sequence_naks_use_up_no_retries_where_this_is_turned_off() {
    let configuration = RequesterConfig {
        nak_retry: false,
        retry: 0,
        ..configuration()
    };
    let mut qp = sent(configuration);
    for _ in 0..50 {
        assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Nak);
    }
}

#[test]
fn rnr_waits_and_then_goes_on() {
    let mut qp = sent(configuration());
    assert_eq!(
        qp.answer_now(at(3), 0x21),
        (Note::Rnr, vec![(1, Status::Success)])
    );
    // A wait of 10 µs.
    let over = Cycle(NOW.0 + 1_954);
    assert_eq!(qp.context.due(), Some(over));
    assert_eq!(qp.context.rnr_retries, 1);
    assert_eq!(qp.all(Send, NOW).0, Note::Blocked);
    // Further NAKs of this kind have no effect. ACKs are accepted, and the wait goes on.
    assert_eq!(qp.answer_now(at(3), 0x60).0, Note::Stale);
    assert_eq!(qp.answer_now(at(3), 0x3F).0, Note::Stale);
    assert_eq!(qp.answer_now(at(3), 0x1F).0, Note::Progress);
    assert_eq!(qp.answer_now(at(5), 0x3F).0, Note::Progress);
    assert_eq!(
        (qp.context.una_psn, qp.context.rnr_wait),
        (psn(at(5)), true)
    );
    assert_eq!((qp.context.due(), qp.context.rnr_retries), (Some(over), 2));
    assert_eq!(qp.all(Timer, over), (Note::RnrOver, vec![]));
    assert_eq!(qp.context.due(), None);
    assert_eq!(qp.sends(1)[0].psn, psn(at(5)));
}

#[test]
fn rnr_retries_end_unless_they_are_seven() {
    let mut qp = sent(configuration());
    for _ in 0..2 {
        assert_eq!(qp.answer_now(at(0), 0x20).0, Note::Rnr);
        qp.all(Timer, NOW);
        qp.sends(1);
    }
    let ends = [
        (1, Status::RnrExceeded),
        (2, Status::Flushed),
        (3, Status::Flushed),
    ];
    assert_eq!(qp.answer_now(at(0), 0x20), (Note::Exhausted, ends.to_vec()));
    let forever = RequesterConfig {
        rnr_retry: 7,
        ..configuration()
    };
    let mut qp = sent(forever);
    for _ in 0..20 {
        assert_eq!(qp.answer_now(at(0), 0x20).0, Note::Rnr);
        qp.all(Timer, NOW);
        qp.sends(1);
    }
}

#[test]
fn naks_that_end_the_qp() {
    for (syndrome, status) in [
        (0x61, Status::RemoteInvalid),
        (0x62, Status::RemoteAccess),
        (0x63, Status::RemoteOperate),
    ] {
        let mut qp = sent(configuration());
        let ends = [(1, Status::Success), (2, status), (3, Status::Flushed)];
        assert_eq!(
            qp.answer_now(at(4), syndrome),
            (Note::RemoteError, ends.to_vec())
        );
        assert_eq!((qp.context.state, qp.context.due()), (QpState::Error, None));
        assert_eq!((qp.context.tail, qp.context.current), (3, 3));
        assert_eq!(qp.answer_now(at(8), 0x1F).0, Note::Ignored);
        assert_eq!(qp.all(Send, NOW).0, Note::Blocked);
        assert_eq!(
            qp.all(Post(message(9, 1)), NOW),
            (Note::None, vec![(9, Status::Flushed)])
        );
    }
    // Also in an RNR wait.
    let mut qp = sent(configuration());
    qp.answer_now(at(1), 0x21);
    assert_eq!(qp.answer_now(at(1), 0x62).0, Note::RemoteError);
    assert!(!qp.context.rnr_wait);
}

#[test]
fn timeouts_until_no_retry_is_left() {
    let mut qp = sent(configuration());
    for left in [1, 0] {
        assert_eq!(qp.all(Timer, Cycle(NOW.0 + T)), (Note::Timeout, vec![]));
        assert_eq!(
            (qp.context.retries, qp.context.next_psn),
            (left, psn(at(0)))
        );
        qp.sends(9);
    }
    let (note, ends) = qp.all(Timer, NOW);
    assert_eq!(
        (note, ends[0]),
        (Note::Exhausted, (1, Status::RetryExceeded))
    );
}

#[test]
fn go_back_0_restarts_the_message() {
    let restart = RequesterConfig {
        restart: true,
        ..configuration()
    };
    let mut qp = sent(restart);
    qp.answer_now(at(4), 0x1F);
    assert_eq!(qp.context.una_psn, psn(at(5)));
    // The responder went back behind what it had acknowledged, to the message's first packet.
    assert_eq!(qp.answer_now(at(2), 0x60).0, Note::Stale);
    assert_eq!(qp.answer_now(at(3), 0x60), (Note::Nak, vec![]));
    assert_eq!(
        (qp.context.una_psn, qp.context.next_psn),
        (psn(at(3)), psn(at(3)))
    );
    assert_eq!(qp.context.current, 1);
    // ACKs are judged only by what is not acknowledged yet.
    let mut fresh = sent(restart);
    fresh.answer_now(at(4), 0x1F);
    assert_eq!(fresh.answer_now(at(3), 0x1F).0, Note::Stale);
    // A timeout starts the message over, too.
    fresh.all(Timer, NOW);
    assert_eq!(fresh.context.una_psn, psn(at(3)));
}

fn unread(n: i32) -> RequesterEvent {
    Unread { psn: psn(at(n)) }
}

#[test]
fn the_oldest_message_fails_at_once_when_its_payload_cannot_be_read() {
    // Its last packet: the first two may be under way.
    let mut qp = sent(configuration());
    let ended = vec![
        (1, Status::LocalAccess),
        (2, Status::Flushed),
        (3, Status::Flushed),
    ];
    assert_eq!(qp.all(unread(2), NOW), (Note::None, ended));
    assert_eq!(qp.context.state, QpState::Error);
    assert_eq!((qp.context.unread, qp.context.timer_runs), (None, false));
    assert_eq!(qp.all(unread(2), NOW).0, Note::Ignored);
}

#[test]
fn a_later_message_fails_when_those_before_it_are_complete() {
    let mut qp = sent(configuration());
    assert_eq!(qp.all(unread(7), NOW), (Note::None, vec![]));
    assert_eq!(
        qp.context.end_wanted(),
        psn(at(7)),
        "what is before it is still to be sent"
    );
    assert!(!qp.context.sendable());
    // Reads may come in another order than they were asked for.
    assert_eq!(qp.all(unread(4), NOW), (Note::None, vec![]));
    assert_eq!(
        qp.all(unread(5), NOW).0,
        Note::Stale,
        "it is not to be sent any more"
    );
    assert_eq!(qp.context.end_wanted(), psn(at(4)));
    assert_eq!(qp.answer_now(at(1), 0x1F), (Note::Progress, vec![]));
    let ended = vec![
        (1, Status::Success),
        (2, Status::LocalAccess),
        (3, Status::Flushed),
    ];
    assert_eq!(qp.answer_now(at(2), 0x1F), (Note::Progress, ended));
}

#[test]
fn what_goes_back_reads_again() {
    let mut qp = sent(configuration());
    qp.all(unread(4), NOW);
    assert_eq!(qp.answer_now(at(1), 0x60).0, Note::Nak);
    assert_eq!(qp.context.unread, None);
    assert_eq!(qp.sends(1)[0].psn, psn(at(1)));
    assert_eq!(
        qp.all(unread(4), NOW).0,
        Note::Stale,
        "not granted again yet"
    );
    qp.sends(4);
    qp.all(unread(4), NOW);
    let timeout = qp
        .context
        .due()
        .expect("the first message asked for an ACK");
    assert_eq!(qp.all(Timer, timeout), (Note::Timeout, vec![]));
    assert!(qp.context.sendable());
}

#[test]
fn a_packet_that_is_acknowledged_need_not_be_read() {
    let mut qp = sent(configuration());
    // All were sent once, and again up to the fifth, which cannot be read now; the peer has it.
    qp.answer_now(at(0), 0x60);
    qp.sends(6);
    qp.all(unread(4), NOW);
    let (note, ended) = qp.answer_now(at(4), 0x1F);
    assert_eq!((note, ended), (Note::Progress, vec![(1, Status::Success)]));
    assert_eq!(qp.context.unread, None);
    assert_eq!(
        qp.sends(1)[0].psn,
        psn(at(5)),
        "what was behind it is sent again"
    );
    assert_eq!(qp.all(unread(4), NOW).0, Note::Stale);
}
