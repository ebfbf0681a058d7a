//! The figures of a sweep's table, and its charts.

use super::super::data::{Chart, Line, Shape};
use super::Sweep;
use super::differing::range_of;
use xoff_network::results::Summary;

/// A figure that is shown for every point of a sweep: its title, the first part of its metric's name (for the unit),
/// and a function that computes it from the run's metrics. The function returns `None` if the run has no such metric.
pub(super) type Figure = (&'static str, &'static str, fn(&Summary) -> Option<f64>);

/// The figures of a sweep's table and charts, each with the title of its chart and the chart's unit. Lines of one
/// chart are adjacent.
pub(super) const FIGURES: [(&str, &str, Figure); 9] = [
    (
        "Goodput",
        "b/s",
        ("goodput", "goodput_bps", |run| {
            gbps(run.metrics.get("goodput_gbps.total").copied())
        }),
    ),
    (
        "Goodput",
        "b/s",
        ("least flow", "goodput_bps", |run| {
            gbps(flows(run, "goodput_gbps.").reduce(f64::min))
        }),
    ),
    (
        "Goodput",
        "b/s",
        ("greatest flow", "goodput_bps", |run| {
            gbps(flows(run, "goodput_gbps.").reduce(f64::max))
        }),
    ),
    (
        "Latency of messages",
        "ns",
        ("p50, greatest flow", "ns", |run| quantile(run, ".p50")),
    ),
    (
        "Latency of messages",
        "ns",
        ("p99, greatest flow", "ns", |run| quantile(run, ".p99")),
    ),
    (
        "Frames dropped",
        "",
        ("dropped", "", |run| run.metrics.get("drops.total").copied()),
    ),
    (
        "Pause frames",
        "",
        ("pause frames", "", |run| {
            run.metrics.get("pause_frames_tx.total").copied()
        }),
    ),
    (
        "Packets sent again",
        "",
        ("sent again", "", |run| {
            run.metrics.get("retransmitted_packets.total").copied()
        }),
    ),
    (
        "CNPs",
        "",
        ("CNPs", "", |run| run.metrics.get("cnps_tx.total").copied()),
    ),
];

fn gbps(value: Option<f64>) -> Option<f64> {
    value.map(|gbps| gbps * 1e9)
}

/// Returns a metric of each flow.
fn flows<'a>(run: &'a Summary, prefix: &'a str) -> impl Iterator<Item = f64> + 'a {
    let all = run
        .metrics
        .iter()
        .filter(move |(name, _)| name.starts_with(prefix));
    all.filter(|(name, _)| !name.ends_with(".total"))
        .map(|(_, value)| *value)
}

fn quantile(run: &Summary, suffix: &str) -> Option<f64> {
    let all = run
        .metrics
        .iter()
        .filter(|(name, _)| name.starts_with("message_latency_ns."));
    all.filter(|(name, _)| name.ends_with(suffix))
        .map(|(_, value)| *value)
        .reduce(f64::max)
}

/// Distance of two dots of a name, of which each has 1,000.
const BESIDE: u64 = 90;

/// A line of a chart: its chart's title and unit, its name, and the value of a run.
type Drawn<'a> = (
    &'a str,
    &'a str,
    &'a str,
    Box<dyn Fn(&Summary) -> Option<f64> + 'a>,
);

/// The unit of a metric, by its name.
fn unit(metric: &str) -> &'static str {
    let quantity = metric.split('.').next().unwrap_or_default();
    match quantity.rsplit('_').next() {
        Some("bps") => "b/s",
        Some("bytes") => "B",
        Some("ns") => "ns",
        Some("s") => "s",
        _ => "",
    }
}

/// The charts of [`Sweep::charts`].
pub(super) fn charts(sweep: &Sweep) -> Vec<Chart> {
    let figures = (FIGURES.into_iter())
        .map(|(title, unit, (name, _, value))| -> Drawn { (title, unit, name, Box::new(value)) });
    let metrics = sweep.drawn.iter().map(|name| -> Drawn {
        (
            name,
            unit(name),
            name,
            Box::new(|run| run.metrics.get(name).copied()),
        )
    });
    let variants = sweep.variants();
    let seeds = variants.iter().any(|(_, runs)| runs.len() > 1);
    let mut charts: Vec<Chart> = Vec::new();
    for (title, unit, name, value) in figures.chain(metrics) {
        let (divisor, unit) = if unit == "ns" {
            (1e3, "µs")
        } else {
            (1.0, unit)
        };
        let values = |runs: &[&Summary]| {
            range_of(runs, &value).map_or([f64::NAN; 3], |range| range.map(|it| it / divisor))
        };
        let all: Vec<[f64; 3]> = variants.iter().map(|(_, runs)| values(runs)).collect();
        let nothing = |[_, median, _]: &[f64; 3]| median.is_nan() || *median == 0.0;
        if all.iter().all(nothing) {
            continue;
        }
        if charts.last().is_none_or(|chart| chart.title != title) {
            let over = match seeds {
                true => " The dot is the median of the seeds, the stroke has 95 % of them.",
                false => "",
            };
            charts.push(Chart {
                title: title.into(),
                unit: unit.into(),
                note: format!("Over {}.{over}", sweep.keys.join(", ")),
                categories: variants.iter().map(|(name, _)| name.clone()).collect(),
                ..Chart::default()
            });
        }
        if let Some(chart) = charts.last_mut() {
            chart.lines.push(Line {
                name: name.into(),
                points: (all.iter().enumerate())
                    .map(|(place, [_, median, _])| (1_000 * place as u64 + 500, *median))
                    .collect(),
                ranges: all.iter().map(|[low, _, high]| (*low, *high)).collect(),
                shape: Shape::Dots,
                ..Line::default()
            });
        }
    }
    charts.iter_mut().for_each(beside_each_other);
    charts
}

/// Moves the dots of a chart's lines beside each other, so that equal ones are seen.
fn beside_each_other(chart: &mut Chart) {
    let half = (chart.lines.len() as u64 - 1) * BESIDE / 2;
    for (place, line) in chart.lines.iter_mut().enumerate() {
        for point in &mut line.points {
            point.0 = point.0 + place as u64 * BESIDE - half;
        }
    }
}
