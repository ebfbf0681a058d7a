//! Human-readable table of `xoff check`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use xoff_monitor::{Report, Rule};

use crate::terminal::{Ink, Paint, Streams};

/// Maximum number of frames named in the row of a rule.
const NAMED: usize = 8;
/// Maximum number of violations whose text is shown.
const SHOWN: usize = 20;

/// Writes one row per rule, the violations and the remarks. Rules `by_design` are known to be broken. `all`: also show
/// rules that could not be applied.
pub(super) fn write(
    report: &Report,
    by_design: &BTreeSet<Rule>,
    all: bool,
    streams: &mut Streams,
) -> io::Result<()> {
    let paint = streams.paint;
    let out = &mut streams.out;
    let left_out = write_rules(report, by_design, all, out, paint)?;
    let meant = super::known(report, by_design);
    let violations = report.violation_count() - meant;
    if violations > 0 {
        writeln!(out)?;
    }
    let named = report
        .violations
        .iter()
        .filter(|it| !by_design.contains(&it.rule));
    let mut shown = 0;
    for it in named.take(SHOWN) {
        shown += 1;
        let tap = if it.tap.is_empty() {
            String::new()
        } else {
            format!(" at {}", it.tap)
        };
        writeln!(
            out,
            "frame {}{tap}: {}: {}",
            it.frame,
            paint.paint(Ink::Bad, it.rule),
            it.text
        )?;
    }
    let more = violations - shown;
    if more > 0 {
        writeln!(out, "and {more} more; --json has them")?;
    }
    if !report.remarks.is_empty() {
        writeln!(
            out,
            "\n{}",
            paint.paint(Ink::Heading, "remarks: allowed, or common")
        )?;
    }
    for it in report.remarks.values() {
        let times = if it.count == 1 {
            String::new()
        } else {
            format!(", {} times", it.count)
        };
        let what = it.remark.text();
        writeln!(
            out,
            "{}: {what}\n  frame {}{times}: {}",
            it.remark, it.frame, it.text
        )?;
    }
    let kinds = report.kinds;
    if kinds.cut > 0 {
        writeln!(
            out,
            "\nOf {} RoCE packets the end was not recorded: their ICRC, UDP checksum and pad are not judged \
             (tcpdump -s 0 records whole frames).",
            kinds.cut
        )?;
    }
    writeln!(
        out,
        "\n{} frames: {} RoCE, {} pauses, {} other, {} with a wrong FCS; {violations} violations{}{}",
        report.frames,
        kinds.roce,
        kinds.pause,
        kinds.other,
        kinds.bad_fcs,
        match meant {
            0 => String::new(),
            meant => format!(", {meant} of rules that --breaks names"),
        },
        match left_out {
            0 => String::new(),
            rules => format!("; {rules} rules found nothing to judge (--verbose)"),
        }
    )
}

/// Writes the rows of rules. Returns how many were left out.
fn write_rules(
    report: &Report,
    by_design: &BTreeSet<Rule>,
    all: bool,
    out: &mut dyn Write,
    paint: Paint,
) -> io::Result<usize> {
    let head = format!("{:<18} {:>8} {:>8}  frames", "rule", "checked", "broken");
    writeln!(out, "{}", paint.paint(Ink::Heading, head))?;
    let mut left_out = 0;
    for (rule, tally) in report.rules.iter() {
        if tally.checked == 0 && !all {
            left_out += 1;
            continue;
        }
        let mut frames: Vec<u64> = (report
            .violations
            .iter()
            .filter(|it| it.rule == rule)
            .map(|it| it.frame))
        .collect();
        frames.dedup();
        let mut named: Vec<_> = frames.iter().take(NAMED).map(ToString::to_string).collect();
        if frames.len() > NAMED {
            named.push("…".into());
        }
        let row = format!(
            "{rule:<18} {:>8} {:>8}  {}",
            tally.checked,
            tally.violations,
            named.join(" ")
        );
        let ink = match (tally.checked, tally.violations) {
            (0, _) => Ink::Dim,
            (_, 0) => Ink::Plain,
            _ if by_design.contains(&rule) => Ink::Warning,
            _ => Ink::Bad,
        };
        writeln!(out, "{}", paint.paint(ink, row.trim_end()))?;
    }
    Ok(left_out)
}
