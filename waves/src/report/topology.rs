//! Who is connected to whom, as SVG: hosts at the bottom, each switch as high as it is far from a host.

use std::collections::{BTreeMap, VecDeque};

use maud::{Markup, html};

use super::data::{Node, NodeKind, Topology};
use super::text::{coordinate as c, width};

const FONT: f64 = 12.0;
const BOX_HEIGHT: f64 = 28.0;
const LEAST_BOX: f64 = 46.0;
/// Left and right of a name in its box, together.
const PADDING: f64 = 20.0;
/// Least room between boxes of a tier.
const GAP: f64 = 10.0;
/// Room that is better to have.
const GOOD_GAP: f64 = 44.0;
/// From one tier to the next.
const TIER: f64 = 74.0;
/// Names told of cables that are of another kind than most.
const MOST_NAMED: usize = 3;

/// Where nodes stand.
struct Layout {
    width: f64,
    height: f64,
    /// By index of the node: centre, and width of the box; 0 where names do not fit.
    places: Vec<(f64, f64, f64)>,
    /// Of tiers whose names do not fit: height of their text, and what it says.
    crowds: Vec<(f64, String)>,
}

/// The picture, at most `room` pixels wide; `None` without nodes.
pub fn svg(topology: &Topology, room: f64) -> Option<Markup> {
    if topology.nodes.is_empty() {
        return None;
    }
    let layout = lay_out(topology, room);
    let index = index(topology);
    let wires: Vec<_> = (topology.links.iter())
        .filter_map(|link| {
            let a = *index.get(link.a.as_str())?;
            let b = *index.get(link.b.as_str())?;
            let what = format!("{} – {}: {}, {}", link.a, link.b, link.rate, link.length);
            Some((wire(layout.places[a], layout.places[b]), what))
        })
        .collect();
    // Many wires over each other would be one dark patch.
    let faint = (topology.links.len() > 60).then_some("0.35");
    let size = format!("0 0 {} {}", c(layout.width), c(layout.height));
    Some(html! {
        svg.topology viewBox=(size) style=(format!("max-width:{}px", c(layout.width))) role="img" aria-label="Topology" {
            g stroke-opacity=[faint] fill="none" {
                @for (d, what) in &wires { path class="wire" d=(d) { title { (what) } } }
            }
            @for (node, place) in topology.nodes.iter().zip(&layout.places) { (draw_node(node, *place)) }
            @for (y, text) in &layout.crowds {
                text class="halo" x=(c(layout.width / 2.0)) y=(c(*y)) text-anchor="middle" { (text) }
            }
        }
    })
}

/// What the cables are, and what the boxes mean: under the picture.
pub fn caption(topology: &Topology) -> Markup {
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
    html! {
        @if !cables.is_empty() { "Cables: " (cables.join("; ")) ". " }
        @if !boxes.is_empty() { "Boxes: " (boxes.join("; ")) "." }
    }
}

fn index(topology: &Topology) -> BTreeMap<&str, usize> {
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

/// Nodes by tier: hosts are 0, a switch is one more than the least of its neighbours.
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
    // Switches without any host stand where a host's switch would.
    let highest = tier.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut tiers = vec![Vec::new(); highest + 1];
    for (index, tier) in tier.into_iter().enumerate() {
        tiers[tier.unwrap_or(1)].push(index);
    }
    // Hosts stand under their switches, which keep the scenario's order.
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

fn lay_out(topology: &Topology, room: f64) -> Layout {
    let tiers = tiers(topology);
    let box_width =
        |&index: &usize| (width(&topology.nodes[index].name, FONT) + PADDING).max(LEAST_BOX);
    let widest = |tier: &[usize]| tier.iter().map(box_width).fold(0.0, f64::max);
    let wanted = tiers
        .iter()
        .map(|tier| tier.len() as f64 * (widest(tier) + GOOD_GAP))
        .fold(0.0, f64::max);
    let width = wanted.clamp(160.0_f64.min(room), room);
    let mut places = vec![(0.0, 0.0, 0.0); topology.nodes.len()];
    let mut crowds = Vec::new();
    for (height, tier) in tiers.iter().rev().enumerate() {
        let y = height as f64 * TIER + BOX_HEIGHT / 2.0 + 2.0;
        let pitch = width / tier.len() as f64;
        let named = widest(tier) + GAP <= pitch;
        for (place, index) in tier.iter().enumerate() {
            let x = (place as f64 + 0.5) * pitch;
            places[*index] = (x, y, if named { box_width(index) } else { 0.0 });
        }
        if !named {
            let hosts = topology.nodes[tier[0]].kind != NodeKind::Switch;
            let what = if hosts { "hosts" } else { "switches" };
            let names = |index: usize| topology.nodes[index].name.as_str();
            let text = format!(
                "{} {what}, {} to {}",
                tier.len(),
                names(tier[0]),
                names(tier[tier.len() - 1])
            );
            // Away from the wires: below the lowest tier, above the others.
            crowds.push((
                if height + 1 == tiers.len() {
                    y + 24.0
                } else {
                    y - 10.0
                },
                text,
            ));
        }
    }
    let height = (tiers.len() - 1) as f64 * TIER + BOX_HEIGHT + 4.0;
    // The lowest tier's text hangs below its boxes.
    let extra = if crowds.is_empty() { 0.0 } else { 14.0 };
    Layout {
        width,
        height: height + extra,
        places,
        crowds,
    }
}

fn wire(a: (f64, f64, f64), b: (f64, f64, f64)) -> String {
    let (x1, y1, x2, y2) = (c(a.0), c(a.1), c(b.0), c(b.1));
    if a.1 == b.1 {
        // Between nodes of a tier a bow, so that it does not hide behind others.
        let (x, y) = (c((a.0 + b.0) / 2.0), c(a.1 + TIER * 0.6));
        format!("M{x1} {y1}Q{x} {y} {x2} {y2}")
    } else {
        format!("M{x1} {y1}L{x2} {y2}")
    }
}

fn draw_node(node: &Node, (x, y, width): (f64, f64, f64)) -> Markup {
    let class = match node.kind {
        NodeKind::HostRtl => "node rtl",
        NodeKind::HostModel => "node model",
        NodeKind::Switch => "node switch",
    };
    let (w, h) = if width > 0.0 {
        (width, BOX_HEIGHT)
    } else {
        (7.0, 7.0)
    };
    html! {
        g class=(class) {
            title { (node.name) }
            rect x=(c(x - w / 2.0)) y=(c(y - h / 2.0)) width=(c(w)) height=(c(h)) rx=(if node.kind == NodeKind::Switch { "2" } else { "6" }) {}
            @if width > 0.0 { text x=(c(x)) y=(c(y + 4.0)) text-anchor="middle" { (node.name) } }
        }
    }
}
