//! Lines, bands and areas as paths in the coordinates of a plot.

use super::super::columns::{self, COLUMNS, Column, columns};
use super::super::data::{Area, Line, Shape};
use super::super::decimate;
use super::super::scale::Axis;
use super::super::text::coordinate as c;
use super::{BLEED, Frame};

/// The mapping of times and values to the coordinates of a plot.
pub(super) struct Plot {
    /// Width and height of the plot.
    pub(super) width: f64,
    pub(super) height: f64,
    /// Where the plot begins below its upper edge.
    pub(super) top: f64,
    /// Start and end in nanoseconds.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Columns into which intervals are put together.
    pub(super) columns: u64,
    /// Coordinates are whole numbers, and paths go on from where they are.
    pub(super) whole_numbers: bool,
}

impl Plot {
    /// Returns the plot of a picture, in pixels.
    pub(super) fn new(frame: &Frame, from: u64, to: u64) -> Self {
        Self {
            width: frame.plot_width(),
            height: frame.lines_height,
            top: BLEED,
            from,
            to,
            columns: COLUMNS,
            whole_numbers: false,
        }
    }

    /// Returns the distance from the plot's left edge. It is outside of the plot for times outside.
    pub(super) fn x(&self, time: u64) -> f64 {
        let span = (self.to - self.from) as f64;
        (time as f64 - self.from as f64) / span * self.width
    }

    /// Returns a point in the plot's own coordinates. Points far outside are clamped, so that numbers stay short; whole
    /// numbers are of the whole run, and what is outside at first can be shown.
    fn place(&self, (time, value): (u64, f64), axis: &Axis) -> (f64, f64) {
        let far = if self.whole_numbers { 99.0 } else { 9.0 };
        let y = (1.0 - axis.place(value)).clamp(-far, 1.0 + far) * self.height + self.top;
        (self.x(time), y)
    }

    /// Returns the path through points, of which there is one at least. A single point is a line without length, which
    /// round ends draw as a dot.
    fn through(&self, points: &[(u64, f64)], axis: &Axis) -> String {
        let places = points.iter().map(|point| self.place(*point, axis));
        if self.whole_numbers {
            return stepwise(places);
        }
        let mut places: Vec<String> = places.map(|(x, y)| format!("{} {}", c(x), c(y))).collect();
        if let [point] = &*places {
            places.push(point.clone());
        }
        format!("M{}", places.join(" "))
    }
}

/// Returns the path through places rounded to whole numbers, each relative to the one before: stairs are short then.
fn stepwise(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut at = None;
    // What goes on to the right is one stroke.
    let mut right = 0;
    for (x, y) in places.map(|(x, y)| (x.round() as i64, y.round() as i64)) {
        let Some((before_x, before_y)) = at.replace((x, y)) else {
            path += &format!("M{x} {y}");
            continue;
        };
        let (dx, dy) = (x - before_x, y - before_y);
        if dy == 0 && dx >= 0 {
            right += dx;
            continue;
        }
        if right > 0 {
            path += &format!("h{}", std::mem::take(&mut right));
        }
        path += &match (dx, dy) {
            (_, 0) => format!("h{dx}"),
            (0, _) => format!("v{dy}"),
            (_, ..0) => format!("l{dx}{dy}"),
            _ => format!("l{dx} {dy}"),
        };
    }
    // A stroke without length is a dot.
    match right > 0 || !path.contains(['h', 'v', 'l']) {
        true => path + &format!("h{right}"),
        false => path,
    }
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
        let around: Vec<(u64, f64)> = upper.chain(lower).collect();
        path += &(plot.through(&around, axis) + "Z");
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
            &columns(columns::of_area(area), plot.from, plot.to, plot.columns),
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
    let around: Vec<_> = upper.into_iter().chain(lower.into_iter().rev()).collect();
    match around.is_empty() {
        true => String::new(),
        false => plot.through(&around, axis) + "Z",
    }
}

/// Returns the points to draw, including corners, but no more than the picture has room for.
fn course(points: &[(u64, f64)], shape: Shape, plot: &Plot) -> Vec<(u64, f64)> {
    let columns = match plot.whole_numbers {
        true => 2 * plot.columns as usize,
        false => (plot.width / 2.0) as usize,
    };
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
        plot.through(&[(point.0, range.0), (point.0, range.1)], axis)
    };
    known.map(stroke).collect()
}

/// Returns the line's path in the plot's own coordinates.
pub(super) fn path(line: &Line, axis: &Axis, plot: &Plot) -> String {
    let points = match line.shape {
        Shape::Mean => {
            let mut columns = columns(columns::of_line(line), plot.from, plot.to, plot.columns);
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
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        path += &plot.through(piece, axis);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_are_short_in_whole_numbers() {
        let path = |places: &[(f64, f64)]| stepwise(places.iter().copied());
        let stairs = [
            (0.0, 5.0),
            (10.2, 5.0),
            (20.0, 5.0),
            (20.0, 1.0),
            (30.0, 3.0),
        ];
        assert_eq!(path(&stairs), "M0 5h20v-4l10 2");
        assert_eq!(path(&[(7.0, 8.0), (5.0, 8.0), (4.0, 3.0)]), "M7 8h-2l-1-5");
        assert_eq!(path(&[(7.0, 8.0)]), "M7 8h0");
    }
}
