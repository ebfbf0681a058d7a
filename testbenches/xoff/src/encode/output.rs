//! Output of frames as hex, pcap or pcapng.

use std::io::{self, Write};

use xoff_waves::capture::{PcapWriter, PcapngWriter};

use super::{FrameFormat, Seen};

/// Interval between a frame without a time and the frame before it, so that tools show them in order.
const STEP_NS: u64 = 1_000;

/// Destination of frames.
pub struct Frames<'a> {
    form: Form<'a>,
    next_ns: u64,
    lost: bool,
}

enum Form<'a> {
    Hex(&'a mut dyn Write),
    Pcap(PcapWriter<&'a mut dyn Write>),
    /// With the interfaces that have been written so far.
    Pcapng(PcapngWriter<&'a mut dyn Write>, Vec<Option<String>>),
}

impl<'a> Frames<'a> {
    /// Starts a file of `format`.
    pub fn new(format: FrameFormat, out: &'a mut dyn Write) -> io::Result<Self> {
        let form = match format {
            FrameFormat::Hex => Form::Hex(out),
            FrameFormat::Pcap => Form::Pcap(PcapWriter::new(out)?),
            FrameFormat::Pcapng => Form::Pcapng(PcapngWriter::new(out, [])?, Vec::new()),
        };
        Ok(Self {
            form,
            next_ns: 0,
            lost: false,
        })
    }

    /// Writes a frame.
    pub fn write(&mut self, frame: &[u8], seen: &Seen) -> io::Result<()> {
        let time_ns = seen.time_ns.unwrap_or(self.next_ns);
        self.next_ns = time_ns.saturating_add(STEP_NS);
        match &mut self.form {
            Form::Hex(out) => {
                let line: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(out, "{line}")
            }
            Form::Pcap(writer) => {
                self.lost |= seen.interface.is_some() || seen.direction.is_some() || seen.bad_fcs;
                writer.write(time_ns, frame)
            }
            Form::Pcapng(writer, interfaces) => {
                let known = interfaces.iter().position(|known| *known == seen.interface);
                let number = match known {
                    Some(number) => number,
                    None => {
                        writer.describe(seen.interface.as_deref(), None)?;
                        interfaces.push(seen.interface.clone());
                        interfaces.len() - 1
                    }
                };
                writer.write_seen(number as u32, time_ns, frame, seen.direction, !seen.bad_fcs)
            }
        }
    }

    /// Returns whether frames had data that the format cannot store.
    pub fn lost(&self) -> bool {
        self.lost
    }

    /// Writes buffered output.
    pub fn finish(self) -> io::Result<()> {
        match self.form {
            Form::Hex(out) => out.flush(),
            Form::Pcap(writer) => writer.into_inner().flush(),
            Form::Pcapng(writer, _) => writer.into_inner().flush(),
        }
    }
}
