//! The charts: still pictures, and what enlarges them where scripts run.

use maud::{Markup, PreEscaped, html};

use crate::report::chart::{self, Frame, MOST_NAMES, Shared, Time};
use crate::report::condense;
use crate::report::data::{Chart, Report, Shape};
use crate::report::heat::Heat;
use crate::report::scale::time;

/// Maximum number of heat maps.
const MOST_HEAT_MAPS: usize = 2;

/// uPlot, which draws the charts where scripts run: `uplot/README.md` says where it is from.
const UPLOT: &str = include_str!("../uplot/uPlot.iife.min.js");
const UPLOT_RULES: &str = include_str!("../uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../uplot/LICENSE");

/// Renders the scripts of a page with charts.
pub fn scripts() -> Markup {
    html! {
        style { (PreEscaped(UPLOT_RULES)) }
        script { "/*" (PreEscaped(UPLOT_LICENCE)) "*/" (PreEscaped(UPLOT)) }
        script { (PreEscaped(include_str!("../chart_marks.js"))) }
        script { (PreEscaped(include_str!("../charts.js"))) }
        script { (PreEscaped(include_str!("../strip.js"))) }
    }
}

/// When the run is, and the part of it that is shown.
fn shown_time(report: &Report) -> Time {
    let ends = report.charts.iter().map(chart::end);
    let end = match report.summary.duration_ns {
        0 => ends.max().unwrap_or(0).max(1),
        duration => duration,
    };
    let whole = (0, end);
    let part = report.part_ns.unwrap_or(whole);
    Time { whole, part }
}

/// Whether the data of a chart can be those of the whole run.
fn is_over_time(chart: &Chart) -> bool {
    let apart = chart.lines.iter().any(|line| line.shape == Shape::Dots);
    chart.categories.is_empty() && chart.span_ns.is_none() && !apart
}

/// Few enough lines over the whole run, of so many columns.
fn condensed(chart: &Chart, whole: (u64, u64), columns: u64) -> Chart {
    let chart = Chart {
        span_ns: Some(whole),
        ..chart.clone()
    };
    condense::in_columns(&chart, MOST_NAMES, columns).into_owned()
}

/// How fine the intervals of charts are, if they are much finer than their pictures.
fn fine(report: &Report, shown: &[Chart], axis: Time) -> Option<u64> {
    let lines = shown
        .iter()
        .map(|chart| chart.lines.len() + chart.areas.len());
    let all = report.charts.iter().filter(|chart| is_over_time(chart));
    let intervals = all.flat_map(|chart| chart.lines.iter().map(|line| line.points.len()));
    axis.fine(lines.sum(), intervals.max().unwrap_or(0))
}

/// Renders the charts over time.
pub fn charts(report: &Report) -> Markup {
    let axis = shown_time(report);
    let shown = |chart: &Chart| {
        if !is_over_time(chart) {
            return (condense::chart(chart).into_owned(), false);
        }
        let condensed = condensed(chart, axis.whole, axis.columns());
        let part = Chart {
            span_ns: Some(axis.part),
            ..condensed
        };
        (part, true)
    };
    let (charts, over_time): (Vec<Chart>, Vec<bool>) = report.charts.iter().map(shown).unzip();
    let (wide, narrow) = (Frame::wide(&charts), Frame::narrow(&charts));
    let fine = fine(report, &charts, axis);
    let shared = |number: usize| {
        let shared = Shared::new(&charts[number], number, axis);
        let shared = match fine {
            Some(columns) => {
                let chart = condensed(&report.charts[number], axis.whole, columns);
                shared.with_fine(chart, columns)
            }
            None => shared,
        };
        over_time[number].then_some(shared)
    };
    let shared: Vec<Option<Shared>> = (0..charts.len()).map(shared).collect();
    html! {
        @if !charts.is_empty() {
            h2 { "Over time" }
            @if report.part_ns.is_some() { (strip(&shared, axis, wide, narrow)) }
            p.window.muted hidden {
                "Drag over a stretch of time to enlarge it in all charts; double click goes back. " output.tip {} " "
                button type="button" hidden { "Back" }
            }
            div.charts data-axis=(axis.json(fine)) {
                @for (chart, shared) in charts.iter().zip(&shared) { (figure(chart, shared.as_ref(), wide, narrow)) }
            }
            (heat_maps(report, axis.part))
        }
    }
}

/// Renders the whole run, with the part that is shown marked.
fn strip(shared: &[Option<Shared>], axis: Time, wide: Frame, narrow: Frame) -> Markup {
    let moves = |chart: &Chart| {
        let points = chart.lines.iter().flat_map(|line| &line.points);
        points.into_iter().any(|point| point.1 > 0.0)
    };
    // The first chart that is not empty.
    let all = || shared.iter().flatten();
    let chosen = all().find(|shared| moves(shared.chart())).or(all().next());
    html! {
        @if let Some(shared) = chosen {
            figure.strip {
                figcaption { p.note {
                    "Shown is the part from "
                    span.stretch { @if axis.part.0 == 0 { "the start" } @else { (time(axis.part.0)) } " to " (time(axis.part.1)) ", where it happened" }
                    ". This is the whole run: " (shared.chart().title.to_lowercase()) "."
                    span.hint hidden { " Drag the part or its ends to move it; arrow keys move it too." }
                } }
                (chart::strip(shared, wide, "chart wide"))
                (chart::strip(shared, narrow, "chart narrow"))
            }
        }
    }
}

fn figure(chart: &Chart, shared: Option<&Shared>, wide: Frame, narrow: Frame) -> Markup {
    let unit = chart::heading_unit(chart);
    html! {
        figure.chart data-chart=[shared.map(Shared::json)] {
            figcaption {
                h3 { (chart.title) @if !unit.is_empty() { span.unit { ", " (unit) } } " " output.tip.time {} }
                @if !chart.note.is_empty() { p.note { (chart.note) } }
                (chart::legend(chart))
            }
            @if let Some(shared) = shared {
                (shared.paths())
                @if let Some(spans) = shared.spans() {
                    script.spans type="application/json" { (PreEscaped(spans)) }
                }
                (chart::shared_svg(shared, wide, "chart wide"))
                (chart::shared_svg(shared, narrow, "chart narrow"))
            } @else {
                (chart::svg(chart, wide, None, "chart wide"))
                (chart::svg(chart, narrow, None, "chart narrow"))
            }
        }
    }
}

/// Renders lines of which there are too many for a chart, a row each.
fn heat_maps(report: &Report, part: (u64, u64)) -> Markup {
    let many = report.charts.iter();
    let many = many.filter(|chart| chart.lines.len() > condense::MOST_LINES);
    let maps = many
        .map(|chart| Heat::new(chart, part.0, part.1))
        .filter(Heat::varies);
    html! {
        @for map in maps.take(MOST_HEAT_MAPS) {
            figure.heat {
                figcaption {
                    h3 { (map.title()) ", line by line" }
                    p.note { (map.note()) }
                }
                (map.svg(960.0, "wide"))
                (map.svg(380.0, "narrow"))
            }
        }
    }
}
