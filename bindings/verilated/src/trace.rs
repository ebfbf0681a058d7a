//! Waves: where they go and what can go wrong.

use std::path::{Path, PathBuf};

/// How waves are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// Compressed and indexed: what viewers like best.
    Fst,
    /// Plain text, read by everything, many times larger. It is written when the file is closed; until then an FST file lies
    /// beside it, with `.fst` added to the name.
    Vcd,
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
            Some("vcd") => Ok(TraceFormat::Vcd),
            _ => Err(TraceError::Format {
                path: path.to_owned(),
            }),
        }
    }
}

/// What must be free on a disk with waves. Verilator's writer says nothing of a write that failed, and maps files into
/// memory whose pages may not exist then, which ends the process (SIGBUS). It holds back up to 128 MiB of changes, some
/// tens of MB once compressed, and its hierarchy of names lies in a file beside the waves until they are closed.
const ROOM_BYTES: u64 = 64 << 20;
/// Where the C library's `tmpfile` puts the writer's tables.
const TEMPORARY: &str = "/tmp";

/// Whether waves in `path` can be written on and ended whole.
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
    /// What the user asked for.
    pub path: PathBuf,
    /// What Verilator writes to, if that is another file.
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

    /// The file that Verilator writes.
    pub fn written(&self) -> &Path {
        self.interim.as_deref().unwrap_or(&self.path)
    }

    /// After Verilator closed its file: makes what was asked for.
    pub fn finish(self) -> std::io::Result<()> {
        let Some(interim) = self.interim else {
            // The writer does not say whether all of it has reached the disk.
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
