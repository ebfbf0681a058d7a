//! Tables of flows: by what the user named, and one by one.

use std::collections::BTreeMap;

use maud::{Markup, html};
use xoff_network::scenario::entry_of;

use crate::report::MessageRow;
use crate::report::condense::rank;
use crate::report::data::Report;
use crate::report::scale::{metric, number, with_groups};

/// Flows with a row each that is not folded.
const MOST_FLOWS: usize = 12;

/// What is said of some flows.
#[derive(Default)]
struct Figures<'a> {
    goodput: Vec<f64>,
    messages: Vec<&'a MessageRow>,
}

/// Quantiles 50 and 99 % of values; none without any.
fn quantiles(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| [rank(&values, 0.5), rank(&values, 0.99)])
}

impl Figures<'_> {
    fn latency(&self) -> Option<[f64; 2]> {
        let took = |row: &&MessageRow| Some((row.end_ns? - row.start_ns) as f64);
        quantiles(self.messages.iter().filter_map(took).collect())
    }

    fn slowdown(&self) -> Option<[f64; 2]> {
        quantiles(
            self.messages
                .iter()
                .filter_map(|row| row.slowdown)
                .collect(),
        )
    }

    fn cells(&self) -> Markup {
        let complete = self
            .messages
            .iter()
            .filter(|row| row.end_ns.is_some())
            .count();
        let goodput: f64 = self.goodput.iter().sum::<f64>() * 1e9;
        let both = |pair: Option<[f64; 2]>, text: fn(f64) -> String| {
            pair.map_or_else(
                || "–".into(),
                |[p50, p99]| format!("{}, {}", text(p50), text(p99)),
            )
        };
        html! {
            td.number data-label="goodput" { @if self.goodput.is_empty() { "–" } @else { (metric("_bps", goodput)) } }
            td.number data-label="complete" { (with_groups(&complete.to_string())) }
            td.number data-label="open" { (with_groups(&(self.messages.len() - complete).to_string())) }
            td.number data-label="latency p50, p99" { (both(self.latency(), |ns| metric("_ns", ns))) }
            td.number data-label="slowdown p50, p99" { (both(self.slowdown(), number)) }
        }
    }
}

fn head(what: &str) -> Markup {
    html! {
        thead { tr {
            th { (what) } th.number { "goodput" } th.number { "complete" } th.number { "open" }
            th.number { "latency p50, p99" } th.number { "slowdown p50, p99" }
        } }
    }
}

/// Renders the tables. Goodput is that of the measured window, messages are those of the whole run.
pub fn flows(report: &Report) -> Markup {
    // In the order of the scenario: names with numbers are not in that of letters.
    let mut places = BTreeMap::<&str, usize>::new();
    for row in &report.messages {
        let next = places.len();
        places.entry(&row.flow).or_insert(next);
    }
    let place = |flow: &str| places.get(flow).copied().unwrap_or(usize::MAX);
    let mut each = BTreeMap::<(usize, &str), Figures>::new();
    let mut groups = BTreeMap::<&str, Figures>::new();
    let mut classes = BTreeMap::<u8, Figures>::new();
    for (name, gbps) in &report.summary.metrics {
        if let Some(flow) = name
            .strip_prefix("goodput_gbps.")
            .filter(|flow| *flow != "total")
        {
            // Of a workload there is only the goodput of all of it.
            if place(flow) < usize::MAX || !report.messages.iter().any(|row| *row.group == *flow) {
                each.entry((place(flow), flow))
                    .or_default()
                    .goodput
                    .push(*gbps);
            }
            groups
                .entry(entry_of(flow))
                .or_default()
                .goodput
                .push(*gbps);
        }
    }
    for row in &report.messages {
        each.entry((place(&row.flow), &row.flow))
            .or_default()
            .messages
            .push(row);
        groups.entry(&row.group).or_default().messages.push(row);
        classes.entry(row.class).or_default().messages.push(row);
    }
    let count = |group: &str| {
        each.keys()
            .filter(|(_, flow)| entry_of(flow) == group)
            .count()
    };
    let table = |what: &str| {
        html! {
            table.stack.flows {
                (head(what))
                tbody { @for ((_, flow), figures) in &each { tr { td { (flow) } (figures.cells()) } } }
            }
        }
    };
    html! {
        @if !each.is_empty() {
            h2 { "Flows" }
            @if groups.len() < each.len() {
                table.stack.flows {
                    (head("group"))
                    tbody { @for (group, figures) in &groups {
                        tr { td { (group) @if count(group) > 1 { span.muted { " (" (count(group)) " flows)" } } } (figures.cells()) }
                    } }
                }
            }
            @if classes.len() > 1 {
                table.stack.flows {
                    (head("class"))
                    tbody { @for (class, figures) in &classes { tr { td { "class " (class) } (figures.cells()) } } }
                }
            }
            @if each.len() <= MOST_FLOWS {
                (table("flow"))
            } @else {
                details { summary { "All " (with_groups(&each.len().to_string())) " flows" } (table("flow")) }
            }
            (tiers(report))
            p.below.muted {
                "Goodput is that of the measured window, messages and their latency are those of the whole run; slowdown is the time that "
                "a message took over the one that it takes alone. flows.csv has each message."
            }
        }
    }
}

/// Renders how far the links between groups of switches were used.
fn tiers(report: &Report) -> Markup {
    let tiers: Vec<(&str, f64)> = (report.summary.metrics.iter())
        .filter_map(|(name, used)| Some((name.strip_prefix("tier_utilization.")?, *used)))
        .collect();
    html! {
        @if !tiers.is_empty() {
            table.tiers {
                thead { tr { th { "tier" } th.number { "in use" } th.bars {} } }
                tbody { @for (tier, used) in tiers {
                    tr {
                        td { (tier.replacen('.', " → ", 1)) }
                        td.number { (crate::report::scale::percent(used)) }
                        td { span.bar style=(format!("width:{:.1}%", 100.0 * used.clamp(0.0, 1.0))) {} }
                    }
                } }
            }
        }
    }
}
