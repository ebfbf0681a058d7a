//! The folder of a run's results, `out/<name>/`, and its files that programs read.
//!
//! | file | contents |
//! |---|---|
//! | `summary.json` | [`Summary`]: settings, digest, expectations, metrics |
//! | `series.csv` | every value of every line of every chart, as a row |
//! | `flows.csv` | a row for each message, or each flow of a workload: when it began and ended, and its slowdown |
//! | `metrics.csv` | a row for each metric, with its unit in a column of its own |
//! | `spans.csv` | the spans of charts that have them: when each port was paused |
//! | `servers.csv` | with a watch over servers, a row for each interval of a server in which it was not quiet |
//! | `recorded.toml` | of a run with a policy: the scenario with its changes as events |
//! | `report.html` | [`Report::html`]: the same for people |
//! | `goodput.svg` | the first chart |
//!
//! Each file is written under another name in the same folder and then renamed, so that no reader sees half of it.
//! The summary lists the files of its run. The next run in the folder removes them first, along with any files of the
//! names above and a `capture.pcapng`, and leaves all others.

mod error;
mod flows;
mod metrics;
mod series;
mod servers;
mod spans;

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::report::{Chart, Report, State, Summary};

pub use error::{Error, Result};

/// The name of the summary.
pub const SUMMARY: &str = "summary.json";
/// The name of the file with values over time.
pub const SERIES: &str = "series.csv";
/// The name of the file with messages.
pub const FLOWS: &str = "flows.csv";
/// The name of the file with metrics.
pub const METRICS: &str = "metrics.csv";
/// The name of the file with spans of time.
pub const SPANS: &str = "spans.csv";
/// The name of the file with servers, interval by interval.
pub const SERVERS: &str = "servers.csv";
/// The name of the scenario with the changes of a policy as events.
pub const RECORDED: &str = "recorded.toml";
/// The name of the page.
pub const REPORT: &str = "report.html";

/// The name of the capture of a run's frames.
pub const CAPTURE: &str = "capture.pcapng";
/// The name of the first chart's picture.
pub const PICTURE: &str = "goodput.svg";

/// Returns whether a text is the name of a file or folder rather than a path.
fn is_plain(name: &str) -> bool {
    let bad = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    !name.is_empty() && !name.starts_with('.') && !name.contains(bad)
}

/// A folder for the results of one run. While this exists, no other run can have the folder.
#[derive(Debug)]
pub struct OutDir {
    path: PathBuf,
    /// The folder itself, locked. A file system that has no locks has none for others either.
    _lock: File,
}

impl OutDir {
    /// Creates `root`/`name` unless it exists, and locks it.
    ///
    /// If the folder has the summary of an earlier run, removes that run's files: those that the summary lists, those
    /// with the fixed names of this module, and the summary itself. Other files stay.
    ///
    /// # Errors
    ///
    /// Fails if `name` is not the name of a single folder, if the folder cannot be created, or if another run has it.
    pub fn create(root: impl AsRef<Path>, name: &str) -> Result<Self> {
        if !is_plain(name) {
            return Err(Error::Name(name.into()));
        }
        let path = root.as_ref().join(name);
        let made = std::fs::create_dir_all(&path).and_then(|()| File::open(&path));
        let lock = match made {
            Ok(folder) => folder,
            Err(source) => return Err(Error::Folder { path, source }),
        };
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Error::Busy { path });
        }
        let this = Self { path, _lock: lock };
        this.remove_earlier()?;
        Ok(this)
    }

    /// Removes the files of an earlier run, with the summary last.
    fn remove_earlier(&self) -> Result<()> {
        let text = std::fs::read(self.file(SUMMARY)).unwrap_or_default();
        let Ok(earlier) = serde_json::from_slice::<Summary>(&text) else {
            return Ok(());
        };
        // Summaries of version 1 list no files, so the standard ones are always removed.
        let always = [
            SERIES, FLOWS, METRICS, SPANS, SERVERS, REPORT, PICTURE, CAPTURE,
        ]
        .map(String::from);
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

    /// Writes a summary that says that a run has begun here, and which files it may write.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn begin(&self, scenario: &str, files: &[String]) -> Result<PathBuf> {
        self.write_summary(&Summary {
            scenario: scenario.into(),
            state: State::Running,
            files: files.into(),
            ..Summary::default()
        })
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in the folder, for files that grow during the run: captures and waves.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `series.csv`, `flows.csv`, `metrics.csv`, `spans.csv` if a chart has any, `servers.csv` if servers were
    /// watched, `goodput.svg` (the first chart), `report.html` and finally `summary.json`, and returns the path of the
    /// page.
    ///
    /// Of the summary's files, those that do not exist are left out.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write_all(&self, report: &Report) -> Result<PathBuf> {
        self.write_series(&report.charts)?;
        self.write(FLOWS, |file| flows::write(file, &report.messages))?;
        self.write(METRICS, |file| {
            metrics::write(file, &report.summary.metrics)
        })?;
        if is_written(SPANS, report) {
            self.write_spans(&report.charts)?;
        }
        if let Some(servers) = &report.summary.servers {
            self.write(SERVERS, |file| servers::write(file, &servers.rows))?;
        }
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

    /// Writes `summary.json`. Numbers that are not finite become `null`, because JSON cannot express them.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<PathBuf> {
        self.write(SUMMARY, |file| {
            serde_json::to_writer_pretty(&mut *file, summary)?;
            writeln!(file)
        })
    }

    /// Writes `series.csv`, with one row for each value of each line: `chart`, `line`, `unit`, `time_ns`, `mean`,
    /// `least` and `greatest`.
    ///
    /// A value that is not finite has an empty field, and so has a limit where a line has no ranges.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_series(&self, charts: &[Chart]) -> Result<PathBuf> {
        self.write(SERIES, |file| series::write(file, charts))
    }

    /// Writes `spans.csv`, with one row for each span of each chart's bands: `chart`, `row`, `from_ns` and `to_ns`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_spans(&self, charts: &[Chart]) -> Result<PathBuf> {
        self.write(SPANS, |file| spans::write(file, charts))
    }

    /// Writes `report.html`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_report(&self, report: &Report) -> Result<PathBuf> {
        self.write(REPORT, |file| file.write_all(report.html().as_bytes()))
    }

    /// Writes a chart as a separate picture; `name` ends in `.svg`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_chart(&self, name: &str, chart: &Chart) -> Result<PathBuf> {
        self.write(name, |file| file.write_all(chart.svg().as_bytes()))
    }

    /// Writes any file as a whole: `content` fills a temporary file beside it, which is then renamed.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written or `content` fails.
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

/// Whether a run writes a file that it lists: some are there only if there is something to write.
pub fn is_written(file: &str, report: &Report) -> bool {
    match file {
        SPANS => report.charts.iter().any(|chart| !chart.bands.is_empty()),
        SERVERS => report.summary.servers.is_some(),
        PICTURE => !report.charts.is_empty(),
        _ => true,
    }
}

/// Fills a temporary file beside `path` and renames it to `path`.
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
    // Results should be readable as the umask permits, but temporary files are private by default.
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
