//! What happened on links, in words: a table, and the caption of the picture.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::Seen;
use crate::report::data::{Link, NodeKind, Topology, Way};
use crate::report::scale::{percent, time, with_groups};

/// Rows of the table of links.
const MOST_LINKS: usize = 8;
/// Cables of a kind other than the most common one are listed by name if there are at most this many of them.
const MOST_NAMED: usize = 3;

/// The two directions of a cable.
pub(super) fn ways(link: &Link) -> [(&str, &str, &Way); 2] {
    [
        (&link.a, &link.b, &link.there),
        (&link.b, &link.a, &link.back),
    ]
}

/// What happened in a direction, in words.
pub(super) fn way_words(way: &Way, duration_ns: u64) -> String {
    let part = way.paused_ns as f64 / duration_ns.max(1) as f64;
    let mut parts = Vec::new();
    if way.paused_ns > 0 {
        parts.push(format!(
            "stopped for {} ({})",
            time(way.paused_ns),
            percent(part)
        ));
    }
    for (count, what) in [(way.drops, "dropped"), (way.marks, "marked")] {
        if count > 0 {
            parts.push(format!("{} {what}", with_groups(&count.to_string())));
        }
    }
    parts.join(", ")
}

/// Renders the links on which most happened, those that were stopped longest first. `None` if nothing did.
pub fn table(topology: &Topology, duration_ns: u64) -> Option<Markup> {
    let ways = topology.links.iter().flat_map(ways);
    let mut ways: Vec<_> = ways.filter(|(_, _, way)| **way != Way::default()).collect();
    let all = ways.len();
    ways.sort_by_key(|(from, to, way)| {
        std::cmp::Reverse((
            way.paused_ns,
            way.drops,
            way.marks,
            (std::cmp::Reverse(*from), std::cmp::Reverse(*to)),
        ))
    });
    // Where drops or marks are most must not be missing because others were stopped for longer.
    let most = |number: fn(&Way) -> u64| {
        let most = ways
            .iter()
            .map(|(_, _, way)| number(way))
            .max()
            .unwrap_or(0);
        ways.iter()
            .position(|(_, _, way)| most > 0 && number(way) == most)
    };
    let special = [most(|way| way.drops), most(|way| way.marks)];
    let is_shown = |place: usize| place < MOST_LINKS || special.contains(&Some(place));
    let shown: Vec<_> = (0..all)
        .filter(|place| is_shown(*place))
        .map(|place| ways[place])
        .collect();
    let number = |count: u64| with_groups(&count.to_string());
    let stopped = |ns: u64| {
        format!(
            "{}, {}",
            time(ns),
            percent(ns as f64 / duration_ns.max(1) as f64)
        )
    };
    // Columns in which nothing happened are left out.
    type Column = (&'static str, fn(&Way) -> u64);
    let columns: [Column; 3] = [
        ("stopped by pauses", |way| way.paused_ns),
        ("frames dropped", |way| way.drops),
        ("packets marked", |way| way.marks),
    ];
    let used = columns.iter().enumerate();
    let used = used.filter(|(_, (_, of))| ways.iter().any(|(_, _, way)| of(way) > 0));
    let used: Vec<_> = used.collect();
    let cell = |place: usize, value: u64| match (place, value) {
        (_, 0) => "–".into(),
        (0, ns) => stopped(ns),
        (_, count) => number(count),
    };
    (all > 0).then(|| {
        html! {
            table.stack {
                thead { tr { th { "link" } @for (_, (name, _)) in &used { th.number { (name) } } } }
                tbody { @for (from, to, way) in &shown {
                    tr {
                        td { (from) " → " (to) }
                        @for (place, (name, of)) in &used { td.number data-label=(name) { (cell(*place, of(way))) } }
                    }
                } }
            }
            @if all > shown.len() {
                p.below.muted { "and " (number((all - shown.len()) as u64)) " more: point at the picture" }
            }
        }
    })
}

/// Renders the caption under the picture: the kinds of cables and the meaning of the boxes.
pub fn caption(topology: &Topology, seen: &Seen<'_>) -> Markup {
    let mut kinds: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for link in &topology.links {
        let names = format!("{}–{}", link.a, link.b);
        (kinds.entry((&link.rate, &link.length)).or_default()).push(names);
    }
    let most = kinds.values().map(Vec::len).max().unwrap_or(0);
    let cables: Vec<String> = kinds
        .iter()
        .map(|((rate, length), names)| {
            let what = format!("{} × {rate}, {length}", names.len());
            if names.len() < most && names.len() <= MOST_NAMED {
                format!("{what} ({})", names.join(", "))
            } else {
                what
            }
        })
        .collect();
    let has = |kind| topology.nodes.iter().any(|node| node.kind == kind);
    let mut boxes = Vec::new();
    if has(NodeKind::HostRtl) {
        boxes.push("solid blue: host with the RTL NIC");
    }
    if has(NodeKind::HostModel) {
        boxes.push("dashed: host with the model NIC");
    }
    if has(NodeKind::Switch) {
        boxes.push("grey: switch");
    }
    let any = |number: fn(&Way) -> u64| {
        let mut ways = topology.links.iter().flat_map(ways);
        ways.any(|(_, _, way)| number(way) > 0)
    };
    html! {
        @if !cables.is_empty() { "Cables: " (cables.join("; ")) ". " }
        @if !boxes.is_empty() { "Boxes: " (boxes.join("; ")) ". " }
        @if any(|way| way.paused_ns) { "Thick: the wider, the longer pauses stopped the cable, in the worse of its directions. " }
        @if !seen.marks.cycle.is_empty() { "Arrows: links that wait for each other in a cycle; each is stopped by the node that it points at. " }
        @if !seen.marks.congested.is_empty() { "Congested: the link is full, and flows stand that do not go by it. " }
        @if !seen.marks.differing.is_empty() { "Differs: its settings are not what " code { "audit" } " wants. " }
        @if any(|way| way.drops) { "✕: frames lost on a link, or dropped by a node. " }
        @if any(|way| way.marks) { "◆: packets marked where they enter it." }
    }
}
