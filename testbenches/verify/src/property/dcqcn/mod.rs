//! The DCQCN units against their references, cycle by cycle at their pins.
//!
//! | module | what is checked |
//! |---|---|
//! | [`mod@bins`] | what situations the cases bring about |
//! | [`step`] | `dcqcn_rp_step`: any context, any parameters, any event |
//! | [`reaction_point`] | `dcqcn_rp`: every event stepped once, in order; timers in time; no change while idle |
//! | [`notification_point`] | `dcqcn_np`: which marks are answered, and when |
//! | [`limiter`] | `rate_limiter`: no QP becomes eligible early or late, no update is lost |
//! | [`pace`] | `rate_limiter`: the rate of a sender that always has a packet |
//!
//! A case is one of these benches with a list of events, drawn in [`events`].

pub mod bins;
pub mod events;
pub mod limiter;
pub mod notification_point;
pub mod pace;
pub mod reaction_point;
pub mod step;

use proptest::prelude::*;
use xoff_rtl_units::{DcqcnRp, DcqcnRp4, RateLimiter, RateLimiter4};
use xoff_sim::protocol::dcqcn::RpContext;
use xoff_sim::protocol::{Cycle, Idle};

use super::bins::{Bins, Groups};
use super::history::Histories;
use super::{Case, Disagreement, Property, text, unit};
use crate::units::dcqcn::{RtlLimiter, RtlNp, RtlRp, RtlRpStep};
use events::{Bench, Event, Head};
use xoff_cosim::units::{Skip, UnitError};

/// The property.
pub struct Dcqcn {
    step: RtlRpStep,
    rp: RtlRp<DcqcnRp>,
    rp4: RtlRp<DcqcnRp4>,
    np: RtlNp,
    limiter: RtlLimiter<RateLimiter>,
    limiter4: RtlLimiter<RateLimiter4>,
}

impl Property for Dcqcn {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::DCQCN.name;
    const EVENTS: &'static str = "events";
    const CASES: u64 = unit::DCQCN.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            step: RtlRpStep::new(seed)?,
            rp: RtlRp::new(seed)?,
            rp4: RtlRp::new(seed)?,
            np: RtlNp::new(seed)?,
            limiter: RtlLimiter::new(seed)?,
            limiter4: RtlLimiter::new(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(events::history).boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        let (head, events) = (&case.head, &case.events);
        match head.bench {
            Bench::Step => step::check(&mut self.step, events, bins),
            Bench::ReactionPoint => reaction_point::check(&mut self.rp, head, events, bins),
            Bench::ReactionPoint4 => reaction_point::check(&mut self.rp4, head, events, bins),
            Bench::NotificationPoint => notification_point::check(&mut self.np, head, events, bins),
            Bench::RateLimiter => limiter::check(&mut self.limiter, head, events, bins),
            Bench::RateLimiter4 => limiter::check(&mut self.limiter4, head, events, bins),
            Bench::Pace => pace::check(&mut self.limiter, head, events, bins),
            Bench::Pace4 => pace::check(&mut self.limiter4, head, events, bins),
        }
    }
}

/// A context as the pins have it: times are 48 bits.
fn on_pins(context: RpContext) -> RpContext {
    RpContext {
        alpha_deadline: Cycle(context.alpha_deadline.bits()),
        rate_deadline: Cycle(context.rate_deadline.bits()),
        ..context
    }
}

/// The device time of a bench, and which cycles may be skipped.
struct Clock {
    now: Cycle,
    skip: Skip,
    /// Cycles since the unit was last idle or something happened.
    awake: u64,
    /// Maximum of these cycles.
    awake_max: u64,
}

impl Clock {
    fn new(start: u64, skips: bool, awake_max: u64) -> Self {
        Self {
            now: Cycle(start),
            skip: Skip::new(skips),
            awake: 0,
            awake_max,
        }
    }

    /// Ends the cycle. `stirs`: something happened in it, at inputs or outputs.
    fn tick(&mut self, idle: Idle, stirs: bool) -> Result<(), Disagreement> {
        self.awake = match stirs || idle != Idle::No {
            true => 0,
            false => self.awake + 1,
        };
        if self.awake > self.awake_max {
            return Err(format!(
                "cycle {}: awake for {} cycles, and for nothing",
                self.now.0, self.awake
            ));
        }
        self.now.0 += 1;
        self.skip.said(idle);
        Ok(())
    }

    /// Advances to the first cycle before `until` that must be run, or to `until`.
    fn skip(&mut self, until: Cycle) {
        self.now = self.skip.next(self.now, until);
    }

    /// Advances by a number of cycles; `cycle` runs those that must be run.
    fn wait(
        &mut self,
        cycles: u32,
        mut cycle: impl FnMut(&mut Self) -> Result<bool, Disagreement>,
    ) -> Result<(), Disagreement> {
        let until = Cycle(self.now.0 + u64::from(cycles));
        self.skip(until);
        while self.now < until {
            cycle(self)?;
            self.skip(until);
        }
        Ok(())
    }
}

/// The state in which a unit became idle. In a run that skips nothing, the unit has to be in the same state when an
/// event or its wake-up time comes.
#[derive(Default)]
struct Sleep(Option<(Cycle, Vec<u8>)>);

impl Sleep {
    /// Checks before a cycle. `over`: the cycle has an event. `state` returns the unit's state at this `now_i` and
    /// without an event.
    fn look(
        &mut self,
        clock: &Clock,
        over: bool,
        state: impl FnOnce(Cycle) -> Result<Vec<u8>, UnitError>,
    ) -> Result<(), Disagreement> {
        let (Some(wake), false) = (clock.skip.idle().wake(), clock.skip.enabled()) else {
            self.0 = None;
            return Ok(());
        };
        let over = over || clock.now >= wake;
        match self.0.take() {
            None if over => {}
            None => self.0 = Some((clock.now, state(clock.now).map_err(text)?)),
            Some((since, before)) if over && since < clock.now => {
                if state(since).map_err(text)? != before {
                    return Err(format!(
                        "idle since cycle {}, and in cycle {} it has another state",
                        since.0, clock.now.0
                    ));
                }
            }
            same => self.0 = same,
        }
        Ok(())
    }
}
