//! The journal of a regression: its plan in the first line, then a line for each finished item. It is what a killed
//! regression continues from, and what parts are merged from.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::arguments::Shard;
use super::plan::{Plan, VERSION};
use super::report::in_shard;
use xoff::{text_file, whole_file};

/// Name of the journal in the folder of results.
pub const JOURNAL: &str = "journal.jsonl";
/// Name of the file that is locked while a journal is written. The journal itself is replaced, and a lock with it.
const LOCK: &str = "journal.lock";

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
    /// The kept case of a unit, in the folder `cases` beside the journal: `pfc/1f2e3d4c.case`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<String>,
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
    /// Whether it is a difference from a baseline, which the item alone does not have.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub of_baseline: bool,
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
    /// Another process writes to the folder.
    #[error(
        "{}: another xoff regress writes its results there: wait for its end, or give another folder with --out",
        folder.display()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
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

/// Reads the journal of a folder. A last line without its end, which a killed process leaves behind, is passed over. Of
/// several lines about an item the last one counts.
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
    let mut places = HashMap::new();
    let mut finished: Vec<Finished> = Vec::new();
    for (at, line) in lines {
        let entry: Finished = serde_json::from_str(line)
            .map_err(|error| wrong(at + 1, format!("not a finished item: {error}")))?;
        if !names.contains(&entry.item) {
            return Err(wrong(
                at + 1,
                format!("the plan has no item '{}'", entry.item),
            ));
        }
        match places.get(&entry.item) {
            Some(&place) => finished[place] = entry,
            None => {
                places.insert(entry.item.clone(), finished.len());
                finished.push(entry);
            }
        }
    }
    Ok(Recorded { plan, finished })
}

/// A journal that is being written.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Locked as long as it is open.
    _lock: File,
}

/// An opened journal.
pub struct Opened {
    /// The journal.
    pub journal: Journal,
    /// The items that have finished before.
    pub finished: Vec<Finished>,
    /// Why the results that were in the folder do not count, if they do not.
    pub anew: Option<String>,
}

impl Journal {
    /// Opens the journal of a folder for a part of a plan, or begins one: also where all items of the part have
    /// finished, and where the program or a scenario was another one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written, is invalid, or is of other items or settings, or if another
    /// process writes to it.
    pub fn open(
        folder: &Path,
        plan: &Plan,
        shard: Shard,
        restart: bool,
    ) -> Result<Opened, JournalError> {
        let lock = lock(folder)?;
        let path = folder.join(JOURNAL);
        // A process that was killed at once may leave an empty journal or a part of the first line.
        let begun = fs::read(&path).is_ok_and(|bytes| bytes.contains(&b'\n'));
        let (mut finished, mut anew) = (Vec::new(), None);
        if begun && !restart {
            let recorded = read(folder)?;
            if !plan.same_work(&recorded.plan) {
                return Err(JournalError::Other { path });
            }
            let known: HashSet<&String> = recorded.finished.iter().map(|it| &it.item).collect();
            let mut part = (plan.items.iter().enumerate())
                .filter(|(at, _)| in_shard(*at, Some(shard)))
                .map(|(_, item)| item);
            anew = plan.change_since(&recorded.plan);
            if anew.is_none() && part.all(|item| known.contains(item)) {
                anew = Some("of a regression that has finished".into());
            }
            if anew.is_none() {
                finished = recorded.finished;
            }
        }
        let journal = write_locked(lock, folder, plan, &finished)?;
        Ok(Opened {
            journal,
            finished,
            anew,
        })
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
///
/// # Errors
///
/// Returns an error if the file cannot be written, or if another process writes to it.
pub fn write(folder: &Path, plan: &Plan, finished: &[Finished]) -> Result<Journal, JournalError> {
    write_locked(lock(folder)?, folder, plan, finished)
}

/// Creates a folder for results, and locks it for this process until the file is closed.
fn lock(folder: &Path) -> Result<File, JournalError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| JournalError::Io { path, source }
    };
    if folder.exists() && !folder.is_dir() {
        let text = "a file; a folder for results is needed";
        return Err(io(folder)(io::Error::new(ErrorKind::NotADirectory, text)));
    }
    fs::create_dir_all(folder).map_err(io(folder))?;
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // A file system without locks has none for others either.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(JournalError::Busy {
            folder: folder.to_owned(),
        }),
        Err(error) => Err(io(&path)(error.into())),
    }
}

fn write_locked(
    lock: File,
    folder: &Path,
    plan: &Plan,
    finished: &[Finished],
) -> Result<Journal, JournalError> {
    let path = folder.join(JOURNAL);
    let io = |source| JournalError::Io {
        path: path.clone(),
        source,
    };
    let mut text = serde_json::to_string(plan).expect("plain data") + "\n";
    for entry in finished {
        text += &serde_json::to_string(entry).expect("plain data");
        text.push('\n');
    }
    whole_file::write(&path, text).map_err(io)?;
    let file = OpenOptions::new().append(true).open(&path).map_err(io)?;
    Ok(Journal {
        path,
        file,
        _lock: lock,
    })
}
