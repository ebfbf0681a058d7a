//! Servers by interval as CSV.

use std::io::{self, Write};

use xoff_network::watch::ServerRow;

/// Writes a row for each interval of a server in which it was not quiet.
pub(super) fn write(file: &mut dyn Write, rows: &[ServerRow]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record([
        "server",
        "from_ns",
        "to_ns",
        "pauses_sent",
        "pauses_received",
        "stopped_ns",
        "stood_ns",
        "available",
        "alarm",
    ])?;
    for row in rows {
        writer.write_record([
            &*row.server,
            &row.from_ns.to_string(),
            &row.to_ns.to_string(),
            &row.pauses_sent.to_string(),
            &row.pauses_received.to_string(),
            &row.stopped_ns.to_string(),
            &row.stood_ns.to_string(),
            &u8::from(row.available).to_string(),
            &u8::from(row.alarm).to_string(),
        ])?;
    }
    writer.flush()
}
