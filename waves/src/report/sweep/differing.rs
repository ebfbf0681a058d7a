//! What differs between the variants of a sweep: the metrics, the plainest difference first.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use serde::Serialize;
use xoff_network::results::Summary;

use super::super::condense::rank;
use super::super::scale::metric;

/// Bounds of what is drawn and told of the runs of a variant: 95 % of them, and the median.
const PARTS: [f64; 3] = [0.025, 0.5, 0.975];

/// Least, median and greatest of 95 % of the runs of a variant that have a value; `None` if none has.
pub(super) fn range_of<'a>(
    runs: &[&'a Summary],
    value: impl Fn(&'a Summary) -> Option<f64>,
) -> Option<[f64; 3]> {
    let mut all: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
    all.sort_by(f64::total_cmp);
    (!all.is_empty()).then(|| PARTS.map(|part| rank(&all, part)))
}

/// A metric whose values differ between variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differing {
    /// The metric's name.
    pub metric: String,
    /// For each variant the least, the median and the greatest of 95 % of its runs; `None` where no run has the metric.
    pub values: Vec<Option<[f64; 3]>>,
    /// Whether all variants have the metric and two of them are apart: what 95 % of their runs have does not overlap. A
    /// difference without it may be that of the seeds.
    pub apart: bool,
    /// How many other metrics of the same quantity differ.
    pub others: usize,
}

impl Differing {
    /// The metric of variants of runs; `None` if it does not differ.
    pub(super) fn of<'a>(
        name: &str,
        variants: impl Iterator<Item = &'a [&'a Summary]>,
    ) -> Option<Self> {
        let values: Vec<Option<[f64; 3]>> = (variants)
            .map(|runs| range_of(runs, |run| run.metrics.get(name).copied()))
            .collect();
        let known = || values.iter().flatten();
        let same = |one: &[f64; 3]| known().all(|other| other == one);
        let everywhere = known().count() == values.len();
        let nothing = known().all(|value| *value == [0.0; 3]);
        // What a variant does not have, such as a host, and the others do not use, says nothing.
        if (everywhere && known().next().is_none_or(same)) || nothing {
            return None;
        }
        let greatest = known()
            .map(|[low, ..]| *low)
            .fold(f64::NEG_INFINITY, f64::max);
        let least = known()
            .map(|[.., high]| *high)
            .fold(f64::INFINITY, f64::min);
        Some(Self {
            metric: name.into(),
            apart: greatest > least && everywhere,
            values,
            others: 0,
        })
    }

    /// How far the medians are apart, of the greatest: 0 to 2. Those that a variant does not have come last.
    fn change(&self) -> f64 {
        let medians: Option<Vec<f64>> = (self.values.iter())
            .map(|value| value.map(|[_, median, _]| median))
            .collect();
        let Some(medians) = medians else { return -1.0 };
        let greatest = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        (greatest - least) / greatest.abs().max(least.abs()).max(f64::MIN_POSITIVE)
    }

    /// The quantity: the name up to its subject.
    fn quantity(&self) -> &str {
        self.metric.split('.').next().unwrap_or_default()
    }

    /// Whether all variants have the metric, and the difference may be that of the seeds.
    pub fn within_seeds(&self) -> bool {
        !self.apart && self.values.iter().all(Option::is_some)
    }

    /// The values as text, a dash where there is none, with the range of several seeds.
    pub fn texts(&self) -> impl Iterator<Item = String> + '_ {
        let text = |value: f64| metric(self.quantity(), value);
        self.values.iter().map(move |value| match value {
            None => "–".into(),
            Some(ends) => match ends.map(text) {
                // A range that is not seen in four digits says nothing.
                [low, median, high] if low == high => median,
                [low, median, high] => format!("{median} ({low} … {high})"),
            },
        })
    }
}

/// Every metric that differs: those that are apart first, each group by the part by which its medians differ, then by
/// name.
pub(super) fn all(variants: &[(String, Vec<&Summary>)]) -> Vec<Differing> {
    let runs = variants.iter().flat_map(|(_, runs)| runs);
    let names: BTreeSet<&String> = runs.flat_map(|run| run.metrics.keys()).collect();
    let of = |name: &String| Differing::of(name, variants.iter().map(|(_, runs)| &runs[..]));
    let mut differing: Vec<Differing> = names.into_iter().filter_map(of).collect();
    let order = |it: &Differing| (it.apart, it.change());
    differing.sort_by(|a, b| {
        order(b)
            .partial_cmp(&order(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    differing
}

/// Of each quantity the metric that says most: its total, or else the one that differs most.
pub(super) fn by_quantity(all: &[Differing]) -> Vec<Differing> {
    let mut best: BTreeMap<&str, (&Differing, usize)> = BTreeMap::new();
    for it in all {
        let (kept, count) = best.entry(it.quantity()).or_insert((it, 0));
        *count += 1;
        if it.metric.ends_with(".total") {
            *kept = it;
        }
    }
    let of = |it: &Differing| {
        let (kept, count) = best[it.quantity()];
        Differing {
            others: count - 1,
            ..kept.clone()
        }
    };
    // In the order of the whole.
    let kept = |it: &&Differing| best[it.quantity()].0.metric == it.metric;
    all.iter().filter(kept).map(of).collect()
}

/// Renders a table of metrics, a column a variant.
pub(super) fn table(variants: &[String], rows: &[Differing]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "metric" } @for name in variants { th.number { (name) } } } }
            tbody { @for row in rows { tr {
                td {
                    (row.metric)
                    @if row.others > 0 { span.muted { " and " (row.others) " more" } }
                    @if row.within_seeds() { span.muted { ", within the seeds" } }
                }
                @for text in row.texts() { td.number { (text) } }
            } } }
        } }
    }
}
