//! ACK extended transport header.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::header::Field;
use super::qpn::number24;

header! {
    /// ACK extended transport header, 4 bytes (IBTA volume 1 §9.5.2):
    ///
    /// ```text
    ///  byte 0            1
    ///      | syndrome 8 | MSN 24 |
    /// ```
    Aeth, AethRepr, "AETH", 4 bytes;
    /// The syndrome: ACK, RNR NAK or NAK.
    syndrome, set_syndrome: Syndrome = 0..8;
    /// Message sequence number: the number of messages that the responder has completed.
    msn, set_msn: Msn = 8..32;
}

number24! {
    /// A message sequence number, 24 bits (IBTA volume 1 §9.7.7.1).
    Msn, "MSN"
}

impl Msn {
    /// The MSN `messages` further on, wrapping around after 2²⁴.
    #[must_use]
    pub const fn advance(self, messages: u32) -> Self {
        Self(self.0.wrapping_add(messages) & Self::MAX.0)
    }
}

/// The syndrome of an AETH: the responder's verdict on the packet (IBTA volume 1 table 44):
///
/// ```text
///  bit 0   1    3
///     | 0 | 00 | credit count 5 |  ACK
///     | 0 | 01 | timer 5        |  RNR NAK
///     | 0 | 11 | code 5         |  NAK
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Syndrome(pub u8);

/// The meaning of a [`Syndrome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyndromeMeaning {
    /// Positive acknowledgement, with end-to-end flow control credits.
    Ack(Credits),
    /// Receiver not ready: try again after this time.
    RnrNak(RnrTimer),
    /// Negative acknowledgement.
    Nak(NakCode),
    /// Not assigned: first bit 1, type 10, or a NAK code of 5 to 31.
    Reserved,
}

impl Syndrome {
    /// ACK with the invalid credit count, 0x1F: end-to-end flow control is not in use.
    pub const ACK: Self = Self(0x1F);
    /// PSN sequence error, 0x60.
    pub const PSN_SEQUENCE_ERROR: Self = Self::nak(NakCode::PsnSequenceError);

    /// Creates an ACK with credits.
    pub const fn ack(credits: Credits) -> Self {
        Self(credits.0)
    }

    /// Creates an RNR NAK.
    pub const fn rnr_nak(timer: RnrTimer) -> Self {
        Self(0x20 | timer.0)
    }

    /// Creates a NAK.
    pub const fn nak(code: NakCode) -> Self {
        Self(0x60 | code as u8)
    }

    /// The meaning of the syndrome.
    pub const fn meaning(self) -> SyndromeMeaning {
        let low = self.0 & 0x1F;
        match self.0 >> 5 {
            0b000 => SyndromeMeaning::Ack(Credits(low)),
            0b001 => SyndromeMeaning::RnrNak(RnrTimer(low)),
            0b011 => match NakCode::from_code(low) {
                Some(code) => SyndromeMeaning::Nak(code),
                None => SyndromeMeaning::Reserved,
            },
            _ => SyndromeMeaning::Reserved,
        }
    }
}

impl fmt::Debug for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            SyndromeMeaning::Ack(credits) => match credits.count() {
                Some(count) => write!(f, "ACK, {count} credits"),
                None => write!(f, "ACK"),
            },
            SyndromeMeaning::RnrNak(timer) => write!(f, "RNR NAK, {:?}", timer.duration()),
            SyndromeMeaning::Nak(code) => write!(f, "NAK, {code}"),
            SyndromeMeaning::Reserved => write!(f, "reserved syndrome {:#04x}", self.0),
        }
    }
}

impl Field for Syndrome {
    fn from_bits(bits: u128) -> Self {
        Self(bits as u8)
    }
    fn to_bits(self) -> u128 {
        self.0.into()
    }
}

/// End-to-end flow control credits, the five-bit code of IBTA volume 1 table 46.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Credits(u8);

impl Credits {
    /// The code for "no limit", 31.
    pub const UNLIMITED: Self = Self(31);

    /// The credits with this code; `None` for a code over 31.
    pub const fn from_code(code: u8) -> Option<Self> {
        if code < 32 { Some(Self(code)) } else { None }
    }

    /// The five-bit code.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// How many further messages the responder can take: 0 … 32,768. `None` is "no limit".
    ///
    /// The table is 0, 1, 2, 3, and from there 4, 6, 8, 12, 16, 24, …: the powers of two and the midpoints between
    /// them.
    pub const fn count(self) -> Option<u32> {
        match self.0 {
            31 => None,
            code => Some(half_octaves(code)),
        }
    }
}

/// The waiting time of an RNR NAK: the five-bit code of IBTA volume 1 table 45.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RnrTimer(u8);

impl RnrTimer {
    /// The timer with this code; `None` for a code over 31.
    pub const fn from_code(code: u8) -> Option<Self> {
        if code < 32 { Some(Self(code)) } else { None }
    }

    /// The five-bit code.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The least time that the requester has to wait: 10 µs (code 1) … 491.52 ms (code 31), and 655.36 ms (code 0).
    ///
    /// The table is 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, … ms: the powers of two and the midpoints between them.
    pub const fn duration(self) -> Duration {
        let tens_of_micros = match self.0 {
            0 => 65_536,
            code => half_octaves(code),
        };
        Duration::from_micros(10 * tens_of_micros as u64)
    }
}

/// 0, 1, 2, 3, 4, 6, 8, 12, 16, … for 0, 1, 2, …, as in both of IBTA's five-bit tables.
const fn half_octaves(code: u8) -> u32 {
    match code {
        0 | 1 => code as u32,
        code => (2 + (code & 1) as u32) << ((code >> 1) - 1),
    }
}

/// Why a request was refused (IBTA volume 1 §9.7.5.2.8, table 47).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NakCode {
    /// The PSN is ahead of the expected one: something was lost.
    PsnSequenceError = 0,
    /// The request is invalid: unsupported, malformed or out of order.
    InvalidRequest = 1,
    /// The key or the address range does not permit the request.
    RemoteAccessError = 2,
    /// The responder failed for reasons of its own.
    RemoteOperationalError = 3,
    /// Invalid request of a reliable datagram; used only with that service.
    InvalidRdRequest = 4,
}

impl NakCode {
    /// The NAK code with this value; `None` for the reserved values, 5 and above.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::PsnSequenceError,
            1 => Self::InvalidRequest,
            2 => Self::RemoteAccessError,
            3 => Self::RemoteOperationalError,
            4 => Self::InvalidRdRequest,
            _ => return None,
        })
    }
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PsnSequenceError => "PSN sequence error",
            Self::InvalidRequest => "invalid request",
            Self::RemoteAccessError => "remote access error",
            Self::RemoteOperationalError => "remote operational error",
            Self::InvalidRdRequest => "invalid RD request",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Aeth, AethRepr);

    #[test]
    fn as_ibta_9_5_2_draws_it() {
        let view = Aeth::new_checked([0x60, 0x12, 0x34, 0x56]).unwrap();
        assert_eq!(
            AethRepr::parse(&view),
            AethRepr {
                syndrome: Syndrome::PSN_SEQUENCE_ERROR,
                msn: Msn::new(0x12_3456).unwrap()
            }
        );
    }

    #[test]
    fn rnr_timers_are_table_45() {
        let hundredths_of_ms = [
            65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
            1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
        ];
        for (code, tens) in (0..).zip(hundredths_of_ms) {
            assert_eq!(
                RnrTimer::from_code(code).unwrap().duration(),
                Duration::from_micros(10 * tens),
                "code {code}"
            );
        }
        assert_eq!(RnrTimer::from_code(32), None);
    }

    #[test]
    fn credits_are_table_46() {
        let count = |code| Credits::from_code(code).unwrap().count();
        assert_eq!(
            (0..9).map(count).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 6, 8, 12, 16].map(Some)
        );
        assert_eq!(count(30), Some(32_768));
        assert_eq!(count(31), None);
    }

    #[test]
    fn syndromes_are_table_44() {
        assert_eq!(
            Syndrome::ACK.meaning(),
            SyndromeMeaning::Ack(Credits::UNLIMITED)
        );
        assert_eq!(Syndrome(0x34).to_string(), "RNR NAK, 10.24ms");
        assert_eq!(Syndrome(0x62).to_string(), "NAK, remote access error");
        assert_eq!(
            Syndrome(0x63).meaning(),
            SyndromeMeaning::Nak(NakCode::RemoteOperationalError)
        );
        for reserved in (0x65..=0x7F).chain(0x40..=0x5F).chain(0x80..=0xFF) {
            assert_eq!(
                Syndrome(reserved).meaning(),
                SyndromeMeaning::Reserved,
                "{reserved:#x}"
            );
        }
        for syndrome in 0..=0xFF {
            let again = match Syndrome(syndrome).meaning() {
                SyndromeMeaning::Ack(credits) => Syndrome::ack(credits),
                SyndromeMeaning::RnrNak(timer) => Syndrome::rnr_nak(timer),
                SyndromeMeaning::Nak(code) => Syndrome::nak(code),
                SyndromeMeaning::Reserved => Syndrome(syndrome),
            };
            assert_eq!(again.0, syndrome);
        }
    }
}
