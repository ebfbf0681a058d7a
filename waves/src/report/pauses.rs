//! Renders how pauses spread: a row for each stopped link, ordered from where the pauses come from outwards.
//!
//! The height of a bar is the part of the time for which the link was stopped. An arrow leads from a row to the rows
//! that stood because of it, at the time when they began to.

use maud::{Markup, html};

use super::data::{PauseRow, Pauses};
use super::scale::{Axis, time};
use super::text::{coordinate as c, fitted, width};

const FONT: f64 = 12.0;
const ROW: f64 = 20.0;
/// Height of a row whose name is above it.
const TALL_ROW: f64 = 33.0;
/// Height of a bar for a link that is stopped all of the time.
const BAR: f64 = 12.0;
/// Indentation of a name for each link between it and the root.
const INDENT: f64 = 12.0;
/// Room for the time to the right of a row.
const FIGURES: f64 = 84.0;
const MOST_NAME: f64 = 240.0;
/// Levels of a bar's height.
const LEVELS: f64 = 6.0;
/// Room below the rows for the time axis' texts.
const TIME_TEXTS: f64 = 24.0;
/// Room above the rows for the texts of marked moments.
const MARK_TEXTS: f64 = 18.0;
/// Most spans that the page has for enlarging the picture: about 20 bytes each.
const MOST_SPANS: usize = 12_000;
/// Greatest indentation, so that names of far links have room.
const MOST_INDENT: u32 = 6;

fn indent(row: &PauseRow) -> f64 {
    f64::from(row.distance.min(MOST_INDENT)) * INDENT
}

/// Renders the picture, `room` pixels wide, of a part of a run, in nanoseconds. With `above`, names are above the rows,
/// as on a phone. `marks` are moments that are drawn through all rows.
///
/// What the script of the page needs to enlarge it is in attributes: `data-place` has the left and right end of the
/// rows and the height of a bar, `data-at` and `data-x` the time of a thing and where it is drawn.
pub fn svg(
    pauses: &Pauses,
    marks: &[(u64, &str)],
    room: f64,
    above: bool,
    (from, to): (u64, u64),
    class: &str,
) -> Markup {
    let to = to.max(from + 1);
    let names = pauses.rows.iter();
    let widest = names
        .map(|row| (width(&row.name, FONT) + indent(row)).min(MOST_NAME))
        .fold(0.0, f64::max);
    let left = if above { 8.0 } else { (widest + 14.0).ceil() };
    let right = room - if above { 22.0 } else { FIGURES };
    let row_height = if above { TALL_ROW } else { ROW };
    let top = if marks.is_empty() { 0.0 } else { MARK_TEXTS };
    let bottom = top + pauses.rows.len() as f64 * row_height + 4.0;
    let axis = Axis::time(from, to, if above { 5 } else { 10 });
    // Scripts show what is beyond the part.
    let x = |at: u64| left + (at as f64 - from as f64) / (to - from) as f64 * (right - left);
    let hidden = |at: u64| (at < from || at > to).then_some("display:none");
    let bar_bottom =
        |index: usize| top + index as f64 * row_height + if above { 29.0 } else { 16.0 };
    let mut text_end = 0.0_f64;
    // Texts beside their lines, as far as they do not overlap the one before.
    let marks: Vec<_> = (marks.iter())
        .map(|(at, text)| {
            let (x, text_width) = (x(*at), width(text, FONT));
            let start = (x + 4.0).min(room - text_width);
            let fits = start >= text_end && hidden(*at).is_none();
            if fits {
                text_end = start + text_width + 8.0;
            }
            (*at, x, text, fits.then_some(start))
        })
        .collect();
    let place = format!("{} {} {BAR}", c(left), c(right));
    let size = format!("0 0 {} {}", c(room), c(bottom + TIME_TEXTS));
    html! {
        svg class=(class) viewBox=(size) role="img" aria-label="Spread of pauses" data-place=(place) {
            g class="ticks" data-foot=(c(bottom)) {
                @for (value, text) in &axis.ticks {
                    @let x = c(left + axis.place(*value) * (right - left));
                    line class="grid" x1=(x) x2=(x) y1="0" y2=(c(bottom)) {}
                    // Not beyond the left end of the picture.
                    text x=(c((left + axis.place(*value) * (right - left)).max(14.0))) y=(c(bottom + 17.0)) text-anchor="middle" {
                        (text) @if *value != 0.0 && !axis.unit.is_empty() { " " (axis.unit) }
                    }
                }
            }
            @for (at, x, text, start) in &marks {
                g data-at=(at) data-x=(c(*x)) style=[hidden(*at)] {
                    line class="marker" x1=(c(*x)) x2=(c(*x)) y1="2" y2=(c(bottom)) { title { (text) } }
                    @if let Some(start) = start { text class="ink" x=(c(*start)) y="12" { (text) } }
                }
            }
            @for (index, row) in pauses.rows.iter().enumerate() {
                @let bottom = bar_bottom(index);
                @let start = if above { left } else { 4.0 } + indent(row);
                @let name_room = if above { right - left - FIGURES } else { left - 10.0 } - indent(row);
                @let name = fitted(&row.name, FONT, name_room);
                @let (figure_x, anchor) = if above { (right, "end") } else { (right + 8.0, "start") };
                @let text_y = if above { bottom - 16.0 } else { bottom - 2.0 };
                text class="ink" data-row=(row.name) x=(c(start)) y=(c(text_y)) { (name) title { (words(row, &pauses.rows)) } }
                text x=(c(figure_x)) y=(c(text_y)) text-anchor=(anchor) { (time(row.total_ns)) }
                rect class="row" x=(c(left)) y=(c(bottom - 1.0)) width=(c(right - left)) height="1" {}
                g class="bars" data-base=(c(bottom)) {
                    @for (from, to, part) in bars(row, (from, to), right - left) {
                        rect class="band" x=(c(left + from)) y=(c(bottom - part * BAR)) width=(c(to - from)) height=(c(part * BAR)) {}
                    }
                }
            }
            @for (index, row) in pauses.rows.iter().enumerate() {
                @if let Some(cause) = row.cause.filter(|cause| *cause < pauses.rows.len() && *cause != index) {
                    @let at = began(row, &pauses.rows[cause]);
                    g data-at=(at) data-x=(c(x(at))) style=[hidden(at)] { (arrow(x(at), bar_bottom(cause), bar_bottom(index))) }
                }
            }
        }
    }
}

/// Returns what a row says, in words: how long, since when, and because of what.
fn words(row: &PauseRow, rows: &[PauseRow]) -> String {
    let mut text = format!(
        "{}: {} in all, first at {}",
        row.name,
        time(row.total_ns),
        time(row.from_ns)
    );
    if let Some(cause) = row.cause.and_then(|cause| rows.get(cause)) {
        text += &format!("; because {}", cause.name);
    }
    text
}

/// The spans of all rows for the scripts that enlarge the picture.
pub fn spans(pauses: &Pauses, duration_ns: u64) -> String {
    let rows = pauses.rows.iter().map(|row| &*row.spans);
    super::spans::json(rows, duration_ns, MOST_SPANS)
}

/// Returns when a row was stopped first while, or after, its cause was.
fn began(row: &PauseRow, cause: &PauseRow) -> u64 {
    let mut spans = row.spans.iter();
    let span = spans.find(|(_, to, _)| *to > cause.from_ns);
    span.map_or(row.from_ns, |(from, ..)| *from)
        .max(cause.from_ns)
}

/// Returns the line from the bottom of the row of the cause to the top of the bar of what it stopped, or upwards.
fn arrow(x: f64, cause: f64, row: f64) -> Markup {
    let (start, end) = if cause < row {
        (cause, row - BAR - 1.0)
    } else {
        (cause - BAR, row + 1.0)
    };
    let back = if start < end { -4.0 } else { 4.0 };
    let head = format!(
        "M{} {}L{} {}L{} {}",
        c(x - 3.0),
        c(end + back),
        c(x),
        c(end),
        c(x + 3.0),
        c(end + back)
    );
    html! { path class="cause" d=(format!("M{} {}V{}{head}", c(x), c(start), c(end))) {} }
}

/// Returns the bars of a row in a part of the run: start, end and height, 0 to 1, which is the part of the time in a few
/// levels.
fn bars(row: &PauseRow, (begin, end): (u64, u64), width: f64) -> Vec<(f64, f64, f64)> {
    let columns = (width / 2.0).floor().max(1.0) as usize;
    let column = (end - begin) as f64 / columns as f64;
    let mut stopped = vec![0.0; columns];
    for &(from, to, paused) in &row.spans {
        let density = (paused as f64 / to.saturating_sub(from).max(1) as f64).min(1.0);
        let inside = |at: u64| (at.clamp(begin, end) - begin) as f64;
        let (from, to) = (inside(from), inside(to));
        if to <= from {
            continue;
        }
        let (first, last) = ((from / column) as usize, (to / column).ceil() as usize);
        for (place, sum) in stopped.iter_mut().enumerate().take(last).skip(first) {
            let start = place as f64 * column;
            let both = to.min(start + column) - from.max(start);
            *sum += density * both.max(0.0) / column;
        }
    }
    let pixel = width / columns as f64;
    let mut bars: Vec<(f64, f64, f64)> = Vec::new();
    for (place, part) in stopped.into_iter().enumerate() {
        if part <= 0.0 {
            continue;
        }
        // Even the shortest pause is seen.
        let part = (part * LEVELS).ceil().min(LEVELS) / LEVELS;
        let (from, to) = (place as f64 * pixel, (place + 1) as f64 * pixel);
        match bars.last_mut() {
            Some(last) if last.1 == from && last.2 == part => last.1 = to,
            _ => bars.push((from, to, part)),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_the_part_of_the_time() {
        let row = PauseRow {
            spans: vec![(0, 500, 500), (500, 1_000, 250)],
            ..PauseRow::default()
        };
        // Half of 6 levels are 3.
        assert_eq!(
            bars(&row, (0, 2_000), 200.0),
            [(0.0, 50.0, 1.0), (50.0, 100.0, 0.5)]
        );
        let short = PauseRow {
            spans: vec![(999, 1_000, 1)],
            ..PauseRow::default()
        };
        assert_eq!(
            bars(&short, (0, 2_000_000), 200.0),
            [(0.0, 2.0, 1.0 / LEVELS)]
        );
    }

    #[test]
    fn pauses_after_the_end_are_not_drawn() {
        let row = PauseRow {
            spans: vec![(3_000, 4_000, 1_000)],
            ..PauseRow::default()
        };
        assert_eq!(bars(&row, (0, 2_000), 200.0), []);
        // In the part from 3,500 on, the second half of it is left.
        assert_eq!(bars(&row, (3_500, 4_500), 200.0), [(0.0, 100.0, 1.0)]);
    }
}
