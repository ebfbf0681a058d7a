//! Wave files: formats, errors, free disk space and completion.

use std::path::{Path, PathBuf};

/// The format of a wave file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// Compressed and indexed; the best format for viewers.
    Fst,
    /// Plain text that every tool reads, but many times larger. It is written when the file is closed; until then an
    /// FST file lies beside it, with `.fst` added to the name.
    Vcd,
}

/// Why waves could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file extension does not select a format.
    #[error(
        "cannot tell the wave format of `{path}` from its name: end it in .fst or .vcd, or name the format"
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The model was built without waves.
    #[error(
        "{model} was built without waves: remove `without_waves` from its entry in the table of tops"
    )]
    NotBuilt {
        /// The model.
        model: &'static str,
    },
    /// The name is not UTF-8 and cannot be passed to C++.
    #[error("wave file `{path}` is not named in UTF-8")]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created or completed, or its disk is nearly full.
    #[error("cannot write waves of `{instance}` to `{path}`: {source}")]
    File {
        /// The instance.
        instance: String,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

impl TraceFormat {
    /// Returns the format for the extension of a file name.
    ///
    /// # Errors
    ///
    /// [`TraceError::Format`] for other extensions.
    pub fn of(path: &Path) -> Result<TraceFormat, TraceError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("fst") => Ok(TraceFormat::Fst),
            Some("vcd") => Ok(TraceFormat::Vcd),
            _ => Err(TraceError::Format {
                path: path.to_owned(),
            }),
        }
    }
}

/// Bytes that must be free on a disk with waves.
///
/// Verilator's writer does not report failed writes. It also maps files into memory, and on a full disk their pages
/// may not exist, which ends the process (SIGBUS). It buffers up to 128 MiB of changes, which is some tens of MB once
/// compressed, and keeps its hierarchy of names in a file beside the waves until they are closed.
const ROOM_BYTES: u64 = 64 << 20;
/// The folder in which the C library's `tmpfile` puts the writer's tables.
const TEMPORARY: &str = "/tmp";

/// Fails if there is too little room to continue and complete the waves in `path`.
pub(crate) fn room(path: &Path) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    for place in [folder, Path::new(TEMPORARY)] {
        let disk = rustix::fs::statvfs(place)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < ROOM_BYTES {
            let text = format!(
                "{} MB are left on the disk of {}, and waves need {} MB to be ended whole",
                free / 1_000_000,
                place.display(),
                ROOM_BYTES / 1_000_000
            );
            return Err(std::io::Error::new(std::io::ErrorKind::StorageFull, text));
        }
    }
    Ok(())
}

/// A wave file that is being written.
#[derive(Debug)]
pub(crate) struct OpenTrace {
    /// The path that the user asked for.
    pub path: PathBuf,
    /// The file that Verilator writes, if it is a different one.
    pub interim: Option<PathBuf>,
}

impl OpenTrace {
    pub fn new(path: &Path, format: TraceFormat) -> OpenTrace {
        let interim = (format == TraceFormat::Vcd).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".fst");
            PathBuf::from(name)
        });
        OpenTrace {
            path: path.to_owned(),
            interim,
        }
    }

    /// Returns the file that Verilator writes.
    pub fn written(&self) -> &Path {
        self.interim.as_deref().unwrap_or(&self.path)
    }

    /// Produces the requested file, after Verilator closed its own.
    pub fn finish(self) -> std::io::Result<()> {
        let Some(interim) = self.interim else {
            // The writer does not report whether all data has reached the disk.
            let file = std::io::BufReader::new(std::fs::File::open(&self.path)?);
            let whole = fst_reader::FstReader::open(file);
            return whole.map(drop).map_err(std::io::Error::other);
        };
        crate::vcd::convert(&interim, &self.path)?;
        std::fs::remove_file(interim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_format() {
        assert_eq!(
            TraceFormat::of(Path::new("a/b.fst")).ok(),
            Some(TraceFormat::Fst)
        );
        assert_eq!(
            TraceFormat::of(Path::new("b.vcd")).ok(),
            Some(TraceFormat::Vcd)
        );
        let text = TraceFormat::of(Path::new("b.txt")).unwrap_err().to_string();
        assert_eq!(
            text,
            "cannot tell the wave format of `b.txt` from its name: end it in .fst or .vcd, or name the format"
        );
    }
}
