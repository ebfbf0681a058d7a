//! Macros that define a header from a table of fields: name, type, bits. They generate a view and a plain struct, so
//! that every header file reads like the standard's bit diagram.

use std::ops::Range;

use bitvec::prelude::*;
use thiserror::Error;

/// The error for a buffer that is shorter than the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{header}: {have} bytes, the header has {need}")]
pub struct Truncated {
    /// The header's name, as the standard spells it.
    pub header: &'static str,
    /// Number of bytes present.
    pub have: usize,
    /// Number of bytes of the header's fixed part.
    pub need: usize,
}

/// The value of a bit field: a number of at most 128 bits, right-aligned.
pub(crate) trait Field: Copy {
    fn from_bits(bits: u128) -> Self;
    fn to_bits(self) -> u128;
}

impl Field for bool {
    fn from_bits(bits: u128) -> Self {
        bits != 0
    }
    fn to_bits(self) -> u128 {
        self.into()
    }
}

macro_rules! number_fields {
    ($($ty:ty)*) => { $(
        impl Field for $ty {
            fn from_bits(bits: u128) -> Self {
                bits as $ty
            }
            fn to_bits(self) -> u128 {
                self.into()
            }
        }
    )* };
}
number_fields!(u8 u16 u32 u64 u128);

/// Eight 16-bit numbers in sequence, the first one on the wire first (the PFC timers).
impl Field for [u16; 8] {
    fn from_bits(bits: u128) -> Self {
        std::array::from_fn(|i| (bits >> (112 - 16 * i)) as u16)
    }
    fn to_bits(self) -> u128 {
        self.iter()
            .fold(0, |bits, &word| bits << 16 | u128::from(word))
    }
}

/// The bytes of a field that begins and ends with a byte, as most do: they are written at once.
#[inline]
fn whole_bytes(range: &Range<usize>) -> Option<Range<usize>> {
    let whole = range.start.is_multiple_of(8) && range.end.is_multiple_of(8);
    whole.then_some(range.start / 8..range.end / 8)
}

/// Loads the field at `range`, in bits counted from the header's first, most significant bit: by shifts, since switches
/// read those of every frame.
#[inline]
pub(crate) fn load<F: Field>(bytes: &[u8], range: Range<usize>) -> F {
    let end = range.end.div_ceil(8);
    let behind = end * 8 - range.end;
    let held = &bytes[range.start / 8..end];
    F::from_bits(match held.len() {
        0..=8 => {
            let mut wide = [0; 8];
            wide[8 - held.len()..].copy_from_slice(held);
            let mask = u64::MAX >> (64 - range.len());
            (u64::from_be_bytes(wide) >> behind & mask).into()
        }
        _ => {
            let mut wide = [0; 16];
            wide[16 - held.len()..].copy_from_slice(held);
            let mask = u128::MAX >> (128 - range.len());
            u128::from_be_bytes(wide) >> behind & mask
        }
    })
}

/// Stores the low bits of `field` at `range`, in bits counted from the header's first, most significant bit.
#[inline]
pub(crate) fn store<F: Field>(bytes: &mut [u8], range: Range<usize>, field: F) {
    let number = field.to_bits();
    if let Some(range) = whole_bytes(&range) {
        let wide = number.to_be_bytes();
        let from = wide.len() - range.len();
        return bytes[range].copy_from_slice(&wide[from..]);
    }
    let bits = &mut bytes.view_bits_mut::<Msb0>()[range];
    let low = bits.len().saturating_sub(64);
    if low > 0 {
        bits[..low].store_be((number >> 64) as u64);
    }
    bits[low..].store_be(number as u64);
}

/// Defines a view with `new_checked`, and with an accessor and a setter for each field.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $View:ident, $name:literal, $len:literal bytes;
        $($(#[$field_doc:meta])* $field:ident, $set:ident: $ty:ty = $from:literal .. $to:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $View<T> {
            buffer: T,
        }

        impl<T: AsRef<[u8]>> $View<T> {
            /// Bytes of the header's fixed part.
            pub const LEN: usize = $len;

            /// Creates a view without checking the length.
            ///
            /// The accessors and setters panic when there are fewer than [`LEN`](Self::LEN) bytes.
            pub fn new_unchecked(buffer: T) -> Self {
                Self { buffer }
            }

            /// Creates a view of bytes that begin with this header; more may follow.
            ///
            /// # Errors
            ///
            /// [`Truncated`](crate::wire::Truncated) when there are fewer than [`LEN`](Self::LEN) bytes. Field values
            /// are not checked.
            pub fn new_checked(buffer: T) -> Result<Self, crate::wire::Truncated> {
                match buffer.as_ref().len() {
                    have if have < $len => Err(crate::wire::Truncated { header: $name, have, need: $len }),
                    _ => Ok(Self { buffer }),
                }
            }

            /// Returns the bytes.
            pub fn into_inner(self) -> T {
                self.buffer
            }

            $(
                $(#[$field_doc])*
                pub fn $field(&self) -> $ty {
                    crate::wire::header::load(self.buffer.as_ref(), $from..$to)
                }
            )*
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $View<T> {
            $(
                #[doc = concat!("Stores [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                pub fn $set(&mut self, value: $ty) {
                    crate::wire::header::store(self.buffer.as_mut(), $from..$to, value);
                }
            )*
        }
    };
}

/// Defines a view and its plain struct. `@fixed` fields have only one valid value: the view reads them, `emit` writes
/// that value, and the struct does not contain them.
macro_rules! header {
    (
        $(#[$doc:meta])*
        $View:ident, $Repr:ident, $name:literal, $len:literal bytes;
        $($(#[$field_doc:meta])* $field:ident, $set:ident: $ty:ty = $from:literal .. $to:literal;)*
        $(@fixed $($(#[$fixed_doc:meta])* $fixed:ident, $set_fixed:ident: $fixed_ty:ty = $fixed_from:literal .. $fixed_to:literal, always $value:expr;)*)?
    ) => {
        view! {
            $(#[$doc])*
            $View, $name, $len bytes;
            $($(#[$field_doc])* $field, $set: $ty = $from .. $to;)*
            $($($(#[$fixed_doc])* $fixed, $set_fixed: $fixed_ty = $fixed_from .. $fixed_to;)*)?
        }

        #[doc = concat!("What the header ", $name, " says. [`", stringify!($View), "`] draws it.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
        pub struct $Repr {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl $Repr {
            /// Bytes of the header.
            pub const LEN: usize = $len;

            /// Reads all fields.
            #[allow(unused_variables)]
            pub fn parse<T: AsRef<[u8]>>(view: &$View<T>) -> Self {
                Self { $($field: view.$field(),)* }
            }

            #[doc = concat!("Writes the whole header, reserved bits as zero. Panics when there are fewer than ", stringify!($len), " bytes.")]
            pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, view: &mut $View<T>) {
                view.buffer.as_mut()[..$len].fill(0);
                $(view.$set(self.$field);)*
                $($(view.$set_fixed($value);)*)?
            }
        }
    };
}

/// A test of what must hold for any header: what is parsed from any bytes is the same after it is emitted and parsed
/// again, and bytes after the header are not changed.
#[cfg(test)]
macro_rules! round_trip {
    ($test:ident, $View:ident, $Repr:ident) => {
        proptest::proptest! {
            #[test]
            fn $test(bytes in proptest::collection::vec(proptest::num::u8::ANY, $Repr::LEN)) {
                let repr = $Repr::parse(&$View::new_checked(&bytes).unwrap());
                let mut out = [0xA5; $Repr::LEN + 1];
                repr.emit(&mut $View::new_checked(&mut out).unwrap());
                proptest::prop_assert_eq!($Repr::parse(&$View::new_checked(&out).unwrap()), repr);
                proptest::prop_assert_eq!(out[$Repr::LEN], 0xA5);
                proptest::prop_assert!($View::new_checked(&bytes[1..]).is_err());
            }
        }
    };
}
