//! A host that takes no writes. What it does not take waits in the receive buffer; everything else goes on.

use std::collections::BTreeMap;

use crate::fixture::{MTU, SOURCE, Tested, good, mark_ce, opened, signaled_write};
use crate::receive_buffer;
use crate::standard::packet;
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_sim::wire::{Opcode, RethRepr};
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, all, qp};

/// QP of the stalled side's own messages: that of the class and part 3.
const OWN: u16 = 3;
/// A QP that is opened during the stall, in class 4.
const NEW: u16 = 4;
/// Bits of an address in the memory of a QP.
const QP_BITS: u32 = 24;

/// A WRITE, with data of its own for each QP.
fn write(pair: &mut Tested, side: usize, index: u16, packets: u32) {
    let place = u64::from(index) << QP_BITS;
    let work = signaled_write(pair, side, place, packets * MTU);
    pair.post(side, index, work);
}

/// Asserts that the WRITEs of so many packets of each QP are in the memory of side 1, and nothing else.
fn written(pair: &Tested, packets: &[(u16, u32)]) {
    let mut expected = BTreeMap::new();
    for (index, packets) in packets {
        let place = u64::from(*index) << QP_BITS;
        let bytes = place..place + u64::from(packets * MTU);
        expected.extend(bytes.map(|at| (REGION + at, content(SOURCE + at))));
    }
    assert!(pair.memory(1) == expected);
}

/// The number of requests of a QP that side 0 has sent, and of those among them that were sent before.
fn requests(pair: &Tested, index: u16) -> (usize, usize) {
    let mut seen = BTreeMap::<_, usize>::new();
    for (side, _, frame) in &pair.frames {
        if *side == 0
            && let Some(bth) = frame.bth
            && bth.dest_qp.get() == QPN_BASE + u32::from(index)
            && frame.ext.as_ref().is_none_or(|ext| ext.aeth.is_none())
            && frame.verdict == Verdict::RoceV2
        {
            *seen.entry(bth.psn.get()).or_default() += 1;
        }
    }
    let sent = seen.values().sum();
    (sent, sent - seen.len())
}

/// IEEE 802.1Q (36.1): a class that is paused in time loses nothing, and the others go on. rtl/nic/README.md: a class
/// takes no room from the classes of other parts; data is sent, ACKs and CNPs are handled and registers answer whatever
/// the host does not take.
#[test]
fn a_host_that_takes_no_writes_holds_up_only_what_is_written() {
    let mut registers = receive_buffer::registers(&[512; 4]);
    registers.extend([
        (reg::CONTROL, 1 << reg::DCQCN_ON_LOW),
        (reg::CNP_INTERVAL, 500),
        (reg::PFC_CLASSES, 0xFF),
        (reg::PFC_QUANTA, 6_553),
        (reg::PFC_REFRESH, 3_000),
    ]);
    for class in 0..8 {
        registers.push((reg::PFC_XOFF + 4 * class, 12_000));
        registers.push((reg::PFC_XON + 4 * class, 6_000));
    }
    let mut pair = opened(&registers, NEW, |_, index, setup| {
        setup.dscp = 8 * index as u8;
        setup.requester.timeout = 0;
    });
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    // Three classes fill their parts.
    for index in 0..OWN {
        write(&mut pair, 0, index, 80);
    }
    for _ in 0..6 {
        write(&mut pair, 1, OWN, 20);
    }
    for _ in 0..8_000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.host(0).pauses().paused(), 0b0111, "what side 1 pauses");
    assert!(pair.written[1].is_empty());
    let fill: Vec<_> = (0..OWN).map(|index| requests(&pair, index)).collect();
    println!("requests sent until the pause: {fill:?}");
    // 12,000 bytes are 11 packets.
    assert!(fill.iter().all(|(sent, again)| *sent >= 11 && *again == 0));
    // Its own messages go on, and ACKs complete them.
    assert_eq!(
        pair.completions[1].len(),
        6,
        "completions of the stalled host's own messages"
    );
    // A mark makes the other side send a CNP, which slows down the stalled side.
    write(&mut pair, 1, OWN, 20);
    let mut mark = |side: usize, bytes: &mut Vec<u8>, frame: &ParsedFrame| {
        if side == 1 && frame.verdict == Verdict::RoceV2 {
            mark_ce(bytes);
        }
        true
    };
    pair.run(5_000, &mut mark, |pair| pair.completions[1].len() == 7);
    assert!(
        pair.host(1)
            .rate(OWN)
            .is_some_and(|(_, _, limited)| limited),
        "a CNP for the stalled side"
    );
    // A packet with a mark is answered by a CNP, although it stays in the buffer.
    let key = pair.key[1];
    for index in 0..OWN {
        let before = pair.frames.len();
        let psn = qp(0, index).requester_psn;
        let duplicate = packet(0, index, psn, |roce| {
            roce.ip.traffic_class = (8 * index as u8) << 2 | 3;
            roce.bth.opcode = Opcode::RC_WRITE_ONLY;
            roce.payload = vec![9; 8];
            roce.ext.reth = Some(RethRepr {
                va: REGION,
                rkey: key,
                dma_len: 8,
            });
        });
        let at = pair.time();
        pair.receive(1, at, duplicate);
        for _ in 0..300 {
            pair.step(&mut all);
        }
        let cnps = pair.frames[before..].iter().filter(|(side, _, frame)| {
            let to = frame.bth.map(|bth| bth.dest_qp.get());
            *side == 1 && frame.verdict == Verdict::Cnp && to == Some(QPN_BASE + u32::from(index))
        });
        assert_eq!(cnps.count(), 1, "CNPs for QP {index}");
    }
    // Registers answer, and a QP can be opened and used.
    let now = pair.now();
    assert_eq!(pair.count(1, reg::QPN_BASE), QPN_BASE);
    assert!(
        pair.now() < now + 100,
        "a read takes {} cycles",
        pair.now() - now
    );
    for side in 0..2 {
        let mut setup = qp(side, NEW);
        setup.dscp = 8 * NEW as u8;
        pair.open(side, NEW, &setup).unwrap();
    }
    write(&mut pair, 1, NEW, 4);
    pair.run(5_000, &mut all, |pair| pair.completions[1].len() == 8);
    assert!(pair.written[1].is_empty());
    let pauses = pair.count(1, reg::PFC_OUT);
    assert!(
        pauses > 3,
        "pauses are repeated: {pauses} in {} cycles",
        pair.now()
    );
    // Nothing was lost, and all of it is written when the host takes it.
    pair.stall(1, Stalled::Writes, 16, 0);
    pair.run(30_000, &mut all, |pair| {
        pair.completions[0].len() == usize::from(OWN)
    });
    for _ in 0..500 {
        pair.step(&mut all);
    }
    good(&pair);
    written(&pair, &[(0, 80), (1, 80), (2, 80)]);
    for register in [reg::DROP_FULL, reg::GAPS_IN, reg::NAKS_OUT] {
        assert_eq!(
            [pair.count(0, register), pair.count(1, register)],
            [0; 2],
            "{register:#x}"
        );
    }
    assert_eq!(pair.count(1, reg::DUPLICATES_IN), u32::from(OWN));
    for index in 0..OWN {
        assert_eq!(requests(&pair, index), (80, 0), "QP {index}");
    }
    pair.pulses_are_counted();
}

/// The same without pauses: what finds no room in its part is dropped, and nothing of the other parts is.
#[test]
fn a_part_that_runs_over_while_the_host_takes_no_writes_costs_the_others_nothing() {
    for full in 0..4 {
        let mut pair = opened(
            &receive_buffer::registers(&[512; 4]),
            4,
            |_, index, setup| {
                setup.dscp = 8 * index as u8;
                // The one that has too much sends it again; the others must not have to.
                setup.requester.timeout = if index == full { 3 } else { 0 };
                setup.requester.window = 0;
            },
        );
        pair.stall(1, Stalled::Writes, 16, u64::MAX);
        write(&mut pair, 0, full, 80);
        for _ in 0..2_000 {
            pair.step(&mut all);
        }
        // 20 packets take 340 of the 512 cells.
        for index in (0..4).filter(|index| *index != full) {
            write(&mut pair, 0, index, 20);
        }
        for _ in 0..7_000 {
            pair.step(&mut all);
        }
        assert!(pair.written[1].is_empty());
        let dropped = pair.count(1, reg::DROP_FULL);
        assert!(dropped > 40, "part {full}: {dropped} dropped");
        pair.stall(1, Stalled::Writes, 16, 0);
        pair.run(60_000, &mut all, |pair| pair.completions[0].len() == 4);
        for _ in 0..500 {
            pair.step(&mut all);
        }
        good(&pair);
        let packets = |index| if index == full { 80 } else { 20 };
        written(&pair, &[0, 1, 2, 3].map(|index| (index, packets(index))));
        for index in 0..4 {
            let (sent, again) = requests(&pair, index);
            assert_eq!(
                again == 0,
                index != full,
                "part {full}: {sent} requests of QP {index}, {again} again"
            );
        }
    }
}

/// IBTA volume 1, 9.7.6.1.3: a timeout means that no answer has come. What the host does not let the NIC complete has
/// been answered: the answers wait in the NIC, longer than T, and no QP may end, although none has a retry.
#[test]
fn a_host_that_takes_no_completions_for_longer_than_the_timeout_ends_no_qp() {
    /// T of timeout code 1 is 8.192 us: 1,600 cycles.
    const T: u64 = 1_600;
    const QPS: u16 = 12;
    for messages in [8, 16] {
        for stall in [T + T / 2, 3 * T] {
            let mut pair = opened(&[], QPS, |_, _, setup| {
                (setup.requester.timeout, setup.requester.retry) = (1, 0);
            });
            for round in 0..3 {
                pair.completions[0].clear();
                let until = pair.now() + stall;
                pair.stall(0, Stalled::Completions, 16, until);
                for _ in 0..messages {
                    // Timers are looked at in the order of QPs; in the other one answers come after them.
                    for index in (0..QPS).rev() {
                        write(&mut pair, 0, index, 1);
                    }
                }
                let all_done = usize::from(QPS * messages);
                pair.run(20_000, &mut all, |pair| {
                    pair.completions[0].len() == all_done
                });
                let what = format!("{messages} messages a QP, {stall} cycles, round {round}");
                assert!(pair.now() > until, "{what}: completions came meanwhile");
                good(&pair);
                assert_eq!(pair.count(0, reg::TIMEOUTS), 0, "{what}");
                assert_eq!(pair.count(0, reg::EXHAUSTED), 0, "{what}");
            }
            for index in 0..QPS {
                assert_eq!(requests(&pair, index), (3 * usize::from(messages), 0));
            }
        }
    }
}

/// The same peers, of which one does not answer: only that QP runs into its timeout, and no later than 4 T although the
/// answers of the others wait.
#[test]
fn a_qp_without_an_answer_times_out_beside_those_whose_answers_wait() {
    const T_PS: u64 = 8_192_000;
    const QPS: u16 = 12;
    const DEAF: u16 = 7;
    let mut pair = opened(&[], QPS, |_, index, setup| {
        (setup.requester.timeout, setup.requester.retry) = (1, u8::from(index == DEAF));
    });
    let until = pair.now() + 1_000;
    pair.stall(0, Stalled::Completions, 16, until);
    for _ in 0..5 {
        for index in 0..QPS {
            write(&mut pair, 0, index, 1);
        }
    }
    // Nothing comes back until it has sent again.
    let mut sent = 0;
    let mut deaf = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
        let to = frame.bth.map(|bth| bth.dest_qp.get());
        let of_deaf = to == Some(QPN_BASE + u32::from(DEAF));
        sent += u32::from(of_deaf && side == 0);
        !(of_deaf && side == 1 && sent <= 5)
    };
    pair.run(20_000, &mut deaf, |pair| {
        pair.completions[0].len() == 5 * usize::from(QPS)
    });
    good(&pair);
    assert!(pair.count(0, reg::TIMEOUTS) == 1, "one timeout, of {DEAF}");
    for index in 0..QPS {
        let (_, again) = requests(&pair, index);
        assert_eq!(again > 0, index == DEAF, "QP {index}: {again} again");
    }
    let of_deaf: Vec<_> = (pair.frames.iter())
        .filter(|(side, _, frame)| {
            let to = frame.bth.map(|bth| bth.dest_qp.get());
            *side == 0 && to == Some(QPN_BASE + u32::from(DEAF))
        })
        .map(|(_, frame, parsed)| (frame, parsed.bth.unwrap().psn))
        .collect();
    let pairs = of_deaf.windows(2);
    let back = (pairs.into_iter())
        .find(|pair| pair[1].1.ahead_of(pair[0].1) <= 0)
        .unwrap();
    // The timer counts from the first packet, as nothing was acknowledged.
    let waited = back[1].0.start.as_ps() - of_deaf[0].0.end.as_ps();
    assert!(
        (T_PS..=4 * T_PS).contains(&waited),
        "sent again after {waited} ps"
    );
}

/// IBTA volume 1 (10.3.1): a QP in the error state sends no requests. All QPs of side 1 are refused a WRITE of their peer,
/// and so fail, in the middle of messages of their own and while the host takes no completions, for which what is flushed
/// waits.
#[test]
fn qps_that_fail_send_nothing_while_completions_wait() {
    const QPS: u16 = 48;
    let mut pair = Tested::new(|setup| setup.requester.timeout = 0, QPS);
    let until = 20_000;
    pair.stall(1, Stalled::Completions, 16, until);
    for _ in 0..4 {
        (0..QPS).for_each(|index| write(&mut pair, 1, index, 4));
    }
    let bad = |index: u16| {
        packet(0, index, qp(1, index).responder_psn, |roce| {
            roce.bth.opcode = Opcode::RC_WRITE_ONLY;
            roce.ext.reth = Some(RethRepr {
                va: REGION,
                rkey: 0xBAD_0000,
                dma_len: 1,
            });
            roce.payload = vec![1];
        })
    };
    // In the middle of the first messages.
    (pair).run(5_000, &mut all, |pair| pair.frames.len() >= 60);
    pair.receive_back_to_back(1, (0..QPS).map(bad));
    (pair).run(10_000, &mut all, |pair| {
        pair.host(1).counters().get(reg::ACCESS_IN) == u64::from(QPS)
    });
    // What is on its way to the wire by then is little.
    (0..500).for_each(|_| pair.step(&mut all));
    assert!(pair.now() < until);
    let requests = |pair: &Tested| {
        let own = pair.frames.iter().filter(|(side, _, frame)| {
            *side == 1 && frame.ext.as_ref().is_none_or(|ext| ext.aeth.is_none())
        });
        own.count()
    };
    let before = requests(&pair);
    (0..5_000).for_each(|_| pair.step(&mut all));
    assert!(pair.now() < until);
    assert_eq!(requests(&pair), before, "sent by QPs that have failed");
    assert!(
        before < 4 * 4 * usize::from(QPS),
        "all was sent before: {before}"
    );
}
