//! Waves: where they go and what can go wrong.

use std::path::{Path, PathBuf};

/// How waves are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// Compressed, indexed; GTKWave and Surfer read it.
    Fst,
}

/// Why waves could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A file name that says nothing of its format.
    #[error(
        "cannot tell the wave format of `{path}` from its name: end it in .fst or .vcd, or name the format"
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// A name that C cannot take.
    #[error("wave file `{path}` is not named in UTF-8")]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made.
    #[error("cannot write waves of `{instance}` to `{path}`: {source}")]
    File {
        /// The instance.
        instance: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl TraceFormat {
    /// By the ending of the name.
    ///
    /// # Errors
    ///
    /// [`TraceError::Format`] for other endings.
    pub fn of(path: &Path) -> Result<TraceFormat, TraceError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("fst") => Ok(TraceFormat::Fst),
            _ => Err(TraceError::Format {
                path: path.to_owned(),
            }),
        }
    }
}
