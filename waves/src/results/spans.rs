//! Spans of time as CSV.

use std::io::{self, Write};

use crate::report::Chart;

/// Writes the bands of `charts`, with a row for each span.
pub(super) fn write(file: &mut dyn Write, charts: &[Chart]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(["chart", "row", "from_ns", "to_ns"])?;
    for chart in charts {
        for band in &chart.bands {
            for (from, to) in &band.spans {
                let (from, to) = (from.to_string(), to.to_string());
                writer.write_record([&chart.title, &band.name, &from, &to])?;
            }
        }
    }
    writer.flush()
}
