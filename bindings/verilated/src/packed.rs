//! Packed SystemVerilog types on ports, and the shifts and masks that generated code uses.
//!
//! `verilated-build` writes a type for every packed struct, packed union and enum of a package, and implements
//! [`Packed`] for it. SystemVerilog puts the first member of a packed struct in the most significant bits. Widths and
//! positions are known at compile time, so a member access is one or two shifts and masks.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::{self, Debug};

/// The type of a port's field: an integer, or words with the least significant first.
pub trait PortBits {
    /// How many bits it can hold.
    const CAPACITY: u32;
    /// All bits 0.
    const ZERO: Self;
    /// Returns bits `low` to `low + 63`; bits beyond the port are zero. `low` is below the capacity.
    fn get64(&self, low: u32) -> u64;
    /// Sets the bits selected by `mask << low` to those of `value << low`. `low` is below the capacity.
    fn set64(&mut self, low: u32, mask: u64, value: u64);
}

macro_rules! integer {
    ($($kind:ty),*) => {$(
        impl PortBits for $kind {
            const CAPACITY: u32 = <$kind>::BITS;
            const ZERO: $kind = 0;
            #[inline(always)]
            fn get64(&self, low: u32) -> u64 {
                u64::from(*self) >> low
            }
            #[inline(always)]
            fn set64(&mut self, low: u32, mask: u64, value: u64) {
                // Members end within the capacity, so the casts lose no bit.
                *self = *self & !((mask << low) as $kind) | ((value & mask) << low) as $kind;
            }
        }
    )*};
}
integer!(u8, u16, u32, u64);

impl<const N: usize> PortBits for [u32; N] {
    const CAPACITY: u32 = 32 * N as u32;
    const ZERO: [u32; N] = [0; N];
    #[inline(always)]
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
    #[inline(always)]
    fn set64(&mut self, low: u32, mask: u64, value: u64) {
        let (word, shift) = ((low / 32) as usize, low % 32);
        let mask = u128::from(mask) << shift;
        let value = u128::from(value) << shift & mask;
        for step in 0..3 {
            if let Some(place) = self.get_mut(word + step) {
                *place = *place & !((mask >> (32 * step)) as u32) | (value >> (32 * step)) as u32;
            }
        }
    }
}

/// A packed struct, packed union or enum of SystemVerilog, as `verilated-build` writes it.
///
/// `In` and `Out` have methods that read and set the ports of such types. This trait is for code that works on any of
/// them.
pub trait Packed: Copy + Debug + Default + Eq {
    /// Width in bits.
    const BITS: u32;
    /// The error for bits that are not a valid value: [`BadEnum`] if such bits exist, else [`Infallible`].
    type Error: Error + Send + Sync + 'static;

    /// Returns the value in bits `low` to `low + BITS - 1`.
    ///
    /// # Errors
    ///
    /// Fails on a code that its enum has no name for.
    fn get<P: PortBits>(port: &P, low: u32) -> Result<Self, Self::Error>;

    /// Writes the value to bits `low` to `low + BITS - 1` and leaves all others.
    ///
    /// # Panics
    ///
    /// Panics if a value has more bits than its member, or if the port has too few bits.
    fn set<P: PortBits>(&self, port: &mut P, low: u32);

    /// Returns the value of a port of this type. Errors as [`get`](Packed::get).
    #[inline]
    fn unpack<P: PortBits>(port: &P) -> Result<Self, Self::Error> {
        Self::get(port, 0)
    }

    /// Returns the bits of a port of this type. Panics as [`set`](Packed::set).
    #[inline]
    #[track_caller]
    fn pack<P: PortBits>(&self) -> P {
        let mut port = P::ZERO;
        self.set(&mut port, 0);
        port
    }
}

/// A code that an enum has no name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{code} is no value of the enum `{name}`")]
pub struct BadEnum {
    /// The enum in the source, with its package: `gbn_pkg::status_e`.
    pub name: &'static str,
    /// The code that was read.
    pub code: i128,
}

/// The position of an enum in a packed struct.
///
/// Use it to drive codes that the enum has no name for, to test how a receiver handles them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its least significant bit.
    pub low: u32,
    /// Its width, 1 to 64.
    pub bits: u32,
}

impl Member {
    /// Writes a code to a port of the struct's type.
    ///
    /// # Panics
    ///
    /// Panics if the code has more bits than the member, or if the port has too few bits.
    #[inline]
    #[track_caller]
    pub fn put<P: PortBits>(self, port: &mut P, code: u64) {
        put(port, self.low, self.bits, code, "a member's code");
    }

    /// Returns the code on a port of the struct's type.
    #[inline]
    pub fn take<P: PortBits>(self, port: &P) -> u64 {
        bits(port, self.low, self.bits)
    }
}

const fn mask(bits: u32) -> u64 {
    if bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// Panics unless the port has `bits` bits from `low` up.
#[inline(always)]
#[track_caller]
fn check<P: PortBits>(low: u32, bits: u32) {
    assert!(
        low + bits <= P::CAPACITY,
        "bits {low} to {} are not on a port of {} bits",
        low + bits - 1,
        P::CAPACITY
    );
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_wide(what: &str, value: fmt::Arguments, bits: u32) -> ! {
    panic!("{what}: {value} has more than {bits} bits")
}

/// Reads 1 to 64 bits.
#[doc(hidden)]
#[inline(always)]
pub fn bits<P: PortBits>(port: &P, low: u32, bits: u32) -> u64 {
    check::<P>(low, bits);
    port.get64(low) & mask(bits)
}

/// Reads 1 to 64 bits as two's complement.
#[doc(hidden)]
#[inline(always)]
pub fn signed_bits<P: PortBits>(port: &P, low: u32, width: u32) -> i64 {
    (bits(port, low, width) as i64) << (64 - width) >> (64 - width)
}

/// Reads 65 to 128 bits.
#[doc(hidden)]
#[inline(always)]
pub fn wide<P: PortBits>(port: &P, low: u32, width: u32) -> u128 {
    u128::from(bits(port, low + 64, width - 64)) << 64 | u128::from(bits(port, low, 64))
}

/// Reads 65 to 128 bits as two's complement.
#[doc(hidden)]
#[inline(always)]
pub fn signed_wide<P: PortBits>(port: &P, low: u32, width: u32) -> i128 {
    (wide(port, low, width) as i128) << (128 - width) >> (128 - width)
}

/// Reads any number of bits, as words with the least significant first.
#[doc(hidden)]
#[inline(always)]
pub fn words<P: PortBits, const N: usize>(port: &P, low: u32, width: u32) -> [u32; N] {
    let mut words = [0; N];
    for (at, word) in (0..width).step_by(32).zip(&mut words) {
        *word = bits(port, low + at, (width - at).min(32)) as u32;
    }
    words
}

/// Sets 1 to 64 bits.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn put<P: PortBits>(port: &mut P, low: u32, bits: u32, value: u64, what: &str) {
    check::<P>(low, bits);
    if value & !mask(bits) != 0 {
        too_wide(what, format_args!("{value:#x}"), bits);
    }
    port.set64(low, mask(bits), value);
}

/// Sets 1 to 64 bits in two's complement.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn put_signed<P: PortBits>(port: &mut P, low: u32, bits: u32, value: i64, what: &str) {
    if value << (64 - bits) >> (64 - bits) != value {
        too_wide(what, format_args!("{value}"), bits);
    }
    put(port, low, bits, value as u64 & mask(bits), what);
}

/// Sets 65 to 128 bits.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn put_wide<P: PortBits>(port: &mut P, low: u32, bits: u32, value: u128, what: &str) {
    if bits < 128 && value >> bits != 0 {
        too_wide(what, format_args!("{value:#x}"), bits);
    }
    put(port, low, 64, value as u64, what);
    put(port, low + 64, bits - 64, (value >> 64) as u64, what);
}

/// Sets 65 to 128 bits in two's complement.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn put_signed_wide<P: PortBits>(port: &mut P, low: u32, bits: u32, value: i128, what: &str) {
    let unsigned = (value as u128) << (128 - bits) >> (128 - bits);
    if (unsigned as i128) << (128 - bits) >> (128 - bits) != value {
        too_wide(what, format_args!("{value}"), bits);
    }
    put_wide(port, low, bits, unsigned, what);
}

/// Sets any number of bits, from words with the least significant first.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn put_words<P: PortBits, const N: usize>(
    port: &mut P,
    low: u32,
    bits: u32,
    value: &[u32; N],
    what: &str,
) {
    for (at, word) in (0..bits).step_by(32).zip(value) {
        let here = (bits - at).min(32);
        if u64::from(*word) & !mask(here) != 0 {
            too_wide(what, format_args!("{value:#x?}"), bits);
        }
        put(port, low + at, here, u64::from(*word), what);
    }
}

/// Returns an array of the results of `of` for each index.
#[doc(hidden)]
#[inline(always)]
pub fn array<T, const N: usize>(mut of: impl FnMut(u32) -> T) -> [T; N] {
    std::array::from_fn(|index| of(index as u32))
}

/// Like [`array`], but returns the first error.
#[doc(hidden)]
#[inline(always)]
pub fn try_array<T, E, const N: usize>(
    mut of: impl FnMut(u32) -> Result<T, E>,
) -> Result<[T; N], E> {
    let mut failed = None;
    let values: [Option<T>; N] = std::array::from_fn(|index| {
        let value = if failed.is_none() {
            of(index as u32)
        } else {
            return None;
        };
        value.map_err(|error| failed = Some(error)).ok()
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(values.map(|value| value.expect("nothing failed"))),
    }
}

/// Unwraps a result that cannot be an error.
#[doc(hidden)]
#[inline(always)]
pub fn sure<T>(result: Result<T, Infallible>) -> T {
    let Ok(value) = result;
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads one bit: the slow, obvious reference.
    fn bit(words: &[u32], at: u32) -> u64 {
        u64::from(words[(at / 32) as usize] >> (at % 32) & 1)
    }

    /// Positions and widths of members that fill `total` bits from the top down, 1 to 64 bits each.
    fn places(total: u32, cuts: &[u32]) -> Vec<(u32, u32)> {
        let mut left = total;
        let mut places = Vec::new();
        let mut cuts = cuts.iter().copied().chain(std::iter::repeat(64));
        while left > 0 {
            let width = cuts.next().unwrap_or(64).min(left);
            left -= width;
            places.push((left, width));
        }
        places
    }

    proptest! {
        #[test]
        fn takes_what_bit_by_bit_takes(words: [u32; 9], total in 0u32..=288, cuts in proptest::collection::vec(1u32..=64, 0..20)) {
            for (low, width) in places(total, &cuts) {
                let expected = (low..low + width).rev().fold(0, |value, at| value << 1 | bit(&words, at));
                prop_assert_eq!(bits(&words, low, width), expected);
                let signed = (expected as i64) << (64 - width) >> (64 - width);
                prop_assert_eq!(signed_bits(&words, low, width), signed);
            }
        }

        #[test]
        fn puts_what_it_takes_and_nothing_else(words: [u32; 9], mut onto: [u32; 9], total in 0u32..=288, cuts in proptest::collection::vec(1u32..=64, 0..20), signed: bool) {
            let before = onto;
            for (low, width) in places(total, &cuts) {
                if signed {
                    put_signed(&mut onto, low, width, signed_bits(&words, low, width), "test");
                } else {
                    put(&mut onto, low, width, bits(&words, low, width), "test");
                }
            }
            for at in 0..288 {
                prop_assert_eq!(bit(&onto, at), if at < total { bit(&words, at) } else { bit(&before, at) });
            }
        }

        #[test]
        fn integers_are_like_words(value: u64, low in 0u32..64, width in 1u32..=64) {
            let width = width.min(64 - low);
            let words = [value as u32, (value >> 32) as u32];
            let member = bits(&value, low, width);
            prop_assert_eq!(member, bits(&words, low, width));
            let (mut a, mut b) = (0u64, [0u32; 2]);
            put(&mut a, low, width, member, "test");
            put(&mut b, low, width, member, "test");
            prop_assert_eq!([a as u32, (a >> 32) as u32], b);
        }

        #[test]
        fn wide_members(port: [u32; 9], low in 0u32..100, width in 65u32..=128) {
            let taken = wide(&port, low, width);
            let as_words: [u32; 4] = words(&port, low, width);
            prop_assert_eq!(taken, as_words.iter().rev().fold(0, |value, word| value << 32 | u128::from(*word)));
            let signed = signed_wide(&port, low, width);
            prop_assert_eq!(signed, (taken as i128) << (128 - width) >> (128 - width));
            let (mut by_wide, mut by_words, mut by_signed) = ([0u32; 9], [0u32; 9], [0u32; 9]);
            put_wide(&mut by_wide, low, width, taken, "test");
            put_words(&mut by_words, low, width, &as_words, "test");
            put_signed_wide(&mut by_signed, low, width, signed, "test");
            prop_assert_eq!((by_wide, by_wide), (by_words, by_signed));
            prop_assert_eq!(wide(&by_wide, low, width), taken);
        }
    }

    #[test]
    fn small_ports() {
        let mut port = 0u8;
        put(&mut port, 5, 2, 0b10, "test");
        put(&mut port, 4, 1, 1, "test");
        put(&mut port, 0, 4, 0b0110, "test");
        assert_eq!(port, 0b101_0110);
        assert_eq!((bits(&port, 5, 2), bits(&port, 4, 1)), (0b10, 1));
        let mut port = 0xffffu16;
        put(&mut port, 4, 8, 0, "test");
        assert_eq!(port, 0xf00f);
        let mut port = 0u32;
        put(&mut port, 0, 32, 0xdead_beef, "test");
        assert_eq!(bits(&port, 0, 32), 0xdead_beef);
    }

    #[test]
    #[should_panic(expected = "bits 4 to 8 are not on a port of 8 bits")]
    fn more_than_there_is() {
        bits(&0u8, 4, 5);
    }

    #[test]
    #[should_panic(expected = "work_t.kind: 0x10 has more than 4 bits")]
    fn a_value_too_wide() {
        put(&mut 0u8, 4, 4, 16, "work_t.kind");
    }

    #[test]
    #[should_panic(expected = "work_t.words: [")]
    fn words_too_wide() {
        put_words(&mut [0u32; 5], 0, 130, &[0, 0, 0, 0, 4], "work_t.words");
    }

    #[test]
    fn an_array_stops_at_its_first_error() {
        let mut asked = Vec::new();
        let array: Result<[u32; 4], u32> = try_array(|index| {
            asked.push(index);
            if index < 2 { Ok(index) } else { Err(index) }
        });
        assert_eq!((array, asked), (Err(2), vec![0, 1, 2]));
        assert_eq!(try_array::<u32, (), 3>(Ok), Ok([0, 1, 2]));
    }
}
