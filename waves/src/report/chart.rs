//! Renders a chart as SVG: lines over time, and below them rows of states.
//!
//! This is written by hand because plotting libraries fix colours and text in the picture. The page needs CSS classes
//! instead, so that one picture serves light and dark backgrounds, and data attributes from which a short script
//! finds values.

use maud::{Markup, PreEscaped, html};

use super::data::{Area, Band, Chart, Level, Line, Shape};
use super::scale::{self, Axis};
use super::style::{line_class, picture_rules};
use super::text::{clean, coordinate as c, fitted, width};
use super::{condense, decimate};

const FONT: f64 = 12.0;
/// Pixels between a tick and its text.
const TICK_GAP: f64 = 7.0;
/// Room above the plot, for the upper half of the topmost tick's text.
const TOP: f64 = 8.0;
/// Room below the plot for the time axis' texts.
const TIME_TEXTS: f64 = 24.0;
/// Height of one row of marker texts.
const MARKER_ROW: f64 = 17.0;
const MOST_MARKER_ROWS: usize = 3;
/// Distance between the texts of levels.
const LEVEL_ROW: f64 = 14.0;
/// Maximum width of a row's name that is shown to the left of the row.
const MOST_NAME: f64 = 170.0;
/// Approximate number of ticks of a value axis.
const VALUE_TICKS: usize = 5;
/// Maximum number of rows that are drawn. If there are more, those that are on for the longest time are drawn.
const MOST_BANDS: usize = 24;
/// Maximum number of lines of a chart and of names in a legend. If there are more lines, their distribution is drawn.
pub const MOST_NAMES: usize = 24;
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

/// Returns the chart's value axis, or `None` without lines.
fn value_axis(chart: &Chart) -> Option<Axis> {
    let greatest = |area: &Area| area.points.iter().map(|point| point.2).collect::<Vec<_>>();
    let mut values = (chart.lines.iter())
        .flat_map(|line| &line.points)
        .map(|&(_, value)| value)
        .chain(chart.areas.iter().flat_map(greatest))
        .filter(|value| value.is_finite())
        .peekable();
    if chart.lines.is_empty() {
        return None;
    }
    if let Some((low, high)) = chart.range {
        return Some(Axis::new(low, high, VALUE_TICKS, &chart.unit, true));
    }
    values.peek()?;
    let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    // Ignore levels far above all values, which would make the lines flat.
    let levels = chart.levels.iter().map(|level| level.value);
    let high = levels
        .filter(|&level| level <= 2.0 * high)
        .fold(high, f64::max);
    Some(Axis::new(low, high, VALUE_TICKS, &chart.unit, false))
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

fn value_unit(chart: &Chart) -> String {
    value_axis(chart).map_or_else(|| chart.unit.clone(), |axis| axis.unit)
}

/// Returns start and end of the time axis: those of the chart, or `default`, or those of its data.
fn span(chart: &Chart, default: Option<(u64, u64)>) -> (u64, u64) {
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

/// Renders the picture, without title and legend. `default_span` is the time axis of charts that set none.
pub fn svg(chart: &Chart, frame: Frame, default_span: Option<(u64, u64)>, class: &str) -> Markup {
    let (markup, height) = body(chart, frame, default_span);
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", c(frame.width), c(height))) role="img" aria-label=(chart.title) { (markup) }
    }
}

/// Renders a whole SVG file: title, legend and picture on a background of its own, for light and dark.
pub fn standalone(chart: &Chart) -> String {
    let chart = &*condense::chart(chart);
    let frame = Frame::wide(std::slice::from_ref(chart));
    const MARGIN: f64 = 20.0;
    let (picture, height) = body(chart, frame, None);
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

fn body(chart: &Chart, frame: Frame, default_span: Option<(u64, u64)>) -> (Markup, f64) {
    let (from, to) = span(chart, default_span);
    let time = if chart.categories.is_empty() {
        Axis::time(from, to, frame.ticks)
    } else {
        let widest = chart.categories.iter().map(|name| width(name, FONT));
        let room = widest.fold(0.0, f64::max) + 10.0;
        Axis::categories(&chart.categories, (frame.plot_width() / room) as usize)
    };
    let plot = Plot { frame, from, to };
    let (markers, marker_rows) = place_markers(chart, &plot);
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
        @for (value, text) in &time.ticks {
            @let x = left + time.place(*value) * frame.plot_width();
            @let text = with_unit(*value, text, &time.unit);
            // Within the picture, also at its ends.
            @let half = width(&text, FONT) / 2.0;
            @let middle = x.max(half).min(frame.width - half);
            line class="grid" x1=(c(x)) x2=(c(x)) y1=(c(top)) y2=(c(bottom)) {}
            text x=(c(middle)) y=(c(bottom + 17.0)) text-anchor="middle" { (text) }
        }
        @if let Some(axis) = &values {
            (value_grid(axis, left, right, top, lines_bottom))
        }
        @for (marker, place) in chart.markers.iter().zip(&markers) {
            (draw_marker(&marker.text, place, top, bottom))
        }
        @for (index, band) in rows.iter().enumerate() {
            (draw_band(band, &plot, rows_top + index as f64 * row_height))
        }
        @if left_out > 0 {
            text x=(c(left)) y=(c(bottom + TIME_TEXTS + 13.0)) { "and " (left_out) " more rows that were on for less" }
        }
        @if let Some(axis) = &values {
            svg class="plot" x=(c(left)) y=(c(top - BLEED)) width=(c(frame.plot_width())) height=(c(frame.lines_height + 2.0 * BLEED))
                data-time=(format!("{from} {to}"))
                data-names=[(!chart.categories.is_empty()).then(|| chart.categories.join("\n"))]
                data-value=(format!("{} {} {}", axis.low / axis.divisor, axis.high / axis.divisor, axis.unit)) {
                @for area in &chart.areas {
                    path class="area" d=(outline(area, axis, &plot)) { title { (area.name) } }
                }
                // The first line is the most informative, so draw it on top.
                @for (index, line) in chart.lines.iter().enumerate().rev() {
                    path class=(line_class(index)) d=(path(line, axis, &plot)) { title { (line.name) } }
                }
            }
            (draw_levels(chart, axis, left, right, top, frame.lines_height))
        }
    };
    (markup, height)
}

/// The text of a tick of the time axis.
fn with_unit(value: f64, text: &str, unit: &str) -> String {
    match value == 0.0 || unit.is_empty() {
        true => text.into(),
        false => format!("{text} {unit}"),
    }
}

/// The mapping of times to positions.
struct Plot {
    frame: Frame,
    from: u64,
    to: u64,
}

impl Plot {
    /// Returns the distance from the plot's left edge in pixels. It is outside of the plot for times outside.
    fn x(&self, time: u64) -> f64 {
        let span = (self.to - self.from) as f64;
        (time as f64 - self.from as f64) / span * self.frame.plot_width()
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

/// Returns a point in the plot's own coordinates. Points far outside are clamped, so that numbers stay short.
fn place((time, value): (u64, f64), axis: &Axis, plot: &Plot) -> String {
    let y = (1.0 - axis.place(value)).clamp(-9.0, 10.0) * plot.frame.lines_height + BLEED;
    format!("{} {}", c(plot.x(time)), c(y))
}

/// Returns the outline of an area: along its upper edge, and back along the lower one.
fn outline(area: &Area, axis: &Axis, plot: &Plot) -> String {
    let edge = |value: fn(&(u64, f64, f64)) -> (u64, f64)| {
        let points: Vec<_> = area.points.iter().map(value).collect();
        let points = course(&points, area.shape, plot).into_iter();
        points
            .filter(|point| point.1.is_finite())
            .collect::<Vec<_>>()
    };
    let upper = edge(|&(time, _, high)| (time, high));
    let lower = edge(|&(time, low, _)| (time, low));
    let around = upper.into_iter().chain(lower.into_iter().rev());
    let places: Vec<String> = around.map(|point| place(point, axis, plot)).collect();
    match places.is_empty() {
        true => String::new(),
        false => format!("M{}Z", places.join(" ")),
    }
}

/// Returns the points to draw, including corners, but no more than the picture has room for.
fn course(points: &[(u64, f64)], shape: Shape, plot: &Plot) -> Vec<(u64, f64)> {
    let columns = (plot.frame.plot_width() / 2.0) as usize;
    let within = within(points, plot.from, plot.to);
    // Stairs narrower than a column or two would not be visible.
    let stairs = if within.len() * 2 <= columns {
        stairs(within, shape, plot)
    } else {
        within.to_vec()
    };
    if stairs.len() > 2 * columns {
        decimate::line(&stairs, plot.from, plot.to, columns)
    } else {
        stairs
    }
}

/// Returns the line's path in the plot's own coordinates.
fn path(line: &Line, axis: &Axis, plot: &Plot) -> String {
    let points = course(&line.points, line.shape, plot);
    let mut path = String::new();
    for piece in points.split(|(_, value)| !value.is_finite()) {
        let place = |point: &(u64, f64)| place(*point, axis, plot);
        match piece {
            [] => {}
            // A single point is a line without length, which the round ends draw as a dot.
            [point] => path += &format!("M{0} {0}", place(point)),
            piece => {
                let places: Vec<String> = piece.iter().map(place).collect();
                path += &format!("M{}", places.join(" "));
            }
        }
    }
    path
}

/// Returns the points from `from` to `to`, and one more on each side so that the line reaches the edge.
fn within(points: &[(u64, f64)], from: u64, to: u64) -> &[(u64, f64)] {
    let start = points.partition_point(|&(time, _)| time < from);
    let end = points.partition_point(|&(time, _)| time <= to);
    &points[start.saturating_sub(1)..(end + 1).min(points.len()).max(start.saturating_sub(1))]
}

/// Returns the points with the corners between them that `shape` requires.
fn stairs(points: &[(u64, f64)], shape: Shape, plot: &Plot) -> Vec<(u64, f64)> {
    let mut stairs = Vec::with_capacity(2 * points.len() + 1);
    let mut before: Option<(u64, f64)> = None;
    for &(time, value) in points {
        match (shape, before) {
            (Shape::Straight, _) | (Shape::Hold, None) => {}
            (Shape::Hold, Some((_, held))) => stairs.push((time, held)),
            (Shape::Mean, before) => {
                let since = before.map_or(plot.from.min(time), |(time, _)| time);
                stairs.push((since, value));
            }
        }
        stairs.push((time, value));
        before = Some((time, value));
    }
    if let (Shape::Hold, Some((time, held))) = (shape, before)
        && time < plot.to
    {
        stairs.push((plot.to, held));
    }
    stairs
}

fn draw_levels(chart: &Chart, axis: &Axis, left: f64, right: f64, top: f64, height: f64) -> Markup {
    let mut levels: Vec<_> = chart
        .levels
        .iter()
        .filter(|level| level.value >= axis.low && level.value <= axis.high)
        .collect();
    levels.sort_by(|a, b| b.value.total_cmp(&a.value));
    // Texts are above their lines; those that would overlap the one above them are moved down, and then up again where
    // the plot ends.
    let mut placed: Vec<(&Level, f64, f64)> = Vec::new();
    for level in levels {
        let y = top + (1.0 - axis.place(level.value)) * height;
        let least = placed.last().map_or(top + 9.0, |last| last.2 + LEVEL_ROW);
        placed.push((level, y, (y - 5.0).max(least)));
    }
    let mut most = top + height - 3.0;
    for (_, _, text_y) in placed.iter_mut().rev() {
        *text_y = text_y.min(most);
        most = *text_y - LEVEL_ROW;
    }
    html! {
        @for (level, y, text_y) in placed {
            line class="level" x1=(c(left)) x2=(c(right)) y1=(c(y)) y2=(c(y)) {}
            text class="halo" x=(c(right - 6.0)) y=(c(text_y)) text-anchor="end" {
                (level.name) " " (scale::quantity(level.value, &chart.unit))
            }
        }
    }
}

/// A marker's position: pixels from the left of the picture, and the row of its text if it has one.
struct MarkerPlace {
    x: f64,
    text: Option<(f64, f64, String)>,
}

/// Places each marker's text in the first row in which it overlaps no other. Without such a row, the text shows only
/// when the marker is pointed at.
fn place_markers(chart: &Chart, plot: &Plot) -> (Vec<MarkerPlace>, usize) {
    let frame = plot.frame;
    let mut ends = [0.0_f64; MOST_MARKER_ROWS];
    let mut rows = 0;
    let mut order: Vec<usize> = (0..chart.markers.len()).collect();
    order.sort_by_key(|&index| chart.markers[index].at_ns);
    let mut places: Vec<Option<MarkerPlace>> = chart.markers.iter().map(|_| None).collect();
    for index in order {
        let marker = &chart.markers[index];
        if marker.at_ns < plot.from || marker.at_ns > plot.to {
            continue;
        }
        let x = frame.left + plot.x(marker.at_ns);
        let shown = fitted(&marker.text, FONT, frame.width * 0.6);
        let room = width(&shown, FONT);
        // To the right of the line, or to the left where the picture ends.
        let start = if x + 4.0 + room <= frame.width {
            x + 4.0
        } else {
            (x - 5.0 - room).max(0.0)
        };
        let row = ends.iter().position(|&end| start >= end);
        let text = row.map(|row| {
            ends[row] = start + room + 12.0;
            rows = rows.max(row + 1);
            (start, row as f64 * MARKER_ROW + 12.0, shown)
        });
        places[index] = Some(MarkerPlace { x, text });
    }
    let outside = || MarkerPlace {
        x: f64::NAN,
        text: None,
    };
    let places = places
        .into_iter()
        .map(|place| place.unwrap_or_else(outside))
        .collect();
    (places, rows)
}

fn draw_marker(text: &str, place: &MarkerPlace, top: f64, bottom: f64) -> Markup {
    html! {
        @if place.x.is_finite() {
            @let start = place.text.as_ref().map_or(top, |&(_, y, _)| y - 9.0);
            line class="marker" x1=(c(place.x)) x2=(c(place.x)) y1=(c(start)) y2=(c(bottom)) { title { (text) } }
            @if let Some((x, y, shown)) = &place.text {
                text class="ink" x=(c(*x)) y=(c(*y)) { (shown) }
            }
        }
    }
}

/// Returns the rows to draw, in their order, and the number of rows that are left out.
fn chosen_bands(chart: &Chart, from: u64, to: u64) -> (Vec<&Band>, usize) {
    let mut order: Vec<usize> = (0..chart.bands.len()).collect();
    if order.len() > MOST_BANDS {
        order.sort_by_key(|&index| std::cmp::Reverse(time_on(&chart.bands[index], from, to)));
        order.truncate(MOST_BANDS);
        order.sort_unstable();
    }
    let left_out = chart.bands.len() - order.len();
    (
        order.into_iter().map(|index| &chart.bands[index]).collect(),
        left_out,
    )
}

fn time_on(band: &Band, from: u64, to: u64) -> u64 {
    band.spans
        .iter()
        .map(|&(start, end)| end.min(to).saturating_sub(start.max(from)))
        .sum()
}

fn draw_band(band: &Band, plot: &Plot, top: f64) -> Markup {
    const BAR: f64 = 12.0;
    let frame = plot.frame;
    let (left, right) = (frame.left, frame.left + frame.plot_width());
    let name_room = if frame.names_above {
        frame.plot_width() - 120.0
    } else {
        frame.left - 12.0
    };
    let name = fitted(&band.name, FONT, name_room);
    let bar_top = if frame.names_above {
        top + 17.0
    } else {
        top + 4.0
    };
    let text_y = if frame.names_above {
        top + 13.0
    } else {
        top + 14.0
    };
    let (name_x, name_anchor) = if frame.names_above {
        (left, "start")
    } else {
        (left - TICK_GAP, "end")
    };
    let (figure_x, figure_anchor) = if frame.names_above {
        (right, "end")
    } else {
        (right + 8.0, "start")
    };
    let times = (band.spans.iter())
        .filter(|&&(start, end)| end > start && end > plot.from && start < plot.to)
        .count();
    let share = time_on(band, plot.from, plot.to) as f64 / (plot.to - plot.from) as f64;
    let figures = if times == 0 {
        "never".to_owned()
    } else {
        format!(
            "{}, {}×",
            scale::percent(share),
            scale::number(times as f64)
        )
    };
    html! {
        text class="ink" x=(c(name_x)) y=(c(text_y)) text-anchor=(name_anchor) { (name) @if name != band.name { title { (band.name) } } }
        text x=(c(figure_x)) y=(c(text_y)) text-anchor=(figure_anchor) { (figures) }
        rect class="row" x=(c(left)) y=(c(bar_top)) width=(c(right - left)) height=(c(BAR)) {}
        @for (start, end, share) in runs(band, plot) {
            rect class="band" x=(c(left + start)) y=(c(bar_top)) width=(c(end - start)) height=(c(BAR))
                fill-opacity=[(share < 1.0).then(|| c(share))] {}
        }
    }
}

/// Returns the rectangles of a row: start, end and density. Many short states next to each other become one paler
/// rectangle.
fn runs(band: &Band, plot: &Plot) -> Vec<(f64, f64, f64)> {
    let columns = plot.frame.plot_width().floor().max(1.0) as usize;
    let covered = decimate::coverage(&band.spans, plot.from, plot.to, columns);
    let pixel = plot.frame.plot_width() / columns as f64;
    let mut runs: Vec<(f64, f64, f64)> = Vec::new();
    for (index, &share) in covered.iter().enumerate() {
        if share == 0.0 {
            continue;
        }
        // Four densities, 0.4 to 1. The lowest is still visible.
        let share = ((share * 5.0).ceil() / 5.0).clamp(0.4, 1.0);
        let (start, end) = (index as f64 * pixel, (index + 1) as f64 * pixel);
        match runs.last_mut() {
            Some(last) if last.1 == start && last.2 == share => last.1 = end,
            _ => runs.push((start, end, share)),
        }
    }
    runs
}
