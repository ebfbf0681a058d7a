//! Slowdown of messages: against their size, and its distribution.

use maud::{Markup, html};

use super::condense::rank;
use super::data::Report;
use super::scale::{self, number};
use super::text::{coordinate as c, width};

/// Messages with a dot of their own at most; of more, the slowest and some of the others.
const MOST_DOTS: usize = 400;
/// Ranges of sizes, with about as many messages each, for which the median and the slowest of a hundred are drawn.
const MOST_BINS: usize = 12;
/// Messages from which on there is a distribution.
const LEAST_MESSAGES: usize = 50;
/// Length of the mark of a single size.
const LEAST_MARK: f64 = 14.0;
/// How many times the least size of such a range its greatest may be.
const MOST_APART: f64 = 8.0;
const HEIGHT: f64 = 200.0;
const FONT: f64 = 12.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// An axis on which each power of ten is as long as another.
struct LogAxis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// From the power of ten at or below `low` to 1, 2 or 5 times one at or above `high`.
    fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = power(low);
        let ends = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power(high));
        let end = ends.into_iter().find(|end| *end >= high && *end > low);
        let end = end.unwrap_or(low * 10.0);
        Self {
            low,
            high: end,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        // `ln` may differ in its last digit between machines; a tenth of a pixel does not.
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        let powers = std::iter::successors(Some(self.low), |value| Some(value * 10.0));
        let inside = powers.take_while(|value| *value < self.high * 0.999);
        inside.chain([self.high]).collect()
    }
}

/// The power of ten at or below a value.
fn power(value: f64) -> f64 {
    let exponent = format!("{:e}", value.max(1e-9));
    let exponent = exponent
        .split_once('e')
        .map_or("0", |(_, exponent)| exponent);
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

/// Size in bytes and slowdown of each complete message, by size.
fn complete(report: &Report) -> Vec<(f64, f64)> {
    let rows = report.messages.iter();
    let mut all: Vec<(f64, f64)> = rows
        .filter_map(|row| Some((row.bytes as f64, row.slowdown?)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all
}

/// Whether there is anything to see: messages of several sizes, or of different slowdowns.
fn worth_it(all: &[(f64, f64)]) -> bool {
    all.len() >= LEAST_MESSAGES && all.iter().any(|message| message.1 > 1.05)
}

/// Renders both pictures, for windows and phones.
pub fn slowdown(report: &Report) -> Markup {
    let all = complete(report);
    if !worth_it(&all) {
        return html! {};
    }
    let by_size = all[0].0 < all[all.len() - 1].0;
    html! {
        h2 { "Slowdown" }
        div.charts.pair {
            @if by_size {
                figure.chart {
                    figcaption {
                        h3 { "Slowdown against size" }
                        p.note { "A dot is a message; the strokes are the median and the 99 % of messages of about that size." }
                    }
                    (against_size(&all))
                }
            }
            figure.chart {
                figcaption {
                    h3 { "Distribution of slowdown" span.unit { ", % of messages" } }
                    p.note { "Part of the " (scale::with_groups(&all.len().to_string())) " complete messages that took at most so many times as long as alone." }
                }
                (distribution(&all))
            }
        }
    }
}

const WIDTH: f64 = 460.0;

fn frame(x: &[(f64, String)], y: &[(f64, String)]) -> Markup {
    html! {
        @for (place, text) in y {
            line class="grid" x1=(c(LEFT)) x2=(c(WIDTH - RIGHT)) y1=(c(*place)) y2=(c(*place)) {}
            text x=(c(LEFT - 7.0)) y=(c(place + 4.0)) text-anchor="end" { (text) }
        }
        @for (place, text) in x {
            @let half = width(text, FONT) / 2.0;
            line class="grid" x1=(c(*place)) x2=(c(*place)) y1=(c(TOP)) y2=(c(HEIGHT)) {}
            text x=(c(place.clamp(half, WIDTH - half))) y=(c(HEIGHT + 18.0)) text-anchor="middle" { (text) }
        }
    }
}

/// Messages of about one size, those of one size together, and none that is many times as large as another.
fn bins(all: &[(f64, f64)]) -> Vec<&[(f64, f64)]> {
    let least = all.len().div_ceil(MOST_BINS);
    let mut bins = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let last = rest[least.min(rest.len()) - 1].0;
        let last = last.min(rest[0].0.max(1.0) * MOST_APART);
        let count = rest.partition_point(|message| message.0 <= last);
        let (bin, others) = rest.split_at(count);
        bins.push(bin);
        rest = others;
    }
    bins
}

fn against_size(all: &[(f64, f64)]) -> Markup {
    let slowest = all.iter().map(|message| message.1).fold(1.0, f64::max);
    let x = LogAxis::new(all[0].0, all[all.len() - 1].0, LEFT, WIDTH - RIGHT);
    let y = LogAxis::new(1.0, slowest, HEIGHT, TOP);
    // The slowest have a dot each, of the others as many as are left.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| all[*b].1.total_cmp(&all[*a].1));
    let slow = order.len().min(MOST_DOTS / 4);
    let step = (order.len() - slow)
        .div_ceil(MOST_DOTS - MOST_DOTS / 4)
        .max(1);
    let dots = order[..slow]
        .iter()
        .chain(order[slow..].iter().step_by(step));
    let dot = |at: &usize| format!("M{0} {1}h0", c(x.place(all[*at].0)), c(y.place(all[*at].1)));
    let dots: String = dots.map(dot).collect();
    let bins = bins(all);
    let marks = |part: f64| -> String {
        let mark = |bin: &&[(f64, f64)]| {
            let mut slowdowns: Vec<f64> = bin.iter().map(|message| message.1).collect();
            slowdowns.sort_by(f64::total_cmp);
            let ends = [bin[0].0, bin[bin.len() - 1].0].map(|size| x.place(size));
            let (from, to) = (ends[0] - LEAST_MARK / 2.0, ends[1] + LEAST_MARK / 2.0);
            let y = y.place(rank(&slowdowns, part));
            format!(
                "M{} {}h{}",
                c(from.max(LEFT)),
                c(y),
                c(to.min(WIDTH - RIGHT) - from.max(LEFT))
            )
        };
        bins.iter().map(mark).collect()
    };
    let sizes = x
        .ticks()
        .into_iter()
        .map(|size| (x.place(size), scale::quantity(size, "B")));
    let times = y
        .ticks()
        .into_iter()
        .map(|times| (y.place(times), format!("{}×", number(times))));
    html! {
        ul.legend {
            @for (class, name) in [("line c0", "median"), ("line c1", "99 %")] {
                li { svg.swatch viewBox="0 0 22 8" aria-hidden="true" { path class=(class) d="M1 4h20" {} } span { (name) } }
            }
        }
        svg viewBox=(format!("0 0 {} {}", c(WIDTH), c(HEIGHT + BOTTOM))) role="img" aria-label="Slowdown against size" {
            (frame(&sizes.collect::<Vec<_>>(), &times.collect::<Vec<_>>()))
            path class="dots" d=(dots) {}
            path class="line c1" d=(marks(0.99)) {}
            path class="line c0" d=(marks(0.5)) {}
        }
    }
}

fn distribution(all: &[(f64, f64)]) -> Markup {
    let mut slowdowns: Vec<f64> = all.iter().map(|message| message.1).collect();
    slowdowns.sort_by(f64::total_cmp);
    let x = LogAxis::new(1.0, slowdowns[slowdowns.len() - 1], LEFT, WIDTH - RIGHT);
    let y = |part: f64| HEIGHT - part * (HEIGHT - TOP);
    let points = (0..=200_u32).map(|step| {
        let part = f64::from(step) / 200.0;
        format!("{} {}", c(x.place(rank(&slowdowns, part))), c(y(part)))
    });
    let path = format!("M{}", points.collect::<Vec<_>>().join(" "));
    let times = x
        .ticks()
        .into_iter()
        .map(|times| (x.place(times), format!("{}×", number(times))));
    let parts = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (y(part), format!("{} %", 100.0 * part)));
    html! {
        svg viewBox=(format!("0 0 {} {}", c(WIDTH), c(HEIGHT + BOTTOM))) role="img" aria-label="Distribution of slowdown" {
            (frame(&times.collect::<Vec<_>>(), &parts))
            path class="line c0" d=(path) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_size_are_in_one_bin() {
        let all: Vec<(f64, f64)> = (0..60)
            .map(|at| (f64::from(at / 25), f64::from(at)))
            .collect();
        let sizes: Vec<usize> = bins(&all).iter().map(|bin| bin.len()).collect();
        assert_eq!(sizes, [25, 25, 10]);
        // A barrier of 8 bytes and an exchange of 64 KB are not of about one size.
        let apart = [vec![(8.0, 1.0); 3], vec![(65_536.0, 25.0); 57]].concat();
        let sizes: Vec<usize> = bins(&apart).iter().map(|bin| bin.len()).collect();
        assert_eq!(sizes, [3, 57]);
    }

    #[test]
    fn axes_go_from_power_to_power() {
        let axis = LogAxis::new(1.0, 97.0, 0.0, 100.0);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!(
            [1.0, 10.0, 100.0].map(|value| axis.place(value)),
            [0.0, 50.0, 100.0]
        );
        assert_eq!(LogAxis::new(64.0, 64.0, 0.0, 1.0).ticks(), [10.0, 100.0]);
        assert_eq!(LogAxis::new(1.0, 1.0, 0.0, 1.0).ticks(), [1.0, 2.0]);
        assert_eq!(LogAxis::new(1.0, 37.0, 0.0, 1.0).ticks(), [1.0, 10.0, 50.0]);
    }
}
