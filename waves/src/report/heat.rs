//! A picture of many lines: a row for each, a column for each stretch of time, and the darker the greater.

use maud::{Markup, html};

use super::columns::{self, columns};
use super::data::{Chart, Line};
use super::scale::{self, Axis};
use super::text::{coordinate as c, fitted, width};

/// Rows that are drawn at most. Of more lines, neighbours share a row, with their mean.
const MOST_ROWS: usize = 64;
/// Columns of time.
const COLUMNS: usize = 100;
/// Shades, without none.
const SHADES: usize = 5;
/// Height of all rows, and the least of one.
const HEIGHT: f64 = 240.0;
const LEAST_ROW: f64 = 4.0;
const FONT: f64 = 12.0;
/// Least distance between the names of two rows.
const NAME_GAP: f64 = 14.0;

/// The means of a row in each column, over time; not a number without a value.
fn row(lines: &[Line], from: u64, to: u64) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); COLUMNS];
    let wide = (to - from).max(1) as f64 / COLUMNS as f64;
    for line in lines {
        let columns = columns(columns::of_line(line), from, to, columns::COLUMNS);
        for column in columns.iter().filter(|column| column.mean.is_finite()) {
            let [start, end] = [column.from, column.to].map(|time| (time - from) as f64 / wide);
            let last = (end.ceil() as usize).min(COLUMNS);
            for (place, sum) in sums.iter_mut().enumerate().take(last).skip(start as usize) {
                let part = end.min(place as f64 + 1.0) - start.max(place as f64);
                *sum = (sum.0 + part * column.mean, sum.1 + part);
            }
        }
    }
    sums.into_iter().map(|(sum, parts)| sum / parts).collect()
}

/// Where the rows lie.
struct Rows {
    left: f64,
    height: f64,
    column: f64,
}

/// The path of the cells of a shade: strokes as wide as a row is high.
fn cells(rows: &[Vec<f64>], shade: usize, most: f64, place: &Rows) -> String {
    let shade_of = |value: f64| match value.is_finite() {
        true => (value / most * SHADES as f64)
            .ceil()
            .clamp(0.0, SHADES as f64) as usize,
        false => 0,
    };
    let mut path = String::new();
    for (number, row) in rows.iter().enumerate() {
        let y = (number as f64 + 0.5) * place.height;
        let mut column = 0;
        for run in row.chunk_by(|a, b| shade_of(*a) == shade_of(*b)) {
            if shade_of(run[0]) == shade {
                let x = place.left + column as f64 * place.column;
                path += &format!("M{} {}h{}", c(x), c(y), c(run.len() as f64 * place.column));
            }
            column += run.len();
        }
    }
    path
}

/// The heat map of a chart's lines, for a part of a run.
pub struct Heat<'a> {
    chart: &'a Chart,
    from: u64,
    to: u64,
    /// The lines of each row.
    lines: Vec<&'a [Line]>,
    /// Their means.
    rows: Vec<Vec<f64>>,
    /// The greatest value that a shade stands for.
    most: f64,
}

impl<'a> Heat<'a> {
    /// The heat map for the time from `from` to `to`.
    pub fn new(chart: &'a Chart, from: u64, to: u64) -> Self {
        let share = chart.lines.len().div_ceil(MOST_ROWS).max(1);
        let lines: Vec<&[Line]> = chart.lines.chunks(share).collect();
        let rows: Vec<Vec<f64>> = lines.iter().map(|lines| row(lines, from, to)).collect();
        let values = rows.iter().flatten().copied();
        let greatest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self {
            chart,
            from,
            to,
            lines,
            rows,
            most: chart.range.map_or(greatest, |range| range.1),
        }
    }

    /// Whether it shows anything: whether the values are more than a shade apart.
    pub fn varies(&self) -> bool {
        let values = || {
            self.rows
                .iter()
                .flatten()
                .copied()
                .filter(|value| value.is_finite())
        };
        let least = values().fold(f64::INFINITY, f64::min);
        let greatest = values().fold(0.0, f64::max);
        greatest - least > self.most / SHADES as f64
    }

    /// Says whose it is.
    pub fn title(&self) -> &'a str {
        &self.chart.title
    }

    /// Says what the shades mean.
    pub fn note(&self) -> String {
        let rows = match self.lines.first().map_or(0, |lines| lines.len()) {
            0 | 1 => "A row for each line".into(),
            share => format!("A row for every {share} lines, with their mean"),
        };
        let most = scale::quantity(self.most, &self.chart.unit);
        format!("{rows}: the darker, the nearer to {most}.")
    }

    /// Renders it, `picture` pixels wide.
    pub fn svg(&self, picture: f64, class: &str) -> Markup {
        let most_name = picture * 0.28;
        let names: Vec<String> = (self.lines.iter())
            .map(|lines| fitted(&lines[0].name, FONT, most_name))
            .collect();
        let left = names
            .iter()
            .map(|name| width(name, FONT))
            .fold(0.0, f64::max)
            + 8.0;
        let height = (HEIGHT / self.rows.len().max(1) as f64).clamp(LEAST_ROW, 16.0);
        let place = Rows {
            left,
            height,
            column: (picture - left - 12.0) / COLUMNS as f64,
        };
        let bottom = height * self.rows.len() as f64;
        let time = Axis::time(self.from, self.to, (picture / 95.0) as usize);
        let step = (NAME_GAP / height).ceil() as usize;
        // The first name is as far from the second as all are, and may rise above its row.
        let above = (FONT - 2.0 - (0.5 * height + 4.0)).max(0.0);
        let size = format!(
            "0 {} {} {}",
            c(-above),
            c(picture),
            c(bottom + 24.0 + above)
        );
        html! {
            svg class=(class) viewBox=(size) role="img"
                aria-label=(format!("{}, a row for each line, darker where greater", self.chart.title)) {
                @for shade in (1..=SHADES).filter(|_| self.most > 0.0) {
                    path class="cells" stroke-width=(c(height)) stroke-opacity=(c(shade as f64 / SHADES as f64))
                        d=(cells(&self.rows, shade, self.most, &place)) {}
                }
                @for (number, name) in names.iter().enumerate().step_by(step.max(1)) {
                    @let y = (number as f64 + 0.5) * height + 4.0;
                    text x=(c(left - 6.0)) y=(c(y)) text-anchor="end" { (name) }
                }
                line class="axis" x1=(c(left)) x2=(c(left + place.column * COLUMNS as f64)) y1=(c(bottom)) y2=(c(bottom)) {}
                @for (value, text) in &time.ticks {
                    @let text = if *value == 0.0 { text.clone() } else { format!("{text} {}", time.unit) };
                    @let half = width(&text, FONT) / 2.0;
                    @let x = left + time.place(*value) * place.column * COLUMNS as f64;
                    text x=(c(x.clamp(half, picture - half))) y=(c(bottom + 17.0)) text-anchor="middle" { (text) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Shape;

    #[test]
    fn long_intervals_fill_their_columns_and_neighbours_share_a_row() {
        let line = |value: f64| Line {
            points: vec![(500, value), (1_000, 0.0)],
            shape: Shape::Mean,
            ..Line::default()
        };
        let means = row(&[line(2.0), line(4.0)], 0, 1_000);
        assert_eq!(
            (means[0], means[49], means[50], means[99]),
            (3.0, 3.0, 0.0, 0.0)
        );
        let chart = Chart {
            lines: vec![line(1.0); 130],
            ..Chart::default()
        };
        let picture = Heat::new(&chart, 0, 1_000).svg(400.0, "heat").into_string();
        // 130 lines are 44 rows of three or fewer, all of the darkest shade in the first half.
        let darkest = picture.rsplit_once("stroke-opacity=\"1\"").unwrap().1;
        let path = darkest.split('"').nth(1).unwrap();
        assert_eq!(path.matches('M').count(), 44);
    }
}
