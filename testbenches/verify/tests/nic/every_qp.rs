//! What holds for one QP holds for each: there are many wide vectors with a bit for each QP, and a case of few QPs sees
//! few of their bits.

use std::collections::{BTreeMap, BTreeSet};

use crate::fixture::{MTU, SOURCE, Tested, dscp_maps, good, mark_ce, opened, pfc};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, QPN_BASE, REGION, all, qp};

const QPS: u16 = xoff_rtl::nic::QPS as u16;

/// A WRITE of so many bytes to the QP's own part of side 1's region.
fn write(pair: &Tested, index: u16, length: u32) -> Work {
    Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length,
        local_va: SOURCE,
        remote_va: REGION + 0x1_0000 * u64::from(index),
        remote_key: pair.key[1],
        ..Work::default()
    }
}

/// The rates of the QPs of side 0.
fn rates(pair: &Tested) -> Vec<u32> {
    let rate = |index| pair.host(0).rate(index).map(|(rate, ..)| rate.0);
    (0..QPS).map(|index| rate(index).unwrap()).collect()
}

/// All QPs, in a random order.
pub fn shuffled(draw: &mut SplitMix) -> Vec<u16> {
    let mut all: Vec<_> = (0..QPS).collect();
    all.sort_by_cached_key(|_| draw.bits());
    all
}

/// DCQCN (SIGCOMM 2015, 3.1): a CNP halves the rate of its flow at first, and of no other.
#[test]
fn a_cnp_slows_its_qp_and_no_other() {
    const PACKETS: u32 = 10;
    // Nothing is caught up, or few packets would not show the rate.
    let settings = [
        (reg::CONTROL, 1 << reg::DCQCN_ON_LOW),
        (reg::LIMITER_BURST, 0),
    ];
    let mut pair = opened(&settings, QPS, |_, _, _| {});
    // The time between packets of a message in cycles: median and mean. The host returns data in any order, so that
    // single packets wait.
    let mut spacing = |index: u16, packets: u32, marked: bool| {
        pair.completions[0].clear();
        pair.frames.clear();
        let work = write(&pair, index, packets * MTU);
        pair.post(0, index, work);
        let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 0 && marked {
                mark_ce(bytes);
            }
            true
        };
        pair.run(20_000, &mut wire, |pair| !pair.completions[0].is_empty());
        good(&pair);
        let sent = pair.frames.iter().filter(|(side, ..)| *side == 0);
        let starts: Vec<_> = sent
            .map(|(_, frame, _)| frame.start.as_ps() / PERIOD_256_PS)
            .collect();
        let mut between: Vec<_> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        between.sort();
        let mean = (starts[starts.len() - 1] - starts[0]) / u64::from(packets);
        (between.get(between.len() / 2).copied(), mean)
    };
    // Downwards, so that the turn of the round-robin pickers is always behind the QP.
    for index in (0..QPS).rev() {
        let (free, _) = spacing(index, PACKETS, false);
        spacing(index, 1, true);
        let (_, slowed) = spacing(index, PACKETS, false);
        assert!(
            free < Some(45) && (65..120).contains(&slowed),
            "QP {index}: a packet in {free:?} cycles, in {slowed} behind a CNP"
        );
    }
}

/// DCQCN (SIGCOMM 2015, 3.1): each of the flows whose packets were marked gets a CNP, and they alone are slowed, when
/// all send, and all CNPs come, at the same time.
#[test]
fn flows_that_are_marked_at_once_get_a_cnp_each_and_no_other_does() {
    let settings = [
        (reg::CONTROL, 1 << reg::DCQCN_ON_LOW),
        (reg::CNP_INTERVAL, 1),
    ];
    let mut pair = opened(&settings, QPS, |_, _, setup| setup.requester.timeout = 0);
    let mut draw = SplitMix::new(1);
    for bit in 0..QPS.ilog2() {
        for value in [0, 1] {
            let is_marked = |index: u16| index >> bit & 1 == value;
            pair.completions[0].clear();
            pair.frames.clear();
            for _ in 0..100 {
                pair.step(&mut all);
            }
            for index in shuffled(&mut draw) {
                let work = write(&pair, index, 8);
                pair.post(0, index, work);
            }
            let mut wire = |side: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
                let index = (frame.bth.unwrap().dest_qp.get() - QPN_BASE) as u16;
                if side == 0 && is_marked(index) {
                    mark_ce(bytes);
                }
                true
            };
            let before = rates(&pair);
            pair.rest(5_000, &mut wire);
            good(&pair);
            assert_eq!(pair.completions[0].len(), usize::from(QPS));
            let mut cnps: Vec<_> = (pair.frames.iter())
                .filter(|(.., frame)| frame.verdict == Verdict::Cnp)
                .map(|(side, _, frame)| (*side, frame.bth.unwrap().dest_qp.get() - QPN_BASE))
                .collect();
            cnps.sort();
            let marked = (0..QPS).filter(|index| is_marked(*index));
            let right: Vec<_> = marked.map(|index| (1, u32::from(index))).collect();
            assert_eq!(cnps, right, "bit {bit} is {value}");
            for (index, (before, after)) in (0..).zip(before.iter().zip(rates(&pair))) {
                assert_eq!(
                    after < *before,
                    is_marked(index),
                    "QP {index}, bit {bit} is {value}"
                );
            }
            let slowed: Vec<_> = (0..QPS).filter(|index| is_marked(*index)).collect();
            pair.reopen(&slowed, &|side, index| {
                let mut setup = qp(side, index);
                setup.requester.timeout = 0;
                setup
            });
        }
    }
}

/// As above, for CNPs that come back to back, many for the same QP.
#[test]
fn cnps_back_to_back_slow_their_qps_and_no_other() {
    let settings = [(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)];
    let mut pair = opened(&settings, QPS, |_, _, setup| setup.requester.timeout = 0);
    for index in 0..QPS {
        let work = write(&pair, index, 8);
        pair.post(0, index, work);
    }
    let mut mark = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 0 {
            mark_ce(bytes);
        }
        true
    };
    pair.rest(5_000, &mut mark);
    let cnps: BTreeMap<_, _> = (pair.frames.iter())
        .filter(|(side, _, frame)| *side == 1 && frame.verdict == Verdict::Cnp)
        .map(|(_, sent, frame)| {
            let index = frame.bth.unwrap().dest_qp.get() - QPN_BASE;
            (index as u16, sent.bytes.whole().to_vec())
        })
        .collect();
    assert_eq!(cnps.len(), usize::from(QPS));
    let mut slowed: Vec<_> = (0..QPS).collect();
    let mut draw = SplitMix::new(1);
    for round in 0..16 {
        pair.reopen(&slowed, &|side, index| {
            let mut setup = qp(side, index);
            setup.requester.timeout = 0;
            setup
        });
        // The rate follows an OPEN some cycles later.
        for _ in 0..100 {
            pair.step(&mut all);
        }
        let before = rates(&pair);
        let some = draw.bits();
        let some: Vec<_> = (0..QPS).filter(|index| some >> index & 1 == 1).collect();
        slowed = (0..64)
            .map(|_| some[(draw.bits() % some.len() as u64) as usize])
            .collect();
        pair.receive_back_to_back(0, slowed.iter().map(|index| cnps[index].clone()));
        pair.rest(5_000, &mut all);
        slowed.sort();
        slowed.dedup();
        for (index, (before, after)) in (0..).zip(before.iter().zip(rates(&pair))) {
            let is_slowed = slowed.contains(&index);
            assert_eq!(after < *before, is_slowed, "QP {index}, round {round}");
        }
    }
}

/// IBTA volume 1, 9.7.6.1.3: T counts from when a packet has left, not from when it was granted. So a bus whose round
/// trip is longer than T costs no flow a retry.
#[test]
fn no_timer_counts_while_its_packet_is_read() {
    let mut pair = Tested::of(&PairConfig {
        // T is 8.192 us.
        change: &|_, _, setup| (setup.requester.timeout, setup.requester.retry) = (1, 0),
        qps: &(0..QPS).collect::<Vec<_>>(),
        read_delay: PERIOD * 2_500,
        ..PairConfig::default()
    });
    // They have nothing to do most of the time.
    pair.set_skip(true);
    // In sixteen rounds each QP waits in one slot after the other.
    for round in 0..16 {
        for place in 0..QPS {
            let index = (place + round) % QPS;
            let work = write(&pair, index, 64);
            pair.post(0, index, work);
        }
        pair.run(40_000, &mut all, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        pair.completions[0].clear();
    }
    assert_eq!(pair.count(0, reg::TIMEOUTS), 0);
}

/// IBTA volume 1, error behaviour of responders: a responder that has refused a request is in the error state, and
/// carries out nothing that comes behind it.
#[test]
fn nothing_is_carried_out_behind_what_was_refused() {
    let mut pair = opened(&[], QPS, |_, _, setup| setup.requester.timeout = 0);
    let mut draw = SplitMix::new(1);
    for _ in 0..4 {
        let mut refused = BTreeMap::new();
        for index in shuffled(&mut draw) {
            let good = write(&pair, index, 1 + (draw.bits() % 64) as u32);
            // WRITEs without a right to, or SENDs into a buffer that is not registered, of one to three packets.
            let sends = draw.bits().is_multiple_of(2);
            let bad = Work {
                kind: if sends {
                    WorkKind::SEND
                } else {
                    WorkKind::WRITE
                },
                remote_key: good.remote_key ^ 1,
                length: 1 + (draw.bits() % u64::from(3 * MTU)) as u32,
                ..good
            };
            if sends {
                let recv = Recv {
                    length: 3 * MTU,
                    local_va: REGION,
                    local_key: pair.key[1] ^ 1,
                    id: 1,
                };
                pair.post_recv(1, index, recv);
            }
            for work in [bad, good, good, good] {
                pair.post(0, index, work);
            }
            let status = match sends {
                true => Status::RemoteOperate,
                false => Status::RemoteAccess,
            };
            refused.insert(index, status);
        }
        let sends = refused
            .values()
            .filter(|status| **status == Status::RemoteOperate);
        let receives = sends.count();
        pair.run(80_000, &mut all, |pair| {
            pair.completions[0].len() == 4 * usize::from(QPS)
                && pair.completions[1].len() == receives
        });
        pair.rest(1_000, &mut all);
        assert!(pair.written[1].is_empty());
        for (index, told) in pair.completions[1].drain(..) {
            assert_eq!(told.status, Status::LocalAccess, "QP {index}");
        }
        let mut told: Vec<_> = pair.completions[0].drain(..).collect();
        // Stable: those of a QP stay in their order.
        told.sort_by_key(|(index, _)| *index);
        for of_one in told.chunks(4) {
            let statuses: Vec<_> = of_one.iter().map(|(_, told)| told.status).collect();
            let flushed = Status::Flushed;
            let first = refused[&of_one[0].0];
            assert_eq!(statuses, [first, flushed, flushed, flushed]);
        }
        // Opened again, all of them carry out what they get.
        pair.reopen(&shuffled(&mut draw), &qp);
        for index in shuffled(&mut draw) {
            let work = write(&pair, index, 8);
            pair.post(0, index, work);
        }
        pair.run(40_000, &mut all, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        let written: BTreeSet<_> = pair.memory(1).into_keys().collect();
        assert_eq!(written.len(), 8 * usize::from(QPS));
        pair.completions[0].clear();
        pair.written[1].clear();
    }
}

/// rtl/nic/README.md: QPs that may send take turns. So none is ahead of another by more than a packet or two while both
/// have packets, wherever the turn begins.
#[test]
fn each_qp_has_its_turn() {
    const PACKETS: u32 = 8;
    let mut draw = SplitMix::new(1);
    // Path MTU of 256 bytes.
    let mut pair = opened(&[(reg::PFC_CLASSES, 0xFF)], QPS, |_, _, setup| {
        (setup.requester.mtu, setup.responder.mtu) = (0, 0);
        setup.requester.timeout = 0;
    });
    for _ in 0..6 {
        // One QP alone moves the turn.
        let alone = write(&pair, (draw.bits() % u64::from(QPS)) as u16, 8);
        let last = (draw.bits() % u64::from(QPS)) as u16;
        pair.post(0, last, alone);
        pair.run(2_000, &mut all, |pair| !pair.completions[0].is_empty());
        // All begin at once, when their class is paused no more.
        let at = pair.time();
        pair.receive(0, at, pfc([Some(2_000); 8]));
        for _ in 0..200 {
            pair.step(&mut all);
        }
        pair.frames.clear();
        pair.completions[0].clear();
        for index in shuffled(&mut draw) {
            let work = write(&pair, index, PACKETS * 256);
            pair.post(0, index, work);
        }
        pair.run(60_000, &mut all, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        pair.completions[0].clear();
        let mut sent = vec![0; usize::from(QPS)];
        for (_, _, frame) in pair.frames.iter().filter(|(side, ..)| *side == 0) {
            let index = frame.bth.unwrap().dest_qp.get() - QPN_BASE;
            sent[index as usize] += 1;
            let least = *sent.iter().min().unwrap();
            assert!(
                sent[index as usize] <= least + 3,
                "QP {index} is ahead: {sent:?}"
            );
        }
        assert_eq!(sent, [PACKETS; QPS as usize]);
    }
}

/// IBTA volume 1, 9.7.6.1.3: a packet without an answer is sent again after T at the earliest and 4 T at the latest,
/// whatever other QPs send meanwhile.
#[test]
fn a_lost_packet_is_sent_again_in_time_while_others_send() {
    /// T of timeout code 1 in ps.
    const TIMEOUT_PS: u64 = 8_192_000;
    let mut pair = opened(&[], QPS, |_, _, setup| setup.requester.timeout = 1);
    let mut draw = SplitMix::new(1);
    // Eight QPs at a time lose their packet while all others send, for as long as 4 T.
    for victims in shuffled(&mut draw).chunks(8) {
        pair.frames.clear();
        pair.completions[0].clear();
        for index in 0..QPS {
            let length = match victims.contains(&index) {
                true => 64,
                false => 2 * MTU,
            };
            let work = write(&pair, index, length);
            pair.post(0, index, work);
        }
        let mut lost = BTreeSet::new();
        let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            let index = (frame.bth.unwrap().dest_qp.get() - QPN_BASE) as u16;
            let first = side == 0 && victims.contains(&index) && lost.insert(index);
            !first
        };
        pair.run(40_000, &mut wire, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        for &index in victims {
            let to = QPN_BASE + u32::from(index);
            let sent: Vec<_> = (pair.frames.iter())
                .filter(|(side, _, frame)| *side == 0 && frame.bth.unwrap().dest_qp.get() == to)
                .map(|(_, frame, _)| frame)
                .collect();
            assert_eq!(sent.len(), 2, "QP {index}");
            let waited = sent[1].start.as_ps() - sent[0].end.as_ps();
            assert!(
                (TIMEOUT_PS..=4 * TIMEOUT_PS).contains(&waited),
                "QP {index} waited for {} ns",
                waited / 1_000
            );
        }
    }
}

/// IBTA volume 1: a receive buffer outside of its region is a local access error of its QP, and of no other.
#[test]
fn a_bad_buffer_ends_its_qp_and_no_other() {
    // Path MTU of 256 bytes.
    let change = |setup: &mut QpSettings| {
        setup.requester.timeout = 0;
        (setup.requester.mtu, setup.responder.mtu) = (0, 0);
    };
    let mut pair = opened(&[], QPS, |_, _, setup| change(setup));
    let mut draw = SplitMix::new(1);
    // Each QP is bad while each other is good, and the other way round. Packets of all messages are mixed, and wait for
    // the host, so that they are carried out one right behind the other.
    for bit in 0..QPS.ilog2() {
        for bad in [0, 1] {
            let is_bad = |index: u16| index >> bit & 1 == bad;
            pair.completions.iter_mut().for_each(Vec::clear);
            let until = pair.now() + 3_000;
            pair.stall(1, Stalled::Writes, 16, until);
            for index in shuffled(&mut draw) {
                let length = 2 * 256 + 1;
                let recv = Recv {
                    length,
                    local_va: REGION + 0x1_0000 * u64::from(index),
                    local_key: pair.key[1] ^ u32::from(is_bad(index)),
                    id: index.into(),
                };
                pair.post_recv(1, index, recv);
                let send = Work {
                    kind: WorkKind::SEND,
                    ..write(&pair, index, length)
                };
                pair.post(0, index, send);
            }
            pair.run(60_000, &mut all, |pair| {
                (pair.completions.iter()).all(|told| told.len() == usize::from(QPS))
            });
            for (side, failed) in [Status::RemoteOperate, Status::LocalAccess]
                .into_iter()
                .enumerate()
            {
                for (index, completion) in &pair.completions[side] {
                    let right = if is_bad(*index) {
                        failed
                    } else {
                        Status::Success
                    };
                    assert_eq!(completion.status, right, "QP {index}, bit {bit} is {bad}");
                }
            }
            let failed: Vec<_> = (0..QPS).filter(|index| is_bad(*index)).collect();
            pair.reopen(&failed, &|side, index| {
                let mut setup = qp(side, index);
                change(&mut setup);
                setup
            });
        }
    }
}

/// IBTA volume 1, error state of a QP: outstanding work in both of its queues is flushed, and that of no other QP. Here
/// half of the QPs are refused a WRITE, and their NAKs come one right behind the other. Both sides have outstanding work
/// in the queue that did not fail.
#[test]
fn qps_that_fail_at_once_are_flushed_and_no_other() {
    let settings = |side: usize, index: u16| {
        let mut setup = qp(side, index);
        setup.requester.timeout = 0;
        setup
    };
    let mut pair = opened(&[], QPS, |_, _, setup| setup.requester.timeout = 0);
    let mut draw = SplitMix::new(1);
    for bit in 0..QPS.ilog2() {
        for bad in [0, 1] {
            let is_bad = |index: u16| index >> bit & 1 == bad;
            pair.completions.iter_mut().for_each(Vec::clear);
            for index in shuffled(&mut draw) {
                let recv = Recv {
                    length: 64,
                    local_va: REGION + 0x1_0000 * u64::from(index),
                    local_key: pair.key[0],
                    id: index.into(),
                };
                pair.post_recv(0, index, recv);
                let good = write(&pair, index, 8);
                let work = Work {
                    remote_key: good.remote_key ^ u32::from(is_bad(index)),
                    ..good
                };
                pair.post(0, index, work);
                // It does not arrive.
                let lost = Work {
                    remote_key: pair.key[0],
                    ..good
                };
                pair.post(1, index, lost);
            }
            let mut answers = vec![];
            let mut keep = |side: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
                if side == 1 && frame.bth.unwrap().opcode == Opcode::RC_ACK {
                    answers.push(bytes.clone());
                }
                side == 0
            };
            pair.rest(3_000, &mut keep);
            assert_eq!(answers.len(), usize::from(QPS));
            pair.receive_back_to_back(0, answers);
            pair.rest(3_000, &mut all);
            let right = |index: u16| match is_bad(index) {
                true => vec![
                    (index, false, Status::RemoteAccess),
                    (index, true, Status::Flushed),
                ],
                false => vec![(index, false, Status::Success)],
            };
            let mut told: Vec<_> = (pair.completions[0].drain(..))
                .map(|(index, told)| (index, told.receive, told.status))
                .collect();
            told.sort_by_key(|(index, receive, _)| (*index, *receive));
            assert_eq!(told, (0..QPS).flat_map(right).collect::<Vec<_>>());
            let mut flushed: Vec<_> = (pair.completions[1].drain(..))
                .map(|(index, told)| (index, told.receive, told.status))
                .collect();
            flushed.sort_by_key(|(index, ..)| *index);
            let bad = (0..QPS).filter(|index| is_bad(*index));
            let right: Vec<_> = bad.map(|index| (index, false, Status::Flushed)).collect();
            assert_eq!(flushed, right);
            // The others receive as before, and what was lost arrives.
            for index in (0..QPS).filter(|index| !is_bad(*index)) {
                let send = Work {
                    kind: WorkKind::SEND,
                    remote_va: 0,
                    ..write(&pair, index, 64)
                };
                pair.post(1, index, send);
            }
            pair.run(20_000, &mut all, |pair| {
                let [received, sent] = pair.completions.each_ref().map(Vec::len);
                received == usize::from(QPS) / 2 && sent == usize::from(QPS)
            });
            for (index, told) in pair.completions.iter().flatten() {
                assert_eq!(told.status, Status::Success, "QP {index}");
            }
            let failed: Vec<_> = (0..QPS).filter(|index| is_bad(*index)).collect();
            pair.reopen(&failed, &settings);
        }
    }
}

/// The same while packets of all classes are in the transmit slots, those of the QPs that fail, too.
#[test]
fn qps_that_fail_with_packets_in_the_slots_stop_no_other() {
    let mut draw = SplitMix::new(1);
    for round in 0..16 {
        let class = |index: u16| (index + index / 8 + round) % 8;
        let settings: Vec<_> = dscp_maps().collect();
        let mut pair = opened(&settings, QPS, |_, index, setup| {
            setup.dscp = 8 * class(index) as u8;
            (setup.requester.mtu, setup.responder.mtu) = (0, 0);
            setup.requester.timeout = 0;
        });
        let bad = draw.bits();
        let is_bad = |index: u16| bad >> index & 1 == 1;
        for index in shuffled(&mut draw) {
            let good = write(&pair, index, 5 * 256);
            let works = match is_bad(index) {
                true => [good.remote_key ^ 1, good.remote_key],
                false => [good.remote_key; 2],
            };
            for remote_key in works {
                pair.post(0, index, Work { remote_key, ..good });
            }
        }
        pair.run(40_000, &mut all, |pair| {
            pair.completions[0].len() == 2 * usize::from(QPS)
        });
        pair.rest(5_000, &mut all);
        for (index, status) in pair.completions_by_qp(0).iter().map(|((index, _), told)| {
            let status: Vec<_> = told.iter().map(|told| told.status).collect();
            (*index, status)
        }) {
            let right = match is_bad(index) {
                true => [Status::RemoteAccess, Status::Flushed],
                false => [Status::Success; 2],
            };
            assert_eq!(status, right, "QP {index}");
        }
        let written: BTreeSet<_> = (pair.memory(1).keys())
            .map(|at| ((at - REGION) / 0x1_0000) as u16)
            .collect();
        let right: BTreeSet<_> = (0..QPS).filter(|index| !is_bad(*index)).collect();
        assert_eq!(written, right);
    }
}

/// IBTA volume 1, error state of a queue pair: what is posted to either of its queues is flushed. Many QPs fail within a
/// short time, each at both sides; as the responder's host takes completions slowly, many of them wait for their other
/// half to end. No other QP ends, and nothing is flushed twice.
#[test]
fn failures_behind_a_slow_host_end_their_qps_and_no_other() {
    const RECVS: u64 = 4;
    let works = |fails: bool| if fails { 16 } else { 2 };
    let registers = [(reg::DSCP_MAP, 0), (reg::PFC_CLASSES, 1)];
    let setup = |side: usize, index: u16| {
        let mut setup = qp(side, index);
        (setup.requester.timeout, setup.dscp) = (0, 0);
        setup
    };
    let mut pair = opened(&registers, QPS, |side, index, new| {
        *new = setup(side, index);
    });
    let mut draw = SplitMix::new(7);
    for round in 0..32 {
        let fails = draw.bits();
        let fails = |index: u16| fails >> index & 1 == 1;
        pair.completions = Default::default();
        // Side 1 sends nothing until all have failed.
        let pause = |pair: &mut Tested, quanta| {
            pair.pause(1, 0, quanta);
            for _ in 0..100 {
                pair.step(&mut all);
            }
        };
        pause(&mut pair, u16::MAX);
        for index in shuffled(&mut draw) {
            for id in 0..works(fails(index)) {
                let work = Work {
                    remote_key: pair.key[0],
                    id,
                    ..write(&pair, index, 8)
                };
                pair.post(1, index, work);
            }
            for id in 0..RECVS * u64::from(fails(index)) {
                let recv = Recv {
                    length: 8,
                    local_va: REGION,
                    local_key: pair.key[0],
                    id,
                };
                pair.post_recv(0, index, recv);
            }
        }
        for _ in 0..3_000 {
            pair.step(&mut all);
        }
        pair.stall(1, Stalled::Completions, 15, u64::MAX);
        for index in shuffled(&mut draw) {
            let mut work = write(&pair, index, 8);
            work.remote_key ^= u32::from(fails(index));
            pair.post(0, index, work);
        }
        let failed: Vec<_> = (0..QPS).filter(|index| fails(*index)).collect();
        // The answers wait, too.
        pair.run(100_000, &mut all, |pair| {
            pair.completions[1].len() == works(true) as usize * failed.len()
        });
        pair.stall(1, Stalled::Completions, 0, 0);
        pause(&mut pair, 0);
        pair.rest(20_000, &mut all);
        for side in 0..2 {
            let mut found: BTreeMap<u16, Vec<_>> = BTreeMap::new();
            for (index, completion) in &pair.completions[side] {
                let of_qp = found.entry(*index).or_default();
                of_qp.push((completion.status, completion.id));
            }
            for index in 0..QPS {
                let mut right = vec![];
                match (side, fails(index)) {
                    (0, true) => {
                        right.push((Status::RemoteAccess, 0));
                        right.extend((0..RECVS).map(|id| (Status::Flushed, id)));
                    }
                    (0, false) => right.push((Status::Success, 0)),
                    (_, true) => right.extend((0..works(true)).map(|id| (Status::Flushed, id))),
                    (_, false) => right.extend((0..works(false)).map(|id| (Status::Success, id))),
                }
                assert_eq!(
                    found.get(&index),
                    Some(&right),
                    "round {round}, QP {index} of side {side}"
                );
            }
        }
        pair.reopen(&failed, &setup);
    }
}
