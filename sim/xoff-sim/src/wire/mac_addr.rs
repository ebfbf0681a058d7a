//! MAC addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::header::Field;

/// A 48-bit MAC address, with the first byte on the wire first. Its text form is `52:54:00:00:00:01`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// 01:80:C2:00:00:01, the destination of PFC and PAUSE (IEEE 802.3 annex 31B.1, 802.1Q §36.1.3.2). Bridges never
    /// forward frames to it.
    pub const CONTROL: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
    /// The broadcast address: all ones.
    pub const BROADCAST: Self = Self([0xFF; 6]);

    /// Whether the address is a group address: the I/G bit, the lowest of the first byte, is set (IEEE 802.3 §3.2.3).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

/// The error for a text that is not a MAC address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "MAC address '{0}': expected six bytes in hexadecimal with colons between, such as 52:54:00:00:00:01"
)]
pub struct MacAddrError(String);

impl FromStr for MacAddr {
    type Err = MacAddrError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex =
            |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = |part: &str| hex(part).then(|| u8::from_str_radix(part, 16).ok())?;
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| MacAddrError(text.into()))
    }
}

impl TryFrom<String> for MacAddr {
    type Error = MacAddrError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MacAddr> for String {
    fn from(address: MacAddr) -> String {
        address.to_string()
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Field for MacAddr {
    fn from_bits(bits: u128) -> Self {
        let [.., a, b, c, d, e, f] = bits.to_be_bytes();
        Self([a, b, c, d, e, f])
    }
    fn to_bits(self) -> u128 {
        self.0
            .iter()
            .fold(0, |bits, &byte| bits << 8 | u128::from(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        assert_eq!("01:80:c2:00:00:01".parse(), Ok(MacAddr::CONTROL));
        assert_eq!(MacAddr::CONTROL.to_string(), "01:80:c2:00:00:01");
        for wrong in [
            "",
            "01:80:c2:00:00",
            "01:80:c2:00:00:01:02",
            "1:80:c2:00:00:01",
            "01:80:c2:00:00:+1",
            "g1:80:c2:00:00:01",
        ] {
            assert!(wrong.parse::<MacAddr>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn group_bit_is_the_lowest_of_the_first_byte() {
        assert!(MacAddr::CONTROL.is_group());
        assert!(MacAddr::BROADCAST.is_group());
        assert!(!MacAddr([0x52, 0x54, 0, 0, 0, 1]).is_group());
    }
}
