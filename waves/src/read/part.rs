//! Parts of vectors: bits and slices.

use std::str::FromStr;

/// A part of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The bit that it begins with, counted from the least significant one of the vector.
    pub low: u32,
    /// Number of bits.
    pub width: u32,
    /// Whether an index was taken for that of a bit because the file does not say what it counts.
    pub guessed: bool,
}

/// What selects a part: `[3]` or `[7:4]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// One index.
    Index(i64),
    /// A range with both ends.
    Range(i64, i64),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = (text.strip_prefix('[')).and_then(|text| text.strip_suffix(']'));
        let parsed = inner.and_then(|inner| match inner.split_once(':') {
            None => Some(Self::Index(inner.parse().ok()?)),
            Some((left, right)) => Some(Self::Range(left.parse().ok()?, right.parse().ok()?)),
        });
        parsed
            .ok_or_else(|| format!("'{text}': expected an index or a range, such as [3] or [7:4]"))
    }
}

impl Selector {
    /// The part of a vector without a type that has the indices `lsb` to `lsb + bits - 1`.
    ///
    /// # Errors
    ///
    /// Returns what the vector has, if it has no such part.
    pub fn of_bits(self, lsb: i64, bits: u32) -> Result<Part, String> {
        let (first, last) = match self {
            Self::Index(index) => (index, index),
            Self::Range(left, right) => (left.min(right), left.max(right)),
        };
        let highest = lsb + i64::from(bits) - 1;
        if first < lsb || last > highest {
            return Err(format!("has the bits {lsb} to {highest}"));
        }
        Ok(Part {
            low: (first - lsb) as u32,
            width: (last - first + 1) as u32,
            guessed: matches!(self, Self::Index(_)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_slices() {
        let part = |text: &str, lsb, bits| text.parse::<Selector>().unwrap().of_bits(lsb, bits);
        let found = |low, width, guessed| {
            Ok(Part {
                low,
                width,
                guessed,
            })
        };
        assert_eq!(part("[3]", 0, 8), found(3, 1, true));
        assert_eq!(part("[7:4]", 0, 8), found(4, 4, false));
        assert_eq!(part("[4:7]", 4, 8), found(0, 4, false));
        assert_eq!(part("[8]", 0, 8), Err("has the bits 0 to 7".into()));
        assert_eq!(part("[8:7]", 0, 8), Err("has the bits 0 to 7".into()));
        for wrong in ["[]", "[a]", "[3", "[3:]", "[1:2:3]"] {
            assert!(wrong.parse::<Selector>().is_err(), "{wrong}");
        }
    }
}
