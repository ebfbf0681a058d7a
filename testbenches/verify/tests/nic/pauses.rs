//! Tests of PFC and PAUSE in both directions.

use crate::fixture::{MTU, Tested, done, good, mark_ce, pfc, post};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_network::Endpoint;
use xoff_sim::frame::Frame;
use xoff_sim::host::Stalled;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::Cycles;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{PairConfig, QPN_BASE, all, qp};

/// Returns the time in ps at which the first byte of a frame is on the wire, after preamble and start delimiter: 8
/// bytes at 40 Gb/s.
fn data_starts(frame: &Frame) -> u64 {
    frame.start.as_ps() + 8 * 200
}

#[test]
fn a_receiver_that_stalls_pauses_its_peer_and_drops_nothing() {
    let class = 3;
    let mut pair = Tested::new(|_| {}, 1);
    for side in 0..2 {
        // DSCP 26 is word 3, entry 2.
        for (address, word) in [
            (reg::DSCP_MAP + 4 * 3, class << 8),
            (reg::PFC_CLASSES, 1 << class),
            (reg::PFC_XOFF + 4 * class as u16, 20_000),
            (reg::PFC_XON + 4 * class as u16, 10_000),
            // A tenth of the longest pause.
            (reg::PFC_QUANTA, 6_553),
            (reg::PFC_REFRESH, 8_000),
        ] {
            pair.write(side, address, word).unwrap();
        }
        // The class of a QP is that of its path when it is opened.
    }
    for side in 0..2 {
        pair.open(side, 0, &qp(side, 0)).unwrap();
    }
    let (expected, counts) = post(&mut pair, 0, 0, &[300 * MTU]);
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    let mut paused_at = None;
    let mut late = 0;
    for _ in 0..30_000 {
        let before = pair.frames.len();
        pair.step(&mut all);
        let now = pair.now();
        if pair.host(0).pauses().paused() == 0 {
            paused_at = None;
        } else if paused_at.is_none() {
            paused_at = Some(now);
        }
        // No frame may begin more than 20 cycles after the pause.
        for (side, sent, _) in &pair.frames[before..] {
            late += usize::from(
                *side == 0
                    && paused_at.is_some_and(|at| data_starts(sent) > (at + 20) * PERIOD_256_PS),
            );
        }
    }
    assert!(paused_at.is_some());
    assert_eq!(late, 0);
    assert!(pair.count(1, reg::PFC_OUT) >= 3, "refreshed");
    pair.stall(1, Stalled::Writes, 16, 0);
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    assert_eq!(pair.count(1, reg::DROP_FULL), 0);
    assert_eq!(pair.count(1, reg::GAPS_IN), 0);
    assert_eq!(pair.count(0, reg::PFC_IN), pair.count(1, reg::PFC_OUT));
    pair.pulses_are_counted();
}

/// Builds a PFC frame that stops these classes for the longest time, or a PAUSE.
fn pause_frame(classes: Option<u8>) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08];
    match classes {
        Some(classes) => frame.extend([0x01, 0x01, 0, classes]),
        None => frame.extend([0x00, 0x01]),
    }
    frame.extend([0xFF; 16]);
    frame.resize(60, 0);
    frame
}

/// Posts a message on each of two QPs of different classes, after the peer paused one of them or all.
fn pausing(
    setup: impl Fn(u16, &mut QpSettings),
    registers: &[(u16, u32)],
    frame: Vec<u8>,
) -> [usize; 2] {
    let mut pair = Tested::new(|_| {}, 0);
    for side in 0..2 {
        for &(address, data) in registers {
            pair.write(side, address, data).unwrap();
        }
        for index in 0..2 {
            let mut qp = qp(side, index);
            setup(index, &mut qp);
            pair.open(side, index, &qp).unwrap();
        }
    }
    let now = pair.time();
    pair.receive(0, now, frame);
    for _ in 0..50 {
        pair.step(&mut all);
    }
    for index in 0..2 {
        post(&mut pair, 0, index, &[3 * MTU]);
    }
    for _ in 0..5000 {
        pair.step(&mut all);
    }
    let sent = [0, 1].map(|index| {
        let to = |frame: &ParsedFrame| {
            frame
                .bth
                .is_some_and(|bth| bth.dest_qp.get() == QPN_BASE + index)
        };
        pair.frames
            .iter()
            .filter(|(side, _, frame)| *side == 0 && to(frame))
            .count()
    });
    pair.pulses_are_counted();
    sent
}

#[test]
fn a_paused_class_waits_and_others_pass() {
    // QP 0 has DSCP 26 and PCP 5, QP 1 DSCP 10 and PCP 2.
    let setup = |index: u16, qp: &mut QpSettings| {
        let (dscp, pcp) = [(26, 5), (10, 2)][usize::from(index)];
        qp.dscp = dscp;
        qp.tags = vec![pcp << 13 | 7];
    };
    // By DSCP: 26 is class 3, 10 class 1. By PCP: 5 is class 6, 2 class 0.
    let maps = [
        (reg::DSCP_MAP + 4 * 3, 3 << 8),
        (reg::DSCP_MAP + 4, 1 << 8),
        (reg::PCP_MAP, 6 << 20),
        (reg::PFC_CLASSES, 0xFF),
    ];
    let with = |control: u32| {
        let mut registers = maps.to_vec();
        registers.push((reg::CONTROL, control));
        registers
    };
    let (dscp, pcp) = (with(0), with(1 << reg::CLASS_BY_PCP_LOW));
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(1 << 3))), [0, 3]);
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(1 << 1))), [3, 0]);
    assert_eq!(pausing(setup, &dscp, pause_frame(Some(0x0A))), [0, 0]);
    assert_eq!(pausing(setup, &pcp, pause_frame(Some(1 << 6))), [0, 3]);
    assert_eq!(pausing(setup, &pcp, pause_frame(Some(1 << 3))), [3, 3]);
    // PAUSE stops all, where it is obeyed.
    assert_eq!(pausing(setup, &dscp, pause_frame(None)), [3, 3]);
    let obeyed = with(1 << reg::PAUSE_OBEYED_LOW);
    assert_eq!(pausing(setup, &obeyed, pause_frame(None)), [0, 0]);
}

/// A QP's answers have a DSCP, a PCP and so a class of their own, as networks have it in which ACKs ride in another class
/// than data: a pause of the data's class does not hold them, one of their class does.
#[test]
fn answers_have_a_class_of_their_own() {
    // DSCP 26 is class 3, 50 class 6; PCP 5 is class 3 and 2 class 6.
    let maps = [
        (reg::DSCP_MAP + 4 * 3, 3 << 8),
        (reg::DSCP_MAP + 4 * 6, 6 << 8),
        (reg::PCP_MAP, 3 << 20 | 6 << 8),
        (reg::PFC_CLASSES, 0xFF),
    ];
    let answers = |control: u32, paused: u8| {
        let mut pair = Tested::new(|_| {}, 0);
        for side in 0..2 {
            for &(address, data) in maps.iter().chain(&[(reg::CONTROL, control)]) {
                pair.write(side, address, data).unwrap();
            }
            let mut qp = qp(side, 0);
            (qp.dscp, qp.answer_dscp, qp.answer_pcp) = (26, Some(50), Some(2));
            qp.tags = vec![5 << 13 | 7];
            pair.open(side, 0, &qp).unwrap();
        }
        let now = pair.time();
        pair.receive(1, now, pause_frame(Some(paused)));
        for _ in 0..50 {
            pair.step(&mut all);
        }
        post(&mut pair, 0, 0, &[3 * MTU]);
        for _ in 0..5000 {
            pair.step(&mut all);
        }
        let of = |side: usize| {
            let frames = pair.frames.iter().filter(move |(from, ..)| *from == side);
            frames.filter_map(|(_, _, frame)| {
                let tag = frame.eth.as_ref()?.tags.first()?;
                let ip = frame.ip.as_ref()?;
                Some((ip.traffic_class >> 2, tag.pcp, tag.vid))
            })
        };
        assert_eq!(of(0).collect::<Vec<_>>(), [(26, 5, 7); 3], "requests");
        let sent: Vec<_> = of(1).collect();
        assert!(sent.iter().all(|marks| *marks == (50, 2, 7)), "{sent:?}");
        sent.len()
    };
    for control in [0, 1 << reg::CLASS_BY_PCP_LOW] {
        assert_eq!(answers(control, 1 << 3), 1, "data's class is paused");
        assert_eq!(answers(control, 1 << 6), 0, "answers' class is paused");
    }
}

/// IEEE 802.3 clause 31: MAC control is apart from the frames of MAC clients. Its frames come between the beats of
/// others and in the cycles in which those are counted, are each counted with their reason, and cost the others nothing.
#[test]
fn mac_control_comes_between_the_beats_of_other_frames() {
    let own = qp(1, 0).own.mac.0;
    let with = |mac: [u8; 6], opcode: u16, bytes: usize| {
        let mut frame = pause_frame(Some(1));
        frame[..6].copy_from_slice(&mac);
        frame[14..16].copy_from_slice(&opcode.to_be_bytes());
        frame.resize(bytes, 0xFF);
        frame
    };
    let control = pause_frame(None)[..6].try_into().unwrap();
    // The port has no class with PFC and does not obey PAUSE. PFC to an individual address is malformed; PAUSE to it is
    // a pause; of other opcodes nothing is known.
    let kinds = [
        (with(control, 0x0101, 60), reg::PAUSE_IGNORED),
        (with(own, 0x0001, 61), reg::PAUSE_IGNORED),
        (with(own, 0x0101, 64), reg::DROP_MALFORMED),
        (with([0xFF; 6], 0x0001, 65), reg::DROP_ADDRESS),
        (with(own, 0x0002, 130), reg::DROP_NOT_ROCE),
    ];
    let mut pair = Tested::new(|_| {}, 2);
    // Of QP 1 the shortest messages, so that frames end as often as they can.
    let posted = [
        post(&mut pair, 0, 0, &[40 * MTU; 3]),
        post(&mut pair, 0, 1, &[4; 16]),
    ];
    let mut sent = [0; 5];
    let mut bytes = 0;
    let counts = [0, 1].map(|side| posted[0].1[side] + posted[1].1[side]);
    let mut cycle = 0;
    while !done(&pair, counts) {
        cycle += 1;
        assert!(cycle < 20_000);
        // At distances from four cycles on: the fastest that the wire has.
        if cycle % (4 + cycle / 256 % 16) == 0 {
            let kind = sent.iter().sum::<u32>() as usize % kinds.len();
            let frame = kinds[kind].0.clone();
            bytes += frame.len() as u32;
            sent[kind] += 1;
            let now = pair.time();
            pair.receive(1, now, frame);
        }
        pair.step(&mut all);
    }
    good(&pair);
    let expected = posted.into_iter().flat_map(|(memory, _)| memory).collect();
    assert!(pair.memory(1) == expected);
    assert!(sent.iter().all(|&sent| sent > 100), "{sent:?}");
    pair.pulses_are_counted();
    let requests: Vec<usize> = (pair.frames.iter())
        .filter(|(side, ..)| *side == 0)
        .map(|(_, frame, _)| frame.bytes.len())
        .collect();
    let all_bytes = bytes + requests.iter().sum::<usize>() as u32;
    assert_eq!(
        pair.count(1, reg::FRAMES_IN),
        sent.iter().sum::<u32>() + requests.len() as u32
    );
    assert_eq!(pair.count(1, reg::BYTES_IN), all_bytes);
    let counted = [
        reg::PAUSE_IGNORED,
        reg::DROP_MALFORMED,
        reg::DROP_ADDRESS,
        reg::DROP_NOT_ROCE,
    ];
    let counted = counted.map(|register| pair.count(1, register));
    assert_eq!(counted, [sent[0] + sent[1], sent[2], sent[3], sent[4]]);
}

/// IEEE 802.1Q clause 36: each priority has a time of its own, in all 16 bits a number of quanta of 512 bit times.
#[test]
fn each_class_pauses_for_its_own_time() {
    let mut pair = Tested::new(|_| {}, 0);
    pair.write(1, reg::PFC_CLASSES, 0xFF).unwrap();
    pair.set_skip(true);
    let mut draw = SplitMix::new(1);
    let times: [u16; 8] = std::array::from_fn(|_| draw.bits() as u16);
    // Each bit is 1 in one of the two frames and 0 in the other.
    let frames = [times, times.map(|time| !time)];
    for times in frames {
        let mut frame = pause_frame(Some(0xFF));
        for (class, time) in times.into_iter().enumerate() {
            frame[18 + 2 * class..][..2].copy_from_slice(&time.to_be_bytes());
        }
        let now = pair.time();
        pair.receive(1, now, frame);
        pair.run(100, &mut all, |pair| pair.host(1).pauses().paused() == 0xFF);
        pair.run(200_000, &mut all, |pair| {
            pair.host(1).pauses().paused() == 0
        });
    }
    for class in 0..8 {
        let spans = pair.host(1).pauses().ended(class);
        let lasted: Vec<_> = (spans.iter())
            .map(|(from, to)| to.as_ps() - from.as_ps())
            .collect();
        // A quantum is 5/2 cycles.
        let right = frames.map(|times| (u64::from(times[class]) * 5).div_ceil(2) * PERIOD_256_PS);
        assert_eq!(lasted, right, "class {class}");
    }
}

#[test]
fn the_watchdog_silences_pauses() {
    let class = 3;
    let mut pair = Tested::new(|_| {}, 0);
    for side in 0..2 {
        for (address, data) in [
            (reg::DSCP_MAP + 4 * 3, class << 8),
            (reg::PFC_CLASSES, 1 << class),
            (reg::PFC_XOFF + 4 * class as u16, 20_000),
            (reg::PFC_XON + 4 * class as u16, 10_000),
            (reg::PFC_QUANTA, 1_000),
            (reg::PFC_REFRESH, 1_000),
            (reg::BARK_LOW, 10_000),
            (reg::BITE_LOW, 20_000),
        ] {
            pair.write(side, address, data).unwrap();
        }
        pair.open(side, 0, &qp(side, 0)).unwrap();
    }
    let (expected, counts) = post(&mut pair, 0, 0, &[100 * MTU]);
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    for _ in 0..30_000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.count(1, reg::BARKS), 1);
    assert_eq!(pair.count(1, reg::BITES), 1);
    let silent = pair.count(1, reg::PFC_OUT);
    assert!(silent > 10, "{silent}");
    for _ in 0..5000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.count(1, reg::PFC_OUT), silent);
    assert_eq!(pair.host(0).pauses().paused(), 0);
    pair.stall(1, Stalled::Writes, 16, 0);
    pair.run(100_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

/// Timers of different units both end in time, whichever is the first, at any time of the device.
#[test]
fn the_watchdog_and_a_rate_do_not_wait_for_each_other() {
    let mut draw = SplitMix::new(1);
    for (alpha, bark) in [(4_000, 8_000), (8_000, 4_000)].repeat(6) {
        let mut pair = Tested::of(&PairConfig {
            // Deadlines are compared in all of their bits.
            times: [Cycles(draw.bits() >> 17); 2],
            ..PairConfig::default()
        });
        for side in 0..2 {
            for (address, data) in [
                (reg::CONTROL, 1 << reg::DCQCN_ON_LOW),
                (reg::ALPHA_TIME, alpha),
                (reg::RATE_TIME, 0),
                (reg::PFC_CLASSES, 1),
                (reg::PFC_XOFF, 20_000),
                (reg::PFC_XON, 10_000),
                (reg::PFC_QUANTA, 0xFFFF),
                (reg::PFC_REFRESH, 1_000_000),
                (reg::BARK_LOW, bark),
            ] {
                pair.write(side, address, data).unwrap();
            }
            let mut setup = qp(side, 0);
            setup.requester.timeout = 0;
            pair.open(side, 0, &setup).unwrap();
        }
        // A CNP halves the rate of the first NIC's QP, and α decreases when `alpha` is over.
        post(&mut pair, 0, 0, &[64]);
        let mut mark = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 0 {
                mark_ce(bytes);
            }
            true
        };
        let one = 1 << 24;
        let alpha_of = |pair: &Tested| pair.host(0).rate(0).unwrap().1.0;
        let slowed = |pair: &Tested| {
            pair.host(0)
                .rate(0)
                .is_some_and(|(rate, ..)| rate.0 == 20_000_000)
        };
        pair.run(2_000, &mut mark, slowed);
        let cnp = pair.now();
        // Its host stalls, and it pauses its peer.
        pair.stall(0, Stalled::Writes, 16, u64::MAX);
        post(&mut pair, 1, 0, &[40 * MTU]);
        pair.run(5_000, &mut all, |pair| pair.host(1).pauses().paused() != 0);
        let pause = pair.now();
        let (mut alpha_at, mut bark_at) = (None, None);
        while alpha_at.is_none() || bark_at.is_none() {
            assert!(
                pair.now() < pause + 16_000,
                "{alpha_at:?} for alpha, {bark_at:?} for the watchdog"
            );
            pair.step(&mut all);
            if alpha_of(&pair) < one {
                alpha_at.get_or_insert(pair.now());
            }
            if pair.host(0).counters().get(reg::BARKS) > 0 {
                bark_at.get_or_insert(pair.now());
            }
        }
        let late = |at: Option<u64>, from: u64, time: u32| {
            at.unwrap() as i64 - (from + u64::from(time)) as i64
        };
        let (alpha_late, bark_late) = (late(alpha_at, cnp, alpha), late(bark_at, pause, bark));
        assert!(
            alpha_late.abs() < 100 && bark_late.abs() < 300,
            "late by {alpha_late} cycles for alpha, by {bark_late} cycles for the watchdog"
        );
    }
}

/// IEEE 802.1Qbb: a pause ends when its quanta are over. So it is refreshed before, also by a NIC that has nothing else
/// to do, at any time of the device, and while it is paused itself.
#[test]
fn pauses_are_refreshed_in_time_while_nothing_else_happens() {
    const REFRESH: u64 = 20_000;
    let mut draw = SplitMix::new(2);
    for (round, bark) in [15_000, 50_000].repeat(4).into_iter().enumerate() {
        let mut pair = Tested::of(&PairConfig {
            times: [Cycles(draw.bits() >> 17); 2],
            ..PairConfig::default()
        });
        for (address, data) in [
            (reg::PFC_CLASSES, 1),
            (reg::PFC_XOFF, 20_000),
            (reg::PFC_XON, 10_000),
            (reg::PFC_QUANTA, 0xFFFF),
            (reg::PFC_REFRESH, REFRESH as u32),
            (reg::BARK_LOW, bark),
        ] {
            for side in 0..2 {
                pair.write(side, address, data).unwrap();
            }
        }
        for side in 0..2 {
            let mut setup = qp(side, 0);
            setup.requester.timeout = 0;
            pair.open(side, 0, &setup).unwrap();
        }
        pair.set_skip(true);
        pair.stall(1, Stalled::Writes, 16, u64::MAX);
        post(&mut pair, 0, 0, &[40 * MTU]);
        for cycle in 0..6 * REFRESH {
            if round % 4 > 1 && cycle % (REFRESH / 3) == REFRESH / 4 {
                // Its own pause ends between two refreshes.
                pair.pause(1, 0, 1_000);
            }
            pair.step(&mut all);
        }
        let starts: Vec<_> = (pair.frames.iter())
            .filter(|(side, _, frame)| *side == 1 && frame.bth.is_none())
            .map(|(_, frame, _)| frame.start.as_ps() / PERIOD_256_PS)
            .collect();
        assert!(starts.len() >= 5, "{starts:?}");
        for both in starts.windows(2) {
            let late = (both[1] - both[0]) as i64 - REFRESH as i64;
            assert!((-300..300).contains(&late), "by {late} cycles, {starts:?}");
        }
    }
}

/// IEEE 802.3 annex 31B, 802.1Q clause 36: a pause is a state between the two ends of a link, which begins anew when the
/// link comes up. So no pause outlives it, in either direction: who still wants its peer to stop says so again.
#[test]
fn no_pause_outlives_the_link() {
    let class = 3;
    let mut pair = Tested::new(|_| {}, 1);
    for (address, word) in [
        (reg::DSCP_MAP + 4 * 3, class << 8),
        (reg::PFC_CLASSES, 1 << class),
        (reg::CONTROL, 1 << reg::PAUSE_OBEYED_LOW),
        (reg::PFC_XOFF + 4 * class as u16, 3_000),
        (reg::PFC_XON + 4 * class as u16, 1_000),
        // The longest pause, and no refresh.
        (reg::PFC_QUANTA, 0xFFFF),
        (reg::PFC_REFRESH, u32::MAX),
    ] {
        pair.write(1, address, word).unwrap();
    }
    for side in 0..2 {
        pair.open(side, 0, &qp(side, 0)).unwrap();
    }
    // Paused by its peer, both ways; and it pauses its peer.
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    post(&mut pair, 0, 0, &[10 * MTU]);
    let mut pfc_in = [None; 8];
    pfc_in[class as usize] = Some(0xFFFF);
    let now = pair.time();
    pair.receive(1, now, pfc(pfc_in));
    for _ in 0..3_000 {
        pair.step(&mut all);
    }
    let told = |pair: &Tested| {
        let frames = pair.frames.iter().filter(|(side, ..)| *side == 1);
        let controls: Vec<_> = frames.filter_map(|(_, _, frame)| frame.control).collect();
        controls
            .iter()
            .map(|control| (control.class_enable, control.timers[class as usize]))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&pair), [(1 << class, 0xFFFF)]);
    assert_eq!(pair.host(1).pauses().paused(), 1 << class);
    let set_link = |pair: &mut Tested, up: bool| {
        let now = pair.time();
        pair.update(1, |host| host.set_link(now, up));
    };
    set_link(&mut pair, false);
    for _ in 0..20 {
        pair.step(&mut all);
    }
    assert_eq!(
        pair.host(1).pauses().paused(),
        0,
        "the peer's pause is over"
    );
    assert_eq!(
        told(&pair).len(),
        1,
        "nothing is said on a link that is down"
    );
    set_link(&mut pair, true);
    for _ in 0..400 {
        pair.step(&mut all);
    }
    assert_eq!(pair.host(1).pauses().paused(), 0);
    assert_eq!(
        told(&pair),
        [(1 << class, 0xFFFF); 2],
        "the peer is told again"
    );
    // It obeys as before.
    let now = pair.time();
    pair.receive(1, now, pfc(pfc_in));
    for _ in 0..50 {
        pair.step(&mut all);
    }
    assert_eq!(pair.host(1).pauses().paused(), 1 << class);
}
