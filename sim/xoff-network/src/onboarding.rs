//! Traffic that is let in stage by stage, as long as no stage does harm (SIGCOMM 2016 §6.1).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xoff_sim::time::Time;

use crate::Simulation;
use crate::audit::Auditor;
use crate::detect::victims::path;
use crate::metrics::Recorder;
use crate::results::{Finding, FindingKind, drops, ns};
use crate::scenario::{Onboarding, entry_of};
use crate::words::{at, count};

/// A stage, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The entries of `flows` that begin with it.
    pub flows: Vec<String>,
    /// When it began, in nanoseconds; `None` if it was never let in.
    pub from_ns: Option<u64>,
    /// Why it was stopped, or not let in; empty if it was let in and did no harm.
    pub against: Vec<String>,
}

/// Lets stages in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gatekeeper {
    settings: Onboarding,
    stages: Vec<Stage>,
    /// When the stage that runs is judged; `None` once one was stopped, or all are in and judged.
    due: Option<Time>,
    stopped: Option<Time>,
}

impl Gatekeeper {
    /// Lets the first stage in, if nothing is against it, and holds the others back.
    pub fn new(simulation: &mut Simulation, recorder: &Recorder, settings: Onboarding) -> Self {
        let stage = |flows: &Vec<String>| Stage {
            flows: flows.clone(),
            from_ns: None,
            against: Vec::new(),
        };
        for entry in settings.stages.iter().flatten() {
            simulation.set_posting(entry, false);
        }
        let mut this = Self {
            stages: settings.stages.iter().map(stage).collect(),
            due: None,
            stopped: None,
            settings,
        };
        this.let_in(simulation, recorder, 0);
        this
    }

    /// When the stage that runs is judged.
    pub const fn due(&self) -> Option<Time> {
        self.due
    }

    /// Judges the stage that runs, stops it if it did harm, and otherwise lets the next one in.
    pub fn judge(&mut self, simulation: &mut Simulation, recorder: &Recorder) {
        self.due = None;
        let Some(current) = self
            .stages
            .iter()
            .rposition(|stage| stage.from_ns.is_some())
        else {
            return;
        };
        let harm = harm(simulation, recorder);
        if !harm.is_empty() {
            for entry in &self.stages[current].flows {
                simulation.set_posting(entry, false);
            }
            self.stages[current].against = harm;
            self.stopped = Some(simulation.now());
        } else if current + 1 < self.stages.len() {
            self.let_in(simulation, recorder, current + 1);
        }
    }

    /// Lets a stage in, unless the audit has something against the devices on its way.
    fn let_in(&mut self, simulation: &mut Simulation, recorder: &Recorder, place: usize) {
        let auditor = recorder.auditor().filter(|_| self.settings.heed_audit);
        let against = auditor.map_or(Vec::new(), |auditor| {
            against(simulation, auditor, &self.stages[place].flows)
        });
        let now = simulation.now();
        if !against.is_empty() {
            self.stages[place].against = against;
            self.stopped = Some(now);
            return;
        }
        for entry in &self.stages[place].flows {
            simulation.set_posting(entry, true);
        }
        self.stages[place].from_ns = Some(ns(now));
        self.due = Some(now + self.settings.every);
    }

    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The number of stages that were let in.
    pub fn begun(&self) -> usize {
        self.stages
            .iter()
            .filter(|stage| stage.from_ns.is_some())
            .count()
    }

    /// Where the onboarding was stopped, if it was.
    pub fn findings(&self) -> Vec<Finding> {
        let stopped = self
            .stages
            .iter()
            .enumerate()
            .find(|(_, stage)| !stage.against.is_empty());
        let (Some((place, stage)), Some(when)) = (stopped, self.stopped) else {
            return Vec::new();
        };
        let what = match stage.from_ns {
            Some(_) => "is stopped",
            None => "is not let in",
        };
        let more = match stage.against.len() - 1 {
            0 => String::new(),
            more => format!(
                ", and {}",
                count(more as u64, "more reason", "more reasons")
            ),
        };
        vec![Finding {
            kind: FindingKind::Onboarding,
            text: format!(
                "stage {} of {} ({}) {what} at {}: {}{more}",
                place + 1,
                self.stages.len(),
                stage.flows.join(", "),
                at(when),
                stage.against[0]
            ),
            details: match more.is_empty() {
                true => Vec::new(),
                false => stage.against.clone(),
            },
            from_ns: ns(when),
            to_ns: None,
        }]
    }
}

/// What the audit has against devices on the way of these flows, a line each.
fn against(simulation: &Simulation, auditor: &Auditor, entries: &[String]) -> Vec<String> {
    let mut devices = BTreeSet::new();
    let is_in = |name: &str| entries.iter().any(|entry| entry == entry_of(name));
    for flow in simulation.flows().iter().filter(|flow| is_in(&flow.name)) {
        devices.extend([flow.from, flow.to]);
        devices.extend(
            path(simulation, flow)
                .into_iter()
                .map(|(link, _)| link.node),
        );
    }
    let names: BTreeSet<&str> = devices
        .into_iter()
        .map(|node| &*simulation.names()[node.0 as usize])
        .collect();
    let on_the_way = |device: &str| device.split(" – ").all(|end| names.contains(end));
    auditor
        .open()
        .filter(|difference| on_the_way(&difference.device))
        .map(|difference| match difference.of_link {
            true => format!(
                "{}: {} is {} and {}",
                difference.device, difference.setting, difference.wanted, difference.used
            ),
            false => format!(
                "{}: {} is {}, wanted is {}",
                difference.device, difference.setting, difference.used, difference.wanted
            ),
        })
        .collect()
}

/// What went wrong until now: places that dropped frames with the reason, what stops traffic, what probes tell, servers
/// in alarm, and QPs that ended.
fn harm(simulation: &Simulation, recorder: &Recorder) -> Vec<String> {
    let dropped = drops(simulation).into_iter();
    let dropped =
        dropped.map(|drop| format!("frames are dropped at {} ({})", drop.node, drop.reason));
    let findings = recorder.detector().findings(simulation);
    let watched = recorder
        .watch()
        .into_iter()
        .flat_map(|watch| watch.findings());
    let grave = |finding: &Finding| {
        matches!(
            finding.kind,
            FindingKind::Deadlock
                | FindingKind::Storm
                | FindingKind::FailedQps
                | FindingKind::BlackHole
                | FindingKind::Probes
                | FindingKind::Servers
        )
    };
    let found = findings.into_iter().chain(watched).filter(grave);
    dropped.chain(found.map(|finding| finding.text)).collect()
}

#[cfg(test)]
mod tests;
