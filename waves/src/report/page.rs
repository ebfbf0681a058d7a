//! Renders the page: one HTML file that needs no other file and can be read without scripts.

use maud::{Markup, PreEscaped, html};

mod charts;
mod expected;
mod findings;
mod first;
mod flows;
mod jobs;
mod policy;
mod servers;

use super::data::Report;
use super::pauses;
use super::scale::{metric, number, time, with_groups};
use super::style::page_rules;
use super::text::clean;
use super::topology;
use super::{condense, fct};
use crate::document::document;
use crate::results::{self, REPORT};
use xoff_network::results::{Drop, Expectation, Fault, FindingKind, Injection, State, Summary};

impl Report {
    /// Renders the whole page.
    pub fn html(&self) -> String {
        let summary = &self.summary;
        let body = html! {
            main {
                section.first {
                    p.name.muted { "Xoff scenario " code { (summary.scenario) } }
                    (first::answer(self))
                    (first::network(self))
                    (verdict(summary))
                    (expected::expectations(&summary.expectations))
                }
                (findings::findings(&summary.findings))
                (notes(&summary.notes))
                (policy::policy(summary.policy.as_ref()))
                (servers::stages(&summary.onboarding))
                (servers::probes(&summary.probes))
                (servers::servers(summary.servers.as_ref()))
                (about(self))
                (links(self))
                (charts::charts(self))
                (flows::flows(self))
                (fct::slowdown(self))
                (spread(self))
                (jobs::jobs(&summary.jobs))
                (drops(&summary.drops))
                (faults(&summary.faults))
                (injections(&summary.injections))
                (repeat(self))
                (settings(&summary.settings))
                (metrics(summary))
                (files(self))
                footer.muted { "Written by Xoff " (env!("CARGO_PKG_VERSION")) "." }
            }
            @if !self.charts.is_empty() || !self.pauses.rows.is_empty() {
                script { (PreEscaped(include_str!("stretch.js"))) }
            }
            @if !self.charts.is_empty() { (charts::scripts()) }
            @if !self.pauses.rows.is_empty() {
                script { (PreEscaped(include_str!("zoom.js"))) }
                script { (PreEscaped(include_str!("moment.js"))) }
            }
        };
        let title = format!("{} – Xoff", first::headline(self));
        clean(document(&title, &page_rules(), &body).into_string())
    }
}

/// What the scenario shows, in its own words, and the figures of the run.
fn about(report: &Report) -> Markup {
    let paragraphs = report.description.split("\n\n").map(str::trim);
    html! {
        section.about {
            h2 { "About this scenario" }
            @if !report.title.is_empty() && report.summary.answer.is_some() { p { strong { (report.title) "." } } }
            @for paragraph in paragraphs.filter(|text| !text.is_empty()) { p { (with_code(paragraph)) } }
            (facts(&report.summary))
        }
    }
}

/// The links on which most happened.
fn links(report: &Report) -> Markup {
    let table = topology::table(&report.topology, report.summary.duration_ns);
    html! {
        @if let Some(table) = table {
            h2 { "Links" }
            (table)
        }
    }
}

/// Renders text, with the parts between backticks as code.
pub(super) fn with_code(text: &str) -> Markup {
    html! {
        @for (index, piece) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

/// Returns the outcome in one sentence.
pub fn sentence(summary: &Summary) -> String {
    let count = summary.expectations.len();
    let failed: Vec<&Expectation> = (summary.expectations.iter())
        .filter(|expectation| !expectation.held)
        .collect();
    match summary.state {
        State::Finished => {}
        State::Running => return "Not finished.".into(),
        State::Failed => return "Ended with an error.".into(),
        State::Interrupted => {
            let at = time(summary.duration_ns);
            return format!(
                "Interrupted at {at}: figures are of the time until then, nothing was judged."
            );
        }
    }
    let violations = match summary
        .monitored
        .map_or(0, |monitored| monitored.violations)
    {
        0 => "",
        1 => " The monitors found a violation of a standard.",
        _ => " The monitors found violations of standards.",
    };
    let outcome = match (count, failed.as_slice()) {
        (0, _) => "Ran to its end; nothing was expected of it.".into(),
        (1, []) => "Held: the one expectation is met.".into(),
        (count, []) => format!("Held: all {count} expectations are met."),
        (count, [first, ..]) => {
            let (bound, measured) = expected::in_words(first);
            let measured = match first.measured {
                Some(_) => format!("is {measured}"),
                None => "was not measured".into(),
            };
            let what = if count == 1 {
                "the one expectation is".to_owned()
            } else {
                format!("{} of {count} expectations", failed.len())
            };
            format!(
                "Failed: {what} not met; {} {measured}, expected {bound}.",
                first.metric,
            )
        }
    };
    outcome + violations
}

fn verdict(summary: &Summary) -> Markup {
    let text = sentence(summary);
    let broke = summary.answer.as_ref().is_some_and(|answer| answer.broke);
    let class = match (
        summary.state,
        summary.expectations.is_empty(),
        summary.held(),
    ) {
        (State::Finished, true, true) => "verdict",
        // An outage that the scenario expects is no good news.
        (State::Finished, false, true) if broke => "verdict",
        (State::Finished, false, true) => "verdict good",
        _ => "verdict bad",
    };
    html! { p class=(class) { (text) } }
}

fn facts(summary: &Summary) -> Markup {
    let share = summary.nic_cycles_evaluated as f64 / summary.nic_cycles.max(1) as f64 * 100.0;
    let took = match round(summary.wall_s) {
        0.0 => "< 0.1 s".into(),
        seconds => format!("{} s", number(seconds)),
    };
    html! {
        dl.facts {
            div { dt { "Simulated time" } dd { (time(summary.duration_ns)) } }
            div { dt { "Took" } dd { (took) } }
            // Only RTL NICs have cycles.
            @if summary.nic_cycles > 0 {
                div { dt { "NIC cycles" } dd { (with_groups(&summary.nic_cycles.to_string())) } }
                div { dt { "of these evaluated" } dd { (with_groups(&format!("{share:.1}"))) " %" } }
            }
            div { dt { "Seed" } dd { (summary.seed) } }
            @if let Some(monitored) = &summary.monitored {
                div { dt { "Frames watched" } dd { (with_groups(&monitored.frames.to_string())) } }
            }
            div { dt { "Digest" } dd.digest { (summary.digest) } }
        }
    }
}

/// Rounds to a tenth; more digits of a wall-clock time are of no use.
fn round(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            h2 { "Notes" }
            ul { @for note in notes { li { (note) } } }
        }
    }
}

fn spread(report: &Report) -> Markup {
    let drawn = &report.pauses;
    let duration = report.summary.duration_ns;
    let shown = report.part_ns.unwrap_or((0, duration));
    let mut marks: Vec<(u64, &str)> = (report.summary.findings.iter())
        .filter(|finding| finding.kind <= FindingKind::Storm)
        .take(MOST_MARKS)
        .map(|finding| (finding.from_ns, finding.kind.words()))
        .collect();
    marks.sort_unstable();
    html! {
        @if !drawn.rows.is_empty() {
            h2 { "Who paused whom" }
            figure.chart.spread data-duration=(duration) data-part=(format!("{} {}", shown.0, shown.1)) {
                figcaption {
                    p.note {
                        "A row for each stopped link, from where the pauses come from outwards; the height of a bar is the part of the time for which the link was stopped. An arrow leads from a link to one that stood because of it. "
                        "At the end of a row is for how long its link was stopped in the whole run. "
                        span.drag hidden { "Drag over a stretch of time to enlarge it; double click goes back. " output.tip.time {} }
                    }
                }
                (pauses::svg(drawn, &marks, 960.0, false, shown, "chart wide"))
                (pauses::svg(drawn, &marks, 380.0, true, shown, "chart narrow"))
                script.spans type="application/json" { (PreEscaped(pauses::spans(drawn, duration))) }
                @if drawn.left_out > 0 {
                    p.below.muted { "and " (with_groups(&drawn.left_out.to_string())) " more links that were stopped for less: series.csv has all" }
                }
            }
        }
    }
}

fn drops(drops: &[Drop]) -> Markup {
    let mut rows: Vec<&Drop> = drops.iter().filter(|drop| drop.count > 0).collect();
    let most = rows.iter().map(|drop| drop.count).max().unwrap_or(1);
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|drop| std::cmp::Reverse(drop.count));
    }
    let rest = rows.split_off(rows.len().min(MOST_ROWS));
    let rest_frames: u64 = rest.iter().map(|drop| drop.count).sum();
    html! {
        @if !rows.is_empty() {
            h2 { "Dropped frames" }
            table {
                thead { tr { th { "node" } th { "reason" } th.number { "frames" } th.bars {} } }
                tbody { @for drop in &rows {
                    tr {
                        td { (drop.node) }
                        td { (drop.reason) }
                        td.number { (with_groups(&drop.count.to_string())) }
                        td { span.bar style=(format!("width:{:.1}%", drop.count as f64 / most as f64 * 100.0)) {} }
                    }
                } }
            }
            @if !rest.is_empty() {
                p.muted { "and " (rest.len()) " more nodes and reasons, " (with_groups(&rest_frames.to_string())) " frames: summary.json has all" }
            }
        }
    }
}

fn faults(faults: &[Fault]) -> Markup {
    html! {
        @if !faults.is_empty() {
            h2 { "Faults" }
            table {
                thead { tr { th { "rule" } th.number { "frames matched" } th.number { "hit" } } }
                tbody { @for fault in faults {
                    tr {
                        td { code { (fault.rule) } span.why.muted { (fault.place) @if let Some(unused) = fault.unused() { ": " (unused) } } }
                        td.number.bad[fault.matched == 0] { (with_groups(&fault.matched.to_string())) }
                        td.number.bad[fault.hit == 0] { (with_groups(&fault.hit.to_string())) }
                    }
                } }
            }
        }
    }
}

fn injections(injections: &[Injection]) -> Markup {
    html! {
        @if !injections.is_empty() {
            h2 { "Injected frames" }
            ul { @for injection in injections { li { (injection) } } }
        }
    }
}

fn repeat(report: &Report) -> Markup {
    html! {
        @if !report.command.is_empty() {
            h2 { "Again" }
            p { "The same command gives the same run and the same digest, on any machine and with any number of threads." }
            // Allow line breaks between words, but not after a hyphen of an option.
            pre { @for (index, word) in report.command.split(' ').enumerate() { @if index > 0 { " " } span { (word) } } }
        }
    }
}

/// Links to the other files of the run, which lie beside the page.
fn files(report: &Report) -> Markup {
    let files = report.summary.files.iter();
    let others = || {
        files
            .clone()
            .filter(|file| *file != REPORT && results::is_written(file, report))
    };
    html! {
        @if others().next().is_some() {
            h2.links-to { "Files" }
            ul.links-to { @for file in others() { li {
                a href=(format!("./{file}")) { (file) }
                @if let Some(what) = contents(file) { " " span.muted { (what) } }
            } } }
        }
    }
}

/// What a file of results has, in a few words.
fn contents(file: &str) -> Option<&'static str> {
    let what = match file {
        results::SUMMARY => "settings, findings, expectations, metrics",
        results::SERIES => "a row for each value of all lines of the charts",
        results::FLOWS => "a row for each message, or each flow of a workload",
        results::METRICS => "a row for each metric, with its unit",
        results::SPANS => "when each port was paused",
        results::SERVERS => "each interval of a server in which it was not quiet",
        results::PICTURE => "the first chart",
        results::CAPTURE => "the captured frames",
        _ => return None,
    };
    Some(what)
}

fn settings(settings: &serde_json::Value) -> Markup {
    let mut rows = Vec::new();
    flatten(String::new(), settings, &mut rows);
    html! {
        @if !rows.is_empty() {
            details {
                summary { "Settings" }
                table.settings { tbody { @for (key, value) in &rows { tr { td.metric { (key) } td { (value) } } } } }
            }
        }
    }
}

/// Converts nested settings to rows: `switch.buffer.alpha` and its value.
fn flatten(key: String, value: &serde_json::Value, rows: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let under = |name: &str| {
        if key.is_empty() {
            name.to_owned()
        } else {
            format!("{key}.{name}")
        }
    };
    match value {
        Value::Null if key.is_empty() => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(under(name), value, rows);
            }
        }
        Value::Array(items) if items.len() > MOST_ROWS && items.iter().all(Value::is_object) => {
            let entry = |item: &Value| {
                let mut entry = Vec::new();
                flatten(String::new(), item, &mut entry);
                entry
            };
            let entries: Vec<_> = items.iter().map(entry).collect();
            rows.extend(condense::entries(&key, &entries));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (index, item) in items.iter().enumerate() {
                flatten(under(&index.to_string()), item, rows);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            rows.push((key, items.join(", ")));
        }
        other => rows.push((key, plain(other))),
    }
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Deadlocks and storms that are marked in the picture of pauses.
const MOST_MARKS: usize = 6;
/// Maximum number of rows in a table whose rows are of interest one by one. If there are more, the most informative
/// are shown.
const MOST_ROWS: usize = 24;

/// Renders a table of all metrics. If there are many, similar ones are summarized by their usual and extreme values.
fn metrics(summary: &Summary) -> Markup {
    let few = summary.metrics.len() <= 40 * MOST_ROWS;
    html! {
        @if !summary.metrics.is_empty() {
            details {
                summary { "Everything measured" }
                @if few {
                    table { tbody { @for (name, value) in &summary.metrics { tr { td.metric { (name) } td.number { (metric(name, *value)) } } } } }
                } @else {
                    p.muted { "Of figures alike the least, the greatest and those between; summary.json has each." }
                    table.stack {
                        thead { tr {
                            th { "metric" } th.number { "of" } th.number { "least" } th.number { "10 %" }
                            th.number { "median" } th.number { "90 %" } th.number { "greatest" }
                        } }
                        tbody { @for alike in condense::figures(&summary.metrics) { (alike_row(&alike)) } }
                    }
                }
            }
        }
    }
}

fn alike_row(alike: &condense::Alike<'_>) -> Markup {
    let values = &alike.figures;
    let (least, greatest) = (values[0], values[values.len() - 1]);
    let at = |part| metric(least.0, condense::rank(values, part).1);
    html! {
        tr {
            td.metric { (alike.name) }
            td.number data-label="of" { (with_groups(&values.len().to_string())) }
            @if least.1 == greatest.1 {
                td.number colspan="5" { @if values.len() > 1 { "all " } (at(0.0)) }
            } @else {
                td.number data-label="least" { (at(0.0)) span.why.muted { (least.0) } }
                td.number data-label="10 %" { (at(0.1)) }
                td.number data-label="median" { (at(0.5)) }
                td.number data-label="90 %" { (at(0.9)) }
                td.number data-label="greatest" { (at(1.0)) span.why.muted { (greatest.0) } }
            }
        }
    }
}
