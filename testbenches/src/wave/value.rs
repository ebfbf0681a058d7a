//! Values of signals.

use std::cmp::Ordering;

use wellen::SignalValueRef;

use super::Radix;

/// What the values of a signal are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text, or a number in floating point.
    Text,
    /// A vector.
    Bits {
        /// Its width.
        bits: u32,
        /// Whether it is a number with a sign.
        signed: bool,
    },
    /// A vector with names for some values: bits and name.
    Enum(Vec<(String, String)>),
}

impl Kind {
    /// Returns the name of a value in an enum.
    fn name(&self, bits: &str) -> Option<&str> {
        let Self::Enum(names) = self else {
            return None;
        };
        let same = |(value, _): &&(String, String)| significant(value) == significant(bits);
        names.iter().find(same).map(|(_, name)| &name[..])
    }

    /// Returns the names of an enum; none for other kinds.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Enum(names) => names.iter().map(|(_, name)| name.clone()).collect(),
            Self::Text | Self::Bits { .. } => Vec::new(),
        }
    }

    /// Returns the bits of a name in an enum.
    pub fn bits_of(&self, name: &str) -> Option<&str> {
        let Self::Enum(names) = self else {
            return None;
        };
        let same = |(_, known): &&(String, String)| known == name;
        names.iter().find(same).map(|(value, _)| &value[..])
    }
}

/// A value of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Bits from the most significant on: `0`, `1`, `x`, `z` and the others of VHDL.
    Bits(String),
    /// Anything else.
    Text(String),
}

impl From<SignalValueRef<'_>> for Value {
    fn from(value: SignalValueRef<'_>) -> Self {
        match value {
            SignalValueRef::String(_) | SignalValueRef::Real(_) => Self::Text(value.to_string()),
            // It has no value, only times at which it happens.
            SignalValueRef::Event => Self::Bits("1".into()),
            SignalValueRef::BitVec(bits) => Self::Bits(bits.bit_string()),
        }
    }
}

impl Value {
    /// Returns the bits, if all of them are 0 or 1.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Bits(bits) if bits.bytes().all(|bit| matches!(bit, b'0' | b'1')) => Some(bits),
            _ => None,
        }
    }

    /// Formats the value for people.
    pub fn text(&self, kind: &Kind, radix: Radix) -> String {
        let bits = match self {
            Self::Text(text) | Self::Bits(text) if self.known().is_none() => return text.clone(),
            Self::Text(bits) | Self::Bits(bits) => bits,
        };
        if let Some(name) = kind.name(bits) {
            return name.to_owned();
        }
        let signed = matches!(kind, Kind::Bits { signed: true, .. });
        match radix {
            _ if bits.len() == 1 => bits.clone(),
            Radix::Bin => bits.clone(),
            _ if signed && bits.len() <= 128 => signed_number(bits).to_string(),
            Radix::Dec if significant(bits).len() <= 128 => number(bits).to_string(),
            _ => hex(bits),
        }
    }

    /// Converts the value for programs: a number up to 53 bits, which every reader of JSON represents exactly;
    /// otherwise text.
    pub fn json(&self, kind: &Kind) -> serde_json::Value {
        let Some(bits) = self.known().filter(|bits| kind.name(bits).is_none()) else {
            return self.text(kind, Radix::Hex).into();
        };
        match kind {
            Kind::Bits { signed: true, .. } if bits.len() <= 53 => {
                (signed_number(bits) as i64).into()
            }
            _ if bits.len() <= 53 => (number(bits) as u64).into(),
            _ => format!("0x{}", hex(bits)).into(),
        }
    }
}

/// Returns the bits without leading zeros.
fn significant(bits: &str) -> &str {
    bits.trim_start_matches('0')
}

/// Compares two values without sign, each of any width.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (significant(a), significant(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The number of at most 128 significant bits.
fn number(bits: &str) -> u128 {
    let digit = |number: u128, bit| number << 1 | u128::from(bit == b'1');
    bits.bytes().fold(0, digit)
}

/// The number in two's complement, of at most 128 bits.
fn signed_number(bits: &str) -> i128 {
    let unused = 128 - bits.len() as u32;
    (number(bits) << unused) as i128 >> unused
}

/// The digits of a value, four bits each, with leading zeros.
fn hex(bits: &str) -> String {
    let first = bits.len() % 4;
    let (head, rest) = bits.split_at(first);
    let digits = std::iter::once(head)
        .filter(|head| !head.is_empty())
        .chain((0..rest.len()).step_by(4).map(|at| &rest[at..at + 4]));
    digits
        .map(|digit| char::from_digit(number(digit) as u32, 16).expect("four bits"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Value {
        Value::Bits(text.into())
    }

    fn vector(bits: u32, signed: bool) -> Kind {
        Kind::Bits { bits, signed }
    }

    #[test]
    fn numbers_in_each_base() {
        let kind = vector(10, false);
        let value = bits("1000011111");
        assert_eq!(value.text(&kind, Radix::Hex), "21f");
        assert_eq!(value.text(&kind, Radix::Dec), "543");
        assert_eq!(value.text(&kind, Radix::Bin), "1000011111");
        assert_eq!(value.json(&kind), 543);
        assert_eq!(bits("1110").text(&vector(4, true), Radix::Hex), "-2");
        assert_eq!(bits("1").text(&vector(1, false), Radix::Hex), "1");
        // 2^128 - 1 fits, 2^128 is hexadecimal in JSON and in every base but binary.
        let ones = "1".repeat(128);
        assert_eq!(
            bits(&ones).text(&vector(128, false), Radix::Dec),
            u128::MAX.to_string()
        );
        let wide = format!("1{}", "0".repeat(128));
        assert_eq!(
            bits(&wide).text(&vector(129, false), Radix::Dec),
            format!("1{}", "0".repeat(32))
        );
        assert_eq!(
            bits(&wide).json(&vector(129, false)),
            format!("0x1{}", "0".repeat(32))
        );
    }

    #[test]
    fn names_and_unknown_bits() {
        let names = [("00", "IDLE"), ("01", "BUSY")];
        let kind = Kind::Enum(
            names
                .map(|(value, name)| (value.into(), name.into()))
                .into(),
        );
        assert_eq!(bits("01").text(&kind, Radix::Hex), "BUSY");
        assert_eq!(bits("11").text(&kind, Radix::Hex), "3");
        assert_eq!(bits("0x").text(&kind, Radix::Hex), "0x");
        assert_eq!(bits("01").json(&kind), "BUSY");
        assert_eq!(kind.bits_of("BUSY"), Some("01"));
    }

    #[test]
    fn values_of_any_width_compare() {
        assert_eq!(compare("0101", "101"), Ordering::Equal);
        assert_eq!(compare("011", "0100"), Ordering::Less);
        assert_eq!(compare("110", "101"), Ordering::Greater);
    }
}
