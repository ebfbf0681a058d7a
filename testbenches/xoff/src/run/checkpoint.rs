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
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration as RealTime, Instant, SystemTime};

use anyhow::bail;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;
use xoff_network::parts::kept::NotKept;
use xoff_network::scenario::Scenario;
use xoff_network::{Endpoints, Run, SimulationError};
use xoff_sim::time::{Duration, Time};

pub mod file;
pub mod parts;

use file::{Head, Kind, Unusable};

/// Name of the folder of all checkpoints, in the folder of results.
pub const FOLDER: &str = ".checkpoints";
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

impl Every {
    /// The first multiple of an interval behind a time.
    fn next(self, now: Time) -> Time {
        match self {
            Self::Interval(interval) => {
                Time::ZERO + interval * (now.as_ps() / interval.as_ps() + 1)
            }
            Self::Auto | Self::Off => Time::ZERO,
        }
    }
}

/// The checkpoint from which a run is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The last one.
    Newest,
    /// The last one at this time or before.
    Until(Duration),
}

impl std::str::FromStr for Resume {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "newest" => Ok(Self::Newest),
            _ => text
                .parse()
                .map(Self::Until)
                .map_err(|_| format!("'{text}': expected newest, or a simulated time such as 1ms")),
        }
    }
}

/// Converts the state of a run to bytes: of one that is divided, that of its nodes here and what was measured.
///
/// # Errors
///
/// Part of the state cannot be saved: TCP, or a NIC of one's own whose device does not say that it can be.
pub fn save(run: &Run) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(run).map(|bytes| compressed(&bytes))
}

/// Restores the state that [`save`] returned, with the kinds of hosts of the program.
///
/// # Errors
///
/// The bytes are not a state that this program saved, or it is of NICs that the program does not have.
pub fn restore(bytes: &[u8], endpoints: &Endpoints) -> Result<Run, String> {
    let bytes = decompressed(bytes)?;
    let mut run: Run = postcard::from_bytes(&bytes).map_err(|error| error.to_string())?;
    let attached = run.attach(endpoints);
    attached.map_err(|error| error.to_string())?;
    Ok(run)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::compress_prepend_size(bytes)
}

fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    lz4_flex::decompress_size_prepended(bytes).map_err(|error| error.to_string())
}

/// A checkpoint that is to be read, by one rank or all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    path: PathBuf,
    head: Head,
}

impl Chosen {
    /// Its run, whole, whoever wrote it.
    ///
    /// # Errors
    ///
    /// It is of another program, damaged, or lacks a part.
    pub fn read(&self, endpoints: &Endpoints) -> Result<Run, Unusable> {
        let (kind, state, _) = file::read(&self.path, self.head)?;
        let mut run = match kind {
            Kind::Whole => restore(&state, endpoints).map_err(Unusable::Damaged)?,
            Kind::List => parts::restore(&self.path, self.head, &state, endpoints)?,
            Kind::Part => return Err(Unusable::Damaged("a part, and no list of parts".into())),
        };
        // The run that wrote it may have had a capture.
        for (node, port) in run.simulation.all_ports() {
            run.simulation.network_mut().tap(node, port, false);
        }
        Ok(run)
    }

    /// The same for `--resume`, whose error says what would be right.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn resume(&self, endpoints: &Endpoints) -> anyhow::Result<Run> {
        match self.read(endpoints) {
            Ok(run) => Ok(run),
            Err(why) => bail!(
                "--resume: {}: {why}; --resume=TIME with a time before {} goes on from an earlier one",
                self.path.display(),
                self.head.time.since_start()
            ),
        }
    }
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct Checkpoints {
    all: PathBuf,
    folder: PathBuf,
    scenario: String,
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
            scenario: scenario.name.clone(),
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
            next: every.next(Time::ZERO),
            given_up: every == Every::Off,
        }
    }

    /// Real time that was spent on taking checkpoints.
    pub const fn spent(&self) -> RealTime {
        self.spent
    }

    /// The run goes on from the checkpoint at this time.
    pub fn go_on(&mut self, now: Time) {
        self.next = self.every.next(now);
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
            Every::Interval(_) => {
                let due = now >= self.next;
                if due {
                    self.next = self.every.next(now);
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

    /// Takes a checkpoint if one is due. What goes wrong is told, and the run goes on without.
    ///
    /// # Errors
    ///
    /// Another rank is gone.
    pub fn look(&mut self, run: &mut Run) -> Result<(), SimulationError> {
        if !self.given_up && self.is_due(run.now()) {
            remark(self.take(run)?);
        }
        Ok(())
    }

    /// Takes one of the end if there are any.
    ///
    /// # Errors
    ///
    /// As [`look`](Self::look).
    pub fn end(&mut self, run: &mut Run) -> Result<(), SimulationError> {
        let any = !self.written.is_empty() && self.adopted < run.now();
        if run.has_ended() && !self.given_up && any {
            remark(self.take(run)?);
        }
        Ok(())
    }

    fn take(&mut self, run: &mut Run) -> Result<Option<String>, SimulationError> {
        let began = Instant::now();
        if self.written.is_empty()
            && let Err(error) = self.adopt()
        {
            return Ok(self.give_up(&self.at_folder(&error)));
        }
        if self.every == Every::Auto && self.adopted >= run.now() {
            // The earlier run wrote as many as are wanted.
            self.last = began;
            return Ok(None);
        }
        let written = match run.simulation.parts() {
            1 => self.write(run),
            _ => {
                let (path, head) = (self.file(run.now()), self.head(run.now()));
                parts::write(&path, head, run, &self.scenario)?
            }
        };
        let problem = match written {
            Ok(bytes) => match self.add(run.now(), bytes) {
                Ok(()) => None,
                Err(error) => self.give_up(&self.at_folder(&error)),
            },
            Err(NotKept::Failed(why)) => self.give_up(&why),
            // A NIC of one's own, or TCP: docs/own-nic.md and docs/scenarios.md say so.
            Err(NotKept::Unsaved(_)) if self.every == Every::Auto => {
                self.given_up = true;
                None
            }
            Err(NotKept::Unsaved(why)) => Some(format!("--checkpoints: there are none: {why}")),
        };
        self.given_up |= problem.is_some();
        self.last = Instant::now();
        self.last_cost = self.last - began;
        self.spent += self.last_cost;
        Ok(problem)
    }

    fn at_folder(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.folder.display())
    }

    fn give_up(&mut self, why: &str) -> Option<String> {
        self.given_up = true;
        Some(format!("{why}: this run keeps no more checkpoints"))
    }

    fn head(&self, time: Time) -> Head {
        Head {
            program: self.program(),
            content: self.content,
            time,
        }
    }

    /// Writes the checkpoint of a run in one part. Returns its bytes.
    fn write(&self, run: &Run) -> Result<u64, NotKept> {
        let now = run.now();
        let state = save(run).map_err(|error| {
            let why = run.simulation.unsaved();
            NotKept::Unsaved(why.map_or(error.to_string(), |why| why.to_string()))
        })?;
        // Parts of an earlier run of several ranks would be of no use any more.
        let written = parts::remove(&self.file(now))
            .and_then(|()| file::write(&self.file(now), Kind::Whole, self.head(now), &state));
        match written {
            Ok((bytes, _)) => Ok(bytes),
            Err(error) => Err(NotKept::Failed(self.at_folder(&error))),
        }
    }

    /// Notes a checkpoint that was written, and removes some if there are too many.
    fn add(&mut self, now: Time, bytes: u64) -> io::Result<()> {
        self.written.retain(|(time, _)| *time != now);
        self.written.push((now, bytes));
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
            parts::remove(&self.file(time))?;
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
        parts::remove_unlisted(&self.folder)?;
        for (time, path) in files(&self.folder)? {
            match file::program(&path) {
                Ok(program) if program == self.program() => {
                    self.written.push((time, parts::size(&path)?));
                    self.adopted = time;
                }
                _ => parts::remove(&path)?,
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
                bytes += parts::size(&file)?;
                used = used.max(fs::metadata(file)?.modified()?);
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
                parts::remove(&file)?;
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
            let chosen = Chosen {
                head: self.head(time),
                path: path.clone(),
            };
            match chosen.read(endpoints) {
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

    /// The checkpoint from which a run is to go on, by its name. It may be damaged.
    ///
    /// # Errors
    ///
    /// There is none that this program wrote.
    pub fn choose(&self, resume: Resume) -> anyhow::Result<Chosen> {
        let folder = self.folder.display();
        let found = files(&self.folder).map_err(|error| anyhow::anyhow!("{folder}: {error}"))?;
        let number = found.len();
        let of_program = |(_, path): &(Time, PathBuf)| {
            file::program(path).is_ok_and(|program| program == self.program())
        };
        let own: Vec<(Time, PathBuf)> = found.into_iter().filter(of_program).collect();
        let until = match resume {
            Resume::Newest => Time::MAX,
            Resume::Until(time) => Time::ZERO + time,
        };
        match (own.iter().rfind(|(time, _)| *time <= until), own.first()) {
            (Some((time, path)), _) => Ok(Chosen {
                path: path.clone(),
                head: self.head(*time),
            }),
            (None, Some((first, _))) => bail!(
                "--resume: the first checkpoint in {folder} is at {}, after {}",
                first.since_start(),
                until.since_start()
            ),
            (None, None) if number > 0 => bail!(
                "--resume: the {number} checkpoints in {folder} were written by another build of xoff; run without \
                 --resume"
            ),
            (None, None) => bail!(
                "--resume: no checkpoint of this scenario with these settings in {folder}: run without --resume; \
                 --checkpoints says when a run takes one, --out where it is"
            ),
        }
    }
}

/// Tells something that changes no result.
pub fn remark(text: Option<String>) {
    if let Some(text) = text {
        anstream::eprintln!("xoff: {text}");
    }
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
