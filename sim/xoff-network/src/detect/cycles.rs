//! Cyclic waits, and whether they can end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::Time;

use super::graph::WaitGraph;
use super::pauses::{LinkClass, Recent, name};
use crate::Simulation;

/// A link of a cycle, and why it waits for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The stopped link.
    pub link: LinkClass,
    /// Since when it is stopped without a gap.
    pub since: Time,
    /// Bytes that arrived by this link and wait to be sent on the next link of the cycle, when the cycle was found.
    pub bytes: u64,
}

/// A cyclic wait: stopped links, each of which waits for the next, and the last for the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// The links in the order of their direction, from the node with the least number.
    pub dependencies: Vec<Dependency>,
    /// When it closed: the latest start of a pause on it.
    pub closed: Time,
    /// When it was first seen that it cannot end: a deadlock.
    pub locked: Option<Time>,
    /// When it ended. For a pause that had begun again by the next observation, the time of that beginning.
    pub opened: Option<Time>,
}

impl Cycle {
    /// The class of all its links.
    pub fn class(&self) -> u8 {
        self.dependencies[0].link.class
    }

    /// The sum of the dependencies' bytes.
    pub fn bytes(&self) -> u64 {
        self.dependencies.iter().map(|link| link.bytes).sum()
    }

    /// The nodes of the cycle: `t1 → la → t0 → lb → t1`, with ports where several cables join two of them.
    pub fn text(&self, simulation: &Simulation) -> String {
        let mut text = String::new();
        for dependency in &self.dependencies {
            let link = dependency.link.text(simulation);
            let (from, _) = link.split_once(" → ").unwrap_or((&link, ""));
            text += &format!("{from} → ");
        }
        text + name(simulation, self.dependencies[0].link.node)
    }
}

/// The cyclic waits of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cycles {
    pub(super) all: Vec<Cycle>,
}

impl Cycles {
    /// Notes which cycles have ended, and finds new ones.
    pub(super) fn observe(
        &mut self,
        simulation: &Simulation,
        graph: &WaitGraph,
        recent: &[Recent],
    ) {
        let now = simulation.now();
        let open = self.all.iter_mut().filter(|cycle| cycle.opened.is_none());
        for cycle in open {
            cycle.opened = opened(cycle, graph, recent, now);
        }
        let components = components(graph);
        if components.is_empty() {
            return;
        }
        let locked = locked(simulation, graph);
        for component in &components {
            let links: BTreeSet<LinkClass> = (component.iter())
                .map(|place| graph.waits[*place].link)
                .collect();
            let known = self.all.iter_mut().find(|cycle| {
                cycle.opened.is_none() && links.contains(&cycle.dependencies[0].link)
            });
            let cycle = match known {
                Some(cycle) => cycle,
                None => {
                    self.all.push(shortest(graph, component));
                    self.all.last_mut().expect("it was just added")
                }
            };
            let links = cycle.dependencies.iter().map(|dependency| dependency.link);
            if cycle.locked.is_none() && links.into_iter().all(|link| locked.contains(&link)) {
                cycle.locked = Some(now);
            }
        }
    }

    /// The links of cycles that are closed.
    pub(super) fn closed_links(&self) -> impl Iterator<Item = LinkClass> + '_ {
        let closed = self.all.iter().filter(|cycle| cycle.opened.is_none());
        closed.flat_map(|cycle| cycle.dependencies.iter().map(|dependency| dependency.link))
    }
}

/// When a cycle ended, if one of its links or dependencies is no longer there.
fn opened(cycle: &Cycle, graph: &WaitGraph, recent: &[Recent], now: Time) -> Option<Time> {
    let mut opened = None;
    let mut at = |time: Time| opened = Some(opened.map_or(time, |other: Time| other.min(time)));
    for (index, dependency) in cycle.dependencies.iter().enumerate() {
        match graph.place(dependency.link) {
            Some(place) if graph.waits[place].since != Some(dependency.since) => {
                let ended = recent.iter().find(|recent| recent.link == dependency.link);
                let ended = ended.map_or(now, |ended| ended.until.min(now));
                // Stopped again, after a gap whose start is not known, or not stopped now.
                at(graph.waits[place].since.unwrap_or(ended));
            }
            Some(place) => {
                let next = cycle.dependencies[(index + 1) % cycle.dependencies.len()].link;
                let waits_for = &graph.waits[place].waits_for;
                if !waits_for
                    .iter()
                    .any(|(to, _)| graph.waits[*to].link == next)
                {
                    at(now);
                }
            }
            // Its pause ended when the last observation was made.
            None => at(now),
        }
    }
    opened
}

/// The sets of links that wait for each other in cycles.
fn components(graph: &WaitGraph) -> Vec<Vec<usize>> {
    let mut directed = DiGraph::<(), ()>::new();
    for _ in &graph.waits {
        directed.add_node(());
    }
    for (place, wait) in graph.waits.iter().enumerate() {
        for (next, _) in &wait.waits_for {
            directed.add_edge(NodeIndex::new(place), NodeIndex::new(*next), ());
        }
    }
    // A link never waits for itself: what arrives by it does not leave by the port where it starts.
    let cyclic = tarjan_scc(&directed)
        .into_iter()
        .filter(|links| links.len() > 1);
    let mut components: Vec<Vec<usize>> = cyclic
        .map(|links| links.into_iter().map(NodeIndex::index).collect())
        .collect();
    for component in &mut components {
        component.sort_unstable();
    }
    components.sort_unstable();
    components
}

/// A shortest cycle of a component, from its link with the least number; of several, the first in the order of links.
fn shortest(graph: &WaitGraph, component: &[usize]) -> Cycle {
    let inside: BTreeSet<usize> = component.iter().copied().collect();
    let from = |first: usize| -> Option<Vec<usize>> {
        let mut came: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([first]);
        while let Some(place) = queue.pop_front() {
            for &(next, _) in &graph.waits[place].waits_for {
                if next == first {
                    let mut path = vec![place];
                    while let Some(&before) = path.last().and_then(|last| came.get(last)) {
                        path.push(before);
                    }
                    path.reverse();
                    return Some(path);
                }
                if inside.contains(&next) && !came.contains_key(&next) {
                    came.insert(next, place);
                    queue.push_back(next);
                }
            }
        }
        None
    };
    let cycles = component.iter().filter_map(|first| from(*first));
    let mut places = cycles
        .min_by_key(Vec::len)
        .expect("a strongly connected component has a cycle");
    let least = (0..places.len()).min_by_key(|index| graph.waits[places[*index]].link);
    places.rotate_left(least.unwrap_or(0));
    let dependency = |index: usize| {
        let wait = &graph.waits[places[index]];
        let next = places[(index + 1) % places.len()];
        let to_next = wait.waits_for.iter().find(|(place, _)| *place == next);
        Dependency {
            link: wait.link,
            since: wait.since.unwrap_or(Time::ZERO),
            bytes: to_next.map_or(0, |(_, bytes)| *bytes),
        }
    };
    let dependencies: Vec<Dependency> = (0..places.len()).map(dependency).collect();
    let closed = dependencies.iter().map(|link| link.since).max();
    Cycle {
        closed: closed.unwrap_or(Time::ZERO),
        dependencies,
        locked: None,
        opened: None,
    }
}

/// The stopped links that will never start again, whatever hosts do, as long as nothing is dropped.
///
/// Starts from all links that an ingress queue in XOFF stops. A link leaves the set when its queue would send XON after
/// everything has left the switch but the bytes that wait for links of the set. What remains in the end keeps itself
/// stopped. Pauses of hosts are taken to end, so a link that only waits for a host is not in the set.
fn locked(simulation: &Simulation, graph: &WaitGraph) -> BTreeSet<LinkClass> {
    let ingress_of = |link: &LinkClass| link.peer(simulation);
    let held_by = |link: &LinkClass| -> Option<(NodeId, PortId)> {
        let (peer, port) = ingress_of(link)?;
        let switch = simulation.network().node(peer).switch()?;
        (switch.xoff(port) & 1 << link.class != 0).then_some((peer, port))
    };
    let mut set: BTreeMap<LinkClass, (NodeId, PortId)> = (graph.waits.iter())
        .filter(|wait| wait.since.is_some())
        .filter_map(|wait| Some((wait.link, held_by(&wait.link)?)))
        .collect();
    loop {
        let before = set.len();
        let switches: BTreeSet<NodeId> = set.values().map(|(node, _)| *node).collect();
        for node in switches {
            let switch = simulation.network().node(node).switch();
            let Some(switch) = switch else { continue };
            let mut held: BTreeMap<(PortId, u8), u64> = BTreeMap::new();
            for link in set.keys().filter(|link| link.node == node) {
                for (ingress, bytes) in switch.waiting_from(link.port, link.class) {
                    *held.entry((ingress, link.class)).or_default() += bytes;
                }
            }
            let held = |port, priority| held.get(&(port, priority)).copied().unwrap_or(0);
            let still = switch.buffer().xoff_with(held);
            set.retain(|link, (at, port)| *at != node || still.contains(&(*port, link.class)));
        }
        if set.len() == before {
            return set.into_keys().collect();
        }
    }
}
