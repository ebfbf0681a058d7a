//! Quantities as text: a decimal number, an optional space, a unit. They are parsed and displayed exactly.

use std::fmt;

use serde::de::{self, Visitor};
use thiserror::Error;

/// The error for a text that is not a quantity of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} '{text}': {problem}; {expected}")]
pub struct QuantityError {
    /// The kind of quantity expected.
    pub what: &'static str,
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

/// A unit: its name, and its size in base units. Lists of units are ordered from small to large.
pub(crate) type Unit = (&'static str, u64);

/// A kind of quantity: its name, units, and an example.
pub(crate) struct Kind {
    pub(crate) what: &'static str,
    /// The units from small to large. The first one is the base unit, with size 1.
    pub(crate) units: &'static [Unit],
    /// Units that are accepted when parsing but never displayed.
    pub(crate) also: &'static [Unit],
    pub(crate) example: &'static str,
}

impl Kind {
    fn error(&self, text: &str, problem: impl Into<String>) -> QuantityError {
        let names: Vec<_> = self
            .units
            .iter()
            .chain(self.also)
            .map(|unit| unit.0)
            .collect();
        QuantityError {
            what: self.what,
            text: text.into(),
            problem: problem.into(),
            expected: format!(
                "expected a number and one of {}, such as '{}'",
                names.join(", "),
                self.example
            ),
        }
    }

    /// The JSON schema of texts of this kind. A bare 0 needs no unit.
    pub(crate) fn schema(&self) -> schemars::Schema {
        let units = self.units.iter().chain(self.also).map(|unit| unit.0);
        let units: Vec<&str> = units.collect();
        schemars::json_schema!({
            "type": "string",
            "description": format!("A {}: a number and one of {}.", self.what, units.join(", ")),
            "pattern": format!(r"^\s*([0-9][0-9_]*(\.[0-9_]+)?\s*({})|0+)\s*$", units.join("|")),
            "examples": [self.example],
        })
    }

    /// Parses `text` to a number of base units. Never rounds.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let number_end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..number_end], trimmed[number_end..].trim_start());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits: String = [whole, fraction].concat().replace('_', "");
        if number.ends_with('.') || whole.replace('_', "").is_empty() || fraction.contains('.') {
            return Err(self.error(text, "no number in front"));
        }
        if unit.is_empty() && digits.bytes().all(|digit| digit == b'0') {
            return Ok(0);
        }
        let scale = self
            .units
            .iter()
            .chain(self.also)
            .find(|(name, _)| *name == unit)
            .map(|(_, scale)| *scale)
            .ok_or_else(|| {
                let problem = if unit.is_empty() {
                    "no unit".into()
                } else {
                    format!("unknown unit '{unit}'")
                };
                self.error(text, problem)
            })?;
        let too_large = || self.error(text, "too large for 64 bits");
        let decimals = fraction.replace('_', "").len() as u32;
        let divisor = 10u128.checked_pow(decimals).ok_or_else(too_large)?;
        let product = digits
            .parse::<u128>()
            .ok()
            .and_then(|mantissa| mantissa.checked_mul(scale.into()))
            .ok_or_else(too_large)?;
        if !product.is_multiple_of(divisor) {
            let problem = format!("is no whole number of {}", self.units[0].0);
            return Err(self.error(text, problem));
        }
        u64::try_from(product / divisor).map_err(|_| too_large())
    }

    /// Displays `value` base units in the largest unit that does not exceed the value, with all its decimals.
    pub(crate) fn show(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, scale) = self
            .units
            .iter()
            .rev()
            .find(|(_, scale)| *scale <= value)
            .unwrap_or(&self.units[0]);
        let (whole, mut rest) = (value / scale, value % scale);
        let mut text = whole.to_string();
        if rest > 0 {
            text.push('.');
            let mut digit = *scale;
            while rest > 0 {
                digit /= 10;
                text.push(char::from(b'0' + (rest / digit) as u8));
                rest %= digit;
            }
        }
        f.pad(&format!("{text} {name}"))
    }
}

/// Deserializes from a text. A bare number is accepted only in order to report that its unit is missing.
impl Visitor<'_> for &Kind {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} such as '{}'", self.what, self.example)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        self.parse(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<u64, E> {
        self.visit_str(&number.to_string())
    }
}

/// Text and serde for a newtype over `u64`: `FromStr`, `Display`, `Debug`, the JSON schema, and serde as text in
/// human-readable formats and as a number in others.
macro_rules! quantity_text {
    ($Type:ident, $kind:expr) => {
        impl std::str::FromStr for $Type {
            type Err = $crate::time::QuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $kind.parse(text).map(Self)
            }
        }

        impl schemars::JsonSchema for $Type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $kind.schema()
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $kind.show(self.0, f)
            }
        }

        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                if to.is_human_readable() {
                    to.collect_str(self)
                } else {
                    to.serialize_u64(self.0)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                if from.is_human_readable() {
                    from.deserialize_any(&$kind).map(Self)
                } else {
                    u64::deserialize(from).map(Self)
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::*;

    #[test]
    fn reads_what_scenarios_say() {
        assert_eq!("300 m".parse(), Ok(Length::from_mm(300_000)));
        assert_eq!("1.5 us".parse(), Ok(Duration::from_ps(1_500_000)));
        assert_eq!("1.50us".parse(), Ok(Duration::from_ps(1_500_000)));
        assert_eq!(
            "40 Gb/s".parse(),
            Ok(Rate::from_bits_per_second(40_000_000_000))
        );
        assert_eq!("24.47 KB".parse(), Ok(ByteCount::new(24_470)));
        assert_eq!("4 KiB".parse(), Ok(ByteCount::new(4096)));
        assert_eq!("1_000 ps".parse(), Ok(Duration::from_ps(1000)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
        assert_eq!("4 h".parse(), Ok(Duration::from_s(4 * 3600)));
    }

    #[test]
    fn says_what_is_wrong_and_what_would_be_right() {
        let why = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert_eq!(
            why("1.5"),
            "duration '1.5': no unit; expected a number and one of ps, ns, us, ms, s, µs, min, h, such as '1.5 us'"
        );
        assert!(why("1.5 KB").contains("unknown unit 'KB'"));
        assert!(why("us").contains("no number in front"));
        assert!(why("-3 us").contains("no number in front"));
        assert!(why("1.2.3 us").contains("no number in front"));
        assert!(why("1. us").contains("no number in front"));
        assert!(why("0.5 ps").contains("is no whole number of ps"));
        assert!(why("20000000 s").contains("too large for 64 bits"));
        assert!("30 Gb/s".parse::<LineRate>().is_err());
    }

    #[test]
    fn shows_the_unit_that_fits() {
        for (ps, text) in [
            (0, "0 ps"),
            (999, "999 ps"),
            (12_800, "12.8 ns"),
            (838_848_000, "838.848 us"),
            (14_400_000_000_000_000, "14400 s"),
        ] {
            assert_eq!(Duration::from_ps(ps).to_string(), text);
        }
        assert_eq!(ByteCount::new(24_470).to_string(), "24.47 KB");
    }

    fn texts_of_the_schema() -> impl Strategy<Value = String> {
        let schema = duration::KIND.schema();
        let pattern = schema
            .get("pattern")
            .and_then(|pattern| pattern.as_str())
            .unwrap();
        let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
        proptest::string::string_regex(pattern).unwrap()
    }

    proptest! {
        /// Every text that the schema accepts is parsed, unless it is too large or not a whole number of base units.
        #[test]
        fn what_the_schema_accepts_is_read(text in texts_of_the_schema()) {
            let wrong = text.parse::<Duration>().err().map(|error| error.problem);
            prop_assert!(
                wrong.as_ref().is_none_or(|wrong| wrong.contains("too large") || wrong.contains("no whole number")),
                "{text}: {wrong:?}"
            );
        }

        #[test]
        fn shown_and_read_again_is_the_same(value: u64) {
            let duration = Duration::from_ps(value);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
            let rate = Rate::from_bits_per_second(value);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            let json = serde_json::to_string(&Time::from_ps(value)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Time>(&json).unwrap(), Time::from_ps(value));
        }
    }
}
