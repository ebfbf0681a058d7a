//! Packet captures: pcap and pcapng, read as a stream and written with nanosecond time.
//!
//! The reader goes record by record in constant memory, whatever the size of the file, and works on pipes too. The
//! first error ends the iteration with one [`Error`] that names the file, the byte and the record. All whole records
//! before it have been returned by then. A record that is no whole Ethernet frame is no error: of a frame that was cut
//! the headers are there, and behind the headers of other links the packet. [`Record::into_inner`] takes off tunnels.
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
//! [`TapWriter`] writes the frames that the kernel's taps record in a simulated network, with one pcapng interface
//! per port.
//!
//! The crate `pcap-parser` parses headers and blocks, and the crate `pcap-file` writes them. The two are independent
//! of each other, so a round trip through both is a meaningful test.

mod blocks;
mod error;
mod flags;
mod link;
mod of_run;
mod pcap;
mod pcapng;
mod reader;
mod record;
mod source;
mod tap;
mod tunnel;
mod writer;

pub use xoff_sim::kernel::Direction;

pub use error::{Error, Problem};
pub use link::{Cooked, LINK_TYPE_ETHERNET, Link, link_name};
pub use of_run::{CaptureError, RunCapture};
pub use reader::{Reader, open};
pub use record::{Filled, NoFrame, Record};
pub use tap::{TapPort, TapWriter};
pub use tunnel::{Carrier, Tunnel};
pub use writer::{PcapWriter, PcapngWriter};

/// The longest frame that a parser or a line takes, in bytes. Jumbo frames end near 9,200. A longer frame was merged
/// from several by the recording host (receive offload) and was never on a wire. The RTL packet parser takes frames of
/// up to 16,383 bytes.
pub const MAX_FRAME_BYTES: usize = 16_000;

/// The longest record that is read, in bytes: the greatest limit of libpcap (`MAXIMUM_SNAPLEN`).
pub const MAX_RECORD_BYTES: usize = 262_144;

/// An interface on which frames were recorded. A pcap file has one, without a name; a pcapng file can have any
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// `if_name`, if the file states one.
    pub name: Option<String>,
    /// Link type of the tcpdump registry.
    pub link_type: u32,
    /// Time stamp units per second: 1,000,000 for microseconds.
    pub ticks_per_second: u64,
    /// Seconds to add to each time stamp (`if_tsoffset`).
    pub offset_seconds: i64,
    /// Rate of the line in bits per second (`if_speed`), if the file states one.
    pub bits_per_second: Option<u64>,
    /// Bytes of FCS at the end of each captured frame, which the reader removes. Nearly always 0.
    pub fcs_bytes: usize,
    /// Maximum number of bytes kept of a frame, 0 for no limit. Only simple packet blocks need it.
    snap_bytes: u32,
}
