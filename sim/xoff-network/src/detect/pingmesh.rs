//! What the probes of Pingmesh tell, and where: pairs of hosts without answers, with late ones, or with lost ones, put down
//! to the smallest place that they have in common.
//!
//! Only what a prober sees is used: who asks whom, when answers come, and which hosts share a rack and a podset.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};

use super::pauses::name;
use crate::results::{Finding, FindingKind, ns};
use crate::scenario::pingmesh::{NAME, Reach, TIMEOUT};
use crate::words::length;
use crate::{FlowEnds, Simulation};

/// A pair is late if its median is above this many times that of all pairs of its reach, and [`LATE_BY`] above it.
const LATE: u64 = 3;
/// Less than this is a queue, not a fault.
const LATE_BY: Duration = Duration::from_us(5);
/// Without an answer for this long, a pair has none. It is two timeouts.
const SILENT: Duration = Duration::from_ns((2 * 4_096) << TIMEOUT);
/// A probe that takes this many times the 99th percentile of its reach was sent again: it, or its answer, was lost.
const LOST: u64 = 4;
/// Fewer lost probes of a place are not told.
const FEW: usize = 3;

/// What is wrong with a pair, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    Silent,
    Late,
    Lossy,
}

impl Wrong {
    const ALL: [Self; 3] = [Self::Silent, Self::Late, Self::Lossy];
}

/// The probes from a host to another one.
struct Pair {
    reach: Reach,
    ends: [NodeId; 2],
    /// Latencies of its probes, ascending.
    latencies: Vec<Duration>,
    silent: bool,
}

impl Pair {
    fn of(simulation: &Simulation, reach: Reach, flow: &FlowEnds) -> Self {
        let sender = simulation.sender(flow);
        let delivered = sender.delivered();
        let mut latencies: Vec<Duration> = delivered.iter().map(|probe| probe.latency).collect();
        latencies.sort_unstable();
        let last = delivered.last().map_or(flow.start, |probe| probe.at);
        let waits = sender.open() > 0 && simulation.now().saturating_since(last) > SILENT;
        Self {
            reach,
            ends: [flow.from, flow.to],
            latencies,
            silent: waits || sender.failed().is_some(),
        }
    }

    fn median(&self) -> Option<Duration> {
        self.latencies.get(self.latencies.len() / 2).copied()
    }

    /// Number of probes that were lost.
    fn lost(&self, usual: &Usual) -> usize {
        let latest = usual.tail * LOST + LATE_BY;
        self.latencies.len() - self.latencies.partition_point(|latency| *latency <= latest)
    }

    fn wrong(&self, usual: &Usual) -> Option<Wrong> {
        let late =
            |median: Duration| median > usual.median * LATE && median > usual.median + LATE_BY;
        match self.median() {
            _ if self.silent => Some(Wrong::Silent),
            Some(median) if late(median) => Some(Wrong::Late),
            Some(_) if self.lost(usual) > 0 => Some(Wrong::Lossy),
            _ => None,
        }
    }
}

/// What probes of a reach take.
#[derive(Debug, Clone, Copy)]
struct Usual {
    /// The median over pairs of their medians.
    median: Duration,
    /// The 99th percentile of all probes.
    tail: Duration,
}

impl Usual {
    fn of<'p>(pairs: impl Iterator<Item = &'p Pair> + Clone) -> Self {
        let at = |mut latencies: Vec<Duration>, percent: usize| {
            latencies.sort_unstable();
            let place = latencies.len() * percent / 100;
            latencies.get(place).copied().unwrap_or(Duration::ZERO)
        };
        let all = pairs
            .clone()
            .flat_map(|pair| pair.latencies.iter().copied());
        Self {
            tail: at(all.collect(), 99),
            median: at(pairs.filter_map(Pair::median).collect(), 50),
        }
    }
}

/// Where hosts are: the switch at their port, and hosts that probe each other without a spine between them.
struct Places {
    rack: BTreeMap<NodeId, NodeId>,
    podset: BTreeMap<NodeId, NodeId>,
}

impl Places {
    fn of(simulation: &Simulation, pairs: &[Pair]) -> Self {
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

/// What the probes tell, the gravest first.
pub(super) fn findings(simulation: &Simulation, began: Time) -> Vec<Finding> {
    let mut pairs = Vec::new();
    for series in simulation.series().iter().filter(|series| series.probes) {
        let reach = series
            .name
            .strip_prefix(NAME)
            .and_then(|rest| rest.strip_prefix('.'));
        let reach = Reach::ALL
            .into_iter()
            .find(|known| Some(known.name()) == reach);
        let flows = &simulation.flows()[series.flows.clone()];
        pairs.extend(
            reach
                .iter()
                .flat_map(|reach| flows.iter().map(|flow| Pair::of(simulation, *reach, flow))),
        );
    }
    let of_reach = |reach: Reach| {
        let of_reach = pairs.iter().filter(move |pair| pair.reach == reach);
        (reach, Usual::of(of_reach))
    };
    let usual: BTreeMap<Reach, Usual> = Reach::ALL.map(of_reach).into();
    let places = Places::of(simulation, &pairs);
    let wrong: Vec<Option<Wrong>> = pairs
        .iter()
        .map(|pair| pair.wrong(&usual[&pair.reach]))
        .collect();
    // What is explained by a graver fault is not told again.
    let mut left: BTreeSet<usize> = (0..pairs.len()).filter(|at| wrong[*at].is_some()).collect();
    let mut found = Vec::new();
    for what in Wrong::ALL {
        loop {
            let bad = left.iter().copied().filter(|at| wrong[*at] == Some(what));
            let bad: BTreeSet<usize> = bad.collect();
            let Some((place, of_place)) = place_of(simulation, &places, &pairs, &bad) else {
                break;
            };
            let text = told(what, &place, &pairs, &of_place, &bad, &usual);
            found.extend(text.map(|text| Finding {
                kind: FindingKind::Probes,
                text,
                details: Vec::new(),
                from_ns: ns(began),
                to_ns: None,
            }));
            left.retain(|at| !of_place.contains(at));
        }
    }
    found
}

/// The smallest place that explains most of the bad pairs, in words, and all pairs that touch it. `None` without a bad one.
fn place_of(
    simulation: &Simulation,
    places: &Places,
    pairs: &[Pair],
    bad: &BTreeSet<usize>,
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
    if let Some(of) = bad_hosts.first() {
        return Some((name(simulation, *of).to_string(), touching(&host, *of)));
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

/// A finding in a line; `None` if it is too little to tell.
fn told(
    what: Wrong,
    place: &str,
    pairs: &[Pair],
    of_place: &BTreeSet<usize>,
    bad: &BTreeSet<usize>,
    usual: &BTreeMap<Reach, Usual>,
) -> Option<String> {
    let here: Vec<&Pair> = of_place.intersection(bad).map(|at| &pairs[*at]).collect();
    let (part, all) = (here.len(), of_place.len());
    let reaches: BTreeSet<Reach> = here.iter().map(|pair| pair.reach).collect();
    let reaches: Vec<&str> = reaches.iter().map(|reach| reach.name()).collect();
    let reaches = reaches.join(", ");
    let about = format!("{place}: {part} of {all} probed pairs ({reaches})");
    match what {
        Wrong::Silent => Some(format!("{about} have no answers")),
        Wrong::Late => {
            let median = Usual::of(here.iter().copied()).median;
            let others = here.iter().map(|pair| usual[&pair.reach].median).max();
            let others = others.unwrap_or(Duration::ZERO);
            Some(format!(
                "{about} are late: {} at the median, others {}",
                length(median),
                length(others)
            ))
        }
        Wrong::Lossy => {
            let probes: usize = here.iter().map(|pair| pair.latencies.len()).sum();
            let lost = here.iter().map(|pair| pair.lost(&usual[&pair.reach]));
            let lost: usize = lost.sum();
            (lost >= FEW).then(|| format!("{about} lose probes: {lost} of {probes}"))
        }
    }
}
