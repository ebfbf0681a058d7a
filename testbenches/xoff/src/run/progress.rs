//! How far a run is, and what is found on the way.

use std::collections::BTreeSet;
use std::time::Instant;

use xoff_network::results::{FindingKind, Summary};
use xoff_network::scenario::Checked;
use xoff_network::words::at;
use xoff_network::{Observer, ObserverError, Run};
use xoff_sim::time::{Duration, Time};

use crate::terminal::{Progress, Shown};

/// Shows how far a run is, and what is found on the way.
pub(super) struct HowFar {
    progress: Progress,
    /// What each line begins with.
    which: String,
    started: Instant,
    duration: Duration,
    /// Whether anybody sees it.
    seen: bool,
    told: BTreeSet<(FindingKind, u64)>,
}

impl HowFar {
    pub fn new(scenario: &Checked, shown: Shown, which: Option<&str>) -> Self {
        let length = scenario.duration.as_ps() / 1_000;
        Self {
            progress: Progress::new(shown, length, "{wide_bar} {msg}, {eta} left"),
            which: which.map(|which| format!("{which}: ")).unwrap_or_default(),
            started: Instant::now(),
            duration: scenario.duration,
            seen: shown != Shown::Nothing,
            told: BTreeSet::new(),
        }
    }

    pub fn show(&self, now: Time) {
        let ns = now.as_ps() / 1_000;
        let real = self.started.elapsed().as_nanos().max(1) as f64;
        let words = format!(
            "{}{} of {}, {:.0} times slower than life",
            self.which,
            now.since_start(),
            self.duration,
            real / ns.max(1) as f64
        );
        self.progress.at(ns, &words);
    }

    /// Tells what the detector has found since the last call: what stops traffic, not whom it stops.
    fn tell(&mut self, run: &Run) {
        for finding in run.recorder.detector().broken(&run.simulation) {
            if self.told.insert((finding.kind, finding.from_ns)) {
                let at = at(run.now());
                let words = format!("{at}: {}: {}", finding.kind.words(), finding.text);
                self.progress.found(&words);
            }
        }
    }
}

impl Observer for HowFar {
    fn network(&mut self, run: &Run) -> Result<(), ObserverError> {
        self.show(run.now());
        if self.seen {
            self.tell(run);
        }
        Ok(())
    }

    fn end(&mut self, _run: &Run) -> Result<(), ObserverError> {
        self.progress.end();
        Ok(())
    }

    fn add_to(&self, summary: &mut Summary) {
        summary.wall_s = self.started.elapsed().as_secs_f64();
    }
}
