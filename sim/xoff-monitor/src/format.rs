//! Rules about a single frame.

use xoff_sim::headers::Headers;
use xoff_sim::wire::frame::{IpHead, IpKind, ParsedFrame, Reason, Verdict};
use xoff_sim::wire::{
    BthRepr, CONTROL_PFC, CnpRepr, EtherType, ExtLayout, ICRC_BYTES, IP_PROTOCOL_UDP, Ipv4Repr,
    Ipv6Repr, MIN_FRAME_BYTES, Network, Opcode, PauseRepr, PfcRepr, UDP_PORT_ROCE, Udp, UdpRepr,
    Walk,
};

use crate::extended;
use crate::operation::{self, Operation, Place, Service};
use crate::report::Findings;
use crate::{Habit, Rule, Sighting};

/// The UDP source ports that RoCEv2 senders choose from.
const SOURCE_PORTS: std::ops::RangeInclusive<u16> = 0xC000..=0xFFFF;

/// How the monitors classify a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Roce,
    Pause,
    Other,
}

/// Classifies a frame as RoCE packet, pause or other; broken RoCE packets and pauses are classified as such.
pub(crate) fn kind(parsed: &ParsedFrame, walk: Option<&Walk<'_>>) -> Kind {
    match (parsed.verdict, parsed.reason) {
        (Verdict::RoceV2 | Verdict::RoceV1 | Verdict::Cnp, _) => Kind::Roce,
        (Verdict::Pfc | Verdict::Pause, _) => Kind::Pause,
        (_, Some(Reason::ControlAddress)) => Kind::Pause,
        (_, Some(Reason::ControlTruncated)) => Kind::Pause,
        (Verdict::Malformed, _) if walk.is_some_and(is_roce) => Kind::Roce,
        (_, Some(Reason::IpVersion | Reason::IpHeaderLength)) if walk.is_some_and(seems_roce) => {
            Kind::Roce
        }
        _ => Kind::Other,
    }
}

fn is_roce(walk: &Walk<'_>) -> bool {
    let udp = (walk.ip()).is_some_and(|ip| ip.head.next_header == IP_PROTOCOL_UDP);
    let port = walk.ports().is_some_and(|(_, dst)| dst == UDP_PORT_ROCE);
    walk.ether_type == EtherType::ROCE_V1 || udp && port
}

/// Whether a packet whose first byte of the IP header is wrong is one to RoCE's UDP port, if the header has its usual
/// length.
fn seems_roce(walk: &Walk<'_>) -> bool {
    let (protocol, length) = match walk.ether_type {
        EtherType::IPV4 => (9, Ipv4Repr::LEN),
        _ => (6, Ipv6Repr::LEN),
    };
    let (frame, ip) = (walk.frame, walk.at);
    frame.get(ip + protocol) == Some(&IP_PROTOCOL_UDP)
        && frame.get(ip + length + 2..ip + length + 4) == Some(&UDP_PORT_ROCE.to_be_bytes()[..])
}

/// The IP header of a RoCEv2 packet, where its BTH is, and where it ends, behind the ICRC.
pub(crate) fn packet(walk: &Walk<'_>) -> Option<(Network, usize, usize)> {
    let (ip, bth) = (walk.ip()?, walk.bth()?);
    (ip.end >= bth + ICRC_BYTES).then_some((ip, bth, ip.end))
}

/// Whether what was recorded of a frame has all headers that are judged.
pub(crate) fn has_headers(
    seen: &Sighting<'_>,
    kind: Kind,
    parsed: &ParsedFrame,
    headers: Option<&Headers>,
) -> bool {
    // Otherwise what it is depends on bytes that are not there.
    let kept = Walk::of(&seen.bytes[..seen.kept]);
    if kept.as_ref().map(Headers::of).as_ref() != headers {
        return false;
    }
    match kind {
        Kind::Other => true,
        Kind::Pause => false,
        Kind::Roce => {
            let opcode = parsed.bth.map(|bth| bth.opcode);
            let known = opcode.and_then(Opcode::layout).map(ExtLayout::bytes);
            let behind = known.or(opcode.and_then(extended::header_bytes));
            let behind = BthRepr::LEN + behind.unwrap_or(0);
            let bth = kept.and_then(|kept| kept.bth());
            bth.is_some_and(|bth| bth + behind <= seen.kept)
        }
    }
}

/// Judges a RoCE packet by itself. Returns false if it is broken, or if its receiver cannot read it. Of one that is
/// `cut`, only the headers are known.
pub(crate) fn roce(
    walk: Option<&Walk<'_>>,
    cut: bool,
    parsed: &ParsedFrame,
    out: &mut Findings,
) -> bool {
    if let Some(reason) = parsed.reason {
        return broken(reason, cut, parsed, out);
    }
    for rule in [
        Rule::IpLength,
        Rule::UdpLength,
        Rule::BthVersion,
        Rule::Opcode,
        Rule::Headers,
    ] {
        out.check(rule, true, String::new);
    }
    if parsed.ip.is_some_and(|ip| ip.kind == IpKind::V4) {
        out.check(Rule::IpChecksum, true, String::new);
        out.check(Rule::IpFragment, true, String::new);
    }
    let right = cut
        || out.check(Rule::Icrc, parsed.icrc_ok == Some(true), || {
            let bth = parsed.bth.unwrap_or_default();
            format!("wrong ICRC of {} with PSN {}", bth.opcode, bth.psn)
        });
    if !right {
        return false;
    }
    let Some(bth) = parsed.bth else { return false };
    let frame = walk.map_or(&[][..], |walk| walk.frame);
    let packet = walk.and_then(packet).filter(|_| !cut);
    if let Some((ip, bth, _)) = packet {
        let udp = &frame[bth - UdpRepr::LEN..];
        let said = Udp::new_unchecked(udp).checksum();
        if let Some(right) = udp_checksum(udp, &ip.head).filter(|right| *right != said) {
            out.check(Rule::UdpChecksum, said == 0, || {
                format!("{said:#06x}: 0 or {right:#06x} is right")
            });
        } else {
            out.check(Rule::UdpChecksum, true, String::new);
        }
    }
    out.check(
        Rule::BthReserved,
        bth.reserved6 == 0 && bth.reserved7 == 0,
        || {
            format!(
                "{:#04x} beside FECN and BECN, {:#04x} beside A",
                bth.reserved6, bth.reserved7
            )
        },
    );
    let place = operation::request(bth.opcode).map(|(_, place)| place);
    let place = place.or(operation::response(bth.opcode));
    let none = matches!(place, Some(Place::First | Place::Middle)) || !bth.opcode.has_payload();
    out.check(Rule::Pad, !none || bth.pad == 0, || {
        format!(
            "pad count {} in {}, which is filled without",
            bth.pad, bth.opcode
        )
    });
    out.check(
        Rule::Solicited,
        !bth.solicited || operation::may_be_solicited(bth.opcode),
        || format!("SE in {}", bth.opcode),
    );
    let write =
        matches!(operation::request(bth.opcode), Some((Operation::Write, place)) if place.ends());
    if bth.solicited && write && bth.opcode.layout().is_some_and(|layout| !layout.imm) {
        out.remark(Habit::SolicitedWrite, || bth.opcode.to_string());
    }
    if let Some(port) = parsed
        .udp_src_port
        .filter(|port| !SOURCE_PORTS.contains(port))
    {
        out.remark(Habit::SourcePort, || format!("{port:#06x}"));
    }
    if let Some((_, offset, end)) = packet {
        let pad = frame.get(end - ICRC_BYTES - usize::from(bth.pad)..end - ICRC_BYTES);
        if pad.is_some_and(|pad| pad.iter().any(|byte| *byte != 0)) {
            out.remark(Habit::PadBytes, || {
                format!("{:02x?}", pad.unwrap_or_default())
            });
        }
        if bth.opcode == Opcode::CNP {
            let reserved = frame[offset + BthRepr::LEN..].get(..CnpRepr::LEN);
            let zero = reserved.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
            out.check(Rule::CnpForm, zero && bth.becn, || {
                format!(
                    "BECN {}, reserved bytes {:02x?}",
                    u8::from(bth.becn),
                    reserved.unwrap_or_default()
                )
            });
        }
    }
    true
}

/// Reports the rule that a malformed packet breaks.
fn broken(reason: Reason, cut: bool, parsed: &ParsedFrame, out: &mut Findings) -> bool {
    let rule = match reason {
        Reason::IpChecksum => Rule::IpChecksum,
        Reason::IpFragment => Rule::IpFragment,
        Reason::UdpTruncated | Reason::UdpLength => Rule::UdpLength,
        Reason::BthVersion => Rule::BthVersion,
        Reason::PadCount => Rule::Pad,
        Reason::UnknownOpcode => Rule::Opcode,
        Reason::BthTruncated
        | Reason::IbAlignment
        | Reason::HeaderTruncated
        | Reason::UnexpectedPayload
        | Reason::GrhNextHeader => Rule::Headers,
        Reason::EthTruncated
        | Reason::VlanTruncated
        | Reason::ControlTruncated
        | Reason::ControlAddress
        | Reason::IpTruncated
        | Reason::IpVersion
        | Reason::IpHeaderLength
        | Reason::IpLength => Rule::IpLength,
    };
    let opcode = parsed.bth.map(|bth| bth.opcode);
    if parsed.icrc_ok.is_some() && !cut {
        out.check(Rule::Icrc, parsed.icrc_ok == Some(true), || {
            "wrong ICRC of a broken packet".into()
        });
    }
    if let Some(opcode) = opcode.filter(|_| rule == Rule::Opcode)
        && (Service::of(opcode) == Service::Other || opcode.unread_name().is_some())
    {
        out.remark(Habit::OtherService, || format!("opcode {opcode}"));
        return false;
    }
    out.check(rule, false, || match opcode {
        Some(opcode) => format!("{reason}, opcode {opcode}"),
        None => reason.to_string(),
    });
    false
}

/// The UDP checksum that the datagram with which these bytes begin should have (RFC 768; RFC 8200 section 8.1), if it
/// carries one.
fn udp_checksum(bytes: &[u8], ip: &IpHead) -> Option<u16> {
    let udp = Udp::new_checked(bytes).ok()?;
    let (said, length) = (udp.checksum(), udp.length());
    if said == 0 {
        return None;
    }
    let datagram = bytes.get(..length.into())?;
    // An IPv4 address is the low 32 bits, so that the others add nothing.
    let addresses = [ip.src.to_be_bytes(), ip.dst.to_be_bytes()].concat();
    let words = |bytes: &[u8]| {
        let word =
            |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
        bytes.chunks(2).map(word).sum::<u64>()
    };
    let mut sum = words(&addresses) + u64::from(IP_PROTOCOL_UDP) + u64::from(length);
    sum += words(datagram) - u64::from(said);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    // A sum of 0 is sent as all ones, because 0 means that there is no checksum.
    Some(match !(sum as u16) {
        0 => 0xFFFF,
        sum => sum,
    })
}

/// Judges a PFC or PAUSE frame by itself. Returns false if it does not count as a pause: it is truncated, or its
/// address is wrong.
pub(crate) fn pause(frame: &[u8], parsed: &ParsedFrame, out: &mut Findings) -> bool {
    let address = parsed.reason != Some(Reason::ControlAddress);
    let Some(control) = parsed.control else {
        return out.check(Rule::PauseForm, false, || {
            "it ends inside its fields".into()
        });
    };
    out.check(Rule::PauseAddress, address, || {
        format!(
            "to {}",
            parsed
                .eth
                .as_ref()
                .map_or(String::new(), |eth| eth.dst.to_string())
        )
    });
    let fields = if control.opcode == CONTROL_PFC {
        PfcRepr::LEN
    } else {
        PauseRepr::LEN
    };
    let padding = frame.get(14 + fields..).unwrap_or_default();
    let zero = padding.iter().all(|byte| *byte == 0);
    let classes = control.class_enable >> 8 == 0;
    out.check(
        Rule::PauseForm,
        zero && classes && frame.len() >= MIN_FRAME_BYTES,
        || {
            format!(
                "class-enable vector {:#06x}, {} B without FCS, padding of {} B {}",
                control.class_enable,
                frame.len(),
                padding.len(),
                if zero { "is 0" } else { "is not 0" }
            )
        },
    );
    let unused = (0..8).filter(|class| control.class_enable & 1 << class == 0);
    if control.opcode == CONTROL_PFC && unused.clone().any(|class| control.timers[class] != 0) {
        out.remark(Habit::UnusedTimer, || format!("times {:?}", control.timers));
    }
    address
}
