//! Values over time as CSV.

use std::io::{self, Write};

use crate::report::Chart;

/// Writes the lines of `charts`, with a row for each value.
pub(super) fn write(file: &mut dyn Write, charts: &[Chart]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record([
        "chart", "line", "unit", "time_ns", "mean", "least", "greatest",
    ])?;
    let field = |value: f64| match value.is_finite() {
        true => value.to_string(),
        false => String::new(),
    };
    for chart in charts {
        for line in &chart.lines {
            for (number, &(time, mean)) in line.points.iter().enumerate() {
                let range = line.ranges.get(number);
                let &(least, greatest) = range.unwrap_or(&(f64::NAN, f64::NAN));
                writer.write_record([
                    &chart.title,
                    &line.name,
                    &chart.unit,
                    &time.to_string(),
                    &field(mean),
                    &field(least),
                    &field(greatest),
                ])?;
            }
        }
    }
    writer.flush()
}
