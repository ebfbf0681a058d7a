//! The clock of a stack.

use smoltcp::time::Instant;
use xoff_sim::time::{Duration, Time};

/// The least step of a stack's clock: what is due now was done, as far as it could be, and not again in this tick.
pub(crate) const TICK: smoltcp::time::Duration = smoltcp::time::Duration::from_micros(1);
/// Ticks of a stack a second of its own.
const TICKS: u128 = 1_000_000;

/// A stack's clock, in ticks that it takes for microseconds. Its second, which is its least retransmission timeout, is
/// `second` long, so that a tick is a millionth of it.
///
/// The simulation's time is rounded up to whole ticks, and a deadline is met at the very time that its tick stands for.
/// So a timer ends up to a tick late, for it was set in the tick that had begun, and up to a tick early if a frame
/// wakes the stack in the tick before: a millionth of the timeout, since no timer of the stack is shorter than it.
/// Frames themselves are not rounded: the stack answers at the time at which it is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackClock {
    second: Duration,
}

impl StackClock {
    pub(crate) const fn new(second: Duration) -> Self {
        Self { second }
    }

    /// The stack's time.
    pub(crate) fn at(&self, now: Time) -> Instant {
        let ticks = (u128::from(now.as_ps()) * TICKS).div_ceil(self.second.as_ps().into());
        Instant::from_micros(i64::try_from(ticks).unwrap_or(i64::MAX))
    }

    /// The last time that stands for a tick of the stack.
    pub(crate) fn when(&self, stack: Instant) -> Time {
        let ticks = u128::try_from(stack.total_micros()).unwrap_or(0);
        let ps = ticks * u128::from(self.second.as_ps()) / TICKS;
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_due_when_it_comes() {
        for second in [1_000_000_000_000, 300_000_000_000, 7_000_000_001] {
            let clock = StackClock::new(Duration::from_ps(second));
            for tick in [0, 1, 2, 999_999, 123_456_789] {
                let stack = Instant::from_micros(tick);
                assert_eq!(clock.at(clock.when(stack)), stack);
            }
        }
    }

    #[test]
    fn time_is_rounded_up_by_less_than_a_tick() {
        let clock = StackClock::new(Duration::from_s(1));
        assert_eq!(clock.at(Time::from_ps(1)), Instant::from_micros(1));
        assert_eq!(clock.at(Time::from_us(1)), Instant::from_micros(1));
        assert_eq!(clock.at(Time::from_ps(1_000_001)), Instant::from_micros(2));
    }
}
