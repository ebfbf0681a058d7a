//! Cycles in which a host does not serve its NIC.

use serde::{Deserialize, Serialize};

use crate::time::Cycles;

/// What a host may refuse to do for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stalled {
    /// Accepting DMA read requests.
    Reads,
    /// Returning the data of DMA reads.
    Data,
    /// Accepting DMA writes.
    Writes,
    /// Accepting completions.
    Completions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Stall {
    of_16: u8,
    until: Cycles,
}

/// The stalls of a host, at most one of each kind at a time.
///
/// Whether a cycle is stalled is a function of its number, so that skipping cycles of an idle NIC changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stalls([Stall; 4]);

impl Stalls {
    /// Sets a stall from now until `until` (exclusive): `of_16` of every 16 cycles are stalled, at pseudorandom
    /// positions; 16 stalls all of them.
    pub const fn set(&mut self, what: Stalled, of_16: u8, until: Cycles) {
        self.0[what as usize] = Stall { of_16, until };
    }

    /// Whether a cycle is stalled.
    #[inline]
    pub fn holds(&self, what: Stalled, now: Cycles) -> bool {
        let Stall { of_16, until } = self.0[what as usize];
        now < until && {
            let cycle = now.0 ^ (what as u64) << 60;
            let mixed = (cycle ^ cycle >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            ((mixed >> 60) as u8) < of_16
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_cycles_of_one_kind_until_the_end() {
        let mut stalls = Stalls::default();
        for (of_16, least, most) in [(16, 16_000, 16_000), (4, 3_500, 4_500), (0, 0, 0)] {
            stalls.set(Stalled::Data, of_16, Cycles(16_000));
            let stalled = |what| {
                let cycles = (0..32_000).map(Cycles);
                cycles.filter(|now| stalls.holds(what, *now)).count()
            };
            assert!((least..=most).contains(&stalled(Stalled::Data)), "{of_16}");
            assert_eq!(stalled(Stalled::Writes), 0);
            assert!(!stalls.holds(Stalled::Data, Cycles(16_000)));
        }
    }
}
