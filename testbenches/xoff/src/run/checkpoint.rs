//! Checkpoints of runs: files with the whole state of a simulation and of its measurement, from which a run of the same
//! scenario goes on as if it had been simulated from the start.
//!
//! ```text
//! out/.checkpoints/6b0c6d1e2f3a4b5c/00000000029850000000.ckpt
//!                  content          time in ps
//! ```
//!
//! The folder is the hash of everything that the result depends on: the scenario with its seed, variant and settings,
//! and the content of the files that it names. Each file also says which build of the program wrote it: state of
//! another build is never read. A file is written under another name and renamed, so it is whole, and its checksum
//! finds what is damaged later.
//!
//! When [`Every::Auto`] is asked for, a checkpoint is taken only when it is cheap compared with what was simulated
//! before it (`COST`), and never in the first `FIRST`. Of more than `MOST` every second one is removed, so the gap
//! between two is at most a sixteenth of the run, however long that is.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration as RealTime, Instant, SystemTime};

use thiserror::Error;
use twox_hash::XxHash3_64;
use xoff_network::scenario::Scenario;
use xoff_network::{Endpoints, Observer, ObserverError, Run};
use xoff_sim::time::{Duration, Time};

use crate::whole_file;

/// Name of the folder of all checkpoints, in the folder of results.
pub const FOLDER: &str = ".checkpoints";
/// `XOFFCKP` and the version of the layout of a file.
const MAGIC: [u8; 8] = *b"XOFFCKP1";
/// Magic, program, content, time, bytes of the state, checksum.
const HEADER: usize = 6 * 8;
/// A run has no checkpoint before this real time has passed: repeating it costs no more.
const FIRST: RealTime = RealTime::from_millis(500);
/// Part of the real time of a run that its checkpoints may take.
const COST: f64 = 0.01;
/// The most checkpoints of a run; every second one is removed when there are more.
const MOST: usize = 32;
/// The most bytes of the checkpoints of a run.
const RUN_BYTES: u64 = 512 << 20;
/// The most bytes of the checkpoints of all runs; those that were not used for longest are removed.
const ALL_BYTES: u64 = 2 << 30;

/// When checkpoints are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Every {
    /// As often as their cost stays below a hundredth of the run.
    #[default]
    Auto,
    /// At the first sample behind each multiple of this simulated time.
    Interval(Duration),
    /// Never, and none is read.
    Off,
}

impl std::str::FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => match text.parse::<Duration>() {
                Ok(interval) if interval > Duration::ZERO => Ok(Self::Interval(interval)),
                _ => Err(format!(
                    "'{text}': expected auto, off, or a simulated time such as 1ms"
                )),
            },
        }
    }
}

/// Converts the state of a run to bytes.
///
/// # Errors
///
/// Part of the state cannot be saved: TCP, or a NIC of one's own whose device does not say that it can be.
pub fn save(run: &Run) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(run).map(|bytes| lz4_flex::compress_prepend_size(&bytes))
}

/// Restores the state that [`save`] returned, with the kinds of hosts of the program.
///
/// # Errors
///
/// The bytes are not a state that this program saved, or it is of NICs that the program does not have.
pub fn restore(bytes: &[u8], endpoints: &Endpoints) -> Result<Run, String> {
    let bytes = lz4_flex::decompress_size_prepended(bytes).map_err(|error| error.to_string())?;
    let mut run: Run = postcard::from_bytes(&bytes).map_err(|error| error.to_string())?;
    let attached = run.attach(endpoints);
    attached.map_err(|error| error.to_string())?;
    Ok(run)
}

/// Why a file is not a checkpoint that can be used.
#[derive(Debug, Error)]
pub enum Unusable {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It was written by another program.
    #[error("written by another build of xoff")]
    Program,
    /// It is something else, cut or changed.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct Checkpoints {
    all: PathBuf,
    folder: PathBuf,
    content: u64,
    program: OnceCell<u64>,
    every: Every,
    /// Times of the files in the folder, ascending, with their bytes. Empty until the first is due.
    written: Vec<(Time, u64)>,
    /// The last time of those that an earlier run of the same program wrote; they are of use for this one too.
    adopted: Time,
    /// The greatest real time between two checkpoints that [`Every::Auto`] asks for.
    gap: RealTime,
    started: Instant,
    last: Instant,
    /// Real time that checkpoints took, in all and the last one.
    spent: RealTime,
    last_cost: RealTime,
    next: Time,
    /// Whether writing has failed, or the state cannot be saved.
    given_up: bool,
}

impl Checkpoints {
    /// The checkpoints of a scenario, in a folder in `root`. Reads and creates nothing yet. `whole` is whether idle
    /// cycles are evaluated too, which counters of the state tell.
    pub fn new(root: &Path, scenario: &Scenario, whole: bool, every: Every) -> Self {
        let all = root.join(FOLDER);
        let content = content(scenario, whole);
        let now = Instant::now();
        Self {
            folder: all.join(format!("{content:016x}")),
            all,
            content,
            program: OnceCell::new(),
            every,
            written: Vec::new(),
            adopted: Time::ZERO,
            gap: FIRST,
            started: now,
            last: now,
            spent: RealTime::ZERO,
            last_cost: RealTime::ZERO,
            next: match every {
                Every::Interval(interval) => Time::ZERO + interval,
                Every::Auto | Every::Off => Time::ZERO,
            },
            given_up: every == Every::Off,
        }
    }

    /// Real time that was spent on taking checkpoints.
    pub const fn spent(&self) -> RealTime {
        self.spent
    }

    /// Whether a checkpoint was taken in this run.
    pub const fn any(&self) -> bool {
        !self.written.is_empty()
    }

    /// Identifies the running program: its length and when it was written, which no other build has in common. Hashing
    /// its content would take as long as several checkpoints.
    fn program(&self) -> u64 {
        *self.program.get_or_init(|| {
            let about = || -> io::Result<u64> {
                let about = fs::metadata(std::env::current_exe()?)?;
                let mut hash = XxHash3_64::new();
                hash.write_u64(about.len());
                hash.write_u128(nanos(about.modified()?));
                Ok(hash.finish())
            };
            // Without it no state is read: the process's own number and the time are those of no other run.
            about().unwrap_or_else(|_| {
                u64::from(std::process::id()) << 32 ^ nanos(SystemTime::now()) as u64
            })
        })
    }

    fn is_due(&mut self, now: Time) -> bool {
        match self.every {
            Every::Off => false,
            Every::Interval(interval) => {
                let due = now >= self.next;
                if due {
                    self.next = Time::ZERO + interval * (now.as_ps() / interval.as_ps() + 1);
                }
                due
            }
            Every::Auto => {
                let cost = (self.spent + self.last_cost).as_secs_f64();
                self.last.elapsed() >= self.gap
                    && cost <= COST * self.started.elapsed().as_secs_f64()
            }
        }
    }

    fn take(&mut self, run: &Run) -> Option<String> {
        let began = Instant::now();
        if self.written.is_empty()
            && let Err(error) = self.adopt()
        {
            return self.give_up(&error);
        }
        if self.every == Every::Auto && self.adopted >= run.now() {
            // The earlier run wrote as many as are wanted.
            self.last = began;
            return None;
        }
        let problem = match save(run) {
            Ok(bytes) => match self.write(run.now(), &bytes) {
                Ok(()) => None,
                Err(error) => self.give_up(&error),
            },
            // A NIC of one's own, or TCP: docs/own-nic.md and docs/scenarios.md say so.
            Err(_) if self.every == Every::Auto => {
                self.given_up = true;
                None
            }
            Err(error) => {
                let why = run
                    .simulation
                    .unsaved()
                    .map_or(error.to_string(), |why| why.to_string());
                Some(format!("--checkpoints: there are none: {why}"))
            }
        };
        self.given_up |= problem.is_some();
        self.last = Instant::now();
        self.last_cost = self.last - began;
        self.spent += self.last_cost;
        problem
    }

    fn give_up(&mut self, error: &io::Error) -> Option<String> {
        self.given_up = true;
        let folder = self.folder.display();
        Some(format!(
            "{folder}: {error}: this run keeps no more checkpoints"
        ))
    }

    fn write(&mut self, now: Time, state: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEADER + state.len());
        bytes.extend(MAGIC);
        let sum = XxHash3_64::oneshot(state);
        let length = state.len() as u64;
        for word in [self.program(), self.content, now.as_ps(), length, sum] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(state);
        whole_file::write(&self.file(now), &bytes)?;
        self.written.retain(|(time, _)| *time != now);
        self.written.push((now, bytes.len() as u64));
        self.written.sort_unstable();
        let size = |written: &[(Time, u64)]| written.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while self.written.len() > MOST || self.written.len() > 2 && size(&self.written) > RUN_BYTES
        {
            self.thin()?;
        }
        Ok(())
    }

    /// Removes every second checkpoint, and takes later ones half as often.
    fn thin(&mut self) -> io::Result<()> {
        let mut place = 0;
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        for &written in &self.written {
            place += 1;
            match place % 2 {
                0 => kept.push(written),
                _ => removed.push(written.0),
            }
        }
        self.written = kept;
        self.gap *= 2;
        for time in removed {
            fs::remove_file(self.file(time))?;
        }
        Ok(())
    }

    fn file(&self, time: Time) -> PathBuf {
        self.folder.join(format!("{:020}.ckpt", time.as_ps()))
    }

    /// Creates the folder unless it exists, removes what other programs left in it, and checkpoints of other runs if
    /// there are too many.
    fn adopt(&mut self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for (time, path) in files(&self.folder)? {
            let mut header = [0; HEADER];
            let read = fs::File::open(&path).and_then(|mut file| file.read_exact(&mut header));
            match read {
                Ok(()) if word(&header, 1) == self.program() => {
                    self.written.push((time, fs::metadata(&path)?.len()));
                    self.adopted = time;
                }
                _ => fs::remove_file(path)?,
            }
        }
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.all)? {
            let path = entry?.path();
            if path == self.folder || !path.is_dir() {
                continue;
            }
            let (mut bytes, mut used) = (0, SystemTime::UNIX_EPOCH);
            for (_, file) in files(&path)? {
                let about = fs::metadata(file)?;
                bytes += about.len();
                used = used.max(about.modified()?);
            }
            others.push((used, bytes, path));
        }
        others.sort();
        let mut bytes: u64 = others.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, of_run, path) in others {
            if bytes + RUN_BYTES <= ALL_BYTES {
                break;
            }
            bytes -= of_run;
            for (_, file) in files(&path)? {
                fs::remove_file(file)?;
            }
            // Stays if there is something else in it.
            let _ = fs::remove_dir(path);
        }
        Ok(())
    }

    /// Returns the last usable checkpoint of the scenario in a span of time, and remarks about those that are not
    /// usable.
    pub fn latest(
        &self,
        from: Time,
        to: Time,
        endpoints: &Endpoints,
    ) -> (Option<Run>, Vec<String>) {
        let mut remarks = Vec::new();
        if self.every == Every::Off {
            return (None, remarks);
        }
        let mut found = files(&self.folder).unwrap_or_default();
        found.retain(|(time, _)| (from..=to).contains(time));
        let mut of_others = 0;
        let mut state = None;
        for (time, path) in found.into_iter().rev() {
            match self.read(time, &path, endpoints) {
                Ok(read) => {
                    state = Some(read);
                    break;
                }
                Err(Unusable::Program) => of_others += 1,
                Err(why) => remarks.push(format!("{}: {why}; not used", path.display())),
            }
        }
        if of_others > 0 {
            remarks.push(format!(
                "{}: {of_others} checkpoints were written by another build of xoff and are not used",
                self.folder.display()
            ));
        }
        (state, remarks)
    }

    fn read(&self, time: Time, path: &Path, endpoints: &Endpoints) -> Result<Run, Unusable> {
        let bytes = fs::read(path)?;
        let wrong = |what: &str| Unusable::Damaged(what.into());
        let (header, state) = bytes
            .split_at_checked(HEADER)
            .filter(|(header, _)| header.starts_with(&MAGIC))
            .ok_or_else(|| wrong("no checkpoint"))?;
        let word = |at| word(header, at);
        if word(1) != self.program() {
            return Err(Unusable::Program);
        }
        if (word(2), word(3)) != (self.content, time.as_ps()) {
            return Err(wrong("it has another name than when it was written"));
        }
        if word(4) != state.len() as u64 {
            return Err(wrong("it was cut or added to"));
        }
        if word(5) != XxHash3_64::oneshot(state) {
            return Err(wrong("its checksum does not match"));
        }
        restore(state, endpoints).map_err(Unusable::Damaged)
    }
}

/// Takes a checkpoint when one is due, and one of the end if there are any. What goes wrong is told, and the run goes on
/// without.
impl Observer for Checkpoints {
    fn network(&mut self, run: &Run) -> Result<(), ObserverError> {
        if !self.given_up && self.is_due(run.now()) {
            remark(self.take(run));
        }
        Ok(())
    }

    fn end(&mut self, run: &Run) -> Result<(), ObserverError> {
        let any = !self.written.is_empty() && self.adopted < run.now();
        if run.has_ended() && !self.given_up && any {
            remark(self.take(run));
        }
        Ok(())
    }
}

/// Tells something that changes no result.
pub fn remark(text: Option<String>) {
    if let Some(text) = text {
        anstream::eprintln!("xoff: {text}");
    }
}

/// The word at a place of a header.
fn word(header: &[u8], at: usize) -> u64 {
    let word: [u8; 8] = header[8 * at..8 * at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(word)
}

fn nanos(time: SystemTime) -> u128 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos())
}

/// Hashes everything that the result of a scenario depends on. 64 bits distinguish the few runs of a folder.
pub fn content(scenario: &Scenario, whole: bool) -> u64 {
    struct Text(XxHash3_64);
    impl std::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut text = Text(XxHash3_64::new());
    // In its debug form a scenario also has the content of the files that it names, which its TOML form has not.
    write!(text, "{whole} {scenario:?}").expect("a hash takes any text");
    text.0.finish()
}

/// Returns the checkpoints in a folder by time, ascending; none if there is no folder.
fn files(folder: &Path) -> io::Result<Vec<(Time, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let time = name.and_then(|name| name.strip_suffix(".ckpt")?.parse().ok());
        files.extend(time.map(|ps| (Time::from_ps(ps), path)));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_taken_when_asked_for() {
        assert_eq!("auto".parse(), Ok(Every::Auto));
        assert_eq!("off".parse(), Ok(Every::Off));
        assert_eq!("1ms".parse(), Ok(Every::Interval(Duration::from_ms(1))));
        for wrong in ["", "0ms", "often", "-1ms"] {
            assert_eq!(
                wrong.parse::<Every>(),
                Err(format!(
                    "'{wrong}': expected auto, off, or a simulated time such as 1ms"
                ))
            );
        }
    }
}
