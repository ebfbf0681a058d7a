//! Packet sequence numbers.

use std::cmp::Ordering;

use super::header::Field;
use super::qpn::number24;

number24! {
    /// A packet sequence number: 24 bits, counting up by one for each packet and wrapping around from 0xFF_FFFF to 0
    /// (IBTA volume 1 §9.2.1, §9.7.1).
    ///
    /// There is no first PSN, so `Psn` is not `Ord`: "before" is defined only for two PSNs that are less than half
    /// the circle apart. Compare with [`ahead_of`](Self::ahead_of).
    Psn, "PSN"
}

impl Psn {
    /// Creates a PSN from the low 24 bits of `value`.
    pub const fn wrapping(value: u32) -> Self {
        Self(value & Self::MAX.0)
    }

    /// How far `self` is ahead of `other`, −2²³ … 2²³ − 1.
    ///
    /// This is the difference as a 24-bit two's-complement number; its sign is that of (a − b) << 8 in 32 bits. The
    /// PSN exactly opposite counts as behind, from either side.
    pub const fn ahead_of(self, other: Self) -> i32 {
        (self.0.wrapping_sub(other.0) << 8) as i32 >> 8
    }

    /// The PSN `packets` further on, wrapping around after 2²⁴.
    #[must_use]
    pub const fn advance(self, packets: u32) -> Self {
        Self::wrapping(self.0.wrapping_add(packets))
    }

    /// [`ahead_of`](Self::ahead_of) as an ordering.
    pub fn circular_cmp(self, other: Self) -> Ordering {
        self.ahead_of(other).cmp(&0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn compares_around_the_wrap() {
        let psn = Psn::wrapping;
        assert_eq!(psn(0).ahead_of(psn(0xFF_FFFF)), 1);
        assert_eq!(psn(0xFF_FFFE).ahead_of(psn(1)), -3);
        assert_eq!(psn(0x7F_FFFF).ahead_of(psn(0)), 0x7F_FFFF);
        assert_eq!(psn(0x80_0000).ahead_of(psn(0)), -0x80_0000);
        assert_eq!(psn(5).circular_cmp(psn(5)), Ordering::Equal);
        assert_eq!(psn(0).circular_cmp(psn(0xFF_FFFF)), Ordering::Greater);
    }

    #[test]
    fn holds_24_bits() {
        assert_eq!(Psn::new(0xFF_FFFF), Ok(Psn::MAX));
        assert_eq!(
            Psn::new(0x100_0000).unwrap_err().to_string(),
            "PSN 0x1000000 does not fit in 24 bits: the largest is 0xffffff"
        );
    }

    proptest! {
        #[test]
        fn ahead_of_undoes_advance(start: u32, by in 0u32..0x80_0000) {
            let start = Psn::wrapping(start);
            prop_assert_eq!(start.advance(by).ahead_of(start), by as i32);
            prop_assert_eq!(start.ahead_of(start.advance(by)), -(by as i32));
        }
    }
}
