//! Where the hosts of probes are, and which of these places explains what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::kernel::{NodeId, PortId};

use super::super::pauses::name;
use super::Pair;
use super::links::Over;
use crate::Simulation;
use crate::scenario::pingmesh::Reach;

/// Where hosts are: the switch at their port, and hosts that probe each other without a spine between them.
pub(super) struct Places {
    rack: BTreeMap<NodeId, NodeId>,
    podset: BTreeMap<NodeId, NodeId>,
}

impl Places {
    pub(super) fn of(simulation: &Simulation, pairs: &[Pair<'_>]) -> Self {
        let ends = pairs.iter().flat_map(|pair| pair.ends);
        let rack = |host: NodeId| {
            let peer = simulation.network().peer(host, PortId(0));
            (host, peer.map_or(host, |(switch, _)| switch))
        };
        let rack: BTreeMap<NodeId, NodeId> = ends.map(rack).collect();
        // Racks that are joined, each with the least of them.
        let mut joined: BTreeMap<NodeId, NodeId> = rack.values().map(|at| (*at, *at)).collect();
        for pair in pairs.iter().filter(|pair| pair.reach != Reach::Dc) {
            let [a, b] = pair.ends.map(|host| joined[&rack[&host]]);
            let (least, other) = (a.min(b), a.max(b));
            for of in joined.values_mut().filter(|of| **of == other) {
                *of = least;
            }
        }
        Self {
            podset: rack.iter().map(|(host, at)| (*host, joined[at])).collect(),
            rack,
        }
    }
}

/// The smallest place that explains most of the bad pairs, and all pairs that touch it. `None` without a bad one.
pub(super) fn place_of(
    simulation: &Simulation,
    places: &Places,
    pairs: &[Pair<'_>],
    bad: &BTreeSet<usize>,
    over: Option<&Over>,
) -> Option<(String, BTreeSet<usize>)> {
    if bad.is_empty() {
        return None;
    }
    let touching = |group: &dyn Fn(NodeId) -> NodeId, of: NodeId| -> BTreeSet<usize> {
        let touches = |at: &usize| pairs[*at].ends.iter().any(|host| group(*host) == of);
        (0..pairs.len()).filter(touches).collect()
    };
    let most = |part: usize, all: usize| part * 2 >= all;
    // Hosts most of whose pairs are bad, racks most of whose hosts are such, podsets most of whose racks are such.
    let host = |host: NodeId| host;
    let bad_hosts: BTreeSet<NodeId> = (places.rack.keys().copied())
        .filter(|of| {
            let all = touching(&host, *of);
            let part = all.intersection(bad).count();
            part > 1 && most(part, all.len())
        })
        .collect();
    // They have to explain the rack: of a bad link behind it, some hosts have many pairs by chance.
    let explained = |host: &NodeId| {
        let of_rack = |at: &&usize| {
            let ends = pairs[**at].ends;
            ends.iter().any(|end| places.rack[end] == places.rack[host])
        };
        let of_rack: Vec<&usize> = bad.iter().filter(of_rack).collect();
        let by_hosts = |at: &&&usize| pairs[***at].ends.iter().any(|end| bad_hosts.contains(end));
        most(of_rack.iter().filter(by_hosts).count(), of_rack.len())
    };
    let bad_hosts: BTreeSet<NodeId> = bad_hosts.iter().copied().filter(explained).collect();
    let groups = |of: &BTreeMap<NodeId, NodeId>, members: &BTreeSet<NodeId>| -> BTreeSet<NodeId> {
        let all: BTreeSet<NodeId> = of.values().copied().collect();
        let is_bad = |group: &NodeId| {
            let inside = of.iter().filter(|(_, at)| *at == group);
            let (mut count, mut part) = (0, 0);
            for (member, _) in inside {
                count += 1;
                part += usize::from(members.contains(member));
            }
            part > 1 && most(part, count)
        };
        all.into_iter().filter(is_bad).collect()
    };
    let bad_racks = groups(&places.rack, &bad_hosts);
    let racks: BTreeMap<NodeId, NodeId> = (places.rack.iter())
        .map(|(host, rack)| (*rack, places.podset[host]))
        .collect();
    let bad_podsets = groups(&racks, &bad_racks);
    let rack = |host: NodeId| places.rack[&host];
    let podset = |host: NodeId| places.podset[&host];
    if let Some(of) = bad_podsets.first() {
        let first = name(simulation, *of);
        return Some((
            format!("the podset of rack {first}"),
            touching(&podset, *of),
        ));
    }
    if let Some(of) = bad_racks.first() {
        return Some((
            format!("rack {}", name(simulation, *of)),
            touching(&rack, *of),
        ));
    }
    let of_host = bad_hosts.first().map(|of| (of, touching(&host, *of)));
    if let Some((of, place)) =
        of_host.filter(|(_, place)| !over.is_some_and(|over| over.explains(place, bad)))
    {
        return Some((name(simulation, *of).to_string(), place));
    }
    // Single pairs, such as those whose path has a bad link: the rack that most of them have in common.
    let racks: BTreeSet<NodeId> = places.rack.values().copied().collect();
    let covers = |of: &NodeId| touching(&rack, *of).intersection(bad).count();
    let of = racks
        .iter()
        .max_by_key(|of| (covers(of), std::cmp::Reverse(**of)))?;
    let of_rack = touching(&rack, *of);
    let common = of_rack.intersection(bad).count();
    if bad.len() > 1 && common * 2 >= bad.len() {
        return Some((format!("rack {}", name(simulation, *of)), of_rack));
    }
    Some(("the network".into(), (0..pairs.len()).collect()))
}
