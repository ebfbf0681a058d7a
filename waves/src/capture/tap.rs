//! Writes the frames of tapped ports as pcapng.

use std::collections::BTreeMap;
use std::io::{self, Write};

use xoff_network::Simulation;
use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::time::{LineRate, Rate};

use super::blocks::Blocks;
use super::writer::PcapngWriter;

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;
/// The maximum number of bytes that a frame adds to the file besides its own: block, options, padding.
const BLOCK_BYTES: u64 = 68;

/// A recorded port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapPort {
    /// The port's node.
    pub node: NodeId,
    /// The port's number in that node.
    pub port: PortId,
    /// The interface's name in the file: `node.port`, such as `t0.3`.
    pub name: String,
    /// The port's rate, if the file is to state it.
    pub rate: Option<LineRate>,
}

impl TapPort {
    /// A port of a network.
    pub fn of(simulation: &Simulation, (node, port): (NodeId, PortId)) -> Self {
        Self {
            node,
            port,
            name: simulation.port_name(node, port),
            rate: Some(simulation.line_rate(node, port)),
        }
    }
}

/// Writes the frames that the kernel's taps record, with one interface per port, times in nanoseconds and directions.
/// Frames with a wrong FCS are marked.
///
/// A frame's time is the time of its last bit at the port since the simulation's start, rounded down to nanoseconds.
/// Frames are written without FCS. Pause frames are written like any others.
///
/// The file grows by whole blocks, some 64 KiB at a time, so it can be read if the program is interrupted. The last
/// frames may then be missing unless [`flush`](Self::flush) was called.
pub struct TapWriter<W: Write> {
    writer: PcapngWriter<Blocks<W>>,
    interfaces: BTreeMap<(NodeId, PortId), u32>,
    /// Bytes of frames that may still be written.
    room: u64,
    written: u64,
    left_out: u64,
}

impl<W: Write> TapWriter<W> {
    /// Starts the file with a description of each of `ports`.
    ///
    /// # Errors
    ///
    /// Any error of `writer`.
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

    /// Drops frames once the file would become larger than about `bytes`, so that a long run does not fill the disk.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.room = bytes;
        self
    }

    /// Returns whether a port was passed to [`new`](Self::new).
    pub fn has(&self, node: NodeId, port: PortId) -> bool {
        self.interfaces.contains_key(&(node, port))
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// Any error of the writer, or a record of a port that was not passed to [`new`](Self::new).
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
            // Once a frame is dropped, all further ones are: a gap at the end is easier to notice than holes.
            self.room = 0;
            self.left_out += 1;
            return Ok(());
        };
        self.room = room;
        let time_ns = frame.end.as_ps() / PS_PER_NS;
        let direction = Some(record.direction);
        (self.writer).write_seen(
            interface,
            time_ns,
            &frame.bytes.whole(),
            direction,
            frame.fcs_ok,
        )?;
        self.written += 1;
        self.writer.get_mut().end_block()
    }

    /// Writes a comment after the frames, for example why there are no more. `time_ns` is the time of the comment.
    ///
    /// # Errors
    ///
    /// Any error of the writer.
    pub fn comment(&mut self, time_ns: u64, text: &str) -> io::Result<()> {
        self.writer.comment(time_ns, text)?;
        self.writer.get_mut().end_block()
    }

    /// Writes all buffered frames to the file.
    ///
    /// # Errors
    ///
    /// Any error of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().hand_over()
    }

    /// Returns the number of frames written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of frames dropped because of [`with_limit`](Self::with_limit).
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl<W: Write> Drop for TapWriter<W> {
    /// Writes what is buffered and ignores errors; call [`flush`](TapWriter::flush) first to see them.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
