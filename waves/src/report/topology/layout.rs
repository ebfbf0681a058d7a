//! Where the boxes of nodes lie: hosts at the bottom, switches above them, and as many nodes in a box as there is room
//! for.

use std::collections::{BTreeMap, VecDeque};

use super::{FONT, LINE_HEIGHT, Seen, TIER};
use crate::report::data::{NodeKind, Topology};
use crate::report::text::width;

const BOX_HEIGHT: f64 = 28.0;
const LEAST_BOX: f64 = 46.0;
/// Left and right padding of a name in its box, together.
const PADDING: f64 = 20.0;
/// Minimum gap between boxes of a tier.
const GAP: f64 = 10.0;
/// Preferred gap between boxes of a tier.
const GOOD_GAP: f64 = 44.0;
/// Room above and below all boxes: a stroke through one that is dead goes beyond it.
const MARGIN: f64 = 6.0;

/// One node, or several similar nodes of a tier whose names do not all fit.
pub(super) struct Group {
    pub(super) kind: NodeKind,
    pub(super) nodes: Vec<usize>,
    /// The text in the box: the node's name, or the number of nodes and the first and last of their names.
    pub(super) label: Vec<String>,
    /// What happened to the nodes, under the name.
    pub(super) fate: Vec<String>,
    /// Whether the node is dead.
    pub(super) dead: bool,
}

impl Group {
    fn new(topology: &Topology, seen: &Seen<'_>, nodes: Vec<usize>) -> Self {
        let name = |place: usize| &topology.nodes[nodes[place]].name;
        let kind = topology.nodes[nodes[0]].kind;
        let what = match kind {
            NodeKind::Switch => "switches",
            NodeKind::HostRtl | NodeKind::HostModel => "hosts",
        };
        let label = match nodes.len() {
            1 => vec![name(0).clone()],
            count => vec![
                format!("{count} {what}"),
                format!("{} … {}", name(0), name(count - 1)),
            ],
        };
        let names = || nodes.iter().map(|node| &*topology.nodes[*node].name);
        let fate = seen.fate(&names().collect::<Vec<_>>());
        let dead = nodes.len() == 1 && names().any(|name| seen.is_dead(name));
        Self {
            kind,
            label,
            fate,
            dead,
            nodes,
        }
    }

    /// All lines of text.
    fn lines(&self) -> usize {
        self.label.len() + self.fate.len()
    }

    pub(super) fn width(&self) -> f64 {
        let lines = self.label.iter().chain(&self.fate);
        let widest = lines.map(|line| width(line, FONT));
        (widest.fold(0.0, f64::max) + PADDING).max(LEAST_BOX)
    }

    pub(super) fn height(&self) -> f64 {
        BOX_HEIGHT + (self.lines() - 1) as f64 * LINE_HEIGHT
    }
}

/// The positions of groups.
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Each group with the centre of its box.
    pub(super) groups: Vec<(Group, f64, f64)>,
}

impl Layout {
    /// The group of each of so many nodes.
    pub(super) fn group_of(&self, nodes: usize) -> Vec<usize> {
        let mut group_of = vec![0; nodes];
        for (place, (group, ..)) in self.groups.iter().enumerate() {
            for &node in &group.nodes {
                group_of[node] = place;
            }
        }
        group_of
    }
}

pub(super) fn index(topology: &Topology) -> BTreeMap<&str, usize> {
    (topology.nodes.iter().enumerate())
        .map(|(index, node)| (node.name.as_str(), index))
        .collect()
}

fn neighbours(topology: &Topology) -> Vec<Vec<usize>> {
    let index = index(topology);
    let mut neighbours = vec![Vec::new(); topology.nodes.len()];
    for link in &topology.links {
        if let (Some(&a), Some(&b)) = (index.get(link.a.as_str()), index.get(link.b.as_str())) {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    neighbours
}

/// Returns the nodes by tier. Hosts are tier 0; a switch is one above the lowest of its neighbours.
fn tiers(topology: &Topology) -> Vec<Vec<usize>> {
    let neighbours = neighbours(topology);
    let mut tier: Vec<Option<usize>> = (topology.nodes.iter())
        .map(|node| (node.kind != NodeKind::Switch).then_some(0))
        .collect();
    let mut queue: VecDeque<usize> = (0..tier.len())
        .filter(|&index| tier[index].is_some())
        .collect();
    while let Some(node) = queue.pop_front() {
        for &next in &neighbours[node] {
            if tier[next].is_none() {
                tier[next] = tier[node].map(|tier| tier + 1);
                queue.push_back(next);
            }
        }
    }
    // Switches that reach no host are placed in the tier of switches with hosts.
    let highest = tier.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut tiers = vec![Vec::new(); highest + 1];
    for (index, tier) in tier.into_iter().enumerate() {
        tiers[tier.unwrap_or(1)].push(index);
    }
    // Hosts are placed under their switches, which keep the scenario's order.
    let mut position = vec![0; topology.nodes.len()];
    for tier in &tiers[1..] {
        for (place, &node) in tier.iter().enumerate() {
            position[node] = place;
        }
    }
    let under = |&host: &usize| neighbours[host].first().map(|&switch| position[switch]);
    tiers[0].sort_by_key(under);
    tiers.retain(|tier| !tier.is_empty());
    tiers
}

/// A ring of switches as two rows, each with its hosts outside: the tiers of hosts and switches otherwise. `None` if the
/// switches are no ring.
fn ring(topology: &Topology, tiers: &[Vec<usize>]) -> Option<Vec<Vec<usize>>> {
    let [hosts, switches] = tiers else {
        return None;
    };
    let neighbours = neighbours(topology);
    let beside = |node: usize| {
        neighbours[node]
            .iter()
            .copied()
            .filter(|next| switches.contains(next))
    };
    let first = *switches.first()?;
    if switches.len() < 3 || switches.iter().any(|&node| beside(node).count() != 2) {
        return None;
    }
    let mut around = vec![first];
    while let Some(next) = beside(*around.last()?).find(|next| !around.contains(next)) {
        around.push(next);
    }
    if around.len() != switches.len() {
        return None;
    }
    let lower: Vec<usize> = around
        .split_off(around.len().div_ceil(2))
        .into_iter()
        .rev()
        .collect();
    let of = |row: &[usize]| -> Vec<usize> {
        let under = |switch: &usize| {
            hosts
                .iter()
                .copied()
                .filter(|host| neighbours[*host].contains(switch))
                .collect()
        };
        row.iter()
            .flat_map(|switch| -> Vec<usize> { under(switch) })
            .collect()
    };
    let rows = vec![of(&lower), lower, around.clone(), of(&around)];
    Some(rows.into_iter().filter(|row| !row.is_empty()).collect())
}

/// Returns the connected components of the nodes in `within`, as a number for each node.
fn parts(neighbours: &[Vec<usize>], within: &[usize]) -> Vec<usize> {
    const OUTSIDE: usize = usize::MAX;
    let mut part = vec![OUTSIDE; neighbours.len()];
    let mut inside = vec![false; neighbours.len()];
    within.iter().for_each(|&node| inside[node] = true);
    for &first in within {
        if part[first] != OUTSIDE {
            continue;
        }
        let mut queue = VecDeque::from([first]);
        part[first] = first;
        while let Some(node) = queue.pop_front() {
            for &next in &neighbours[node] {
                if inside[next] && part[next] == OUTSIDE {
                    part[next] = first;
                    queue.push_back(next);
                }
            }
        }
    }
    part
}

/// Returns the boxes of a tier, as many as fit into `room`.
///
/// The first of these groupings that fits is used: single nodes; nodes that are joined by their own tier and those
/// below it; nodes that are joined by these and the tier above, and so on, so that a box is a rack, a podset, …; all
/// nodes of a kind.
fn boxes(
    topology: &Topology,
    seen: &Seen<'_>,
    tiers: &[Vec<usize>],
    tier: usize,
    room: f64,
) -> Vec<Group> {
    let neighbours = neighbours(topology);
    let by = |key: &dyn Fn(usize) -> usize| {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut places = BTreeMap::new();
        for &node in &tiers[tier] {
            let kind = topology.nodes[node].kind;
            let place = *places
                .entry((key(node), kind as u8))
                .or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(node);
        }
        let groups = groups
            .into_iter()
            .map(|nodes| Group::new(topology, seen, nodes));
        groups.collect::<Vec<_>>()
    };
    let fits = |groups: &Vec<Group>| {
        let widest = groups.iter().map(Group::width).fold(0.0, f64::max);
        groups.len() as f64 * (widest + GAP) <= room
    };
    let nodes = by(&|node| node);
    if fits(&nodes) {
        return nodes;
    }
    for above in tier..tiers.len() {
        let part = parts(&neighbours, &tiers[..=above].concat());
        let groups = by(&|node| part[node]);
        if fits(&groups) {
            return groups;
        }
    }
    by(&|_| 0)
}

pub(super) fn lay_out(topology: &Topology, seen: &Seen<'_>, room: f64) -> Layout {
    let tiers = tiers(topology);
    let tiers = ring(topology, &tiers).unwrap_or(tiers);
    let tiers: Vec<Vec<Group>> = (0..tiers.len())
        .map(|tier| boxes(topology, seen, &tiers, tier, room))
        .collect();
    let widest = |tier: &[Group]| tier.iter().map(Group::width).fold(0.0, f64::max);
    let wanted = tiers
        .iter()
        .map(|tier| tier.len() as f64 * (widest(tier) + GOOD_GAP))
        .fold(0.0, f64::max);
    let width = wanted.clamp(160.0_f64.min(room), room);
    let highest = tiers
        .iter()
        .flatten()
        .map(Group::height)
        .fold(0.0, f64::max);
    let pitch_down = TIER + highest - BOX_HEIGHT;
    let rows = tiers.len();
    let mut groups = Vec::new();
    for (row, tier) in tiers.into_iter().rev().enumerate() {
        let y = row as f64 * pitch_down + highest / 2.0 + MARGIN;
        let pitch = width / tier.len() as f64;
        for (place, group) in tier.into_iter().enumerate() {
            groups.push((group, (place as f64 + 0.5) * pitch, y));
        }
    }
    Layout {
        width,
        height: (rows - 1) as f64 * pitch_down + highest + 2.0 * MARGIN,
        groups,
    }
}
