//! Reads the frames of a capture at one interface.

use std::path::Path;

use anyhow::bail;
use xoff_network::shadow::Recorded;
use xoff_sim::headers::Headers;
use xoff_sim::time::Time;
use xoff_sim::wire::UDP_PORT_ROCE;
use xoff_waves::capture::{Interface, Reader, Record};

use crate::decode;

/// Reads a capture. Returns its name and the frames that an interface saw; `interface` names it.
///
/// # Errors
///
/// The capture cannot be read, has no such interface or several of which none is named, or has RoCE packets of which a
/// part was recorded.
pub(super) fn frames(
    path: &Path,
    interface: Option<&str>,
) -> anyhow::Result<(String, Vec<Recorded>)> {
    let (name, input, _) = decode::open(path)?;
    let mut reader = Reader::new(name.clone(), input)?;
    let mut frames = Vec::new();
    let mut used = Vec::new();
    let mut begin = None;
    while let Some(record) = reader.next() {
        let record = record?.into_inner();
        let begin = *begin.get_or_insert(record.time_ns);
        let at = &reader.interfaces()[record.interface];
        let named = interface.is_none_or(|named| is_named(at, record.interface, named));
        if !is_roce(&record) || !named {
            continue;
        }
        if !used.contains(&record.interface) {
            used.push(record.interface);
        }
        let filled = record.filled();
        let Some(filled) = filled.filter(|_| !record.is_cut()) else {
            bail!(
                "{name}: record {}: {} of its {} bytes were recorded, or it was on no line; record whole frames, with \
                 receive offload off (tcpdump -s 0; ethtool -K DEV gro off lro off)",
                record.number,
                record.bytes.len(),
                record.length
            );
        };
        frames.push(Recorded {
            number: record.number,
            time: Time::from_ns(record.time_ns.saturating_sub(begin)),
            bytes: filled.bytes.into_owned().into(),
        });
    }
    let all = reader.interfaces();
    let text = |at: usize| all[at].name.clone().unwrap_or_else(|| at.to_string());
    if let (Some(named), []) = (interface, &used[..]) {
        let all: Vec<String> = (0..all.len()).map(text).collect();
        bail!(
            "{name}: --interface {named}: no RoCE packet at an interface of that name; there are: {}",
            all.join(", ")
        );
    }
    if used.len() > 1 {
        let used: Vec<String> = used.into_iter().map(text).collect();
        bail!(
            "{name}: RoCE packets at several interfaces, which see a packet more than once: --interface names one of {}",
            used.join(", ")
        );
    }
    if frames.is_empty() {
        bail!("{name}: no RoCE packet (UDP port {UDP_PORT_ROCE})");
    }
    Ok((name, frames))
}

fn is_named(interface: &Interface, number: usize, named: &str) -> bool {
    interface.name.as_deref() == Some(named) || named.parse() == Ok(number)
}

/// Whether a record is a packet to RoCE's UDP port.
fn is_roce(record: &Record) -> bool {
    let beginning = record.beginning();
    let headers = beginning.and_then(|bytes| Headers::at(&bytes));
    let ports = headers.and_then(|headers| headers.ports);
    ports.is_some_and(|(_, port)| port == UDP_PORT_ROCE)
}
