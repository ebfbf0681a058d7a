//! Classic pcap: a file header of 24 bytes, then records of a 16-byte header and the frame.

use std::io::Read;

use pcap_parser::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

use super::reader::Found;
use super::source::Source;
use super::{Interface, MAX_RECORD_BYTES, Problem};

/// Length of the file header.
const FILE_HEADER_BYTES: usize = 24;
/// Length of the header before each frame.
const RECORD_HEADER_BYTES: usize = 16;
/// Bits 0 to 15 of the last header word are the link type. The other bits say whether frames have an FCS.
const LINK_TYPE_MASK: u32 = 0xffff;
/// Bit 26: bits 28 to 31 are the length of the FCS in 16-bit words.
const FCS_LENGTH_PRESENT: u32 = 1 << 26;

/// Returns whether a file with these first bytes is a classic pcap.
pub(super) fn is_magic(first: [u8; 4]) -> bool {
    matches!(
        u32::from_be_bytes(first),
        0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1
    )
}

/// The contents of the file header.
pub(super) struct Format {
    header: PcapHeader,
}

impl Format {
    /// Reads the file header, whose first four bytes have already been read.
    pub fn open<R: Read>(
        source: &mut Source<R>,
        first: [u8; 4],
    ) -> Result<(Self, Interface), Problem> {
        let mut bytes = first.to_vec();
        source.append(&mut bytes, FILE_HEADER_BYTES - 4, "the file header")?;
        let Ok((_, header)) = parse_pcap_header(&bytes) else {
            return Err(Problem::Foreign { first });
        };
        if header.version_major != 2 {
            let (major, minor) = (header.version_major, header.version_minor);
            return Err(Problem::Version {
                format: "pcap",
                major,
                minor,
                expected: 2,
            });
        }
        let link = header.network.0 as u32;
        let interface = Interface {
            name: None,
            link_type: link & LINK_TYPE_MASK,
            ticks_per_second: if header.is_nanosecond_precision() {
                1_000_000_000
            } else {
                1_000_000
            },
            offset_seconds: 0,
            bits_per_second: None,
            fcs_bytes: if link & FCS_LENGTH_PRESENT != 0 {
                2 * (link >> 28) as usize
            } else {
                0
            },
            snap_bytes: header.snaplen,
        };
        Ok((Self { header }, interface))
    }

    /// Returns the next record, or `None` at the end of the file.
    pub fn next<R: Read>(
        &self,
        source: &mut Source<R>,
        record: &mut Vec<u8>,
    ) -> Result<Option<Found>, Problem> {
        record.clear();
        let start = source.offset();
        match source.append(record, RECORD_HEADER_BYTES, "a record header") {
            Err(Problem::Truncated { have: 0, .. }) => return Ok(None),
            other => other?,
        }
        let big = self.header.is_bigendian();
        let captured = word(record, 8, big);
        let original = word(record, 12, big);
        // Check the lengths first, so that a wrong one does not cause a read of gigabytes.
        if captured as usize > MAX_RECORD_BYTES {
            return Err(Problem::RecordTooLong { bytes: captured });
        }
        source.append(record, captured as usize, "a record")?;
        let parse = if big {
            parse_pcap_frame_be
        } else {
            parse_pcap_frame
        };
        let (_, block) = parse(record).expect("header and frame are there");
        let per_tick = if self.header.is_nanosecond_precision() {
            1
        } else {
            1_000
        };
        let time_ns = u64::from(block.ts_sec) * 1_000_000_000 + u64::from(block.ts_usec) * per_tick;
        Ok(Some(Found {
            offset: start,
            time_ns,
            interface: 0,
            frame: block.data.to_vec(),
            original: original.max(captured),
            flags: 0,
        }))
    }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = bytes[at..at + 4].try_into().expect("four bytes");
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}
