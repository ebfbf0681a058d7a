//! Lines, bands and areas as paths in the coordinates of a plot.

use super::super::columns::{self, Column, columns};
use super::super::data::{Area, Line, Shape};
use super::super::decimate;
use super::super::scale::Axis;
use super::super::text::coordinate as c;
use super::{BLEED, Frame};

/// The mapping of times to positions.
pub(super) struct Plot {
    pub(super) frame: Frame,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Plot {
    /// Returns the distance from the plot's left edge in pixels. It is outside of the plot for times outside.
    pub(super) fn x(&self, time: u64) -> f64 {
        let span = (self.to - self.from) as f64;
        (time as f64 - self.from as f64) / span * self.frame.plot_width()
    }
}

/// Returns a point in the plot's own coordinates. Points far outside are clamped, so that numbers stay short.
fn place((time, value): (u64, f64), axis: &Axis, plot: &Plot) -> String {
    let y = (1.0 - axis.place(value)).clamp(-9.0, 10.0) * plot.frame.lines_height + BLEED;
    format!("{} {}", c(plot.x(time)), c(y))
}

/// Returns the outline of the ranges of columns: along the upper edges, and back along the lower ones.
pub(super) fn band(columns: &[Column], axis: &Axis, plot: &Plot) -> String {
    let ends = |a: &Column, b: &Column| a.to == b.from && known(a) && known(b);
    let mut path = String::new();
    for piece in columns.chunk_by(ends).filter(|piece| known(&piece[0])) {
        let upper = piece
            .iter()
            .flat_map(|column| [(column.from, column.range.1), (column.to, column.range.1)]);
        let lower = (piece.iter().rev())
            .flat_map(|column| [(column.to, column.range.0), (column.from, column.range.0)]);
        let places: Vec<String> = upper
            .chain(lower)
            .map(|point| place(point, axis, plot))
            .collect();
        path += &format!("M{}Z", places.join(" "));
    }
    path
}

fn known(column: &Column) -> bool {
    column.range.0.is_finite() && column.range.1.is_finite()
}

/// Returns the outline of an area: along its upper edge, and back along the lower one.
pub(super) fn outline(area: &Area, axis: &Axis, plot: &Plot) -> String {
    if area.shape == Shape::Mean {
        return band(
            &columns(columns::of_area(area), plot.from, plot.to),
            axis,
            plot,
        );
    }
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

/// Returns strokes over the ranges of points that are apart.
pub(super) fn strokes(line: &Line, axis: &Axis, plot: &Plot) -> String {
    let ranges = line.points.iter().zip(&line.ranges);
    let known = ranges.filter(|(_, range)| range.0.is_finite() && range.1.is_finite());
    let stroke = |(point, range): (&(u64, f64), &(f64, f64))| {
        let ends = [range.0, range.1].map(|value| place((point.0, value), axis, plot));
        format!("M{}L{}", ends[0], ends[1])
    };
    known.map(stroke).collect()
}

/// Returns the line's path in the plot's own coordinates.
pub(super) fn path(line: &Line, axis: &Axis, plot: &Plot) -> String {
    let points = match line.shape {
        Shape::Mean => {
            let mut columns = columns(columns::of_line(line), plot.from, plot.to);
            columns::levelled(&mut columns);
            steps(&columns)
        }
        Shape::Dots => line.points.clone(),
        _ => course(&line.points, line.shape, plot),
    };
    let mut path = String::new();
    let apart = |(_, value): &(u64, f64)| !value.is_finite();
    let pieces: Vec<&[(u64, f64)]> = match line.shape {
        Shape::Dots => points.chunks(1).filter(|piece| !apart(&piece[0])).collect(),
        _ => points.split(apart).collect(),
    };
    for piece in pieces {
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

/// Returns the corners of stairs over columns.
fn steps(columns: &[Column]) -> Vec<(u64, f64)> {
    let step = |column: &Column| [(column.from, column.mean), (column.to, column.mean)];
    columns.iter().flat_map(step).collect()
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
        if let (Shape::Hold, Some((_, held))) = (shape, before) {
            stairs.push((time, held));
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
