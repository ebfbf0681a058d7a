//! Coverage counts: what can go wrong when they are written.

use std::path::PathBuf;

/// Why coverage counts were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoverageError {
    /// The model counts nothing.
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
        /// What the system said.
        source: std::io::Error,
    },
}
