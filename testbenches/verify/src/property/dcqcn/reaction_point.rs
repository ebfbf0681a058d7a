//! `dcqcn_rp`: replays the steps that the unit reports through the reference.

use std::collections::VecDeque;

use crate::units::dcqcn::{RpStep, RpTop, RtlRp};
use xoff_sim::protocol::dcqcn::{RpContext, RpEvent, RpParameters};
use xoff_sim::protocol::{Cycle, Idle};

use super::bins::{self, Unit};
use super::events::{Event, Head};
use super::{Clock, Sleep, on_pins};
use crate::property::bins::Bins;
use crate::property::deadline_sweep::Swept;
use crate::property::{Disagreement, other_fields, same_runs, text};

/// Maximum number of cycles that an event waits.
const EVENT_WAITS: u64 = 26;
/// Maximum number of cycles per QP in which the unit may be awake without a visible effect: one or two sweeps of one or
/// two cycles per QP.
const AWAKE: u64 = 4;
/// Maximum number of cycles from when an event is taken until its step shows.
const STEP_TIME: u64 = 16;

/// Runs the events and judges every step.
///
/// # Errors
///
/// Returns the first step that is wrong, missing, early or late.
pub fn check<M: RpTop>(
    rtl: &mut RtlRp<M>,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    let skipped = run(rtl, head, events, true, bins)?;
    if head.twice {
        same_runs(&skipped, &run(rtl, head, events, false, bins)?)?;
    }
    Ok(skipped.len() as u64)
}

/// The reference state, and the steps that are still expected.
struct Judge {
    /// By which it follows how late a timer may be.
    swept: Swept,
    qps: Vec<Qp>,
    /// Parameters, each with the cycle from which they apply; the newest last.
    parameters: VecDeque<(Cycle, RpParameters)>,
    /// Events taken and not stepped.
    inside: usize,
    steps: Vec<RpStep>,
}

#[derive(Clone, Default)]
struct Qp {
    context: RpContext,
    /// Cycle in which its earliest deadline was written.
    since: Cycle,
    /// Events taken, and when.
    inside: VecDeque<(RpEvent, Cycle)>,
}

impl Qp {
    /// Returns the cycle in which its earliest deadline has to be stepped at the latest.
    fn latest(&self, bound: u64) -> Option<Cycle> {
        let deadline = self.context.deadline()?;
        // A deadline that had already passed when it was written counts from that cycle.
        Some(Cycle(deadline.max(self.since).0 + bound))
    }
}

impl Judge {
    /// Maximum number of cycles by which a timer may be late.
    fn bound(&self) -> u64 {
        self.swept.round(self.qps.len() as u16) + 20
    }

    fn parameters(&self, now: Cycle) -> RpParameters {
        (self.parameters.iter().rev())
            .find(|(from, _)| *from <= now)
            .expect("parameters are set before the first cycle")
            .1
    }

    /// Judges a step that shows in cycle `now`.
    fn see(&mut self, now: Cycle, step: RpStep, bins: &mut Bins) -> Result<(), Disagreement> {
        let parameters = self.parameters(step.now);
        let bound = self.bound();
        let count = self.qps.len();
        let qp = &mut self.qps[usize::from(step.qp)];
        let wrong = |what: &str| Err(format!("cycle {}: {what}\n{step:?}", now.0));
        if step.now > now || step.now.0 + STEP_TIME < now.0 {
            return wrong("a step of another time");
        }
        if step.event == RpEvent::Timer {
            if qp.context.deadline().is_none_or(|due| due > step.now) {
                return wrong(&format!("TIMER with nothing due in {:?}", qp.context));
            }
            if qp.latest(bound).is_some_and(|latest| step.now > latest) {
                return wrong(&format!(
                    "TIMER later than {} cycles, deadlines of {} in {:?}",
                    bound, qp.since.0, qp.context
                ));
            }
        } else {
            match qp.inside.pop_front() {
                Some((event, taken)) if event == step.event => {
                    if step.now < taken || taken.0 + STEP_TIME < now.0 {
                        return wrong(&format!("taken in cycle {}", taken.0));
                    }
                    self.inside -= 1;
                }
                other => return wrong(&format!("this QP's next event was {other:?}")),
            }
        }
        let (after, action) = qp.context.step(&parameters, step.event, step.now);
        let unit = match count {
            4 => Unit::Qps4,
            _ => Unit::Qps64,
        };
        let event = (step.event, step.now);
        bins::step(bins, unit, &qp.context, event, &parameters, &after);
        let pins = on_pins(after);
        if (step.context, step.rate_valid) != (pins, action.is_some()) {
            return Err(format!(
                "cycle {}, QP {}, {:?} at {} under {parameters:?}\n{}\nbefore:    {:?}\nRTL:       {:?}, rate_valid {}\nreference: {after:?}, rate_valid {}",
                now.0,
                step.qp,
                step.event,
                step.now.0,
                other_fields(&step.context, &pins),
                qp.context,
                step.context,
                step.rate_valid,
                action.is_some()
            ));
        }
        if after.deadline() != qp.context.deadline() {
            // The deadline is written, and visible to sweeps, when the step shows.
            qp.since = now;
        }
        qp.context = after;
        self.steps.push(step);
        Ok(())
    }

    /// Checks that the unit may be idle until `wake`.
    fn rests(&self, now: Cycle, wake: Cycle) -> Result<(), Disagreement> {
        if self.inside > 0 {
            return Err(format!(
                "cycle {}: idle with {} events inside",
                now.0, self.inside
            ));
        }
        let due = self.qps.iter().filter_map(|qp| qp.context.deadline()).min();
        match due {
            Some(due) if due < wake => Err(format!(
                "cycle {}: wake_o {} is behind the deadline {}",
                now.0, wake.0, due.0
            )),
            _ => Ok(()),
        }
    }
}

fn run<M: RpTop>(
    rtl: &mut RtlRp<M>,
    head: &Head,
    events: &[Event],
    skips: bool,
    bins: &mut Bins,
) -> Result<Vec<RpStep>, Disagreement> {
    let qps = u64::from(M::QPS);
    let mut clock = Clock::new(head.start, skips, AWAKE * qps + EVENT_WAITS);
    let mut judge = Judge {
        swept: Swept::default(),
        qps: vec![Qp::default(); usize::from(M::QPS)],
        parameters: VecDeque::new(),
        inside: 0,
        steps: Vec::new(),
    };
    let set = |rtl: &mut RtlRp<M>, judge: &mut Judge, now, parameters: &RpParameters| {
        rtl.set(parameters);
        judge.parameters.push_back((now, *parameters));
        // A step uses parameters of a few cycles ago; older ones are dropped.
        if judge.parameters.len() > 40 {
            judge.parameters.pop_front();
        }
    };
    let nothing = RpParameters::paper(Default::default(), xoff_cosim::units::PERIOD_256_PS);
    set(rtl, &mut judge, clock.now, &nothing);
    rtl.reset(clock.now).map_err(text)?;
    clock.now.0 += 1;
    // The clearing of the memory after reset delays events too.
    let cleared = Cycle(clock.now.0 + qps);

    let mut sleep = Sleep::default();
    // The last event taken, and since when one is offered.
    let mut last: Option<(u16, Cycle)> = None;
    let mut offered: Option<Cycle> = None;
    let mut cycle = |rtl: &mut RtlRp<M>,
                     clock: &mut Clock,
                     judge: &mut Judge,
                     event: Option<(RpEvent, u16)>| {
        sleep.look(clock, event.is_some(), |now| rtl.state(now))?;
        let out = rtl.cycle(clock.now, event).map_err(text)?;
        let idle = clock.skip.idle();
        let resting = event.is_none() && idle.wake().is_some_and(|wake| clock.now < wake);
        if resting && (idle != out.idle || out.step.is_some()) {
            return Err(format!(
                "cycle {}: it changes in a cycle for which it said that it is idle\nbefore: {idle:?}\nnow:    {out:?}",
                clock.now.0
            ));
        }
        if let Some(step) = out.step {
            judge.see(clock.now, step, bins)?;
        }
        let taken = event.filter(|_| out.ready);
        offered = event.and(offered.or(Some(clock.now)));
        if let Some((event, qp)) = taken {
            judge.swept.touch(qp);
            let this = (qp, clock.now);
            if let (Some(before), Some(offered)) = (last.replace(this), offered.take()) {
                bins::spacing(bins, before, this, offered);
            }
            judge.qps[usize::from(qp)]
                .inside
                .push_back((event, clock.now));
            judge.inside += 1;
        }
        if let (Some(wake), Idle::No) = (out.idle.wake(), idle) {
            judge.rests(clock.now, wake)?;
        }
        clock.tick(out.idle, event.is_some() || out.step.is_some())?;
        Ok(taken.is_some())
    };
    for event in events {
        match event {
            Event::Wait(cycles) => {
                clock.wait(*cycles, |clock| cycle(rtl, clock, &mut judge, None))?;
            }
            Event::Set(parameters) => {
                set(rtl, &mut judge, clock.now, parameters);
                clock.skip.wake();
            }
            Event::Rp { event, qp } if *qp < M::QPS => {
                let offered = clock.now;
                while !cycle(rtl, &mut clock, &mut judge, Some((*event, *qp)))? {
                    if clock.now.0 > offered.max(cleared).0 + EVENT_WAITS {
                        return Err(format!(
                            "cycle {}: {event:?} of QP {qp} waits since {}",
                            clock.now.0, offered.0
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    for _ in 0..STEP_TIME {
        cycle(rtl, &mut clock, &mut judge, None)?;
    }
    for (number, qp) in judge.qps.iter().enumerate() {
        if let Some(lost) = qp.inside.front() {
            return Err(format!("QP {number}: {lost:?} was taken and never stepped"));
        }
        if qp
            .latest(judge.bound())
            .is_some_and(|latest| clock.now.0 > latest.0 + STEP_TIME)
        {
            return Err(format!(
                "cycle {}, QP {number}: a deadline was never stepped in {:?}",
                clock.now.0, qp.context
            ));
        }
    }
    Ok(judge.steps)
}
