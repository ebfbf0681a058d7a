//! The folder of a run's results, `out/<name>/`, and the files in it that programs read.
//!
//! | file | what is in it |
//! |---|---|
//! | `summary.json` | [`Summary`]: settings, digest, expectations, metrics |
//! | `series.csv` | every line of every chart, a column each, by time |
//! | `report.html` | [`Report::html`]: the same for people |
//! | `goodput.svg` | the first chart |
//!
//! A file is written beside its place and then moved there, so nobody reads half of it. The summary lists the files of
//! its run; the next run in the folder removes them first, and no others.

mod error;
mod series;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::report::{Chart, Report, State, Summary};

pub use error::{Error, Result};

/// Name of the summary's file.
pub const SUMMARY: &str = "summary.json";
/// Name of the file with values over time.
pub const SERIES: &str = "series.csv";
/// Name of the page.
pub const REPORT: &str = "report.html";

/// Name of the capture of a run's frames.
pub const CAPTURE: &str = "capture.pcapng";
/// Name of the first chart's picture.
pub const PICTURE: &str = "goodput.svg";

/// Whether a text is the name of a file or folder, and no path.
fn is_plain(name: &str) -> bool {
    let bad = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    !name.is_empty() && !name.starts_with('.') && !name.contains(bad)
}

/// A folder for the results of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutDir {
    path: PathBuf,
}

impl OutDir {
    /// Makes `root`/`name` unless it is there. Files of an earlier run in it are removed, as its summary lists them;
    /// other files stay.
    ///
    /// # Errors
    ///
    /// `name` is not a name of one folder; the folder cannot be made.
    pub fn create(root: impl AsRef<Path>, name: &str) -> Result<Self> {
        if !is_plain(name) {
            return Err(Error::Name(name.into()));
        }
        let path = root.as_ref().join(name);
        if let Err(source) = std::fs::create_dir_all(&path) {
            return Err(Error::Folder { path, source });
        }
        let this = Self { path };
        this.remove_earlier()?;
        Ok(this)
    }

    /// Removes the files of an earlier run, the summary last.
    fn remove_earlier(&self) -> Result<()> {
        let text = std::fs::read(self.file(SUMMARY)).unwrap_or_default();
        let Ok(earlier) = serde_json::from_slice::<Summary>(&text) else {
            return Ok(());
        };
        // Summaries of version 1 list no files.
        let always = [SERIES, REPORT, PICTURE, CAPTURE].map(String::from);
        let files = always
            .into_iter()
            .chain(earlier.files)
            .chain([SUMMARY.into()]);
        for file in files
            .filter(|file| is_plain(file))
            .map(|file| self.file(&file))
        {
            match std::fs::remove_file(&file) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::File { path: file, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Says in the summary that a run has begun here, and which files it may write.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn begin(&self, scenario: &str, files: &[String]) -> Result<PathBuf> {
        self.write_summary(&Summary {
            scenario: scenario.into(),
            state: State::Running,
            files: files.into(),
            ..Summary::default()
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of it is, for those that grow during the run: captures and waves.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `series.csv`, `goodput.svg` (the first chart), `report.html` and last `summary.json`, which lists those of
    /// its files that are there; says where the page is.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_all(&self, report: &Report) -> Result<PathBuf> {
        self.write_series(&report.charts)?;
        if let Some(first) = report.charts.first() {
            self.write_chart(PICTURE, first)?;
        }
        let page = self.write_report(report)?;
        let mut summary = report.summary.clone();
        summary
            .files
            .retain(|file| file == SUMMARY || self.file(file).exists());
        self.write_summary(&summary)?;
        Ok(page)
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
