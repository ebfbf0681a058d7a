//! Time between two instants.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

use super::text::Kind;

pub(crate) const KIND: Kind = Kind {
    what: "duration",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
    also: &[
        ("µs", 1_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    example: "1.5 us",
};

/// A duration in picoseconds. Its text form is `1.5 us`; units are ps, ns, us, ms, s, min, h.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub(super) u64);

quantity_text!(Duration, KIND);

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration, 213 days.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A duration of `ns` nanoseconds, at most 1.8 × 10¹⁶.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A duration of `us` microseconds, at most 1.8 × 10¹³.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A duration of `ms` milliseconds, at most 1.8 × 10¹⁰.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A duration of `s` seconds, at most 18,446,744.
    pub const fn from_s(s: u64) -> Self {
        Self(s * 1_000_000_000_000)
    }

    /// The duration in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The difference, or zero when `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    /// Rounds down.
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}
