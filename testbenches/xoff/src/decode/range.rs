//! A range of frames of a capture: `7`, `7-20`, `7-`, `-20`.

use std::str::FromStr;

use thiserror::Error;

/// Frames from `first` to `last`, both included, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

impl Default for FrameRange {
    fn default() -> Self {
        Self {
            first: 1,
            last: u64::MAX,
        }
    }
}

/// Error for text that is not a range of frames.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected frame numbers from 1, such as 7, 7-20, 7- or -20")]
pub struct FrameRangeError;

impl FromStr for FrameRange {
    type Err = FrameRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = Self::default();
        let number = |text: &str| text.parse::<u64>().map_err(|_| FrameRangeError);
        let range = match text.split_once('-') {
            None => number(text).map(|frame| Self {
                first: frame,
                last: frame,
            })?,
            Some(("", "")) => return Err(FrameRangeError),
            Some((first, "")) => Self {
                first: number(first)?,
                ..all
            },
            Some(("", last)) => Self {
                last: number(last)?,
                ..all
            },
            Some((first, last)) => Self {
                first: number(first)?,
                last: number(last)?,
            },
        };
        if range.first == 0 || range.last < range.first {
            Err(FrameRangeError)
        } else {
            Ok(range)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let range = |first, last| Ok(FrameRange { first, last });
        assert_eq!("7".parse(), range(7, 7));
        assert_eq!("7-20".parse(), range(7, 20));
        assert_eq!("7-".parse(), range(7, u64::MAX));
        assert_eq!("-20".parse(), range(1, 20));
        for wrong in ["", "-", "0", "0-3", "9-8", "a", "1-b", "1-2-3", "-0"] {
            assert_eq!(wrong.parse::<FrameRange>(), Err(FrameRangeError), "{wrong}");
        }
    }
}
