//! Queue pair numbers, and the common part of all 24-bit numbers.

use thiserror::Error;

use super::header::Field;

/// The error for a number that does not fit in a 24-bit field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what} {value:#x} does not fit in 24 bits: the largest is 0xffffff")]
pub struct Over24Bits {
    /// The kind of number.
    pub what: &'static str,
    /// The number.
    pub value: u32,
}

/// A newtype over `u32` that holds 24 bits.
macro_rules! number24 {
    ($(#[$doc:meta])* $Type:ident, $name:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "u32", into = "u32")]
        pub struct $Type(u32);

        impl $Type {
            /// The largest value, 0xFF_FFFF.
            pub const MAX: Self = Self(0xFF_FFFF);

            /// Creates the number from its value.
            ///
            /// # Errors
            ///
            /// [`Over24Bits`](crate::wire::Over24Bits) for a value over 0xFF_FFFF.
            pub const fn new(value: u32) -> Result<Self, crate::wire::Over24Bits> {
                if value > Self::MAX.0 {
                    return Err(crate::wire::Over24Bits { what: $name, value });
                }
                Ok(Self(value))
            }

            /// The number, 0 … 0xFF_FFFF.
            pub const fn get(self) -> u32 {
                self.0
            }
        }

        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:#08x}", self.0)
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:#08x}", self.0)
            }
        }

        impl TryFrom<u32> for $Type {
            type Error = crate::wire::Over24Bits;

            fn try_from(value: u32) -> Result<Self, Self::Error> {
                Self::new(value)
            }
        }

        impl From<$Type> for u32 {
            fn from(number: $Type) -> u32 {
                number.0
            }
        }

        impl Field for $Type {
            fn from_bits(bits: u128) -> Self {
                Self(bits as u32 & Self::MAX.0)
            }
            fn to_bits(self) -> u128 {
                self.0.into()
            }
        }
    };
}
pub(crate) use number24;

number24! {
    /// A queue pair number, 24 bits (IBTA volume 1 §9.2.1). 0 and 1 are the management QPs, 0xFF_FFFF is multicast.
    #[derive(PartialOrd, Ord)]
    Qpn, "QP number"
}
