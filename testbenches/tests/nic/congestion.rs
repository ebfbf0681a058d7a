//! Marks, CNPs, rates.

use crate::tested::{MTU, Tested, done, good, post};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_cosim::units::nic::{RateChange, Sent, WIRE_OVERHEAD};
use xoff_cosim::units::nic_pair::{QPN_BASE, all};
use xoff_cosim::units::registers::Registers;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};

/// Cycles by which a frame of the first NIC's one QP starts before the rate lets it, at most. A rate that is left still counts for 1,000 cycles: packets of all slots are on their way to the wire.
fn ahead_of_rate(frames: &[(usize, Sent, ParsedFrame)], rates: &[RateChange]) -> u64 {
    let (mut may, mut ahead) = (0, 0);
    for (_, sent, _) in frames.iter().filter(|(side, ..)| *side == 0) {
        let at = sent.start_ps / PERIOD_256_PS;
        let known = rates.partition_point(|change| change.cycle <= at);
        let left = rates[..known].partition_point(|change| change.cycle + 1_000 <= at);
        let rate = (rates[left.saturating_sub(1)..known].iter())
            .map(|change| change.rate)
            .max()
            .unwrap_or(40_000_000);
        let wire_bits = 8 * (sent.bytes.len() as u64 + WIRE_OVERHEAD);
        let cycles = wire_bits * 1_000_000_000 / u64::from(rate) / PERIOD_256_PS;
        ahead = ahead.max(u64::saturating_sub(may, at));
        may = may.max(at) + cycles;
    }
    ahead
}

#[test]
fn a_mark_makes_a_cnp_and_a_cnp_slows_the_sender() {
    let finish = |marked: bool| {
        let mut pair = Tested::new(|_| {}, 1);
        for nic in &mut pair.nics {
            nic.write(reg::CONTROL, 1 << reg::DCQCN_ON_LOW).unwrap();
            nic.write(reg::LIMITER_BURST, 0).unwrap();
        }
        pair.together().unwrap();
        let from = pair.nics[0].now();
        let (expected, counts) = post(&mut pair, 0, 0, &[200 * MTU]);
        let mut wire = |side: usize, frame: &mut Vec<u8>, parsed: &ParsedFrame| {
            if side == 0 {
                assert_eq!(parsed.ip.unwrap().traffic_class & 3, 2, "ECT(0)");
                if marked {
                    let ip = Headers::at(frame).unwrap().ip.unwrap();
                    rewrite::mark_ce(frame, &ip);
                }
            }
            true
        };
        pair.run(200_000, &mut wire, |pair| done(pair, counts));
        good(&pair);
        assert!(pair.memory(1) == expected);
        let cnps: Vec<_> = pair
            .frames
            .iter()
            .filter(|(.., frame)| frame.verdict == Verdict::Cnp)
            .collect();
        assert_eq!(cnps.is_empty(), !marked);
        for (side, _, cnp) in &cnps {
            assert_eq!(*side, 1);
            assert!(cnp.bth.unwrap().becn);
            assert_eq!(cnp.ip.unwrap().traffic_class, 48 << 2 | 2);
            assert_eq!(cnp.bth.unwrap().dest_qp.get(), QPN_BASE);
        }
        let cnps = cnps.len() as u32;
        assert_eq!(pair.count(1, reg::CNPS_OUT), cnps);
        assert_eq!(pair.count(0, reg::CNPS_IN), cnps);
        let finished = pair.nics[0].now();
        // What is told for charts: line rate and α = 1 from the OPEN on; half the rate with the first CNP, α stays 1; then timers.
        let one = 1 << 24;
        for _ in 0..12_000 {
            pair.step(&mut all);
        }
        let rates = pair.nics[0].take_rates();
        assert!(rates.is_sorted_by_key(|change| change.cycle));
        assert!(rates.iter().all(|change| change.qp == 0));
        let seen: Vec<_> = rates
            .iter()
            .map(|change| (change.rate, change.limited, change.alpha))
            .collect();
        assert_eq!(seen[0], (40_000_000, false, one));
        if marked {
            assert_eq!(seen[1], (20_000_000, true, one));
            assert!(seen[2..].iter().any(|(_, _, alpha)| *alpha < one));
            let ahead = ahead_of_rate(&pair.frames, &rates);
            println!("{ahead} cycles ahead of its rate at most");
            assert!(ahead < 100, "{ahead} cycles ahead of its rate");
        } else {
            assert_eq!(seen.len(), 1);
        }
        pair.nics[0].close(0).unwrap();
        pair.nics[0].close(0).unwrap();
        pair.pulses_are_counted();
        let closed = *pair.nics[0].take_rates().last().unwrap();
        assert_eq!((closed.rate, closed.limited, closed.alpha), (0, false, 0));
        finished - from
    };
    let (free, slowed) = (finish(false), finish(true));
    // α is 1 at first: half the rate from the first CNP on.
    assert!(
        slowed > free * 3 / 2,
        "{slowed} cycles, {free} without marks"
    );
}
