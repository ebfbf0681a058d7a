//! Writers: classic pcap and pcapng, both with nanoseconds.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket};
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use super::{Direction, flags};

/// The limit that file headers state: as tcpdump's default, above any frame.
const SNAP_BYTES: u32 = 262_144;
/// `if_tsresol` for nanoseconds.
const NANOSECONDS: u8 = 9;
/// The comment of a frame whose FCS is wrong.
const BAD_FCS: &str = "FCS is wrong";
/// What a pcapng file says of its writer.
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
    /// What `writer` says.
    pub fn new(writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAP_BYTES,
            ts_resolution: TsResolution::NanoSecond,
            // Stated, so that the file is the same on every machine.
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
    /// What the writer says; a time past 2106, for which the format has no room; a frame over 262,144 bytes.
    pub fn write(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let packet = PcapPacket::new(Duration::from_nanos(time_ns), frame.len() as u32, frame);
        self.inner
            .write_packet(&packet)
            .map(|_| ())
            .map_err(io_error)
    }

    /// The writer within.
    pub fn into_inner(self) -> W {
        self.inner.into_writer()
    }
}

/// Writes a pcapng file, little-endian, in nanoseconds, with an interface a port.
pub struct PcapngWriter<W: Write> {
    inner: pcap_file::pcapng::PcapNgWriter<W>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and one interface description for each name. The position in `names` is the
    /// interface's number in [`write`](Self::write).
    ///
    /// # Errors
    ///
    /// What `writer` says.
    pub fn new<'a>(writer: W, names: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let mut this = Self::start(writer)?;
        for name in names {
            this.describe(Some(name), None)?;
        }
        Ok(this)
    }

    /// Writes the section header alone.
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

    /// Describes one more interface, with its name and the line's rate in bits a second where they are known.
    ///
    /// # Errors
    ///
    /// What the writer says.
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
    /// What the writer says; an interface that has no name.
    pub fn write(&mut self, interface: u32, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        self.write_seen(interface, time_ns, frame, None, true)
    }

    /// The same, with the way that the frame went through the interface and whether its FCS was right.
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

    /// The writer within, while frames go on.
    pub(super) fn get_mut(&mut self) -> &mut W {
        self.inner.get_mut()
    }

    /// The writer within.
    pub fn into_inner(self) -> W {
        self.inner.into_inner()
    }
}
