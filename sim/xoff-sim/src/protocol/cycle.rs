//! The clock cycles in which the units count time.

use serde::{Deserialize, Serialize};

/// A point in time: cycles of the device's clock, 48 bits. It does not wrap: 2⁴⁸ cycles are ten days at 312.5 MHz.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cycle(pub u64);

impl Cycle {
    /// The largest value of 48 bits, at which sums saturate. As a deadline it means never.
    pub const MAX: Self = Self((1 << 48) - 1);

    /// The time `cycles` later, at most [`Cycle::MAX`].
    pub const fn after(self, cycles: u32) -> Self {
        let later = self.0 + cycles as u64;
        match later > Self::MAX.0 {
            true => Self::MAX,
            false => Self(later),
        }
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
    fn cycles_saturate_and_durations_round_up() {
        assert_eq!(Cycle::MAX.after(1), Cycle::MAX);
        assert_eq!(Cycle(Cycle::MAX.0 - 1).after(u32::MAX), Cycle::MAX);
        assert_eq!(cycles_of_ns(55_000, 5_120), 10_743);
        assert_eq!(cycles_of_ns(50_000, 5_120), 9_766);
    }
}
