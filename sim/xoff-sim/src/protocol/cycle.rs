//! The clock cycles in which the units count time.

use serde::{Deserialize, Serialize};

/// A point in time: cycles of the device's clock, which may begin anywhere; a number of them is
/// [`Cycles`](crate::time::Cycles). It does not wrap; in the RTL times have 48 bits and do, after ten
/// days at 312.5 MHz.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cycle(pub u64);

impl Cycle {
    /// Never, as a deadline.
    pub const MAX: Self = Self(u64::MAX);

    /// How far ahead a unit of the RTL says to be woken that waits for nothing, in cycles, at most.
    pub const FARTHEST: u64 = 1 << 46;

    /// Bits of a time in the RTL.
    pub const BITS: u32 = 48;

    /// The time `cycles` later.
    pub const fn after(self, cycles: u32) -> Self {
        Self(self.0 + cycles as u64)
    }

    /// The time as the RTL has it: its lower 48 bits.
    pub const fn bits(self) -> u64 {
        self.0 & (u64::MAX >> (64 - Self::BITS))
    }

    /// The time that these 48 bits stand for: of all times with these lower bits the one nearest to this one, at least
    /// 0.
    pub const fn near(self, bits: u64) -> Self {
        let unused = 64 - Self::BITS;
        let ahead = (bits.wrapping_sub(self.0) << unused) as i64 >> unused;
        Self(self.0.saturating_add_signed(ahead))
    }
}

/// The least number of whole cycles that lasts at least `ns` nanoseconds.
///
/// # Panics
///
/// If the number does not fit in 32 bits.
pub const fn cycles_of_ns(ns: u64, period_ps: u64) -> u32 {
    let cycles = (ns * 1_000).div_ceil(period_ps);
    assert!(cycles <= u32::MAX as u64, "a time of 32 bits in cycles");
    cycles as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_for_the_nearest_time() {
        let wrap = 1 << 48;
        assert_eq!(Cycle(wrap + 5).bits(), 5);
        assert_eq!(Cycle(wrap - 3).near(5), Cycle(wrap + 5));
        assert_eq!(Cycle(wrap + 5).near(wrap - 3), Cycle(wrap - 3));
        assert_eq!(Cycle(7).near(9), Cycle(9));
        assert_eq!(Cycle(7).near(wrap - 1), Cycle(0), "before the beginning");
        assert_eq!(
            Cycle(3 * wrap).near(wrap / 4),
            Cycle(3 * wrap + Cycle::FARTHEST)
        );
    }

    #[test]
    fn durations_round_up() {
        assert_eq!(cycles_of_ns(55_000, 5_120), 10_743);
        assert_eq!(cycles_of_ns(50_000, 5_120), 9_766);
    }
}
