//! Classification of a frame by its content, before its QP is looked up.

use bytes::Bytes;

use crate::frame::FrameBytes;
use crate::host::payload::Payload;
use crate::nic::qp::vlans;
use crate::nic_registers as reg;
use crate::protocol::gbn::Arrival;
use crate::protocol::gbn::requester::reading::Returned;
use crate::protocol::icrc::usual_icrc;
use crate::protocol::parse;
use crate::wire::frame::{ControlHead, IpKind, ParsedFrame, Reason, Verdict};
use crate::wire::{
    AethRepr, BthRepr, EtherType, EthernetRepr, ICRC_BYTES, IP_PROTOCOL_UDP, Ipv4Repr, Ipv6Repr,
    MacAddr, Msn, Opcode, Psn, Syndrome, UDP_PORT_ROCE, UdpRepr, VlanTagRepr,
};

/// The fields of a packet that identify its QP and its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addressed {
    /// Destination QP number.
    pub(super) qpn: u32,
    pub(super) pkey: u16,
    pub(super) ipv6: bool,
    /// Source address; IPv4 in the low 32 bits.
    pub(super) src: u128,
    /// Destination address; IPv4 in the low 32 bits.
    pub(super) dst: u128,
    /// PCP of the outer tag; 0 without tags.
    pub(super) pcp: u8,
    pub(super) vlans: [u16; 2],
    /// DSCP and ECN.
    pub(super) traffic_class: u8,
}

/// Payload bytes at the largest path MTU (IBTA volume 1 §9.7.4.1.6): a packet with more payload is not valid on any
/// path.
const PAYLOAD_MAX: usize = 4096;
/// In place of a length above that: more than any path MTU, too. Its payload is not kept.
const TOO_LONG: u16 = 0x8000;

/// The result of the classification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Classified {
    /// PFC or PAUSE.
    Control(ControlHead),
    /// The frame is dropped; the register of the counter that counts it.
    Dropped(u16),
    /// A CNP.
    Cnp(Addressed),
    /// A READ response or the response of an atomic, with its payload or the original, little-endian.
    Response(Addressed, Returned, Payload),
    /// An ACK or NAK.
    Answer(Addressed, Psn, AethRepr),
    /// A request. `access` is not filled in yet.
    Request(Addressed, Arrival, Payload),
}

/// Classifies a frame as the MAC hands it over. `own` is the port's MAC address: only frames to it are taken, and PFC
/// and PAUSE to the MAC control address (IEEE 802.1Q clause 36, IEEE 802.3 annex 31B).
pub(super) fn look(frame: &FrameBytes, own: MacAddr) -> Classified {
    let classified = read(frame);
    let dst = bytes(frame.headers(), 0).map(MacAddr);
    let control = matches!(classified, Classified::Control(_));
    let taken = dst == Some(own) || (control && dst == Some(MacAddr::CONTROL));
    match taken {
        true => classified,
        false => Classified::Dropped(reg::DROP_ADDRESS),
    }
}

/// Reads a frame. Common packets are read here; all others go through the reference parser.
fn read(frame: &FrameBytes) -> Classified {
    usual(frame).unwrap_or_else(|| parsed(&parse(&frame.whole())))
}

/// Classifies a frame by the reference parser's result.
fn parsed(frame: &ParsedFrame) -> Classified {
    match frame.verdict {
        Verdict::Pfc | Verdict::Pause => match frame.control {
            Some(control) => Classified::Control(control),
            None => Classified::Dropped(reg::DROP_MALFORMED),
        },
        Verdict::Other => Classified::Dropped(reg::DROP_NOT_ROCE),
        Verdict::Malformed if frame.reason == Some(Reason::UnknownOpcode) => {
            reserved(frame).unwrap_or(Classified::Dropped(reg::DROP_MALFORMED))
        }
        Verdict::Malformed => Classified::Dropped(reg::DROP_MALFORMED),
        Verdict::RoceV1 => Classified::Dropped(reg::DROP_ROCE_V1),
        Verdict::Cnp | Verdict::RoceV2 if frame.icrc_ok != Some(true) => {
            Classified::Dropped(reg::DROP_ICRC)
        }
        Verdict::Cnp | Verdict::RoceV2 => {
            packet(frame).unwrap_or(Classified::Dropped(reg::DROP_MALFORMED))
        }
    }
}

fn addressed(frame: &ParsedFrame) -> Option<Addressed> {
    let (eth, ip, bth) = (frame.eth.as_ref()?, frame.ip?, frame.bth?);
    Some(Addressed {
        qpn: bth.dest_qp.get(),
        pkey: bth.pkey,
        ipv6: ip.kind == IpKind::V6,
        src: ip.src,
        dst: ip.dst,
        pcp: eth.tags.first().map_or(0, |tag| tag.pcp),
        vlans: vlans(eth.tags.iter().map(|tag| tag.vid)),
        traffic_class: ip.traffic_class,
    })
}

/// Classifies a packet whose opcode means nothing. One of RC is a request that the responder refuses (IBTA volume 1
/// §9.7.4.1); what follows its BTH is not known. `None` for any other.
fn reserved(frame: &ParsedFrame) -> Option<Classified> {
    let bth = frame.bth?;
    let rc = bth.opcode.0 >> 5 == 0 && frame.ip?.kind != IpKind::Grh;
    (rc && frame.icrc_ok == Some(true)).then_some(())?;
    let arrival = Arrival {
        operation: bth.opcode.0 & 0x1F,
        psn: bth.psn,
        ack_req: bth.ack_req,
        solicited: bth.solicited,
        ..Arrival::default()
    };
    Some(Classified::Request(
        addressed(frame)?,
        arrival,
        Payload::default(),
    ))
}

/// Classifies a complete RoCEv2 packet, whose layers are all present.
fn packet(frame: &ParsedFrame) -> Option<Classified> {
    let (bth, ext) = (frame.bth?, frame.ext?);
    let addressed = addressed(frame)?;
    if frame.verdict == Verdict::Cnp {
        return Some(Classified::Cnp(addressed));
    }
    if bth.opcode.0 >> 5 != 0 {
        return Some(Classified::Dropped(reg::DROP_SERVICE));
    }
    Some(match bth.opcode {
        Opcode::RC_ACK => Classified::Answer(addressed, bth.psn, ext.aeth?),
        Opcode::RC_READ_RESP_FIRST
        | Opcode::RC_READ_RESP_MIDDLE
        | Opcode::RC_READ_RESP_LAST
        | Opcode::RC_READ_RESP_ONLY
        | Opcode::RC_ATOMIC_ACK => {
            let (bytes, payload) = match ext.atomic_ack {
                Some(ack) => {
                    let original = ack.original.to_le_bytes();
                    (8, Bytes::copy_from_slice(&original).into())
                }
                None => payload_of(frame)?,
            };
            let returned = Returned {
                opcode: bth.opcode,
                psn: bth.psn,
                syndrome: ext.aeth.map_or(Syndrome::ACK, |aeth| aeth.syndrome),
                bytes,
            };
            Classified::Response(addressed, returned, payload)
        }
        opcode => {
            let (payload_bytes, payload) = payload_of(frame)?;
            let reth = ext.reth.unwrap_or_default();
            let atomic = ext.atomic.unwrap_or_default();
            let is_atomic = ext.atomic.is_some();
            let arrival = Arrival {
                operation: opcode.0 & 0x1F,
                psn: bth.psn,
                ack_req: bth.ack_req,
                solicited: bth.solicited,
                payload_bytes,
                access: false,
                va: if is_atomic { atomic.va } else { reth.va },
                rkey: if is_atomic { atomic.rkey } else { reth.rkey },
                dma_len: reth.dma_len,
                imm: match (ext.imm, ext.ieth) {
                    (Some(imm), _) => imm.imm,
                    (None, Some(ieth)) => ieth.rkey,
                    (None, None) => 0,
                },
                swap_add: atomic.swap_add,
                compare: atomic.compare,
            };
            Classified::Request(addressed, arrival, payload)
        }
    })
}

/// The payload of a packet and its length, which stands for itself where it is too long for any path.
fn payload_of(frame: &ParsedFrame) -> Option<(u16, Payload)> {
    Some(match frame.payload_bytes? {
        bytes if usize::from(bytes) > PAYLOAD_MAX => (TOO_LONG, Payload::default()),
        bytes => (bytes, Bytes::from(frame.payload.clone()).into()),
    })
}

/// The `N` bytes from `at` on.
fn bytes<const N: usize>(frame: &[u8], at: usize) -> Option<[u8; N]> {
    frame.get(at..)?.first_chunk().copied()
}

fn half(frame: &[u8], at: usize) -> Option<u16> {
    bytes(frame, at).map(u16::from_be_bytes)
}

/// What is in front of an IP header.
struct UsualLink {
    /// Where the header begins.
    ip_at: usize,
    ipv6: bool,
    /// The priority of the outermost tag.
    pcp: Option<u8>,
    tags: [u16; 2],
}

/// Reads what is in front of the IP header. `None` for another protocol.
#[inline]
fn usual_link(frame: &[u8]) -> Option<UsualLink> {
    let mut at = EthernetRepr::LEN;
    let mut ether_type = EtherType(half(frame, at - 2)?);
    let mut pcp = None;
    let mut tags = [0; 2];
    let mut count = 0;
    while ether_type.is_tag() && at < EthernetRepr::LEN + 2 * VlanTagRepr::LEN {
        pcp = pcp.or(Some(frame.get(at)? >> 5));
        tags[count] = half(frame, at)?;
        count += 1;
        ether_type = EtherType(half(frame, at + 2)?);
        at += VlanTagRepr::LEN;
    }
    let ipv6 = match ether_type {
        EtherType::IPV4 => false,
        EtherType::IPV6 => true,
        _ => return None,
    };
    Some(UsualLink {
        ip_at: at,
        ipv6,
        pcp,
        tags,
    })
}

/// What an IP header without options says.
struct UsualIp {
    /// Bytes of the packet with this header.
    announced: usize,
    protocol: u8,
    traffic_class: u8,
    src: u128,
    dst: u128,
}

/// Reads an IP header. `None` for options, fragments, a wrong version and a wrong checksum.
#[inline]
fn usual_ip(ip: &[u8], ipv6: bool) -> Option<UsualIp> {
    if ipv6 {
        return (ip[0] >> 4 == 6).then_some(UsualIp {
            announced: ip.len() + usize::from(half(ip, 4)?),
            protocol: ip[6],
            traffic_class: ip[0] << 4 | ip[1] >> 4,
            src: u128::from_be_bytes(bytes(ip, 8)?),
            dst: u128::from_be_bytes(bytes(ip, 24)?),
        });
    }
    // Is a fragment (MF or an offset); the reserved bit and DF do not matter.
    if ip[0] != 0x45 || half(ip, 6)? & 0x3FFF != 0 || sum(ip) != 0xFFFF {
        return None;
    }
    let [src, dst] = [12, 16].map(|at| bytes(ip, at).map(u32::from_be_bytes));
    Some(UsualIp {
        announced: usize::from(half(ip, 2)?),
        protocol: ip[9],
        traffic_class: ip[1],
        src: src?.into(),
        dst: dst?.into(),
    })
}

/// Classifies SENDs, WRITEs, ACKs and READ responses in complete UDP datagrams without IPv4 options or fragments.
/// `None` for anything else, or if something is wrong.
fn usual(whole: &FrameBytes) -> Option<Classified> {
    let frame = whole.headers();
    let UsualLink {
        ip_at: at,
        ipv6,
        pcp,
        tags,
    } = usual_link(frame)?;
    let ip_bytes = if ipv6 { Ipv6Repr::LEN } else { Ipv4Repr::LEN };
    let UsualIp {
        announced,
        protocol,
        traffic_class,
        src,
        dst,
    } = usual_ip(frame.get(at..at + ip_bytes)?, ipv6)?;
    // What is not written of the packet is payload, pad and ICRC.
    let end = at
        .checked_add(announced)
        .filter(|end| *end <= whole.len())?;
    let packet = frame.get(at..end.min(frame.len()))?;
    let datagram = announced.checked_sub(ip_bytes)?;
    let udp = packet.get(ip_bytes..ip_bytes + UdpRepr::LEN)?;
    if protocol != IP_PROTOCOL_UDP
        || half(udp, 2)? != UDP_PORT_ROCE
        || usize::from(half(udp, 4)?) != datagram
    {
        return None;
    }
    let transport = datagram - UdpRepr::LEN;
    let bth_at = ip_bytes + UdpRepr::LEN;
    let bth: [u8; BthRepr::LEN] = bytes(packet, bth_at)?;
    let opcode = Opcode(bth[0]);
    let (reth, imm, aeth) = extensions(opcode)?;
    let ext_at = bth_at + BthRepr::LEN;
    let ext_bytes = 16 * usize::from(reth) + 4 * usize::from(imm) + 4 * usize::from(aeth);
    let padded = transport.checked_sub(BthRepr::LEN + ext_bytes + ICRC_BYTES)?;
    let pad = usize::from(bth[1] >> 4 & 3);
    let version = bth[1] & 0x0F;
    if !transport.is_multiple_of(4)
        || version != 0
        || pad > padded
        || opcode == Opcode::RC_ACK && padded > 0
    {
        return None;
    }
    let from = at + ext_at + ext_bytes;
    let content = whole.content();
    if let Some(content) = content {
        if (frame.len(), content.len()) != (from, padded - pad) {
            return None;
        }
    } else {
        let (covered, icrc) = packet.split_at(announced - ICRC_BYTES);
        if usual_icrc(ipv6, covered) != icrc {
            return Some(Classified::Dropped(reg::DROP_ICRC));
        }
    }
    let too_long = padded - pad > PAYLOAD_MAX;
    let word = |at: usize| bytes(&bth, at).map(u32::from_be_bytes);
    let addressed = Addressed {
        qpn: word(4)? & 0xFF_FFFF,
        pkey: half(&bth, 2)?,
        ipv6,
        src,
        dst,
        pcp: pcp.unwrap_or(0),
        vlans: vlans(tags),
        traffic_class,
    };
    let psn = Psn::wrapping(word(8)?);
    let ext = packet.get(ext_at..ext_at + ext_bytes)?;
    if opcode == Opcode::RC_ACK {
        let aeth = AethRepr {
            syndrome: Syndrome(ext[0]),
            msn: Msn::default().advance(u32::from_be_bytes(bytes(ext, 0)?)),
        };
        return Some(Classified::Answer(addressed, psn, aeth));
    }
    let payload_bytes = match too_long {
        true => TOO_LONG,
        false => (padded - pad) as u16,
    };
    let payload = || match content {
        Some(content) => Payload::Content(content),
        None if too_long => Payload::default(),
        None => whole.whole().slice(from..from + padded - pad).into(),
    };
    if opcode.is_read_response() {
        let returned = Returned {
            opcode,
            psn,
            syndrome: if aeth {
                Syndrome(ext[0])
            } else {
                Syndrome::ACK
            },
            bytes: payload_bytes,
        };
        return Some(Classified::Response(addressed, returned, payload()));
    }
    let mut arrival = Arrival {
        operation: opcode.0,
        psn,
        ack_req: bth[8] & 0x80 != 0,
        solicited: bth[1] & 0x80 != 0,
        payload_bytes,
        ..Arrival::default()
    };
    if reth {
        arrival.va = u64::from_be_bytes(bytes(ext, 0)?);
        arrival.rkey = u32::from_be_bytes(bytes(ext, 8)?);
        arrival.dma_len = u32::from_be_bytes(bytes(ext, 12)?);
    }
    if imm {
        arrival.imm = u32::from_be_bytes(bytes(ext, ext_bytes - 4)?);
    }
    Some(Classified::Request(addressed, arrival, payload()))
}

/// Whether an opcode has a RETH, four bytes of immediate data or key, an AETH. `None` for opcodes that are not
/// common.
const fn extensions(opcode: Opcode) -> Option<(bool, bool, bool)> {
    Some(match opcode {
        Opcode::RC_SEND_FIRST
        | Opcode::RC_SEND_MIDDLE
        | Opcode::RC_SEND_LAST
        | Opcode::RC_SEND_ONLY
        | Opcode::RC_WRITE_MIDDLE
        | Opcode::RC_WRITE_LAST => (false, false, false),
        Opcode::RC_SEND_LAST_IMM
        | Opcode::RC_SEND_ONLY_IMM
        | Opcode::RC_SEND_LAST_INV
        | Opcode::RC_SEND_ONLY_INV
        | Opcode::RC_WRITE_LAST_IMM => (false, true, false),
        Opcode::RC_WRITE_FIRST | Opcode::RC_WRITE_ONLY => (true, false, false),
        Opcode::RC_WRITE_ONLY_IMM => (true, true, false),
        Opcode::RC_ACK
        | Opcode::RC_READ_RESP_FIRST
        | Opcode::RC_READ_RESP_LAST
        | Opcode::RC_READ_RESP_ONLY => (false, false, true),
        Opcode::RC_READ_RESP_MIDDLE => (false, false, false),
        _ => return None,
    })
}

/// The ones' complement sum of an IPv4 header (RFC 791): 0xFFFF when its checksum is correct.
pub(super) fn sum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::strategies;

    fn agree(frame: &[u8]) -> Result<bool, TestCaseError> {
        let by_parser = parsed(&parse(frame));
        let frame = FrameBytes::from(frame.to_vec());
        let by_hand = usual(&frame);
        if let Some(seen) = &by_hand {
            prop_assert_eq!(seen, &by_parser);
        }
        prop_assert_eq!(read(&frame), by_parser);
        Ok(by_hand.is_some())
    }

    proptest! {
        #[test]
        fn the_short_way_sees_what_the_parser_sees(frame in strategies::any_frame()) {
            agree(&frame)?;
        }

        #[test]
        fn in_whole_packets_too(descriptor in strategies::roce_descriptor()) {
            agree(&descriptor.build().unwrap())?;
        }
    }

    #[test]
    fn most_requests_and_answers_go_the_short_way() {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::TestRunner;

        let mut runner = TestRunner::deterministic();
        let mut short = 0;
        for _ in 0..400 {
            let tree = strategies::roce_descriptor().new_tree(&mut runner).unwrap();
            let frame = tree.current().build().unwrap();
            short += u32::from(agree(&frame).unwrap());
        }
        assert!(short > 40, "{short} of 400");
    }
}
