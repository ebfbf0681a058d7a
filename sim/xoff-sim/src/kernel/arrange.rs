//! Which nodes form a group.
//!
//! Were all nodes to run in windows of the least link latency, those at both ends of a link of a kilometre would meet
//! every 200 ns because somewhere else a cable is short. Therefore nodes between which links are short form a group,
//! and groups between which links are longer form the next one, up to the whole network. Each group has windows of its
//! own: as long as the least latency between its parts. In a Clos network podsets are such groups: their spines are 300
//! m away, while the cables to their hosts have 2 m. Groups run on several threads without meeting, each exchanges its
//! frames itself, and its state is used for longer while it is in a processor's caches.
//!
//! Groups affect nothing but speed.

use petgraph::unionfind::UnionFind;

use super::group::{Group, Part};
use crate::time::Duration;

/// How many times as long as a group's own windows those of the group around it are, at least. With less, the
/// bookkeeping of one more group costs more than it saves.
const LONGER: u64 = 4;

/// The longest window, for networks without links and for parts without a link between them: observers are called after
/// each window.
pub(super) const LONGEST: Duration = Duration::from_ms(1);

/// A link, by the numbers of the nodes at its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) ends: [u32; 2],
    pub(super) latency: Duration,
}

/// A link, for tests.
#[cfg(test)]
pub(super) fn span(a: u32, b: u32, ns: u64) -> Span {
    Span {
        ends: [a, b],
        latency: Duration::from_ns(ns),
    }
}

/// Groups `nodes`, which are sorted, with the links among them. Returns the whole as one group, and the numbers of the
/// nodes in the order in which they have to lie in memory.
pub(super) fn arrange(nodes: &[u32], links: &[Span]) -> (Group, Vec<u32>) {
    let mut order = Vec::with_capacity(nodes.len());
    let whole = group(nodes, links, &mut order);
    (whole, order)
}

/// Groups `nodes`, which are sorted, with the links among them, and appends the nodes to `order`.
fn group(nodes: &[u32], links: &[Span], order: &mut Vec<u32>) -> Group {
    let latencies = links.iter().map(|link| link.latency.min(LONGEST));
    let least = latencies.clone().min().unwrap_or(LONGEST);
    // The longest links first. Where none is long enough, each node is a part.
    let mut cuts: Vec<Duration> = latencies.chain([LONGEST]).collect();
    cuts.retain(|cut| *cut >= least * LONGER);
    cuts.sort_unstable();
    cuts.dedup();
    let divided = cuts.iter().rev().map(|cut| divide(nodes, links, *cut));
    let divided = divided.into_iter().find(|(_, number)| *number > 1);
    let number = nodes.len() as u32;
    let (part_of, number) = divided.unwrap_or_else(|| ((0..number).collect(), number));

    let mut lookahead = LONGEST;
    let mut inside = vec![Vec::new(); number as usize];
    for link in links {
        let [a, b] = link.ends.map(|end| part_of[index(nodes, end)]);
        if a == b {
            inside[a as usize].push(*link);
        } else {
            lookahead = lookahead.min(link.latency);
        }
    }
    let mut members = vec![Vec::new(); number as usize];
    for (node, part) in nodes.iter().zip(&part_of) {
        members[*part as usize].push(*node);
    }
    let mut starts = vec![order.len() as u32];
    let mut parts = Vec::with_capacity(members.len());
    for (members, links) in members.iter().zip(&inside) {
        if let [node] = members[..] {
            order.push(node);
            parts.push(Part::Node);
        } else {
            parts.push(Part::Group(Box::new(group(members, links, order))));
        }
        starts.push(order.len() as u32);
    }
    Group::new(starts, parts, lookahead)
}

/// Gives each node the number of its part, so that links between two parts have a latency of at least `cut`. Parts are
/// numbered in the order of their first nodes. Returns also how many there are.
pub(super) fn divide(nodes: &[u32], links: &[Span], cut: Duration) -> (Vec<u32>, u32) {
    let mut together = UnionFind::new(nodes.len());
    for link in links.iter().filter(|link| link.latency < cut) {
        let [a, b] = link.ends.map(|end| index(nodes, end));
        together.union(a, b);
    }
    let mut number = 0;
    let mut part_of = vec![None; nodes.len()];
    let mut parts = Vec::with_capacity(nodes.len());
    for node in 0..nodes.len() {
        let part = part_of[together.find(node)].get_or_insert_with(|| {
            number += 1;
            number - 1
        });
        parts.push(*part);
    }
    (parts, number)
}

/// The index of a node among `nodes`, which are sorted.
pub(super) fn index(nodes: &[u32], node: u32) -> usize {
    nodes
        .binary_search(&node)
        .expect("links are among these nodes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u32, links: &[Span]) -> String {
        let nodes: Vec<u32> = (0..number).collect();
        let (whole, order) = arrange(&nodes, links);
        format!("{whole} of {order:?}")
    }

    #[test]
    fn a_podset_is_a_group() {
        // Hosts 0 to 3, ToRs 4 and 5, a leaf 6: twice. Spines 14 and 15.
        let mut links = Vec::new();
        for first in [0, 7] {
            for host in 0..4 {
                links.push(span(first + host, first + 4 + host / 2, 210));
            }
            for tor in [4, 5] {
                links.push(span(first + tor, first + 6, 300));
            }
            for spine in [14, 15] {
                links.push(span(first + 6, spine, 1700));
            }
        }
        let order = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]";
        assert_eq!(
            text(16, &links),
            format!("1.7 us (210 ns (7 nodes), 210 ns (7 nodes), 2 nodes) of {order}")
        );
    }

    #[test]
    fn nodes_of_a_group_become_neighbours() {
        let links = [span(0, 2, 100), span(3, 1, 150), span(0, 1, 400)];
        assert_eq!(
            text(4, &links),
            "400 ns (100 ns (2 nodes), 150 ns (2 nodes)) of [0, 2, 1, 3]"
        );
        // Links that are not four times as long, and links of one length, make no groups.
        let links = [span(0, 2, 101), span(3, 1, 150), span(0, 1, 400)];
        assert_eq!(text(4, &links), "101 ns (4 nodes) of [0, 1, 2, 3]");
    }

    #[test]
    fn groups_are_made_of_groups() {
        let links = [
            span(0, 1, 100),
            span(2, 3, 100),
            span(1, 2, 1000),
            span(3, 4, 10_000),
        ];
        assert_eq!(
            text(5, &links),
            "10 us (1 us (100 ns (2 nodes), 100 ns (2 nodes)), 1 node) of [0, 1, 2, 3, 4]"
        );
    }

    #[test]
    fn parts_without_a_link_between_them_have_the_longest_window() {
        assert_eq!(text(2, &[]), "1 ms (2 nodes) of [0, 1]");
        let links = [span(0, 1, 100), span(2, 3, 120)];
        assert_eq!(
            text(4, &links),
            "1 ms (100 ns (2 nodes), 120 ns (2 nodes)) of [0, 1, 2, 3]"
        );
        // Not even a link around the Earth makes it longer.
        assert_eq!(
            text(2, &[span(0, 1, 200_000_000)]),
            "1 ms (2 nodes) of [0, 1]"
        );
    }
}
