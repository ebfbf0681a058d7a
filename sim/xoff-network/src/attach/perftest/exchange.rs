//! What the ends of a tool of perftest tell each other over TCP, and in which order.
//!
//! They take turns: for each [`Step`] the client writes first, and the server writes when it has read. So the exchange
//! is a list of steps, of which one end has the same as the other.

use xoff_sim::wire::Psn;

use super::super::dial::DONE;
use super::super::verbs::{Remote, address_of_gid, gid_of};

/// Bytes in which a version is told.
pub const VERSION_BYTES: usize = 16;
/// Bytes of a queue pair's description, with the zero byte at its end.
const KEYS: usize = 108;
/// Bytes of each number of a report of results.
pub const NUMBER: usize = 8;

/// What both ends tell each other, or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The versions.
    Version,
    /// Bytes of the memory in which messages smaller than a page go round, and of a cache line.
    Cycle,
    Line,
    /// The path MTU, as the digit of its code.
    Mtu,
    /// The queue pairs, for the first time.
    Meet,
    /// The queue pairs again: both ends have come so far.
    Sync,
    /// The messages.
    Run,
    /// A number of the results: bytes, messages, three rates.
    Result,
    /// The last word.
    Done,
}

/// The steps of `ib_send_bw`.
pub const SEND: [Step; 11] = [
    Step::Version,
    Step::Cycle,
    Step::Line,
    Step::Mtu,
    Step::Meet,
    Step::Sync,
    Step::Sync,
    Step::Sync,
    Step::Run,
    Step::Sync,
    Step::Done,
];

/// The steps of `ib_write_bw`, `ib_read_bw` and `ib_atomic_bw`.
pub const ONE_SIDED: [Step; 16] = [
    Step::Version,
    Step::Cycle,
    Step::Line,
    Step::Mtu,
    Step::Meet,
    Step::Sync,
    Step::Sync,
    Step::Run,
    Step::Sync,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Sync,
    Step::Done,
];

impl Step {
    /// Bytes that each end tells.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Version => VERSION_BYTES,
            Self::Cycle | Self::Line => 4,
            Self::Mtu => 2,
            Self::Meet | Self::Sync => KEYS,
            Self::Run => 0,
            Self::Result => NUMBER,
            Self::Done => DONE.len(),
        }
    }

    /// What is waited for.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Version => "the other end's version",
            Self::Cycle => "the size of the other end's cycle buffer",
            Self::Line => "the size of the other end's cache lines",
            Self::Mtu => "the other end's MTU",
            Self::Meet | Self::Sync => "the other end's LID, QP number, PSN, key, address and GID",
            Self::Run => "messages",
            Self::Result => "the other end's results",
            Self::Done => "the other end's 'done'",
        }
    }
}

/// What the other end tells of its queue pair and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    pub remote: Remote,
    /// How many of the other end's READs and atomics its queue pair answers at a time.
    pub reads: u16,
    pub key: u32,
    pub va: u64,
}

/// Looks whether the other end's version has this exchange.
pub fn read_version(bytes: &[u8]) -> Result<(), String> {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let version = std::str::from_utf8(text).ok();
    let version = version.and_then(|text| text.parse::<f64>().ok());
    match version {
        // From here on the exchange is as it is here.
        Some(version) if version >= 5.70 => Ok(()),
        _ => Err(format!(
            "the peer's version is '{}'; 5.70 or later, as of perftest 4.4 or later, is right",
            bytes.escape_ascii()
        )),
    }
}

/// Reads a path MTU in bytes.
pub fn read_mtu(bytes: &[u8]) -> Result<u32, String> {
    match bytes.first() {
        Some(digit @ b'1'..=b'5') => Ok(128 << (digit - b'0')),
        _ => Err(format!(
            "the peer's MTU is '{}'; a digit from 1, 256 bytes, to 5, 4096 bytes, and a zero byte is right",
            bytes.escape_ascii()
        )),
    }
}

/// A queue pair's description: LID, READs at a time, QP number, PSN, key, address, the bytes of the GID and the number
/// of a shared receive queue, in hexadecimal, each with a colon, and a zero byte.
pub fn description(keys: &Keys) -> Vec<u8> {
    let Keys {
        remote,
        reads,
        key,
        va,
    } = keys;
    let (qpn, psn) = (remote.qpn, remote.psn.get());
    let mut text = format!(
        "{:04x}:{reads:04x}:{qpn:06x}:{psn:06x}:{key:08x}:{va:016x}:",
        0
    );
    for byte in gid_of(remote.ip).to_be_bytes() {
        text += &format!("{byte:02x}:");
    }
    text += &format!("{:08x}:\0", 0);
    text.into_bytes()
}

/// Reads a queue pair's description.
pub fn read_description(bytes: &[u8]) -> Result<Keys, String> {
    let wrong = |why: &str| {
        format!(
            "the peer describes its queue pair as '{}': {why}; 23 hexadecimal numbers with a colon behind each, and a \
             zero byte, are right, as of the option -x with a GID's index",
            bytes.escape_ascii()
        )
    };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| wrong("no text"))?;
    let text = text
        .strip_suffix(':')
        .ok_or_else(|| wrong("no colon at its end"))?;
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let numbers: Option<Vec<u64>> = text.split(':').map(number).collect();
    let numbers = numbers.ok_or_else(|| wrong("not all are numbers"))?;
    let [_, reads, qpn, psn, key, va, gid @ .., _] = &numbers[..] else {
        return Err(wrong("too few numbers"));
    };
    let fits = *qpn < 1 << 24 && *psn < 1 << 24 && *key < 1 << 32 && *reads < 1 << 16;
    if gid.len() != 16 || gid.iter().any(|byte| *byte > 0xFF) || !fits {
        return Err(wrong("a number is too large, or there are not 23"));
    }
    let gid = gid
        .iter()
        .fold(0, |gid: u128, byte| gid << 8 | u128::from(*byte));
    Ok(Keys {
        remote: Remote {
            ip: address_of_gid(gid),
            qpn: *qpn as u32,
            psn: Psn::wrapping(*psn as u32),
        },
        reads: *reads as u16,
        key: *key as u32,
        va: *va,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for ip in ["192.0.2.1", "2001:db8::1"] {
            let keys = Keys {
                remote: Remote {
                    ip: ip.parse().unwrap(),
                    qpn: 0x11,
                    psn: Psn::wrapping(0xAB_CDEF),
                },
                reads: 128,
                key: 0x1234_5678,
                va: 0x7F00_1234_5000,
            };
            let text = description(&keys);
            assert_eq!(text.len(), KEYS);
            assert_eq!(read_description(&text), Ok(keys));
        }
    }

    #[test]
    fn what_is_not_of_the_exchange_is_named() {
        assert_eq!(read_version(b"6.06\0\0\0\0\0\0\0\0\0\0\0\0"), Ok(()));
        let wrong = read_version(b"GET / HTTP/1.1\r\n").unwrap_err();
        assert!(wrong.contains("GET") && wrong.contains("5.70"), "{wrong}");
        assert_eq!(read_mtu(b"3\0"), Ok(1024));
        assert!(read_mtu(b"6\0").unwrap_err().contains("'6"));
        let wrong = read_description(&[b'x'; KEYS]).unwrap_err();
        assert!(wrong.contains("no colon"), "{wrong}");
        let wrong = read_description(b"0000:0000:\0").unwrap_err();
        assert!(wrong.contains("too few"), "{wrong}");
    }
}
