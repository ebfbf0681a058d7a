//! The number types of the DCQCN units.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rate in kb/s of payload and headers, 32 bits: up to 4.29 Tb/s.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(pub u32);

impl Rate {
    /// A rate in Mb/s.
    ///
    /// # Panics
    ///
    /// If the rate in kb/s does not fit in 32 bits.
    pub const fn mbps(mbps: u32) -> Self {
        match mbps.checked_mul(1_000) {
            Some(kbps) => Self(kbps),
            None => panic!("a rate of 32 bits in kb/s"),
        }
    }

    /// The sum, saturating at all ones.
    pub const fn plus(self, more: Rate) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// The rate, but at least `min`, and then at most `max`, which wins if `min` is above `max`.
    pub fn clamped(self, min: Rate, max: Rate) -> Self {
        self.max(min).min(max)
    }

    /// The mean of this rate and `other`, rounded down.
    pub const fn midway(self, other: Rate) -> Self {
        Self(self.0.midpoint(other.0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kb/s", self.0)
    }
}

/// The estimate of congestion α in units of 2⁻²⁴, 25 bits: 0 to [`Alpha::ONE`].
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Alpha(pub u32);

impl Alpha {
    /// Number of fraction bits.
    pub const FRACTION_BITS: u32 = 24;
    /// 1.0.
    pub const ONE: Self = Self(1 << Self::FRACTION_BITS);

    /// (1 − g) · α with g in units of 2⁻¹⁶. The decrement is rounded up, so that α reaches 0.
    pub fn decayed(self, g: u16) -> Self {
        let off = (u64::from(self.0) * u64::from(g)).div_ceil(1 << 16);
        Self(self.0 - off as u32)
    }

    /// (1 − g) · α + g, with g in units of 2⁻¹⁶.
    pub fn raised(self, g: u16) -> Self {
        let g_in_alpha = u32::from(g) << (Self::FRACTION_BITS - 16);
        Self(self.decayed(g).0 + g_in_alpha)
    }

    /// The value as a number from 0 to 1.
    pub fn as_real(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_saturate_and_the_upper_clamp_wins() {
        assert_eq!(Rate(u32::MAX).plus(Rate(1)), Rate(u32::MAX));
        assert_eq!(Rate(5).clamped(Rate(7), Rate(9)), Rate(7));
        assert_eq!(Rate(12).clamped(Rate(7), Rate(9)), Rate(9));
        assert_eq!(Rate(8).clamped(Rate(10), Rate(6)), Rate(6));
    }

    #[test]
    fn the_middle_of_two_large_rates_does_not_overflow() {
        assert_eq!(
            Rate(u32::MAX).midway(Rate(u32::MAX - 3)),
            Rate(u32::MAX - 2)
        );
        assert_eq!(Rate(4).midway(Rate(7)), Rate(5), "rounded down");
    }

    #[test]
    fn alpha_decays_to_zero_and_rises_to_one_at_most() {
        assert_eq!(Alpha(1).decayed(1), Alpha(0), "what is taken off rounds up");
        assert_eq!(Alpha(0).decayed(256), Alpha(0));
        assert_eq!(Alpha::ONE.decayed(256), Alpha((1 << 24) - (1 << 16)));
        assert_eq!(Alpha::ONE.raised(256), Alpha::ONE);
        assert_eq!(Alpha(0).raised(u16::MAX), Alpha(65_535 << 8));
        assert_eq!(Alpha::ONE.raised(u16::MAX), Alpha::ONE);
    }
}
