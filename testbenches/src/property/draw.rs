//! Numbers for histories that are drawn event by event: cheap, and the same on every machine.

/// A generator (SplitMix64, Steele et al., OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// From a seed; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let a = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let b = (a ^ a >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        b ^ b >> 31
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low).saturating_add(1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.bits().is_multiple_of(times)
    }

    /// From 1 to 2^`bits` − 1, every length as often as the others.
    pub fn any_length(&mut self, bits: u32) -> u64 {
        let length = self.within(1, u64::from(bits));
        1 << (length - 1) | self.bits() & ((1 << (length - 1)) - 1)
    }

    /// A value of 32 bits: the ends, the powers of two and their neighbours, anything.
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

    /// From 0 to `end` − 1.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Of 0 to `bits` bits, every length as often as the others.
    pub fn up_to_bits(&mut self, bits: u32) -> u64 {
        let length = self.below(bits + 1);
        self.bits() & ((1 << length) - 1)
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.bits() % values.len() as u64) as usize]
    }
}
