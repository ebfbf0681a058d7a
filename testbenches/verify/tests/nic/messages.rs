//! Tests of messages: of all lengths, over IPv6 and tags, retransmitted, without a buffer, over QPs that fail or close.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::fixture::{MTU, SOURCE, Tested, done, dscp_maps, good, opened, post};
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, all, qp};

const LENGTHS: [u32; 12] = [
    0,
    0,
    1,
    1,
    MTU - 1,
    MTU - 1,
    MTU,
    MTU,
    MTU + 1,
    MTU + 1,
    5 * MTU,
    3 * MTU + 2,
];

fn both_ways(change: impl Fn(&mut QpSettings), skip: bool) -> Tested {
    let mut pair = Tested::new(change, 2);
    pair.set_skip(skip);
    let mut counts = [0; 2];
    let mut expected = [BTreeMap::new(), BTreeMap::new()];
    for (side, index) in [(0, 0), (1, 0), (0, 1)] {
        let (memory, completions) = post(&mut pair, side, index, &LENGTHS);
        expected[1 - side].extend(memory);
        counts[0] += completions[0];
        counts[1] += completions[1];
    }
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    for (side, expected) in expected.iter().enumerate() {
        assert!(pair.memory(side) == *expected, "memory of {side}");
    }
    pair
}

#[test]
fn messages_of_all_lengths_both_ways() {
    let mut pair = both_ways(|_| {}, false);
    // Immediate data and lengths of receives.
    let received: Vec<_> = pair.completions[1]
        .iter()
        .filter(|(qp, completion)| completion.receive && *qp == 0)
        .map(|(_, completion)| completion)
        .collect();
    let lengths: Vec<u32> = received.iter().map(|c| c.length).collect();
    assert_eq!(
        lengths,
        [0, 1, 1, MTU - 1, MTU, MTU, MTU + 1, 5 * MTU, 3 * MTU + 2]
    );
    assert_eq!(received[1].imm, 0xABC2);
    // IPv4 identification counts up frame by frame.
    let ids: Vec<u16> = pair
        .frames
        .iter()
        .filter(|(side, ..)| *side == 0)
        .map(|(_, _, frame)| frame.ip.unwrap().id)
        .collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1));
    for side in 0..2 {
        assert_eq!(pair.count(side, reg::RESENT_OUT), 0);
        let frames = pair.count(side, reg::FRAMES_OUT);
        assert_eq!(
            frames,
            pair.frames
                .iter()
                .filter(|(from, ..)| *from == side)
                .count() as u32
        );
        assert_eq!(frames, pair.count(1 - side, reg::FRAMES_IN));
        assert_eq!(
            pair.count(side, reg::BYTES_OUT),
            pair.count(1 - side, reg::BYTES_IN)
        );
    }
    pair.pulses_are_counted();
}

/// Returns an IPv4 address as the low bits of an IPv6 address.
fn low_word(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => u32::MAX as u128 & u128::from(ip),
    }
}

#[test]
fn over_ipv6_with_tags() {
    for tags in [vec![], vec![0xA00C], vec![0x2001, 0x6002]] {
        let pair = both_ways(
            |setup| {
                for port in [&mut setup.own, &mut setup.peer] {
                    port.ip = Ipv6Addr::from(0x2001_0DB8 << 96 | low_word(port.ip)).into();
                }
                setup.tags = tags.clone();
            },
            false,
        );
        let (.., frame) = &pair.frames[0];
        assert_eq!(frame.eth.as_ref().unwrap().tags.len(), tags.len());
    }
}

#[test]
fn skipping_idle_cycles_changes_no_frame() {
    let [every, skipping] = [false, true].map(|skip| {
        let mut pair = both_ways(|_| {}, skip);
        // Idle for a while, then once more.
        for _ in 0..3000 {
            pair.step(&mut all);
        }
        let before = [0, 1].map(|side| pair.completions[side].len());
        let (_, counts) = post(&mut pair, 0, 1, &[3 * MTU + 1]);
        pair.run(10_000, &mut all, |pair| {
            done(pair, [before[0] + counts[0], before[1] + counts[1]])
        });
        pair
    });
    assert_eq!(every.skipped(), 0);
    assert!(skipping.skipped() > 5000, "{}", skipping.skipped());
    assert_eq!(every.frames, skipping.frames);
    assert_eq!(every.completions, skipping.completions);
    assert_eq!(every.written, skipping.written);
}

#[test]
fn a_lost_frame_is_resent() {
    // If a packet in the middle is lost, the next one causes a NAK. If the last one is lost, nothing arrives: a
    // timeout, for which an idle NIC has to be woken.
    for (lost, counter) in [(2, reg::NAKS_IN), (5, reg::TIMEOUTS)] {
        let [every, skipping] = [false, true].map(|skip| {
            let mut pair = Tested::new(|_| {}, 1);
            pair.set_skip(skip);
            let (expected, counts) = post(&mut pair, 0, 0, &[6 * MTU]);
            let mut seen = 0;
            let mut wire = |side: usize, _: &mut Vec<u8>, _: &ParsedFrame| {
                seen += u32::from(side == 0);
                side == 1 || seen != lost + 1
            };
            pair.run(60_000, &mut wire, |pair| done(pair, counts));
            good(&pair);
            assert!(pair.memory(1) == expected);
            assert_eq!(pair.count(0, counter), 1, "frame {lost}");
            assert!(pair.count(0, reg::RESENT_OUT) > 0);
            assert_eq!(pair.count(1, reg::GAPS_IN) > 0, lost == 2);
            pair.set_skip(false);
            pair.pulses_are_counted();
            pair.0.frames
        });
        assert_eq!(every, skipping, "frame {lost}");
    }
}

#[test]
fn qps_that_end_together_lose_no_completion() {
    // Many more completions than the queue holds, while the host takes none: all QPs time out in one sweep, and some
    // get work only then.
    let qps = 64;
    let mut pair = Tested::new(
        |setup| {
            setup.requester.timeout = 1;
            setup.requester.retry = 0;
        },
        qps,
    );
    pair.stall(0, Stalled::Completions, 16, u64::MAX);
    let work = |id| Work {
        signaled: true,
        length: 1,
        local_va: SOURCE,
        id,
        ..Work::default()
    };
    for id in 0..16 {
        for index in 0..qps {
            pair.post(0, index, work(id));
        }
    }
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    for _ in 0..10_000 {
        pair.step(&mut nothing);
    }
    assert!(pair.completions[0].is_empty());
    assert!(!pair.host(0).rests());
    let stalled = pair.count(0, reg::EXHAUSTED);
    assert!(stalled > 0 && stalled < u32::from(qps), "{stalled}");
    pair.stall(0, Stalled::Completions, 16, 0);
    pair.run(10_000, &mut nothing, |pair| {
        pair.completions[0].len() == usize::from(qps) * 16
    });
    for index in 0..qps {
        let of: Vec<_> = pair.completions[0]
            .iter()
            .filter(|(qp, _)| *qp == index)
            .map(|(_, completion)| (completion.id, completion.status))
            .collect();
        let expected: Vec<_> = (0..16)
            .map(|id| match id {
                0 => (id, Status::RetryExceeded),
                _ => (id, Status::Flushed),
            })
            .collect();
        assert_eq!(of, expected, "QP {index}");
    }
    assert_eq!(pair.count(0, reg::EXHAUSTED), u32::from(qps));
    pair.pulses_are_counted();
}

#[test]
fn no_receive_buffer_makes_the_sender_wait() {
    let work = Work {
        signaled: true,
        length: 2 * MTU,
        local_va: SOURCE,
        id: 1,
        ..Work::default()
    };
    for (rnr_retry, comes) in [(7, true), (1, false)] {
        let mut pair = Tested::new(|setup| setup.requester.rnr_retry = rnr_retry, 1);
        pair.post(0, 0, work);
        for _ in 0..20_000 {
            pair.step(&mut all);
        }
        assert!(pair.count(1, reg::NO_BUFFER) > 1);
        assert!(pair.count(1, reg::RNR_NAKS_OUT) > 1);
        assert_eq!(pair.completions[0].len(), usize::from(!comes));
        if comes {
            let local_key = pair.key[1];
            let recv = Recv {
                length: 2 * MTU,
                local_va: REGION,
                local_key,
                id: 2,
            };
            pair.post_recv(1, 0, recv);
            pair.run(20_000, &mut all, |pair| done(pair, [1, 1]));
            good(&pair);
            let expected: BTreeMap<_, _> = (0..2 * u64::from(MTU))
                .map(|i| (REGION + i, content(SOURCE + i)))
                .collect();
            assert!(pair.memory(1) == expected);
        } else {
            assert_eq!(pair.completions[0][0].1.status, Status::RnrExceeded);
        }
        assert!(pair.count(0, reg::RNR_NAKS_IN) > 0);
        pair.pulses_are_counted();
    }
}

#[test]
fn a_closed_qp_takes_nothing_and_opens_again() {
    let change = |setup: &mut QpSettings| {
        setup.requester.timeout = 1;
        setup.requester.retry = 1;
    };
    let mut pair = Tested::new(change, 1);
    post(&mut pair, 0, 0, &[40 * MTU]);
    for _ in 0..500 {
        pair.step(&mut all);
    }
    pair.close(1, 0).unwrap();
    pair.run(20_000, &mut all, |pair| pair.completions[0].len() == 1);
    assert_eq!(pair.completions[0][0].1.status, Status::RetryExceeded);
    assert!(pair.count(1, reg::DROP_QP) > 0);
    assert!(pair.completions[1].is_empty());
    for side in 0..2 {
        let mut setup = qp(side, 0);
        change(&mut setup);
        pair.open(side, 0, &setup).unwrap();
        pair.completions[side].clear();
        pair.written[side].clear();
    }
    let (expected, counts) = post(&mut pair, 0, 0, &[2 * MTU, 5]);
    pair.run(20_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

/// IBTA volume 1, message sequence number: the MSN of an ACK is the number of messages that the responder has completed.
#[test]
fn an_ack_says_how_many_messages_are_complete() {
    const ROUNDS: u32 = 260;
    const WORKS: u32 = 16;
    let maps: Vec<_> = dscp_maps().collect();
    // A QP of each class.
    let mut pair = opened(&maps, 8, |_, index, setup| {
        (setup.dscp, setup.requester.timeout) = (8 * index as u8, 0);
    });
    for round in 1..=ROUNDS {
        pair.frames.clear();
        pair.completions[0].clear();
        for index in 0..8 {
            for id in 0..u64::from(WORKS) {
                let work = Work {
                    kind: WorkKind::WRITE,
                    signaled: true,
                    remote_key: pair.key[1],
                    id,
                    ..Work::default()
                };
                pair.post(0, index, work);
            }
        }
        pair.run(5_000, &mut all, |pair| {
            pair.completions[0].len() == 8 * WORKS as usize
        });
        good(&pair);
        for index in 0..8 {
            let of_qp = (pair.frames.iter()).filter(|(side, _, frame)| {
                *side == 1 && frame.bth.unwrap().dest_qp.get() == QPN_BASE + index
            });
            let (.., last) = of_qp.last().unwrap();
            assert_eq!(
                last.ext.unwrap().aeth.unwrap().msn.get(),
                round * WORKS,
                "QP {index}"
            );
        }
    }
}
