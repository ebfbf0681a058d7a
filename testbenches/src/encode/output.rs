//! Frames as hex, pcap or pcapng.

use std::io::{self, Write};

use xoff_waves::capture::{PcapWriter, PcapngWriter};

use crate::cli::FrameFormat;

/// Frames in a capture are this far apart, so that tools show them in order.
const STEP_NS: u64 = 1_000;
/// The name of the one interface in a pcapng.
const INTERFACE: &str = "xoff encode";

/// Where frames go.
pub struct Frames<'a> {
    form: Form<'a>,
    count: u64,
}

enum Form<'a> {
    Hex(&'a mut dyn Write),
    Pcap(PcapWriter<&'a mut dyn Write>),
    Pcapng(PcapngWriter<&'a mut dyn Write>),
}

impl<'a> Frames<'a> {
    /// Starts a file of `format`.
    pub fn new(format: FrameFormat, out: &'a mut dyn Write) -> io::Result<Self> {
        let form = match format {
            FrameFormat::Hex => Form::Hex(out),
            FrameFormat::Pcap => Form::Pcap(PcapWriter::new(out)?),
            FrameFormat::Pcapng => Form::Pcapng(PcapngWriter::new(out, [INTERFACE])?),
        };
        Ok(Self { form, count: 0 })
    }

    /// Writes a frame.
    pub fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let time_ns = self.count * STEP_NS;
        self.count += 1;
        match &mut self.form {
            Form::Hex(out) => {
                let line: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(out, "{line}")
            }
            Form::Pcap(writer) => writer.write(time_ns, frame),
            Form::Pcapng(writer) => writer.write(0, time_ns, frame),
        }
    }

    /// Writes what is still held back.
    pub fn finish(self) -> io::Result<()> {
        match self.form {
            Form::Hex(out) => out.flush(),
            Form::Pcap(writer) => writer.into_inner().flush(),
            Form::Pcapng(writer) => writer.into_inner().flush(),
        }
    }
}
