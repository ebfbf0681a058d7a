//! What `xoff check` could not judge of a capture, or not in every way.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::bail;
use serde::Serialize;
use xoff_sim::headers::Headers;
use xoff_sim::wire::UDP_PORT_ROCE;
use xoff_waves::capture::{Link, Record};

use crate::decode::link_text;

/// Counts of frames.
#[derive(Debug, Default, Serialize)]
pub(super) struct Unseen {
    /// Frames without an Ethernet header, whose packets are judged: their link types with their numbers.
    without_addresses: BTreeMap<u32, u64>,
    /// Frames that are not judged, because their link type is not read.
    other_links: BTreeMap<u32, u64>,
    /// Frames that are not judged, because they are longer than any on a line.
    too_long: u64,
}

impl Unseen {
    /// Counts a frame.
    pub fn add(&mut self, record: &Record) {
        let counts = match record.link {
            Link::Other => &mut self.other_links,
            _ if record.is_too_long() => {
                self.too_long += 1;
                return;
            }
            Link::Ethernet => return,
            Link::Cooked(_) | Link::RawIp(_) => &mut self.without_addresses,
        };
        *counts.entry(record.link_type).or_default() += 1;
    }

    /// Says what was not judged.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.without_addresses.is_empty() {
            writeln!(
                out,
                "Without Ethernet header: {}. Their packets are judged, MAC addresses and pauses are not.",
                counted(&self.without_addresses)
            )?;
        }
        if !self.other_links.is_empty() {
            writeln!(
                out,
                "Not judged, of link types that are not read: {}.",
                counted(&self.other_links)
            )?;
        }
        if self.too_long > 0 {
            writeln!(
                out,
                "Not judged, longer than any frame on a line: {} (no RoCE packets).",
                self.too_long
            )?;
        }
        Ok(())
    }

    /// What was not judged, for a message about a capture in which nothing was.
    pub fn others(&self) -> String {
        match self.other_links.is_empty() {
            true => String::new(),
            false => format!(
                "; of link types that are not read: {}",
                counted(&self.other_links)
            ),
        }
    }
}

fn counted(links: &BTreeMap<u32, u64>) -> String {
    let texts: Vec<String> = (links.iter())
        .map(|(link, count)| format!("{count} {}", link_text(*link)))
        .collect();
    texts.join(", ")
}

/// Checks that a frame that is too long for a line is no RoCE packet: without one of its packets, a connection breaks
/// rules that it has kept.
///
/// # Errors
///
/// Returns an error if it is one.
pub(super) fn is_no_roce(record: &Record, capture: &str) -> anyhow::Result<()> {
    let Some(beginning) = record.beginning() else {
        return Ok(());
    };
    let ports = Headers::at(&beginning).and_then(|headers| headers.ports);
    if ports.is_some_and(|(_, dst)| dst == UDP_PORT_ROCE) {
        bail!(
            "{capture}: record {}: packets to RoCE's UDP port in a frame of {} bytes, which was on no line: record with \
             receive offload off (ethtool -K DEV gro off lro off)",
            record.number,
            record.length
        );
    }
    Ok(())
}
