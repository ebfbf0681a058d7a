//! Which link explains bad pairs, by the ways that probes and their answers take.

use std::collections::{BTreeMap, BTreeSet};

use super::super::pauses::LinkClass;
use super::super::victims::{path, path_back};
use super::Pair;
use crate::Simulation;

/// A link explains bad pairs if of those over it so many times the part is bad as of those not over it.
const WORSE: usize = 3;

/// A link, and how many pairs go over it, there or back, and how many of these are bad.
pub(super) struct Over {
    link: LinkClass,
    pairs: usize,
    bad: usize,
}

impl Over {
    /// Whether the link explains more than a place, all of whose pairs are given: no fewer bad pairs go over it, and
    /// fewer good ones beside them.
    pub(super) fn explains(&self, place: &BTreeSet<usize>, bad: &BTreeSet<usize>) -> bool {
        let part = place.intersection(bad).count();
        self.bad >= part && self.bad * place.len() > part * self.pairs
    }

    pub(super) fn text(&self, simulation: &Simulation) -> String {
        format!(
            "of the {} pairs that go over {}, there or back, {}",
            self.pairs,
            self.link.text(simulation),
            self.bad
        )
    }
}

/// The links between switches that the probes of each pair go over, and their answers.
pub(super) fn ways(simulation: &Simulation, pairs: &[Pair<'_>]) -> Vec<BTreeSet<LinkClass>> {
    let is_switch = |node| simulation.network().node(node).switch().is_some();
    let between = |link: &LinkClass| {
        let peer = link.peer(simulation);
        is_switch(link.node) && peer.is_some_and(|(peer, _)| is_switch(peer))
    };
    let way = |pair: &Pair<'_>| {
        let there = path(simulation, pair.flow);
        let back = path_back(simulation, pair.flow);
        let links = there.into_iter().chain(back).map(|(link, _)| link);
        links.filter(between).collect()
    };
    pairs.iter().map(way).collect()
}

/// The link between switches that most of the bad pairs go over; `None` if half of the bad pairs do not go over it, or
/// pairs that do not are nearly as often bad.
pub(super) fn most_bad(ways: &[BTreeSet<LinkClass>], bad: &BTreeSet<usize>) -> Option<Over> {
    let mut over = BTreeMap::<LinkClass, Over>::new();
    for (place, links) in ways.iter().enumerate() {
        for link in links {
            let of_link = over.entry(*link).or_insert(Over {
                link: *link,
                pairs: 0,
                bad: 0,
            });
            of_link.pairs += 1;
            of_link.bad += usize::from(bad.contains(&place));
        }
    }
    let explains = |over: &Over| {
        let (others, others_bad) = (ways.len() - over.pairs, bad.len() - over.bad);
        over.bad > 1
            && over.bad * 2 >= bad.len()
            && over.bad * others >= WORSE * others_bad * over.pairs
    };
    // Of as many bad pairs, the link with fewer good ones.
    let rank = |over: &Over| (over.bad, std::cmp::Reverse((over.pairs, over.link)));
    over.into_values().filter(explains).max_by_key(rank)
}
