//! What holds for one traffic class holds for each, and every DSCP and PCP has the class that its map names.

use std::collections::BTreeSet;

use crate::fixture::{MTU, Tested, dscp_maps, good, mark_ce, opened, pfc, signaled_write};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::Cycles;
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_verify::property::nic::pair::{PairConfig, REGIONS, all, qp};

const QPS: u16 = xoff_rtl::nic::QPS as u16;

/// What is written at side 1 may be read, too, by the key of this region.
const READABLE: Region = Region {
    remote_write: false,
    ..REGIONS[0].1
};

/// Random maps, and their registers: class of each DSCP, class of each PCP.
fn maps(draw: &mut SplitMix) -> ([u8; 64], [u8; 8], Vec<(u16, u32)>) {
    let mut class = || (draw.bits() % 8) as u8;
    let by_dscp: [u8; 64] = std::array::from_fn(|_| class());
    let by_pcp: [u8; 8] = std::array::from_fn(|_| class());
    let word = |classes: &[u8]| {
        let nibbles = (0..).zip(classes);
        nibbles.fold(0, |word, (place, class)| {
            word | u32::from(*class) << (4 * place)
        })
    };
    let words = (0..).zip(by_dscp.chunks(8));
    let mut registers: Vec<_> = words
        .map(|(place, classes)| (reg::DSCP_MAP + 4 * place, word(classes)))
        .collect();
    registers.push((reg::PCP_MAP, word(&by_pcp)));
    (by_dscp, by_pcp, registers)
}

/// QP i has DSCP i; QPs of the second half have a tag with PCP i modulo 8.
fn setup(_: usize, index: u16, setup: &mut QpSettings) {
    setup.dscp = index as u8;
    if index >= QPS / 2 {
        setup.tags = vec![(index % 8) << 13 | 7];
    }
    setup.requester.timeout = 0;
}

/// 802.1Q (36.1): PFC inhibits the priorities that it names and no other; a port tells the priority of what it holds.
#[test]
fn every_dscp_and_pcp_has_the_class_that_the_map_names() {
    let mut draw = SplitMix::new(1);
    for round in 0..6 {
        let by_pcp_on = round % 3 == 2;
        let (by_dscp, by_pcp, mut registers) = maps(&mut draw);
        registers.push((reg::CONTROL, u32::from(by_pcp_on) << reg::CLASS_BY_PCP_LOW));
        registers.push((reg::PFC_CLASSES, 0xFF));
        // Any frame with payload pauses its class until it has been written.
        registers.extend((0..8).map(|class| (reg::PFC_XOFF + 4 * class, 1)));
        let mut pair = opened(&registers, QPS, setup);
        let class_of = |index: u16| match (by_pcp_on, index >= QPS / 2) {
            (false, _) => by_dscp[usize::from(index)],
            (true, true) => by_pcp[usize::from(index % 8)],
            (true, false) => by_pcp[0],
        };
        // Received: the class of what came is paused, and free again when it is written.
        for index in 0..QPS {
            pair.frames.clear();
            pair.completions[0].clear();
            let work = signaled_write(&pair, 0, 0, 1 + (draw.bits() % u64::from(MTU)) as u32);
            pair.post(0, index, work);
            pair.rest(5_000, &mut all);
            assert_eq!(pair.completions[0].len(), 1);
            good(&pair);
            let pauses = pair.frames.iter().filter(|(side, ..)| *side == 1);
            let pauses: Vec<_> = pauses
                .filter_map(|(_, _, frame)| frame.control)
                .map(|head| (head.class_enable, head.timers))
                .collect();
            let class = usize::from(class_of(index));
            assert!(pauses.len() >= 2, "QP {index} of class {class}: {pauses:?}");
            for (place, (enable, quanta)) in pauses.iter().enumerate() {
                assert_eq!(*enable, 1 << class, "QP {index} of class {class}");
                let last = place + 1 == pauses.len();
                assert_eq!(quanta[class] == 0, last, "QP {index} of class {class}");
            }
        }
        // Sent: what is paused waits, what is not goes.
        let paused = draw.bits() as u8;
        let at = pair.time();
        let quanta = std::array::from_fn(|class| (paused >> class & 1 == 1).then_some(u16::MAX));
        pair.receive(0, at, pfc(quanta));
        for _ in 0..100 {
            pair.step(&mut all);
        }
        pair.frames.clear();
        pair.completions[0].clear();
        for index in 0..QPS {
            let work = signaled_write(&pair, 0, 0, 8);
            pair.post(0, index, work);
        }
        for _ in 0..3_000 {
            pair.step(&mut all);
        }
        let mut told: Vec<_> = pair.completions[0]
            .iter()
            .map(|(index, _)| *index)
            .collect();
        told.sort();
        let free = (0..QPS).filter(|index| paused >> class_of(*index) & 1 == 0);
        assert_eq!(told, free.collect::<Vec<_>>(), "paused: {paused:#b}");
    }
}

/// The registers with which class c is DSCP 8c, and PFC is on for all classes.
fn by_dscp() -> Vec<(u16, u32)> {
    dscp_maps().chain([(reg::PFC_CLASSES, 0xFF)]).collect()
}

/// Pauses half of the classes of a side, for each QP in each class, whose QPs have work of this kind at side 0: what is
/// paused waits, all else is sent, no class takes the slots of another, and what has waited is not lost.
fn each_qp_waits_for_the_pauses_of_its_class_alone(side: usize, kind: WorkKind) {
    let mut draw = SplitMix::new(1);
    for round in 0..8 {
        let class_of = |index: u16| (index + index / 8 + round) % 8;
        let mut pair = opened(&by_dscp(), QPS, |_, index, setup| {
            setup.dscp = 8 * class_of(index) as u8;
            setup.requester.timeout = 0;
            // Path MTU of 256 bytes.
            (setup.requester.mtu, setup.responder.mtu) = (0, 0);
            setup.requester.reads = 1;
        });
        pair.let_read(1, 7, &READABLE).unwrap();
        let half = draw.bits() as u8;
        for paused in [half, !half] {
            let quanta = |class: u8| {
                if paused >> class & 1 == 1 {
                    u16::MAX
                } else {
                    0
                }
            };
            let at = pair.time();
            pair.receive(
                side,
                at,
                pfc(std::array::from_fn(|class| Some(quanta(class as u8)))),
            );
            for _ in 0..100 {
                pair.step(&mut all);
            }
            for index in 0..QPS {
                let write = signaled_write(&pair, 0, 0x1_0000 * u64::from(index), 3 * 256);
                let work = match kind.returns() {
                    true => Work {
                        kind,
                        local_va: write.remote_va,
                        local_key: pair.key[0],
                        remote_key: READABLE.key(7),
                        ..write
                    },
                    false => write,
                };
                pair.post(0, index, work);
            }
            let free: BTreeSet<_> = (0..QPS)
                .filter(|index| paused >> class_of(*index) & 1 == 0)
                .collect();
            pair.run(10_000, &mut all, |pair| {
                pair.completions[0].len() >= free.len()
            });
            for _ in 0..500 {
                pair.step(&mut all);
            }
            let told: BTreeSet<_> = (pair.completions[0].iter()).map(|told| told.0).collect();
            assert_eq!(told, free, "paused: {paused:#b}");
            let at = pair.time();
            pair.receive(side, at, pfc([Some(0); 8]));
            pair.run(20_000, &mut all, |pair| {
                pair.completions[0].len() == usize::from(QPS)
            });
            good(&pair);
            pair.completions[0].clear();
        }
        if kind.returns() {
            let memory = pair.memory(0);
            assert_eq!(memory.len(), usize::from(QPS) * 3 * 256);
            for (at, byte) in memory {
                assert_eq!(byte, content(at), "at {at:#x}");
            }
        }
    }
}

/// 802.1Q (36.1), of requests.
#[test]
fn each_qp_of_each_class_waits_for_the_pauses_of_its_class_alone() {
    each_qp_waits_for_the_pauses_of_its_class_alone(0, WorkKind::WRITE);
}

/// 802.1Q (36.1), of answers: those of several QPs of a class wait for each other.
#[test]
fn each_answer_of_each_class_waits_for_the_pauses_of_its_class_alone() {
    each_qp_waits_for_the_pauses_of_its_class_alone(1, WorkKind::WRITE);
}

/// 802.1Q (36.1), of READ responses.
#[test]
fn each_response_of_each_class_waits_for_the_pauses_of_its_class_alone() {
    each_qp_waits_for_the_pauses_of_its_class_alone(1, WorkKind::READ);
}

/// rtl/nic/README.md: the slot of a packet that a NAK has made useless is free again, whatever its class.
#[test]
fn what_a_nak_withdraws_gives_its_slot_back_in_each_class() {
    for class in 0..8 {
        let mut pair = opened(&by_dscp(), 1, |_, _, setup| {
            setup.dscp = 8 * class;
            // Path MTU of 256 bytes.
            (setup.requester.mtu, setup.responder.mtu) = (0, 0);
        });
        let work = signaled_write(&pair, 0, 0, 300 * 256);
        pair.post(0, 0, work);
        let mut quanta = [None; 8];
        quanta[usize::from(class)] = Some(200);
        let (mut sent, mut pauses) = (0, false);
        let until = pair.now() + 100_000;
        while pair.completions[0].is_empty() {
            assert!(pair.now() < until, "class {class} does not send any more");
            let mut lost = false;
            let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
                let data = side == 0 && frame.bth.unwrap().opcode == Opcode::RC_WRITE_MIDDLE;
                sent += u32::from(data);
                lost |= data && sent % 17 == 0;
                !data || sent % 17 != 0
            };
            pair.step(&mut wire);
            // Every other NAK finds the class paused, and the data of what was granted in the slots.
            if lost {
                pauses = !pauses;
                if pauses {
                    let at = pair.time();
                    pair.receive(0, at, pfc(quanta));
                }
            }
        }
        good(&pair);
        // With all slots, as after the first NAK.
        assert!(pair.count(0, reg::WITHDRAWN) > 200, "class {class}");
        assert_eq!(pair.count(0, reg::TIMEOUTS), 0);
    }
}

/// rtl/nic/README.md: a QP may catch up lateness up to the burst of the limiter, but not what a pause held back.
#[test]
fn no_class_catches_up_what_a_pause_held_back() {
    /// Cycles that a QP may catch up.
    const BURST: u32 = 4_000;
    let mut registers = by_dscp();
    registers.push((reg::CONTROL, 1 << reg::DCQCN_ON_LOW));
    registers.push((reg::LIMITER_BURST, BURST));
    let mut draw = SplitMix::new(1);
    for class in (0..8).flat_map(|class| [class; 4]) {
        let mut pair = Tested::of(&PairConfig {
            // Deadlines are compared in all of their bits.
            times: [Cycles(draw.bits() >> 17); 2],
            ..PairConfig::default()
        });
        for side in 0..2 {
            for &(address, word) in &registers {
                pair.write(side, address, word).unwrap();
            }
            let mut setup = qp(side, 0);
            setup.dscp = 8 * class;
            setup.requester.timeout = 0;
            pair.open(side, 0, &setup).unwrap();
        }
        let work = signaled_write(&pair, 0, 0, 1_000 * MTU);
        pair.post(0, 0, work);
        // A CNP halves the rate, within the first packets.
        let mut marked = false;
        let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 0 && !marked {
                mark_ce(bytes);
                marked = true;
            }
            true
        };
        for _ in 0..1_200 {
            pair.step(&mut wire);
        }
        // 2,000 cycles.
        pair.pause(0, usize::from(class), 800);
        while pair.host(0).pauses().paused() == 0 {
            pair.step(&mut all);
        }
        while pair.host(0).pauses().paused() != 0 {
            pair.step(&mut all);
        }
        let before = pair.frames.len();
        let from = pair.now();
        while pair.now() < from + 2_000 {
            pair.step(&mut all);
        }
        let bytes: u64 = (pair.frames[before..].iter())
            .filter(|(side, ..)| *side == 0)
            .map(|(_, frame, _)| frame.wire_bytes())
            .sum();
        // What the slots held goes at once; the rest at 20 Gb/s.
        let line = 2_000 * PERIOD_256_PS / 200;
        let slots = 16 * 1_200;
        assert!(
            bytes < line / 2 + slots,
            "class {class}: {bytes} bytes behind a pause, {line} at line rate"
        );
    }
}

/// 802.1Qbb: a class is stopped when what is stored of it reaches its threshold, and goes on when it has fallen to the
/// other. Frames count from their destination address to their FCS (rtl/nic/README.md).
#[test]
fn each_class_is_stopped_at_its_threshold() {
    const XOFF: u32 = 70_000;
    // QPs c and c + 8 are of class c, which is DSCP 8c. A window of one QP is less than the threshold.
    let thresholds = (0..8).flat_map(|class| {
        [
            (reg::PFC_XOFF + 4 * class, XOFF),
            (reg::PFC_XON + 4 * class, XOFF / 2),
        ]
    });
    let registers: Vec<_> = by_dscp().into_iter().chain(thresholds).collect();
    let mut pair = opened(&registers, 16, |_, index, setup| {
        setup.dscp = 8 * (index % 8) as u8;
        setup.requester.timeout = 0;
    });
    for class in 0..8 {
        pair.frames.clear();
        pair.completions[0].clear();
        pair.stall(1, Stalled::Writes, 16, u64::MAX);
        for index in [class, class + 8] {
            let work = signaled_write(&pair, 0, 0, 50 * MTU);
            pair.post(0, index, work);
        }
        let stopped = |pair: &Tested| pair.host(0).pauses().paused() != 0;
        pair.run(20_000, &mut all, stopped);
        assert_eq!(pair.host(0).pauses().paused(), 1 << class);
        let xoff = (pair.frames.iter().filter(|(side, ..)| *side == 1))
            .find(|(.., frame)| frame.control.is_some())
            .map(|(_, frame, _)| frame.start)
            .unwrap();
        // What was there when the pause began. A frame on the link or in the parser is not there yet.
        let bytes: usize = (pair.frames.iter())
            .filter(|(side, frame, _)| *side == 0 && frame.end < xoff)
            .map(|(_, frame, _)| frame.bytes.len() + 4)
            .sum();
        let late = 2_000_000 / 200 + 2 * 1_100;
        assert!(
            (XOFF as usize..XOFF as usize + late).contains(&bytes),
            "class {class}: {bytes} bytes were sent before the pause"
        );
        pair.stall(1, Stalled::Writes, 16, 0);
        pair.run(40_000, &mut all, |pair| pair.completions[0].len() == 2);
        good(&pair);
        assert_eq!(pair.host(0).pauses().paused(), 0);
    }
    assert_eq!(pair.count(1, reg::DROP_FULL), 0);
}

/// DCQCN (SIGCOMM 2015, 3.3): CNPs have a priority of their own: that of their DSCP, or of their PCP.
#[test]
fn a_cnp_has_the_class_of_its_dscp_or_pcp() {
    let mut draw = SplitMix::new(1);
    for by_pcp_on in [false, true] {
        let (by_dscp, by_pcp, registers) = maps(&mut draw);
        // Each bit of a class is 0 in one of two maps and 1 in the other.
        for flip in [0, 7] {
            let flipped = registers
                .iter()
                .map(|&(address, word)| (address, word ^ (u32::from(flip) * 0x1111_1111)));
            let control = 1 << reg::DCQCN_ON_LOW | u32::from(by_pcp_on) << reg::CLASS_BY_PCP_LOW;
            let others = [(reg::CONTROL, control), (reg::PFC_CLASSES, 0xFF)];
            let registers: Vec<_> = flipped.chain(others).collect();
            let mut pair = opened(&registers, QPS, |_, _, setup| {
                setup.requester.timeout = 0;
                setup.tags = vec![5];
            });
            let (field, classes) = match by_pcp_on {
                false => (reg::CNP_DSCP, &by_dscp[..]),
                true => (reg::CNP_PCP, &by_pcp[..]),
            };
            for (value, class) in (0..).zip(classes) {
                pair.write(1, field, value).unwrap();
                // Every other class is paused, for longer than the test takes.
                let mut quanta = [Some(u16::MAX); 8];
                quanta[usize::from(class ^ flip)] = Some(0);
                let at = pair.time();
                pair.receive(1, at, pfc(quanta));
                for _ in 0..20 {
                    pair.step(&mut all);
                }
                pair.frames.clear();
                let work = signaled_write(&pair, 0, 0, 8);
                pair.post(0, value as u16, work);
                let mut mark = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
                    if side == 0 {
                        mark_ce(bytes);
                    }
                    true
                };
                pair.run(1_000, &mut mark, |pair| {
                    (pair.frames.iter()).any(|(.., frame)| frame.verdict == Verdict::Cnp)
                });
            }
        }
    }
}

/// 802.1Q (36.1): a class that is paused keeps what it holds. The ACK that waits in each class is sent in the end, also
/// when all other QPs have closed meanwhile.
#[test]
fn an_answer_that_waits_for_its_class_is_there_after_other_qps_have_closed() {
    // DSCP i has class i.
    let registers = [(reg::DSCP_MAP, 0x7654_3210), (reg::PFC_CLASSES, 0xFF)];
    // Each bit of a QP's index is 0 in one of two rounds and 1 in the other.
    for flip in [0, QPS - 1] {
        let owing: Vec<_> = (0..8).map(|class| (class * 9) ^ flip).collect();
        let class_of = |index: u16| owing.iter().position(|owing| *owing == index);
        let mut pair = opened(&registers, QPS, |_, index, setup| {
            setup.requester.timeout = 0;
            setup.dscp = class_of(index).unwrap_or(0) as u8;
        });
        let at = pair.time();
        pair.receive(1, at, pfc([Some(u16::MAX); 8]));
        for &index in &owing {
            let work = signaled_write(&pair, 0, 0, 8);
            pair.post(0, index, work);
        }
        for _ in 0..1_000 {
            pair.step(&mut all);
        }
        assert!(
            pair.frames.iter().all(|(side, ..)| *side == 0),
            "an ACK during a pause"
        );
        for index in (0..QPS).filter(|index| class_of(*index).is_none()) {
            pair.close(1, index).unwrap();
        }
        let at = pair.time();
        pair.receive(1, at, pfc([Some(0); 8]));
        pair.run(2_000, &mut all, |pair| {
            pair.completions[0].len() == owing.len()
        });
        good(&pair);
    }
}
