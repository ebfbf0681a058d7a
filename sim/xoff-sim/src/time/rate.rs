//! Bit rates.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Duration, QuantityError, text::Kind};

const KIND: Kind = Kind {
    what: "rate",
    units: &[
        ("b/s", 1),
        ("Kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
    ],
    also: &[("kb/s", 1_000)],
    example: "40 Gb/s",
};

/// Picoseconds that 8 bits take at one bit a second.
const PS_BITS: u64 = 8_000_000_000_000;

/// A rate in bits a second. Its text form is `40 Gb/s`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

quantity_text!(Rate, KIND);

impl Rate {
    /// A rate of `bits` bits a second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate of `gigabits` gigabits a second.
    pub const fn from_gbps(gigabits: u64) -> Self {
        Self(gigabits * 1_000_000_000)
    }

    /// The rate in bits a second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }
}

/// The error for a rate at which a byte does not take a whole number of picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{0} is no whole number of picoseconds a byte, so it cannot be a line rate; 10, 25, 40, 50, 100, 200, 400 and 800 Gb/s are"
)]
pub struct NoLineRate(pub Rate);

/// The rate of a line, at which a byte takes a whole number of picoseconds, so that nothing is ever rounded on it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "Rate", into = "Rate")]
#[schemars(with = "Rate")]
pub struct LineRate {
    ps_per_byte: u64,
}

impl LineRate {
    /// 10 Gb/s, 800 ps a byte.
    pub const G10: Self = Self { ps_per_byte: 800 };
    /// 25 Gb/s, 320 ps a byte.
    pub const G25: Self = Self { ps_per_byte: 320 };
    /// 40 Gb/s, 200 ps a byte.
    pub const G40: Self = Self { ps_per_byte: 200 };
    /// 50 Gb/s, 160 ps a byte.
    pub const G50: Self = Self { ps_per_byte: 160 };
    /// 100 Gb/s, 80 ps a byte.
    pub const G100: Self = Self { ps_per_byte: 80 };
    /// 200 Gb/s, 40 ps a byte.
    pub const G200: Self = Self { ps_per_byte: 40 };
    /// 400 Gb/s, 20 ps a byte.
    pub const G400: Self = Self { ps_per_byte: 20 };

    /// The time of one byte.
    pub const fn byte_time(self) -> Duration {
        Duration::from_ps(self.ps_per_byte)
    }

    /// The time of `bytes` bytes.
    pub const fn time_of(self, bytes: u64) -> Duration {
        Duration::from_ps(bytes * self.ps_per_byte)
    }

    /// The number of bytes that a line carries in `duration`; the last one may have been carried only in part.
    pub const fn bytes_in(self, duration: Duration) -> u64 {
        duration.as_ps().div_ceil(self.ps_per_byte)
    }

    /// The time of `quanta` pause quanta, of 512 bit times each (IEEE 802.3 annex 31B.2).
    pub const fn time_of_quanta(self, quanta: u16) -> Duration {
        self.time_of(quanta as u64 * (crate::wire::QUANTUM_BITS as u64 / 8))
    }
}

impl TryFrom<Rate> for LineRate {
    type Error = NoLineRate;

    fn try_from(rate: Rate) -> Result<Self, NoLineRate> {
        match rate.0 {
            0 => Err(NoLineRate(rate)),
            bits if PS_BITS.is_multiple_of(bits) => Ok(Self {
                ps_per_byte: PS_BITS / bits,
            }),
            _ => Err(NoLineRate(rate)),
        }
    }
}

impl From<LineRate> for Rate {
    fn from(line: LineRate) -> Self {
        Self(PS_BITS / line.ps_per_byte)
    }
}

impl std::str::FromStr for LineRate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::try_from(text.parse::<Rate>()?).map_err(|_| QuantityError {
            what: "line rate",
            text: text.into(),
            problem: "is no whole number of picoseconds a byte".into(),
            expected: "expected 10, 25, 40, 50, 100, 200, 400 or 800 Gb/s, such as '40 Gb/s'"
                .into(),
        })
    }
}

impl std::fmt::Display for LineRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Rate::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_times_are_those_of_the_rates() {
        for (gigabits, line) in [
            (10, LineRate::G10),
            (25, LineRate::G25),
            (40, LineRate::G40),
            (100, LineRate::G100),
            (400, LineRate::G400),
        ] {
            assert_eq!(LineRate::try_from(Rate::from_gbps(gigabits)), Ok(line));
            assert_eq!(Rate::from(line), Rate::from_gbps(gigabits));
        }
        assert!(LineRate::try_from(Rate::from_gbps(30)).is_err());
        assert!(LineRate::try_from(Rate::default()).is_err());
    }

    #[test]
    fn a_quantum_at_40g_is_12_8_ns() {
        assert_eq!(LineRate::G40.time_of_quanta(1), Duration::from_ps(12_800));
        assert_eq!(
            LineRate::G40.time_of_quanta(0xFFFF).to_string(),
            "838.848 us"
        );
    }
}
