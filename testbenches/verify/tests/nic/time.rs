//! Time: `now_i` has 48 bits and wraps, which no NIC notices.

use crate::fixture::{MTU, Tested, done, good, mark_ce, post};
use xoff_sim::nic_registers as reg;
use xoff_sim::time::{Cycles, Time};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{PairConfig, all, qp};

/// After so many cycles the messages are half sent, rates are low, a packet is lost, and a pause runs.
const MIDST: u64 = 12_000;

/// Sends messages both ways with DCQCN, marks, losses and pauses. Returns all frames with their times.
fn history(start: u64) -> Vec<(usize, Time, Vec<u8>)> {
    let mut pair = Tested::of(&PairConfig {
        times: [Cycles(start); 2],
        ..PairConfig::default()
    });
    for side in 0..2 {
        for (address, data) in [
            (reg::CONTROL, 1 << reg::DCQCN_ON_LOW),
            (reg::DSCP_MAP + 4 * 3, 3),
            (reg::PFC_CLASSES, 1 << 3),
            (reg::ALPHA_TIME, 1_000),
            (reg::RATE_TIME, 700),
            (reg::CNP_INTERVAL, 2_000),
        ] {
            pair.write(side, address, data).unwrap();
        }
        for index in 0..2 {
            let mut setup = qp(side, index);
            // T of timeout code 4: 65 us.
            (setup.requester.timeout, setup.requester.ack_every) = (4, 0);
            setup.dscp = 24;
            pair.open(side, index, &setup).unwrap();
        }
    }
    let (first, counts) = post(&mut pair, 0, 0, &[60 * MTU, 100, 3 * MTU]);
    let (second, more) = post(&mut pair, 1, 1, &[60 * MTU, 0, 5]);
    let counts = [counts[0] + more[0], counts[1] + more[1]];
    let mut data = [0; 2];
    let mut wire = |side: usize, frame: &mut Vec<u8>, parsed: &ParsedFrame| {
        if parsed.bth.is_none_or(|bth| bth.opcode.0 >= 0x0F) {
            return true;
        }
        data[side] += 1;
        if data[side] % 10 == 3 {
            mark_ce(frame);
        }
        // The last one asks for an ACK: only the timer finds it missing.
        !matches!(data[side], 20 | 60)
    };
    for cycle in 0.. {
        assert!(cycle < 400_000, "{:?}", pair.completions);
        if cycle % 3_000 == 2_500 {
            pair.pause(cycle / 3_000 % 2, 3, 400);
        }
        pair.step(&mut wire);
        if done(&pair, counts) {
            break;
        }
    }
    pair.rest(20_000, &mut all);
    good(&pair);
    assert!(pair.memory(1) == first && pair.memory(0) == second);
    (pair.frames.iter())
        .map(|(side, frame, _)| (*side, frame.start, frame.bytes.whole().to_vec()))
        .collect()
}

/// IBTA volume 1, 9.7.6.1.3, and DCQCN know durations only: whatever `now_i` shows at the start, the same frames leave
/// at the same times after it.
#[test]
fn what_the_time_shows_changes_no_frame() {
    let from_zero = history(0);
    let wraps = 1 << 48;
    for start in [
        wraps - MIDST,
        wraps - 1,
        wraps / 2 - MIDST,
        wraps / 4 - MIDST,
    ] {
        assert!(history(start) == from_zero, "from cycle {start:#x}");
    }
}
