//! Where coverage counts go, and errors of writing them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that names a folder for the counts of every instance.
const FOLDER: &str = "VERILATED_COVERAGE";

/// Returns the file to which an instance writes its counts when it ends, in the folder that `VERILATED_COVERAGE`
/// names. `None` without that variable.
pub(crate) fn file(model: &str) -> Option<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    Some(Path::new(&folder).join(format!("{model}-{process}-{number}.dat")))
}

/// Why coverage counts were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoverageError {
    /// The model was not built for coverage.
    #[error("{model} was not built for coverage: build with the feature `coverage`")]
    NotBuilt {
        /// The model.
        model: &'static str,
    },
    /// The file cannot be written.
    #[error("cannot write coverage to `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}
