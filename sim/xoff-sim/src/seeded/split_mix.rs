//! SplitMix64 (Steele et al., OOPSLA 2014), for numbers that must be cheap, or a function of an index.

/// Number `index`, counted from 0, of the generator with seed 0: a 64-bit hash of the index.
#[must_use]
pub const fn split_mix(index: u64) -> u64 {
    finalize(index.wrapping_add(GAMMA))
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

const fn finalize(state: u64) -> u64 {
    let a = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ a >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ b >> 31
}

/// A generator for histories that are drawn event by event, and for payloads.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Creates a generator from a seed; equal seeds give equal numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        finalize(self.0)
    }

    /// A number from `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low).saturating_add(1)
    }

    /// True with probability 1 / `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.bits().is_multiple_of(times)
    }

    /// A number from 1 to 2^`bits` − 1, with all bit lengths equally likely.
    pub fn any_length(&mut self, bits: u32) -> u64 {
        let length = self.within(1, u64::from(bits));
        1 << (length - 1) | self.bits() & ((1 << (length - 1)) - 1)
    }

    /// A 32-bit value: one of the extremes, a power of two or a neighbour of one, or any value.
    pub fn edge(&mut self) -> u32 {
        match self.within(0, 7) {
            0 => 0,
            1 => self.within(1, 3) as u32,
            2 => u32::MAX - self.within(0, 2) as u32,
            3 => (1u32 << self.within(0, 31))
                .wrapping_add(self.within(0, 2) as u32)
                .wrapping_sub(1),
            4 => self.bits() as u32,
            _ => self.any_length(32) as u32,
        }
    }

    /// A number from 0 to `end` − 1.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A number of 0 to `bits` bits, with all bit lengths equally likely.
    pub fn up_to_bits(&mut self, bits: u32) -> u64 {
        let length = self.below(bits + 1);
        self.bits() & ((1 << length) - 1)
    }

    /// One of `values`.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.bits() % values.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_papers() {
        // The first three numbers of seed 1234567, as published by the generator's authors and others.
        let mut draw = SplitMix::new(1_234_567);
        let drawn = [draw.bits(), draw.bits(), draw.bits()];
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        assert_eq!(split_mix(1_234_567), drawn[0]);
    }

    #[test]
    fn ends_are_included() {
        let mut draw = SplitMix::new(1);
        let drawn: Vec<u64> = (0..100).map(|_| draw.within(3, 5)).collect();
        assert!((3..=5).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| (3..=5).contains(n)));
        let lengths: Vec<u32> = (0..1_000)
            .map(|_| 64 - draw.any_length(9).leading_zeros())
            .collect();
        assert!(
            (1..=9).all(|n| lengths.contains(&n)) && lengths.iter().all(|n| (1..=9).contains(n))
        );
    }
}
