//! Renders a chart as SVG: lines over time, and below them rows of states.
//!
//! This is written by hand because plotting libraries fix colours and text in the picture. The page needs CSS classes
//! instead, so that one picture serves light and dark backgrounds, and data attributes from which a short script
//! finds values.

mod axis;
mod marks;
mod paths;
mod rows;
mod shared;

use maud::{Markup, PreEscaped, html};

use self::axis::{span, start_up, value_axis, value_unit};
use self::marks::{MARKER_ROW, draw_levels, draw_marker, place_markers};
use self::paths::{Plot, band, outline, path, strokes};
use self::rows::{chosen_bands, draw_band};
use super::columns::{self, COLUMNS, columns};
use super::condense;
use super::data::{Chart, Shape};
use super::scale::{self, Axis};
use super::style::{line_class, picture_rules, range_class};
use super::text::{clean, coordinate as c, fitted, width};

pub use self::axis::{align, end};
use self::shared::range_opacity;
pub use self::shared::{Shared, Time};

const FONT: f64 = 12.0;
/// Pixels between a tick and its text.
const TICK_GAP: f64 = 7.0;
/// Room above the plot, for the upper half of the topmost tick's text.
const TOP: f64 = 8.0;
/// Room below the plot for the time axis' texts.
const TIME_TEXTS: f64 = 24.0;
/// Maximum width of a row's name that is shown to the left of the row.
const MOST_NAME: f64 = 170.0;
/// Maximum number of lines of a chart and of names in a legend. If there are more lines, their distribution is drawn.
pub const MOST_NAMES: usize = 24;
/// Height of the plot of a whole run of which a part is enlarged.
const STRIP: f64 = 34.0;
/// Half a stroke, so that lines at the plot's edge are drawn with their full width.
const BLEED: f64 = 2.0;

/// The size of a chart and the position of its plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    width: f64,
    left: f64,
    right: f64,
    lines_height: f64,
    /// Names of rows are shown above the rows, as on a phone, and not to the left.
    names_above: bool,
    ticks: usize,
}

impl Frame {
    /// Returns the frame for a window, with margins that suit all of `charts`, so that their time axes align.
    pub fn wide(charts: &[Chart]) -> Self {
        let mut frame = Self {
            width: 960.0,
            left: 0.0,
            right: 24.0,
            lines_height: 220.0,
            names_above: false,
            ticks: 10,
        };
        for chart in charts {
            frame.left = frame.left.max(frame.axis_texts(chart));
            for band in &chart.bands {
                frame.left = frame
                    .left
                    .max(width(&band.name, FONT).min(MOST_NAME) + 12.0);
            }
            if !chart.bands.is_empty() {
                frame.right = 118.0;
            }
        }
        frame.left = frame.left.ceil();
        frame
    }

    /// Returns the frame for a phone.
    pub fn narrow(charts: &[Chart]) -> Self {
        let mut frame = Self {
            width: 380.0,
            left: 8.0,
            right: 22.0,
            lines_height: 190.0,
            names_above: true,
            ticks: 5,
        };
        for chart in charts {
            frame.left = frame.left.max(frame.axis_texts(chart));
        }
        frame.left = frame.left.ceil();
        frame
    }

    /// Returns the frame for one of several small pictures beside each other.
    pub fn small(charts: &[Chart]) -> Self {
        Self {
            width: 460.0,
            lines_height: 130.0,
            ..Self::narrow(charts)
        }
    }

    fn axis_texts(&self, chart: &Chart) -> f64 {
        let widest = |axis: Axis| {
            axis.ticks
                .iter()
                .map(|(_, text)| width(text, FONT))
                .fold(0.0, f64::max)
        };
        value_axis(chart).map_or(8.0, |axis| widest(axis) + TICK_GAP + 3.0)
    }

    fn plot_width(&self) -> f64 {
        self.width - self.left - self.right
    }
}

/// Renders the picture, without title and legend. `default_span` is the time axis of charts that set none.
pub fn svg(chart: &Chart, frame: Frame, default_span: Option<(u64, u64)>, class: &str) -> Markup {
    let (markup, height) = body(chart, frame, default_span, None);
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", c(frame.width), c(height))) role="img" aria-label=(chart.title) { (markup) }
    }
}

/// Renders the picture of a chart whose data stand in the page, without title and legend.
pub fn shared_svg(shared: &Shared, frame: Frame, class: &str) -> Markup {
    let chart = shared.chart();
    let (markup, height) = body(chart, frame, Some(shared.part()), Some(shared));
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", c(frame.width), c(height))) role="img" aria-label=(chart.title) { (markup) }
    }
}

/// Renders a whole SVG file: title, legend and picture on a background of its own, for light and dark.
pub fn standalone(chart: &Chart) -> String {
    let chart = &*condense::chart(chart);
    let frame = Frame::wide(std::slice::from_ref(chart));
    const MARGIN: f64 = 20.0;
    let (picture, height) = body(chart, frame, None, None);
    let mut entries = Vec::new();
    let (mut x, mut y) = (0.0, 36.0);
    let areas = chart.areas.iter().map(|area| (&area.name, None));
    let lines = chart.lines.iter().enumerate();
    let lines = lines.map(|(index, line)| (&line.name, Some(index)));
    for (name, index) in lines.chain(areas) {
        let name = fitted(name, FONT, 300.0);
        let room = 26.0 + width(&name, FONT) + 18.0;
        if x + room > frame.width && x > 0.0 {
            (x, y) = (0.0, y + 18.0);
        }
        entries.push(html! {
            @match index {
                Some(index) => path class=(line_class(index)) d=(format!("M{} {}h20", c(x), c(y - 4.0))) {},
                None => path class="area" d=(format!("M{} {}h20v8h-20z", c(x), c(y - 8.0))) {},
            }
            text class="ink" x=(c(x + 26.0)) y=(c(y)) { (name) }
        });
        x += room;
    }
    let top = if entries.is_empty() { 24.0 } else { y + 14.0 };
    let (outer_width, outer_height) = (frame.width + 2.0 * MARGIN, top + height + 2.0 * MARGIN);
    let unit = value_unit(chart);
    clean(
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(c(outer_width)) height=(c(outer_height))
                viewBox=(format!("0 0 {} {}", c(outer_width), c(outer_height))) role="img" {
                title { (chart.title) }
                style { (PreEscaped(picture_rules())) }
                rect class="paper" width="100%" height="100%" {}
                g transform=(format!("translate({MARGIN} {MARGIN})")) {
                    text class="heading" y="13" {
                        (fitted(&chart.title, 15.0, frame.width - width(&unit, FONT) - 20.0))
                        @if !unit.is_empty() { tspan style="font-weight:400" { ", " (unit) } }
                    }
                    @for entry in &entries { (entry) }
                    g transform=(format!("translate(0 {})", c(top))) { (picture) }
                }
            }
        }
        .into_string(),
    )
}

/// Renders the lines of a whole run of which the charts show a part, with that part marked. `data-place` has the left and
/// right end and the height, for the script that moves the part.
pub fn strip(shared: &Shared, frame: Frame, class: &str) -> Markup {
    let (whole, part) = (shared.whole(), shared.part());
    let plot = Plot::new(&frame, whole.0, whole.1);
    let time = Axis::time(whole.0, whole.1, frame.ticks);
    let bottom = STRIP + 2.0 * BLEED;
    let (left, right) = (frame.left, frame.left + frame.plot_width());
    let from = frame.left + plot.x(part.0);
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", c(frame.width), c(bottom + TIME_TEXTS))) role="img"
            aria-label=(format!("{} in the whole run", shared.chart().title))
            data-place=(format!("{} {} {}", c(left), c(right), c(bottom))) {
            rect class="chosen" x=(c(from)) y="0" width=(c(plot.x(part.1) - plot.x(part.0))) height=(c(bottom)) {}
            line class="axis" x1=(c(left)) x2=(c(right)) y1=(c(bottom)) y2=(c(bottom)) {}
            (time_texts(&time, &frame, bottom))
            (shared.strip(left, &frame, bottom))
        }
    }
}

/// Renders the texts of a time axis below a plot.
fn time_texts(time: &Axis, frame: &Frame, bottom: f64) -> Markup {
    html! {
        @for (value, text) in &time.ticks {
            @let text = with_unit(*value, text, &time.unit);
            // Within the picture, also at its ends.
            @let half = width(&text, FONT) / 2.0;
            @let x = frame.left + time.place(*value) * frame.plot_width();
            text x=(c(x.max(half).min(frame.width - half))) y=(c(bottom + 17.0)) text-anchor="middle" { (text) }
        }
    }
}

/// Renders the legend: names and colours of the lines and areas, and the levels that are above the picture.
pub fn legend(chart: &Chart) -> Markup {
    let axis = value_axis(chart);
    let beyond = |value: f64| axis.as_ref().is_some_and(|axis| value > axis.high);
    html! {
        @if !chart.lines.is_empty() {
            ul.legend {
                @for (index, line) in chart.lines.iter().enumerate() {
                    li {
                        svg.swatch viewBox="0 0 22 8" aria-hidden="true" { path class=(line_class(index)) d="M1 4h20" {} }
                        span { (line.name) }
                        output.tip {}
                    }
                }
                @for (index, area) in chart.areas.iter().enumerate() {
                    li {
                        // As dark as in the picture, where areas overlap.
                        svg.swatch viewBox="0 0 22 8" aria-hidden="true" {
                            @for _ in 0..=index { path class="area" d="M1 0h20v8h-20z" {} }
                        }
                        span { (area.name) }
                    }
                }
                @for level in chart.levels.iter().filter(|level| beyond(level.value)) {
                    li.muted { (level.name) " " (scale::quantity(level.value, &chart.unit)) ", above the picture" }
                }
            }
        }
    }
}

/// Returns the axis' unit, for the heading.
pub fn heading_unit(chart: &Chart) -> String {
    value_unit(chart)
}

fn body(
    chart: &Chart,
    frame: Frame,
    default_span: Option<(u64, u64)>,
    shared: Option<&Shared>,
) -> (Markup, f64) {
    let (from, to) = span(chart, default_span);
    let time = if chart.categories.is_empty() {
        Axis::time(from, to, frame.ticks)
    } else {
        let widest = chart.categories.iter().map(|name| width(name, FONT));
        let room = widest.fold(0.0, f64::max) + 10.0;
        Axis::categories(&chart.categories, (frame.plot_width() / room) as usize)
    };
    let plot = Plot::new(&frame, from, to);
    let (markers, marker_rows) = place_markers(chart, &frame, &plot);
    let top = TOP + marker_rows as f64 * MARKER_ROW;
    let values = value_axis(chart);
    let lines_bottom = if values.is_some() {
        top + frame.lines_height
    } else {
        top
    };
    let (rows, left_out) = chosen_bands(chart, from, to);
    let row_height = if frame.names_above { 33.0 } else { 20.0 };
    let gap = if values.is_some() && !rows.is_empty() {
        12.0
    } else {
        0.0
    };
    let rows_top = lines_bottom + gap;
    let bottom = rows_top + rows.len() as f64 * row_height;
    let mut height = bottom + TIME_TEXTS;
    if left_out > 0 {
        height += 18.0;
    }
    let (left, right) = (frame.left, frame.left + frame.plot_width());
    let markup = html! {
        @for (value, _) in &time.ticks {
            @let x = left + time.place(*value) * frame.plot_width();
            line class="grid" x1=(c(x)) x2=(c(x)) y1=(c(top)) y2=(c(bottom)) {}
        }
        (time_texts(&time, &frame, bottom))
        @if let Some(axis) = &values {
            (value_grid(axis, left, right, top, lines_bottom))
        }
        @for (marker, place) in chart.markers.iter().zip(&markers) {
            (draw_marker(&marker.text, place, top, bottom))
        }
        @for (index, band) in rows.iter().enumerate() {
            @let bars = |top| shared.map(|shared| shared.row(index, left, top, &frame));
            (draw_band(band, &frame, &plot, rows_top + index as f64 * row_height, bars))
        }
        @if left_out > 0 {
            text x=(c(left)) y=(c(bottom + TIME_TEXTS + 13.0)) { "and " (left_out) " more rows that were on for less" }
        }
        @if let Some(axis) = &values {
            @match shared {
                Some(shared) => (shared.lines(left, top, &frame)),
                None => (lines(chart, axis, &plot, left, top)),
            }
            (draw_levels(chart, axis, left, right, top, frame.lines_height))
            @if let Some(text) = start_up(chart) {
                text class="halo" x=(c(left + 6.0)) y=(c(top + 14.0)) { (text) }
            }
        }
    };
    (markup, height)
}

/// Renders lines, bands and areas within their plot.
fn lines(chart: &Chart, axis: &Axis, plot: &Plot, left: f64, top: f64) -> Markup {
    let Plot { from, to, .. } = plot;
    // Bands of many lines lie on each other.
    let opacity = format!("{:.2}", range_opacity(chart.lines.len()));
    html! {
        svg class="plot" x=(c(left)) y=(c(top - BLEED)) width=(c(plot.width)) height=(c(plot.height + 2.0 * BLEED))
            data-time=(format!("{from} {to}"))
            data-names=[(!chart.categories.is_empty()).then(|| chart.categories.join("\n"))]
            data-value=(format!("{} {} {}", axis.low / axis.divisor, axis.high / axis.divisor, axis.unit)) {
        @for area in &chart.areas {
            path class="area" d=(outline(area, axis, plot)) { title { (area.name) } }
        }
        @for (index, line) in chart.lines.iter().enumerate().rev() {
            @let around = match line.shape {
                Shape::Dots => String::new(),
                _ => band(&columns(columns::of_line(line), *from, *to, COLUMNS), axis, plot),
            };
            @if !around.is_empty() {
                path class=(range_class(index)) fill-opacity=(opacity) d=(around) {}
            }
        }
        // The first line is the most informative, so draw it on top.
        @for (index, line) in chart.lines.iter().enumerate().rev() {
            @if line.shape == Shape::Dots {
                path class=(format!("stroke {}", line_class(index))) d=(strokes(line, axis, plot)) {}
                path class=(format!("dot {}", line_class(index))) d=(path(line, axis, plot)) { title { (line.name) } }
            } @else {
                path class=(line_class(index)) d=(path(line, axis, plot)) { title { (line.name) } }
            }
        }
        }
    }
}

/// The text of a tick of the time axis.
fn with_unit(value: f64, text: &str, unit: &str) -> String {
    match value == 0.0 || unit.is_empty() {
        true => text.into(),
        false => format!("{text} {unit}"),
    }
}

fn value_grid(axis: &Axis, left: f64, right: f64, top: f64, bottom: f64) -> Markup {
    html! {
        @for (value, text) in &axis.ticks {
            @let y = bottom - axis.place(*value) * (bottom - top);
            line class=(if *value == 0.0 { "axis" } else { "grid" }) x1=(c(left)) x2=(c(right)) y1=(c(y)) y2=(c(y)) {}
            text x=(c(left - TICK_GAP)) y=(c(y + 4.0)) text-anchor="end" { (text) }
        }
    }
}
