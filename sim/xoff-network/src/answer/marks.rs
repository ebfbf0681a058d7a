//! Where in the network it broke.

use serde::{Deserialize, Serialize};

use super::Seen;
use crate::scenario::Action;

/// What a picture of the network marks. Nodes are named as in the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Links of a cycle of pauses, in its order: who sends, and who stops it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<[String; 2]>,
    /// Hosts that died, at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<String>,
    /// Links that failed, at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<[String; 2]>,
    /// Hosts that pause for more than they should.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Devices whose settings are not as `audit` wants them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// Congested links that others wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub congested: Vec<[String; 2]>,
}

/// Congested links that are marked, those with the most victims first.
const MOST_CONGESTED: usize = 3;

impl Marks {
    pub(super) fn of(seen: &Seen<'_>) -> Self {
        let detector = seen.recorder.detector();
        let ends = |link: crate::detect::LinkClass| {
            let (peer, _) = link.peer(seen.simulation)?;
            Some([link.node, peer].map(|node| seen.name(node).to_owned()))
        };
        let cycles = detector.cycles();
        let cycle = (cycles.iter().find(|cycle| cycle.locked.is_some())).or(cycles.first());
        let cycle = cycle.iter().flat_map(|cycle| &cycle.dependencies);
        let cycle = cycle.filter_map(|dependency| ends(dependency.link));
        let mut origins: Vec<String> = (detector.storms().iter())
            .map(|storm| seen.name(storm.origin).to_owned())
            .collect();
        let alarms = detector.alarms().into_iter();
        origins.extend(alarms.filter_map(|alarm| ends(alarm.link).map(|[_, host]| host)));
        origins.sort();
        origins.dedup();
        let (mut dead, mut failed) = (Vec::new(), Vec::new());
        for event in &seen.scenario.events {
            match &event.action {
                Action::Die(host) => dead.push(host.clone()),
                Action::LinkDown(ends) => failed.push(ends.clone()),
                _ => {}
            }
        }
        Self {
            cycle: cycle.collect(),
            dead,
            failed,
            origins,
            differing: seen.differing().into_iter().map(String::from).collect(),
            congested: seen
                .congested()
                .into_iter()
                .take(MOST_CONGESTED)
                .filter_map(ends)
                .collect(),
        }
    }
}
