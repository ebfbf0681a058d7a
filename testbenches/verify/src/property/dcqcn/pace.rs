//! `rate_limiter`: senders that always have a packet keep to their rate within 1 %.

use crate::units::dcqcn::{LimiterTop, RtlLimiter, Sent, Update};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::dcqcn::Rate;

use super::Clock;
use super::bins;
use super::events::{Event, Head};
use super::limiter::{DIVISION, Judge, awake_max};
use crate::property::bins::Bins;
use crate::property::{Disagreement, text};

/// Tolerance of a rate.
const TOLERANCE: f64 = 0.01;
/// Minimum number of packets of each sender.
const PACKETS: u64 = 8;

struct Sender {
    qp: u16,
    rate: Rate,
    bytes: u16,
    /// Cycle of the first and of the last packet that counts.
    first: Option<Cycle>,
    last: Cycle,
    packets: u64,
}

impl Sender {
    /// Returns the cycles that a packet takes at the sender's rate.
    fn cycles(&self, period_ps: u64) -> f64 {
        f64::from(self.bytes) * 8e9 / (f64::from(self.rate.0) * period_ps as f64)
    }
}

/// Lets the senders send whenever they may, then checks their rates.
///
/// # Errors
///
/// Returns a rate that is off, or what [`super::limiter`] finds.
pub fn check<M: LimiterTop>(
    rtl: &mut RtlLimiter<M>,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    let mut senders: Vec<Sender> = Vec::new();
    let mut burst = 0;
    for event in events {
        match *event {
            Event::Burst(cycles) => burst = cycles,
            Event::Sender { qp, rate, bytes } if qp < M::QPS => senders.push(Sender {
                qp,
                rate,
                bytes,
                first: None,
                last: Cycle(0),
                packets: 0,
            }),
            _ => {}
        }
    }
    // A smaller burst would cost rate: the sweep is late, and a packet may wait for one packet of each other sender.
    burst = burst.max(2 * M::QPS + M::QPS / 16 + 16 + 4 + senders.len() as u16);
    let mut clock = Clock::new(head.start, true, awake_max::<M>());
    let mut judge = Judge::new::<M>();
    rtl.reset(clock.now).map_err(text)?;
    clock.now.0 += 1;
    let mut cycle = |clock: &mut Clock, judge: &mut Judge, update, sent| {
        let out = rtl.cycle(clock.now, burst, update, sent).map_err(text)?;
        let taken = (
            update.filter(|_| out.update_ready),
            sent.filter(|_| out.sent_ready),
        );
        let eligible = judge.eligible();
        judge.see(clock.now, &out, taken.0, taken.1, burst, bins)?;
        let stirs = update.is_some() || sent.is_some() || out.in_force.is_some();
        clock.tick(out.idle, stirs || out.eligible != eligible)?;
        Ok::<_, Disagreement>((out, taken.0.is_some() || taken.1.is_some()))
    };
    // Until all rates have taken effect.
    let by = Cycle(clock.now.0 + u64::from(M::QPS + 16) + u64::from(M::QPS + 2) * DIVISION);
    let stands_still = |clock: &Clock| match clock.now > by {
        true => Err(format!("cycle {}: rates are not in force", clock.now.0)),
        false => Ok(()),
    };
    for sender in &senders {
        let update = Update {
            qp: sender.qp,
            rate: sender.rate,
            limited: true,
        };
        while !cycle(&mut clock, &mut judge, Some(update), None)?.1 {
            stands_still(&clock)?;
        }
    }
    let mut eligible = 0;
    while !judge.in_force() {
        stands_still(&clock)?;
        eligible = cycle(&mut clock, &mut judge, None, None)?.0.eligible;
    }

    // At first a sender may catch up as much as `burst`: at 0.15 packets a cycle of 0.2, in three times that.
    let warm = Cycle(clock.now.0 + 5 * u64::from(burst));
    // Bits rise up to 2 · Qps + 16 cycles late: long enough that this, at the end, is a third of the tolerance.
    let long = Cycle(warm.0 + 300 * (2 * u64::from(M::QPS) + 16));
    let slowest = (senders.iter())
        .map(|sender| sender.cycles(M::PERIOD_PS))
        .fold(0.0, f64::max);
    let end = Cycle(long.0 + (slowest * (PACKETS + 2) as f64) as u64);
    let (mut count, mut turn) = (0, 0);
    // The bits are taken from a cycle in which they have settled.
    let mut may = settled(&senders, &judge, clock.now, eligible);
    while !senders.is_empty()
        && (clock.now < long || senders.iter().any(|sender| sender.packets < PACKETS))
    {
        if clock.now > end {
            return Err(format!(
                "cycle {}: a sender of {slowest:.0} cycles a packet stands still",
                clock.now.0
            ));
        }
        let ready = (turn..senders.len())
            .chain(0..turn)
            .find(|&i| may >> senders[i].qp & 1 != 0);
        let sent = ready.map(|i| Sent {
            qp: senders[i].qp,
            bytes: senders[i].bytes,
        });
        if sent.is_none() && judge_quiet(&clock, &senders, &judge) {
            clock.skip(Cycle(end.0 + 1));
        }
        let now = clock.now;
        let (out, taken) = cycle(&mut clock, &mut judge, None, sent)?;
        may = settled(&senders, &judge, now, out.eligible);
        if let (Some(i), true) = (ready, taken) {
            let sender = &mut senders[i];
            if now >= warm {
                sender.first.get_or_insert(now);
                sender.last = now;
                sender.packets += 1;
            }
            count += 1;
            turn = i + 1;
            may &= !(1 << sender.qp);
        }
    }
    judge.end()?;
    for sender in &senders {
        bins::sender(bins, sender.rate, sender.bytes);
        // The time of the last packet itself has not passed.
        let bytes = (sender.packets - 1) * u64::from(sender.bytes);
        let cycles = sender.last.0 - sender.first.map_or(0, |first| first.0);
        let kbps = bytes as f64 * 8e9 / (cycles * M::PERIOD_PS) as f64;
        let off = kbps / f64::from(sender.rate.0) - 1.0;
        if off.abs() > TOLERANCE {
            return Err(format!(
                "QP {} of {}: {kbps:.0} kb/s instead of {} with packets of {} bytes, {:+.2} %, in {cycles} cycles, burst {burst}",
                sender.qp,
                senders.len(),
                sender.rate,
                sender.bytes,
                100.0 * off
            ));
        }
    }
    Ok(count)
}

/// Returns the senders that may send, among those whose bits have settled at `now`.
fn settled(senders: &[Sender], judge: &Judge, now: Cycle, eligible: u64) -> u64 {
    (senders.iter())
        .filter(|sender| judge.settled(sender.qp, now))
        .fold(0, |may, sender| may | eligible & 1 << sender.qp)
}

/// Returns whether no sender's bit is about to settle.
fn judge_quiet(clock: &Clock, senders: &[Sender], judge: &Judge) -> bool {
    (senders.iter()).all(|sender| judge.settled(sender.qp, clock.now))
}

#[cfg(test)]
mod tests {
    use xoff_rtl_units::RateLimiter;

    use super::super::events::Bench;
    use super::*;

    #[test]
    fn one_sender_from_10_mbps_to_line_rate() {
        let mut rtl = RtlLimiter::<RateLimiter>::new(1).unwrap();
        let head = Head {
            bench: Bench::Pace,
            start: 1_000,
            twice: false,
        };
        for mbps in [10, 25, 100, 400, 1_000, 10_000, 25_000, 39_999, 40_000] {
            for bytes in [84, 300, 1_106, 9_038] {
                let rate = Rate::mbps(mbps);
                // Shorter packets would come faster than one QP may start them.
                if u64::from(rate.0) * RateLimiter::PERIOD_PS > u64::from(bytes) * 1_200_000_000 {
                    continue;
                }
                let qp = (mbps % 64) as u16;
                let events = [Event::Burst(512), Event::Sender { qp, rate, bytes }];
                let mut bins = Bins::new(super::bins::GROUPS);
                check(&mut rtl, &head, &events, &mut bins).unwrap();
            }
        }
    }
}
