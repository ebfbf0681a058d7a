//! Errors of writing coverage counts.

use std::path::PathBuf;

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
