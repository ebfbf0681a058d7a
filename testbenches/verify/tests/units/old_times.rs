//! Times of long ago: what a unit keeps for a QP that was silent for days must not seem to be in the future.
//!
//! `now_i` has 48 bits, so a time of 2^47 cycles ago has the sign of one that is to come. Here time goes on as in a
//! simulation: it jumps, while the unit is idle, to `wake_o` and not beyond.

use xoff_cosim::units::PERIOD_256_PS;
use xoff_rtl_units::RateLimiter4;
use xoff_sim::protocol::dcqcn::Rate;
use xoff_sim::protocol::{Cycle, Idle};
use xoff_verify::units::dcqcn::{NpEvent, RtlLimiter, RtlNp, Sent, Update};

/// Silences after which 48 bits show another sign, the same time, or nearly so.
const SILENCES: [u64; 5] = [
    (1 << 47) - 50,
    (1 << 47) + 1_000,
    3 << 46,
    (1 << 48) - 5,
    (1 << 48) + 7 * (1 << 40),
];

/// Goes on to `end`, and evaluates only what has to be.
fn pass(from: Cycle, end: Cycle, mut cycle: impl FnMut(Cycle) -> Idle) {
    let mut now = from;
    let mut evaluated = 0;
    while now < end {
        let next = Cycle(now.0 + 1);
        now = match cycle(now).wake() {
            Some(wake) => next.max(wake).min(end),
            None => next,
        };
        evaluated += 1;
        assert!(
            evaluated < 10_000,
            "the unit does not rest: cycle {}",
            now.0
        );
    }
}

/// DCQCN (SIGCOMM 2015, section 3.1): at most one CNP an interval, so a mark after the interval is answered.
#[test]
fn a_mark_after_days_is_answered() {
    const INTERVAL: u32 = 9_766;
    let mut np = RtlNp::new(1).unwrap();
    for silence in SILENCES {
        for start in [5, 1 << 47] {
            let mut now = Cycle(start);
            np.reset(now).unwrap();
            let ready = Cycle(start + 100);
            pass(Cycle(start + 1), ready, |now| {
                np.cycle(now, INTERVAL, None).unwrap().idle
            });
            let mut answered = vec![];
            for mark in [ready, Cycle(ready.0 + silence)] {
                pass(now.max(ready), mark, |now| {
                    np.cycle(now, INTERVAL, None).unwrap().idle
                });
                np.cycle(mark, INTERVAL, Some((NpEvent::Marked, 3)))
                    .unwrap();
                now = Cycle(mark.0 + 1);
                let cnps = (0..4).filter_map(|_| {
                    let out = np.cycle(now, INTERVAL, None).unwrap();
                    now.0 += 1;
                    out.cnp
                });
                answered.push(cnps.collect::<Vec<_>>());
            }
            assert_eq!(
                answered,
                [[3], [3]],
                "{silence:#x} cycles from {start:#x} on"
            );
        }
    }
}

/// A packet of b bytes at rate r holds the next one off for b / r, whenever the one before was.
#[test]
fn a_packet_after_days_is_paced_like_the_first() {
    const BYTES: u16 = 1_106;
    let rate = Rate::mbps(1_000);
    // Eight bits a byte and nanosecond, in cycles.
    let pace = u64::from(BYTES) * 8 * 1_000 / PERIOD_256_PS;
    let mut limiter = RtlLimiter::<RateLimiter4>::new(1).unwrap();
    for silence in SILENCES {
        for start in [5, 1 << 47] {
            limiter.reset(Cycle(start)).unwrap();
            let mut now = Cycle(start + 1);
            let go = |now: &mut Cycle, end: u64, limiter: &mut RtlLimiter<RateLimiter4>| {
                pass(*now, Cycle(end), |now| {
                    limiter.cycle(now, 0, None, None).unwrap().idle
                });
                now.0 = end;
            };
            go(&mut now, start + 10, &mut limiter);
            let limited = Update {
                qp: 1,
                rate,
                limited: true,
            };
            limiter.cycle(now, 0, Some(limited), None).unwrap();
            now.0 += 1;
            let settled = start + 100;
            go(&mut now, settled, &mut limiter);
            for sent in [settled, settled + silence] {
                go(&mut now, sent, &mut limiter);
                let out = limiter
                    .cycle(
                        now,
                        0,
                        None,
                        Some(Sent {
                            qp: 1,
                            bytes: BYTES,
                        }),
                    )
                    .unwrap();
                assert!(
                    out.sent_ready && out.eligible == 0b1111,
                    "{silence:#x}: {out:?}"
                );
                now.0 += 1;
                // A bit rises at most one round of a sweep after its time.
                let mut waited = None;
                while waited.is_none() && now.0 < sent + 2 * pace {
                    let out = limiter.cycle(now, 0, None, None).unwrap();
                    let settles = now.0 > sent + 4;
                    waited = (settles && out.eligible == 0b1111).then_some(now.0 - sent);
                    now.0 += 1;
                }
                let waited = waited.expect("it may send again");
                assert!(
                    (pace..pace + 32).contains(&waited),
                    "{silence:#x}: {waited} cycles"
                );
            }
        }
    }
}
