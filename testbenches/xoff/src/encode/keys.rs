//! The keys that describe a packet, and how the text after `=` is parsed.

use std::net::IpAddr;

use thiserror::Error;
use xoff_sim::wire::{MacAddr, Opcode};

use xoff_network::nearest::nearest;

/// Type of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number with this many bits.
    Number(u32),
    /// `true` or `false`.
    Flag,
    /// A MAC address.
    Mac,
    /// An IPv4 or IPv6 address.
    Ip,
    /// An opcode by number or name.
    Opcode,
    /// One number, or eight.
    Quanta,
    /// `hex:`, `text:` or `pattern:`.
    Payload,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

const VERDICTS: Kind = Kind::Word(&["roce_v2", "roce_v1", "cnp", "pfc", "pause"]);

/// All keys and the types of their values, in the order in which `xoff decode --format jsonl` writes them. Rows also
/// have `reason` and `raw`, which describe frames that the builder cannot build.
pub const KEYS: &[(&str, Kind)] = &[
    ("frame", Kind::Number(64)),
    ("time_ns", Kind::Number(64)),
    ("interface", Kind::Text),
    ("direction", Kind::Word(&["received", "sent"])),
    ("fcs_ok", Kind::Flag),
    ("bytes", Kind::Number(14)),
    ("verdict", VERDICTS),
    ("src_mac", Kind::Mac),
    ("dst_mac", Kind::Mac),
    ("vlan", Kind::Number(12)),
    ("pcp", Kind::Number(3)),
    ("dei", Kind::Flag),
    ("ip_version", Kind::Word(&["4", "6"])),
    ("src_ip", Kind::Ip),
    ("dst_ip", Kind::Ip),
    ("dscp", Kind::Number(6)),
    ("ecn", Kind::Number(2)),
    ("ttl", Kind::Number(8)),
    ("ip_id", Kind::Number(16)),
    ("dont_fragment", Kind::Flag),
    ("flow_label", Kind::Number(20)),
    ("src_port", Kind::Number(16)),
    ("opcode", Kind::Opcode),
    ("name", Kind::Opcode),
    ("solicited", Kind::Flag),
    ("mig_req", Kind::Flag),
    ("pad", Kind::Number(2)),
    ("pkey", Kind::Number(16)),
    ("fecn", Kind::Flag),
    ("becn", Kind::Flag),
    ("dest_qp", Kind::Number(24)),
    ("ack_req", Kind::Flag),
    ("psn", Kind::Number(24)),
    ("va", Kind::Number(64)),
    ("rkey", Kind::Number(32)),
    ("dma_len", Kind::Number(32)),
    ("compare", Kind::Number(64)),
    ("swap_add", Kind::Number(64)),
    ("original", Kind::Number(64)),
    ("syndrome", Kind::Number(8)),
    ("msn", Kind::Number(24)),
    ("imm", Kind::Number(32)),
    ("inv_rkey", Kind::Number(32)),
    ("qkey", Kind::Number(32)),
    ("src_qp", Kind::Number(24)),
    ("payload_bytes", Kind::Number(14)),
    ("payload", Kind::Payload),
    ("icrc_ok", Kind::Flag),
    ("class_enable", Kind::Number(16)),
    ("quanta", Kind::Quanta),
];

/// A parsed value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`Kind::Number`].
    Number(u64),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Mac`].
    Mac(MacAddr),
    /// Of [`Kind::Ip`].
    Ip(IpAddr),
    /// Of [`Kind::Opcode`].
    Opcode(Opcode),
    /// Of [`Kind::Quanta`]: one, or one per class.
    Quanta(Vec<u16>),
    /// Of [`Kind::Payload`].
    Payload(Vec<u8>),
    /// Of [`Kind::Word`].
    Word(&'static str),
    /// Of [`Kind::Text`].
    Text(String),
}

/// An invalid key or value. Each message names the key, what was read, and what would be right.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum KeyError {
    /// No such key.
    #[error("{key}: no such key; {}", suggestion(.key))]
    Unknown {
        /// What was read.
        key: String,
    },
    /// An argument without `=`.
    #[error("{text}: expected key=value, such as psn=7")]
    NoValue {
        /// What was read.
        text: String,
    },
    /// A value that the key cannot have.
    #[error("{key}={text}: {right}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was read.
        text: String,
        /// What would be right.
        right: String,
    },
    /// A key that was given twice.
    #[error("{key}: given twice")]
    Twice {
        /// The key.
        key: &'static str,
    },
}

/// Returns the row of a key in [`KEYS`].
///
/// # Errors
///
/// Returns [`KeyError::Unknown`], with the most similar keys.
pub fn find(key: &str) -> Result<(&'static str, Kind), KeyError> {
    KEYS.iter()
        .copied()
        .find(|(name, _)| *name == key)
        .ok_or_else(|| KeyError::Unknown { key: key.into() })
}

/// Returns the keys that may have been meant, or else all keys.
fn suggestion(key: &str) -> String {
    let all = || KEYS.iter().map(|&(name, _)| name);
    let near = nearest(key, all());
    if near.is_empty() {
        format!("there are {}", all().collect::<Vec<_>>().join(", "))
    } else {
        format!("near it: {}", near.join(", "))
    }
}

/// Reads the value of `key`.
///
/// # Errors
///
/// Returns [`KeyError::Value`].
pub fn read(key: &'static str, kind: Kind, text: &str) -> Result<Value, KeyError> {
    let wrong = |right: String| KeyError::Value {
        key,
        text: text.into(),
        right,
    };
    match kind {
        Kind::Number(bits) => number(text, bits).map(Value::Number).map_err(wrong),
        Kind::Flag => match text {
            "true" | "1" => Ok(Value::Flag(true)),
            "false" | "0" => Ok(Value::Flag(false)),
            _ => Err(wrong("true or false".into())),
        },
        Kind::Mac => text
            .parse()
            .map(Value::Mac)
            .map_err(|_| wrong("six bytes in hexadecimal, such as 02:00:00:00:00:01".into())),
        Kind::Ip => text
            .parse()
            .map(Value::Ip)
            .map_err(|_| wrong("an address, such as 192.0.2.1 or 2001:db8::1".into())),
        Kind::Opcode => opcode(text).map(Value::Opcode).map_err(wrong),
        Kind::Text => Ok(Value::Text(text.into())),
        Kind::Quanta => quanta(text).map(Value::Quanta).map_err(wrong),
        Kind::Payload => payload(text).map(Value::Payload).map_err(wrong),
        Kind::Word(words) => match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Value::Word(word)),
            None => Err(wrong(format!("one of {}", words.join(", ")))),
        },
    }
}

/// Parses a number in decimal or, after 0x, in hexadecimal; underscores may separate digits.
fn number(text: &str, bits: u32) -> Result<u64, String> {
    let most = if bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let digits = text.replace('_', "");
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (digits.as_str(), 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("a number, such as 17 or 0x11".into());
    }
    match u64::from_str_radix(digits, radix) {
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!("{bits} bits at most ({most:#x})")),
    }
}

fn opcode(text: &str) -> Result<Opcode, String> {
    let upper = text.to_uppercase();
    if let Some(opcode) = Opcode::from_name(&upper) {
        return Ok(opcode);
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return match number(text, 8) {
            Ok(code) if Opcode(code as u8).name().is_some() => Ok(Opcode(code as u8)),
            Ok(_) => Err("no opcode of RC, UC, UD, nor the CNP's 0x81".into()),
            Err(right) => Err(right),
        };
    }
    let near = nearest(
        &upper,
        Opcode::ALL.iter().filter_map(|opcode| opcode.name()),
    );
    let near = if near.is_empty() {
        vec!["RC_SEND_ONLY", "RC_WRITE_ONLY", "RC_ACK"]
    } else {
        near
    };
    Err(format!(
        "an opcode by number or name, such as {}",
        near.join(", ")
    ))
}

fn quanta(text: &str) -> Result<Vec<u16>, String> {
    let quanta: Result<Vec<u16>, String> = text
        .split(',')
        .map(|part| number(part.trim(), 16).map(|quanta| quanta as u16))
        .collect();
    match quanta {
        Ok(quanta) if matches!(quanta.len(), 1 | 8) => Ok(quanta),
        Ok(quanta) => Err(format!(
            "one number for PAUSE, eight with commas between for PFC (class 0 first); there are {}",
            quanta.len()
        )),
        Err(right) => Err(format!("each {right}")),
    }
}

fn payload(text: &str) -> Result<Vec<u8>, String> {
    match text.split_once(':') {
        Some(("hex", digits)) => {
            let digits: Vec<u32> = digits
                .chars()
                .filter(|digit| !digit.is_whitespace() && *digit != '_')
                .map(|digit| {
                    digit
                        .to_digit(16)
                        .ok_or_else(|| format!("hexadecimal digits after hex:, not '{digit}'"))
                })
                .collect::<Result<_, _>>()?;
            if !digits.len().is_multiple_of(2) {
                return Err(format!(
                    "two hexadecimal digits a byte after hex:; there are {} digits",
                    digits.len()
                ));
            }
            Ok(digits
                .chunks(2)
                .map(|pair| (pair[0] << 4 | pair[1]) as u8)
                .collect())
        }
        Some(("text", text)) => Ok(text.as_bytes().to_vec()),
        Some(("pattern", length)) => number(length, 14).map(|length| pattern(length as usize)),
        _ => Err("hex:00ff…, text:… or pattern:LENGTH".into()),
    }
}

/// Returns bytes that show their position: 0, 1, 2, … 255, 0, …
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| index as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(key: &str, text: &str) -> String {
        let (key, kind) = find(key).unwrap();
        read(key, kind, text).unwrap_err().to_string()
    }

    fn value(key: &str, text: &str) -> Value {
        let (key, kind) = find(key).unwrap();
        read(key, kind, text).unwrap()
    }

    #[test]
    fn numbers() {
        assert_eq!(value("psn", "0xff_ffff"), Value::Number(0xff_ffff));
        assert_eq!(value("psn", "1_000"), Value::Number(1000));
        assert_eq!(value("va", "0xffffffffffffffff"), Value::Number(u64::MAX));
        assert_eq!(
            message("psn", "0x1000000"),
            "psn=0x1000000: 24 bits at most (0xffffff)"
        );
        assert_eq!(
            message("va", "0x10000000000000000"),
            "va=0x10000000000000000: 64 bits at most (0xffffffffffffffff)"
        );
        assert_eq!(message("psn", "-1"), "psn=-1: a number, such as 17 or 0x11");
        assert_eq!(message("psn", ""), "psn=: a number, such as 17 or 0x11");
    }

    #[test]
    fn keys_that_are_not_there() {
        assert_eq!(
            find("payload_byte").unwrap_err().to_string(),
            "payload_byte: no such key; near it: payload_bytes, payload, pad"
        );
        assert_eq!(
            find("PSN").unwrap_err().to_string(),
            "PSN: no such key; near it: psn, msn"
        );
        assert_eq!(
            find("qp").unwrap_err().to_string(),
            "qp: no such key; near it: dest_qp, src_qp"
        );
        assert!(
            find("zzzzzz")
                .unwrap_err()
                .to_string()
                .starts_with("zzzzzz: no such key; there are frame, time_ns, ")
        );
    }

    #[test]
    fn opcodes() {
        assert_eq!(value("opcode", "0x04"), Value::Opcode(Opcode::RC_SEND_ONLY));
        assert_eq!(
            value("name", "rc_send_only"),
            Value::Opcode(Opcode::RC_SEND_ONLY)
        );
        assert_eq!(
            message("opcode", "0x15"),
            "opcode=0x15: no opcode of RC, UC, UD, nor the CNP's 0x81"
        );
        assert_eq!(
            message("opcode", "RC_SEND"),
            "opcode=RC_SEND: an opcode by number or name, such as RC_SEND_LAST, RC_SEND_ONLY, RC_SEND_FIRST"
        );
    }

    #[test]
    fn payloads_and_quanta() {
        assert_eq!(
            value("payload", "hex:00 ff_0A"),
            Value::Payload(vec![0, 255, 10])
        );
        assert_eq!(
            value("payload", "text:a:b"),
            Value::Payload(b"a:b".to_vec())
        );
        assert_eq!(value("payload", "pattern:3"), Value::Payload(vec![0, 1, 2]));
        assert_eq!(
            message("payload", "hex:0"),
            "payload=hex:0: two hexadecimal digits a byte after hex:; there are 1 digits"
        );
        assert_eq!(
            message("payload", "hex:0g"),
            "payload=hex:0g: hexadecimal digits after hex:, not 'g'"
        );
        assert_eq!(
            message("payload", "0011"),
            "payload=0011: hex:00ff…, text:… or pattern:LENGTH"
        );
        assert_eq!(
            value("quanta", "1,2,3,4,5,6,7,0xffff"),
            Value::Quanta(vec![1, 2, 3, 4, 5, 6, 7, 65535])
        );
        assert!(message("quanta", "1,2").contains("there are 2"));
        assert_eq!(
            message("quanta", "65536"),
            "quanta=65536: each 16 bits at most (0xffff)"
        );
    }

    #[test]
    fn addresses_flags_and_words() {
        assert_eq!(
            message("src_mac", "02:00"),
            "src_mac=02:00: six bytes in hexadecimal, such as 02:00:00:00:00:01"
        );
        assert_eq!(
            message("dst_ip", "300.1.1.1"),
            "dst_ip=300.1.1.1: an address, such as 192.0.2.1 or 2001:db8::1"
        );
        assert_eq!(message("ack_req", "maybe"), "ack_req=maybe: true or false");
        assert_eq!(message("ip_version", "5"), "ip_version=5: one of 4, 6");
    }
}
