//! The first screen: what happened, where, and what cures it.

use maud::{Markup, html};

use super::with_code;
use crate::report::data::Report;
use crate::report::text::unbroken;
use crate::report::topology::{self, Seen};
use xoff_network::answer::Cure;

/// Returns what happened, or what the scenario is about where nothing says it.
pub fn headline(report: &Report) -> &str {
    match &report.summary.answer {
        Some(answer) => &answer.headline,
        None if report.title.is_empty() => &report.summary.scenario,
        None => &report.title,
    }
}

/// Renders what happened and what cures it.
pub fn answer(report: &Report) -> Markup {
    let answer = report.summary.answer.as_ref();
    let broke = answer.is_some_and(|answer| answer.broke);
    let cures = answer.map_or(&[][..], |answer| &answer.cures);
    html! {
        h1 class=[broke.then_some("bad")] { (unbroken(headline(report))) }
        @if !cures.is_empty() {
            ul.cures { @for one in cures { li { (cure(one)) } } }
        }
    }
}

fn cure(cure: &Cure) -> Markup {
    let (shown, more) = cure.shown();
    let set = |all: &[String]| html! { @for set in all { code { "--set '" (set) "'" } " " } };
    html! {
        @if cure.set.is_empty() {
            "By hand: " (with_code(&unbroken(&cure.why)))
        } @else {
            "Cure: "
            (set(shown))
            @if more > 0 { details.more { summary { "and " (more) " more" } (set(&cure.set[shown.len()..])) } " " }
            span.muted { "– " (with_code(&unbroken(&cure.why))) }
        }
    }
}

/// Renders the network with what happened in it, and what shows a moment of it where scripts run.
pub fn network(report: &Report) -> Markup {
    let duration = report.summary.duration_ns;
    let seen = Seen {
        marks: (report.summary.answer.as_ref())
            .map_or_else(Default::default, |answer| answer.marks.clone()),
        drops: &report.summary.drops,
    };
    let picture =
        |room: f64| topology::svg(&report.topology, &seen, &report.pauses, room, duration);
    let (wide, narrow) = (picture(960.0), picture(360.0));
    let (from, to) = report.part_ns.unwrap_or((0, duration));
    html! {
        @if let (Some(wide), Some(narrow)) = (wide, narrow) {
            figure.network {
                div.wide { (wide) }
                div.narrow { (narrow) }
                p.below.muted { (topology::caption(&report.topology, &seen)) }
                @if report.pauses.rows.iter().any(|row| !row.ends[1].is_empty()) {
                    div.moment hidden data-from=(from) data-to=(to) {
                        label data-label="Who is stopped when" { input type="range" aria-label="Moment" min="0" max="400" value="0"; }
                        " " output.muted {}
                    }
                }
            }
        }
    }
}
