//! Values of signals.

use std::cmp::Ordering;

use wellen::SignalValueRef;

/// Base of the numbers of vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Radix {
    /// Hexadecimal, with leading zeros.
    #[default]
    Hex,
    /// Decimal, unsigned.
    Dec,
    /// Bits.
    Bin,
}

/// What the values of a signal are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A number in floating point.
    Real,
    /// Something that happens at points of time: 1 then, and 0 else.
    Event,
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
            Self::Text | Self::Real | Self::Event | Self::Bits { .. } => Vec::new(),
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
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Bits from the most significant on: `0`, `1`, `x`, `z` and the others of VHDL.
    Bits(String),
    /// A number in floating point.
    Real(f64),
    /// Anything else.
    Text(String),
}

impl From<SignalValueRef<'_>> for Value {
    fn from(value: SignalValueRef<'_>) -> Self {
        match value {
            SignalValueRef::String(_) => Self::Text(value.to_string()),
            SignalValueRef::Real(real) => Self::Real(real),
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

    /// Returns the bits of a part: `width` bits from bit `low` up.
    #[must_use]
    pub fn part(&self, low: usize, width: usize) -> Option<Self> {
        let Self::Bits(bits) = self else { return None };
        let end = bits.len().checked_sub(low)?;
        let start = end.checked_sub(width)?;
        Some(Self::Bits(bits[start..end].to_owned()))
    }

    /// Returns the number, if all bits are known; `signed`: the bits are in two's complement.
    pub fn number(&self, signed: bool) -> Option<Number> {
        match self {
            Self::Real(real) => Some(Number::Real(*real)),
            _ if signed => self.known().map(Number::of_signed),
            _ => self.known().map(Number::of_bits),
        }
    }

    /// Formats the value for people.
    pub fn text(&self, kind: &Kind, radix: Radix) -> String {
        self.written(kind, radix, false)
    }

    /// Formats the value for programs that read text: with `0x` in front of hexadecimal numbers, and `0b` in front of
    /// bits.
    pub fn marked(&self, kind: &Kind, radix: Radix) -> String {
        self.written(kind, radix, true)
    }

    fn written(&self, kind: &Kind, radix: Radix, marked: bool) -> String {
        let bits = match self {
            Self::Real(real) => return real.to_string(),
            Self::Text(text) => return text.clone(),
            Self::Bits(bits) => bits,
        };
        if self.known().is_none() {
            return bits.clone();
        }
        if let Some(name) = kind.name(bits) {
            return name.to_owned();
        }
        let signed = matches!(kind, Kind::Bits { signed: true, .. });
        let mark = |mark: &str, digits: &str| match marked {
            true => format!("{mark}{digits}"),
            false => digits.to_owned(),
        };
        match radix {
            _ if bits.len() == 1 => bits.clone(),
            Radix::Bin => mark("0b", bits),
            _ if signed && bits.len() <= 128 => signed_number(bits).to_string(),
            Radix::Dec if significant(bits).len() <= 128 => number(bits).to_string(),
            _ => mark("0x", &hex(bits)),
        }
    }

    /// Converts the value for programs: a number up to 53 bits, which every reader of JSON represents exactly;
    /// otherwise text.
    pub fn json(&self, kind: &Kind) -> serde_json::Value {
        if let Self::Real(real) = self
            && real.is_finite()
        {
            return (*real).into();
        }
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

/// A number that can be compared: a whole one of any width, or a real one.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// Its sign and its magnitude in bits, the most significant first.
    Whole {
        /// Below 0.
        negative: bool,
        /// Without leading zeros; empty for 0.
        magnitude: String,
    },
    /// In floating point.
    Real(f64),
}

impl Number {
    /// The number of bits without sign.
    pub fn of_bits(bits: &str) -> Self {
        Self::Whole {
            negative: false,
            magnitude: significant(bits).to_owned(),
        }
    }

    /// The number of bits in two's complement.
    fn of_signed(bits: &str) -> Self {
        if !bits.starts_with('1') {
            return Self::of_bits(bits);
        }
        // The magnitude is the complement and one more: the bits from the last 1 on stay as they are.
        let last = bits.rfind('1').expect("it starts with one");
        let complement = bits[..last]
            .chars()
            .map(|bit| if bit == '0' { '1' } else { '0' });
        let magnitude: String = complement.chain(bits[last..].chars()).collect();
        Self::of_bits(&magnitude).negated()
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Real(real) => Self::Real(-real),
            Self::Whole {
                negative,
                magnitude,
            } => Self::Whole {
                negative: !negative && !magnitude.is_empty(),
                magnitude,
            },
        }
    }

    /// Whether it is below 0.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Real(real) => *real < 0.0,
            Self::Whole { negative, .. } => *negative,
        }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Real(real) => *real == 0.0,
            Self::Whole { magnitude, .. } => magnitude.is_empty(),
        }
    }

    fn real(&self) -> f64 {
        match self {
            Self::Real(real) => *real,
            Self::Whole {
                negative,
                magnitude,
            } => {
                let digit = |sum: f64, bit| 2.0 * sum + f64::from(u8::from(bit == b'1'));
                let sum = magnitude.bytes().fold(0.0, digit);
                if *negative { -sum } else { sum }
            }
        }
    }
}

impl PartialOrd for Number {
    /// Compares whole numbers exactly, and others as real ones. Nothing compares with NaN.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (
            Self::Whole {
                negative: a_negative,
                magnitude: a,
            },
            Self::Whole {
                negative: b_negative,
                magnitude: b,
            },
        ) = (self, other)
        else {
            return self.real().partial_cmp(&other.real());
        };
        let magnitudes = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
        Some(match (a_negative, b_negative) {
            (false, false) => magnitudes,
            (true, true) => magnitudes.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

/// The number of at most 128 significant bits.
fn number(bits: &str) -> u128 {
    let digit = |number: u128, bit| number << 1 | u128::from(bit == b'1');
    bits.bytes().fold(0, digit)
}

/// The number in two's complement, of at most 128 bits.
fn signed_number(bits: &str) -> i128 {
    match bits.len() as u32 {
        // A vector without bits, as VHDL may have one.
        0 => 0,
        length => (number(bits) << (128 - length)) as i128 >> (128 - length),
    }
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
        assert_eq!(bits("").text(&vector(0, true), Radix::Hex), "0");
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
        let order = |a: &str, b: &str| Number::of_bits(a).partial_cmp(&Number::of_bits(b));
        assert_eq!(order("0101", "101"), Some(Ordering::Equal));
        assert_eq!(order("011", "0100"), Some(Ordering::Less));
        assert_eq!(order("110", "101"), Some(Ordering::Greater));
    }

    #[test]
    fn signs_and_reals_compare() {
        let signed = |text: &str| bits(text).number(true).unwrap();
        let real = |real: f64| Number::Real(real);
        let five = || Number::of_bits("101");
        assert_eq!(signed("1011"), five().negated());
        assert_eq!(signed("1000"), Number::of_bits("1000").negated());
        assert_eq!(signed("0000").negated(), Number::of_bits("0"));
        for (less, more) in [
            (five().negated(), signed("1100")),
            (signed("1011"), Number::of_bits("0")),
            (signed("1111"), Number::of_bits("1")),
            (real(-5.5), signed("1011")),
            (five(), real(5.25)),
            (real(-0.5), real(1e-9)),
        ] {
            assert_eq!(
                less.partial_cmp(&more),
                Some(Ordering::Less),
                "{less:?} {more:?}"
            );
            assert_eq!(more.partial_cmp(&less), Some(Ordering::Greater));
        }
        assert_eq!(real(f64::NAN).partial_cmp(&five()), None);
    }

    #[test]
    fn numbers_for_programs_are_marked() {
        let kind = vector(8, false);
        assert_eq!(bits("00010000").marked(&kind, Radix::Hex), "0x10");
        assert_eq!(bits("00010000").marked(&kind, Radix::Bin), "0b00010000");
        assert_eq!(bits("00010000").marked(&kind, Radix::Dec), "16");
        assert_eq!(bits("0001000x").marked(&kind, Radix::Hex), "0001000x");
        assert_eq!(bits("1").marked(&vector(1, false), Radix::Hex), "1");
        assert_eq!(bits("11111110").marked(&vector(8, true), Radix::Hex), "-2");
    }

    #[test]
    fn parts_count_from_the_least_significant_bit() {
        assert_eq!(bits("110010").part(1, 3), Some(bits("001")));
        assert_eq!(bits("110010").part(4, 2), Some(bits("11")));
        assert_eq!(bits("110010").part(4, 3), None);
    }
}
