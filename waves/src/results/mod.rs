//! The folder of a run's results, `out/<name>/`, and the files in it that programs read.
//!
//! | file | what is in it |
//! |---|---|
//! | `summary.json` | [`Summary`]: settings, digest, expectations, metrics |
//! | `series.csv` | every line of every chart, a column each, by time |
//! | `report.html` | [`Report::html`]: the same for people |
//!
//! A file is written beside its place and then moved there, so whoever reads it never sees half of it, and a run that fails leaves the one before.

mod error;
mod series;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::report::{Chart, Report, Summary};

pub use error::{Error, Result};

/// Name of the summary's file.
pub const SUMMARY: &str = "summary.json";
/// Name of the file with values over time.
pub const SERIES: &str = "series.csv";
/// Name of the page.
pub const REPORT: &str = "report.html";

/// A folder for the results of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutDir {
    path: PathBuf,
}

impl OutDir {
    /// Makes `root`/`name` unless it is there. Files of an earlier run stay until they are written anew.
    ///
    /// # Errors
    ///
    /// `name` is not a name of one folder; the folder cannot be made.
    pub fn create(root: impl AsRef<Path>, name: &str) -> Result<Self> {
        let bad = name.is_empty()
            || name.starts_with('.')
            || name.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control());
        if bad {
            return Err(Error::Name(name.into()));
        }
        let path = root.as_ref().join(name);
        match std::fs::create_dir_all(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(Error::Folder { path, source }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of it is, for those that grow during the run: captures and waves.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `summary.json`, `series.csv` and `report.html`; says where the page is.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_all(&self, report: &Report) -> Result<PathBuf> {
        self.write_summary(&report.summary)?;
        self.write_series(&report.charts)?;
        self.write_report(report)
    }

    /// Writes `summary.json`. What is no finite number is `null` in it, as JSON has no word for it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<PathBuf> {
        self.write(SUMMARY, |file| {
            serde_json::to_writer_pretty(&mut *file, summary)?;
            writeln!(file)
        })
    }

    /// Writes `series.csv`: a row for each time at which anything has a value, `time_ns` first. Lines have a column each, named
    /// `chart: line (unit)`; so have rows of states, 1 from their start and 0 from their end. No value at that time is an empty field.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_series(&self, charts: &[Chart]) -> Result<PathBuf> {
        self.write(SERIES, |file| series::write(file, charts))
    }

    /// Writes `report.html`.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_report(&self, report: &Report) -> Result<PathBuf> {
        self.write(REPORT, |file| file.write_all(report.html().as_bytes()))
    }

    /// Writes a chart as a picture of its own; `name` ends in `.svg`.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_chart(&self, name: &str, chart: &Chart) -> Result<PathBuf> {
        self.write(name, |file| file.write_all(chart.svg().as_bytes()))
    }

    /// Writes any file whole: `content` fills a file beside it, which then takes its place.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or `content` says so.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf> {
        let path = self.file(name);
        match write_whole(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::File { path, source }),
        }
    }
}

/// Fills a file beside `path` and moves it there.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".xoff-");
    // A result is for everybody whom the umask lets; temporary files are not.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    let mut buffer = BufWriter::new(file);
    content(&mut buffer)?;
    let file = buffer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}
