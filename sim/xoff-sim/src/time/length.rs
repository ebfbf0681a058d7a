//! Cable lengths.

use super::{Duration, text::Kind};

const KIND: Kind = Kind {
    what: "length",
    units: &[("mm", 1), ("m", 1_000), ("km", 1_000_000)],
    also: &[("cm", 10)],
    example: "300 m",
};

/// Propagation delay of light in glass and of signals in copper: 5 ns a metre (also used by IEEE 802.1Q annex O),
/// which is 5 ps a millimetre.
const PS_PER_MM: u64 = 5;

/// A cable's length in millimetres. Its text form is `300 m`; units are mm, cm, m, km.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);

quantity_text!(Length, KIND);

impl Length {
    /// A length of `mm` millimetres.
    pub const fn from_mm(mm: u64) -> Self {
        Self(mm)
    }

    /// A length of `m` metres.
    pub const fn from_m(m: u64) -> Self {
        Self(m * 1_000)
    }

    /// The length in millimetres.
    pub const fn as_mm(self) -> u64 {
        self.0
    }

    /// The time that a signal takes from end to end: 5 ns a metre.
    pub const fn delay(self) -> Duration {
        Duration::from_ps(self.0 * PS_PER_MM)
    }
}
