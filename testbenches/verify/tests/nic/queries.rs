//! The state of a QP as the registers from `qp_states` on show it, beside what IBTA volume 1 says of it: PSNs count
//! packets and the MSN counts messages (9.7), and retries are those that the QP was given less those that it used (9.9).

use crate::fixture::{MTU, SOURCE, Tested};
use xoff_network::Endpoint;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Work, WorkKind};
use xoff_sim::wire::Psn;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{REGION, all, qp};

/// A QP's state.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    /// 0 is closed, 1 ready, 2 error; by half.
    requester: u32,
    responder: u32,
    retries: u32,
    rnr_retries: u32,
    rnr_wait: bool,
    timer_runs: bool,
    under_way: bool,
    una: u32,
    next: u32,
    post: u32,
    expected: u32,
    msn: u32,
    works: u32,
    recvs: u32,
}

fn state(pair: &mut Tested, side: usize, index: u16) -> State {
    pair.write(side, reg::QP_QUERY, index.into()).unwrap();
    while pair.read(side, reg::BUSY).unwrap() != 0 {}
    let mut read = |register| pair.read(side, register).unwrap();
    let (states, rings) = (read(reg::QP_STATES), read(reg::QP_RINGS));
    let field = |low: u32, width: u32| states >> low & ((1 << width) - 1);
    State {
        requester: field(reg::QP_REQUESTER_STATE_LOW, 2),
        responder: field(reg::QP_RESPONDER_STATE_LOW, 2),
        retries: field(reg::QP_RETRIES_LEFT_LOW, 3),
        rnr_retries: field(reg::QP_RNR_RETRIES_LEFT_LOW, 3),
        rnr_wait: field(reg::QP_RNR_WAIT_LOW, 1) != 0,
        timer_runs: field(reg::QP_TIMER_RUNS_LOW, 1) != 0,
        under_way: field(reg::QP_UNDER_WAY_LOW, 1) != 0,
        una: read(reg::QP_UNA_PSN),
        next: read(reg::QP_NEXT_PSN),
        post: read(reg::QP_POST_PSN),
        expected: read(reg::QP_EXPECTED_PSN),
        msn: read(reg::QP_MSN),
        works: rings & 0xFF,
        recvs: rings >> 8,
    }
}

/// A QP that was opened and has done nothing.
fn fresh(side: usize, index: u16) -> State {
    let setup = qp(side, index);
    let psn = setup.requester_psn.get();
    State {
        requester: 1,
        responder: 1,
        retries: setup.requester.retry.into(),
        rnr_retries: setup.requester.rnr_retry.into(),
        rnr_wait: false,
        timer_runs: false,
        under_way: false,
        una: psn,
        next: psn,
        post: psn,
        expected: setup.responder_psn.get(),
        msn: 0,
        works: 0,
        recvs: 0,
    }
}

fn advanced(psn: u32, by: u32) -> u32 {
    Psn::wrapping(psn).advance(by).get()
}

fn send(kind: WorkKind, packets: u32, key: u32) -> Work {
    Work {
        kind,
        signaled: true,
        length: packets * MTU,
        local_va: SOURCE,
        remote_va: REGION,
        remote_key: key,
        ..Work::default()
    }
}

#[test]
fn the_state_of_a_qp_can_be_read() {
    let mut pair = Tested::new(|setup| setup.requester.ack_every = 0, 2);
    let key = pair.key[1];
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    for index in [0, 1] {
        for side in [0, 1] {
            assert_eq!(state(&mut pair, side, index), fresh(side, index));
        }
    }
    // A QP that is not open has no state.
    let closed = state(&mut pair, 0, 9);
    assert_eq!([closed.requester, closed.responder, closed.next], [0; 3]);

    // A message of five packets, the fourth of which is lost, and all behind it.
    let (start, work) = (fresh(0, 0), send(WorkKind::WRITE, 5, key));
    pair.post(0, 0, work);
    let mut sent = 0;
    let mut fourth = |side: usize, _: &mut Vec<u8>, _: &ParsedFrame| {
        sent += u32::from(side == 0);
        side == 0 && sent < 4
    };
    for _ in 0..1_000 {
        pair.step(&mut fourth);
    }
    let sender = State {
        next: advanced(start.next, 5),
        post: advanced(start.post, 5),
        works: 1,
        timer_runs: true,
        ..start
    };
    assert_eq!(state(&mut pair, 0, 0), sender);
    let receiver = State {
        expected: advanced(fresh(1, 0).expected, 3),
        under_way: true,
        ..fresh(1, 0)
    };
    assert_eq!(state(&mut pair, 1, 0), receiver);
    // The other QP is as it was.
    assert_eq!(state(&mut pair, 0, 1), fresh(0, 1));

    // The timeout of 32.8 µs uses up a retry; it sends again from the oldest packet on.
    pair.run(20_000, &mut nothing, |pair| {
        pair.host(0).counters().get(reg::TIMEOUTS) == 1
    });
    for _ in 0..1_000 {
        pair.step(&mut nothing);
    }
    let retried = State {
        retries: start.retries - 1,
        ..sender
    };
    assert_eq!(state(&mut pair, 0, 0), retried);

    // All arrives: one message is complete.
    pair.run(50_000, &mut all, |pair| !pair.completions[0].is_empty());
    let done = State {
        una: sender.next,
        works: 0,
        timer_runs: false,
        ..sender
    };
    assert_eq!(state(&mut pair, 0, 0), done);
    let received = State {
        expected: advanced(fresh(1, 0).expected, 5),
        msn: 1,
        ..fresh(1, 0)
    };
    assert_eq!(state(&mut pair, 1, 0), received);

    // Without a receive buffer the sender waits, for ever if need be: 7 retries are without end.
    pair.post(0, 0, send(WorkKind::SEND, 1, key));
    pair.run(5_000, &mut all, |pair| {
        pair.host(0).counters().get(reg::RNR_NAKS_IN) == 1
    });
    let waits = state(&mut pair, 0, 0);
    assert!(waits.rnr_wait && waits.timer_runs, "{waits:?}");
    assert_eq!((waits.rnr_retries, waits.una), (7, done.una));
    let buffer = Recv {
        length: 8 * MTU,
        local_va: REGION,
        local_key: pair.key[1],
        id: 9,
    };
    pair.post_recv(1, 0, buffer);
    pair.post_recv(1, 0, buffer);
    for _ in 0..100 {
        pair.step(&mut all);
    }
    assert_eq!(state(&mut pair, 1, 0).recvs, 2);
    pair.run(50_000, &mut all, |pair| pair.completions[0].len() == 2);
    let more = state(&mut pair, 1, 0);
    assert_eq!((more.recvs, more.msn), (1, 2));

    // A WRITE that is not permitted ends the QP, both halves at both sides.
    let forbidden = Work {
        remote_key: pair.key[1] ^ 1,
        ..send(WorkKind::WRITE, 1, key)
    };
    pair.post(0, 0, forbidden);
    pair.run(5_000, &mut all, |pair| pair.completions[0].len() == 3);
    for _ in 0..100 {
        pair.step(&mut all);
    }
    for side in [0, 1] {
        let ended = state(&mut pair, side, 0);
        assert_eq!((ended.requester, ended.responder), (2, 2), "side {side}");
    }
    // A query changes nothing: the other QP still works.
    pair.post(0, 1, send(WorkKind::WRITE, 3, key));
    for _ in 0..20 {
        state(&mut pair, 0, 1);
        state(&mut pair, 1, 1);
    }
    pair.run(5_000, &mut all, |pair| pair.completions[0].len() == 4);
    assert_eq!(state(&mut pair, 1, 1).msn, 1);
}

/// A window of two packets: the rest of a message waits for the ACK, so that what is posted and what is sent differ.
#[test]
fn what_is_posted_and_what_is_sent_are_told_apart() {
    let mut pair = Tested::new(
        |setup| (setup.requester.window, setup.requester.timeout) = (2, 0),
        1,
    );
    let (start, work) = (fresh(0, 0), send(WorkKind::WRITE, 5, pair.key[1]));
    pair.post(0, 0, work);
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    for _ in 0..1_000 {
        pair.step(&mut nothing);
    }
    let waits = state(&mut pair, 0, 0);
    assert_eq!(
        [waits.una, waits.next, waits.post],
        [start.una, advanced(start.next, 2), advanced(start.post, 5)]
    );
}
