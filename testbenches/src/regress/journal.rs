//! The journal of a regression: its plan in the first line, then a line for each finished item. It is what a killed
//! regression continues from, and what parts are merged from.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::plan::{Plan, VERSION};
use crate::text_file;

/// Name of the journal in the folder of results.
pub const JOURNAL: &str = "journal.jsonl";

/// A finished item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The item's name.
    pub item: String,
    /// Why it failed; `None` if it did not.
    pub failure: Option<Failure>,
    /// Digest of a scenario's run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
    /// The command that repeats it.
    pub repeat: String,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Why an item failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The cause in a line, without the numbers of this failure: failures of the same cause are counted together.
    pub cause: String,
    /// What was seen.
    pub detail: String,
}

/// A journal that cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}, line {line}: {problem}; --restart begins anew", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The folder has results of another regression.
    #[error(
        "{}: of a regression with other seeds, items or settings; --restart discards it, another --out keeps it",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
    },
}

/// The contents of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The plan.
    pub plan: Plan,
    /// The finished items, in the order in which they finished.
    pub finished: Vec<Finished>,
}

/// Reads the journal of a folder. A last line without its end, which a killed process leaves behind, is passed over.
///
/// # Errors
///
/// Returns an error if there is none, or if a line is invalid.
pub fn read(folder: &Path) -> Result<Recorded, JournalError> {
    let path = folder.join(JOURNAL);
    let text = text_file::read(&path).map_err(|source| JournalError::Io {
        path: path.clone(),
        source,
    })?;
    let wrong = |line: usize, problem: String| JournalError::Line {
        path: path.clone(),
        line,
        problem,
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().enumerate();
    let Some((_, first)) = lines.next() else {
        return Err(wrong(
            1,
            "expected the plan of a regression, found the end".into(),
        ));
    };
    // Checked before the rest, because another version may have other keys.
    let header: serde_json::Value = serde_json::from_str(first)
        .map_err(|error| wrong(1, format!("not the plan of a regression: {error}")))?;
    match header.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => {
            let problem = format!("version {version}: this xoff reads version {VERSION}");
            return Err(wrong(1, problem));
        }
        None => return Err(wrong(1, "not the plan of a regression".into())),
    }
    let plan: Plan = serde_json::from_value(header)
        .map_err(|error| wrong(1, format!("not the plan of a regression: {error}")))?;
    let names: HashSet<&String> = plan.items.iter().collect();
    let mut finished = Vec::new();
    for (at, line) in lines {
        let entry: Finished = serde_json::from_str(line)
            .map_err(|error| wrong(at + 1, format!("not a finished item: {error}")))?;
        if !names.contains(&entry.item) {
            return Err(wrong(
                at + 1,
                format!("the plan has no item '{}'", entry.item),
            ));
        }
        finished.push(entry);
    }
    Ok(Recorded { plan, finished })
}

/// A journal that is being written.
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal of a folder for a plan, or begins one. Returns the items that have finished before.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written, is invalid, or is that of another plan.
    pub fn open(
        folder: &Path,
        plan: &Plan,
        restart: bool,
    ) -> Result<(Self, Vec<Finished>), JournalError> {
        let path = folder.join(JOURNAL);
        let io = |source| JournalError::Io {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(folder).map_err(io)?;
        // A process that was killed at once may leave an empty journal or a part of the first line.
        let begun = fs::read(&path).is_ok_and(|bytes| bytes.contains(&b'\n'));
        let finished = if begun && !restart {
            let recorded = read(folder)?;
            if recorded.plan != *plan {
                return Err(JournalError::Other { path });
            }
            recorded.finished
        } else {
            Vec::new()
        };
        let journal = write(folder, plan, &finished)?;
        Ok((journal, finished))
    }

    /// Adds a finished item.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn add(&mut self, finished: &Finished) -> Result<(), JournalError> {
        let mut line = serde_json::to_string(finished).expect("plain data");
        line.push('\n');
        // In one call, so that a killed process leaves at most one incomplete line.
        (self.file.write_all(line.as_bytes())).map_err(|source| JournalError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

/// Writes a journal from its beginning, and replaces the one before only when it is complete.
pub fn write(folder: &Path, plan: &Plan, finished: &[Finished]) -> Result<Journal, JournalError> {
    let path = folder.join(JOURNAL);
    let io = |source| JournalError::Io {
        path: path.clone(),
        source,
    };
    fs::create_dir_all(folder).map_err(io)?;
    let mut text = serde_json::to_string(plan).expect("plain data") + "\n";
    for entry in finished {
        text += &serde_json::to_string(entry).expect("plain data");
        text.push('\n');
    }
    let draft = folder.join(format!("{JOURNAL}.new"));
    fs::write(&draft, text).map_err(io)?;
    fs::rename(&draft, &path).map_err(io)?;
    let file = OpenOptions::new().append(true).open(&path).map_err(io)?;
    Ok(Journal { path, file })
}
