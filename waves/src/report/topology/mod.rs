//! Renders the topology as SVG: hosts at the bottom, and each switch as high as its distance from a host. Cables show
//! for how long pauses stopped them, where frames were dropped, and where packets were marked.

mod layout;
mod links;

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::data::{Link, NodeKind, Pauses, Topology, Way};
use super::scale::with_groups;
use super::text::{coordinate as c, width};
use layout::{Group, index, lay_out};
pub use links::{caption, table};
use links::{way_words, ways};
use xoff_network::answer::Marks;
use xoff_network::results::Drop;

const FONT: f64 = 12.0;
/// Distance from one tier to the next, for boxes with one line of text.
const TIER: f64 = 74.0;
/// Distance between the lines of text in a box.
const LINE_HEIGHT: f64 = 16.0;
/// Width of a wire whose cable is stopped all the time. One that never is has the width that the style gives it.
const STOPPED: f64 = 9.0;
/// Width of a wire that was stopped for the shortest time.
const LEAST_STOPPED: f64 = 2.5;
/// Numbers of drops and marks are written beside at most this many wires of each; pointing at a wire shows the others.
const MOST_NUMBERS: usize = 12;
/// Bundles of cables of a group of nodes with a number each, if all have the same.
const MOST_ALIKE: usize = 3;

/// What happened in the network, for its picture.
#[derive(Default)]
pub struct Seen<'a> {
    pub marks: Marks,
    pub drops: &'a [Drop],
}

/// Reasons to drop a frame that cost nothing: it was for another host, and was flooded.
const NOT_FOR_IT: [&str; 1] = ["address"];

impl Seen<'_> {
    fn is_dead(&self, node: &str) -> bool {
        self.marks.dead.iter().any(|dead| dead == node)
    }

    /// What happened to nodes, in a few words each.
    fn fate(&self, names: &[&str]) -> Vec<String> {
        let among = |node: &str| names.contains(&node);
        let dropped = self.drops.iter().filter(|drop| among(&drop.node));
        let dropped = dropped.filter(|drop| !NOT_FOR_IT.contains(&&*drop.reason));
        let frames: u64 = dropped.map(|drop| drop.count).sum();
        let of = |nodes: &[String], what: &str| {
            let mut hit = nodes.iter().filter(|node| among(node));
            let first = hit.next()?;
            Some(match (names.len(), hit.count()) {
                (1, _) => what.to_owned(),
                (_, 0) => format!("{first} {what}"),
                (_, more) => format!("{} {what}", more + 1),
            })
        };
        [
            of(&self.marks.dead, "dead"),
            of(&self.marks.origins, "pauses"),
            of(&self.marks.differing, "differs"),
            (frames > 0).then(|| format!("✕ {}", with_groups(&frames.to_string()))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Where on its link the head of an arrow is.
const ARROW: f64 = 0.56;
/// Half of the width and height of the cross on a link that failed.
const STRUCK: f64 = 7.0;

/// What happened on the cables between two boxes.
#[derive(Default)]
struct Wire<'a> {
    cables: Vec<&'a Link>,
    /// The direction that was stopped longest: its two nodes and for how long.
    longest: Option<(&'a str, &'a str, u64)>,
    drops: u64,
    lost: u64,
    marks: u64,
}

impl<'a> Wire<'a> {
    fn add(&mut self, link: &'a Link) {
        self.cables.push(link);
        for (from, to, way) in ways(link) {
            self.drops += way.drops;
            self.lost += way.lost;
            self.marks += way.marks;
            let longest = self.longest.map_or(0, |(_, _, paused)| paused);
            if way.paused_ns > longest {
                self.longest = Some((from, to, way.paused_ns));
            }
        }
    }

    /// The part of the time for which the direction that was stopped longest was.
    fn stopped(&self, duration_ns: u64) -> f64 {
        let longest = self.longest.map_or(0, |(_, _, paused)| paused);
        (longest as f64 / duration_ns.max(1) as f64).min(1.0)
    }

    /// All of it in words.
    fn words(&self, duration_ns: u64) -> String {
        let one = |link: &Link| {
            let mut text = format!("{} – {}: {}, {}", link.a, link.b, link.rate, link.length);
            for (from, to, way) in ways(link) {
                if *way != Way::default() {
                    text += &format!("; {from} → {to} {}", way_words(way, duration_ns));
                }
            }
            text
        };
        if let [link] = self.cables[..] {
            return one(link);
        }
        let mut text = format!("{} cables", self.cables.len());
        if let Some((from, to, paused_ns)) = self.longest {
            let way = Way {
                paused_ns,
                ..Way::default()
            };
            let stopped = (self.cables.iter())
                .filter(|link| ways(link).iter().any(|way| way.2.paused_ns > 0));
            text += &format!(
                "; {} of them stopped, most of all {from} → {to}, {}",
                stopped.count(),
                way_words(&way, duration_ns)
            );
        }
        if self.drops + self.marks > 0 {
            let sum = Way {
                drops: self.drops,
                marks: self.marks,
                ..Way::default()
            };
            text += &format!("; {}", way_words(&sum, duration_ns));
        }
        text
    }
}

/// The wires with the largest numbers, at most [`MOST_NUMBERS`].
fn largest<'a>(
    wires: &BTreeMap<(usize, usize), Wire<'a>>,
    number: impl Fn(&Wire<'a>) -> u64,
) -> Vec<((usize, usize), u64)> {
    let some = wires.iter().map(|(ends, wire)| (*ends, number(wire)));
    let mut some: Vec<_> = some.filter(|(_, number)| *number > 0).collect();
    some.sort_by_key(|(ends, number)| (std::cmp::Reverse(*number), *ends));
    some.truncate(MOST_NUMBERS);
    some
}

/// How many cables the wires between groups have. Of a group with many bundles of the same number, it is said once.
/// `alone` says which groups are single nodes.
fn cable_counts(
    wires: &BTreeMap<(usize, usize), Wire<'_>>,
    alone: impl Fn(usize) -> bool,
) -> Vec<((usize, usize), String)> {
    let mut alike = BTreeMap::<_, Vec<(usize, usize)>>::new();
    for (&(a, b), wire) in wires {
        let group = if alone(a) { b } else { a };
        if a != b && !alone(group) {
            let same = (group, wire.cables.len());
            alike.entry(same).or_default().push((a, b));
        }
    }
    let said = |((_, cables), bundles): ((usize, usize), Vec<(usize, usize)>)| {
        if bundles.len() > MOST_ALIKE {
            return vec![(bundles[bundles.len() / 2], format!("{cables} × each"))];
        }
        let each = |ends| (ends, format!("{cables} ×"));
        bundles.into_iter().map(each).collect()
    };
    alike.into_iter().flat_map(said).collect()
}

/// Renders the picture, at most `room` pixels wide, of a run of `duration_ns`. Returns `None` without nodes.
///
/// A wire of stopped links has the numbers of their rows in `data-rows`, for the script that shows a moment.
pub fn svg(
    topology: &Topology,
    seen: &Seen<'_>,
    pauses: &Pauses,
    room: f64,
    duration_ns: u64,
) -> Option<Markup> {
    if topology.nodes.is_empty() {
        return None;
    }
    let layout = lay_out(topology, seen, room);
    let index = index(topology);
    let group_of = layout.group_of(topology.nodes.len());
    let ends_of = |a: &str, b: &str| Some((group_of[*index.get(a)?], group_of[*index.get(b)?]));
    let mut wires: BTreeMap<(usize, usize), Wire<'_>> = BTreeMap::new();
    for link in &topology.links {
        if let Some((a, b)) = ends_of(&link.a, &link.b) {
            wires.entry((a.min(b), a.max(b))).or_default().add(link);
        }
    }
    let mut rows: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (number, row) in pauses.rows.iter().enumerate() {
        if let Some((a, b)) = ends_of(&row.ends[0], &row.ends[1]) {
            let of_wire = rows.entry((a.min(b), a.max(b))).or_default();
            of_wire.push(number.to_string());
        }
    }
    let apart = |[a, b]: &[String; 2]| ends_of(a, b).filter(|(a, b)| a != b);
    let cycle: Vec<_> = seen.marks.cycle.iter().filter_map(apart).collect();
    let failed: BTreeSet<_> = (seen.marks.failed.iter().filter_map(apart))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    let congested = seen.marks.congested.iter().filter_map(apart);
    let congested: BTreeSet<_> = congested.map(|(a, b)| (a.min(b), a.max(b))).collect();
    let place = |group: usize| (layout.groups[group].1, layout.groups[group].2);
    let alone = |group: usize| layout.groups[group].0.nodes.len() == 1;
    // Many overlapping wires would otherwise form one dark patch.
    let faint = (wires.len() > 60).then_some("0.35");
    let size = format!("0 0 {} {}", c(layout.width), c(layout.height));
    let mut room = Room::beside(&layout.groups, layout.width);
    let crosses = failed.iter().map(|ends| (*ends, 0.5));
    for (ends, part) in crosses.chain(cycle.iter().map(|ends| (*ends, ARROW))) {
        room.keep(along(place(ends.0), place(ends.1), part).0);
    }
    let mut texts = Vec::new();
    let mut put = |class: &'static str, ends: (usize, usize), around: f64, text: String| {
        let (a, b) = (place(ends.0), place(ends.1));
        if let Some((x, y)) = room.take(a, b, around, width(&text, FONT)) {
            texts.push((class, x, y, text));
        }
    };
    let number = |sign: &str, count: u64| format!("{sign} {}", with_groups(&count.to_string()));
    // The gravest first: where there is no room, texts are left out, and pointing at the wire shows them.
    for ends in &failed {
        put(" lost", *ends, 0.3, "failed".into());
    }
    for ends in &congested {
        put("", *ends, 0.5, "congested".into());
    }
    for (ends, count) in largest(&wires, |wire| wire.lost) {
        put(" lost", ends, 0.68, number("✕", count));
    }
    for (ends, text) in cable_counts(&wires, alone) {
        put("", ends, 0.5, text);
    }
    for (ends, count) in largest(&wires, |wire| wire.marks) {
        put(" marked", ends, 0.32, number("◆", count));
    }
    Some(html! {
        svg.topology viewBox=(size) style=(format!("max-width:{}px", c(layout.width))) role="img" aria-label="Topology" {
            g stroke-opacity=[faint] fill="none" {
                @for (&(a, b), what) in &wires {
                    @let class = if failed.contains(&(a, b)) { "wire failed" } else { "wire" };
                    @let rows = rows.get(&(a, b)).map(|rows| rows.join(" "));
                    path class=(class) data-rows=[rows] d=(wire(place(a), place(b))) { title { (what.words(duration_ns)) } }
                }
            }
            // Over the others, so that stopped cables are seen among many.
            g fill="none" {
                @for (&(a, b), what) in &wires {
                    @let part = what.stopped(duration_ns);
                    @if part > 0.0 {
                        path class="stopped" stroke-width=(c(LEAST_STOPPED + part * (STOPPED - LEAST_STOPPED))) d=(wire(place(a), place(b))) {
                            title { (what.words(duration_ns)) }
                        }
                    }
                }
            }
            @for &(a, b) in &cycle { (arrow(place(a), place(b))) }
            @for ends in &failed { (struck(place(ends.0), place(ends.1))) }
            @for (class, x, y, text) in &texts {
                text class=(format!("halo{class}")) x=(c(*x)) y=(c(*y)) text-anchor="middle" { (text) }
            }
            @for (group, x, y) in &layout.groups { (draw_group(group, *x, *y)) }
        }
    })
}

/// A point of a wire from `a` to `b`, and its direction there.
fn along(a: (f64, f64), b: (f64, f64), part: f64) -> ((f64, f64), (f64, f64)) {
    let sag = if a.1 == b.1 { TIER * 0.6 } else { 0.0 };
    let x = a.0 + (b.0 - a.0) * part;
    let y = a.1 + (b.1 - a.1) * part + 2.0 * part * (1.0 - part) * sag;
    let (dx, dy) = (b.0 - a.0, b.1 - a.1 + 2.0 * (1.0 - 2.0 * part) * sag);
    let length = (dx * dx + dy * dy).sqrt().max(1e-9);
    ((x, y), (dx / length, dy / length))
}

/// A link of a cycle: who sends points at who stops it.
fn arrow(a: (f64, f64), b: (f64, f64)) -> Markup {
    let ((x, y), (dx, dy)) = along(a, b, ARROW);
    let tip = format!("{} {}", c(x + dx * 9.0), c(y + dy * 9.0));
    let side = |sign: f64| {
        let (x, y) = (
            x - dx * 7.0 - sign * dy * 8.0,
            y - dy * 7.0 + sign * dx * 8.0,
        );
        format!("{} {}", c(x), c(y))
    };
    html! {
        path class="cycle" fill="none" d=(wire(a, b)) {}
        path class="cycle head" d=(format!("M{tip}L{}L{}Z", side(1.0), side(-1.0))) {}
    }
}

/// Two strokes across the middle of a link that failed.
fn struck(a: (f64, f64), b: (f64, f64)) -> Markup {
    let ((x, y), _) = along(a, b, 0.5);
    html! { path class="struck" d=(cross(x, y)) {} }
}

fn cross(x: f64, y: f64) -> String {
    let (left, right, top, bottom) = (c(x - STRUCK), c(x + STRUCK), c(y - STRUCK), c(y + STRUCK));
    format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
}

/// Returns a point on a wire between two boxes: 0 is the lower box, or the left one, and 1 the other.
fn on_wire(a: (f64, f64), b: (f64, f64), part: f64) -> (f64, f64) {
    let (from, to) = if (a.1, -a.0) > (b.1, -b.0) {
        (a, b)
    } else {
        (b, a)
    };
    let x = from.0 + (to.0 - from.0) * part;
    let mut y = from.1 + (to.1 - from.1) * part;
    if a.1 == b.1 {
        // On the curve of `wire`.
        y += 2.0 * part * (1.0 - part) * TIER * 0.6;
    }
    (x, y)
}

/// The room that texts beside wires may take: none that a box or another text has.
struct Room {
    taken: Vec<[f64; 4]>,
}

impl Room {
    fn beside(groups: &[(Group, f64, f64)], width: f64) -> Self {
        const FAR: f64 = 1e6;
        // Nothing lies beyond the picture.
        let edges = [[-FAR, -FAR, 0.0, FAR], [width, -FAR, FAR, FAR]];
        let taken = groups.iter().map(|(group, x, y)| {
            let (half_width, half_height) = (group.width() / 2.0, group.height() / 2.0);
            [
                x - half_width,
                y - half_height,
                x + half_width,
                y + half_height,
            ]
        });
        Self {
            taken: taken.chain(edges).collect(),
        }
    }

    /// Keeps texts away from a sign.
    fn keep(&mut self, (x, y): (f64, f64)) {
        self.taken
            .push([x - STRUCK, y - STRUCK, x + STRUCK, y + STRUCK]);
    }

    /// Takes room for a text on the wire between two boxes, as near as possible to `around`, and returns where its base
    /// line begins in the middle. `None` if there is none.
    fn take(
        &mut self,
        a: (f64, f64),
        b: (f64, f64),
        around: f64,
        width: f64,
    ) -> Option<(f64, f64)> {
        const STEPS: [f64; 9] = [0.0, 0.06, -0.06, 0.12, -0.12, 0.18, -0.18, 0.24, -0.24];
        STEPS.iter().find_map(|step| {
            let (x, y) = on_wire(a, b, around + step);
            let half = width / 2.0 + 2.0;
            let own = [x - half, y - FONT / 2.0, x + half, y + FONT / 2.0];
            let overlaps = |other: &[f64; 4]| {
                own[0] < other[2] && other[0] < own[2] && own[1] < other[3] && other[1] < own[3]
            };
            if self.taken.iter().any(overlaps) {
                return None;
            }
            self.taken.push(own);
            Some((x, y + 4.0))
        })
    }
}

fn wire(a: (f64, f64), b: (f64, f64)) -> String {
    let (x1, y1, x2, y2) = (c(a.0), c(a.1), c(b.0), c(b.1));
    if a.1 == b.1 {
        // Draw a curve between nodes of one tier, so that it is not hidden behind others.
        let (x, y) = (c((a.0 + b.0) / 2.0), c(a.1 + TIER * 0.6));
        format!("M{x1} {y1}Q{x} {y} {x2} {y2}")
    } else {
        format!("M{x1} {y1}L{x2} {y2}")
    }
}

fn draw_group(group: &Group, x: f64, y: f64) -> Markup {
    let class = match group.kind {
        NodeKind::HostRtl => "node rtl",
        NodeKind::HostModel => "node model",
        NodeKind::Switch => "node switch",
    };
    let (w, h) = (group.width(), group.height());
    let top = y - h / 2.0;
    html! {
        g class=(class) {
            title { (group.label.join(", ")) }
            rect x=(c(x - w / 2.0)) y=(c(top)) width=(c(w)) height=(c(h)) rx=(if group.kind == NodeKind::Switch { "2" } else { "6" }) {}
            @for (line, text) in group.label.iter().chain(&group.fate).enumerate() {
                @let class = (line >= group.label.len()).then_some("lost");
                text class=[class] x=(c(x)) y=(c(top + 18.0 + line as f64 * LINE_HEIGHT)) text-anchor="middle" { (text) }
            }
            // Beside the texts, so that they stay readable.
            @if group.dead { path class="struck" d=(format!("M{} {}L{} {}", c(x - w / 2.0 - 5.0), c(top + h + 4.0), c(x + w / 2.0 + 5.0), c(top - 4.0))) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that would lie on each other move along their wires, or are left out.
    #[test]
    fn texts_of_wires_do_not_overlap() {
        let mut room = Room {
            taken: vec![[80.0, 90.0, 120.0, 110.0]],
        };
        // Wires from one box at (100, 100) to three that are 100 pixels higher.
        let ends = |x: f64| ((100.0, 100.0), (x, 0.0));
        let mut placed = Vec::new();
        for x in [60.0, 100.0, 140.0, 101.0, 99.0, 100.0] {
            let (a, b) = ends(x);
            placed.extend(room.take(a, b, 0.5, 60.0));
        }
        assert!((3..6).contains(&placed.len()), "{placed:?}");
        for (place, a) in placed.iter().enumerate() {
            for b in &placed[..place] {
                let apart = (a.0 - b.0).abs() >= 64.0 || (a.1 - b.1).abs() >= FONT;
                assert!(apart, "{a:?} {b:?}");
            }
            assert!(a.1 - 4.0 + FONT / 2.0 <= 90.0, "{a:?} is on the box");
        }
        // A wire without room at any place.
        assert_eq!(room.take((100.0, 100.0), (101.0, 99.0), 0.5, 60.0), None);
    }

    /// The wire between two nodes has the rows of both of its directions; one that nothing stopped has none.
    #[test]
    fn wires_know_the_rows_of_their_links() {
        use crate::report::data::{Node, PauseRow};
        let node = |name: &str, kind| Node {
            name: name.into(),
            kind,
        };
        let link = |a: &str, b: &str| Link {
            a: a.into(),
            b: b.into(),
            ..Link::default()
        };
        let topology = Topology {
            nodes: vec![
                node("a", NodeKind::HostModel),
                node("b", NodeKind::HostModel),
                node("t", NodeKind::Switch),
            ],
            links: vec![link("a", "t"), link("b", "t")],
        };
        let row = |from: &str, to: &str| PauseRow {
            ends: [from.into(), to.into()],
            ..PauseRow::default()
        };
        let pauses = Pauses {
            rows: vec![row("b", "t"), row("a", "gone"), row("t", "b")],
            left_out: 0,
        };
        let svg = svg(&topology, &Seen::default(), &pauses, 400.0, 1_000).unwrap();
        let svg = svg.into_string();
        assert_eq!(svg.matches("data-rows").count(), 1, "{svg}");
        assert!(svg.contains("data-rows=\"0 2\""), "{svg}");
    }
}
