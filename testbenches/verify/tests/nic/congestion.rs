//! Tests of CE marks, CNPs and rates.

use crate::fixture::{MTU, Tested, done, good, mark_ce, post};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_network::Endpoint;
use xoff_sim::frame::Frame;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_verify::property::nic::pair::{QPN_BASE, all, qp};

/// A DCQCN state of the first NIC's QP 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RateChange {
    /// The cycle after which it was observed.
    cycle: u64,
    /// kb/s.
    rate: u32,
    limited: bool,
    /// Units of 2⁻²⁴.
    alpha: u32,
}

/// Records the state if it is new.
fn watch(pair: &Tested, rates: &mut Vec<RateChange>) {
    if let Some((rate, alpha, limited)) = pair.host(0).rate(0) {
        let change = RateChange {
            cycle: pair.now() - 1,
            rate: rate.0,
            limited,
            alpha: alpha.0,
        };
        if rates.last().is_none_or(|last| {
            RateChange {
                cycle: last.cycle,
                ..change
            } != *last
        }) {
            rates.push(change);
        }
    }
}

/// Returns the maximum number of cycles by which a frame of the first NIC's only QP starts before the rate allows it. A
/// previous rate still counts for 1,000 cycles, because packets in all slots are on their way to the wire.
fn ahead_of_rate(frames: &[(usize, Frame, ParsedFrame)], rates: &[RateChange]) -> u64 {
    let (mut may, mut ahead) = (0, 0);
    for (_, sent, _) in frames.iter().filter(|(side, ..)| *side == 0) {
        let at = sent.start.as_ps() / PERIOD_256_PS;
        let known = rates.partition_point(|change| change.cycle <= at);
        let left = rates[..known].partition_point(|change| change.cycle + 1_000 <= at);
        let rate = (rates[left.saturating_sub(1)..known].iter())
            .map(|change| change.rate)
            .max()
            .unwrap_or(40_000_000);
        let wire_bits = 8 * sent.wire_bytes();
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
        for side in 0..2 {
            pair.write(side, reg::CONTROL, 1 << reg::DCQCN_ON_LOW)
                .unwrap();
            pair.write(side, reg::LIMITER_BURST, 0).unwrap();
        }
        let mut rates = vec![];
        let from = pair.now();
        let (expected, counts) = post(&mut pair, 0, 0, &[200 * MTU]);
        let mut wire = |side: usize, frame: &mut Vec<u8>, parsed: &ParsedFrame| {
            if side == 0 {
                assert_eq!(parsed.ip.unwrap().traffic_class & 3, 2, "ECT(0)");
                if marked {
                    mark_ce(frame);
                }
            }
            true
        };
        pair.run(200_000, &mut wire, |pair| {
            watch(pair, &mut rates);
            done(pair, counts)
        });
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
        let finished = pair.now();
        // The values for charts: line rate and α = 1 from the OPEN on; half the rate with the first CNP, while α stays
        // 1; then timers.
        let one = 1 << 24;
        for _ in 0..12_000 {
            pair.step(&mut all);
            watch(&pair, &mut rates);
        }
        assert!(rates.is_sorted_by_key(|change| change.cycle));
        assert_eq!(pair.host(0).rate(1), None);
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
        pair.close(0, 0).unwrap();
        pair.close(0, 0).unwrap();
        pair.pulses_are_counted();
        let (rate, alpha, limited) = pair.host(0).rate(0).unwrap();
        assert_eq!((rate.0, limited, alpha.0), (0, false, 0));
        finished - from
    };
    let (free, slowed) = (finish(false), finish(true));
    // α is 1 initially, so the first CNP halves the rate.
    assert!(
        slowed > free * 3 / 2,
        "{slowed} cycles, {free} without marks"
    );
}

/// The interval between CNPs is one of a connection: a QP that is opened again answers its first mark at once.
#[test]
fn a_qp_that_is_opened_again_owes_no_interval_to_the_old_one() {
    /// Cycles between CNPs of a QP, longer than the test.
    const INTERVAL: u32 = 100_000;
    let mut pair = Tested::new(|_| {}, 3);
    for side in 0..2 {
        pair.write(side, reg::CONTROL, 1 << reg::DCQCN_ON_LOW)
            .unwrap();
        pair.write(side, reg::CNP_INTERVAL, INTERVAL).unwrap();
    }
    let mut mark = |_: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        let ip = Headers::at(bytes).unwrap().ip.unwrap();
        if rewrite::ecn_capable(ip.traffic_class) {
            rewrite::mark_ce(bytes, &ip);
        }
        true
    };
    let first = pair.now();
    for index in [0, 1, 2] {
        let (_, counts) = post(&mut pair, 0, index, &[4 * MTU, 64]);
        pair.run(20_000, &mut mark, |pair| done(pair, counts));
        pair.completions.iter_mut().for_each(Vec::clear);
    }
    assert_eq!(pair.count(1, reg::CNPS_OUT), 3, "one a QP");
    for side in 0..2 {
        pair.close(side, 1).unwrap();
        pair.open(side, 1, &qp(side, 1)).unwrap();
    }
    for (index, cnps) in [(0, 3), (1, 4), (2, 4)] {
        let (_, counts) = post(&mut pair, 0, index, &[4 * MTU, 64]);
        pair.run(20_000, &mut mark, |pair| done(pair, counts));
        pair.completions.iter_mut().for_each(Vec::clear);
        assert_eq!(pair.count(1, reg::CNPS_OUT), cnps, "QP {index}");
    }
    assert!(pair.now() - first < u64::from(INTERVAL));
}
