//! Why a layout cannot be created for a file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::hierarchy::Entry;

/// The maximum number of signal names in a message.
const MOST_NAMES: usize = 12;

/// Why a layout cannot be created for a file.
#[derive(Debug, Error)]
pub enum Error {
    /// The wave file cannot be opened.
    #[error("{}: cannot be opened: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The wave file cannot be read.
    #[error("{}: is no FST file that can be read: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reader's error.
        problem: String,
    },
    /// Signals of the layout are not in the file.
    #[error(
        "{}: has no signal {}; its outermost scopes are {}",
        path.display(), list(signals), list(scopes)
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// All missing signals.
        signals: Vec<String>,
        /// The outermost scopes of the file.
        scopes: Vec<String>,
    },
    /// The layout cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn missing(
        path: &Path,
        signals: Vec<String>,
        there: &BTreeMap<String, Entry>,
    ) -> Self {
        let mut scopes: Vec<String> = there
            .keys()
            .filter_map(|path| path.split_once('.'))
            .map(|(scope, _)| scope.to_owned())
            .collect();
        scopes.dedup();
        Self::Missing {
            path: path.to_owned(),
            signals,
            scopes,
        }
    }
}

fn list(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(MOST_NAMES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.is_empty() {
        text += "none";
    }
    if names.len() > MOST_NAMES {
        text += &format!(" and {} more", names.len() - MOST_NAMES);
    }
    text
}
