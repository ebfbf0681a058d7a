//! The reference parser: the table of `rtl/parser/README.md`, with one function for each layer, from the outside in.

use crate::protocol::icrc;
use crate::wire::frame::{ControlHead, EthHead, IpHead, IpKind, ParsedFrame, Reason, Verdict};
use crate::wire::{
    Bth, BthRepr, CONTROL_PAUSE, CONTROL_PFC, EtherType, Ethernet, EthernetRepr, ExtHeaders,
    GRH_NEXT_HEADER_BTH, Grh, GrhRepr, ICRC_BYTES, IP_PROTOCOL_UDP, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr,
    MacAddr, NEXT_HEADER_FRAGMENT, Opcode, Pause, PauseRepr, Pfc, PfcRepr, UDP_PORT_ROCE, Udp,
    UdpRepr, VlanTag, VlanTagRepr,
};

/// The result of a layer and all layers inside it: a verdict, or the first check that failed.
type Walk = Result<Verdict, Reason>;

/// Most tags that are read; a third TPID counts as an ordinary EtherType.
const MAX_TAGS: usize = 2;

/// Parses a frame as the MAC hands it over: from the destination address on, without preamble and FCS. Accepts any
/// bytes.
pub fn parse(frame: &[u8]) -> ParsedFrame {
    let mut out = ParsedFrame::empty(frame.len());
    let walk = ethernet(frame, &mut out);
    // A wrong IPv4 checksum was noted during the walk and takes precedence, since it came first.
    out.reason = out.reason.or(walk.err());
    out.verdict = match (out.reason, walk) {
        (None, Ok(verdict)) => verdict,
        _ => Verdict::Malformed,
    };
    out
}

fn check(holds: bool, otherwise: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(otherwise) }
}

fn ethernet(frame: &[u8], out: &mut ParsedFrame) -> Walk {
    let header =
        EthernetRepr::parse(&Ethernet::new_checked(frame).map_err(|_| Reason::EthTruncated)?);
    let eth = out.eth.insert(EthHead {
        dst: header.dst,
        src: header.src,
        tags: Vec::new(),
        ether_type: header.ether_type,
    });

    let mut rest = &frame[EthernetRepr::LEN..];
    while eth.tags.len() < MAX_TAGS && eth.ether_type.is_tag() {
        // The TPID has already been read as the EtherType, so two bytes of the tag are left, followed by the two
        // bytes of the next EtherType.
        check(rest.len() >= VlanTagRepr::LEN, Reason::VlanTruncated)?;
        let at = frame.len() - rest.len() - 2;
        eth.tags
            .push(VlanTagRepr::parse(&VlanTag::new_unchecked(&frame[at..])).tci());
        eth.ether_type = EtherType(u16::from_be_bytes([rest[2], rest[3]]));
        rest = &rest[VlanTagRepr::LEN..];
    }

    match eth.ether_type {
        EtherType::MAC_CONTROL if eth.tags.is_empty() => mac_control(rest, header.dst, out),
        EtherType::IPV4 => ipv4(rest, out),
        EtherType::IPV6 => ipv6(rest, out),
        EtherType::ROCE_V1 => grh(rest, out),
        _ => Ok(Verdict::Other),
    }
}

fn mac_control(control: &[u8], dst: MacAddr, out: &mut ParsedFrame) -> Walk {
    let opcode = control
        .first_chunk()
        .map(|&opcode| u16::from_be_bytes(opcode))
        .ok_or(Reason::ControlTruncated)?;
    match opcode {
        CONTROL_PAUSE => {
            let PauseRepr { timer } = PauseRepr::parse(
                &Pause::new_checked(control).map_err(|_| Reason::ControlTruncated)?,
            );
            out.control = Some(ControlHead {
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
            out.control = Some(ControlHead {
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

fn ipv4(network: &[u8], out: &mut ParsedFrame) -> Walk {
    let view = Ipv4::new_checked(network).map_err(|_| Reason::IpTruncated)?;
    check(view.version() == 4, Reason::IpVersion)?;
    let header = Ipv4Repr::parse(&view);
    out.ip = Some(IpHead {
        kind: IpKind::V4,
        traffic_class: header.traffic_class,
        flow_label: 0,
        id: header.id,
        flags: header.flags,
        fragment_offset: header.fragment_offset,
        hop_limit: header.ttl,
        next_header: header.protocol,
        length: header.total_length,
        src: header.src.into(),
        dst: header.dst.into(),
    });
    check(
        usize::from(view.ihl()) * 4 >= Ipv4Repr::LEN,
        Reason::IpHeaderLength,
    )?;
    let header_bytes = view.header().ok_or(Reason::IpTruncated)?.len();
    let announced = usize::from(header.total_length);
    check(announced >= header_bytes, Reason::IpLength)?;
    if !view.checksum_ok() {
        out.reason = Some(Reason::IpChecksum);
    }
    whole_packet(
        Packet {
            kind: IpKind::V4,
            network,
            announced,
            at: header_bytes,
        },
        out,
        |packet, out| {
            if header.protocol != IP_PROTOCOL_UDP {
                return Ok(Verdict::Other);
            }
            let more_fragments = header.flags & 0b001 != 0;
            check(
                !more_fragments && header.fragment_offset == 0,
                Reason::IpFragment,
            )?;
            udp(packet, out)
        },
    )
}

fn ipv6(network: &[u8], out: &mut ParsedFrame) -> Walk {
    let view = Ipv6::new_checked(network).map_err(|_| Reason::IpTruncated)?;
    check(view.version() == 6, Reason::IpVersion)?;
    let header = Ipv6Repr::parse(&view);
    out.ip = Some(IpHead {
        kind: IpKind::V6,
        traffic_class: header.traffic_class,
        flow_label: header.flow_label,
        id: 0,
        flags: 0,
        fragment_offset: 0,
        hop_limit: header.hop_limit,
        next_header: header.next_header,
        length: header.payload_length,
        src: header.src,
        dst: header.dst,
    });
    let announced = Ipv6Repr::LEN + usize::from(header.payload_length);
    whole_packet(
        Packet {
            kind: IpKind::V6,
            network,
            announced,
            at: Ipv6Repr::LEN,
        },
        out,
        |packet, out| {
            let fragment = header.next_header == NEXT_HEADER_FRAGMENT && packet.left() >= 8;
            check(
                !(fragment && packet.rest().first() == Some(&IP_PROTOCOL_UDP)),
                Reason::IpFragment,
            )?;
            if header.next_header != IP_PROTOCOL_UDP {
                return Ok(Verdict::Other);
            }
            udp(packet, out)
        },
    )
}

fn grh(network: &[u8], out: &mut ParsedFrame) -> Walk {
    let view = Grh::new_checked(network).map_err(|_| Reason::IpTruncated)?;
    check(view.version() == 6, Reason::IpVersion)?;
    let header = GrhRepr::parse(&view);
    out.ip = Some(IpHead {
        kind: IpKind::Grh,
        traffic_class: header.traffic_class,
        flow_label: header.flow_label,
        id: 0,
        flags: 0,
        fragment_offset: 0,
        hop_limit: header.hop_limit,
        next_header: header.next_header,
        length: header.payload_length,
        src: header.sgid,
        dst: header.dgid,
    });
    let announced = GrhRepr::LEN + usize::from(header.payload_length);
    whole_packet(
        Packet {
            kind: IpKind::Grh,
            network,
            announced,
            at: GrhRepr::LEN,
        },
        out,
        |packet, out| {
            check(
                header.next_header == GRH_NEXT_HEADER_BTH,
                Reason::GrhNextHeader,
            )?;
            transport(packet, None, out)
        },
    )
}

/// A packet from its network header on, and the position up to which it has been read.
#[derive(Clone, Copy)]
struct Packet<'a> {
    kind: IpKind,
    /// The bytes that are present; at most `announced` bytes after [`whole_packet`].
    network: &'a [u8],
    /// Length of the packet according to the network header, including that header.
    announced: usize,
    /// Where the next layer begins.
    at: usize,
}

impl<'a> Packet<'a> {
    /// Announced bytes from the next layer on. Checks compare with this.
    fn left(&self) -> usize {
        self.announced - self.at
    }

    /// The bytes that are present from the next layer on. There are fewer than [`left`](Self::left) only in a packet
    /// that was cut short.
    fn rest(&self) -> &'a [u8] {
        self.network.get(self.at..).unwrap_or(&[])
    }

    fn skip(self, bytes: usize) -> Self {
        Self {
            at: self.at + bytes,
            ..self
        }
    }
}

/// Continues with the next layer if all announced bytes are present.
///
/// If not, the packet is malformed. Its headers, read as if nothing had been cut, then determine which payload bytes
/// had been handed on before the end of the frame.
fn whole_packet<'a>(
    packet: Packet<'a>,
    out: &mut ParsedFrame,
    further: impl Fn(Packet<'a>, &mut ParsedFrame) -> Walk,
) -> Walk {
    if let Some(network) = packet.network.get(..packet.announced) {
        // Bytes after the packet are Ethernet padding.
        return further(Packet { network, ..packet }, out);
    }
    if out.reason.is_none() {
        let mut as_if_whole = ParsedFrame::empty(out.frame_bytes);
        if further(packet, &mut as_if_whole).is_ok_and(Verdict::is_roce) {
            out.payload = as_if_whole.payload;
        }
    }
    Err(Reason::IpTruncated)
}

fn udp(packet: Packet<'_>, out: &mut ParsedFrame) -> Walk {
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

fn transport(packet: Packet<'_>, udp_src_port: Option<u16>, out: &mut ParsedFrame) -> Walk {
    let transport_bytes = packet.left();
    check(
        transport_bytes >= BthRepr::LEN + ICRC_BYTES,
        Reason::BthTruncated,
    )?;
    let bth = BthRepr::parse(&Bth::new_checked(packet.rest()).map_err(|_| Reason::BthTruncated)?);
    out.bth = Some(bth);
    out.udp_src_port = udp_src_port;
    check(transport_bytes.is_multiple_of(4), Reason::IbAlignment)?;
    out.icrc_ok = icrc_ok(packet);
    check(bth.tver == 0, Reason::BthVersion)?;

    let is_cnp = bth.opcode == Opcode::CNP;
    let layout = bth
        .opcode
        .layout()
        .filter(|_| !(is_cnp && packet.kind == IpKind::Grh))
        .ok_or(Reason::UnknownOpcode)?;
    check(
        transport_bytes >= BthRepr::LEN + layout.bytes() + ICRC_BYTES,
        Reason::HeaderTruncated,
    )?;
    let packet = packet.skip(BthRepr::LEN);
    out.ext = Some(ExtHeaders::parse(layout, packet.rest()).map_err(|_| Reason::HeaderTruncated)?);

    payload(packet.skip(layout.bytes()), bth, out)?;
    Ok(match packet.kind {
        _ if is_cnp => Verdict::Cnp,
        IpKind::Grh => Verdict::RoceV1,
        IpKind::V4 | IpKind::V6 => Verdict::RoceV2,
    })
}

fn payload(packet: Packet<'_>, bth: BthRepr, out: &mut ParsedFrame) -> Result<(), Reason> {
    let padded = packet.left() - ICRC_BYTES;
    let pad = usize::from(bth.pad);
    check(pad <= padded, Reason::PadCount)?;
    check(
        padded == 0 || bth.opcode.has_payload(),
        Reason::UnexpectedPayload,
    )?;
    let announced = padded - pad;
    out.payload_bytes = Some(
        u16::try_from(announced)
            .expect("the lengths on the wire have 16 bits, and headers are counted in"),
    );
    if out.reason.is_none() {
        let rest = packet.rest();
        out.payload = rest[..announced.min(rest.len())].to_vec();
    }
    Ok(())
}

/// Whether the ICRC is correct; `None` when the end of the packet is missing.
fn icrc_ok(packet: Packet<'_>) -> Option<bool> {
    let (covered, icrc_bytes) = packet
        .network
        .get(..packet.announced)?
        .split_at(packet.announced - ICRC_BYTES);
    Some(icrc(packet.kind, covered).ok()? == icrc_bytes)
}

#[cfg(test)]
mod tests;
