//! Pause storms: pauses that do not come from congestion in the network.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::NodeId;
use xoff_sim::time::{Duration, Time};

use super::Thresholds;
use super::graph::{Root, Tree, WaitGraph};
use super::pauses::{LinkClass, Recent};
use crate::Simulation;

/// A pause storm: a host that stops its neighbour for a large part of the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// The link that the origin stops.
    pub link: LinkClass,
    /// The host that pauses.
    pub origin: NodeId,
    /// When the first of its pauses took effect; if several were in one observed interval, the start of the interval.
    pub from: Time,
    /// When the last ended; `None` if it lasts.
    pub to: Option<Time>,
    /// How long the link was stopped from `from` on.
    pub paused: Duration,
    /// The links that stood because of it, the first among them, each with the start of its pause when it was seen
    /// first.
    pub stopped: BTreeMap<LinkClass, Time>,
}

/// Pauses of one origin that may be or become a storm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Suspect {
    storm: Storm,
    /// For the observations of the window, their time and how long the link was stopped before each.
    window: VecDeque<(Time, Duration)>,
    /// When the last pause ended.
    until: Time,
    is_storm: bool,
}

/// The storms of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Storms {
    ended: Vec<Storm>,
    suspects: BTreeMap<LinkClass, Suspect>,
    /// How long each host has stopped its neighbour in all, by the link that it stops.
    pub(super) by_origin: BTreeMap<LinkClass, Duration>,
}

impl Storms {
    /// Looks at the pauses since `before`, the time of the last observation.
    pub(super) fn observe(
        &mut self,
        simulation: &Simulation,
        recent: &[Recent],
        graph: &WaitGraph,
        trees: &[Tree],
        before: Time,
        thresholds: &Thresholds,
    ) {
        let now = simulation.now();
        for recent in recent
            .iter()
            .filter(|recent| recent.paused > Duration::ZERO)
        {
            let Some((origin, _)) = recent.link.peer(simulation) else {
                continue;
            };
            if simulation.network().node(origin).host().is_none() {
                continue;
            }
            let root = Root::Paused(recent.link);
            let tree = trees.binary_search_by_key(&root, |tree| tree.root);
            let tree = tree.map_or(&[][..], |place| &trees[place].links);
            *self.by_origin.entry(recent.link).or_default() += recent.paused;
            let suspect = self.suspects.entry(recent.link).or_insert_with(|| Suspect {
                storm: Storm {
                    link: recent.link,
                    origin,
                    from: match recent.since {
                        Some(since) if now.saturating_since(since) >= recent.paused => {
                            since.max(before)
                        }
                        _ => before,
                    },
                    to: None,
                    paused: Duration::ZERO,
                    stopped: BTreeMap::new(),
                },
                window: VecDeque::new(),
                until: now,
                is_storm: false,
            });
            suspect.window.push_back((now, recent.paused));
            suspect.storm.paused += recent.paused;
            suspect.until = recent.until.min(now);
            for (place, _) in tree {
                let wait = &graph.waits[*place];
                let since = wait.since.unwrap_or(before);
                suspect.storm.stopped.entry(wait.link).or_insert(since);
            }
        }
        let ended = &mut self.ended;
        self.suspects.retain(|_, suspect| {
            let within = |at: Time| now.saturating_since(at) < thresholds.storm_window;
            while suspect.window.front().is_some_and(|(at, _)| !within(*at)) {
                let gone = suspect.window.pop_front();
                if !suspect.is_storm
                    && let (Some((at, paused)), Some(_)) = (gone, suspect.window.front())
                {
                    // The storm, if it becomes one, began later.
                    suspect.storm.from = at;
                    suspect.storm.paused =
                        Duration::from_ps(suspect.storm.paused.as_ps() - paused.as_ps());
                }
            }
            let paused = suspect
                .window
                .iter()
                .fold(Duration::ZERO, |sum, one| sum + one.1);
            // Observations may be further apart than the window is long.
            let window = thresholds.storm_window.max(now.saturating_since(before));
            if paused.as_ps() as f64 >= window.as_ps() as f64 * thresholds.storm_part {
                suspect.is_storm = true;
            } else if suspect.is_storm {
                suspect.storm.to = Some(suspect.until);
                ended.push(suspect.storm.clone());
                return false;
            }
            !suspect.window.is_empty()
        });
    }

    /// The storms until now, in the order of their beginnings.
    pub(super) fn all(&self, now: Time) -> Vec<Storm> {
        let lasting = self.suspects.values().filter(|suspect| suspect.is_storm);
        let lasting = lasting.map(|suspect| Storm {
            to: (suspect.until < now).then_some(suspect.until),
            ..suspect.storm.clone()
        });
        let mut all: Vec<Storm> = self.ended.iter().cloned().chain(lasting).collect();
        all.sort_by_key(|storm| (storm.from, storm.link));
        all
    }
}
