//! How pauses spread, for the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use xoff_network::Simulation;
use xoff_network::detect::{Detector, LinkClass, LinkPauses, Root};
use xoff_network::results::ns;
use xoff_sim::time::{Duration, Time};
use xoff_waves::report::{PauseRow, Pauses};

/// Maximum number of stopped links in the picture. If there are more, those that were stopped for longest are drawn.
const MOST_ROWS: usize = 40;

fn length(time: Duration) -> u64 {
    time.as_ps() / 1_000
}

/// Who stops whom: `h stops t0`, with the class if there are several.
fn name(simulation: &Simulation, link: LinkClass, classes: bool) -> String {
    let text = link.text(simulation);
    let (from, to) = text.split_once(" → ").unwrap_or((&text, "?"));
    match classes {
        true => format!("{to} stops {from}, class {}", link.class),
        false => format!("{to} stops {from}"),
    }
}

/// Returns the stopped links, from where the pauses come from outwards.
///
/// Links with the same root stand together, those with the earliest pause first; in them a link follows the one that
/// it stood because of.
pub fn spread(simulation: &Simulation, detector: &Detector) -> Pauses {
    let mut all: Vec<(LinkClass, &LinkPauses)> = detector.pauses().collect();
    let count = all.len();
    all.sort_by_key(|(link, pauses)| (Reverse(pauses.total), *link));
    all.truncate(MOST_ROWS);
    let first = |pauses: &LinkPauses| pauses.spans.first().map_or(Time::MAX, |span| span.from);
    let place = |link: LinkClass| {
        let spread = detector.spread(link);
        let root = spread.map_or(Root::Congested(link), |spread| spread.root);
        (root, spread.map_or(0, |spread| spread.distance))
    };
    let mut earliest: BTreeMap<Root, Time> = BTreeMap::new();
    for (link, pauses) in &all {
        let of_root = earliest.entry(place(*link).0).or_insert(Time::MAX);
        *of_root = first(pauses).min(*of_root);
    }
    all.sort_by_key(|(link, pauses)| {
        let (root, distance) = place(*link);
        (earliest[&root], root, distance, first(pauses), *link)
    });
    let cause = |link: LinkClass| {
        let (root, distance) = place(link);
        let (peer, _) = link.peer(simulation)?;
        let candidates = all.iter().enumerate().filter(|(_, (other, _))| {
            let nearer = place(*other) == (root, distance.wrapping_sub(1));
            nearer && other.node == peer && other.class == link.class
        });
        let longest = candidates.max_by_key(|(index, (_, pauses))| (pauses.total, Reverse(*index)));
        longest.map(|(index, _)| index)
    };
    let classes = all.iter().any(|(link, _)| link.class != all[0].0.class);
    let rows = all.iter().map(|(link, pauses)| PauseRow {
        name: name(simulation, *link, classes),
        ends: link.ends(simulation),
        distance: place(*link).1,
        cause: cause(*link),
        from_ns: ns(first(pauses)),
        total_ns: length(pauses.total),
        spans: (pauses.spans.iter())
            .map(|span| (ns(span.from), ns(span.to), length(span.paused)))
            .collect(),
    });
    Pauses {
        rows: rows.collect(),
        left_out: count - all.len(),
    }
}
