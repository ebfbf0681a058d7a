//! Watches the units that a thread creates: counts their cycles, and writes waves of some of them. With it a case that
//! failed is run again with waves around the failure, wherever the code that runs it creates its units.
//!
//! A unit without a watch pays one test of a pointer a cycle.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use verilated::{Model, TraceError};

/// Watches the units that this thread creates from its beginning to its end, in the order of their creation.
#[derive(Debug)]
pub struct Watch(());

/// Waves of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitWaves {
    /// The file; its extension is `.fst` or `.vcd`.
    pub path: PathBuf,
    /// The cycles in it, counted from 1 at the unit's creation.
    pub cycles: RangeInclusive<u64>,
    /// The cycle whose time is wanted.
    pub marked: u64,
}

/// What is known of a unit.
#[derive(Debug, Default)]
pub struct Watched {
    /// The instance's name, which is the outermost scope of its waves.
    pub name: String,
    /// Number of cycles that were evaluated.
    pub cycles: u64,
    /// The model's time at the beginning of the last of them, in picoseconds.
    pub time_ps: u64,
    /// The model's time at the beginning of the cycle [`UnitWaves::marked`].
    pub marked_ps: u64,
    /// The cycle in which the wrong output ended, if the driver knows it.
    pub blamed: Option<u64>,
    /// The file of waves, if it was opened.
    pub waves: Option<PathBuf>,
    /// Why waves could not be written.
    pub error: Option<TraceError>,
    /// For each answer of the unit since its last reset, the cycle in which it was complete.
    answers: Vec<u64>,
}

#[derive(Default)]
struct Session {
    /// By place in the order of creation. Missing ones have no waves.
    waves: Vec<Option<UnitWaves>>,
    watched: Vec<Arc<Mutex<Watched>>>,
}

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

impl Watch {
    /// Begins to watch. `waves` has the waves of the units by their place in the order of creation.
    ///
    /// # Panics
    ///
    /// If this thread is watching already.
    pub fn begin(waves: Vec<Option<UnitWaves>>) -> Self {
        let session = Session {
            waves,
            ..Session::default()
        };
        let before = SESSION.replace(Some(session));
        assert!(before.is_none(), "one watch a thread");
        Self(())
    }

    /// Ends. Units that exist still go on without a watch of new ones.
    pub fn end(self) -> Vec<Watched> {
        let session = SESSION.take().unwrap_or_default();
        let taken = session.watched.into_iter().map(|watched| {
            let mut watched = watched.lock().expect("no panic while it is locked");
            std::mem::take(&mut *watched)
        });
        taken.collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        SESSION.set(None);
    }
}

/// A unit's part of a watch.
#[derive(Debug)]
pub(super) struct Watcher {
    waves: Option<UnitWaves>,
    watched: Arc<Mutex<Watched>>,
}

impl Watcher {
    /// The watcher of the next unit, if this thread is watching.
    pub fn next(name: &str) -> Option<Box<Self>> {
        SESSION.with_borrow_mut(|session| {
            let session = session.as_mut()?;
            let place = session.watched.len();
            let watched = Arc::new(Mutex::new(Watched {
                name: name.to_owned(),
                ..Watched::default()
            }));
            session.watched.push(watched.clone());
            let waves = session.waves.get_mut(place).and_then(Option::take);
            Some(Box::new(Self { waves, watched }))
        })
    }

    fn with<R>(&self, change: impl FnOnce(&mut Watched) -> R) -> R {
        change(&mut self.watched.lock().expect("no panic while it is locked"))
    }

    /// Before a cycle: opens the waves when they begin.
    pub fn before(&mut self, model: &mut impl Model) {
        let cycle = self.with(|watched| {
            watched.cycles += 1;
            watched.time_ps = model.time_ps();
            watched.cycles
        });
        let Some(waves) = &self.waves else { return };
        if cycle == waves.marked {
            self.with(|watched| watched.marked_ps = watched.time_ps);
        }
        if cycle == *waves.cycles.start() {
            let path = waves.path.clone();
            let opened = model.trace_open(&path);
            self.with(|watched| match opened {
                Ok(()) => watched.waves = Some(path),
                Err(error) => watched.error = Some(error),
            });
        }
    }

    /// Behind a cycle: closes the waves when they end.
    pub fn after(&mut self, model: &mut impl Model) {
        let Some(waves) = &self.waves else { return };
        let cycle = self.with(|watched| watched.cycles);
        if cycle == *waves.cycles.end() {
            self.close(model);
        }
    }

    /// Closes the waves.
    pub fn close(&mut self, model: &mut impl Model) {
        if self.waves.take().is_some()
            && let Err(error) = model.trace_close()
        {
            self.with(|watched| watched.error = Some(error));
        }
    }

    /// Notes that an answer is complete in this cycle.
    pub fn answered(&self) {
        self.with(|watched| watched.answers.push(watched.cycles));
    }

    /// Forgets the answers, at a reset.
    pub fn forget_answers(&self) {
        self.with(|watched| watched.answers.clear());
    }

    /// Notes that an answer, counted from 0 since the last reset, is wrong.
    pub fn blame(&self, answer: usize) {
        self.with(|watched| watched.blamed = watched.answers.get(answer).copied());
    }
}

/// The file of waves of a unit in a folder. Units of one name are told apart by their place.
pub fn wave_path(folder: &Path, name: &str, place: usize, alone: bool) -> PathBuf {
    match alone {
        true => folder.join(format!("{name}.fst")),
        false => folder.join(format!("{name}-{place}.fst")),
    }
}
