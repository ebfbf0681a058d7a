//! `rate_limiter`: eligibility against the reference's schedule.

use std::collections::VecDeque;

use crate::units::dcqcn::{LimiterOut, LimiterTop, RtlLimiter, Sent, Update};
use xoff_sim::protocol::dcqcn::{ByteGap, LimiterContext};
use xoff_sim::protocol::{Cycle, Idle};

use super::bins;
use super::events::{Event, Head};
use super::{Clock, Sleep};
use crate::property::bins::Bins;
use crate::property::deadline_sweep::Swept;
use crate::property::{Disagreement, same_runs, text};

/// Cycles from when a packet is taken until the bit of its QP reflects it.
const SENT_SETTLES: u64 = 4;
/// Cycles from when a rate takes effect until the bit of its QP reflects it.
const GAP_SETTLES: u64 = 1;
/// Cycles of a division, including up to 3 for a SENT of its QP.
pub const DIVISION: u64 = 19 + 3;
/// Cycles from an update to its gap when no other update is ahead of it.
const FIRST_DIVISION: u64 = 21 + 3;
/// Maximum number of cycles in which the unit may be awake without a visible effect: one or two sweeps, a division
/// whose result is the old gap.
pub const fn awake_max<M: LimiterTop>() -> u64 {
    2 * M::QPS as u64 + 16 + DIVISION + FIRST_DIVISION
}

/// Runs the events and judges every change of eligibility.
///
/// # Errors
///
/// Returns the first bit that rises early or late or falls without a reason, or an update that is lost or wrong.
pub fn check<M: LimiterTop>(
    rtl: &mut RtlLimiter<M>,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    let skipped = run(rtl, head, events, None, bins)?;
    if head.twice {
        let whole = run(rtl, head, events, Some(skipped.end), bins)?;
        same_runs(&skipped.changes, &whole.changes)?;
    }
    Ok(skipped.count)
}

/// The reference state of all QPs, against which the unit is judged.
pub struct Judge {
    qps: Vec<Qp>,
    period_ps: u64,
    /// By which it follows how late a bit may rise.
    swept: Swept,
    /// `eligible_o`, and when it was.
    eligible: u64,
    seen: Cycle,
    /// Bits to check when they have settled.
    settling: VecDeque<(Cycle, u16)>,
    /// QPs with an update that has not taken effect.
    updating: u64,
}

#[derive(Clone, Default)]
struct Qp {
    context: LimiterContext,
    /// Cycle until which its bit may still have the old value.
    settles: Cycle,
    /// Updates that have not taken effect, and when they have to at the latest.
    updates: VecDeque<(Update, Cycle)>,
}

impl Judge {
    /// Creates the state after reset.
    pub fn new<M: LimiterTop>() -> Self {
        Self {
            qps: vec![Qp::default(); usize::from(M::QPS)],
            period_ps: M::PERIOD_PS,
            swept: Swept::default(),
            eligible: u64::MAX >> (64 - M::QPS),
            seen: Cycle(0),
            settling: VecDeque::new(),
            updating: 0,
        }
    }

    /// Returns whether the bit of a QP has settled at `now`.
    pub fn settled(&self, qp: u16, now: Cycle) -> bool {
        now >= self.qps[usize::from(qp)].settles
    }

    /// Returns `eligible_o` of the last cycle.
    pub fn eligible(&self) -> u64 {
        self.eligible
    }

    /// Returns whether all rates have taken effect.
    pub fn in_force(&self) -> bool {
        self.updating == 0
    }

    /// Judges a cycle, given what was taken in it.
    ///
    /// # Errors
    ///
    /// Returns what the unit did wrong.
    pub fn see(
        &mut self,
        now: Cycle,
        out: &LimiterOut,
        update: Option<Update>,
        sent: Option<Sent>,
        burst: u16,
        bins: &mut Bins,
    ) -> Result<(), Disagreement> {
        // Bits that changed, and those that have settled.
        let mut changed = self.eligible ^ out.eligible;
        (self.eligible, self.seen) = (out.eligible, now);
        while changed != 0 {
            let qp = changed.trailing_zeros() as u16;
            changed &= changed - 1;
            self.judge(qp, now, true)?;
        }
        while let Some(&(_, qp)) = self.settling.front().filter(|(at, _)| *at <= now) {
            self.settling.pop_front();
            self.judge(qp, now, false)?;
        }

        if let Some((qp, gap, limited)) = out.in_force {
            bins::in_force(bins, gap, limited, self.eligible >> qp & 1 != 0);
            self.update(now, qp, gap, limited)?;
        }
        if let Some(sent) = sent {
            let qp = &mut self.qps[usize::from(sent.qp)];
            self.swept.touch(sent.qp);
            bins::sent(bins, &qp.context, sent.bytes, now, burst);
            qp.context = qp.context.sent(sent.bytes, now, burst);
            self.settle(now.0 + SENT_SETTLES, sent.qp);
        }
        if let Some(update) = update {
            self.swept.touch(update.qp);
            bins::update(bins, update.qp, update.limited, self.updating);
            let others = self.updating & !(1 << update.qp);
            // One division may be for an older rate of a QP that waits again, for example of this QP itself.
            let front = u64::from(others.count_ones()) + 1;
            let by = Cycle(now.0 + front * DIVISION + FIRST_DIVISION);
            self.updating |= 1 << update.qp;
            self.qps[usize::from(update.qp)]
                .updates
                .push_back((update, by));
        }
        match out.idle.wake() {
            Some(wake) => self.rests(now, wake),
            None => Ok(()),
        }
    }

    fn settle(&mut self, at: u64, qp: u16) {
        let settles = &mut self.qps[usize::from(qp)].settles;
        *settles = Cycle(at).max(*settles);
        self.settling.push_back((*settles, qp));
    }

    fn update(
        &mut self,
        now: Cycle,
        number: u16,
        gap: ByteGap,
        limited: bool,
    ) -> Result<(), Disagreement> {
        let qp = &mut self.qps[usize::from(number)];
        let is = |update: &Update| {
            ByteGap::of(update.rate, self.period_ps) == gap && update.limited == limited
        };
        // A newer update may have replaced older ones. If two are equal, the older one is assumed to have taken effect,
        // and the other one may never come: see `done`.
        let found = (qp.updates.iter()).position(|(update, by)| is(update) && now <= *by);
        let Some(at) = found else {
            return Err(format!(
                "cycle {}, QP {number}: {gap:?}, limited {limited}, is in force; asked was, and by when: {:?}",
                now.0, qp.updates
            ));
        };
        let (update, _) = qp.updates[at];
        qp.updates.drain(..=at);
        if qp.updates.is_empty() {
            self.updating &= !(1 << number);
        }
        qp.context = qp.context.update(update.rate, limited, self.period_ps);
        self.settle(now.0 + GAP_SETTLES, number);
        Ok(())
    }

    /// Nothing is under way in the unit: checks that the newest updates have taken effect.
    fn done(&mut self, now: Cycle) -> Result<(), Disagreement> {
        while self.updating != 0 {
            let number = self.updating.trailing_zeros();
            let qp = &mut self.qps[number as usize];
            if let Some((update, _)) = qp.updates.back() {
                let after = (qp.context).update(update.rate, update.limited, self.period_ps);
                if after != qp.context {
                    return Err(format!("cycle {}: {update:?} is not in force", now.0));
                }
            }
            qp.updates.clear();
            self.updating &= self.updating - 1;
        }
        Ok(())
    }

    fn judge(&self, number: u16, now: Cycle, rose_or_fell: bool) -> Result<(), Disagreement> {
        let qp = &self.qps[usize::from(number)];
        if now < qp.settles {
            return Ok(());
        }
        let from = qp.context.eligible_from();
        let eligible = self.eligible >> number & 1 != 0;
        let bound = self.swept.round(self.qps.len() as u16) + 16;
        let late = now.0 > from.max(qp.settles).0 + bound;
        let what = match (eligible, rose_or_fell) {
            (true, _) if now < from => "eligible early",
            (true, true) if late => "eligible late",
            // In the first cycle that reflects a packet, the bit falls even if the next packet may start in that very
            // cycle.
            (false, true) if now > qp.settles => "not eligible any more, and nothing happened",
            (false, false) if late => "still not eligible",
            _ => return Ok(()),
        };
        Err(format!(
            "cycle {}, QP {number}: {what}; {:?}, from cycle {}",
            now.0, qp.context, from.0
        ))
    }

    fn rests(&mut self, now: Cycle, wake: Cycle) -> Result<(), Disagreement> {
        self.done(now)?;
        for (number, qp) in self.qps.iter().enumerate() {
            let waits = self.eligible >> number & 1 == 0;
            if waits && qp.context.eligible_from() < wake {
                return Err(format!(
                    "cycle {}: wake_o {} is behind QP {number}, eligible from {}",
                    now.0,
                    wake.0,
                    qp.context.eligible_from().0
                ));
            }
        }
        Ok(())
    }

    /// Checks that nothing is missing at the end.
    ///
    /// # Errors
    ///
    /// Returns what is missing.
    pub fn end(&mut self) -> Result<(), Disagreement> {
        self.done(self.seen)?;
        (0..self.qps.len() as u16).try_for_each(|qp| self.judge(qp, self.seen, false))
    }
}

struct Run {
    /// The cycles in which `eligible_o` changed, with its new value.
    changes: Vec<(Cycle, u64)>,
    /// Events taken.
    count: u64,
    /// The first cycle that was not run.
    end: Cycle,
}

/// With `whole`, no idle cycle is skipped, and the run ends in that cycle.
fn run<M: LimiterTop>(
    rtl: &mut RtlLimiter<M>,
    head: &Head,
    events: &[Event],
    whole: Option<Cycle>,
    bins: &mut Bins,
) -> Result<Run, Disagreement> {
    let mut clock = Clock::new(head.start, whole.is_none(), awake_max::<M>());
    let mut judge = Judge::new::<M>();
    let (mut burst, mut count) = (0, 0);
    let mut changes = Vec::new();
    rtl.reset(clock.now).map_err(text)?;
    clock.now.0 += 1;

    let mut sleep = Sleep::default();
    let mut cycle = |clock: &mut Clock,
                     judge: &mut Judge,
                     burst,
                     update: Option<Update>,
                     sent: Option<Sent>| {
        let alone = update.is_none() && sent.is_none();
        sleep.look(clock, !alone, |now| rtl.state(now, burst))?;
        let out = rtl.cycle(clock.now, burst, update, sent).map_err(text)?;
        let idle = clock.skip.idle();
        let resting = alone && idle.wake().is_some_and(|wake| clock.now < wake);
        if resting && (idle != out.idle || out.eligible != judge.eligible) {
            return Err(format!(
                "cycle {}: it changes in a cycle for which it said that it is idle\nbefore: {idle:?}\nnow:    {out:?}",
                clock.now.0
            ));
        }
        let changed = out.eligible != judge.eligible;
        if changed {
            changes.push((clock.now, out.eligible));
        }
        let taken = (
            update.filter(|_| out.update_ready),
            sent.filter(|_| out.sent_ready),
        );
        judge.see(clock.now, &out, taken.0, taken.1, burst, bins)?;
        count += u64::from(taken.0.is_some()) + u64::from(taken.1.is_some());
        clock.tick(out.idle, !alone || changed || out.in_force.is_some())?;
        Ok(taken.0.is_some() || taken.1.is_some())
    };
    for event in events {
        let (update, sent) = match *event {
            Event::Wait(cycles) => {
                clock.wait(cycles, |clock| cycle(clock, &mut judge, burst, None, None))?;
                continue;
            }
            Event::Burst(cycles) => {
                burst = cycles;
                clock.skip.wake();
                continue;
            }
            Event::Update { qp, rate, limited } if qp < M::QPS => {
                let update = Update { qp, rate, limited };
                (Some(update), None)
            }
            Event::Sent { qp, bytes } if qp < M::QPS => (None, Some(Sent { qp, bytes })),
            _ => continue,
        };
        let mut patience = u64::from(M::QPS) + 16;
        while !cycle(&mut clock, &mut judge, burst, update, sent)? {
            patience -= 1;
            if patience == 0 {
                return Err(format!("cycle {}: {event:?} is not taken", clock.now.0));
            }
        }
    }
    match whole {
        Some(end) => {
            while clock.now < end {
                cycle(&mut clock, &mut judge, burst, None, None)?;
            }
        }
        None => {
            // Until the rates have taken effect and the next one or two QPs are eligible.
            let mut patience = u64::from(M::QPS + 2) * DIVISION;
            let mut wakes = 2;
            while (!judge.in_force() || wakes > 0) && patience > 0 {
                patience -= 1;
                let idle = clock.skip.idle();
                if idle != Idle::No {
                    if idle.waits_for_nothing(clock.now) {
                        break;
                    }
                    wakes -= 1;
                    clock.skip(Cycle(clock.now.0 + 1_000));
                }
                cycle(&mut clock, &mut judge, burst, None, None)?;
            }
        }
    }
    judge.end()?;
    Ok(Run {
        changes,
        count,
        end: clock.now,
    })
}
