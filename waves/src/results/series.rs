//! Values over time as CSV.

use std::io::{self, Write};

use crate::report::Chart;

/// A column: its name, and its values ordered by time.
struct Column {
    name: String,
    points: Vec<(u64, f64)>,
    /// The index of the first value that is not yet written.
    next: usize,
}

impl Column {
    /// Returns the next value if its time is `time`.
    fn take(&mut self, time: u64) -> Option<f64> {
        let &(at, value) = self.points.get(self.next)?;
        (at == time).then(|| {
            self.next += 1;
            value
        })
    }

    fn next_time(&self) -> Option<u64> {
        self.points.get(self.next).map(|&(time, _)| time)
    }
}

/// Writes the series of `charts`.
pub(super) fn write(file: &mut dyn Write, charts: &[Chart]) -> io::Result<()> {
    let mut columns = columns(charts);
    let mut writer = csv::Writer::from_writer(file);
    let names = columns.iter().map(|column| column.name.as_str());
    writer.write_record(std::iter::once("time_ns").chain(names))?;
    // A column with two values at one time gives two rows with that time.
    while let Some(time) = columns.iter().filter_map(Column::next_time).min() {
        writer.write_field(time.to_string())?;
        for column in &mut columns {
            let value = column.take(time).filter(|value| value.is_finite());
            writer.write_field(value.map(|value| value.to_string()).unwrap_or_default())?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

fn columns(charts: &[Chart]) -> Vec<Column> {
    let mut columns = Vec::new();
    for chart in charts {
        for line in &chart.lines {
            let unit = if chart.unit.is_empty() {
                String::new()
            } else {
                format!(" ({})", chart.unit)
            };
            let mut column = |what: &str, points| {
                columns.push(Column {
                    name: format!("{}: {}{what}{unit}", chart.title, line.name),
                    points,
                    next: 0,
                });
            };
            column("", line.points.clone());
            if !line.ranges.is_empty() {
                let ranges = || line.points.iter().zip(&line.ranges);
                column(
                    ", least",
                    ranges().map(|(point, range)| (point.0, range.0)).collect(),
                );
                column(
                    ", greatest",
                    ranges().map(|(point, range)| (point.0, range.1)).collect(),
                );
            }
        }
    }
    for column in &mut columns {
        // The sort is stable, so values of one time keep their order.
        column.points.sort_by_key(|&(time, _)| time);
    }
    columns
}
