//! Many runs side by side: one table, one page, one file of numbers.

mod differing;
mod figures;

use std::collections::BTreeSet;
use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::chart::{self, Frame};
use super::condense;
use super::data::Chart;
use super::scale::metric;
use super::style::page_rules;
use super::text::{clean, shape, unbroken};
use crate::document::document;
use xoff_network::results::{State, Summary};

pub use differing::Differing;
use figures::{FIGURES, Figure};

/// Runs that differ in some settings: those of a sweep, or any that are compared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep {
    /// Where the runs come from.
    pub origin: Origin,
    /// The scenario's title.
    pub title: String,
    /// The command line that repeats all runs, or the comparison.
    pub command: String,
    /// The settings that differ, such as `hosts.s.count`, and by which runs are told apart.
    pub keys: Vec<String>,
    /// Other settings that differ, each with its value in every variant.
    pub settings: Vec<(String, Vec<String>)>,
    /// Metrics that are drawn, beside the figures that always are.
    pub drawn: Vec<String>,
    /// The runs, in order.
    pub points: Vec<SweepPoint>,
}

/// Where runs that are put side by side come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// One command ran them.
    #[default]
    Sweep,
    /// They were run before.
    Comparison,
}

/// A run of a sweep.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepPoint {
    /// The value of each key.
    pub values: Vec<String>,
    /// Address of its report, from the page.
    pub report: String,
    /// The results.
    pub summary: Summary,
    /// Its charts over time. Those that several runs have are drawn side by side.
    pub charts: Vec<Chart>,
}

/// Least, mean and greatest of a figure over the seeds, a row for each combination of the other keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedTable {
    /// The figure, with its unit.
    pub title: String,
    /// The head, then the rows.
    pub rows: Vec<Vec<String>>,
}

/// Prefix of the metrics that are what the links between two groups of switches carry.
const TIER: &str = "tier_utilization.";

/// Least, mean and greatest of some values, and by which part the mean is above or below `first`. A dash for each
/// without a value.
fn spread(values: &[f64], first: Option<f64>) -> [String; 4] {
    let Some(mean) = mean(values) else {
        return std::array::from_fn(|_| "–".into());
    };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let change = match first {
        Some(first) if first != 0.0 => format!("{:+.1} %", 100.0 * (mean / first - 1.0)),
        _ => "–".into(),
    };
    let [least, mean, greatest] = [least, mean, greatest].map(|value| format!("{value:.1}"));
    [least, mean, greatest, change]
}

fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// Rows of metrics that differ, at most.
const MOST_DIFFERING: usize = 16;
/// Outcomes of a variant that are told, those of most runs first.
const MOST_OUTCOMES: usize = 3;
/// Charts that are drawn side by side, at most.
const MOST_MULTIPLES: usize = 6;
/// Runs that are drawn side by side, at most: the table has all.
const MOST_RUNS: usize = 12;
/// Lines of a small chart; of more, their distribution is drawn.
const MOST_LINES: usize = 8;

/// The same chart of several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiple {
    /// The runs' values of the swept keys.
    pub names: Vec<String>,
    /// The chart of each, all with the same value axis.
    pub charts: Vec<Chart>,
}

impl Origin {
    /// What the page calls itself.
    fn words(self) -> &'static str {
        match self {
            Self::Sweep => "Xoff sweep",
            Self::Comparison => "Xoff comparison",
        }
    }
}

impl Sweep {
    /// Returns the charts that at least two of the runs have, to be drawn side by side: those of the run that has most
    /// charts first to last. Charts without lines are left out.
    pub fn multiples(&self) -> Vec<Multiple> {
        let points = &self.points[..self.points.len().min(MOST_RUNS)];
        let titles = points
            .iter()
            .map(|point| &point.charts)
            .max_by_key(|charts| charts.len());
        let titles = titles
            .into_iter()
            .flatten()
            .filter(|chart| !chart.lines.is_empty());
        let multiple = |title: &String| {
            let mut multiple = Multiple {
                names: Vec::new(),
                charts: Vec::new(),
            };
            for point in points {
                let mut charts = point.charts.iter();
                if let Some(chart) =
                    charts.find(|chart| chart.title == *title && !chart.lines.is_empty())
                {
                    let mut chart = condense::with_at_most(chart, MOST_LINES).into_owned();
                    chart.span_ns = chart.span_ns.or(Some((0, point.summary.duration_ns)));
                    multiple.names.push(point.values.join(", "));
                    multiple.charts.push(chart);
                }
            }
            chart::align(&mut multiple.charts);
            multiple
        };
        let all = titles.map(|chart| multiple(&chart.title));
        all.filter(|multiple| multiple.charts.len() > 1)
            .take(MOST_MULTIPLES)
            .collect()
    }

    /// Returns the header of [`rows`](Self::rows).
    pub fn head(&self) -> Vec<String> {
        let figures = FIGURES.iter().map(|(_, _, figure)| figure.0.to_owned());
        let keys = self.keys.iter().cloned();
        keys.chain(figures).chain(["expected".into()]).collect()
    }

    /// Returns one row per point: the values of the keys, figures with units, and whether the expectations held.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |point: &SweepPoint| {
            let figure = |(_, _, (_, unit, value)): &(&str, &str, Figure)| {
                value(&point.summary)
                    .map_or("–".into(), |value| metric(&format!("_{unit}"), value))
            };
            let values = point.values.iter().cloned();
            values
                .chain(FIGURES.iter().map(figure))
                .chain([verdict(&point.summary)])
                .collect()
        };
        self.points.iter().map(row).collect()
    }

    /// Returns tables over the seeds, if seeds are swept: goodput, with how many runs held and how many locked, and
    /// what the links between groups of switches carry. The last column compares the mean with that of the first row,
    /// so that a sweep over variants says what each costs or brings.
    pub fn over_seeds(&self) -> Vec<SeedTable> {
        let Some(seed) = self.keys.iter().position(|key| key == "seed") else {
            return Vec::new();
        };
        let others = |values: &[String]| {
            let mut values = values.to_vec();
            values.remove(seed);
            values
        };
        let mut groups: Vec<(Vec<String>, Vec<&Summary>)> = Vec::new();
        for point in &self.points {
            let values = others(&point.values);
            match groups.iter_mut().find(|(group, _)| *group == values) {
                Some((_, runs)) => runs.push(&point.summary),
                None => groups.push((values, vec![&point.summary])),
            }
        }
        let of = |runs: &[&Summary], name: &str, scale: f64| {
            let values = runs.iter().filter_map(|run| run.metrics.get(name));
            values.map(|value| value * scale).collect::<Vec<f64>>()
        };
        let counted = |runs: &[&Summary]| {
            let count = |of: fn(&Summary) -> bool| runs.iter().filter(|run| of(run)).count();
            let held = count(|run| run.state == State::Finished && run.held());
            let deadlocks = |run: &Summary| run.metrics.get("deadlocks").copied();
            let locked = runs.iter().filter(|run| deadlocks(run) > Some(0.0));
            [runs.len(), held, locked.count()].map(|count| count.to_string())
        };
        let table = |title: String, name: &str, scale: f64, counts: bool| {
            let mut head = others(&self.keys);
            if counts {
                head.extend(["seeds", "held", "locked"].map(String::from));
            }
            head.extend(["least", "mean", "greatest", "to the first"].map(String::from));
            let first = groups
                .first()
                .and_then(|(_, runs)| mean(&of(runs, name, scale)));
            let row = |(place, (values, runs)): (usize, &(Vec<String>, Vec<&Summary>))| {
                let mut row = values.clone();
                if counts {
                    row.extend(counted(runs));
                }
                row.extend(spread(&of(runs, name, scale), first.filter(|_| place > 0)));
                row
            };
            let rows = groups.iter().enumerate().map(row);
            SeedTable {
                title,
                rows: std::iter::once(head).chain(rows).collect(),
            }
        };
        let runs = self.points.iter().map(|point| &point.summary);
        let tiers: BTreeSet<&str> = runs
            .flat_map(|run| run.metrics.keys())
            .filter_map(|name| name.strip_prefix(TIER))
            .collect();
        let tiers = tiers.into_iter().map(|tier| {
            let title = format!("utilization of links {} in %", tier.replace('.', " → "));
            table(title, &format!("{TIER}{tier}"), 100.0, false)
        });
        let goodput = table("goodput in Gb/s".into(), "goodput_gbps.total", 1.0, true);
        std::iter::once(goodput).chain(tiers).collect()
    }

    /// The runs of each combination of the keys without `seed`, by its values, in their order.
    fn variants(&self) -> Vec<(String, Vec<&Summary>)> {
        let seed = self.keys.iter().position(|key| key == "seed");
        let alone = self.keys.len() == 1;
        let mut variants: Vec<(String, Vec<&Summary>)> = Vec::new();
        for point in &self.points {
            let values = point.values.iter().enumerate();
            let values = values.filter(|(place, _)| alone || Some(*place) != seed);
            let values: Vec<&str> = values.map(|(_, value)| &**value).collect();
            let name = values.join(", ");
            match variants.iter_mut().find(|(other, _)| *other == name) {
                Some((_, runs)) => runs.push(&point.summary),
                None => variants.push((name, vec![&point.summary])),
            }
        }
        variants
    }

    /// Returns the charts: figures of the variants and the metrics that are drawn, as a dot each, which over several
    /// seeds is the median, with a stroke over 95 % of the runs. Figures that are zero or missing everywhere are left
    /// out.
    pub fn charts(&self) -> Vec<Chart> {
        figures::charts(self)
    }

    /// Names of the variants: the values of the keys without `seed`.
    pub fn names(&self) -> Vec<String> {
        self.variants().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns every metric that differs between the variants: those that are apart first, the greatest change first.
    pub fn differing(&self) -> Vec<Differing> {
        differing::all(&self.variants())
    }

    /// Returns of each quantity that differs the one metric that says most, in the order of
    /// [`differing`](Self::differing).
    pub fn differing_by_quantity(&self) -> Vec<Differing> {
        differing::by_quantity(&self.differing())
    }

    /// What happened in each variant, and in how many of its runs; of runs that differ in numbers only, the first.
    pub fn outcomes(&self) -> Vec<(String, Vec<(&str, usize)>)> {
        let mut all = Vec::new();
        for (name, runs) in self.variants() {
            let mut said: Vec<(&str, usize)> = Vec::new();
            for answer in runs.iter().filter_map(|run| run.answer.as_ref()) {
                let alike = shape(&answer.headline);
                match said.iter_mut().find(|(other, _)| shape(other) == alike) {
                    Some((_, count)) => *count += 1,
                    None => said.push((&answer.headline, 1)),
                }
            }
            said.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            all.push((name, said));
        }
        all
    }

    /// Renders what happened in each variant.
    fn summary(&self) -> Markup {
        let outcomes = self.outcomes();
        let any = outcomes.iter().any(|(_, said)| !said.is_empty());
        html! {
            @if any {
                table.stack.outcomes { tbody { @for (name, said) in &outcomes { tr {
                    td { strong { (name) } }
                    td {
                        @for (headline, count) in said.iter().take(MOST_OUTCOMES) {
                            div { (unbroken(headline)) @if *count > 1 { span.muted { " (the first of " (count) " runs alike)" } } }
                        }
                        @if said.len() > MOST_OUTCOMES {
                            div.muted { "and " (said.len() - MOST_OUTCOMES) " other outcomes" }
                        }
                    }
                } } } }
            }
        }
    }

    /// Renders what differs: settings, and of each quantity a metric.
    fn differences(&self) -> Markup {
        let (names, rows) = (self.names(), self.differing_by_quantity());
        let more = rows.len().saturating_sub(MOST_DIFFERING);
        html! {
            @if !self.settings.is_empty() {
                h2 { "Settings that differ" }
                div.scroll { table {
                    thead { tr { th { "setting" } @for name in &names { th.number { (name) } } } }
                    tbody { @for (key, values) in &self.settings { tr {
                        td { code { (key) } }
                        @for value in values { td.number { (value) } }
                    } } }
                } }
            }
            @if !rows.is_empty() && names.len() > 1 {
                h2 { "What differs most" }
                (differing::table(&names, &rows[..rows.len() - more]))
                @if more > 0 { p.muted { "and " (more) " quantities that differ less: metrics.csv of each run has all." } }
            }
        }
    }

    /// Renders the whole page.
    pub fn html(&self) -> String {
        let charts = self.charts();
        let (wide, narrow) = (Frame::wide(&charts), Frame::narrow(&charts));
        let body = html! {
            main {
                p.name.muted { (self.origin.words()) " over " code { (self.keys.join(", ")) } }
                h1 { (self.title) }
                (self.summary())
                (self.differences())
                h2 { "Runs" }
                div.scroll { table {
                    thead { tr { th { "report" } @for name in self.head() { th.number { (name) } } } }
                    tbody { @for (row, point) in self.rows().iter().zip(&self.points) {
                        tr {
                            td { a href=(point.report) { "report" } }
                            @for text in row { td.number { (text) } }
                        }
                    } }
                } }
                @let tables = self.over_seeds();
                @if !tables.is_empty() { h2 { "Over the seeds" } }
                @for table in &tables {
                    @if let Some((head, rows)) = table.rows.split_first() {
                        h3 { (table.title) }
                        div.scroll { table {
                            thead { tr { @for name in head { th.number { (name) } } } }
                            tbody { @for row in rows { tr { @for text in row { td.number { (text) } } } } }
                        } }
                    }
                }
                @for chart in &charts {
                    @let unit = chart::heading_unit(chart);
                    figure.chart {
                        figcaption {
                            h3 { (chart.title) @if !unit.is_empty() { span.unit { ", " (unit) } } " " output.tip.time {} }
                            p.note { (chart.note) }
                            (chart::legend(chart))
                        }
                        (chart::svg(chart, wide, None, "chart wide"))
                        (chart::svg(chart, narrow, None, "chart narrow"))
                    }
                }
                @let multiples = self.multiples();
                @if !multiples.is_empty() { h2 { "Side by side" } }
                @for multiple in &multiples {
                    @let frame = Frame::small(&multiple.charts);
                    @let unit = chart::heading_unit(&multiple.charts[0]);
                    h3 { (multiple.charts[0].title) @if !unit.is_empty() { span.unit.muted { ", " (unit) } } }
                    p.note.muted { (multiple.charts[0].note) }
                    div.multiples {
                        @for (name, chart) in multiple.names.iter().zip(&multiple.charts) {
                            figure.chart {
                                figcaption {
                                    strong { (name) } " " output.tip.time {}
                                    (chart::legend(chart))
                                }
                                (chart::svg(chart, frame, None, "chart"))
                            }
                        }
                    }
                }
                @if self.points.len() > MOST_RUNS && !multiples.is_empty() {
                    p.muted { "Of " (self.points.len()) " runs the first " (MOST_RUNS) " are drawn; the table has all." }
                }
                h2 { "Again" }
                pre { (self.command) }
            }
            script { (PreEscaped(include_str!("hover.js"))) }
        };
        let title = format!("{} – Xoff", self.title);
        clean(document(&title, &page_rules(), &body).into_string())
    }

    /// Writes a table of everything as CSV: one row per point, with the swept settings, seed, digest and state of the
    /// run, and a column for each metric that any of the runs has.
    ///
    /// # Errors
    ///
    /// Any error of `file`.
    pub fn write_csv(&self, file: &mut dyn Write) -> io::Result<()> {
        let runs = || self.points.iter().map(|point| &point.summary);
        let names: BTreeSet<&String> = runs().flat_map(|run| run.metrics.keys()).collect();
        let mut writer = csv::Writer::from_writer(file);
        let fixed = |run: &Summary| {
            let columns = [
                ("seed", run.seed.to_string()),
                ("digest", run.digest.clone()),
                ("expected", verdict(run)),
            ];
            // What is swept has its column already.
            let others = columns.into_iter();
            others.filter(|(name, _)| self.keys.iter().all(|key| key != name))
        };
        let columns = fixed(&Summary::default()).map(|(name, _)| name.to_owned());
        let head = self.keys.iter().cloned().chain(columns);
        writer.write_record(head.chain(names.iter().map(|name| (*name).clone())))?;
        for point in &self.points {
            let run = &point.summary;
            let value =
                |name: &&String| run.metrics.get(*name).map_or(String::new(), f64::to_string);
            let row = point
                .values
                .iter()
                .cloned()
                .chain(fixed(run).map(|(_, value)| value));
            writer.write_record(row.chain(names.iter().map(value)))?;
        }
        writer.flush()
    }
}

/// Returns whether the expectations of a run held, in one word.
fn verdict(run: &Summary) -> String {
    match run.state {
        State::Finished if run.expectations.is_empty() => "–",
        State::Finished if run.held() => "held",
        State::Finished => "FAILED",
        State::Interrupted => "interrupted",
        State::Running | State::Failed => "error",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::data::{Line, Shape};
    use super::*;

    fn sweep() -> Sweep {
        let point = |count: u32| SweepPoint {
            values: vec![count.to_string()],
            report: format!("../incast,hosts.s.count={count}/report.html"),
            summary: Summary {
                digest: format!("d{count}"),
                metrics: (0..count)
                    .map(|flow| (format!("goodput_gbps.f{flow}"), 36.0 / f64::from(count)))
                    .chain([
                        ("goodput_gbps.total".into(), 36.0),
                        ("drops.total".into(), 0.0),
                    ])
                    .collect(),
                duration_ns: 1_000,
                ..Summary::default()
            },
            charts: vec![Chart {
                title: "Longest queue".into(),
                unit: "B".into(),
                lines: vec![Line {
                    name: "t".into(),
                    points: vec![(0, 0.0), (1_000, 1e3 * f64::from(count))],
                    ..Line::default()
                }],
                ..Chart::default()
            }],
        };
        Sweep {
            title: "Incast".into(),
            command: "xoff run incast --sweep hosts.s.count=2,4".into(),
            keys: vec!["hosts.s.count".into()],
            points: [2, 4].map(point).into(),
            ..Sweep::default()
        }
    }

    #[test]
    fn a_row_and_a_record_a_point() {
        let sweep = sweep();
        assert_eq!(
            sweep.head()[..4],
            ["hosts.s.count", "goodput", "least flow", "greatest flow"]
        );
        assert_eq!(sweep.rows()[1][..4], ["4", "36 Gb/s", "9 Gb/s", "9 Gb/s"]);
        let mut csv = Vec::new();
        sweep.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let expected = "hosts.s.count,seed,digest,expected,drops.total,goodput_gbps.f0,goodput_gbps.f1,\
                        goodput_gbps.f2,goodput_gbps.f3,goodput_gbps.total\n\
                        2,0,d2,–,0,18,18,,,36\n4,0,d4,–,0,9,9,9,9,36\n";
        assert_eq!(csv, expected);
    }

    #[test]
    fn a_swept_seed_has_one_column() {
        let sweep = Sweep {
            keys: vec!["seed".into()],
            ..sweep()
        };
        let mut csv = Vec::new();
        sweep.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert!(
            csv.starts_with("seed,digest,expected,drops.total,"),
            "{csv}"
        );
        assert!(csv.contains("\n4,d4,–,0,9,"), "{csv}");
    }

    /// The axis of the larger one is that of both; a chart that only one run has is not drawn.
    #[test]
    fn charts_side_by_side_have_one_axis() {
        let mut sweep = sweep();
        sweep.points[0].charts.push(Chart {
            title: "Pause time".into(),
            lines: vec![Line::default()],
            ..Chart::default()
        });
        let multiples = sweep.multiples();
        assert_eq!(multiples.len(), 1);
        assert_eq!(multiples[0].names, ["2", "4"]);
        let ranges: Vec<_> = multiples[0]
            .charts
            .iter()
            .map(|chart| chart.range)
            .collect();
        assert_eq!(ranges, [Some((0.0, 4_000.0)); 2]);
        let page = sweep.html();
        // Both pictures have the axis of the larger one.
        assert_eq!(page.matches("data-value=\"0 4 KB\"").count(), 2);
        assert!(page.contains("Side by side"));
    }

    #[test]
    fn runs_of_several_seeds_are_put_together() {
        let point = |variant: &str, seed: u32, goodput: f64, deadlocks: f64, tier: Option<f64>| {
            let tier = tier.map(|part| ("tier_utilization.l.s".into(), part));
            SweepPoint {
                values: vec![variant.into(), seed.to_string()],
                summary: Summary {
                    metrics: [("goodput_gbps.total", goodput), ("deadlocks", deadlocks)]
                        .map(|(name, value)| (name.into(), value))
                        .into_iter()
                        .chain(tier)
                        .collect(),
                    ..Summary::default()
                },
                ..SweepPoint::default()
            }
        };
        let mut sweep = Sweep {
            keys: vec!["variant".into(), "seed".into()],
            points: vec![
                point("base", 1, 8.0, 1.0, Some(0.5)),
                point("base", 2, 12.0, 0.0, Some(0.75)),
                point("two", 1, 7.5, 0.0, None),
            ],
            ..Sweep::default()
        };
        let tables: Vec<(String, Vec<String>)> = (sweep.over_seeds().into_iter())
            .map(|table| {
                (
                    table.title,
                    table.rows.iter().map(|row| row.join(" ")).collect(),
                )
            })
            .collect();
        let expected = [
            (
                "goodput in Gb/s".to_owned(),
                vec![
                    "variant seeds held locked least mean greatest to the first".to_owned(),
                    "base 2 2 1 8.0 10.0 12.0 –".into(),
                    "two 1 1 0 7.5 7.5 7.5 -25.0 %".into(),
                ],
            ),
            (
                "utilization of links l → s in %".into(),
                vec![
                    "variant least mean greatest to the first".into(),
                    "base 50.0 62.5 75.0 –".into(),
                    "two – – – –".into(),
                ],
            ),
        ];
        assert_eq!(tables, expected);
        assert!(
            sweep
                .html()
                .contains("<h3>utilization of links l → s in %</h3>")
        );
        let charts = sweep.charts();
        assert_eq!(charts[0].categories, ["base", "two"]);
        let line = &charts[0].lines[0];
        assert_eq!(line.shape, Shape::Dots);
        assert_eq!(line.ranges, [(8e9, 12e9), (7.5e9, 7.5e9)]);
        // Dots are not joined: each is a path of its own, without length.
        let picture = charts[0].svg();
        let dots = picture.split("class=\"dot line c0\" d=\"").nth(1).unwrap();
        assert_eq!(dots.split('"').next().unwrap().matches('M').count(), 2);
        sweep.keys[1] = "duration".into();
        assert_eq!(sweep.over_seeds(), []);
    }

    #[test]
    fn charts_have_what_is_not_nothing() {
        let charts = sweep().charts();
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Goodput"]);
        assert_eq!(charts[0].categories, ["2", "4"]);
        assert_eq!(charts[0].lines[0].points, [(410, 36e9), (1_410, 36e9)]);
        assert_eq!(charts[0].lines[1].points, [(500, 18e9), (1_500, 9e9)]);
        let page = sweep().html();
        assert!(
            page.contains("data-names=\"2\n4\"")
                && page.contains("../incast,hosts.s.count=4/report.html")
        );
    }

    /// Seeds that overlap explain a difference; a total stands for its quantity; what a variant does not have and the
    /// others do not use is left out.
    #[test]
    fn differences_that_no_seed_explains_come_first() {
        let point = |variant: &str, seed: u32, values: &[(&str, f64)]| SweepPoint {
            values: vec![variant.into(), seed.to_string()],
            summary: Summary {
                metrics: values
                    .iter()
                    .map(|(name, value)| ((*name).into(), *value))
                    .collect(),
                ..Summary::default()
            },
            ..SweepPoint::default()
        };
        let of = |drops: f64, cnps: f64| {
            [
                ("drops.t", drops * 0.75),
                ("drops.total", drops),
                ("cnps_tx.total", cnps),
                ("seed_free", 7.0),
            ]
        };
        let sweep = Sweep {
            keys: vec!["variant".into(), "seed".into()],
            points: vec![
                point("a", 1, &of(10.0, 1.0)),
                point("a", 2, &of(12.0, 40.0)),
                point("b", 1, &of(13.0, 20.0)),
                point(
                    "b",
                    2,
                    &[&of(14.0, 30.0)[..], &[("timeouts.x", 0.0), ("naks.x", 3.0)]].concat(),
                ),
            ],
            ..Sweep::default()
        };
        let rows: Vec<String> = (sweep.differing_by_quantity().iter())
            .map(|row| {
                let texts: Vec<String> = row.texts().collect();
                format!(
                    "{} +{} {} {}",
                    row.metric,
                    row.others,
                    row.within_seeds(),
                    texts.join(" | ")
                )
            })
            .collect();
        let expected = [
            "drops.total +1 false 12 (10 … 12) | 14 (13 … 14)",
            "cnps_tx.total +0 true 40 (1 … 40) | 30 (20 … 30)",
            "naks.x +0 false – | 3",
        ];
        assert_eq!(rows, expected);
        assert_eq!(sweep.differing().len(), 4);
    }
}
