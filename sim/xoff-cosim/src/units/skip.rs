//! Skipping of cycles in which a unit need not be evaluated.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::{Cycle, Idle};

/// Decides which cycles are evaluated: all, or only those in which something can happen.
///
/// A unit that reports to be idle changes neither state nor outputs before its wake-up cycle, as long as its inputs
/// do not change. Call [`said`](Self::said) with the unit's report after each evaluated cycle and
/// [`wake`](Self::wake) for each change of an input; [`next`](Self::next) returns the cycle to evaluate next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    enabled: bool,
    idle: Idle,
}

impl Skip {
    /// Creates the state before the first cycle. If `enabled` is false, no cycle is skipped.
    pub const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            idle: Idle::No,
        }
    }

    /// Whether cycles may be skipped at all.
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Takes what the unit reported in the cycle just evaluated.
    #[inline]
    pub const fn said(&mut self, idle: Idle) {
        self.idle = idle;
    }

    /// Notes that an input changes, which invalidates what the unit reported.
    #[inline]
    pub const fn wake(&mut self) {
        self.idle = Idle::No;
    }

    /// What the unit reported, as far as that is valid.
    pub const fn idle(&self) -> Idle {
        self.idle
    }

    /// The next cycle to evaluate, counted from `now`, if no input changes before `until`. At the latest this is
    /// `until`, or `now` if that is later.
    #[inline]
    pub fn next(&self, now: Cycle, until: Cycle) -> Cycle {
        match self.idle.wake() {
            Some(wake) if self.enabled => now.max(wake.min(until)),
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
        skip.said(Idle::Until(Cycle(50)));
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
        assert_eq!((every.next(now, far), every.idle()), (now, Idle::Forever));
    }
}
