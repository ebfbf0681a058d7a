use super::super::{RequesterConfig, RequesterEvent, RequesterNote, RequesterQp};
use super::*;
use crate::protocol::gbn::{Times, Work, WorkKind};
use crate::wire::Syndrome;
use RequesterEvent::{Ack, Open, Post, Send, Timer, Walk};

const NOW: Cycle = Cycle(1_000_000);
/// 4.096 µs « 3 and « 1, in cycles of 5.12 ns.
const LONG: u64 = 6_400;
const SHORT: u64 = 1_600;

/// PSNs wrap around within the first message.
fn at(n: u32) -> Psn {
    Psn::wrapping(0xFF_FFFE + n)
}

/// Two messages of six packets each.
fn open(window: u32) -> RequesterQp {
    let mut qp = RequesterQp::new(4, Times { period_ps: 5_120 });
    let configuration = RequesterConfig {
        timeout: 3,
        retry: 1,
        nak_retry: true,
        rnr_retry: 7,
        window,
        ..RequesterConfig::default()
    };
    let psn = at(0);
    qp.step(Open { configuration, psn }, NOW);
    qp.repeat_selectively(Selective {
        few_timeout: 1,
        packets: 64,
    });
    for id in [1, 2] {
        let work = Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: 6 * 256,
            local_va: 0x1000 * id,
            id,
            ..Work::default()
        };
        qp.step(Post(work), NOW);
    }
    qp
}

/// Sends all that can be sent. Returns which packets, counted from the first, and whether each is sent again.
fn sent(qp: &mut RequesterQp) -> Vec<(i32, bool)> {
    let packets = std::iter::from_fn(|| qp.step(Send, NOW).request);
    packets
        .map(|packet| {
            let n = packet.psn.ahead_of(at(0));
            let (message, place) = (1 + n as u64 / 6, n as u64 % 6);
            assert_eq!(packet.local_va, 0x1000 * message + 256 * place);
            (n, packet.again)
        })
        .collect()
}

fn again(numbers: impl IntoIterator<Item = i32>) -> Vec<(i32, bool)> {
    numbers.into_iter().map(|n| (n, true)).collect()
}

/// A NAK: `missing` is missing, and `came` has come.
fn nak(qp: &mut RequesterQp, missing: u32, came: u32) -> RequesterNote {
    qp.arrived(at(came));
    answer(qp, missing, 0x60)
}

fn answer(qp: &mut RequesterQp, n: u32, syndrome: u8) -> RequesterNote {
    let (psn, syndrome) = (at(n), Syndrome(syndrome));
    let step = qp.step(Ack { psn, syndrome }, NOW);
    let mut walks = step.walk;
    while walks {
        walks = qp.step(Walk, NOW).walk;
    }
    step.note
}

#[test]
fn only_what_is_missing_is_sent_again_and_before_what_is_new() {
    let mut qp = open(8);
    assert_eq!(sent(&mut qp).len(), 8);
    assert!(!qp.sendable());
    // 2, 3 and 5 are lost. What comes behind them says so, once for each.
    assert_eq!(nak(&mut qp, 2, 4), RequesterNote::Nak);
    assert_eq!(
        sent(&mut qp),
        [again([2, 3]), vec![(8, false), (9, false)]].concat()
    );
    assert_eq!(nak(&mut qp, 2, 6), RequesterNote::Nak);
    assert_eq!(nak(&mut qp, 2, 7), RequesterNote::Nak);
    assert_eq!(sent(&mut qp), again([5]));
    // The missing ones close the gaps, and the window opens.
    answer(&mut qp, 4, 0x1F);
    answer(&mut qp, 7, 0x1F);
    assert_eq!(sent(&mut qp), [(10, false), (11, false)]);
}

#[test]
fn naks_use_up_no_retries() {
    let mut qp = open(8);
    sent(&mut qp);
    for came in 3..8 {
        assert_eq!(nak(&mut qp, 0, came), RequesterNote::Nak);
    }
    assert_eq!(qp.context.state, QpState::Ready);
    assert_eq!(qp.context.retries, 1);
}

#[test]
fn what_is_lost_twice_is_left_to_the_timer() {
    let mut qp = open(8);
    sent(&mut qp);
    nak(&mut qp, 0, 3);
    assert_eq!(sent(&mut qp), again([0, 1, 2]));
    nak(&mut qp, 0, 4);
    assert_eq!(sent(&mut qp), []);
    // Then all that has not arrived is missing, the end of what was sent, too.
    let step = qp.step(Timer, NOW);
    assert_eq!(step.note, RequesterNote::Timeout);
    assert_eq!(sent(&mut qp), again([0, 1, 2, 5, 6, 7]));
    assert_eq!(qp.step(Timer, NOW).note, RequesterNote::Exhausted);
}

#[test]
fn the_short_timeout_counts_with_fewer_than_three_packets() {
    for (window, timeout) in [(3, LONG), (2, SHORT)] {
        let mut qp = open(window);
        // The packet that fills the window starts it, and so does what is sent again.
        for _ in 0..2 {
            sent(&mut qp);
            assert_eq!(qp.context.due(), Some(Cycle(NOW.0 + timeout)), "{window}");
            qp.step(Timer, NOW);
        }
    }
}

#[test]
fn a_nak_of_a_packet_that_is_not_under_way_changes_nothing() {
    let mut qp = open(4);
    sent(&mut qp);
    answer(&mut qp, 1, 0x1F);
    sent(&mut qp);
    for came in [0, 1, 2, 6, 7, 0x80_0000] {
        qp.arrived(at(came));
        assert_eq!(sent(&mut qp), [], "{came}");
    }
}

#[test]
fn a_receiver_that_is_not_ready_has_all_sent_again() {
    let mut qp = open(8);
    sent(&mut qp);
    nak(&mut qp, 2, 5);
    answer(&mut qp, 2, 0x21);
    assert!(!qp.sendable());
    qp.step(Timer, NOW);
    assert_eq!(
        sent(&mut qp),
        [again(2..8), vec![(8, false), (9, false)]].concat()
    );
}
