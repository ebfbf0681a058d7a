//! What is shown of a record: the parser's result, as far as the recorded bytes bear it out.

use std::fmt;

use xoff_sim::wire::frame::{IpKind, ParsedFrame, Reason, Verdict};
use xoff_sim::wire::{
    BthRepr, CONTROL_PFC, EthernetRepr, ExtLayout, Ipv4Repr, Ipv6Repr, Opcode, PauseRepr, PfcRepr,
    UdpRepr, VlanTagRepr,
};
use xoff_waves::capture::{Filled, Link, Record};

use super::details::is_unread;
use super::iwarp::Part;
use super::segment::Segment;

/// What a record is: the parser's verdict, or why it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The parser's verdict about a whole frame.
    Judged(Verdict),
    /// A packet with an assigned opcode whose extension headers are not read.
    Unread,
    /// The recorder kept only the beginning.
    Cut,
    /// Longer than any frame on a line.
    TooLong,
    /// Of a link type that is not read.
    OtherLink,
}

impl Class {
    /// All classes: roce_v2 first, then the worse ones, at the end those without a verdict.
    pub const ALL: [Self; Verdict::ALL.len() + 4] = [
        Self::Judged(Verdict::RoceV2),
        Self::Judged(Verdict::RoceV1),
        Self::Judged(Verdict::Cnp),
        Self::Judged(Verdict::Pfc),
        Self::Judged(Verdict::Pause),
        Self::Judged(Verdict::Other),
        Self::Judged(Verdict::Malformed),
        Self::Unread,
        Self::Cut,
        Self::TooLong,
        Self::OtherLink,
    ];

    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Judged(verdict) => verdict.name(),
            Self::Unread => "unread",
            Self::Cut => "cut",
            Self::TooLong => "too long",
            Self::OtherLink => "other link",
        }
    }

    /// The value of the key `verdict` in JSON. An unread packet has the parser's verdict there.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Judged(verdict) => verdict.name(),
            Self::Unread => Verdict::Malformed.name(),
            Self::Cut => "cut",
            Self::TooLong => "too_long",
            Self::OtherLink => "other_link",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A record and what is known of its frame.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The record.
    pub record: &'a Record,
    /// The layers that are there. The Ethernet header of a record of another link has no addresses.
    pub frame: ParsedFrame,
    /// What the record is.
    pub class: Class,
    /// The TCP segment in it.
    pub segment: Option<Segment>,
    /// What of iWARP ends in that segment.
    pub iwarp: Vec<Part>,
}

impl<'a> Seen<'a> {
    /// Combines a record with the parser's result of its [`filled`](Record::filled) form, if it has one.
    pub fn new(record: &'a Record, filled: Option<&Filled<'_>>, parsed: ParsedFrame) -> Self {
        let class = match filled {
            None if record.link == Link::Other => Class::OtherLink,
            None => Class::TooLong,
            Some(_) if record.is_cut() => Class::Cut,
            Some(_) if is_unread(&parsed) => Class::Unread,
            Some(_) => Class::Judged(parsed.verdict),
        };
        let mut frame = match filled {
            None => ParsedFrame::empty(0),
            Some(filled) if record.is_cut() => recorded(parsed, filled),
            Some(_) => parsed,
        };
        frame.frame_bytes = record.length;
        let other = frame.verdict == Verdict::Other && frame.reason.is_none();
        let segment = filled.filter(|_| other);
        Self {
            segment: segment.and_then(|filled| Segment::of(&filled.bytes, filled.kept)),
            iwarp: Vec::new(),
            record,
            frame,
            class,
        }
    }
}

/// Leaves of a parser's result what does not depend on bytes behind the recorded ones: the headers that were recorded
/// whole, and the first fault if it is in them.
fn recorded(parsed: ParsedFrame, filled: &Filled<'_>) -> ParsedFrame {
    let kept = |end: usize| end <= filled.kept;
    let ends = Ends::of(&parsed, &filled.bytes);
    let mut frame = ParsedFrame::empty(parsed.frame_bytes);
    frame.eth = parsed.eth.filter(|_| kept(ends.eth));
    frame.control = parsed.control.filter(|_| kept(ends.control));
    frame.ip = parsed.ip.filter(|_| kept(ends.ip));
    frame.bth = parsed.bth.filter(|_| kept(ends.bth));
    frame.udp_src_port = parsed.udp_src_port.filter(|_| kept(ends.bth));
    frame.ext = parsed.ext.filter(|_| kept(ends.ext));
    frame.payload_bytes = parsed.payload_bytes.filter(|_| kept(ends.ext));
    frame.reason = parsed.reason.filter(|reason| kept(ends.of_fault(*reason)));
    let verdict_end = match parsed.verdict {
        Verdict::RoceV2 | Verdict::RoceV1 | Verdict::Cnp => ends.ext,
        Verdict::Pfc | Verdict::Pause => ends.control,
        Verdict::Other => 0,
        Verdict::Malformed if frame.reason.is_some() => 0,
        Verdict::Malformed => usize::MAX,
    };
    if kept(verdict_end) {
        frame.verdict = parsed.verdict;
    }
    frame
}

/// Where the layers of a frame end.
struct Ends {
    eth: usize,
    control: usize,
    ip: usize,
    udp: usize,
    bth: usize,
    ext: usize,
}

impl Ends {
    fn of(parsed: &ParsedFrame, bytes: &[u8]) -> Self {
        let tags = parsed.eth.as_ref().map_or(0, |eth| eth.tags.len());
        let eth = EthernetRepr::LEN + tags * VlanTagRepr::LEN;
        let control = match &parsed.control {
            Some(control) if control.opcode == CONTROL_PFC => PfcRepr::LEN,
            _ => PauseRepr::LEN,
        };
        let kind = parsed.ip.map(|ip| ip.kind);
        let (network, udp) = match kind {
            Some(IpKind::V6) => (Ipv6Repr::LEN, UdpRepr::LEN),
            Some(IpKind::Grh) => (Ipv6Repr::LEN, 0),
            // The low four bits of the first byte are the length in words of 32 bits.
            Some(IpKind::V4) | None => {
                let words = bytes.get(eth).map_or(0, |first| first & 0xF);
                (Ipv4Repr::LEN.max(usize::from(words) * 4), UdpRepr::LEN)
            }
        };
        let ip = eth + network;
        let bth = ip + udp + BthRepr::LEN;
        let opcode = parsed.bth.map(|bth| bth.opcode);
        let layout = opcode.and_then(Opcode::layout);
        Self {
            eth,
            control: eth + control,
            ip,
            udp: ip + udp,
            bth,
            ext: bth + layout.map_or(0, ExtLayout::bytes),
        }
    }

    /// Where the bytes end that a fault was found in.
    fn of_fault(&self, reason: Reason) -> usize {
        match reason {
            Reason::EthTruncated => 0,
            Reason::VlanTruncated => self.eth,
            Reason::ControlTruncated | Reason::ControlAddress => self.control,
            Reason::IpTruncated
            | Reason::IpVersion
            | Reason::IpHeaderLength
            | Reason::IpLength
            | Reason::IpChecksum
            | Reason::GrhNextHeader
            | Reason::UdpTruncated => self.ip,
            // The fragment header of IPv6 is as long as that of UDP.
            Reason::IpFragment | Reason::UdpLength | Reason::BthTruncated => self.udp,
            Reason::IbAlignment
            | Reason::BthVersion
            | Reason::UnknownOpcode
            | Reason::HeaderTruncated
            | Reason::PadCount
            | Reason::UnexpectedPayload => self.bth,
        }
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::protocol::parse;

    use super::*;

    /// An RC ACK over IPv4: 14 + 20 + 8 + 12 + 4 bytes of headers, then the ICRC.
    fn ack() -> Vec<u8> {
        let eth = "020000000002 020000000001 0800";
        let ip = "456a 0030 0000 4000 4011 2651 0a000002 0a000001";
        let rest = "c123 12b7 001c 0000  1140 ffff 00000022 0000000a  1f000002  5b4f605b";
        let digits: String = [eth, ip, rest].concat().split_whitespace().collect();
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect()
    }

    fn at(kept: usize) -> ParsedFrame {
        let frame = ack();
        let filled = |fill: u8| {
            let mut bytes = frame[..kept].to_vec();
            bytes.resize(frame.len(), fill);
            let parsed = parse(&bytes);
            let filled = Filled {
                bytes: bytes.into(),
                kept,
                addressed: true,
            };
            recorded(parsed, &filled)
        };
        // What is not there does not matter.
        assert_eq!(filled(0), filled(0xFF), "{kept} bytes");
        filled(0)
    }

    #[test]
    fn each_header_is_there_when_its_last_byte_is() {
        for kept in 0..ack().len() {
            let frame = at(kept);
            assert_eq!(frame.eth.is_some(), kept >= 14, "{kept}");
            assert_eq!(frame.ip.is_some(), kept >= 34, "{kept}");
            assert_eq!(frame.bth.is_some(), kept >= 54, "{kept}");
            assert_eq!(frame.ext.is_some(), kept >= 58, "{kept}");
            assert_eq!(frame.verdict == Verdict::RoceV2, kept >= 58, "{kept}");
            assert_eq!(
                (frame.reason, frame.icrc_ok, frame.payload.len()),
                (None, None, 0)
            );
        }
    }

    #[test]
    fn a_fault_stands_when_its_bytes_are_there() {
        let mut frame = ack();
        frame[24] ^= 1;
        for kept in [33, 34, 57] {
            let mut bytes = frame[..kept].to_vec();
            bytes.resize(frame.len(), 0);
            let filled = Filled {
                bytes: bytes.clone().into(),
                kept,
                addressed: true,
            };
            let there = (kept >= 34).then_some(Reason::IpChecksum);
            assert_eq!(recorded(parse(&bytes), &filled).reason, there, "{kept}");
        }
    }
}
