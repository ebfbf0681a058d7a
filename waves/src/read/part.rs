//! Parts of signals: members, elements, bits and slices.

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

/// A step into a type: `.psn`, `[3]` or `[7:4]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member of a struct or union.
    Member(String),
    /// One index.
    Index(i64),
    /// A range with both ends.
    Range(i64, i64),
}

/// Reads the steps behind the name of a signal: `.lanes[3].psn`.
///
/// # Errors
///
/// Returns an error for what is no step.
pub fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = match rest.as_bytes()[0] {
            b'[' => rest.find(']').map_or(rest.len(), |at| at + 1),
            _ => rest[1..].find(['.', '[']).map_or(rest.len(), |at| at + 1),
        };
        let (step, behind) = rest.split_at(length);
        steps.push(step.parse()?);
        rest = behind;
    }
    Ok(steps)
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix('.').filter(|name| !name.is_empty()) {
            return Ok(Self::Member(name.to_owned()));
        }
        let inner = (text.strip_prefix('[')).and_then(|text| text.strip_suffix(']'));
        let parsed = inner.and_then(|inner| match inner.split_once(':') {
            None => Some(Self::Index(inner.parse().ok()?)),
            Some((left, right)) => Some(Self::Range(left.parse().ok()?, right.parse().ok()?)),
        });
        parsed.ok_or_else(|| {
            format!("'{text}': expected a member, an index or a range, such as .psn, [3] or [7:4]")
        })
    }
}

/// The part of a vector without a type that has the indices `lsb` to `lsb + bits - 1`.
///
/// # Errors
///
/// Returns what the vector has, if it has no such part.
pub fn of_bits(steps: &[Step], lsb: i64, bits: u32) -> Result<Part, String> {
    let (first, last) = match *steps {
        [Step::Index(index)] => (index, index),
        [Step::Range(left, right)] => (left.min(right), left.max(right)),
        [Step::Member(_), ..] | [_, Step::Member(_), ..] => {
            return Err("is a vector whose members are not known: a file of types beside the waves would say them".into());
        }
        _ => return Err("is a vector: one index or range of bits is all that it has".into()),
    };
    let highest = lsb + i64::from(bits) - 1;
    if first < lsb || last > highest {
        return Err(format!("has the bits {lsb} to {highest}"));
    }
    Ok(Part {
        low: (first - lsb) as u32,
        width: (last - first + 1) as u32,
        guessed: matches!(steps, [Step::Index(_)]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_slices() {
        let part = |text: &str, lsb, bits| of_bits(&steps(text).unwrap(), lsb, bits);
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
        for wrong in ["[]", "[a]", "[3", "[3:]", "[1:2:3]", ".", "[3]x", "..a"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
        assert!(
            part(".psn", 0, 8)
                .unwrap_err()
                .contains("members are not known")
        );
        assert!(part("[3][2]", 0, 8).is_err());
    }
}
