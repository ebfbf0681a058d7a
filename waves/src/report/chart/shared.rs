//! The data of a chart of a page: paths over the whole run, in whole numbers.
//!
//! They stand in the page once. Each of its still pictures shows a part of them with `use`, and where scripts run,
//! `charts.js` reads them and hands them to uPlot.

use maud::{Markup, html};
use serde::Serialize;

use super::super::columns::{self, COLUMNS, columns};
use super::super::data::{Band, Chart, Level};
use super::super::scale::{self, Axis};
use super::super::spans;
use super::super::style::{line_class, range_class};
use super::super::text::coordinate as c;
use super::axis::{start_up, value_axis};
use super::paths::{Plot, band, outline, path};
use super::rows::{BAR, chosen_bands, runs};
use super::{BLEED, Frame};

/// Units of a path to the width of what is shown at first, and to the height of the plot. What is enlarged may be low.
const WIDTH: f64 = 4_000.0;
const HEIGHT: f64 = 20_000.0;
/// Cells of a row of states in the width of what is shown at first.
const CELLS: u64 = 400;
/// Most columns of the whole run, in widths of what is shown at first: bounds what a page weighs.
const MOST_ENLARGED: u64 = 10;
/// Units to a unit of the others, in paths of finer columns.
const FINER: f64 = 8.0;
/// Most columns of the whole run in finer paths: of one line, and of all lines of a page.
const MOST_FINE: usize = 2_000;
const MOST_FINE_OF_ALL: usize = 24_000;
/// Most spans of the rows of a chart that the page has for enlarging it.
const MOST_SPANS: usize = 6_000;

/// Start and end of the run, and of the part of it that is shown at first, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Time {
    pub whole: (u64, u64),
    pub part: (u64, u64),
}

impl Time {
    /// How often the part fits into the run.
    fn enlarged(&self) -> u64 {
        let length = |(from, to): (u64, u64)| to.saturating_sub(from).max(1);
        (length(self.whole).div_ceil(length(self.part))).min(MOST_ENLARGED)
    }

    /// Columns of the whole run.
    pub fn columns(&self) -> u64 {
        COLUMNS * self.enlarged()
    }

    /// Columns of the whole run that a page of so many lines, with so many intervals each, has besides, for what is
    /// enlarged; none if they are not much finer.
    pub fn fine(&self, lines: usize, intervals: usize) -> Option<u64> {
        let room = (MOST_FINE_OF_ALL / lines.max(1)).min(MOST_FINE);
        let count = intervals.min(room) as u64;
        (count >= 2 * self.columns()).then_some(count)
    }

    /// What the script needs to know of the axis of all charts, as JSON. `fine` is of [`Time::fine`].
    pub fn json(&self, fine: Option<u64>) -> String {
        let width = WIDTH * self.enlarged() as f64;
        serde_json::json!({
            "whole": self.whole,
            "part": self.part,
            "width": width,
            "height": HEIGHT,
            "fine": fine,
            "finer": FINER,
        })
        .to_string()
    }
}

/// What the script needs to know of a chart besides its paths.
#[derive(Serialize)]
struct Given<'a> {
    /// Number of the chart, in the names of its paths.
    number: usize,
    /// Ends of the value axis of the stills; none without lines.
    values: Option<(f64, f64)>,
    /// The ends stay.
    fixed: bool,
    divisor: f64,
    /// Of the bands around lines.
    range_opacity: f64,
    /// What the start-up reaches above the axis.
    start_up: Option<String>,
    levels: Vec<(String, f64)>,
    marks: Vec<(u64, &'a str)>,
    rows: Vec<&'a str>,
    rows_left_out: usize,
}

/// The paths of a chart, and how pictures show parts of them.
pub struct Shared<'a> {
    chart: &'a Chart,
    number: usize,
    time: Time,
    plot: Plot,
    axis: Option<Axis>,
    /// The rows of states that are drawn, and how many are left out.
    rows: (Vec<&'a Band>, usize),
    fine: Option<(Chart, Plot)>,
}

impl<'a> Shared<'a> {
    /// Takes the data of a chart that is condensed to [`Time::columns`] and shows [`Time::part`].
    pub fn new(chart: &'a Chart, number: usize, time: Time) -> Self {
        let plot = Plot {
            width: WIDTH * time.enlarged() as f64,
            height: HEIGHT,
            top: 0.0,
            from: time.whole.0,
            to: time.whole.1.max(time.whole.0 + 1),
            columns: time.columns(),
            whole_numbers: true,
        };
        Self {
            chart,
            number,
            time,
            plot,
            axis: value_axis(chart),
            rows: chosen_bands(chart, time.part.0, time.part.1),
            fine: None,
        }
    }

    /// Adds the same data, condensed to finer columns, for the script.
    pub fn with_fine(self, chart: Chart, columns: u64) -> Self {
        let plot = Plot {
            width: FINER * self.plot.width,
            columns,
            ..self.plot
        };
        Self {
            fine: Some((chart, plot)),
            ..self
        }
    }

    /// The chart.
    pub fn chart(&self) -> &Chart {
        self.chart
    }

    /// What is shown at first.
    pub fn part(&self) -> (u64, u64) {
        self.time.part
    }

    /// The whole run.
    pub fn whole(&self) -> (u64, u64) {
        (self.plot.from, self.plot.to)
    }

    /// The name of a path: `what` of line, area or row number `index`.
    fn name(&self, what: &str, index: usize) -> String {
        format!("c{}{what}{index}", self.number)
    }

    /// Renders the paths, unseen.
    pub fn paths(&self) -> Markup {
        html! {
            svg.data aria-hidden="true" { defs {
                @if let Some(axis) = &self.axis {
                    (self.curves(self.chart, axis, &self.plot, ["a", "r", "l"]))
                    @if let Some((chart, plot)) = &self.fine { (self.curves(chart, axis, plot, ["fa", "fr", "fl"])) }
                }
                @for (index, row) in self.rows.0.iter().enumerate() {
                    g id=(self.name("b", index)) { @for (opacity, d) in densities(row, &self.plot, self.time.enlarged()) {
                        path fill-opacity=[(opacity < 1.0).then_some(opacity)] d=(d) {}
                    } }
                }
            } }
        }
    }

    /// Renders the paths of areas, bands and lines, by names.
    fn curves(&self, chart: &Chart, axis: &Axis, plot: &Plot, names: [&str; 3]) -> Markup {
        let drawn =
            |what, index, d: String| html! { path.shared id=(self.name(what, index)) d=(d) {} };
        html! {
            @for (index, area) in chart.areas.iter().enumerate() {
                (drawn(names[0], index, outline(area, axis, plot)))
            }
            @for (index, line) in chart.lines.iter().enumerate() {
                @let pieces = columns(columns::of_line(line), plot.from, plot.to, plot.columns);
                @if !line.ranges.is_empty() { (drawn(names[1], index, band(&pieces, axis, plot))) }
                (drawn(names[2], index, path(line, axis, plot)))
            }
        }
    }

    /// What the script needs besides, as JSON.
    pub fn json(&self) -> String {
        let chart = self.chart;
        let (rows, rows_left_out) = &self.rows;
        let level = |level: &Level| {
            let value = scale::quantity(level.value, &chart.unit);
            (format!("{} {value}", level.name), level.value)
        };
        let given = Given {
            number: self.number,
            values: self.axis.as_ref().map(|axis| (axis.low, axis.high)),
            fixed: chart.range.is_some(),
            divisor: self.axis.as_ref().map_or(1.0, |axis| axis.divisor),
            range_opacity: range_opacity(chart.lines.len()),
            start_up: start_up(chart),
            levels: chart.levels.iter().map(level).collect(),
            marks: (chart.markers.iter())
                .map(|mark| (mark.at_ns, &*mark.text))
                .collect(),
            rows: rows.iter().map(|row| &*row.name).collect(),
            rows_left_out: *rows_left_out,
        };
        serde_json::to_string(&given).expect("plain values")
    }

    /// The times of the rows for the script, as JSON: numbers only.
    pub fn spans(&self) -> Option<String> {
        let exact = |&(from, to): &(u64, u64)| (from, to, to.saturating_sub(from));
        let rows: Vec<Vec<_>> = (self.rows.0.iter())
            .map(|row| row.spans.iter().map(exact).collect())
            .collect();
        let run = self.plot.to - self.plot.from;
        (!rows.is_empty()).then(|| spans::json(rows.iter().map(|row| &**row), run, MOST_SPANS))
    }

    /// Renders the lines of the part within their plot: `width` and `height` in pixels.
    pub(super) fn lines(&self, left: f64, top: f64, frame: &Frame) -> Markup {
        let bleed = BLEED * HEIGHT / frame.lines_height;
        let rows = (-bleed, HEIGHT + 2.0 * bleed);
        let size = (frame.plot_width(), frame.lines_height + 2.0 * BLEED);
        let lines = &self.chart.lines;
        // Bands of many lines lie on each other.
        let opacity = format!("{:.2}", range_opacity(lines.len()));
        let shown = html! {
            @for (index, area) in self.chart.areas.iter().enumerate() {
                (self.shown("a", index, "area")) { title { (area.name) } }
            }
            @for (index, _) in lines.iter().enumerate().rev().filter(|(_, line)| !line.ranges.is_empty()) {
                g fill-opacity=(opacity) { (self.shown("r", index, &range_class(index))) }
            }
            // The first line is the most informative, so draw it on top.
            @for (index, _) in lines.iter().enumerate().rev() { (self.shown("l", index, &line_class(index))) }
        };
        self.view((left, top - BLEED), size, self.time.part, rows, shown)
    }

    /// Renders the lines of the whole run in a strip.
    pub(super) fn strip(&self, left: f64, frame: &Frame, height: f64) -> Markup {
        let whole = Chart {
            span_ns: Some(self.whole()),
            ..self.chart.clone()
        };
        let rows = match (&self.axis, value_axis(&whole)) {
            (Some(drawn), Some(axis)) => {
                let y = |value| (1.0 - drawn.place(value)) * HEIGHT;
                let bleed = BLEED / height * (y(axis.low) - y(axis.high));
                (
                    y(axis.high) - bleed,
                    y(axis.low) - y(axis.high) + 2.0 * bleed,
                )
            }
            _ => (0.0, HEIGHT),
        };
        let lines = 0..self.chart.lines.len();
        let shown =
            html! { @for index in lines.rev() { (self.shown("l", index, &line_class(index))) } };
        self.view(
            (left, 0.0),
            (frame.plot_width(), height),
            self.whole(),
            rows,
            shown,
        )
    }

    /// Renders a row of states of the part.
    pub(super) fn row(&self, index: usize, left: f64, top: f64, frame: &Frame) -> Markup {
        let shown = self.shown("b", index, "band");
        self.view(
            (left, top),
            (frame.plot_width(), BAR),
            self.time.part,
            (0.0, BAR),
            shown,
        )
    }

    fn shown(&self, what: &str, index: usize, class: &str) -> Markup {
        html! { use class=(class) href=(format!("#{}", self.name(what, index))) {} }
    }

    /// Renders what is shown of a stretch of time and of rows of units, at a place of a size in pixels.
    fn view(
        &self,
        at: (f64, f64),
        size: (f64, f64),
        stretch: (u64, u64),
        rows: (f64, f64),
        shown: Markup,
    ) -> Markup {
        let (from, to) = (self.plot.x(stretch.0), self.plot.x(stretch.1));
        let view = [from, rows.0, (to - from).max(1.0), rows.1]
            .map(c)
            .join(" ");
        html! {
            svg class="plot" x=(c(at.0)) y=(c(at.1)) width=(c(size.0)) height=(c(size.1)) viewBox=(view)
                preserveAspectRatio="none" { (shown) }
        }
    }
}

/// The opacity of the bands of so many lines.
pub(super) fn range_opacity(lines: usize) -> f64 {
    (0.5 / lines.max(1) as f64).clamp(0.03, 0.22)
}

/// The paths of a row, one for each density.
fn densities(row: &Band, plot: &Plot, enlarged: u64) -> Vec<(f64, String)> {
    let mut paths: Vec<(f64, String)> = Vec::new();
    for (start, end, density) in runs(row, plot, (CELLS * enlarged) as usize) {
        let (start, end) = (start.round() as i64, end.round() as i64);
        let box_of = format!("M{start} 0h{0}v{BAR}h-{0}z", end - start);
        match paths.iter_mut().find(|(of, _)| *of == density) {
            Some((_, path)) => *path += &box_of,
            None => paths.push((density, box_of)),
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::super::data::{Line, Shape};
    use super::*;

    /// A run of 8 µs of which the first quarter is shown: means over 10 ns, and a queue of 100 bytes in the second quarter.
    fn chart(part: (u64, u64)) -> Chart {
        let value = |at: u64| {
            if (2_000..4_000).contains(&at) {
                100.0
            } else {
                1.0
            }
        };
        let points: Vec<(u64, f64)> = (1..=800).map(|i| (10 * i, value(10 * i - 1))).collect();
        Chart {
            unit: "B".into(),
            lines: vec![Line {
                ranges: points.iter().map(|point| (0.0, 2.0 * point.1)).collect(),
                points,
                shape: Shape::Mean,
                ..Line::default()
            }],
            bands: vec![Band {
                name: "paused".into(),
                spans: vec![(1_000, 2_000), (7_990, 8_000)],
            }],
            span_ns: Some(part),
            ..Chart::default()
        }
    }

    #[test]
    fn paths_are_of_the_whole_run_and_pictures_show_the_part() {
        let part = (0, 2_000);
        let (whole, chart) = ((0, 8_000), chart(part));
        let shared = Shared::new(&chart, 3, Time { whole, part });
        let paths = shared.paths().into_string();
        // 4,000 units for a quarter, 20,000 for the axis to 2 bytes: 100 bytes are 980,000 above it, or 49 axes.
        assert!(
            paths.contains("id=\"c3l0\" d=\"M0 10000h4000v-990000h4000v990000h8000\""),
            "{paths}"
        );
        // A cell is 10 units, 5 ns.
        assert!(
            paths.contains("d=\"M2000 0h2000v12h-2000zM15980 0h20v12h-20z\""),
            "{paths}"
        );
        let frame = Frame::wide(std::slice::from_ref(&chart));
        let picture = super::super::shared_svg(&shared, frame, "chart").into_string();
        assert!(
            picture.contains("viewBox=\"0 -181.8 4000 20363.6\""),
            "{picture}"
        );
        assert!(
            picture.contains("href=\"#c3l0\"") && !picture.contains("<path"),
            "{picture}"
        );
        assert_eq!(shared.spans().unwrap(), "[[[1000,1000],[7990,10]]]");
    }

    #[test]
    fn a_page_has_no_more_columns_than_ten_pictures() {
        let time = |to| Time {
            whole: (0, 1_000_000),
            part: (0, to),
        };
        let columns = [1_000_000, 400_000, 10].map(|to| time(to).columns());
        assert_eq!(columns, [200, 600, 2_000]);
        // As fine as the intervals are, up to 24,000 columns in all; nothing if that is less than twice as fine.
        let fine = [(3, 5_000), (3, 900), (40, 5_000), (100, 5_000), (3, 399)];
        let fine = fine.map(|(lines, intervals)| time(1_000_000).fine(lines, intervals));
        assert_eq!(fine, [Some(2_000), Some(900), Some(600), None, None]);
    }
}
