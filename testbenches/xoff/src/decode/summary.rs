//! Summary picture of a whole capture: verdicts, operations, ICRC, time, conversations.

use std::collections::BTreeMap;
use std::io::{self, Write};

use xoff_network::words::{count, grouped};
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::Verdict;
use xoff_waves::capture::Interface;

use super::conversation::{Conversations, Flow, Tap, Traffic};
use super::draw::{bar, span, sparkline};
use super::seen::{Class, Seen};
use super::table::{class_ink, operation_ink_of, port_name};
use super::tally::Tally;
use super::timeline::{Stretch, Timeline};
use crate::terminal::{Ink, Paint};

/// Width of the picture in columns when the width of the output is unknown.
const DEFAULT_WIDTH: usize = 100;
/// Maximum width of the picture. A wider one is not more readable.
const MOST_WIDTH: usize = 120;
/// Room for a name and two numbers before a bar.
const BEFORE_BAR: usize = 46;
/// Maximum number of conversations drawn. Of the others only the number is shown.
const MOST_CONVERSATIONS: usize = 10;

/// Data for the picture.
#[derive(Default)]
pub struct Summary {
    operations: BTreeMap<Opcode, (u64, u64)>,
    timeline: Timeline,
    conversations: Conversations,
    /// Interfaces of the capture.
    interfaces: Vec<Interface>,
}

impl Summary {
    /// Adds a frame.
    pub fn add(&mut self, seen: &Seen<'_>) {
        let (record, frame) = (seen.record, &seen.frame);
        if let Some(bth) = frame
            .bth
            .filter(|_| frame.verdict.is_roce() || seen.class == Class::Unread)
        {
            let (frames, bytes) = self.operations.entry(bth.opcode).or_default();
            *frames += 1;
            *bytes += frame.frame_bytes as u64;
        }
        let tap = (record.interface, record.direction);
        let event = self.conversations.add(tap, frame);
        let stretch = Stretch {
            bytes: frame.frame_bytes as u64,
            again: event.again.into(),
            naks: event.nak.into(),
            slowed: matches!(frame.verdict, Verdict::Cnp | Verdict::Pfc | Verdict::Pause).into(),
        };
        self.timeline.add(record.time_ns, stretch);
    }

    /// Sets the interfaces of the capture that are known so far.
    pub fn name_ports(&mut self, interfaces: &[Interface]) {
        if interfaces.len() != self.interfaces.len() {
            self.interfaces = interfaces.to_vec();
        }
    }

    /// Draws the picture. `title` names the capture; `width` is the width of the terminal.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub fn draw(
        mut self,
        out: &mut dyn Write,
        title: &str,
        tally: &Tally,
        paint: Paint,
        width: Option<usize>,
    ) -> io::Result<()> {
        let width = width.unwrap_or(DEFAULT_WIDTH).clamp(60, MOST_WIDTH);
        let bar_cells = width - BEFORE_BAR;
        let heading = |text: &str| paint.paint(Ink::Heading, text);

        writeln!(
            out,
            "{}  {}, {}, {}",
            heading(title),
            count(tally.frames, "frame", "frames"),
            count(tally.bytes, "byte", "bytes"),
            span(self.timeline.span_ns())
        )?;
        if tally.frames == 0 {
            return Ok(());
        }
        let several = self.interfaces.len() > 1;
        if several {
            let text = format!(
                "{} ports: a frame counts at each that it passed, in a conversation once",
                self.interfaces.len()
            );
            writeln!(out, "{}", paint.paint(Ink::Dim, text))?;
        }

        draw_verdicts(out, paint, tally, bar_cells)?;
        if !self.operations.is_empty() {
            section(out, paint, "operation")?;
            let most = self
                .operations
                .values()
                .map(|&(frames, _)| frames)
                .max()
                .unwrap_or(0);
            for (opcode, (frames, bytes)) in &self.operations {
                let (ink, bar) = (operation_ink_of(*opcode), bar(*frames, most, bar_cells));
                let name = opcode.to_string();
                line(out, paint, ink, &name, *frames, Some(*bytes), &bar)?;
            }
        }

        self.draw_time(out, paint, width)?;

        let damaged = self.conversations.damaged();
        let conversations = std::mem::take(&mut self.conversations).finish();
        if !conversations.is_empty() || damaged > 0 {
            writeln!(out, "\n{}", heading("conversations"))?;
        }
        for (flow, back) in conversations.iter().take(MOST_CONVERSATIONS) {
            let ports = if several { &self.interfaces[..] } else { &[] };
            draw_conversation(out, paint, flow, back.as_ref(), ports)?;
        }
        if conversations.len() > MOST_CONVERSATIONS {
            writeln!(
                out,
                "  and {} more with fewer bytes",
                conversations.len() - MOST_CONVERSATIONS
            )?;
        }
        if damaged > 0 {
            let text = format!(
                "{} with a bad ICRC: QP and PSN cannot be believed",
                count(damaged, "frame", "frames")
            );
            writeln!(out, "  {}", paint.paint(Ink::Bad, text))?;
        }
        Ok(())
    }

    fn draw_time(&self, out: &mut dyn Write, paint: Paint, width: usize) -> io::Result<()> {
        const LABEL: usize = 14;
        let (column_ns, columns) = self.timeline.columns(width - LABEL - 2);
        if columns.len() < 2 {
            return Ok(());
        }
        let most = columns.iter().map(|column| column.bytes).max().unwrap_or(0);
        writeln!(
            out,
            "\n{}  {} a column, at most {} bytes in one",
            paint.paint(Ink::Heading, "time"),
            span(column_ns),
            grouped(most)
        )?;
        let bytes: Vec<u64> = columns.iter().map(|column| column.bytes).collect();
        writeln!(
            out,
            "  {:LABEL$}{}",
            "bytes",
            paint.paint(Ink::Data, sparkline(&bytes, most).trim_end())
        )?;
        let mut mark = |name: &str, mark: char, ink: Ink, count: fn(&Stretch) -> u64| {
            if columns.iter().all(|column| count(column) == 0) {
                return Ok(());
            }
            let text: String = columns
                .iter()
                .map(|column| if count(column) > 0 { mark } else { ' ' })
                .collect();
            writeln!(out, "  {name:LABEL$}{}", paint.paint(ink, text.trim_end()))
        };
        mark("sent again", '↻', Ink::Warning, |column| column.again)?;
        mark("NAKs", '×', Ink::Bad, |column| column.naks)?;
        mark("CNP, pause", '!', Ink::Warning, |column| column.slowed)
    }
}

/// What the parser says of the frames, in which tunnels they are, and whether ICRCs are right.
fn draw_verdicts(
    out: &mut dyn Write,
    paint: Paint,
    tally: &Tally,
    bar_cells: usize,
) -> io::Result<()> {
    section(out, paint, "verdict")?;
    for (class, count) in tally.classes() {
        let ink = match class {
            Class::Judged(Verdict::RoceV2) => Ink::Good,
            class => class_ink(class),
        };
        let parts = tally.parts(class).into_iter();
        let parts = parts.map(|(part, count)| (format!("  {part}"), count));
        for (name, count) in std::iter::once((class.to_string(), count)).chain(parts) {
            let bar = bar(count, tally.frames, bar_cells);
            line(out, paint, ink, &name, count, None, &bar)?;
        }
    }
    for (name, count) in tally.tunnels() {
        let (name, bar) = (format!("in {name}"), bar(count, tally.frames, bar_cells));
        line(out, paint, Ink::Dim, &name, count, None, &bar)?;
    }
    let judged = tally.icrc_ok + tally.icrc_bad;
    for (name, ink, count) in [
        ("ICRC ok", Ink::Good, tally.icrc_ok),
        ("ICRC BAD", Ink::Bad, tally.icrc_bad),
    ] {
        // A line is shown also when no ICRC was wrong.
        if judged > 0 {
            let bar = bar(count, tally.frames, bar_cells);
            line(out, paint, ink, name, count, None, &bar)?;
        }
    }
    Ok(())
}

fn section(out: &mut dyn Write, paint: Paint, name: &str) -> io::Result<()> {
    let bytes = if name == "operation" { "bytes" } else { "" };
    let titles = format!("{name:<24}{:>8}{bytes:>12}", "frames");
    writeln!(out, "\n{}", paint.paint(Ink::Heading, titles.trim_end()))
}

fn line(
    out: &mut dyn Write,
    paint: Paint,
    ink: Ink,
    name: &str,
    frames: u64,
    bytes: Option<u64>,
    bar: &str,
) -> io::Result<()> {
    let bytes = bytes.map(grouped).unwrap_or_default();
    let start = format!("  {name:<22}{:>8}{bytes:>12}", grouped(frames));
    if bar.is_empty() {
        return writeln!(out, "{}", start.trim_end());
    }
    writeln!(out, "{start}  {}", paint.paint(ink, bar))
}

fn draw_conversation(
    out: &mut dyn Write,
    paint: Paint,
    flow: &Flow,
    back: Option<&Flow>,
    ports: &[Interface],
) -> io::Result<()> {
    let Some(back) = back else {
        writeln!(out, "  {} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qp)?;
        return draw_flow(out, paint, '→', flow, ports);
    };
    writeln!(
        out,
        "  {} QP {:#x} ⇄ {} QP {:#x}",
        flow.src, back.dest_qp, flow.dst, flow.dest_qp
    )?;
    draw_flow(out, paint, '→', flow, ports)?;
    draw_flow(out, paint, '←', back, ports)
}

/// Draws a direction of a conversation, with the ports where it was seen in the order of its path, unless `ports` is
/// empty.
fn draw_flow(
    out: &mut dyn Write,
    paint: Paint,
    arrow: char,
    flow: &Flow,
    ports: &[Interface],
) -> io::Result<()> {
    let (taps, flow) = (&flow.taps, flow.traffic());
    let mut text = format!(
        "    {arrow} {:>7} {:<7} {:>12} bytes",
        grouped(flow.packets),
        if flow.packets == 1 {
            "packet"
        } else {
            "packets"
        },
        grouped(flow.bytes)
    );
    if let Some((first, last)) = flow.psns {
        text += &format!("  PSN {}–{}", first.get(), last.get());
    }
    if flow.again > 0 {
        text += &format!(
            "  {}",
            paint.paint(
                Ink::Warning,
                format_args!("{} sent again", grouped(flow.again))
            )
        );
    }
    if !flow.naks.is_empty() {
        let naks: Vec<String> = flow
            .naks
            .iter()
            .map(|(what, count)| format!("{} × {what}", grouped(*count)))
            .collect();
        text += &format!(
            "  {}",
            paint.paint(Ink::Bad, format_args!("NAK {}", naks.join(", ")))
        );
    }
    if flow.cnps > 0 {
        text += &format!(
            "  {}",
            paint.paint(Ink::Warning, format_args!("{} CNP", grouped(flow.cnps)))
        );
    }
    writeln!(out, "{text}")?;
    if ports.is_empty() {
        return Ok(());
    }
    let seen = |((interface, direction), traffic): &(Tap, Traffic)| {
        let name = port_name(&ports[*interface], *interface, *direction);
        format!("{name} {}", grouped(traffic.packets))
    };
    let seen: Vec<String> = taps.iter().map(seen).collect();
    let text = format!("      seen at {}", seen.join(", "));
    writeln!(out, "{}", paint.paint(Ink::Dim, text))
}
