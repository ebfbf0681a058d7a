//! Writers of classic pcap and pcapng, both with nanosecond time.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket};
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use super::{Direction, flags};

/// The snapshot length that file headers state: tcpdump's default, above the length of any frame.
const SNAP_BYTES: u32 = 262_144;
/// `if_tsresol` for nanoseconds.
const NANOSECONDS: u8 = 9;
/// The comment of a frame whose FCS is wrong.
const BAD_FCS: &str = "FCS is wrong";
/// The application that a pcapng file names as its writer.
const APPLICATION: &str = concat!("xoff ", env!("CARGO_PKG_VERSION"));

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other.to_string()),
    }
}

/// Writes a classic pcap file, little-endian, in nanoseconds.
pub struct PcapWriter<W: Write> {
    inner: pcap_file::pcap::PcapWriter<W>,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    ///
    /// Any error of `writer`.
    pub fn new(writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAP_BYTES,
            ts_resolution: TsResolution::NanoSecond,
            // Set explicitly, so that the file is the same on every machine.
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let inner = pcap_file::pcap::PcapWriter::with_header(writer, header).map_err(io_error)?;
        Ok(Self { inner })
    }

    /// Writes a frame, without preamble and FCS, seen at `time_ns`.
    ///
    /// # Errors
    ///
    /// Any error of the writer, a time after 2106, which the format cannot express, or a frame over 262,144 bytes.
    pub fn write(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let packet = PcapPacket::new(Duration::from_nanos(time_ns), frame.len() as u32, frame);
        self.inner
            .write_packet(&packet)
            .map(|_| ())
            .map_err(io_error)
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.inner.into_writer()
    }
}

/// Writes a pcapng file, little-endian, in nanoseconds, with one interface per port.
pub struct PcapngWriter<W: Write> {
    inner: pcap_file::pcapng::PcapNgWriter<W>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and one interface description for each name. The position in `names` is the
    /// interface's number in [`write`](Self::write).
    ///
    /// # Errors
    ///
    /// Any error of `writer`.
    pub fn new<'a>(writer: W, names: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let mut this = Self::start(writer)?;
        for name in names {
            this.describe(Some(name), None)?;
        }
        Ok(this)
    }

    /// Writes only the section header.
    pub(super) fn start(writer: W) -> io::Result<Self> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
                APPLICATION,
            ))],
            ..SectionHeaderBlock::default()
        };
        let inner = pcap_file::pcapng::PcapNgWriter::with_section_header(writer, section)
            .map_err(io_error)?;
        Ok(Self { inner })
    }

    /// Describes one more interface, with its name and the line's rate in bits per second if they are known.
    ///
    /// # Errors
    ///
    /// Any error of the writer.
    pub fn describe(&mut self, name: Option<&str>, speed: Option<u64>) -> io::Result<()> {
        let name = name.map(|name| InterfaceDescriptionOption::IfName(Cow::Borrowed(name)));
        let mut options = Vec::from_iter(name);
        options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
        options.extend(speed.map(InterfaceDescriptionOption::IfSpeed));
        let description = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: SNAP_BYTES,
            options,
        };
        self.inner
            .write_block(&description.into_block())
            .map(|_| ())
            .map_err(io_error)
    }

    /// Writes a frame, without preamble and FCS, that interface number `interface` saw at `time_ns`.
    ///
    /// # Errors
    ///
    /// Any error of the writer, or an interface that was not described.
    pub fn write(&mut self, interface: u32, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        self.write_seen(interface, time_ns, frame, None, true)
    }

    /// Writes a frame like [`write`](Self::write), with its direction through the interface and whether its FCS was
    /// right.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_seen(
        &mut self,
        interface: u32,
        time_ns: u64,
        frame: &[u8],
        direction: Option<Direction>,
        fcs_ok: bool,
    ) -> io::Result<()> {
        let mut bits = direction.map_or(0, flags::of_direction);
        let mut options = Vec::new();
        if !fcs_ok {
            bits |= flags::CRC_ERROR;
            options.push(EnhancedPacketOption::Comment(Cow::Borrowed(BAD_FCS)));
        }
        if bits != 0 {
            options.push(EnhancedPacketOption::Flags(bits));
        }
        let packet = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(time_ns),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options,
        };
        self.inner
            .write_block(&packet.into_block())
            .map(|_| ())
            .map_err(io_error)
    }

    /// Writes a comment at the end of the file, as statistics of interface 0 at `time_ns`.
    pub(super) fn comment(&mut self, time_ns: u64, text: &str) -> io::Result<()> {
        let statistics = InterfaceStatisticsBlock {
            interface_id: 0,
            // The format stores the upper half first.
            timestamp: time_ns.rotate_left(32),
            options: vec![InterfaceStatisticsOption::Comment(Cow::Borrowed(text))],
        };
        self.inner
            .write_block(&statistics.into_block())
            .map(|_| ())
            .map_err(io_error)
    }

    /// Returns the underlying writer, for use between frames.
    pub(super) fn get_mut(&mut self) -> &mut W {
        self.inner.get_mut()
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.inner.into_inner()
    }
}
