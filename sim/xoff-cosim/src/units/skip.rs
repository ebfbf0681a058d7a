//! Cycles of a unit that need no evaluation.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::Idle;
use xoff_sim::protocol::dcqcn::Cycle;

/// Whether a unit's next cycles may be left out, and up to which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// `idle_o`.
    pub idle: bool,
    /// `wake_o`; it counts while `idle` is true.
    pub wake: Cycle,
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
/// A unit that says that it is idle changes neither state nor outputs before its wake, as long as its inputs stay as
/// they are. Tell this what the unit said after each cycle, and of each change of an input; it says which cycle comes
/// next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    enabled: bool,
    rest: Option<Rest>,
}

impl Skip {
    /// Before the first cycle. With `enabled` false no cycle is left out.
    pub const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            rest: None,
        }
    }

    /// Whether cycles are left out at all.
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// What the unit said in the cycle just evaluated.
    #[inline]
    pub fn said(&mut self, rest: impl Into<Rest>) {
        self.rest = Some(rest.into()).filter(|rest| rest.idle);
    }

    /// An input changes: what the unit said holds no longer.
    #[inline]
    pub const fn disturb(&mut self) {
        self.rest = None;
    }

    /// What an idle unit said, while it holds.
    pub const fn rest(&self) -> Option<Rest> {
        self.rest
    }

    /// The cycle to evaluate next, of those from `now` on, if no input changes before `until`; at the latest `until`.
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
        // A wake or a limit that has passed.
        assert_eq!(skip.next(Cycle(60), far), Cycle(60));
        assert_eq!(skip.next(now, Cycle(5)), now);
        skip.said(Idle::Forever);
        assert_eq!(skip.next(now, far), far);
        skip.disturb();
        assert_eq!(skip.next(now, far), now);
        skip.said(Idle::No);
        assert_eq!(skip.next(now, far), now);
        let mut every = Skip::new(false);
        every.said(Idle::Forever);
        assert_eq!((every.next(now, far), every.rest().is_some()), (now, true));
    }
}
