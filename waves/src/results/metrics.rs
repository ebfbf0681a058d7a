//! Metrics as CSV.

use std::collections::BTreeMap;
use std::io::{self, Write};

use xoff_network::metrics::Metric;

/// Writes a row for each metric that has a value, with its parts and its unit in columns of their own.
pub(super) fn write(file: &mut dyn Write, metrics: &BTreeMap<String, f64>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(["metric", "quantity", "subject", "value", "unit"])?;
    for (name, value) in metrics.iter().filter(|(_, value)| value.is_finite()) {
        let (quantity, subject) = name.split_once('.').unwrap_or((name, ""));
        let unit = (name.parse::<Metric>()).map_or("", |metric| metric.quantity.unit());
        writer.write_record([name, quantity, subject, &value.to_string(), unit])?;
    }
    writer.flush()
}
