//! Detectors: what pauses do to a network that runs. They only look, and never change a result.
//!
//! | module | what is in it |
//! |---|---|
//! | [`pauses`] | when each directed link was stopped |
//! | [`graph`] | who waits for whom at an instant, and where chains of waits end |
//! | [`cycles`] | cyclic waits, and which of them are deadlocks |
//! | [`storms`] | pause storms and their origin |
//! | [`victims`] | flows that stand because of pauses that they did not cause |
//! | [`nowhere`] | QPs that gave up, and frames that were sent and had nowhere to go |
//! | [`unpaused`] | why an incast did not need a pause |
//! | [`findings`] | all of it as lines of text |
//!
//! # The graph of waits
//!
//! A link X → Y of a class is *stopped* while pauses that Y sent apply at X. It *waits for* the link Y → Z if Z stops
//! that, the ingress queue of Y from X is in XOFF, and bytes of that queue wait to be sent to Z.
//! Chains of waits end at a *root*: an egress queue that is not stopped but congested, or a link that a host
//! stops. Pauses come and go, so for roots a link counts as stopped if it was since the last observation, and only
//! ports with at least a tenth of an ingress queue's bytes count as the cause of its pause.
//!
//! # Cyclic waits and deadlocks
//!
//! A cycle of waits (SIGCOMM 2016, section 4.2) closes with the start of the latest pause on it, which is known
//! exactly. A cyclic buffer dependency is necessary for a deadlock and not sufficient (HotNets 2016): a cycle opens
//! again if enough of its bytes leave by ports outside of it. It is a *deadlock* if it cannot: take all bytes away that
//! do not wait for a link of the cycle, and no queue of it is small enough for XON. Neither hosts nor time open it
//! then, only drops do. Of links that are all in cycles with each other, one shortest cycle is reported.
//!
//! # Pause storms
//!
//! A host that does not drain its receive pipeline pauses without end, and the pauses spread from its switch to the
//! network (SIGCOMM 2016, section 4.3). A *storm* is a host that stops its neighbour for at least
//! [`storm_part`](Thresholds::storm_part) of [`storm_window`](Thresholds::storm_window): half of 1 ms. A single XOFF
//! lasts at most 65,535 quanta, 0.84 ms at 40 Gb/s, and a host that drains ends it earlier. The watchdogs of switches
//! wait far longer (100 ms in the paper, 400 ms in SONiC), as they act and this only reports. A host below that is in
//! the list of *alarms* if it pauses for more than [`alarm_part`](Thresholds::alarm_part) of the time: 1,000 µs a
//! second is what Collie (NSDI 2022) calls an anomaly. An incast pauses its senders without end too, but by switches
//! whose port to the receiver sends at full rate: its root is congestion, which is neither.
//!
//! # Victims
//!
//! A flow is a *victim* while it has messages under way, bytes that came by its path wait for a stopped link of it (at
//! its own NIC: any of its class), and the path has none of the roots of that link's pauses: it neither fills the
//! congested port nor sends to the host that pauses, and is no part of the cycle. It shares only links on the way
//! (DCQCN, SIGCOMM 2015, figure 4). The path is what the switches' tables say about its headers, asked again every 16
//! observations. Flows that stood for less than [`alarm_part`](Thresholds::alarm_part) of the time are left out.
//!
//! # Observations
//!
//! [`Detector::observe`] is called at intervals. Pause times and the starts of pauses are exact whatever the interval.
//! What a pause was due to is taken from the state at the end of the interval, so cycles and causes that come and go
//! in between are not seen.

pub mod cycles;
pub mod findings;
pub mod graph;
pub mod nowhere;
pub mod pauses;
mod pingmesh;
pub mod storms;
pub mod unpaused;
pub mod victims;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::{Duration, Time};

pub use cycles::{Cycle, Dependency};
pub(crate) use findings::MOST_CONGESTED;
pub use graph::Root;
pub(crate) use pauses::Totals;
pub use pauses::{LinkClass, LinkPauses, Span};
pub use pingmesh::{Failure, Probes, probes};
pub use storms::Storm;
pub use victims::Victim;

use crate::Simulation;

/// From when on pauses are reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Time over which the pauses of a host are added up.
    pub storm_window: Duration,
    /// Part of that time from which on its pauses are a storm, 0 to 1.
    pub storm_part: f64,
    /// Part of the run for which a host has to pause, or a flow to stand, to be reported, 0 to 1.
    pub alarm_part: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            storm_window: Duration::from_ms(1),
            storm_part: 0.5,
            // 1,000 µs a second (Collie, NSDI 2022).
            alarm_part: 1e-3,
        }
    }
}

/// A host that pauses for more than it should, but is no storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// The link that it stops.
    pub link: LinkClass,
    /// How long in all.
    pub paused: Duration,
}

/// Where a link stands among those that are stopped because of the same root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spread {
    /// The root.
    pub root: Root,
    /// Number of links between it and the root; 0: none.
    pub distance: u32,
}

/// Watches the pauses of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    thresholds: Thresholds,
    began: Time,
    /// The start of the measured window, and how long each victim had stood before it.
    window: Time,
    stood_before: BTreeMap<usize, Duration>,
    pauses: pauses::Pauses,
    cycles: cycles::Cycles,
    storms: storms::Storms,
    victims: victims::Victims,
    /// How long each link stood at each place.
    spread: BTreeMap<LinkClass, BTreeMap<Spread, Duration>>,
}

impl Detector {
    /// Creates a detector that observes from now on.
    pub fn new(simulation: &Simulation, thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            began: simulation.now(),
            window: simulation.now(),
            stood_before: BTreeMap::new(),
            pauses: pauses::Pauses::new(simulation),
            cycles: cycles::Cycles::default(),
            storms: storms::Storms::default(),
            victims: victims::Victims::default(),
            spread: BTreeMap::new(),
        }
    }

    /// Looks at the simulation now. Does nothing when no time has passed since the last call.
    pub fn observe(&mut self, simulation: &Simulation) {
        let before = self.pauses.observed();
        if simulation.now() <= before {
            return;
        }
        let recent = self.pauses.observe(simulation);
        let mut graph = graph::WaitGraph::new(simulation, &recent);
        self.cycles.observe(simulation, &graph, &recent);
        graph.end_at(self.cycles.closed_links());
        let trees = graph.trees();
        // Hosts that pause and cycles come after congestion, so they are what counts if a link has several roots.
        let mut places = vec![None; graph.waits.len()];
        for tree in &trees {
            for &(place, distance) in &tree.links {
                places[place] = Some(Spread {
                    root: tree.root,
                    distance,
                });
            }
        }
        for (wait, spread) in graph.waits.iter().zip(&places) {
            let Some(spread) = spread else { continue };
            let of_link = self.spread.entry(wait.link).or_default();
            *of_link.entry(*spread).or_default() += wait.paused;
        }
        self.storms.observe(
            simulation,
            &recent,
            &graph,
            &trees,
            before,
            &self.thresholds,
        );
        self.victims.observe(simulation, &graph, &trees);
    }

    /// Starts the measured window now. What the interval between two observations has in it counts where the interval
    /// ends.
    pub fn begin(&mut self, simulation: &Simulation) {
        self.window = simulation.now();
        let all = self.victims.all.iter();
        self.stood_before = all.map(|(flow, victim)| (*flow, victim.stood)).collect();
    }

    /// How long it has observed.
    pub fn observed(&self) -> Duration {
        self.pauses.observed().saturating_since(self.began)
    }

    /// Whether a time is more than the part of the run from which on it is reported.
    fn is_much(&self, time: Duration) -> bool {
        time.as_ps() as f64 > self.observed().as_ps() as f64 * self.thresholds.alarm_part
    }

    /// All cyclic waits, in the order in which they were found.
    pub fn cycles(&self) -> &[Cycle] {
        &self.cycles.all
    }

    /// The cyclic waits that could not end.
    pub fn deadlocks(&self) -> impl Iterator<Item = &Cycle> {
        self.cycles
            .all
            .iter()
            .filter(|cycle| cycle.locked.is_some())
    }

    /// How many of the cyclic waits that could not end were there in the measured window.
    pub fn measured_deadlocks(&self) -> usize {
        let lasted = |cycle: &&Cycle| cycle.opened.is_none_or(|opened| opened > self.window);
        self.deadlocks().filter(lasted).count()
    }

    /// How many pause storms there were in the measured window.
    pub fn measured_storms(&self) -> usize {
        let lasted = |storm: &&Storm| storm.to.is_none_or(|to| to > self.window);
        self.storms().iter().filter(lasted).count()
    }

    /// How many flows were victims of pauses in the measured window.
    pub fn measured_victims(&self) -> usize {
        let window = self.pauses.observed().saturating_since(self.window);
        let least = window.as_ps() as f64 * self.thresholds.alarm_part;
        let stood = |victim: &&Victim| {
            let before = self.stood_before.get(&victim.flow);
            let before = before.copied().unwrap_or(Duration::ZERO);
            (victim.stood - before).as_ps() as f64 > least
        };
        self.victims.all.values().filter(stood).count()
    }

    /// The pause storms, in the order of their beginnings.
    pub fn storms(&self) -> Vec<Storm> {
        self.storms.all(self.pauses.observed())
    }

    /// The hosts that pause for more than they should and are no storms, those that pause most first.
    pub fn alarms(&self) -> Vec<Alarm> {
        let storms = self.storms();
        let is_storm = |link: LinkClass| storms.iter().any(|storm| storm.link == link);
        let of_hosts = self.storms.by_origin.iter();
        let mut alarms: Vec<Alarm> = of_hosts
            .map(|(&link, &paused)| Alarm { link, paused })
            .filter(|alarm| self.is_much(alarm.paused) && !is_storm(alarm.link))
            .collect();
        alarms.sort_by_key(|alarm| (std::cmp::Reverse(alarm.paused), alarm.link));
        alarms
    }

    /// The victims of pauses, those that stood longest first.
    pub fn victims(&self) -> Vec<&Victim> {
        let mut all: Vec<&Victim> = (self.victims.all.values())
            .filter(|victim| self.is_much(victim.stood))
            .collect();
        all.sort_by_key(|victim| (std::cmp::Reverse(victim.stood), victim.flow));
        all
    }

    /// Each link that was ever stopped, with its pauses.
    pub fn pauses(&self) -> impl Iterator<Item = (LinkClass, &LinkPauses)> {
        let all = self
            .pauses
            .links
            .iter()
            .map(|(link, pauses)| (*link, pauses));
        all.filter(|(_, pauses)| !pauses.spans.is_empty())
    }

    /// Where a link stood for the longest time among those stopped because of the same root; `None` if it never had
    /// one.
    pub fn spread(&self, link: LinkClass) -> Option<Spread> {
        let places = self.spread.get(&link)?.iter();
        let longest = places.rev().max_by_key(|(_, time)| **time);
        longest.map(|(spread, _)| *spread)
    }
}

#[cfg(test)]
mod tests;
