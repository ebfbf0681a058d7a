//! Instants of simulated time.

use std::ops::{Add, AddAssign, Sub};

use super::{Duration, duration::KIND};

/// An instant, in picoseconds since the simulation's start. Its text form is that of [`Duration`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

quantity_text!(Time, KIND);

impl Time {
    /// The simulation's start.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be represented, after 213 days.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// The instant `ns` nanoseconds after the start, at most 1.8 × 10¹⁶.
    pub const fn from_ns(ns: u64) -> Self {
        Self(Duration::from_ns(ns).as_ps())
    }

    /// The instant `us` microseconds after the start, at most 1.8 × 10¹³.
    pub const fn from_us(us: u64) -> Self {
        Self(Duration::from_us(us).as_ps())
    }

    /// The instant `ms` milliseconds after the start, at most 1.8 × 10¹⁰.
    pub const fn from_ms(ms: u64) -> Self {
        Self(Duration::from_ms(ms).as_ps())
    }

    /// The time since the start in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The duration since the start.
    pub const fn since_start(self) -> Duration {
        Duration::from_ps(self.0)
    }

    /// The instant `duration` later, or [`MAX`](Self::MAX).
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_ps()))
    }

    /// The duration from `earlier` to this instant; zero when `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_ps(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration.as_ps())
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration.as_ps();
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Panics (or wraps, if overflow checks are off) when `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_ps(self.0 - earlier.0)
    }
}
