//! What a person reads of the result.

use std::io;

use xoff_network::shadow::{Allowed, Answer, Difference, Judged, Report};

use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};

/// Bytes of a payload that are shown from the first difference on.
const BYTES: usize = 8;

/// Writes the result, with at most `shown` differences.
pub(super) fn write(
    name: &str,
    report: &Report,
    shown: usize,
    streams: &mut Streams,
) -> io::Result<()> {
    let Report { side, nic, .. } = report;
    let to = plural(report.requests, "request");
    writeln!(
        streams.out,
        "{name}: the {nic} NIC as {side}, which answers {to}\n"
    )?;
    connections(&report.connections, streams)?;
    writeln!(streams.out)?;
    let mut table = Table::new([("answers", Align::Right), ("", Align::Left)]);
    let mut row = |ink, count: u64, what: &str| table.row(ink, [count.to_string(), what.into()]);
    row(Ink::Plain, report.matched, "match");
    for rule in Allowed::ALL {
        if let Some(count) = report.allowed.get(rule) {
            row(Ink::Plain, *count, &format!("allowed: {}", rule.name()));
        }
    }
    for (what, count) in &report.unsupported {
        row(Ink::Warning, *count, &format!("unsupported: {what}"));
    }
    let ink = if report.different > 0 {
        Ink::Bad
    } else {
        Ink::Plain
    };
    row(ink, report.different, "different");
    row(Ink::Dim, report.answers, "in all");
    table.write(streams)?;
    let rules = Allowed::ALL
        .iter()
        .filter(|rule| report.allowed.contains_key(rule));
    for (place, rule) in rules.enumerate() {
        if place == 0 {
            writeln!(streams.out)?;
        }
        writeln!(
            streams.out,
            "{}: {} ({})",
            rule.name(),
            rule.statement(),
            rule.source()
        )?;
    }
    notes(report, streams)?;
    for difference in report.differences.iter().take(shown) {
        writeln!(streams.out)?;
        show(difference, streams)?;
    }
    let left = report.differences.len().saturating_sub(shown);
    if left > 0 {
        writeln!(
            streams.out,
            "\n… and {left} more; --show {} or --json has all",
            report.different
        )?;
    }
    Ok(())
}

fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn connections(connections: &[Judged], streams: &mut Streams) -> io::Result<()> {
    let heads = [
        ("QP", Align::Left),
        ("peer", Align::Left),
        ("first PSN", Align::Left),
        ("MTU", Align::Right),
        ("told by", Align::Left),
        ("requests", Align::Right),
        ("answers", Align::Right),
        ("match", Align::Right),
        ("allowed", Align::Right),
        ("different", Align::Right),
    ];
    let mut table = Table::new(heads);
    for it in connections {
        let told = serde_json::to_value(it.told).unwrap_or_default();
        let ink = if it.different > 0 {
            Ink::Bad
        } else {
            Ink::Plain
        };
        let mtu = match it.mtu_shown {
            true => it.mtu.to_string(),
            false => format!("≤ {}", it.mtu),
        };
        let cells = [
            format!("{:#x}", it.qpn),
            format!("{} {:#x}", it.peer, it.peer_qpn),
            format!("{:#x}", it.first_psn),
            mtu,
            told.as_str().unwrap_or_default().replace('_', " "),
            it.requests.to_string(),
            it.answers.to_string(),
            it.matched.to_string(),
            it.allowed.to_string(),
            it.different.to_string(),
        ];
        table.row(ink, cells);
    }
    table.write(streams)
}

/// What was not judged, and what was taken from the capture.
fn notes(report: &Report, streams: &mut Streams) -> io::Result<()> {
    let mut notes = Vec::new();
    for it in &report.connections {
        let qp = format!("QP {:#x}", it.qpn);
        if it.msn > 0 {
            let before = plural(it.msn.into(), "message");
            notes.push(format!(
                "{qp}: {before} before the first request of the capture"
            ));
        }
        if it.skipped > 0 {
            let skipped = plural(it.skipped, "request");
            notes.push(format!(
                "{qp}: not fed: {skipped} of a message that begins before the capture"
            ));
        }
        if it.lost_behind_tap > 0 {
            let lost = plural(it.lost_behind_tap, "request");
            notes.push(format!(
                "{qp}: not fed: {lost} that the answering end shows not to have got"
            ));
        }
        if let Some(frame) = it.lost_at_tap {
            let answers = plural(it.unjudged, "answer");
            notes.push(format!(
                "{qp}: not judged from frame {frame} on, with {answers}: a request before it is not in the capture, \
                 though it was answered"
            ));
        }
    }
    let not = &report.not_judged;
    for (count, what) in [
        (
            not.requests_without_answers,
            "requests without answers in the capture",
        ),
        (
            not.answers_without_requests,
            "answers whose requests are not in the capture, or are of QPs that cannot be told apart (settings can)",
        ),
        (
            not.unreliable,
            "packets of UC and UD, which nothing answers",
        ),
        (not.other_services, "packets of other services"),
        (not.cnps, "congestion notifications"),
        (
            not.own_requests,
            "packets of the other direction: what the end asks, and its answers",
        ),
    ] {
        if count > 0 {
            notes.push(format!("not judged: {count} {what}"));
        }
    }
    for (count, what) in [
        (report.damaged, "damaged packets fed, for the NIC to drop"),
        (
            report.denied,
            "requests refused only because the capture's answer is a refusal of their key",
        ),
        (
            report.memory_taken,
            "bytes of memory taken from answers of the capture",
        ),
        (
            report.memory_known,
            "bytes of memory in answers that earlier packets had put there",
        ),
        (report.strange, "frames of the NIC that are no answers"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    if !notes.is_empty() {
        writeln!(streams.out)?;
    }
    for note in notes {
        writeln!(streams.out, "{note}")?;
    }
    Ok(())
}

fn show(it: &Difference, streams: &mut Streams) -> io::Result<()> {
    let what = match (&it.capture, &it.nic) {
        (Some(_), None) => "the NIC has no such answer".into(),
        (None, _) => "the capture has no such answer after this request".into(),
        _ => format!("different: {}", it.fields.join(", ")),
    };
    let head = format!("frame {}, QP {:#x}: {what}", it.frame, it.qpn);
    writeln!(streams.out, "{}", streams.paint.paint(Ink::Bad, head))?;
    let mut table = Table::new(
        ["", "opcode", "PSN", "syndrome", "MSN", "data"].map(|head| (head, Align::Left)),
    );
    for (side, answer) in [("capture", &it.capture), ("NIC", &it.nic)] {
        if let Some(answer) = answer {
            table.row(Ink::Plain, cells(side, answer, it.payload_from));
        }
    }
    table.write(streams)
}

fn cells(side: &str, answer: &Answer, from: Option<usize>) -> [String; 6] {
    let data = match (answer.original, from) {
        (Some(original), _) => format!("original {original:#018x}"),
        (None, _) if answer.payload.is_empty() => String::new(),
        (None, None) => format!("{} bytes", answer.payload.len()),
        (None, Some(from)) => {
            let rest = answer.payload.get(from..).unwrap_or_default();
            let bytes = rest.iter().take(BYTES).map(|byte| format!("{byte:02x}"));
            let bytes = bytes.collect::<Vec<_>>().join(" ");
            format!("{} bytes, from {from} on {bytes}", answer.payload.len())
        }
    };
    [
        side.into(),
        answer.opcode.to_string(),
        answer.psn.to_string(),
        answer
            .syndrome
            .map_or_else(String::new, |it| it.to_string()),
        answer
            .msn
            .map_or_else(String::new, |it| it.get().to_string()),
        data,
    ]
}
