//! The time unit of pause frames: quanta of 512 bit times (IEEE 802.3 annex 31B.2), in clock cycles.

use serde::{Deserialize, Serialize};

/// A pause time as in a frame, in quanta of 512 bit times. 0 is XON.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Quanta(pub u16);

/// Cycles per quantum, as the ratio of the RTL's parameters `QuantumNum` and `QuantumDen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CyclesPerQuantum {
    num: u8,
    den: u8,
}

impl CyclesPerQuantum {
    /// 40 Gb/s at 195.3125 MHz: 12.8 ns of 5.12 ns each.
    pub const AT_40G: Self = Self { num: 5, den: 2 };
    /// 100 Gb/s at 312.5 MHz: 5.12 ns of 3.2 ns each.
    pub const AT_100G: Self = Self { num: 8, den: 5 };

    /// The ratio `num / den`. `None` beyond what the RTL can be built for: `num` 1 to 255, `den` 1 to 15.
    pub const fn new(num: u8, den: u8) -> Option<Self> {
        match (num, den) {
            (1.., 1..=15) => Some(Self { num, den }),
            _ => None,
        }
    }

    /// How many cycles a pause lasts: ⌈t · num / den⌉, that is, rounded up to whole cycles.
    pub const fn duration(self, t: Quanta) -> u64 {
        (t.0 as u64 * self.num as u64).div_ceil(self.den as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_rate_and_clock() {
        // (cycles a quantum, line rate in bit/s, clock in Hz)
        for (ratio, rate, clock) in [
            (CyclesPerQuantum::AT_40G, 40_000_000_000, 195_312_500),
            (CyclesPerQuantum::AT_100G, 100_000_000_000, 312_500_000),
        ] {
            let bits = u64::from(crate::wire::QUANTUM_BITS);
            assert_eq!(
                u64::from(ratio.num) * rate,
                u64::from(ratio.den) * bits * clock
            );
        }
    }

    #[test]
    fn a_part_of_a_cycle_counts_as_one() {
        let at_40g = |t| CyclesPerQuantum::AT_40G.duration(Quanta(t));
        assert_eq!([0, 1, 2, 3, 65_535].map(at_40g), [0, 3, 5, 8, 163_838]);
        let at_100g = |t| CyclesPerQuantum::AT_100G.duration(Quanta(t));
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 65_535].map(at_100g),
            [0, 2, 4, 5, 7, 8, 104_856]
        );
        let slowest = CyclesPerQuantum::new(255, 1).unwrap();
        assert_eq!(slowest.duration(Quanta(u16::MAX)), 16_711_425);
    }

    #[test]
    fn ratios_beyond_the_parameters_are_refused() {
        assert_eq!(CyclesPerQuantum::new(0, 1), None);
        assert_eq!(CyclesPerQuantum::new(1, 0), None);
        assert_eq!(CyclesPerQuantum::new(1, 16), None);
        assert!(CyclesPerQuantum::new(1, 15).is_some());
    }
}
