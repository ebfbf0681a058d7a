//! Messages as CSV.

use std::io::{self, Write};

use xoff_network::messages::MessageRow;

/// Writes a row for each message, or each flow of a workload. What is not complete has no end and no slowdown.
pub(super) fn write(file: &mut dyn Write, rows: &[MessageRow]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record([
        "group", "flow", "from", "to", "class", "start_ns", "end_ns", "bytes", "ideal_ns",
        "slowdown",
    ])?;
    for row in rows {
        writer.write_record([
            &*row.group,
            &*row.flow,
            &*row.from,
            &*row.to,
            &row.class.to_string(),
            &row.start_ns.to_string(),
            &row.end_ns.map(|end| end.to_string()).unwrap_or_default(),
            &row.bytes.to_string(),
            &row.ideal_ns.to_string(),
            &row.slowdown
                .map(|slowdown| format!("{slowdown:.4}"))
                .unwrap_or_default(),
        ])?;
    }
    writer.flush()
}
