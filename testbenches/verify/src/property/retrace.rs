//! Cases with waves around their failure.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use xoff_cosim::units::watch::{UnitWaves, Watch, Watched, wave_path};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::frame::Verdict;

use super::bins::Bins;
use super::run::checked;
use super::{Case, Disagreement, Property};
use xoff::decode::details::details;

/// Cycles before a failure in waves, unless other are asked for: what memory shows is found some hundred cycles behind
/// its cause.
pub const BEFORE: u64 = 1_000;

/// What is wanted of a failing case.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The folder for waves; [`create`](Self::create) creates it.
    pub folder: PathBuf,
    /// Number of cycles before the failure; absent: [`BEFORE`], or all of a short case of the NIC.
    pub before: Option<u64>,
    /// Number of cycles behind it, if anything drives the unit then.
    pub after: u64,
    /// Waves from the beginning of the case, of all of its units, and also if it holds: to compare them with those of
    /// another build. Of NICs of a case that holds, the waves end with it.
    pub whole: bool,
}

/// Ends of the names of the files that a replay leaves.
const ENDINGS: [&str; 7] = [
    ".fst",
    ".types.json",
    ".gtkw",
    ".tcl",
    ".sucl",
    ".txt",
    ".pcapng",
];

impl Wanted {
    /// Creates the folder, and removes the files that an earlier replay left in it.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created or changed.
    pub fn create(&self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| format!("{}", self.folder.display()))?;
        self.clear()
    }

    /// Removes the files that an earlier replay left: of a case that holds now, they show a failure that is no more.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be removed.
    pub fn clear(&self) -> anyhow::Result<()> {
        let clear = || -> std::io::Result<()> {
            if !self.folder.is_dir() {
                return Ok(());
            }
            for entry in fs::read_dir(&self.folder)? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str());
                if name.is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending))) {
                    fs::remove_file(path)?;
                }
            }
            Ok(())
        };
        clear().with_context(|| format!("{}", self.folder.display()))
    }
}

/// What a file of waves shows, and so which signals are shown first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shows {
    /// A unit: its ports.
    Unit,
    /// The NIC of the host of this name: its important signals.
    Nic(String),
    /// A network, with layouts beside the file.
    Network,
}

/// A file of waves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves {
    /// The file.
    pub path: PathBuf,
    /// What the file shows.
    pub shows: Shows,
    /// The time of the failing cycle in picoseconds.
    pub failed_ps: u64,
}

/// The result of a case, with what shows a failure.
#[derive(Debug, Clone)]
pub enum Retraced {
    /// It held.
    Held {
        /// Number of its events.
        events: u64,
        /// Waves of the whole case, if they were wanted; marked at the last cycle.
        waves: Vec<Waves>,
    },
    /// It failed.
    Failed(Failed),
    /// The process was asked to end before the result was known.
    Interrupted,
}

/// A failure, and what shows it.
#[derive(Debug, Clone, Default)]
pub struct Failed {
    /// What does not hold.
    pub disagreement: Disagreement,
    /// Whether the process was asked to end before the waves were whole.
    pub interrupted: bool,
    /// The files of waves, one for each instance that worked in the case.
    pub waves: Vec<Waves>,
    /// The last things that happened, one line each, in the order of time.
    pub events: Vec<String>,
    /// A capture of the frames of the run that failed, of a case that has any.
    pub capture: Option<PathBuf>,
    /// What reaching the window of waves took, and the run up to the failure.
    pub reached: Option<Reached>,
}

/// What it took to reach the window of waves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    /// Real time of the run to the failure, without waves.
    pub run: Duration,
    /// Real time from the last checkpoint to the window.
    pub window: Duration,
    /// The cycle of that checkpoint.
    pub checkpoint: u64,
}

/// A frame in a line.
pub fn in_a_line(parsed: &ParsedFrame) -> String {
    let what = match (parsed.verdict, &parsed.bth) {
        (Verdict::Pfc, _) => "PFC".to_owned(),
        (_, Some(bth)) => format!(
            "{} to QP {:#x}, PSN {}",
            bth.opcode,
            bth.dest_qp.get(),
            bth.psn
        ),
        (verdict, None) => verdict.name().to_owned(),
    };
    let details: Vec<String> = details(parsed).into_iter().map(|(_, text)| text).collect();
    format!("{what} {}", details.join(" "))
}

/// Runs a case, and again with waves if it fails; for properties that create all of their units in [`Property::new`] or
/// in [`Property::check`] by the drivers of `xoff_cosim::units`. Such cases are short, so this is a second run from the
/// start, with waves in the window only.
///
/// # Errors
///
/// The unit cannot be created, waves cannot be written, or the case does not fail again.
pub fn units<P: Property>(seed: u64, case: &Case<P>, wanted: &Wanted) -> anyhow::Result<Retraced> {
    let (first, result) = watched::<P>(seed, case, Vec::new())?;
    if let (Ok(events), false) = (&result, wanted.whole) {
        wanted.clear()?;
        let (events, waves) = (*events, Vec::new());
        return Ok(Retraced::Held { events, waves });
    }
    // A property has instances for several benches; those of this case went on after they were created and reset.
    let idle = watched_at_creation::<P>(seed)?;
    let place_of_idle = |place: usize| idle.get(place).map_or(0, |unit: &Watched| unit.cycles);
    let works = |(place, unit): &(usize, &Watched)| unit.cycles > place_of_idle(*place);
    let working: Vec<usize> = (first.iter().enumerate())
        .filter(works)
        .map(|(place, _)| place)
        .collect();
    let mut waves = vec![None; first.len()];
    for &place in &working {
        let unit = &first[place];
        let marked = unit.blamed.unwrap_or(unit.cycles);
        let alone =
            (working.iter()).all(|other| *other == place || first[*other].name != unit.name);
        // Which units work is another question in another build: names of whole waves do not depend on it.
        let (alone, cycles) = match wanted.whole {
            true => (false, 1..=unit.cycles),
            false => {
                let from = marked.saturating_sub(wanted.before.unwrap_or(BEFORE));
                let from = from.max(1);
                (alone, from..=(marked + wanted.after).min(unit.cycles))
            }
        };
        waves[place] = Some(UnitWaves {
            path: wave_path(&wanted.folder, &unit.name, place, alone),
            cycles,
            marked,
        });
    }
    // If one of them has the wrong answer, the others are not of interest.
    if !wanted.whole && first.iter().any(|unit| unit.blamed.is_some()) {
        for (waves, unit) in waves.iter_mut().zip(&first) {
            *waves = waves.take().filter(|_| unit.blamed.is_some());
        }
    }
    wanted.create()?;
    let (second, again) = watched::<P>(seed, case, waves)?;
    if again.is_ok() != result.is_ok() {
        bail!("the case failed once and held once: the unit depends on something else");
    }
    let mut waves = Vec::new();
    for unit in second {
        if let Some(error) = unit.error {
            return Err(error.into());
        }
        waves.extend(unit.waves.map(|path| Waves {
            path,
            shows: Shows::Unit,
            failed_ps: unit.marked_ps,
        }));
    }
    Ok(match result {
        Ok(events) => Retraced::Held { events, waves },
        Err(disagreement) => Retraced::Failed(Failed {
            disagreement,
            waves,
            ..Failed::default()
        }),
    })
}

/// Runs a case with a watch on the units. Returns what is known of them, and the result.
fn watched<P: Property>(
    seed: u64,
    case: &Case<P>,
    waves: Vec<Option<UnitWaves>>,
) -> anyhow::Result<(Vec<Watched>, Result<u64, Disagreement>)> {
    let watch = Watch::begin(waves);
    let checked =
        P::new(seed).map(|mut property| checked(&mut property, case, &mut Bins::new(P::groups())));
    let units = watch.end();
    Ok((units, checked?))
}

/// The units as a property creates them.
fn watched_at_creation<P: Property>(seed: u64) -> anyhow::Result<Vec<Watched>> {
    let watch = Watch::begin(Vec::new());
    let created = P::new(seed);
    let units = watch.end();
    created?;
    Ok(units)
}
