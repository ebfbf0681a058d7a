//! Human-readable rows: aligned columns, each frame on one line. If the terminal is too narrow, the details continue on
//! a second line.

use std::io::{self, Write};

use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_sim::wire::{Opcode, SyndromeMeaning};
use xoff_waves::capture::{Direction, Interface, Link};

use super::details::{Piece, details_of, flags};
use super::iwarp::Part;
use super::seen::{Class, Seen};
use crate::row::addresses;
use crate::terminal::{Ink, Paint};

/// Terminals narrower than this have no column for the verdict, which follows from the operation.
const WIDE: usize = 110;
/// A clock finer than this many ticks a second is shown with nanoseconds.
const MICROSECOND_TICKS: u64 = 1_000_000;
/// Decimals of seconds for captures in microseconds.
const MICROSECONDS: usize = 6;
/// Decimals of seconds for finer captures.
const NANOSECONDS: usize = 9;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

struct Column {
    title: &'static str,
    align: Align,
    width: usize,
    /// Maximum width of the column. Wider text is not cut. It shifts the rest of its row until a column with spare room
    /// absorbs the shift.
    most: usize,
}

/// The columns in order. The details come after the last one.
#[derive(Clone, Copy)]
enum Field {
    Frame,
    Time,
    Port,
    Bytes,
    Verdict,
    Addresses,
    Operation,
    Qp,
    Psn,
    Flags,
    Icrc,
}

const FIELDS: [Field; 11] = [
    Field::Frame,
    Field::Time,
    Field::Port,
    Field::Bytes,
    Field::Verdict,
    Field::Addresses,
    Field::Operation,
    Field::Qp,
    Field::Psn,
    Field::Flags,
    Field::Icrc,
];

impl Field {
    fn column(self) -> Column {
        let (title, align, width, most) = match self {
            Field::Frame => ("frame", Align::Right, 5, 10),
            Field::Time => ("time s", Align::Right, 9, 16),
            Field::Port => ("port", Align::Left, 5, 12),
            Field::Bytes => ("bytes", Align::Right, 5, 5),
            Field::Verdict => ("verdict", Align::Left, 9, 9),
            // Minimum: two IPv4 addresses of a small network. Maximum: two full IPv6 addresses of one.
            Field::Addresses => ("src→dst", Align::Left, 19, 44),
            Field::Operation => ("operation", Align::Left, 19, 19),
            Field::Qp => ("to qp", Align::Right, 6, 8),
            Field::Psn => ("psn", Align::Right, 7, 8),
            Field::Flags => ("flags", Align::Left, 5, 6),
            Field::Icrc => ("icrc", Align::Left, 4, 4),
        };
        Column {
            title,
            align,
            width,
            most,
        }
    }
}

/// The table, row by row.
pub struct Table {
    paint: Paint,
    /// Width of the terminal in columns, if the output is a terminal.
    width: Option<usize>,
    columns: Vec<(Field, Column)>,
    started: bool,
    first_time_ns: Option<u64>,
}

impl Table {
    /// Creates a table for an output of `width` columns; `None` if the width is not limited.
    pub fn new(paint: Paint, width: Option<usize>) -> Self {
        let wide = width.is_none_or(|width| width >= WIDE);
        let columns = FIELDS
            .into_iter()
            .filter(|field| wide || !matches!(field, Field::Verdict))
            .map(|field| (field, field.column()))
            .collect();
        Self {
            paint,
            width,
            columns,
            started: false,
            first_time_ns: None,
        }
    }

    /// Writes the row of a frame. A capture of several interfaces has a column for the interface, and so has a Linux
    /// cooked one, of which each packet has a direction.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub fn row(
        &mut self,
        out: &mut dyn Write,
        seen: &Seen<'_>,
        interfaces: &[Interface],
    ) -> io::Result<()> {
        let record = seen.record;
        if !self.started && interfaces.len() < 2 && !matches!(record.link, Link::Cooked(_)) {
            self.columns
                .retain(|(field, _)| !matches!(field, Field::Port));
        }
        let interface = &interfaces[record.interface];
        let fine = interface.ticks_per_second > MICROSECOND_TICKS;
        let port = port_name(interface, record.interface, record.direction);
        let first = *self.first_time_ns.get_or_insert(record.time_ns);
        let time = seconds(
            record.time_ns,
            first,
            if fine { NANOSECONDS } else { MICROSECONDS },
        );
        let has_verdict = self
            .columns
            .iter()
            .any(|(field, _)| matches!(field, Field::Verdict));
        let cells: Vec<Piece> = self
            .columns
            .iter()
            .map(|(field, _)| match field {
                Field::Frame => (Ink::Dim, record.number.to_string()),
                Field::Time => (Ink::Plain, time.clone()),
                Field::Port => (Ink::Plain, port.clone()),
                field => cell(*field, seen, has_verdict),
            })
            .collect();
        for ((field, column), (_, text)) in self.columns.iter_mut().zip(&cells) {
            // Frames with verdict `other` are rare. Their long addresses do not widen the column for all rows.
            if !matches!(field, Field::Addresses) || seen.frame.bth.is_some() {
                column.width = column.width.max(text.chars().count().min(column.most));
            }
        }
        if !self.started {
            self.started = true;
            self.header(out)?;
        }
        let (line, used) = self.line(&cells);
        self.write(out, line, used, &details_of(seen))
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        let titles: Vec<Piece> = self
            .columns
            .iter()
            .map(|(_, column)| (Ink::Heading, column.title.to_string()))
            .collect();
        let (line, used) = self.line(&titles);
        let titles_of_details = [(Ink::Heading, "details".to_string())];
        self.write(out, line, used, &titles_of_details)
    }

    /// Returns the columns of a row and the number of character cells that they take. A text that is too wide uses up
    /// the blanks after it.
    fn line(&self, cells: &[Piece]) -> (String, usize) {
        let (mut line, mut used, mut target) = (String::new(), 0_usize, 0_usize);
        for ((_, column), (ink, text)) in self.columns.iter().zip(cells) {
            let length = text.chars().count();
            let start = match column.align {
                Align::Left => target,
                Align::Right => target + column.width.saturating_sub(length),
            };
            if length > 0 {
                // At least one blank between two texts, also after a shift.
                let gap = start.saturating_sub(used).max(usize::from(used > 0));
                line.extend(std::iter::repeat_n(' ', gap));
                line.push_str(&self.paint.paint(*ink, text));
                used += gap + length;
            }
            target += column.width + 1;
        }
        (line, used)
    }

    /// Column where details start: after the last column.
    fn details_start(&self) -> usize {
        self.columns
            .iter()
            .map(|(_, column)| column.width + 1)
            .sum()
    }

    /// Column where details that do not fit continue: under the operation.
    fn continuation_start(&self) -> usize {
        self.columns
            .iter()
            .take_while(|(field, _)| !matches!(field, Field::Operation))
            .map(|(_, column)| column.width + 1)
            .sum()
    }

    /// Writes a row's columns and details. Details that do not fit beside the columns all go on the lines below.
    fn write(
        &self,
        out: &mut dyn Write,
        mut line: String,
        used: usize,
        details: &[Piece],
    ) -> io::Result<()> {
        if details.is_empty() {
            return writeln!(out, "{line}");
        }
        // Each piece is followed by a comma and a blank, except the last one.
        let length = |index: usize| {
            details[index].1.chars().count() + if index + 1 < details.len() { 2 } else { 0 }
        };
        let whole: usize = (0..details.len()).map(length).sum();
        let room = self.width.unwrap_or(usize::MAX);
        let under = self.continuation_start();
        let beside = self.details_start().max(used + 1);

        let mut at = beside;
        if beside + whole > room {
            writeln!(out, "{line}")?;
            line = " ".repeat(under);
            at = under;
        } else {
            line.extend(std::iter::repeat_n(' ', beside - used));
        }
        for (index, (ink, text)) in details.iter().enumerate() {
            let last = index + 1 == details.len();
            // The blank after the comma may exceed the width, because it is not written at the end of a line.
            if at > under && at + length(index) - usize::from(!last) > room {
                writeln!(out, "{}", line.trim_end())?;
                line = " ".repeat(under);
                at = under;
            }
            line.push_str(&self.paint.paint(*ink, text));
            line.push_str(if last { "" } else { ", " });
            at += length(index);
        }
        writeln!(out, "{line}")
    }
}

/// Returns the name of an interface, with an arrow that shows whether it received or sent.
pub fn port_name(interface: &Interface, number: usize, direction: Option<Direction>) -> String {
    let name = interface.name.clone().unwrap_or_else(|| number.to_string());
    match direction {
        Some(Direction::Received) => format!("→{name}"),
        Some(Direction::Sent) => format!("{name}→"),
        None => name,
    }
}

/// Returns a cell with data from the parser. Cells with data from the capture are empty.
fn cell(field: Field, seen: &Seen<'_>, has_verdict: bool) -> Piece {
    let (frame, class) = (&seen.frame, seen.class);
    let bth = frame.bth.as_ref();
    match field {
        Field::Frame | Field::Time | Field::Port => (Ink::Plain, String::new()),
        Field::Bytes => (Ink::Plain, frame.frame_bytes.to_string()),
        Field::Verdict => (class_ink(class), class.to_string()),
        Field::Addresses => {
            let (src, dst) = match (frame.ip, &seen.record.link) {
                (Some(_), _) | (None, Link::Ethernet) => addresses(frame).unwrap_or_default(),
                (None, Link::Cooked(cooked)) => {
                    let src = cooked.address.map(|address| address.to_string());
                    (src.unwrap_or_default(), String::new())
                }
                (None, _) => Default::default(),
            };
            let text = match (&src[..], &dst[..]) {
                ("", "") => String::new(),
                (src, dst) => format!("{src}→{dst}"),
            };
            (Ink::Plain, text)
        }
        Field::Operation => match bth {
            Some(bth)
                if has_verdict
                    || frame.verdict.is_roce()
                    || matches!(class, Class::Unread | Class::Cut) =>
            {
                (operation_ink(frame, bth.opcode), bth.opcode.to_string())
            }
            None if seen.segment.is_some() => {
                let first = seen.iwarp.first();
                (Ink::Plain, first.map_or("TCP".into(), Part::name))
            }
            None if has_verdict => (Ink::Plain, String::new()),
            _ => (class_ink(class), class.to_string()),
        },
        Field::Qp => (
            Ink::Plain,
            bth.map(|bth| format!("{:#x}", bth.dest_qp.get()))
                .unwrap_or_default(),
        ),
        Field::Psn => (
            Ink::Plain,
            bth.map(|bth| bth.psn.get().to_string()).unwrap_or_default(),
        ),
        Field::Flags => match &seen.segment {
            Some(segment) => (Ink::Plain, segment.flags.clone()),
            None => (Ink::Plain, flags(frame)),
        },
        Field::Icrc => match frame.icrc_ok {
            Some(true) => (Ink::Dim, "ok".into()),
            Some(false) => (Ink::Bad, "BAD".into()),
            None => (Ink::Plain, String::new()),
        },
    }
}

/// Returns the colour of what a record is.
pub fn class_ink(class: Class) -> Ink {
    match class {
        Class::Judged(Verdict::RoceV2 | Verdict::RoceV1) => Ink::Plain,
        Class::Judged(Verdict::Cnp | Verdict::Pfc | Verdict::Pause) => Ink::Warning,
        Class::Judged(Verdict::Other) | Class::Unread | Class::OtherLink => Ink::Dim,
        Class::Judged(Verdict::Malformed) => Ink::Bad,
        Class::Cut | Class::TooLong => Ink::Warning,
    }
}

/// Returns the colour of a packet's operation: red when it refuses a request.
fn operation_ink(frame: &ParsedFrame, opcode: Opcode) -> Ink {
    let refused = frame
        .ext
        .and_then(|ext| ext.aeth)
        .is_some_and(|aeth| !matches!(aeth.syndrome.meaning(), SyndromeMeaning::Ack(_)));
    if refused {
        Ink::Bad
    } else {
        operation_ink_of(opcode)
    }
}

/// Returns the colour of an operation: data sent, data requested, acknowledgements.
pub fn operation_ink_of(opcode: Opcode) -> Ink {
    match opcode {
        Opcode::CNP => Ink::Warning,
        Opcode::RC_ACK | Opcode::RC_ATOMIC_ACK => Ink::Good,
        Opcode::RC_READ_REQUEST
        | Opcode::RC_READ_RESP_FIRST
        | Opcode::RC_READ_RESP_MIDDLE
        | Opcode::RC_READ_RESP_LAST
        | Opcode::RC_READ_RESP_ONLY => Ink::Read,
        _ => Ink::Data,
    }
}

/// Formats the seconds from `first` to `time`, negative when the clock went back.
fn seconds(time: u64, first: u64, decimals: usize) -> String {
    let (sign, distance) = if time < first {
        ("-", first - time)
    } else {
        ("", time - first)
    };
    let fraction = format!("{:09}", distance % 1_000_000_000);
    format!(
        "{sign}{}.{}",
        distance / 1_000_000_000,
        &fraction[..decimals]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_forth_and_back() {
        assert_eq!(seconds(1_500_000_123, 0, 9), "1.500000123");
        assert_eq!(seconds(1_500_000_123, 500_000_000, 6), "1.000000");
        assert_eq!(seconds(1_000, 2_000_000_000, 6), "-1.999999");
    }

    #[test]
    fn a_wide_text_shifts_its_row_only_until_there_is_room() {
        let table = Table::new(Paint::default(), None);
        let texts = [
            "1",
            "0.0",
            "",
            "60",
            "pfc",
            "52:54:00:00:00:01→01:80:c2:00:00:01",
            "",
            "",
            "7",
        ];
        let cells: Vec<Piece> = texts
            .iter()
            .map(|text| (Ink::Plain, text.to_string()))
            .collect();
        let (line, used) = table.line(&cells);
        assert_eq!(line.chars().count(), used);
        assert!(line.ends_with("01  7") || line.ends_with(" 7"), "{line}");
        // From the PSN on, the columns are aligned again.
        assert_eq!(used, 6 + 10 + 6 + 6 + 10 + 20 + 20 + 7 + 7);
    }
}
