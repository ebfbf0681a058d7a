//! The frames of tapped ports as pcapng.

use std::collections::BTreeMap;
use std::io::{self, Write};

use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::time::{LineRate, Rate};

use super::blocks::Blocks;
use super::writer::PcapngWriter;

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;
/// Bytes that a frame costs in the file besides its own, at most: block, options, padding.
const BLOCK_BYTES: u64 = 68;

/// A port that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapPort {
    /// Its node.
    pub node: NodeId,
    /// Its number there.
    pub port: PortId,
    /// What the interface is called in the file: `node.port`, such as `t0.3`.
    pub name: String,
    /// Its rate, when the file shall state it.
    pub rate: Option<LineRate>,
}

/// Writes what the kernel's taps see: an interface a port, nanoseconds, direction, wrong FCS marked.
///
/// A frame's time is that of its last bit at the port, since the simulation's start, rounded down to nanoseconds; its
/// bytes go without FCS. Pause frames are frames as any other.
///
/// The file grows by whole blocks, some 64 KiB at a time, so it can be read when the program is interrupted; what came
/// last may miss unless [`flush`](Self::flush) was called.
pub struct TapWriter<W: Write> {
    writer: PcapngWriter<Blocks<W>>,
    interfaces: BTreeMap<(NodeId, PortId), u32>,
    /// Bytes of frames that may still be written.
    room: u64,
    written: u64,
    left_out: u64,
}

impl<W: Write> TapWriter<W> {
    /// Begins the file with a description of each of `ports`.
    ///
    /// # Errors
    ///
    /// What `writer` says.
    pub fn new(writer: W, ports: impl IntoIterator<Item = TapPort>) -> io::Result<Self> {
        let mut writer = PcapngWriter::start(Blocks::new(writer))?;
        let mut interfaces = BTreeMap::new();
        for (number, tap) in (0..).zip(ports) {
            writer.describe(
                Some(&tap.name),
                tap.rate.map(|rate| Rate::from(rate).as_bits_per_second()),
            )?;
            interfaces.insert((tap.node, tap.port), number);
        }
        writer.get_mut().hand_over()?;
        Ok(Self {
            writer,
            interfaces,
            room: u64::MAX,
            written: 0,
            left_out: 0,
        })
    }

    /// Leaves frames out once the file would become larger than about `bytes`, so that a long run does not fill the
    /// disk.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.room = bytes;
        self
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// What the writer says; a port that was not announced.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let Some(&interface) = self.interfaces.get(&(record.node, record.port)) else {
            let text = format!(
                "node {} port {} is tapped, but is no interface of the capture",
                record.node.0, record.port.0
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let frame = &record.frame;
        let Some(room) = (self.room).checked_sub(frame.bytes.len() as u64 + BLOCK_BYTES) else {
            // Once one is left out, all are: a gap at the end is easier to see than holes.
            self.room = 0;
            self.left_out += 1;
            return Ok(());
        };
        self.room = room;
        let time_ns = frame.end.as_ps() / PS_PER_NS;
        let direction = Some(record.direction);
        (self.writer).write_seen(interface, time_ns, &frame.bytes, direction, frame.fcs_ok)?;
        self.written += 1;
        self.writer.get_mut().end_block()
    }

    /// Hands all frames over to the file.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().hand_over()
    }

    /// Frames written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Frames left out because of [`with_limit`](Self::with_limit).
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl<W: Write> Drop for TapWriter<W> {
    /// Hands over what is held, as far as that goes; [`flush`](TapWriter::flush) says what went wrong.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
