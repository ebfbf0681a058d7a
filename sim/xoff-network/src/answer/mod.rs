//! What a run shows, in a sentence: what broke, where, when, how much, and which settings cure it. It is put together
//! from what detectors, counters and metrics say, the gravest first; nothing here measures anything.
//!
//! | module | what is in it |
//! |---|---|
//! | `standstill` | deadlocks and storms: nothing moves any more |
//! | `losses` | frames that are dropped, and what that costs |
//! | `shares` | flows that get less than they could |
//! | `configuration` | settings that are not as they were wanted |

mod configuration;
mod losses;
mod marks;
mod shares;
mod standstill;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::NodeId;

use crate::metrics::{Metric, Quantity, Recorder};
use crate::policy::SlowLoop;
use crate::results::{Drop, Finding, FindingKind};
use crate::scenario::{Checked, Event, SwitchSettings};
use crate::words::{count, gbps, part};
use crate::{Run, Simulation};

pub use marks::Marks;

/// Settings of a cure that are written out.
const MOST_SETTINGS: usize = 3;
/// Reasons to drop a frame that cost nothing: copies of a flooded frame that were for another node.
pub const HARMLESS: [&str; 2] = ["address", "other_mac"];

/// The answer to 'what happened?'.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// What broke, where, when and how much, in a sentence; or that nothing did.
    pub headline: String,
    /// Whether something broke.
    pub broke: bool,
    /// Settings that cure it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cures: Vec<Cure>,
    /// Where it is in the network.
    #[serde(default)]
    pub marks: Marks,
}

/// Settings that cure what broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cure {
    /// The settings, as `--set` takes them; none if no single value does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// What they do, or what has to be done.
    pub why: String,
}

impl Cure {
    fn new(set: impl Into<String>, why: impl Into<String>) -> Self {
        Self::all([set.into()], why)
    }

    fn all(set: impl IntoIterator<Item = String>, why: impl Into<String>) -> Self {
        Self {
            set: set.into_iter().collect(),
            why: why.into(),
        }
    }

    /// The settings that are written out where people read, and how many more there are.
    pub fn shown(&self) -> (&[String], usize) {
        // One that is left out would take as much room as what says so.
        let shown = match self.set.len() {
            few if few <= MOST_SETTINGS + 1 => few,
            _ => MOST_SETTINGS,
        };
        (&self.set[..shown], self.set.len() - shown)
    }

    /// What a cure is called where people read.
    pub const fn word(&self) -> &'static str {
        match self.set.is_empty() {
            true => "by hand",
            false => "cure",
        }
    }

    /// What has to be done, where no single value of the settings does it.
    fn by_hand(why: impl Into<String>) -> Self {
        Self::all([], why)
    }
}

/// What broke, and what cures it.
struct Broken {
    headline: String,
    cures: Vec<Cure>,
}

impl Broken {
    fn new(headline: String, cures: Vec<Cure>) -> Self {
        Self { headline, cures }
    }
}

/// What a run has shown.
struct Seen<'a> {
    simulation: &'a Simulation,
    recorder: &'a Recorder,
    scenario: &'a Checked,
    /// What a policy changed.
    changes: &'a [Event],
    metrics: &'a crate::metrics::Metrics,
    findings: &'a [Finding],
    drops: &'a [Drop],
}

impl<'a> Seen<'a> {
    fn value(&self, metric: &Metric) -> f64 {
        self.metrics.get(metric).copied().unwrap_or(f64::NAN)
    }

    fn total(&self, quantity: Quantity) -> f64 {
        self.value(&Metric::total(quantity))
    }

    fn name(&self, node: NodeId) -> &'a str {
        &self.simulation.names()[node.0 as usize]
    }

    /// The settings of a switch; `None` of a host.
    fn switch(&self, name: &str) -> Option<&'a SwitchSettings> {
        let of = |entry: &&SwitchSettings| entry.names().iter().any(|known| known == name);
        self.scenario.switches.iter().find(of)
    }

    /// Whether the reaction point of DCQCN slows down senders.
    fn dcqcn(&self) -> bool {
        let dcqcn = self.scenario.host.dcqcn.as_ref();
        dcqcn.is_some_and(|dcqcn| dcqcn.on)
    }

    /// Whether senders have a congestion control, DCQCN or another.
    fn controlled(&self) -> bool {
        self.scenario.host.marks().is_some()
    }

    /// Frames dropped for a reason, by node, most first.
    fn dropped(&self, reason: &str) -> Vec<(&'a str, u64)> {
        let of = self.drops.iter().filter(|drop| drop.reason == reason);
        let mut of: Vec<_> = of.map(|drop| (&*drop.node, drop.count)).collect();
        of.sort_by_key(|(node, count)| (std::cmp::Reverse(*count), *node));
        of
    }

    /// When the first of some nodes began to drop frames, in words.
    fn drops_from(&self, nodes: &[&str]) -> String {
        let nodes = nodes.iter().filter_map(|node| self.simulation.node(node));
        let from = nodes
            .filter_map(|node| self.recorder.drops_from(node))
            .min();
        let time = |ns| crate::words::length(xoff_sim::time::Duration::from_ns(ns));
        from.map_or(String::new(), |ns| match ns {
            0 => " from the start".into(),
            _ => format!(" from {}", time(ns)),
        })
    }

    /// The first finding of a kind.
    fn found(&self, kind: FindingKind) -> Option<&'a Finding> {
        self.findings.iter().find(|finding| finding.kind == kind)
    }

    /// What probes of Pingmesh found first.
    fn probes(&self) -> Option<Broken> {
        let found = self.found(FindingKind::Probes)?;
        let place = found.text.split(':').next().unwrap_or("the network");
        let cure = Cure::by_hand(format!("look at {place}: probes say that it is at fault"));
        Some(Broken::new(format!("Pingmesh: {}", found.text), vec![cure]))
    }

    /// QPs that ended.
    fn failed(&self) -> Option<Broken> {
        let found = self.found(FindingKind::FailedQps)?;
        let cure = Cure::by_hand("find what keeps answers from coming, in the findings below");
        Some(Broken::new(found.text.clone(), vec![cure]))
    }

    /// What else was found, so that nothing is called whole that has a finding.
    fn others(&self) -> Option<Broken> {
        let others = [
            (
                FindingKind::BlackHole,
                "bring back the link or host, or take the routes to it away",
            ),
            (
                FindingKind::Servers,
                "look at the servers that are named in the findings below",
            ),
            (
                FindingKind::Violation,
                "look at the frames that are named in the findings below",
            ),
        ];
        others.into_iter().find_map(|(kind, what)| {
            let found = self.found(kind)?;
            Some(Broken::new(found.text.clone(), vec![Cure::by_hand(what)]))
        })
    }

    /// What there is to say when nothing broke.
    fn whole(&self) -> String {
        let probes = self
            .simulation
            .series()
            .iter()
            .filter(|series| series.probes);
        let probes = probes.flat_map(|series| &self.simulation.flows()[series.flows.clone()]);
        let answered = probes.map(|flow| self.simulation.sender(flow).delivered().len() as u64);
        let goodput = match (self.total(Quantity::GoodputGbps), answered.sum()) {
            (rate, _) if rate > 0.0 => format!("{} of payload arrive", gbps(rate)),
            (_, 1_u64..) => "all probes are answered".into(),
            _ => "no payload in the measured window".into(),
        };
        let pauses = match self.total(Quantity::PauseFramesTx) {
            0.0 => "nobody pauses".into(),
            frames => count(
                frames as u64,
                "pause frame is sent",
                "pause frames are sent",
            ),
        };
        // What is lost is told of before, so that only copies for others may be dropped here.
        let drops = match self.drops {
            [] => "no frame is dropped",
            _ => "only copies for other nodes are dropped",
        };
        let stood = match self.stood_most() {
            Some((flow, stood)) => format!(
                "; flow {flow} stands for {} of the time because of others",
                part(stood)
            ),
            None => String::new(),
        };
        format!("Nothing broke: {goodput}, {drops}, {pauses}{stood}")
    }
}

impl Answer {
    /// The answer of a run that was measured until now.
    pub fn of(
        run: &Run,
        scenario: &Checked,
        metrics: &crate::metrics::Metrics,
        (findings, drops): (&[Finding], &[Drop]),
    ) -> Self {
        let seen = Seen {
            simulation: &run.simulation,
            recorder: &run.recorder,
            scenario,
            changes: run.slow_loop().map_or(&[], SlowLoop::changes),
            metrics,
            findings,
            drops,
        };
        let broken = (seen.deadlock())
            .or_else(|| seen.storm())
            .or_else(|| seen.probes())
            .or_else(|| seen.behind_tags())
            .or_else(|| seen.lossless_lost())
            .or_else(|| seen.livelock())
            .or_else(|| seen.overflow())
            .or_else(|| seen.slow_receiver())
            .or_else(|| seen.victims())
            .or_else(|| seen.looped())
            .or_else(|| seen.failed())
            .or_else(|| seen.held_back())
            .or_else(|| seen.others())
            .or_else(|| seen.lost())
            .or_else(|| seen.early_pauses())
            .or_else(|| seen.unfair())
            .or_else(|| seen.resting())
            .or_else(|| seen.audited());
        let broke = broken.is_some();
        let Broken { headline, cures } =
            broken.unwrap_or_else(|| Broken::new(seen.whole(), Vec::new()));
        Self {
            headline,
            broke,
            cures,
            marks: Marks::of(&seen),
        }
    }
}
