//! Instants.

use std::ops::{Add, AddAssign, Sub};

use super::{Duration, duration::KIND};

/// An instant: picoseconds since the simulation's start. Text form as [`Duration`]'s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

quantity_text!(Time, KIND);

impl Time {
    /// The simulation's start.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be told, 213 days on.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant so many picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Since the start.
    pub const fn since_start(self) -> Duration {
        Duration::from_ps(self.0)
    }

    /// `duration` later, or [`MAX`](Self::MAX).
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_ps()))
    }

    /// From `earlier` to here; zero when `earlier` is later.
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
    /// Panics (or wraps, without overflow checks) when `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_ps(self.0 - earlier.0)
    }
}
