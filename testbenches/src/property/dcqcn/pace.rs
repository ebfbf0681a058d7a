//! `rate_limiter`: senders that always have a packet keep to their rate within 1 %.

use xoff_sim::reference::dcqcn::{Cycle, Rate};

use super::events::{Event, Head};
use super::limiter::Judge;
use super::{Clock, text};
use crate::property::Disagreement;
use crate::units::dcqcn::{LimiterTop, RtlLimiter, Sent, Update};

/// How far a rate may be off.
const TOLERANCE: f64 = 0.01;
/// Packets of each sender at least.
const PACKETS: u64 = 8;

struct Sender {
    qp: u16,
    rate: Rate,
    bytes: u16,
    /// Cycles of its first and its last packet.
    first: Option<Cycle>,
    last: Cycle,
    packets: u64,
}

/// Lets the senders send whenever they may; then weighs.
///
/// # Errors
///
/// A rate that is off, or what [`super::limiter`] finds.
pub fn check<M: LimiterTop>(
    rtl: &mut RtlLimiter<M>,
    head: &Head,
    events: &[Event],
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
    let mut clock = Clock::new(head.start, true);
    let mut judge = Judge::new::<M>();
    rtl.reset(clock.now).map_err(text)?;
    clock.now.0 += 1;
    let mut cycle = |clock: &mut Clock, judge: &mut Judge, update, sent| {
        let out = rtl.cycle(clock.now, burst, update, sent).map_err(text)?;
        let taken = (
            update.filter(|_| out.update_ready),
            sent.filter(|_| out.sent_ready),
        );
        judge.see(clock.now, &out, taken.0, taken.1, burst)?;
        clock.tick(out.rest);
        Ok::<_, Disagreement>((out, taken.0.is_some() || taken.1.is_some()))
    };
    for sender in &senders {
        let update = Update {
            qp: sender.qp,
            rate: sender.rate,
            limited: true,
        };
        while !cycle(&mut clock, &mut judge, Some(update), None)?.1 {}
    }
    let mut eligible = 0;
    while !judge.in_force() {
        eligible = cycle(&mut clock, &mut judge, None, None)?.0.eligible;
    }

    // Bits rise up to 2 · Qps + 16 cycles late: long enough that this, at the end, is a third of the tolerance.
    let long = Cycle(clock.now.0 + 300 * (2 * u64::from(M::QPS) + 16));
    let (mut count, mut turn) = (0, 0);
    while !senders.is_empty()
        && (clock.now < long || senders.iter().any(|sender| sender.packets < PACKETS))
    {
        let ready = (turn..senders.len()).chain(0..turn).find(|&i| {
            let qp = senders[i].qp;
            eligible >> qp & 1 != 0 && judge.settled(qp, clock.now)
        });
        let sent = ready.map(|i| Sent {
            qp: senders[i].qp,
            bytes: senders[i].bytes,
        });
        if sent.is_none() && judge_quiet(&clock, &senders, &judge) {
            clock.skip(Cycle::MAX);
        }
        let now = clock.now;
        let (out, taken) = cycle(&mut clock, &mut judge, None, sent)?;
        eligible = out.eligible;
        if let (Some(i), true) = (ready, taken) {
            let sender = &mut senders[i];
            sender.first.get_or_insert(now);
            sender.last = now;
            sender.packets += 1;
            count += 1;
            turn = i + 1;
        }
    }
    judge.end(clock.now)?;
    for sender in &senders {
        // The last packet's own time is not over.
        let bytes = (sender.packets - 1) * u64::from(sender.bytes);
        let cycles = sender.last.0 - sender.first.map_or(0, |first| first.0);
        let kbps = bytes as f64 * 8e9 / (cycles * M::PERIOD_PS) as f64;
        let off = kbps / f64::from(sender.rate.0) - 1.0;
        if off.abs() > TOLERANCE {
            return Err(format!(
                "QP {} of {}: {kbps:.0} kb/s instead of {} with packets of {} bytes, {:+.2} %, in {cycles} cycles",
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

/// Nobody's bit is about to count.
fn judge_quiet(clock: &Clock, senders: &[Sender], judge: &Judge) -> bool {
    (senders.iter()).all(|sender| judge.settled(sender.qp, clock.now))
}
