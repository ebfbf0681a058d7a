//! Skipping of cycles in which a unit need not be evaluated.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::Idle;

/// Whether the next cycles of a unit may be skipped, and until which cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// `idle_o`.
    pub idle: bool,
    /// `wake_o`, which is meaningful only while `idle` is true.
    pub wake: Cycle,
}

impl Rest {
    /// What the ports `idle_o` and `wake_o` of the RTL say in cycle `now`.
    #[inline]
    pub fn of_ports(idle_o: u8, wake_o: u64, now: Cycle) -> Self {
        Self {
            idle: idle_o != 0,
            wake: now.near(wake_o),
        }
    }

    /// Whether the unit, in cycle `now`, waits for nothing but its inputs: it is to be woken only so that no time in it
    /// becomes too old to be compared.
    pub const fn waits_for_nothing(self, now: Cycle) -> bool {
        self.idle && self.wake.0 - now.0 > Cycle::FARTHEST / 2
    }

    /// The same for someone whose cycle 0 is the unit's cycle `start`.
    #[inline]
    #[must_use]
    pub const fn since(self, start: Cycle) -> Self {
        let wake = match self.wake {
            Cycle::MAX => Cycle::MAX,
            wake => Cycle(wake.0.saturating_sub(start.0)),
        };
        Self { wake, ..self }
    }
}

impl From<Idle> for Rest {
    fn from(idle: Idle) -> Self {
        let (idle, wake) = match idle {
            Idle::No => (false, Cycle(0)),
            Idle::Until(wake) => (true, Cycle(wake)),
            Idle::Forever => (true, Cycle::MAX),
        };
        Self { idle, wake }
    }
}

/// Decides which cycles are evaluated: all, or only those in which something can happen.
///
/// A unit that reports to be idle changes neither state nor outputs before its wake-up cycle, as long as its inputs
/// do not change. Call [`said`](Self::said) with the unit's report after each evaluated cycle and
/// [`wake`](Self::wake) for each change of an input; [`next`](Self::next) returns the cycle to evaluate next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    enabled: bool,
    rest: Option<Rest>,
}

impl Skip {
    /// Creates the state before the first cycle. If `enabled` is false, no cycle is skipped.
    pub const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            rest: None,
        }
    }

    /// Whether cycles may be skipped at all.
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Takes what the unit reported in the cycle just evaluated.
    #[inline]
    pub fn said(&mut self, rest: impl Into<Rest>) {
        self.rest = Some(rest.into()).filter(|rest| rest.idle);
    }

    /// Notes that an input changes, which invalidates what the unit reported.
    #[inline]
    pub const fn wake(&mut self) {
        self.rest = None;
    }

    /// What an idle unit reported, while that is valid.
    pub const fn rest(&self) -> Option<Rest> {
        self.rest
    }

    /// The next cycle to evaluate, counted from `now`, if no input changes before `until`. At the latest this is
    /// `until`, or `now` if that is later.
    #[inline]
    pub fn next(&self, now: Cycle, until: Cycle) -> Cycle {
        match self.rest {
            Some(rest) if self.enabled => now.max(rest.wake.min(until)),
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_idle_cycles_before_the_wake_are_left_out() {
        let (now, far) = (Cycle(10), Cycle(1_000));
        let mut skip = Skip::new(true);
        assert_eq!(skip.next(now, far), now);
        skip.said(Idle::Until(50));
        assert_eq!(skip.next(now, far), Cycle(50));
        assert_eq!(skip.next(now, Cycle(20)), Cycle(20));
        // A wake-up cycle or a limit that has already passed.
        assert_eq!(skip.next(Cycle(60), far), Cycle(60));
        assert_eq!(skip.next(now, Cycle(5)), now);
        skip.said(Idle::Forever);
        assert_eq!(skip.next(now, far), far);
        skip.wake();
        assert_eq!(skip.next(now, far), now);
        skip.said(Idle::No);
        assert_eq!(skip.next(now, far), now);
        let mut every = Skip::new(false);
        every.said(Idle::Forever);
        assert_eq!((every.next(now, far), every.rest().is_some()), (now, true));
    }
}
