//! The ACK timer, and packets that leave just when it runs out.
//!
//! IBTA volume 1, 9.7.6.1.3: a requester waits for an ACK at least T and at most 4 T before it treats a packet as lost.
//! T counts from when the packet has left.

use crate::fixture::{done, good, opened, signaled_write};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::Work;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{QPN_BASE, all, qp};

/// T of timeout code 1: 4.096 us * 2.
const T_PS: u64 = 8_192_000;
/// A quantum of a pause at 40 Gb/s.
const QUANTUM_PS: u64 = 12_800;
/// A QP that sends the longest packet, and one that sends an empty one behind it.
const LONG: u16 = 5;
const EMPTY: u16 = 6;

/// A pause keeps both packets until about T after their grant, so that for some lengths of the pause the timer runs out
/// while the empty packet, whose slot is free once it goes to the builder, waits there for the end of the long one.
#[test]
fn a_timer_that_runs_out_while_its_packet_leaves_waits_for_it() {
    for lost in [false, true] {
        let registers = [(reg::DSCP_MAP + 4 * 3, 3), (reg::PFC_CLASSES, 1 << 3)];
        let mut pair = opened(&registers, EMPTY + 1, |_, _, setup| {
            (setup.requester.mtu, setup.responder.mtu) = (4, 4);
            (setup.requester.timeout, setup.requester.ack_every) = (1, 0);
            setup.dscp = 24;
        });
        let mut psn = qp(0, EMPTY).requester_psn;
        for early in (0..400).step_by(20) {
            pair.frames.clear();
            pair.completions[0].clear();
            let granted = pair.time();
            for (index, length) in [(LONG, 4_096), (EMPTY, 0)] {
                let work = signaled_write(&pair, 0, 0, length);
                pair.post(0, index, work);
                for _ in 0..20 {
                    pair.step(&mut all);
                }
            }
            pair.pause(0, 3, ((T_PS - early * PERIOD_256_PS) / QUANTUM_PS) as u16);
            let mut lose = lost;
            let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
                let bth = frame.bth.unwrap();
                let hit = side == 0 && lose && bth.dest_qp.get() == QPN_BASE + u32::from(EMPTY);
                lose &= !hit;
                !hit
            };
            pair.run(20_000, &mut wire, |pair| done(pair, [2, 0]));
            pair.rest(5_000, &mut wire);
            good(&pair);
            let sent: Vec<_> = (pair.frames.iter())
                .filter(|(side, _, frame)| {
                    let bth = frame.bth.unwrap();
                    *side == 0 && bth.dest_qp.get() == QPN_BASE + u32::from(EMPTY) && bth.psn == psn
                })
                .map(|(_, frame, _)| frame)
                .collect();
            let waited = sent[0].start.as_ps() - granted.as_ps();
            assert!(waited > T_PS / 2, "the pause came too late: {waited} ps");
            assert_eq!(sent.len(), 1 + usize::from(lost), "{early} cycles early");
            if let [first, again] = sent[..] {
                let waited = again.start.as_ps() - first.end.as_ps();
                assert!(
                    (T_PS..=4 * T_PS).contains(&waited),
                    "{early} cycles early: again {} ns after the last bit, T is {} ns",
                    waited / 1_000,
                    T_PS / 1_000
                );
            }
            psn = psn.advance(1);
        }
        let timeouts = if lost { 20 } else { 0 };
        assert_eq!(pair.count(0, reg::TIMEOUTS), timeouts);
    }
}

/// A timer that is started by the ACK of an earlier packet runs out too, although no packet leaves any more.
#[test]
fn a_lost_ack_behind_another_is_asked_for_again() {
    let mut pair = opened(&[], EMPTY + 1, |_, _, setup| {
        (setup.requester.timeout, setup.requester.ack_every) = (1, 0);
    });
    let mut psn = qp(0, EMPTY).requester_psn;
    for round in 1..=4 {
        pair.frames.clear();
        pair.completions[0].clear();
        for id in 0..2 {
            let work = Work {
                id,
                ..signaled_write(&pair, 0, 0, 1_024)
            };
            pair.post(0, EMPTY, work);
        }
        let second = psn.advance(1);
        let mut acks = vec![];
        let mut lose = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            if side == 1 {
                acks.push(frame.bth.unwrap().psn);
            }
            !(side == 1 && acks == [psn, second])
        };
        pair.run(10_000, &mut lose, |pair| done(pair, [2, 0]));
        pair.rest(5_000, &mut all);
        good(&pair);
        assert_eq!(acks, [psn, second, second]);
        assert_eq!(pair.count(0, reg::TIMEOUTS), round);
        psn = psn.advance(2);
    }
}
