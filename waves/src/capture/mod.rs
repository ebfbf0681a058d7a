//! Packet captures: pcap and pcapng, read as a stream and written with nanoseconds.
//!
//! Reading goes record by record in constant memory, whatever the size of the file, and works on pipes too. The first thing that is wrong ends the
//! iteration with one [`Error`] that names file, byte and record; every whole record before it has been handed out by then.
//!
//! ```
//! use xoff_waves::capture::{PcapWriter, Reader};
//!
//! let mut file = Vec::new();
//! let mut writer = PcapWriter::new(&mut file)?;
//! writer.write(1_000, &[0; 60])?;
//!
//! for record in Reader::new("example.pcap", file.as_slice())? {
//!     let record = record?;
//!     assert_eq!((record.number, record.time_ns, record.bytes.len()), (1, 1_000, 60));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`TapWriter`] writes what the kernel's taps see of a simulated network, a pcapng interface a port.
//!
//! The parsing of headers and blocks is `pcap-parser`'s, the writing `pcap-file`'s: two crates that do not know each other, so that a round trip
//! through both says something.

mod blocks;
mod error;
mod flags;
mod pcap;
mod pcapng;
mod reader;
mod source;
mod tap;
mod writer;

pub use xoff_sim::kernel::Direction;

pub use error::{Error, Problem};
pub use reader::{Reader, open};
pub use tap::{TapPort, TapWriter};
pub use writer::{PcapWriter, PcapngWriter};

/// The longest frame that is read, in bytes. Jumbo frames end near 9,200; what is longer was glued together by the recording host
/// (receive offload) and was never on a wire. The parser itself takes up to 16,383 bytes.
pub const MAX_FRAME_BYTES: usize = 16_000;

/// The link type of Ethernet, the only one that is read (`LINKTYPE_ETHERNET` of the tcpdump registry).
pub const LINK_TYPE_ETHERNET: u32 = 1;

/// One captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Position among the frames of the file, from 1, as Wireshark counts.
    pub number: u64,
    /// Nanoseconds since 1970-01-01, or since whatever the recorder called zero.
    pub time_ns: u64,
    /// The frame from its destination address on; without preamble, and without FCS where the file says that there is one.
    pub bytes: Vec<u8>,
    /// Where the record starts in the file, in bytes.
    pub offset: u64,
    /// Which of [`Reader::interfaces`] saw it.
    pub interface: usize,
    /// Which way it went through the interface, when the file says so.
    pub direction: Option<Direction>,
    /// `false` when the file says that the frame's FCS was wrong. Most recorders never see such frames.
    pub fcs_ok: bool,
}

/// Where frames were recorded. A pcap file has one, without a name; a pcapng file may have any number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// `if_name`, when the file gives one.
    pub name: Option<String>,
    /// Link type of the tcpdump registry; [`LINK_TYPE_ETHERNET`] is the one whose frames are read.
    pub link_type: u32,
    /// Units of a time stamp in a second: 1,000,000 for microseconds.
    pub ticks_per_second: u64,
    /// Seconds to add to each time stamp (`if_tsoffset`).
    pub offset_seconds: i64,
    /// Rate of the line in bits a second (`if_speed`), when the file gives one.
    pub bits_per_second: Option<u64>,
    /// Bytes of FCS at the end of each captured frame, cut off by the reader. Nearly always 0.
    pub fcs_bytes: usize,
    /// Most bytes kept of a frame, 0 for no limit. Only simple packet blocks need it.
    snap_bytes: u32,
}
