//! Signals and memories inside a model, read by name.

use crate::PortBits;
use crate::ffi::{Core, bridge::Readable};

/// A signal or memory inside a model, from [`Instance::signal`](crate::Instance::signal).
///
/// It belongs to the type of model and not to one instance: look it up once and read it in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    path: String,
    bits: u32,
    dimensions: Vec<Dimension>,
    model: u64,
    number: usize,
}

/// The indices of one unpacked dimension of a [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The lowest index, whether the range is written ascending or descending.
    pub low: i32,
    /// The number of elements.
    pub elements: u32,
}

impl Signal {
    /// The path below the top: `fifo.words`, `lane[2].fifo.words`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Width in bits; for an array, of one element. It includes the packed dimensions.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The unpacked dimensions, outermost first; none for a plain signal.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns the position of an element in memory order, or `None` if the index does not fit.
    fn element(&self, index: &[i32]) -> Option<usize> {
        if index.len() != self.dimensions.len() {
            return None;
        }
        let mut element = 0usize;
        for (at, dimension) in index.iter().zip(&self.dimensions) {
            let offset = u32::try_from(i64::from(*at) - i64::from(dimension.low)).ok()?;
            if offset >= dimension.elements {
                return None;
            }
            element = element * dimension.elements as usize + offset as usize;
        }
        Some(element)
    }

    /// Formats the valid indices for an error message: `[0..=15][0..=3]`.
    fn ranges(&self) -> String {
        let range = |dimension: &Dimension| {
            let last = i64::from(dimension.low) + i64::from(dimension.elements) - 1;
            format!("[{}..={last}]", dimension.low)
        };
        match self.dimensions.as_slice() {
            [] => "none".to_owned(),
            list => list.iter().map(range).collect(),
        }
    }
}

/// Why a signal inside a model cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// No readable signal has this path.
    #[error("{model} has no readable signal `{path}`: {hint}")]
    Unknown {
        /// The model's name in Rust.
        model: &'static str,
        /// The requested path.
        path: String,
        /// The most similar path, or how to make signals readable.
        hint: String,
    },
    /// The signal belongs to another model, or to another build of this one.
    #[error("`{path}` was looked up in another model than {model}")]
    Model {
        /// The model's name in Rust.
        model: &'static str,
        /// The signal's path.
        path: String,
    },
    /// The index has a different number of dimensions than the array, or is out of range.
    #[error("`{path}` has no element {index:?}: its index is {ranges}")]
    Index {
        /// The signal's path.
        path: String,
        /// The requested index.
        index: Vec<i32>,
        /// The range of each dimension, or `none`.
        ranges: String,
    },
    /// The signal is wider than the type it is read as.
    #[error("`{path}` has {bits} bits, and is read as a type of {capacity}")]
    Width {
        /// The signal's path.
        path: String,
        /// Its width.
        bits: u32,
        /// The number of bits that the type can hold.
        capacity: u32,
    },
}

/// Returns all readable signals of a model, sorted by path.
pub(crate) fn all(readable: Vec<Readable>, model: u64) -> Vec<Signal> {
    let mut signals: Vec<Signal> = readable
        .into_iter()
        .enumerate()
        .map(|(number, readable)| Signal {
            path: written(&readable.path),
            bits: readable.bits,
            dimensions: (readable.lows.iter().zip(&readable.elements))
                .map(|(&low, &elements)| Dimension { low, elements })
                .collect(),
            model,
            number,
        })
        .collect();
    signals.sort_by(|a, b| a.path.cmp(&b.path));
    // Verilator lists a port in two scopes.
    signals.dedup_by(|a, b| a.path == b.path);
    signals
}

/// Converts a path to the spelling of the source. Verilator replaces some characters in names.
fn written(path: &str) -> String {
    path.replace("__DOT__", ".")
        .replace("__BRA__", "[")
        .replace("__KET__", "]")
}

/// Finds the signal with a path.
pub(crate) fn find(
    signals: Vec<Signal>,
    model: &'static str,
    path: &str,
) -> Result<Signal, SignalError> {
    let hint = match nearest(&signals, path) {
        Some(signal) => format!("did you mean `{}`?", signal.path),
        None => {
            "its build script makes none readable; say `.readable(\"module\", \"signal\")` there"
                .to_owned()
        }
    };
    (signals.into_iter().find(|signal| signal.path == path)).ok_or(SignalError::Unknown {
        model,
        path: path.to_owned(),
        hint,
    })
}

fn nearest<'a>(signals: &'a [Signal], path: &str) -> Option<&'a Signal> {
    let similarity = |signal: &&Signal| strsim::jaro_winkler(&signal.path, path);
    signals
        .iter()
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
}

/// Reads one element.
pub(crate) fn read<B: PortBits>(
    core: &Core,
    model: (&'static str, u64),
    signal: &Signal,
    index: &[i32],
) -> Result<B, SignalError> {
    let path = || signal.path.clone();
    if signal.model != model.1 {
        return Err(SignalError::Model {
            model: model.0,
            path: path(),
        });
    }
    if signal.bits > B::CAPACITY {
        return Err(SignalError::Width {
            path: path(),
            bits: signal.bits,
            capacity: B::CAPACITY,
        });
    }
    let element = (signal.element(index)).ok_or_else(|| SignalError::Index {
        path: path(),
        index: index.to_vec(),
        ranges: signal.ranges(),
    })?;
    let mut value = B::ZERO;
    for low in (0..signal.bits).step_by(32) {
        let word = core.readable_word(signal.number, element, low / 32);
        value.set64(low, u64::from(u32::MAX), u64::from(word));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_counts_from_the_lowest_and_the_last_dimension_is_the_fastest() {
        let signal = Signal {
            path: "a".to_owned(),
            bits: 8,
            dimensions: vec![
                Dimension {
                    low: -1,
                    elements: 3,
                },
                Dimension {
                    low: 4,
                    elements: 2,
                },
            ],
            model: 0,
            number: 0,
        };
        assert_eq!(signal.element(&[-1, 4]), Some(0));
        assert_eq!(signal.element(&[1, 5]), Some(5));
        for wrong in [
            &[2, 4][..],
            &[-2, 4],
            &[0, 6],
            &[0],
            &[0, 4, 0],
            &[i32::MIN, 4],
        ] {
            assert_eq!(signal.element(wrong), None, "{wrong:?}");
        }
        assert_eq!(signal.ranges(), "[-1..=1][4..=5]");
    }

    #[test]
    fn paths_are_written_as_in_the_source() {
        assert_eq!(written("g__BRA__0__KET__.m__DOT__q"), "g[0].m.q");
    }
}
