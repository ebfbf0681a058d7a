//! What routing knows of links that go down and come up: the routes of all switches, and from when on they have them.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::switch::forwarding::ForwardingConfig;
use xoff_sim::time::Time;

use crate::plan::Plan;
use crate::scenario::{Action, Scenario};

/// Routes that switches have during a run after those at its start.
#[derive(Debug, Clone, Default)]
pub(super) struct Converged {
    /// The routes of all switches, in the order of switches, once for each set of links that are down.
    pub(super) tables: Vec<Vec<ForwardingConfig>>,
    /// From when on they have which of these.
    pub(super) from: Vec<(Time, usize)>,
}

impl Converged {
    /// The routes that follow from the events of a scenario that say how long it takes until they are known.
    pub(super) fn new(scenario: &Scenario, plan: &Plan) -> Self {
        let end = Time::ZERO + scenario.duration;
        let mut known: Vec<(Time, &[String; 2], bool)> = Vec::new();
        for event in &scenario.events {
            let (ends, up) = match &event.action {
                Action::LinkDown(ends) => (ends, false),
                Action::LinkUp(ends) => (ends, true),
                _ => continue,
            };
            let Some(converge) = event.converge else {
                continue;
            };
            let times = event.times(end).map(|at| at.saturating_add(converge));
            known.extend(times.filter(|at| *at < end).map(|at| (at, ends, up)));
        }
        known.sort_by_key(|(at, ..)| *at);
        let mut down: BTreeSet<(NodeId, PortId)> = BTreeSet::new();
        let mut numbers = BTreeMap::new();
        let mut converged = Self::default();
        for (at, [a, b], up) in known {
            for end in plan.between(plan.number(a), plan.number(b)).concat() {
                match up {
                    true => down.remove(&end),
                    false => down.insert(end),
                };
            }
            let table = *numbers.entry(down.clone()).or_insert_with(|| {
                converged.tables.push(plan.routes_without(scenario, &down));
                converged.tables.len() - 1
            });
            converged.from.push((at, table));
        }
        converged
    }
}
