//! Means over intervals, drawn as stairs, and the band from the least to the greatest around them.
//!
//! A picture has a fixed number of columns. Each shows the intervals that end in it: their mean over time, their least and
//! their greatest. So intervals that are shorter than a column give the same picture as intervals of a column.

use super::data::{Area, Line};

/// Columns of a picture.
pub const COLUMNS: u64 = 200;

/// An interval: its end in nanoseconds, its mean, and its least and greatest. What is unknown is not a number.
pub type Piece = (u64, f64, (f64, f64));

/// The intervals of a line.
pub fn of_line(line: &Line) -> impl Iterator<Item = Piece> {
    let ranges = line.ranges.iter().copied().map(Some);
    let ranges = ranges.chain(std::iter::repeat(None));
    let points = line.points.iter().zip(ranges);
    points.map(|(&(time, mean), range)| (time, mean, range.unwrap_or((f64::NAN, f64::NAN))))
}

/// The intervals of an area, which have no mean.
pub fn of_area(area: &Area) -> impl Iterator<Item = Piece> {
    let points = area.points.iter();
    points.map(|&(time, low, high)| (time, f64::NAN, (low, high)))
}

/// A column of the picture, or what of it has values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Start and end in nanoseconds.
    pub from: u64,
    /// The end.
    pub to: u64,
    /// The mean over time; not a number without one.
    pub mean: f64,
    /// The least and the greatest; not numbers without any.
    pub range: (f64, f64),
    /// The time of the intervals with a mean.
    weight: f64,
}

/// Returns `count` columns from `from` to `to`, less those without an interval that ends in them. The first interval of
/// all begins at 0.
pub fn columns(pieces: impl Iterator<Item = Piece>, from: u64, to: u64, count: u64) -> Vec<Column> {
    let mut columns: Vec<(u128, Column)> = Vec::new();
    let span = u128::from(to.saturating_sub(from).max(1));
    let mut start = 0;
    for (end, mean, range) in pieces {
        let began = std::mem::replace(&mut start, end);
        if end <= from || began >= to {
            continue;
        }
        let (began, end) = (began.max(from), end.min(to));
        let number = (u128::from(end - from) * u128::from(count)).div_ceil(span);
        let weight = match mean.is_finite() {
            true => (end - began) as f64,
            false => 0.0,
        };
        match columns.last_mut() {
            Some((of, last)) if *of == number => {
                if weight > 0.0 {
                    let before = if last.weight > 0.0 { last.mean } else { 0.0 };
                    let sum = last.weight + weight;
                    last.mean = (before * last.weight + mean * weight) / sum;
                    last.weight = sum;
                }
                last.range = (last.range.0.min(range.0), last.range.1.max(range.1));
                last.to = end;
            }
            _ => {
                let column = Column {
                    from: began,
                    to: end,
                    mean,
                    range,
                    weight,
                };
                columns.push((number, column));
            }
        }
    }
    columns.into_iter().map(|(_, column)| column).collect()
}

/// Columns to each side over which a beat is levelled.
const BEAT: usize = 10;
/// Means that go up and down this many times as far as they are apart, within the columns to both sides, are a beat.
const BACK_AND_FORTH: f64 = 3.0;

/// Levels the means that are a beat of the intervals with something faster: of pauses of 8.6 µs, means over 25 µs draw a
/// period of 244 µs that is not there. They go up and down inside of the band of every column; what goes once, or leaves a
/// band, stays.
pub fn levelled(columns: &mut [Column]) {
    let means: Vec<f64> = columns.iter().map(|column| column.mean).collect();
    for place in 0..columns.len() {
        let (from, to) = (
            place.saturating_sub(BEAT),
            (place + BEAT + 1).min(means.len()),
        );
        let around = &means[from..to];
        if around.iter().any(|mean| !mean.is_finite()) {
            continue;
        }
        let path: f64 = around
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).abs())
            .sum();
        let least = around.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = around.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ranges = columns[from..to].iter().map(|column| column.range);
        let inside = ranges.fold((f64::NEG_INFINITY, f64::INFINITY), |all, range| {
            (all.0.max(range.0), all.1.min(range.1))
        });
        let beats = path >= BACK_AND_FORTH * (greatest - least);
        let known = inside.0.is_finite() && inside.1.is_finite();
        if beats && known && inside.0 <= least && inside.1 >= greatest {
            // Nearer columns count more: a triangle has no beat of its own.
            let weight = |at: usize| (BEAT + 1 - (from + at).abs_diff(place)) as f64;
            let weights: f64 = (0..around.len()).map(weight).sum();
            let sum: f64 = around
                .iter()
                .enumerate()
                .map(|(at, mean)| weight(at) * mean)
                .sum();
            columns[place].mean = sum / weights;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[Piece]) -> Vec<(u64, u64, f64, (f64, f64))> {
        let columns = columns(pieces.iter().copied(), 0, 1_000, COLUMNS);
        let shown = |column: &Column| (column.from, column.to, column.mean, column.range);
        columns.iter().map(shown).collect()
    }

    #[test]
    fn short_intervals_are_put_together_by_time() {
        // A column is 5 ns: the first has intervals of 1 and 4 ns.
        let pieces = [
            (1, 10.0, (1.0, 20.0)),
            (5, 5.0, (4.0, 6.0)),
            (10, 7.0, (7.0, 7.0)),
        ];
        let expected = [(0, 5, 6.0, (1.0, 20.0)), (5, 10, 7.0, (7.0, 7.0))];
        assert_eq!(all(&pieces), expected);
    }

    #[test]
    fn what_is_unknown_changes_nothing() {
        let nan = (f64::NAN, f64::NAN);
        let pieces = [(1, f64::NAN, nan), (3, 2.0, nan), (5, f64::NAN, (1.0, 3.0))];
        assert_eq!(all(&pieces), [(0, 5, 2.0, (1.0, 3.0))]);
    }

    #[test]
    fn a_beat_is_levelled_and_a_fall_is_not() {
        let wave = |at: u64| [24.0, 12.0][(at / 25 % 2) as usize];
        let pieces = |range: (f64, f64)| {
            (1..=200).map(move |at| (at * 5, if at < 100 { wave(at * 5) } else { 0.0 }, range))
        };
        let mut inside = columns(pieces((0.0, 40.0)), 0, 1_000, COLUMNS);
        levelled(&mut inside);
        let means = inside[20..80].iter().map(|column| column.mean);
        assert!(
            means.clone().all(|mean| (16.0..20.0).contains(&mean)),
            "{means:?}"
        );
        assert!(inside[101..].iter().all(|column| column.mean == 0.0));
        // Where the band is narrow, or there is none, the line is what was there.
        for range in [(20.0, 21.0), (f64::NAN, f64::NAN)] {
            let mut all = columns(pieces(range), 0, 1_000, COLUMNS);
            let before: Vec<f64> = all.iter().map(|column| column.mean).collect();
            levelled(&mut all);
            let after: Vec<f64> = all.iter().map(|column| column.mean).collect();
            assert_eq!(after, before);
        }
    }

    #[test]
    fn long_intervals_stay() {
        let pieces = [(400, 1.0, (0.0, 2.0)), (1_000, 2.0, (2.0, 2.0))];
        let expected = [(0, 400, 1.0, (0.0, 2.0)), (400, 1_000, 2.0, (2.0, 2.0))];
        assert_eq!(all(&pieces), expected);
        // Of a part of the run.
        let part = columns(pieces.into_iter(), 500, 700, COLUMNS);
        assert_eq!((part.len(), part[0].from, part[0].to), (1, 500, 700));
    }
}
