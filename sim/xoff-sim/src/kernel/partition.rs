//! Which part of a network has which nodes.
//!
//! Parts run for as long as the shortest link between them before they exchange frames, so the network is cut at its
//! longest links; and a step takes as long as the part that has most to do, so the parts have about the same
//! [weight](super::Node::weight). Where both cannot be had, weight comes first.
//!
//! The nodes are cut into two sides, and each side again until there are as many as parts. Of a cut, nodes that shorter
//! links join stay together: the cut is at the longest links at which the sides come out [even](EVEN) enough. Heavy
//! clusters are placed first, each on the side that lacks most; light ones, such as the spines of a Clos network, where
//! most of their links go.

use super::arrange::{Span, divide, index};
use crate::time::Duration;

/// By how much of its share a side may be too heavy.
const EVEN: f64 = 0.05;

/// Gives each node the number of its part, 0 to `parts - 1`. The same networks have the same parts everywhere.
/// `weights` are those of the nodes, in their order. With fewer nodes than parts, some parts have none.
pub(super) fn partition(weights: &[u32], links: &[Span], parts: u32) -> Vec<u32> {
    let mut owners = vec![0; weights.len()];
    let nodes: Vec<u32> = (0..weights.len() as u32).collect();
    assign(weights, &nodes, links, 0..parts, &mut owners);
    owners
}

/// Distributes `nodes`, which are sorted, with the links among them, to a range of parts.
fn assign(
    weights: &[u32],
    nodes: &[u32],
    links: &[Span],
    parts: std::ops::Range<u32>,
    owners: &mut [u32],
) {
    let number = parts.end - parts.start;
    if number <= 1 || nodes.is_empty() {
        nodes
            .iter()
            .for_each(|node| owners[*node as usize] = parts.start);
        return;
    }
    let left = number / 2;
    let sides = cut(weights, nodes, links, f64::from(left) / f64::from(number));
    let middle = parts.start + left;
    for (side, parts) in [(0, parts.start..middle), (1, middle..parts.end)] {
        let of_side = |node: u32| sides[index(nodes, node)] == side;
        let inside: Vec<u32> = nodes
            .iter()
            .copied()
            .filter(|node| of_side(*node))
            .collect();
        let among: Vec<Span> = (links.iter().copied())
            .filter(|link| link.ends.into_iter().all(of_side))
            .collect();
        assign(weights, &inside, &among, parts, owners);
    }
}

/// Cuts nodes into side 0, with `part` of the weight, and side 1, at the longest links that allow it.
fn cut(weights: &[u32], nodes: &[u32], links: &[Span], part: f64) -> Vec<usize> {
    let mut cuts: Vec<Duration> = links.iter().map(|link| link.latency).collect();
    cuts.push(Duration::MAX);
    cuts.sort_unstable();
    cuts.dedup();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for at in cuts.iter().rev() {
        let (cluster_of, number) = divide(nodes, links, *at);
        let mut clusters = vec![Cluster::default(); number as usize];
        for (node, cluster) in nodes.iter().zip(&cluster_of) {
            clusters[*cluster as usize].weight += f64::from(weights[*node as usize]);
        }
        for link in links {
            let [a, b] = link.ends.map(|end| cluster_of[index(nodes, end)]);
            if a != b {
                clusters[a as usize].links.push(b);
                clusters[b as usize].links.push(a);
            }
        }
        let (uneven, sides) = place(&clusters, part);
        if best.as_ref().is_none_or(|(least, _)| uneven < *least) {
            let of_nodes = cluster_of.iter().map(|cluster| sides[*cluster as usize]);
            best = Some((uneven, of_nodes.collect()));
        }
        if uneven <= EVEN {
            break;
        }
    }
    best.expect("there is a cut with all nodes in one cluster")
        .1
}

/// Nodes that stay together.
#[derive(Debug, Clone, Default)]
struct Cluster {
    weight: f64,
    /// The clusters at the other ends of its links, once for each link.
    links: Vec<u32>,
}

/// Places clusters on two sides, the first of which gets `part` of the weight. Returns also by how much of its share
/// the heavier side is too heavy.
fn place(clusters: &[Cluster], part: f64) -> (f64, Vec<usize>) {
    let all: f64 = clusters.iter().map(|cluster| cluster.weight).sum();
    let shares = [all * part, all * (1.0 - part)];
    let mut loads = [0.0; 2];
    let mut sides = vec![None; clusters.len()];
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    // The sort is stable: of equal weight, those of the first nodes come first.
    order.sort_by(|a, b| clusters[*b].weight.total_cmp(&clusters[*a].weight));
    for cluster in order {
        let Cluster { weight, links } = &clusters[cluster];
        let at = |side: usize| {
            links
                .iter()
                .filter(|link| sides[**link as usize] == Some(side))
                .count()
        };
        let joined = [0, 1].map(at);
        let fits = |side: usize| loads[side] + weight <= shares[side] * (1.0 + EVEN);
        let lacking = |side: usize| shares[side] - loads[side];
        let side = match joined[0].cmp(&joined[1]) {
            std::cmp::Ordering::Greater if fits(0) => 0,
            std::cmp::Ordering::Less if fits(1) => 1,
            _ => usize::from(lacking(1) > lacking(0)),
        };
        loads[side] += weight;
        sides[cluster] = Some(side);
    }
    let uneven = [0, 1].map(|side| (loads[side] / shares[side].max(1.0)) - 1.0);
    let sides = sides.into_iter().map(|side| side.unwrap_or(0));
    (uneven[0].max(uneven[1]), sides.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::arrange::span;

    /// Two podsets of two racks of two hosts: hosts 0 to 7, ToRs 8 to 11, leafs 12 to 15, spines 16 to 19.
    fn clos() -> Vec<Span> {
        let mut links = Vec::new();
        for host in 0..8 {
            links.push(span(host, 8 + host / 2, 210));
        }
        for tor in 0..4 {
            for leaf in 0..2 {
                links.push(span(8 + tor, 12 + tor / 2 * 2 + leaf, 300));
            }
        }
        for leaf in 0..4 {
            for spine in 0..2 {
                links.push(span(12 + leaf, 16 + leaf % 2 * 2 + spine, 1_700));
            }
        }
        links
    }

    #[test]
    fn two_parts_are_cut_at_the_spines() {
        let owners = partition(&[1; 20], &clos(), 2);
        assert_eq!(&owners[..8], [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(&owners[8..16], [0, 0, 1, 1, 0, 0, 1, 1]);
        let spines = owners[16..].iter().filter(|part| **part == 0).count();
        assert_eq!(spines, 2);
    }

    #[test]
    fn four_parts_are_racks() {
        let owners = partition(&[1; 20], &clos(), 4);
        assert_eq!(&owners[..8], [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(&owners[8..12], [0, 1, 2, 3]);
    }

    #[test]
    fn weight_comes_before_length() {
        // A chain of four, of which the last is as heavy as all others; its long link is between the first two.
        let links = [span(0, 1, 2_000), span(1, 2, 100), span(2, 3, 100)];
        assert_eq!(partition(&[1, 1, 1, 3], &links, 2), [1, 1, 1, 0]);
    }

    #[test]
    fn there_may_be_more_parts_than_nodes() {
        assert_eq!(partition(&[], &[], 3), [0; 0]);
        let owners = partition(&[1], &[], 3);
        assert!(owners[0] < 3);
        let mut three = partition(&[5, 5, 5], &[], 3);
        three.sort_unstable();
        assert_eq!(three, [0, 1, 2]);
    }
}
