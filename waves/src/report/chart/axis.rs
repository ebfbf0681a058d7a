//! Which values and times a chart shows.

use super::super::data::Chart;
use super::super::scale::{self, Axis};

/// Approximate number of ticks of a value axis.
const VALUE_TICKS: usize = 5;
/// A start-up whose values are so many times those of later is cut off.
const STARTS_UP: f64 = 2.0;

/// The values of a chart with their times: those of lines, and the upper ends of bands and areas.
fn values(chart: &Chart) -> impl Iterator<Item = (u64, f64)> {
    let lines = chart.lines.iter().flat_map(|line| {
        let ranges = line.points.iter().zip(&line.ranges);
        let ranges = ranges.map(|(point, range)| (point.0, range.1));
        line.points.iter().copied().chain(ranges)
    });
    let areas = chart.areas.iter().flat_map(|area| &area.points);
    let values = lines.chain(areas.map(|&(time, _, high)| (time, high)));
    values.filter(|(_, value)| value.is_finite())
}

/// Returns the least and the greatest value that is shown at these times, with zero; `None` without any.
fn extremes(chart: &Chart, at: impl Fn(u64) -> bool) -> Option<(f64, f64)> {
    let values = values(chart).filter(|(time, _)| at(*time));
    values.fold(None, |all, (_, value)| {
        let (low, high) = all.unwrap_or((0.0_f64, 0.0_f64));
        Some((low.min(value), high.max(value)))
    })
}

/// Returns the extremes of the part of the run that is shown, and whether they are without the start-up.
fn shown(chart: &Chart) -> Option<((f64, f64), bool)> {
    let within = |time| (chart.span_ns).is_none_or(|(from, to)| from <= time && time <= to);
    let all = extremes(chart, within)?;
    let settled = chart.settled_ns.and_then(|settled| {
        extremes(chart, |time| within(time) && time > settled)
            .filter(|later| later.1 > 0.0 && all.1 > STARTS_UP * later.1)
    });
    Some((settled.unwrap_or(all), settled.is_some()))
}

/// Returns the chart's value axis, or `None` without lines.
pub(super) fn value_axis(chart: &Chart) -> Option<Axis> {
    if chart.lines.is_empty() {
        return None;
    }
    if let Some((low, high)) = chart.range {
        return Some(Axis::new(low, high, VALUE_TICKS, &chart.unit, true));
    }
    let ((low, high), _) = shown(chart)?;
    // Ignore levels far above all values, which would make the lines flat.
    let levels = chart.levels.iter().map(|level| level.value);
    let high = levels
        .filter(|&level| level <= 2.0 * high)
        .fold(high, f64::max);
    Some(Axis::new(low, high, VALUE_TICKS, &chart.unit, false))
}

/// Says what the start-up reaches above the axis, and when, if it does.
pub(super) fn start_up(chart: &Chart) -> Option<String> {
    let settled = chart.settled_ns?;
    if chart.range.is_some() || !shown(chart)?.1 {
        return None;
    }
    let (_, high) = extremes(chart, |time| time <= settled)?;
    let reached = values(chart).filter(|(time, value)| *time <= settled && *value >= high);
    let at = reached.map(|(time, _)| time).min()?;
    let high = scale::quantity(high, &chart.unit);
    Some(format!("↑ {high} at {}", scale::time(at)))
}

/// Gives charts of the same values the same value axis, so that their pictures can be compared: from the least to the
/// greatest end of their own axes.
pub fn align(charts: &mut [Chart]) {
    let ends = charts
        .iter()
        .filter_map(value_axis)
        .map(|axis| (axis.low, axis.high));
    let all = ends.reduce(|all, ends| (all.0.min(ends.0), all.1.max(ends.1)));
    for chart in charts {
        chart.range = all;
    }
}

pub(super) fn value_unit(chart: &Chart) -> String {
    value_axis(chart).map_or_else(|| chart.unit.clone(), |axis| axis.unit)
}

/// Returns start and end of the time axis: those of the chart, or `default`, or those of its data.
pub(super) fn span(chart: &Chart, default: Option<(u64, u64)>) -> (u64, u64) {
    if !chart.categories.is_empty() {
        return (0, 1_000 * chart.categories.len() as u64);
    }
    let (from, to) = chart.span_ns.or(default).unwrap_or_else(|| {
        let points = chart.lines.iter().flat_map(|line| &line.points);
        let points = points.map(|&(time, _)| time);
        let bands = chart.bands.iter().flat_map(|band| &band.spans);
        (0, points.chain(bands.map(|&(_, to)| to)).max().unwrap_or(0))
    });
    (from, to.max(from + 1))
}

/// Returns when the data of a chart end.
pub fn end(chart: &Chart) -> u64 {
    span(chart, None).1
}
