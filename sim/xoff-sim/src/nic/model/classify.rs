//! Classification of a frame by its content, before its QP is looked up.

use bytes::Bytes;

use crate::frame::FrameBytes;
use crate::host::payload::Payload;
use crate::nic::qp::vlans;
use crate::nic_registers as reg;
use crate::protocol::gbn::Arrival;
use crate::protocol::gbn::requester::reading::Returned;
use crate::protocol::parser::parse_headers;
use crate::wire::frame::{ControlHead, IpKind, ParsedFrame, Reason, Verdict};
use crate::wire::{AethRepr, MacAddr, Opcode, Psn, Syndrome, Walk};

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
const PAYLOAD_MAX: u16 = 4096;
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
    let dst = frame.headers().first_chunk().copied().map(MacAddr);
    let control = matches!(classified, Classified::Control(_));
    let taken = dst == Some(own) || (control && dst == Some(MacAddr::CONTROL));
    match taken {
        true => classified,
        false => Classified::Dropped(reg::DROP_ADDRESS),
    }
}

/// Classifies a frame by what the reference parser says of its headers. The payload is not copied, and need not be
/// written.
fn read(frame: &FrameBytes) -> Classified {
    let Some(walk) = Walk::of(frame.headers()) else {
        return Classified::Dropped(reg::DROP_MALFORMED);
    };
    let (parsed, payload) = parse_headers(&walk, frame.len());
    let payload = || match frame.content() {
        Some(content) => Payload::Content(content),
        None => frame.headers().slice(payload).into(),
    };
    let classified = match parsed.verdict {
        Verdict::Pfc | Verdict::Pause => parsed.control.map(Classified::Control),
        Verdict::Other => return Classified::Dropped(reg::DROP_NOT_ROCE),
        Verdict::Malformed if parsed.reason == Some(Reason::UnknownOpcode) => reserved(&parsed),
        Verdict::Malformed => None,
        Verdict::RoceV1 => return Classified::Dropped(reg::DROP_ROCE_V1),
        Verdict::Cnp | Verdict::RoceV2 if parsed.icrc_ok != Some(true) => {
            return Classified::Dropped(reg::DROP_ICRC);
        }
        Verdict::Cnp | Verdict::RoceV2 => packet(&parsed, payload),
    };
    classified.unwrap_or(Classified::Dropped(reg::DROP_MALFORMED))
}

/// What identifies the QP and the class of a packet of which the parser has read so much.
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
    let addressed = addressed(frame)?;
    Some(Classified::Request(addressed, arrival, Payload::default()))
}

/// Classifies a complete RoCEv2 packet, whose layers are all present. A payload that is too long for any path is not
/// kept.
fn packet(frame: &ParsedFrame, payload: impl FnOnce() -> Payload) -> Option<Classified> {
    let (bth, ext, length) = (frame.bth?, frame.ext?, frame.payload_bytes?);
    let addressed = addressed(frame)?;
    let opcode = bth.opcode;
    if opcode == Opcode::CNP {
        return Some(Classified::Cnp(addressed));
    }
    if opcode.0 >> 5 != 0 {
        return Some(Classified::Dropped(reg::DROP_SERVICE));
    }
    if opcode == Opcode::RC_ACK {
        return Some(Classified::Answer(addressed, bth.psn, ext.aeth?));
    }
    let (bytes, payload) = match (ext.atomic_ack, length) {
        (Some(ack), _) => (
            8,
            Bytes::copy_from_slice(&ack.original.to_le_bytes()).into(),
        ),
        (None, 0) => (0, Payload::default()),
        (None, ..=PAYLOAD_MAX) => (length, payload()),
        (None, _) => (TOO_LONG, Payload::default()),
    };
    if opcode.is_read_response() || opcode == Opcode::RC_ATOMIC_ACK {
        let returned = Returned {
            opcode,
            psn: bth.psn,
            syndrome: ext.aeth.map_or(Syndrome::ACK, |aeth| aeth.syndrome),
            bytes,
        };
        return Some(Classified::Response(addressed, returned, payload));
    }
    let reth = ext.reth.unwrap_or_default();
    let atomic = ext.atomic.unwrap_or_default();
    let is_atomic = ext.atomic.is_some();
    let arrival = Arrival {
        operation: opcode.0,
        psn: bth.psn,
        ack_req: bth.ack_req,
        solicited: bth.solicited,
        payload_bytes: bytes,
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
    Some(Classified::Request(addressed, arrival, payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::memory::Extent;
    use crate::protocol::Content;
    use crate::strategies;
    use crate::wire::ICRC_BYTES;

    proptest! {
        /// A packet is the same whether its payload is written or named.
        #[test]
        fn a_payload_need_not_be_written(
            mut descriptor in strategies::roce_descriptor(), va: u64, length in 64..=PAYLOAD_MAX,
        ) {
            let Content::Roce(packet) = &mut descriptor.content else {
                return Ok(());
            };
            if packet.ip.kind == IpKind::Grh || packet.payload.is_empty() {
                return Ok(());
            }
            let extent = Extent::new(va, length).unwrap();
            packet.payload.resize(length.into(), 0);
            extent.read(&mut packet.payload);
            let (payload, rc) = (packet.payload.clone(), packet.bth.opcode.0 >> 5 == 0);
            let bytes = Bytes::from(descriptor.build().unwrap());
            let behind = payload.len().next_multiple_of(4) + ICRC_BYTES;
            let headers = bytes.slice(..bytes.len() - behind);
            let (named, written) = (read(&FrameBytes::of(headers, extent)), read(&bytes.into()));
            prop_assert_eq!(&named, &written);
            match written {
                Classified::Request(_, _, carried) | Classified::Response(_, _, carried) => {
                    prop_assert_eq!(carried.bytes(), payload);
                }
                other => prop_assert!(!rc && other == Classified::Dropped(reg::DROP_SERVICE)),
            }
        }
    }
}
