//! What a person reads of a run with a peer.

use std::io;
use std::path::Path;

use xoff_network::attach::{Ended, Report};

use super::Summary;
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};

/// Writes what has happened.
pub(super) fn write(summary: &Summary, out: &Path, streams: &mut Streams) -> io::Result<()> {
    let report = &summary.report;
    let nic = &report.nic;
    let peer = report.peer.map_or_else(
        || "a peer that did not tell its queue pair".into(),
        |(ip, qpn, psn)| format!("{ip}, QP {qpn:#x}, first PSN {psn:#x}"),
    );
    writeln!(streams.out, "the {nic} NIC and {peer}\n")?;
    frames(report, streams)?;
    for complaint in &report.complaints {
        writeln!(streams.out, "\ndropped: {complaint}")?;
    }
    let messages = &report.messages;
    let checksum = messages
        .checksum
        .map_or_else(|| "none".into(), |it| format!("{it:08x}"));
    writeln!(
        streams.out,
        "\nmessages: {} sent and acknowledged, {} received, {} of them changed; checksum of the first {checksum}",
        messages.sent, messages.received, messages.changed
    )?;
    let cycles = report.cycles.map_or_else(String::new, |(evaluated, all)| {
        format!(", {evaluated} of {all} cycles evaluated")
    });
    let wall = summary.wall_s;
    writeln!(
        streams.out,
        "time: {} simulated, {wall:.1} s on the wall{cycles}",
        report.duration
    )?;
    writeln!(streams.out, "results: {}", out.display())?;
    let (ink, verdict) = match &report.ended {
        Ended::Complete => (Ink::Good, "complete".to_owned()),
        Ended::Running => (Ink::Bad, "not complete".to_owned()),
        Ended::Changed => (Ink::Bad, "messages came changed".to_owned()),
        Ended::Failed(why) => (Ink::Bad, format!("failed: {why}")),
        Ended::Refused(_) => (Ink::Bad, "the peer was not understood".to_owned()),
    };
    writeln!(streams.out, "{}", streams.paint.paint(ink, verdict))
}

fn frames(report: &Report, streams: &mut Streams) -> io::Result<()> {
    let mut table = Table::new([("frames", Align::Left), ("", Align::Right)]);
    let (from, to) = (&report.frames_in, &report.frames_out);
    let mut row = |ink, what: &str, count: u64| table.row(ink, [what.into(), count.to_string()]);
    row(Ink::Plain, "from the peer to the NIC", from.nic);
    row(Ink::Plain, "from the peer to the host's stack", from.stack);
    row(
        Ink::Plain,
        "from the peer to the communication manager",
        from.manager,
    );
    row(Ink::Plain, "to the peer from the NIC", to.nic);
    row(Ink::Plain, "to the peer from the host's stack", to.stack);
    row(
        Ink::Plain,
        "to the peer from the communication manager",
        to.manager,
    );
    for (what, count) in &report.manager {
        row(Ink::Plain, &format!("CM: {what}"), *count);
    }
    for (reason, count) in &report.dropped {
        row(Ink::Warning, &format!("dropped: {reason}"), *count);
    }
    for (name, count) in &report.counters {
        let told = [
            "resent_out",
            "timeouts",
            "duplicates_in",
            "gaps_in",
            "no_buffer",
        ];
        if told.contains(name) {
            row(Ink::Plain, &format!("NIC: {name}"), *count);
        }
    }
    table.write(streams)
}
