//! Thresholds and marked moments.

use maud::{Markup, html};

use super::super::data::{Chart, Level};
use super::super::scale::{self, Axis};
use super::super::text::{coordinate as c, fitted, width};
use super::paths::Plot;
use super::{FONT, Frame};

/// Height of one row of marker texts.
pub(super) const MARKER_ROW: f64 = 17.0;
const MOST_MARKER_ROWS: usize = 3;
/// Distance between the texts of levels.
const LEVEL_ROW: f64 = 14.0;

pub(super) fn draw_levels(
    chart: &Chart,
    axis: &Axis,
    left: f64,
    right: f64,
    top: f64,
    height: f64,
) -> Markup {
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
pub(super) struct MarkerPlace {
    x: f64,
    text: Option<(f64, f64, String)>,
}

/// Places each marker's text in the first row in which it overlaps no other. Without such a row, the text shows only
/// when the marker is pointed at.
pub(super) fn place_markers(
    chart: &Chart,
    frame: &Frame,
    plot: &Plot,
) -> (Vec<MarkerPlace>, usize) {
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

pub(super) fn draw_marker(text: &str, place: &MarkerPlace, top: f64, bottom: f64) -> Markup {
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
