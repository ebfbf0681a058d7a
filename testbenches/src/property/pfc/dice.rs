//! Small random numbers, fast: a history has hundreds of choices, and drawing them must cost less than running it.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that a seed fixes.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number under `end`, which is small: the bias is below 2⁻³² · `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.any() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// A number of up to `bits` bits, as often short as long.
    pub fn up_to_bits(&mut self, bits: u32) -> u64 {
        let length = self.below(bits + 1);
        self.any() & ((1 << length) - 1)
    }

    /// A set of classes: all, one, none or any.
    pub fn classes(&mut self) -> u8 {
        match self.below(8) {
            0..=2 => 0xFF,
            3..=4 => 1 << self.below(8),
            5 => 0,
            _ => self.any() as u8,
        }
    }
}
