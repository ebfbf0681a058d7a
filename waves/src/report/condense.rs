//! Summaries of many similar items: of thousands of lines, entries or metrics, the usual and the extreme values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::chart::MOST_NAMES;
use super::columns::{self, COLUMNS, columns};
use super::data::{Area, Chart, Line, Shape};
use super::scale::with_groups;

/// Returns the value below which the fraction `part` of the sorted values lies, by nearest rank. Panics if there are
/// none.
pub fn rank<T: Copy>(sorted: &[T], part: f64) -> T {
    sorted[(part * (sorted.len() - 1) as f64).round() as usize]
}

/// Returns a chart with few enough lines to tell them apart: the chart itself, or the distribution over its lines
/// together with the lines that have the least and the greatest mean.
pub fn chart(chart: &Chart) -> Cow<'_, Chart> {
    in_columns(chart, MOST_NAMES, COLUMNS)
}

/// Lines of which the eye can follow each. If there are more, and they have groups, the groups are drawn.
pub const MOST_LINES: usize = 12;

/// Like [`chart()`], with at most `most` lines.
pub fn with_at_most(chart: &Chart, most: usize) -> Cow<'_, Chart> {
    in_columns(chart, most, COLUMNS)
}

/// Like [`with_at_most`], for a picture of so many columns.
pub fn in_columns(chart: &Chart, most: usize, columns: u64) -> Cow<'_, Chart> {
    if chart.lines.len() <= MOST_LINES.min(most) {
        return Cow::Borrowed(chart);
    }
    if let Some(lines) = by_group(chart, most, columns) {
        return Cow::Owned(Chart {
            note: format!("{} A line is the mean of its group, the band goes from the least of it to the greatest; every line is in series.csv.", chart.note)
                .trim()
                .into(),
            lines,
            ..without_lines(chart)
        });
    }
    if chart.lines.len() <= most {
        return Cow::Borrowed(chart);
    }
    let mut at = BTreeMap::<u64, Vec<f64>>::new();
    for &(time, value) in chart.lines.iter().flat_map(|line| &line.points) {
        if value.is_finite() {
            at.entry(time).or_default().push(value);
        }
    }
    for values in at.values_mut() {
        values.sort_by(f64::total_cmp);
    }
    let shape = chart.lines[0].shape;
    let area = |name: &str, points| Area {
        name: name.into(),
        points,
        shape,
    };
    let ends = |values: &[f64], ends: Option<&(f64, f64)>| {
        let (low, high) = (values[0], values[values.len() - 1]);
        ends.map_or((low, high), |ends| (ends.0.min(low), ends.1.max(high)))
    };
    let whole = ranges(&chart.lines);
    let whole = (at.iter())
        .map(|(time, values)| {
            let (low, high) = ends(values, whole.get(time));
            (*time, low, high)
        })
        .collect();
    let most = (at.iter())
        .map(|(time, values)| (*time, rank(values, 0.1), rank(values, 0.9)))
        .collect();
    let mean = |line: &&Line| {
        let values = line.points.iter().map(|point| point.1);
        let finite = values.filter(|value| value.is_finite());
        let (sum, count) = finite.fold((0.0, 0_u32), |all, value| (all.0 + value, all.1 + 1));
        sum / f64::from(count.max(1))
    };
    let order = |a: &&Line, b: &&Line| mean(a).total_cmp(&mean(b));
    let count = with_groups(&chart.lines.len().to_string());
    let mut lines = vec![Line {
        name: format!("median of {count}"),
        points: at
            .iter()
            .map(|(time, values)| (*time, rank(values, 0.5)))
            .collect(),
        shape,
        ..Line::default()
    }];
    let extremes = [
        ("greatest mean", chart.lines.iter().max_by(order)),
        ("least mean", chart.lines.iter().min_by(order)),
    ];
    for (what, line) in extremes {
        lines.extend(line.map(|line| Line {
            name: format!("{what}: {}", line.name),
            ..line.clone()
        }));
    }
    Cow::Owned(Chart {
        note: format!("{} Every line is in series.csv.", chart.note)
            .trim()
            .into(),
        lines,
        areas: vec![area("least to greatest", whole), area("10 to 90 %", most)],
        ..without_lines(chart)
    })
}

/// The chart without lines and areas.
fn without_lines(chart: &Chart) -> Chart {
    Chart {
        lines: Vec::new(),
        areas: Vec::new(),
        title: chart.title.clone(),
        unit: chart.unit.clone(),
        note: String::new(),
        bands: chart.bands.clone(),
        markers: chart.markers.clone(),
        levels: chart.levels.clone(),
        range: chart.range,
        categories: chart.categories.clone(),
        settled_ns: chart.settled_ns,
        span_ns: chart.span_ns,
    }
}

/// A line for each group, if all lines have one and there are few enough.
fn by_group(chart: &Chart, most: usize, columns: u64) -> Option<Vec<Line>> {
    let mut groups = BTreeMap::<&str, Vec<&Line>>::new();
    for line in &chart.lines {
        groups.entry(&line.group).or_default().push(line);
    }
    if groups.contains_key("") || groups.len() > most || groups.len() == chart.lines.len() {
        return None;
    }
    let times = chart.lines.iter().flat_map(|line| line.points.last());
    let end = times.map(|point| point.0).max().unwrap_or(0);
    let span = chart.span_ns.unwrap_or((0, end));
    let lines = groups.into_iter();
    Some(
        lines
            .map(|(name, lines)| together(name, &lines, (span, columns), chart.unit == "B"))
            .collect(),
    )
}

/// The mean of lines in each column of the picture, with a band around it. Bytes have peaks that means would hide: with
/// `peaks` the band goes to the least and the greatest of all. Rates of short windows are those of single packets: without,
/// it goes to the least and the greatest mean.
fn together(name: &str, lines: &[&Line], (span, count): ((u64, u64), u64), peaks: bool) -> Line {
    /// Sum and number of values, and the least and the greatest of them.
    type At = (f64, u32, (f64, f64));
    let mut at = BTreeMap::<u64, At>::new();
    for line in lines {
        let columns = columns(columns::of_line(line), span.0, span.1, count);
        for column in columns.iter().filter(|column| column.mean.is_finite()) {
            let known = column.range.0.is_finite() && column.range.1.is_finite();
            let (low, high) = match peaks && known {
                true => column.range,
                false => (column.mean, column.mean),
            };
            let none = (0.0, 0, (f64::NAN, f64::NAN));
            let all = at.entry(column.to).or_insert(none);
            *all = (
                all.0 + column.mean,
                all.1 + 1,
                (all.2.0.min(low), all.2.1.max(high)),
            );
        }
    }
    let mean = |(time, all): (&u64, &At)| (*time, all.0 / f64::from(all.1));
    let name = match lines {
        [one] => one.name.clone(),
        _ => format!("{name} ({})", with_groups(&lines.len().to_string())),
    };
    Line {
        name,
        points: at.iter().map(mean).collect(),
        ranges: at.values().map(|all| all.2).collect(),
        shape: Shape::Mean,
        ..Line::default()
    }
}

/// The least and the greatest value of all lines in the interval that ends at each time, where they are known.
fn ranges(lines: &[Line]) -> BTreeMap<u64, (f64, f64)> {
    let mut ranges = BTreeMap::new();
    for line in lines {
        for (point, range) in line.points.iter().zip(&line.ranges) {
            if range.0.is_finite() && range.1.is_finite() {
                let all = ranges.entry(point.0).or_insert(*range);
                *all = (all.0.min(range.0), all.1.max(range.1));
            }
        }
    }
    ranges
}

/// Metrics whose names differ only in a part in the middle or at the end: `messages.*`, `pause_time_ns.*.3`.
#[derive(Debug, PartialEq)]
pub struct Alike<'a> {
    /// The name, with a star for the part that differs.
    pub name: String,
    /// Name and value, ordered by value.
    pub figures: Vec<(&'a str, f64)>,
}

/// Groups metrics with similar names, in the order of names.
pub fn figures(metrics: &BTreeMap<String, f64>) -> Vec<Alike<'_>> {
    let mut last_parts = BTreeMap::<&str, std::collections::BTreeSet<&str>>::new();
    let parts = |name: &'_ str| {
        let first = name.find('.').unwrap_or(name.len());
        let last = name.rfind('.').filter(|last| *last > first);
        (first, last)
    };
    for name in metrics.keys() {
        if let (first, Some(last)) = parts(name) {
            last_parts
                .entry(&name[..first])
                .or_default()
                .insert(&name[last + 1..]);
        }
    }
    let mut groups = BTreeMap::<String, Vec<(&str, f64)>>::new();
    for (name, value) in metrics {
        let (first, last) = parts(name);
        let few = |first: &str| last_parts[first].len() <= MOST_NAMES;
        let alike = match last {
            // A sum over all is not grouped.
            _ if name[first..] == *".total" || first == name.len() => name.clone(),
            Some(last) if few(&name[..first]) => format!("{}.*{}", &name[..first], &name[last..]),
            _ => format!("{}.*", &name[..first]),
        };
        groups.entry(alike).or_default().push((name, *value));
    }
    let mut alike: Vec<_> = groups
        .into_iter()
        .map(|(name, figures)| Alike { name, figures })
        .collect();
    for alike in &mut alike {
        alike.figures.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    alike
}

/// Returns rows of settings for many similar entries: one row per key, with the value that all entries have, or with
/// the values that occur.
pub fn entries(key: &str, entries: &[Vec<(String, String)>]) -> Vec<(String, String)> {
    let mut values = BTreeMap::<&str, Vec<&str>>::new();
    let mut keys = Vec::new();
    for (key, value) in entries.iter().flatten() {
        let known = values.entry(key).or_default();
        if known.is_empty() {
            keys.push(key.as_str());
        }
        known.push(value);
    }
    let row = |name: &str| {
        let all = &values[name];
        let mut different: Vec<&str> = all.clone();
        different.sort_unstable();
        different.dedup();
        let text = match different[..] {
            [one] if all.len() == entries.len() => one.to_owned(),
            _ if different.len() <= 4 => {
                let times = |value: &&str| all.iter().filter(|other| *other == value).count();
                let each = different
                    .iter()
                    .map(|value| format!("{value} ({}×)", times(value)));
                each.collect::<Vec<_>>().join(", ")
            }
            _ => format!(
                "{}, {}, … {} ({} different)",
                all[0],
                all[1],
                all[all.len() - 1],
                different.len()
            ),
        };
        (format!("{key}.*.{name}"), text)
    };
    let count = (
        format!("{key}.*"),
        format!("{} entries", with_groups(&entries.len().to_string())),
    );
    std::iter::once(count)
        .chain(keys.into_iter().map(row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize) -> Chart {
        let line = |i: usize| Line {
            name: format!("f{i}"),
            points: vec![(10, i as f64), (20, 2.0 * i as f64)],
            ..Line::default()
        };
        Chart {
            title: "Goodput".into(),
            lines: (0..count).map(line).collect(),
            ..Chart::default()
        }
    }

    #[test]
    fn few_lines_stay_and_many_become_a_distribution() {
        let few = many(MOST_NAMES);
        assert_eq!(*chart(&few), few);
        let all = many(101);
        let condensed = chart(&all);
        let names: Vec<&str> = condensed
            .lines
            .iter()
            .map(|line| line.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["median of 101", "greatest mean: f100", "least mean: f0"]
        );
        assert_eq!(condensed.lines[0].points, [(10, 50.0), (20, 100.0)]);
        assert_eq!(
            condensed.areas[0].points,
            [(10, 0.0, 100.0), (20, 0.0, 200.0)]
        );
        assert_eq!(
            condensed.areas[1].points,
            [(10, 10.0, 90.0), (20, 20.0, 180.0)]
        );
    }

    #[test]
    fn many_lines_are_drawn_by_group() {
        let mut all = many(30);
        for (place, line) in all.lines.iter_mut().enumerate() {
            line.group = if place < 10 { "f" } else { "g" }.into();
        }
        let condensed = chart(&all);
        let names: Vec<&str> = condensed.lines.iter().map(|line| &*line.name).collect();
        assert_eq!(names, ["f (10)", "g (20)"]);
        assert_eq!(condensed.lines[0].points, [(10, 4.5), (20, 9.0)]);
        assert_eq!(condensed.lines[0].ranges, [(0.0, 9.0), (0.0, 18.0)]);
        // Bytes have the peaks of the intervals.
        all.unit = "B".into();
        all.lines[3].ranges = vec![(0.0, 99.0), (0.0, 1.0)];
        assert_eq!(chart(&all).lines[0].ranges[0], (0.0, 99.0));
    }

    #[test]
    fn figures_are_grouped_by_what_they_measure() {
        let mut metrics =
            BTreeMap::from([("jain_index".into(), 1.0), ("messages.total".into(), 9.0)]);
        for i in 0..30 {
            metrics.insert(format!("messages.f.s{i}"), f64::from(30 - i));
            metrics.insert(format!("latency_ns.f.s{i}.p50"), 1.0);
            metrics.insert(format!("latency_ns.f.s{i}.p99"), 2.0);
        }
        let alike = figures(&metrics);
        let names: Vec<_> = alike
            .iter()
            .map(|alike| (alike.name.as_str(), alike.figures.len()))
            .collect();
        let expected = [
            ("jain_index", 1),
            ("latency_ns.*.p50", 30),
            ("latency_ns.*.p99", 30),
            ("messages.*", 30),
            ("messages.total", 1),
        ];
        assert_eq!(names, expected);
        assert_eq!(alike[3].figures[0], ("messages.f.s29", 1.0));
    }

    #[test]
    fn settings_of_many_entries_are_a_row_a_key() {
        let entry = |i: usize| {
            vec![
                ("name".into(), format!("h{i}")),
                ("nic".into(), "model".into()),
            ]
        };
        let all: Vec<Vec<(String, String)>> = (0..99).map(entry).collect();
        let rows = entries("hosts", &all);
        let expected = [
            ("hosts.*", "99 entries"),
            ("hosts.*.name", "h0, h1, … h98 (99 different)"),
            ("hosts.*.nic", "model"),
        ];
        assert_eq!(
            rows,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }
}
