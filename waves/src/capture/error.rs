//! Errors of captures, one message each: what was read, where, and what would be right.

use std::io;

use thiserror::Error;

use super::MAX_RECORD_BYTES;

/// Why reading a capture failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The file does not exist or may not be read.
    #[error("{file}: cannot be opened: {source}")]
    Open {
        /// The file as the caller named it.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error("{file}, byte {offset}{}: {problem}", record_text(*.record))]
    At {
        /// The file as the caller named it.
        file: String,
        /// Where the faulty header, block or record starts, in bytes.
        offset: u64,
        /// Number of the faulty record, from 1; `None` if the fault is not in a record.
        record: Option<u64>,
        /// What is wrong.
        problem: Problem,
    },
}

fn record_text(record: Option<u64>) -> String {
    record
        .map(|number| format!(" (record {number})"))
        .unwrap_or_default()
}

/// A fault in a capture at one place.
#[derive(Debug, Error)]
pub enum Problem {
    /// The file is empty.
    #[error("the file is empty; a capture starts with a file header")]
    Empty,
    /// The file ends too early.
    #[error("the file ends inside {what}: {have} of {need} bytes are there")]
    Truncated {
        /// The header, record or block that is cut.
        what: &'static str,
        /// The number of bytes of it that exist.
        have: u64,
        /// The number of bytes that it needs.
        need: u64,
    },
    /// The file is not a capture.
    #[error(
        "not a packet capture: it starts with {}{}; a pcap starts with d4 c3 b2 a1 or a1 b2 c3 d4 (with nanoseconds 4d 3c b2 a1 or a1 b2 3c 4d), a pcapng with 0a 0d 0d 0a",
        hex(.first), guess(.first)
    )]
    Foreign {
        /// The first four bytes.
        first: [u8; 4],
    },
    /// The format version is unknown.
    #[error("{format} version {major}.{minor}; versions {expected}.x can be read")]
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// Major version in the file.
        major: u16,
        /// Minor version in the file.
        minor: u16,
        /// Major version that can be read.
        expected: u16,
    },
    /// The record is longer than any recorder writes.
    #[error(
        "a record of {bytes} bytes; {MAX_RECORD_BYTES} is the most that tcpdump keeps, so that the file is damaged"
    )]
    RecordTooLong {
        /// The number of captured bytes.
        bytes: u32,
    },
    /// A pcapng block is not valid or cannot be read: its lengths contradict each other, or its content does not fit.
    #[error("a block of type {kind:#010x} and length {length}: {why}")]
    Block {
        /// Block type.
        kind: u32,
        /// Its length according to its first length field.
        length: u32,
        /// The reason.
        why: &'static str,
    },
    /// A frame refers to an interface that the section has not described.
    #[error("a frame of interface {id}, but the section has described {known} so far")]
    Interface {
        /// Interface number in the block.
        id: u32,
        /// The number of interface description blocks before it.
        known: usize,
    },
    /// The unit of time stamps is too fine to be represented.
    #[error(
        "time resolution {raw:#04x} of an interface; 10^-19 s (0x13) or 2^-63 s (0xbf) is the finest that can be read"
    )]
    TimeResolution {
        /// The `if_tsresol` byte.
        raw: u8,
    },
    /// The time is outside of 1970 to 2554.
    #[error(
        "a time stamp of {ticks} ticks, {per_second} a second, {offset} s added: outside of the years 1970 to 2554"
    )]
    Time {
        /// The time stamp in the file.
        ticks: u64,
        /// Its unit, in ticks per second.
        per_second: u64,
        /// `if_tsoffset`.
        offset: i64,
    },
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Names what users open by mistake, by its first bytes.
fn guess(first: &[u8; 4]) -> &'static str {
    match first {
        [0x1f, 0x8b, ..] => " (gzip: unpack it first)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack it first)",
        [0xfd, b'7', b'z', b'X'] => " (xz: unpack it first)",
        [b'P', b'K', ..] => " (zip: unpack it first)",
        b"snoo" => " (Solaris snoop: convert it with editcap)",
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
            " (pcap with modified record headers: convert it with editcap -F pcap)"
        }
        b"$dat" | b"$ver" | b"$com" | b"$tim" => " (a VCD waveform)",
        [0x7f, b'E', b'L', b'F'] => " (a program)",
        _ if first
            .iter()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) =>
        {
            " (text)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_byte_and_record() {
        let error = Error::At {
            file: "a.pcap".into(),
            offset: 24,
            record: Some(1),
            problem: Problem::Truncated {
                what: "a record header",
                have: 3,
                need: 16,
            },
        };
        assert_eq!(
            error.to_string(),
            "a.pcap, byte 24 (record 1): the file ends inside a record header: 3 of 16 bytes are there"
        );
    }

    #[test]
    fn foreign_files_are_recognized() {
        let text = |first: [u8; 4]| Problem::Foreign { first }.to_string();
        assert!(text(*b"fram").contains("starts with 66 72 61 6d (text)"));
        assert!(text([0x1f, 0x8b, 8, 0]).contains("(gzip: unpack it first)"));
        assert!(text([0xff; 4]).contains("starts with ff ff ff ff; a pcap"));
    }
}
