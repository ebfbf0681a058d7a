//! Why results could not be written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why results could not be written.
#[derive(Debug, Error)]
pub enum Error {
    /// The folder cannot be created.
    #[error("{}: the folder for results cannot be made: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another run writes to the folder.
    #[error("{}: another run writes its results there: wait for its end, or give another folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The name cannot be the name of a folder.
    #[error(
        "{0:?} cannot be the name of a folder of results: one without /, \\, :, control characters or a leading dot can, such as \"livelock\""
    )]
    Name(String),
}

/// The result of writing.
pub type Result<T> = std::result::Result<T, Error>;
