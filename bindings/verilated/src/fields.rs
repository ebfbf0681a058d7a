//! Packed structs on ports: a reader and a writer that go field by field, in the order of the declaration.
//!
//! SystemVerilog puts the first field of a packed struct in the most significant bits:
//!
//! ```
//! use verilated::{Fields, FieldsMut};
//!
//! // typedef struct packed { logic [1:0] kind; logic [23:0] psn; logic [127:0] addr; logic last; } meta_t;
//! const META_BITS: u32 = 2 + 24 + 128 + 1;
//!
//! let mut port = [0u32; 5];
//! FieldsMut::of(&mut port, META_BITS).put(2, 3).put(24, 0xabcdef).put_wide(128, 1 << 100).put_bool(true).end();
//!
//! let mut fields = Fields::of(&port, META_BITS);
//! assert_eq!(fields.take(2), 3);
//! assert_eq!(fields.take(24), 0xabcdef);
//! assert_eq!(fields.take_wide(128), 1 << 100);
//! assert!(fields.take_bool());
//! fields.end();
//! ```
//!
//! Ports of any width will do, integers and arrays of words alike. With widths that the compiler knows, a field is a shift and a mask or two.

mod port_bits {
    /// The type of a port's field: an integer, or words with the least significant first.
    pub trait PortBits {
        /// How many bits it can hold.
        const CAPACITY: u32;
        /// Bits `low` to `low + 63`; what lies beyond the port is zero. `low` is below the capacity.
        fn get64(&self, low: u32) -> u64;
        /// Sets the bits of `mask`, moved up by `low`, to those of `value`. `low` is below the capacity.
        fn set64(&mut self, low: u32, mask: u64, value: u64);
    }

    macro_rules! integer {
        ($($kind:ty),*) => {$(
            impl PortBits for $kind {
                const CAPACITY: u32 = <$kind>::BITS;
                #[inline]
                fn get64(&self, low: u32) -> u64 {
                    u64::from(*self) >> low
                }
                #[inline]
                fn set64(&mut self, low: u32, mask: u64, value: u64) {
                    // Fields end below the capacity, so no bit is lost by the casts.
                    *self = *self & !((mask << low) as $kind) | ((value & mask) << low) as $kind;
                }
            }
        )*};
    }
    integer!(u8, u16, u32, u64);

    impl<const N: usize> PortBits for [u32; N] {
        const CAPACITY: u32 = 32 * N as u32;
        #[inline]
        fn get64(&self, low: u32) -> u64 {
            let (word, shift) = ((low / 32) as usize, low % 32);
            let at = |word: usize| u64::from(self.get(word).copied().unwrap_or(0));
            let two = at(word) | at(word + 1) << 32;
            if shift == 0 {
                two
            } else {
                two >> shift | at(word + 2) << (64 - shift)
            }
        }
        #[inline]
        fn set64(&mut self, low: u32, mask: u64, value: u64) {
            let (word, shift) = ((low / 32) as usize, low % 32);
            let mask = u128::from(mask) << shift;
            let value = u128::from(value) << shift & mask;
            for step in 0..3 {
                if let Some(place) = self.get_mut(word + step) {
                    *place =
                        *place & !((mask >> (32 * step)) as u32) | (value >> (32 * step)) as u32;
                }
            }
        }
    }
}

pub use port_bits::PortBits;

fn mask(bits: u32) -> u64 {
    if bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// Takes the fields of a packed struct off a port, first declared first.
///
/// # Panics
///
/// All methods panic if they are asked for more bits than are left, or for more than they can return: the declaration and the reader
/// then disagree, which is a bug in the program.
#[derive(Clone, Debug)]
pub struct Fields<'a, P> {
    port: &'a P,
    left: u32,
}

impl<'a, P: PortBits> Fields<'a, P> {
    /// The fields of a port that is `bits` wide.
    #[inline]
    #[track_caller]
    pub fn of(port: &'a P, bits: u32) -> Fields<'a, P> {
        assert!(
            bits <= P::CAPACITY,
            "a port of {bits} bits does not fit a field of {} bits",
            P::CAPACITY
        );
        Fields { port, left: bits }
    }

    /// The next `bits` bits, 0 to 64.
    #[inline]
    #[track_caller]
    pub fn take(&mut self, bits: u32) -> u64 {
        assert!(
            bits <= 64,
            "take({bits}): take gives 64 bits at most, take_wide 128, take_words any number"
        );
        self.skip(bits);
        if bits == 0 {
            0
        } else {
            self.port.get64(self.left) & mask(bits)
        }
    }

    /// The next bit.
    #[inline]
    #[track_caller]
    pub fn take_bool(&mut self) -> bool {
        self.take(1) != 0
    }

    /// The next `bits` bits, 0 to 128.
    #[inline]
    #[track_caller]
    pub fn take_wide(&mut self, bits: u32) -> u128 {
        assert!(
            bits <= 128,
            "take_wide({bits}): take_wide gives 128 bits at most, take_words any number"
        );
        let high = self.take(bits.saturating_sub(64));
        let low = self.take(bits.min(64));
        u128::from(high) << 64 | u128::from(low)
    }

    /// The next `bits` bits, 0 to 32 N, as words with the least significant first.
    #[inline]
    #[track_caller]
    pub fn take_words<const N: usize>(&mut self, bits: u32) -> [u32; N] {
        assert!(
            bits <= 32 * N as u32,
            "take_words({bits}): {N} words hold {} bits",
            32 * N
        );
        self.skip(bits);
        let mut words = [0; N];
        for (word, low) in words.iter_mut().zip((0..bits).step_by(32)) {
            *word = (self.port.get64(self.left + low) & mask((bits - low).min(32))) as u32;
        }
        words
    }

    /// Passes over the next `bits` bits.
    #[inline]
    #[track_caller]
    pub fn skip(&mut self, bits: u32) {
        assert!(
            bits <= self.left,
            "{bits} bits were asked for and {} are left",
            self.left
        );
        self.left -= bits;
    }

    /// How many bits are left.
    #[inline]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Says that the struct ends here: panics if bits are left.
    #[inline]
    #[track_caller]
    pub fn end(self) {
        assert!(self.left == 0, "{} bits are left at the end", self.left);
    }
}

/// Puts the fields of a packed struct on a port, first declared first. Bits that are skipped or never reached stay as they were.
///
/// # Panics
///
/// All methods panic if there is no room left, or if a value has bits above its width: the declaration and the writer then
/// disagree, which is a bug in the program.
#[derive(Debug)]
pub struct FieldsMut<'a, P> {
    port: &'a mut P,
    left: u32,
}

impl<'a, P: PortBits> FieldsMut<'a, P> {
    /// The fields of a port that is `bits` wide.
    #[inline]
    #[track_caller]
    pub fn of(port: &'a mut P, bits: u32) -> FieldsMut<'a, P> {
        assert!(
            bits <= P::CAPACITY,
            "a port of {bits} bits does not fit a field of {} bits",
            P::CAPACITY
        );
        FieldsMut { port, left: bits }
    }

    /// Sets the next `bits` bits, 0 to 64.
    #[inline]
    #[track_caller]
    pub fn put(mut self, bits: u32, value: u64) -> Self {
        assert!(
            bits <= 64,
            "put({bits}, …): put takes 64 bits at most, put_wide 128, put_words any number"
        );
        assert!(
            value & !mask(bits) == 0,
            "{value:#x} has more than {bits} bits"
        );
        self.pass(bits);
        if bits > 0 {
            self.port.set64(self.left, mask(bits), value);
        }
        self
    }

    /// Sets the next bit.
    #[inline]
    #[track_caller]
    pub fn put_bool(self, value: bool) -> Self {
        self.put(1, u64::from(value))
    }

    /// Sets the next `bits` bits, 0 to 128.
    #[inline]
    #[track_caller]
    pub fn put_wide(self, bits: u32, value: u128) -> Self {
        assert!(
            bits <= 128,
            "put_wide({bits}, …): put_wide takes 128 bits at most, put_words any number"
        );
        if bits <= 64 {
            assert!(value >> 64 == 0, "{value:#x} has more than {bits} bits");
            return self.put(bits, value as u64);
        }
        self.put(bits - 64, (value >> 64) as u64)
            .put(64, value as u64)
    }

    /// Sets the next `bits` bits, 0 to 32 N, from words with the least significant first.
    #[inline]
    #[track_caller]
    pub fn put_words<const N: usize>(mut self, bits: u32, words: &[u32; N]) -> Self {
        assert!(
            bits <= 32 * N as u32,
            "put_words({bits}, …): {N} words hold {} bits",
            32 * N
        );
        self.pass(bits);
        for (at, word) in words.iter().enumerate() {
            let here = bits.saturating_sub(32 * at as u32).min(32);
            assert!(
                u64::from(*word) & !mask(here) == 0,
                "word {at}, {word:#x}, has bits above bit {}",
                bits
            );
            if here > 0 {
                self.port
                    .set64(self.left + 32 * at as u32, mask(here), u64::from(*word));
            }
        }
        self
    }

    /// Leaves the next `bits` bits as they are.
    #[inline]
    #[track_caller]
    pub fn skip(mut self, bits: u32) -> Self {
        self.pass(bits);
        self
    }

    /// How many bits are left.
    #[inline]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Says that the struct ends here: panics if bits are left.
    #[inline]
    #[track_caller]
    pub fn end(self) {
        assert!(self.left == 0, "{} bits are left at the end", self.left);
    }

    #[inline]
    #[track_caller]
    fn pass(&mut self, bits: u32) {
        assert!(
            bits <= self.left,
            "{bits} bits were put and {} are left",
            self.left
        );
        self.left -= bits;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slow and obvious way: bit by bit.
    fn bit(words: &[u32], at: u32) -> u64 {
        u64::from(words[(at / 32) as usize] >> (at % 32) & 1)
    }

    /// Widths that fill a port of `bits` bits exactly, 0 to 64 each.
    fn widths(bits: u32, cuts: &[u32]) -> Vec<u32> {
        let mut left = bits;
        let mut widths = Vec::new();
        for cut in cuts {
            let width = (*cut).min(left);
            widths.push(width);
            left -= width;
        }
        while left > 0 {
            widths.push(left.min(64));
            left -= left.min(64);
        }
        widths
    }

    proptest! {
        #[test]
        fn takes_what_bit_by_bit_takes(words: [u32; 9], bits in 0u32..=288, cuts in proptest::collection::vec(0u32..=64, 0..20)) {
            let mut fields = Fields::of(&words, bits);
            let mut left = bits;
            for width in widths(bits, &cuts) {
                let expected = (left - width..left).rev().fold(0, |value, at| value << 1 | bit(&words, at));
                prop_assert_eq!(fields.take(width), expected);
                left -= width;
            }
            fields.end();
        }

        #[test]
        fn puts_what_it_takes_and_nothing_else(words: [u32; 9], mut onto: [u32; 9], bits in 0u32..=288, cuts in proptest::collection::vec(0u32..=64, 0..20)) {
            let before = onto;
            let mut from = Fields::of(&words, bits);
            let mut to = FieldsMut::of(&mut onto, bits);
            for width in widths(bits, &cuts) {
                to = to.put(width, from.take(width));
            }
            to.end();
            for at in 0..288 {
                prop_assert_eq!(bit(&onto, at), if at < bits { bit(&words, at) } else { bit(&before, at) });
            }
        }

        #[test]
        fn integers_are_like_words(value: u64, bits in 0u32..=64, first in 0u32..=64) {
            let first = first.min(bits);
            let words = [value as u32, (value >> 32) as u32];
            let (mut a, mut b) = (Fields::of(&value, bits), Fields::of(&words, bits));
            prop_assert_eq!(a.take(first), b.take(first));
            prop_assert_eq!(a.take(bits - first), b.take(bits - first));
            let (mut a, mut b) = (0u64, [0u32; 2]);
            let field = value & mask(first);
            FieldsMut::of(&mut a, bits).put(first, field);
            FieldsMut::of(&mut b, bits).put(first, field);
            prop_assert_eq!([a as u32, (a >> 32) as u32], b);
        }

        #[test]
        fn wide_fields(words: [u32; 9], before in 0u32..100, width in 0u32..=128) {
            let mut fields = Fields::of(&words, 288);
            fields.skip(before);
            let taken = fields.clone().take_wide(width);
            let as_words: [u32; 4] = fields.take_words(width);
            prop_assert_eq!(taken, as_words.iter().rev().fold(0, |value, word| value << 32 | u128::from(*word)));
            let (mut by_wide, mut by_words) = ([0u32; 9], [0u32; 9]);
            FieldsMut::of(&mut by_wide, 288).skip(before).put_wide(width, taken);
            FieldsMut::of(&mut by_words, 288).skip(before).put_words(width, &as_words);
            prop_assert_eq!(by_wide, by_words);
            let mut back = Fields::of(&by_wide, 288);
            back.skip(before);
            prop_assert_eq!(back.take_wide(width), taken);
        }
    }

    #[test]
    fn small_ports() {
        let mut port = 0u8;
        FieldsMut::of(&mut port, 7)
            .put(2, 0b10)
            .put_bool(true)
            .put(4, 0b0110)
            .end();
        assert_eq!(port, 0b101_0110);
        let mut fields = Fields::of(&port, 7);
        assert_eq!(
            (fields.take(2), fields.take_bool(), fields.take(4)),
            (0b10, true, 0b0110)
        );
        let mut port = 0xffffu16;
        FieldsMut::of(&mut port, 16).skip(4).put(8, 0).skip(4).end();
        assert_eq!(port, 0xf00f);
        let mut port = 0u32;
        FieldsMut::of(&mut port, 32).put(32, 0xdead_beef).end();
        assert_eq!(Fields::of(&port, 32).take(32), 0xdead_beef);
    }

    #[test]
    #[should_panic(expected = "9 bits were asked for and 8 are left")]
    fn more_than_there_is() {
        Fields::of(&0u8, 8).take(9);
    }

    #[test]
    #[should_panic(expected = "0x10 has more than 4 bits")]
    fn a_value_too_wide() {
        FieldsMut::of(&mut 0u8, 8).put(4, 16);
    }

    #[test]
    #[should_panic(expected = "1 bits are left")]
    fn an_end_too_early() {
        let mut fields = Fields::of(&0u8, 8);
        fields.take(7);
        fields.end();
    }
}
