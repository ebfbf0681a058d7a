//! Failing cases as files.
//!
//! ```text
//! # xoff case of parser
//! # verdict: RTL roce_v2, reference malformed
//! frame gap=0 stutter=0x0 0180c2000001…
//! ```
//!
//! The first line names the unit, the others with `#` are for people, the rest is the case, an event a line. Files in the folder `cases/<unit>/` run
//! before anything else is drawn, so what failed once is tried first from then on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Disagreement, Property};

const FIRST_LINE: &str = "# xoff case of ";

/// A file that is no case.
#[derive(Debug, Error)]
pub enum CaseFileError {
    /// It cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not begin as a case does.
    #[error("{}: line 1 is '{found}'; a case begins with '{FIRST_LINE}UNIT'", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line.
        found: String,
    },
    /// A line is not what it should be.
    #[error("{}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// What a line should have been.
        what: String,
    },
}

/// Writes a case to `folder/<unit>/<digest>.case` and returns the path. The same case gets the same name.
///
/// # Errors
///
/// The file cannot be written.
pub fn keep<P: Property>(
    folder: &Path,
    case: &P::Case,
    disagreement: &Disagreement,
) -> Result<PathBuf, CaseFileError> {
    let lines = P::write(case).join("\n");
    let folder = folder.join(P::UNIT);
    let path = folder.join(format!("{:08x}.case", crc32fast::hash(lines.as_bytes())));
    let said: String = disagreement
        .lines()
        .map(|line| format!("# {line}\n"))
        .collect();
    let text = format!("{FIRST_LINE}{}\n{said}{lines}\n", P::UNIT);
    (fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text))).map_err(|source| {
        CaseFileError::Io {
            path: path.clone(),
            source,
        }
    })?;
    Ok(path)
}

/// The unit that a file is a case of.
///
/// # Errors
///
/// The file cannot be read, or is no case.
pub fn unit_of(path: &Path) -> Result<String, CaseFileError> {
    let text = read_text(path)?;
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix(FIRST_LINE) {
        Some(unit) => Ok(unit.trim().to_owned()),
        None => Err(CaseFileError::Foreign {
            path: path.to_owned(),
            found: first.chars().take(60).collect(),
        }),
    }
}

/// Reads a case.
///
/// # Errors
///
/// The file cannot be read, or a line is not what it should be.
pub fn read<P: Property>(path: &Path) -> Result<P::Case, CaseFileError> {
    let text = read_text(path)?;
    let lines: Vec<_> = (text.lines())
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .collect();
    P::read(&lines).map_err(|what| CaseFileError::Line {
        path: path.to_owned(),
        what,
    })
}

/// The kept cases of a unit, in the order of their names; none if the folder does not exist.
///
/// # Errors
///
/// The folder cannot be read.
pub fn kept<P: Property>(folder: &Path) -> Result<Vec<PathBuf>, CaseFileError> {
    let folder = folder.join(P::UNIT);
    let in_folder = |source| CaseFileError::Io {
        path: folder.clone(),
        source,
    };
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(in_folder)?,
    };
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(in_folder)?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "case"));
    paths.sort();
    Ok(paths)
}

fn read_text(path: &Path) -> Result<String, CaseFileError> {
    fs::read_to_string(path).map_err(|source| CaseFileError::Io {
        path: path.to_owned(),
        source,
    })
}
