//! Rows of states that are on or off.

use maud::{Markup, html};

use super::super::data::{Band, Chart};
use super::super::decimate;
use super::super::scale;
use super::super::text::{coordinate as c, fitted};
use super::paths::Plot;
use super::{FONT, Frame, TICK_GAP};

/// Maximum number of rows that are drawn. If there are more, those that are on for the longest time are drawn.
const MOST_BANDS: usize = 24;

/// Returns the rows to draw, in their order, and the number of rows that are left out.
pub(super) fn chosen_bands(chart: &Chart, from: u64, to: u64) -> (Vec<&Band>, usize) {
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

/// Height of the bars of a row.
pub(super) const BAR: f64 = 12.0;

/// Renders a row. `bars` are given, or are of `plot`.
pub(super) fn draw_band(
    band: &Band,
    frame: &Frame,
    plot: &Plot,
    top: f64,
    bars: impl FnOnce(f64) -> Option<Markup>,
) -> Markup {
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
        text class="ink halo" x=(c(name_x)) y=(c(text_y)) text-anchor=(name_anchor) { (name) @if name != band.name { title { (band.name) } } }
        text class="halo" x=(c(figure_x)) y=(c(text_y)) text-anchor=(figure_anchor) { (figures) }
        rect class="row" x=(c(left)) y=(c(bar_top)) width=(c(right - left)) height=(c(BAR)) {}
        @if let Some(bars) = bars(bar_top) {
            (bars)
        } @else {
            @for (start, end, share) in runs(band, plot, plot.width.floor().max(1.0) as usize) {
                rect class="band" x=(c(left + start)) y=(c(bar_top)) width=(c(end - start)) height=(c(BAR))
                    fill-opacity=[(share < 1.0).then(|| c(share))] {}
            }
        }
    }
}

/// Returns the rectangles of a row in so many columns: start, end and density. Many short states next to each other
/// become one paler rectangle.
pub(super) fn runs(band: &Band, plot: &Plot, columns: usize) -> Vec<(f64, f64, f64)> {
    let covered = decimate::coverage(&band.spans, plot.from, plot.to, columns);
    let pixel = plot.width / columns as f64;
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
