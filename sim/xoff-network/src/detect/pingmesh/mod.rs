//! What the probes of Pingmesh tell, and where: pairs of hosts without answers, with late ones, or with lost ones, put
//! down to the smallest place that they have in common.
//!
//! Only what a prober sees is used: who asks whom, when answers come, and which hosts share a rack and a podset. Where
//! single pairs are bad, the links on their way are compared, which traces of routes with the probes' headers tell.
//!
//! | module | what is in it |
//! |---|---|
//! | `places` | which host, rack or podset explains bad pairs |
//! | `links` | which link does |
//! | `scopes` | what probes met by how far they go: latencies, and failures by reason |

mod links;
mod places;
mod scopes;

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::kernel::NodeId;
use xoff_sim::time::{Duration, Time};

use links::{most_bad, ways};
use places::{Places, place_of};
pub use scopes::{Failure, Probes, probes};

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
struct Pair<'s> {
    reach: Reach,
    flow: &'s FlowEnds,
    ends: [NodeId; 2],
    /// Latencies of its probes, ascending.
    latencies: Vec<Duration>,
    silent: bool,
}

impl<'s> Pair<'s> {
    fn of(simulation: &Simulation, reach: Reach, flow: &'s FlowEnds) -> Self {
        let sender = simulation.sender(flow);
        let delivered = sender.delivered();
        let mut latencies: Vec<Duration> = delivered.iter().map(|probe| probe.latency).collect();
        latencies.sort_unstable();
        let last = delivered.last().map_or(flow.start, |probe| probe.at);
        let waits = sender.open() > 0 && simulation.now().saturating_since(last) > SILENT;
        Self {
            reach,
            flow,
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
        // Of a pair that is late, all are late.
        let late = (self.median()).map_or(Duration::ZERO, |own| own.saturating_sub(usual.median));
        let latest = latest + late;
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
    fn of<'p, 's: 'p>(pairs: impl Iterator<Item = &'p Pair<'s>> + Clone) -> Self {
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

/// All pairs between which probes go.
fn pairs(simulation: &Simulation) -> Vec<Pair<'_>> {
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
    pairs
}

/// What the probes tell, the gravest first.
pub(super) fn findings(simulation: &Simulation, began: Time) -> Vec<Finding> {
    let pairs = pairs(simulation);
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
    // Routes are traced for what is wrong alone.
    let ways = match left.is_empty() {
        true => Vec::new(),
        false => ways(simulation, &pairs),
    };
    let mut found = Vec::new();
    for what in Wrong::ALL {
        loop {
            let bad = left.iter().copied().filter(|at| wrong[*at] == Some(what));
            let bad: BTreeSet<usize> = bad.collect();
            if bad.is_empty() {
                break;
            }
            let over = most_bad(&ways, &bad);
            let place = place_of(simulation, &places, &pairs, &bad, over.as_ref());
            let Some((place, of_place)) = place else {
                break;
            };
            let text = told(what, &place, &pairs, &of_place, &bad, &usual);
            let text = text.map(|text| match &over {
                Some(over) if over.explains(&of_place, &bad) => {
                    format!("{text}; {}", over.text(simulation))
                }
                _ => text,
            });
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

/// A finding in a line; `None` if it is too little to tell.
fn told(
    what: Wrong,
    place: &str,
    pairs: &[Pair<'_>],
    of_place: &BTreeSet<usize>,
    bad: &BTreeSet<usize>,
    usual: &BTreeMap<Reach, Usual>,
) -> Option<String> {
    let here: Vec<&Pair<'_>> = of_place.intersection(bad).map(|at| &pairs[*at]).collect();
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

#[cfg(test)]
mod tests;
