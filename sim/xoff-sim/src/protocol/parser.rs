//! The reference parser: the table of `rtl/parser/README.md`, with one function for each layer, from the outside in.
//! [`Walk`] has found where the headers are.

use std::ops::Range;

use crate::protocol::icrc;
use crate::wire::frame::{ControlHead, EthHead, IpHead, IpKind, ParsedFrame, Reason, Verdict};
use crate::wire::{
    Bth, BthRepr, CONTROL_PAUSE, CONTROL_PFC, EtherType, ExtHeaders, GRH_NEXT_HEADER_BTH,
    ICRC_BYTES, IP_PROTOCOL_UDP, MacAddr, NEXT_HEADER_FRAGMENT, Network, Opcode, Pause, PauseRepr,
    Pfc, PfcRepr, UDP_PORT_ROCE, Udp, UdpRepr, VlanTagRepr, Walk,
};

/// The result of a layer and all layers inside it: a verdict, or the first check that failed.
type Judged = Result<Verdict, Reason>;

/// Most tags that are read; a third TPID counts as an ordinary EtherType.
const MAX_TAGS: usize = 2;

/// Parses a frame as the MAC hands it over: from the destination address on, without preamble and FCS. Accepts any
/// bytes.
pub fn parse(frame: &[u8]) -> ParsedFrame {
    match Walk::of(frame) {
        Some(walk) => parse_walk(&walk),
        None => ParsedFrame {
            verdict: Verdict::Malformed,
            reason: Some(Reason::EthTruncated),
            ..ParsedFrame::empty(frame.len())
        },
    }
}

/// [Parses](parse) a frame whose headers have been found.
pub fn parse_walk(walk: &Walk<'_>) -> ParsedFrame {
    let (mut parsed, payload) = parse_headers(walk, walk.frame.len());
    parsed.payload = walk.frame[payload].to_vec();
    parsed
}

/// [Parses](parse) a frame of `length` bytes, of which those behind the headers need not be there: they are payload,
/// its pad bytes and a right ICRC then. The payload is not copied to the result: it is where the range says.
pub(crate) fn parse_headers(walk: &Walk<'_>, length: usize) -> (ParsedFrame, Range<usize>) {
    let mut out = Found {
        parsed: ParsedFrame::empty(length),
        payload: 0..0,
    };
    let judged = ethernet(walk, &mut out);
    let Found {
        mut parsed,
        payload,
    } = out;
    // A wrong IPv4 checksum was noted on the way and takes precedence, since it came first.
    parsed.reason = parsed.reason.or(judged.err());
    parsed.verdict = match (parsed.reason, judged) {
        (None, Ok(verdict)) => verdict,
        _ => Verdict::Malformed,
    };
    (parsed, payload)
}

/// What was found so far.
struct Found {
    /// The result, without its payload.
    parsed: ParsedFrame,
    /// Where the payload is in the frame.
    payload: Range<usize>,
}

fn check(holds: bool, otherwise: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(otherwise) }
}

fn ethernet(walk: &Walk<'_>, out: &mut Found) -> Judged {
    let mut tags = walk.tags();
    let eth = out.parsed.eth.insert(EthHead {
        dst: walk.dst,
        src: walk.src,
        tags: tags.by_ref().take(MAX_TAGS).map(VlanTagRepr::tci).collect(),
        ether_type: walk.ether_type,
    });
    if let Some(third) = tags.next() {
        eth.ether_type = third.tpid;
        return Ok(Verdict::Other);
    }
    let tagged = eth.tags.len();
    check(
        tagged == MAX_TAGS || !walk.ether_type.is_tag(),
        Reason::VlanTruncated,
    )?;
    match (walk.network, walk.ether_type) {
        (Some(network), _) => ip(walk.frame, network?, out),
        (None, EtherType::MAC_CONTROL) if tagged == 0 => {
            mac_control(&walk.frame[walk.at..], walk.dst, out)
        }
        _ => Ok(Verdict::Other),
    }
}

fn mac_control(control: &[u8], dst: MacAddr, out: &mut Found) -> Judged {
    let opcode = control
        .first_chunk()
        .map(|&opcode| u16::from_be_bytes(opcode))
        .ok_or(Reason::ControlTruncated)?;
    match opcode {
        CONTROL_PAUSE => {
            let PauseRepr { timer } = PauseRepr::parse(
                &Pause::new_checked(control).map_err(|_| Reason::ControlTruncated)?,
            );
            out.parsed.control = Some(ControlHead {
                opcode,
                class_enable: 0,
                timers: [timer, 0, 0, 0, 0, 0, 0, 0],
            });
            check(
                dst == MacAddr::CONTROL || !dst.is_group(),
                Reason::ControlAddress,
            )?;
            Ok(Verdict::Pause)
        }
        CONTROL_PFC => {
            let PfcRepr {
                class_enable,
                timers,
            } = PfcRepr::parse(&Pfc::new_checked(control).map_err(|_| Reason::ControlTruncated)?);
            out.parsed.control = Some(ControlHead {
                opcode,
                class_enable,
                timers,
            });
            check(dst == MacAddr::CONTROL, Reason::ControlAddress)?;
            Ok(Verdict::Pfc)
        }
        _ => Ok(Verdict::Other),
    }
}

fn ip(frame: &[u8], network: Network, out: &mut Found) -> Judged {
    out.parsed.ip = Some(network.head);
    let at = network.inside?;
    check(network.end >= at, Reason::IpLength)?;
    if !network.checksum_ok(frame) {
        out.parsed.reason = Some(Reason::IpChecksum);
    }
    let length = out.parsed.frame_bytes;
    let packet = Packet {
        frame,
        length,
        network,
        at,
    };
    if network.end <= length {
        return inside(packet, out);
    }
    // The headers, read as if nothing had been cut, determine which payload bytes had been handed on before the end of
    // the frame.
    if out.parsed.reason.is_none() {
        let mut as_if_whole = Found {
            parsed: ParsedFrame::empty(length),
            payload: 0..0,
        };
        if inside(packet, &mut as_if_whole).is_ok_and(Verdict::is_roce) {
            out.payload = as_if_whole.payload;
        }
    }
    Err(Reason::IpTruncated)
}

/// A packet with its network header, and the position up to which it has been read.
#[derive(Clone, Copy)]
struct Packet<'a> {
    /// What is written of its frame.
    frame: &'a [u8],
    /// The length of the frame.
    length: usize,
    network: Network,
    /// Where the next layer begins.
    at: usize,
}

impl<'a> Packet<'a> {
    /// Announced bytes from the next layer on. Checks compare with this.
    fn left(&self) -> usize {
        self.network.end - self.at
    }

    /// The bytes that are present from the next layer on. There are fewer than [`left`](Self::left) only in a packet
    /// that was cut short or whose payload is not written; those behind the packet are Ethernet padding.
    fn rest(&self) -> &'a [u8] {
        let end = self.network.end.min(self.frame.len());
        self.frame.get(self.at..end).unwrap_or(&[])
    }

    fn skip(self, bytes: usize) -> Self {
        Self {
            at: self.at + bytes,
            ..self
        }
    }
}

fn inside(packet: Packet<'_>, out: &mut Found) -> Judged {
    let IpHead {
        kind, next_header, ..
    } = packet.network.head;
    match (kind, next_header) {
        (IpKind::V4, IP_PROTOCOL_UDP) => {
            check(!packet.network.is_fragment(), Reason::IpFragment)?;
            udp(packet, out)
        }
        (IpKind::V6, NEXT_HEADER_FRAGMENT) => {
            let of_udp = packet.rest().first() == Some(&IP_PROTOCOL_UDP);
            check(packet.left() < 8 || !of_udp, Reason::IpFragment)?;
            Ok(Verdict::Other)
        }
        (IpKind::V6, IP_PROTOCOL_UDP) => udp(packet, out),
        (IpKind::Grh, GRH_NEXT_HEADER_BTH) => transport(packet, None, out),
        (IpKind::Grh, _) => Err(Reason::GrhNextHeader),
        _ => Ok(Verdict::Other),
    }
}

fn udp(packet: Packet<'_>, out: &mut Found) -> Judged {
    check(packet.left() >= UdpRepr::LEN, Reason::UdpTruncated)?;
    let header =
        UdpRepr::parse(&Udp::new_checked(packet.rest()).map_err(|_| Reason::UdpTruncated)?);
    if header.dst_port != UDP_PORT_ROCE {
        return Ok(Verdict::Other);
    }
    check(
        usize::from(header.length) == packet.left(),
        Reason::UdpLength,
    )?;
    transport(packet.skip(UdpRepr::LEN), Some(header.src_port), out)
}

fn transport(packet: Packet<'_>, udp_src_port: Option<u16>, out: &mut Found) -> Judged {
    let transport_bytes = packet.left();
    check(
        transport_bytes >= BthRepr::LEN + ICRC_BYTES,
        Reason::BthTruncated,
    )?;
    let bth = BthRepr::parse(&Bth::new_checked(packet.rest()).map_err(|_| Reason::BthTruncated)?);
    out.parsed.bth = Some(bth);
    out.parsed.udp_src_port = udp_src_port;
    check(transport_bytes.is_multiple_of(4), Reason::IbAlignment)?;
    out.parsed.icrc_ok = icrc_ok(packet);
    check(bth.tver == 0, Reason::BthVersion)?;

    let is_cnp = bth.opcode == Opcode::CNP;
    let layout = bth
        .opcode
        .layout()
        .filter(|_| !(is_cnp && packet.network.head.kind == IpKind::Grh))
        .ok_or(Reason::UnknownOpcode)?;
    check(
        transport_bytes >= BthRepr::LEN + layout.bytes() + ICRC_BYTES,
        Reason::HeaderTruncated,
    )?;
    let packet = packet.skip(BthRepr::LEN);
    out.parsed.ext =
        Some(ExtHeaders::parse(layout, packet.rest()).map_err(|_| Reason::HeaderTruncated)?);

    payload(packet.skip(layout.bytes()), bth, out)?;
    Ok(match packet.network.head.kind {
        _ if is_cnp => Verdict::Cnp,
        IpKind::Grh => Verdict::RoceV1,
        IpKind::V4 | IpKind::V6 => Verdict::RoceV2,
    })
}

fn payload(packet: Packet<'_>, bth: BthRepr, out: &mut Found) -> Result<(), Reason> {
    let padded = packet.left() - ICRC_BYTES;
    let pad = usize::from(bth.pad);
    check(pad <= padded, Reason::PadCount)?;
    check(
        padded == 0 || bth.opcode.has_payload(),
        Reason::UnexpectedPayload,
    )?;
    let announced = padded - pad;
    out.parsed.payload_bytes = Some(
        u16::try_from(announced)
            .expect("the lengths on the wire have 16 bits, and headers are counted in"),
    );
    if out.parsed.reason.is_none() {
        out.payload = packet.at..(packet.at + announced).min(packet.length);
    }
    Ok(())
}

/// Whether the ICRC is correct, as one is that is not written; `None` when the end of the packet is missing.
fn icrc_ok(packet: Packet<'_>) -> Option<bool> {
    if packet.frame.len() < packet.length {
        return Some(true);
    }
    let Network { head, at, end, .. } = packet.network;
    let (covered, icrc_bytes) = packet.frame.get(at..end)?.split_at(end - at - ICRC_BYTES);
    Some(icrc(head.kind, covered).ok()? == icrc_bytes)
}

#[cfg(test)]
mod tests;
