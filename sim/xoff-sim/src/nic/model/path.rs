//! Builds the frames of a QP: [`Descriptor::build`] once for all headers, then only what changes from packet to
//! packet.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::frame::FrameBytes;
use crate::host::memory::Extent;
use crate::host::payload::Payload;
use crate::nic::QpSettings;
use crate::protocol::gbn::{Request, Response};
use crate::protocol::{Content, Descriptor, IpFields, RocePacket, icrc};
use crate::wire::frame::IpKind;
use crate::wire::{
    BthRepr, CnpRepr, EthernetRepr, ExtHeaders, ICRC_BYTES, Ipv4Repr, Ipv6Repr, MIN_FRAME_BYTES,
    Opcode, Qpn, Tci, UdpRepr, VlanTagRepr, address_bits, ones_complement_sum,
};

/// ECT(0) in the ECN field (RFC 3168 §5).
const ECT_0: u8 = 0b10;
/// "Don't fragment", one of the three flags of IPv4.
const DONT_FRAGMENT: u8 = 0b010;

/// The path of a QP's packets: their headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::nic) struct Path {
    /// Headers from the destination address to the BTH. The traffic class has the DSCP and is not ECN capable.
    /// Lengths, identification, checksum, opcode and PSN are filled in for each packet.
    head: Vec<u8>,
    ipv6: bool,
    network: usize,
    /// DSCP and PCP of answers.
    answers: (u8, u8),
}

/// What a packet is to those who look at DSCP, PCP and ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nic) enum SentAs {
    /// A request, a READ response, the response of an atomic.
    Request { ecn_capable: bool },
    /// An ACK or a NAK.
    Answer,
    /// A CNP.
    Cnp { dscp: u8, pcp: u8 },
}

/// A frame, already padded, that is complete but for what is known only when it is sent: identification, checksum,
/// ICRC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::nic) struct Draft {
    /// All of it, or all up to the payload.
    bytes: Vec<u8>,
    /// Offset of the ICRC.
    end: usize,
    /// Bytes of payload.
    pub(super) payload: usize,
    /// The payload, if it is not written.
    content: Option<Extent>,
}

impl Draft {
    /// Of no frame.
    #[cfg(test)]
    pub(super) const fn none() -> Self {
        Self {
            bytes: Vec::new(),
            end: 0,
            payload: 0,
            content: None,
        }
    }

    /// Length of the frame, without FCS.
    pub(super) fn len(&self) -> usize {
        (self.end + ICRC_BYTES).max(MIN_FRAME_BYTES)
    }
}

impl Path {
    /// The path of a QP. `None` when its settings do not allow a frame: the two addresses are of different kinds,
    /// there are more than two tags, or the peer's QP number has more than 24 bits.
    pub(in crate::nic) fn new(qp: &QpSettings) -> Option<Self> {
        let ipv6 = qp.own.ip.is_ipv6();
        if qp.peer.ip.is_ipv6() != ipv6 {
            return None;
        }
        let tci = |tag: &u16| Tci {
            pcp: (tag >> 13) as u8,
            dei: tag >> 12 & 1 != 0,
            vid: tag & 0xFFF,
        };
        let descriptor = Descriptor {
            dst: qp.peer.mac,
            src: qp.own.mac,
            tags: qp.tags.iter().map(tci).collect(),
            content: Content::Roce(RocePacket {
                ip: IpFields {
                    kind: if ipv6 { IpKind::V6 } else { IpKind::V4 },
                    traffic_class: qp.dscp << 2,
                    flow_label: 0,
                    id: 0,
                    flags: if ipv6 { 0 } else { DONT_FRAGMENT },
                    hop_limit: qp.hop_limit,
                    src: address_bits(qp.own.ip),
                    dst: address_bits(qp.peer.ip),
                },
                udp_src_port: Some(qp.udp_port),
                bth: BthRepr {
                    opcode: Opcode::RC_SEND_ONLY,
                    pkey: qp.pkey,
                    dest_qp: Qpn::new(qp.peer_qpn).ok()?,
                    ..BthRepr::default()
                },
                ext: ExtHeaders::default(),
                payload: Vec::new(),
            }),
        };
        let mut head = descriptor.build().ok()?;
        let network = EthernetRepr::LEN + qp.tags.len() * VlanTagRepr::LEN;
        let ip = if ipv6 { Ipv6Repr::LEN } else { Ipv4Repr::LEN };
        head.truncate(network + ip + UdpRepr::LEN + BthRepr::LEN);
        Some(Self {
            head,
            ipv6,
            network,
            answers: qp.of_answers(),
        })
    }

    /// Whether the packets have VLAN tags.
    pub(super) const fn tagged(&self) -> bool {
        self.network > EthernetRepr::LEN
    }

    /// Offset of the BTH.
    fn bth(&self) -> usize {
        self.head.len() - BthRepr::LEN
    }

    /// Length of a request's frame, without FCS.
    pub(super) fn request_bytes(&self, request: &Request) -> usize {
        let padded = usize::from(request.payload_bytes).next_multiple_of(4);
        let ext = request.opcode.layout().map_or(0, |layout| layout.bytes());
        (self.head.len() + ext + padded + ICRC_BYTES).max(MIN_FRAME_BYTES)
    }

    /// Drafts a request's frame.
    pub(super) fn request(&self, request: &Request, payload: &Payload, ecn_capable: bool) -> Draft {
        let layout = request.opcode.layout().unwrap_or_default();
        let mut draft = self.draft(request.opcode, layout.bytes(), payload);
        let bth = self.bth();
        let bytes = &mut draft.bytes;
        bytes[bth + 1] |= u8::from(request.solicited) << 7;
        bytes[bth + 8..bth + 12].copy_from_slice(&request.psn.get().to_be_bytes());
        bytes[bth + 8] = u8::from(request.ack_req) << 7;
        if ecn_capable {
            self.traffic_class(bytes, |class| class | ECT_0);
        }
        let mut at = bth + BthRepr::LEN;
        let mut put = |value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        };
        if layout.reth {
            put(&request.va.to_be_bytes());
            put(&request.rkey.to_be_bytes());
            put(&request.dma_len.to_be_bytes());
        }
        if layout.imm || layout.ieth {
            put(&request.imm.to_be_bytes());
        }
        if layout.atomic {
            put(&request.va.to_be_bytes());
            put(&request.rkey.to_be_bytes());
            put(&request.swap_add.to_be_bytes());
            put(&request.compare.to_be_bytes());
        }
        draft
    }

    /// Drafts the frame of an ACK or a NAK.
    pub(super) fn answer(&self, response: &Response) -> Draft {
        let mut draft = self.answer_with(response, &Payload::default());
        let bytes = &mut draft.bytes;
        let (dscp, pcp) = self.answers;
        self.mark(bytes, dscp << 2, pcp);
        draft
    }

    /// Drafts the frame of a READ response or the response of an atomic.
    pub(super) fn response(
        &self,
        response: &Response,
        payload: &Payload,
        ecn_capable: bool,
    ) -> Draft {
        let mut draft = self.answer_with(response, payload);
        if ecn_capable {
            self.traffic_class(&mut draft.bytes, |class| class | ECT_0);
        }
        draft
    }

    /// Drafts the headers of an answer.
    fn answer_with(&self, response: &Response, payload: &Payload) -> Draft {
        let layout = response.opcode.layout().unwrap_or_default();
        let mut draft = self.draft(response.opcode, layout.bytes(), payload);
        let at = self.bth() + BthRepr::LEN;
        let bytes = &mut draft.bytes;
        bytes[at - 4..at].copy_from_slice(&response.psn.get().to_be_bytes());
        if layout.aeth {
            bytes[at..at + 4].copy_from_slice(&response.msn.get().to_be_bytes());
            bytes[at] = response.syndrome.0;
        }
        if layout.atomic_ack {
            bytes[at + 4..at + 12].copy_from_slice(&response.original.to_be_bytes());
        }
        draft
    }

    /// Drafts a CNP.
    pub(super) fn cnp(&self, dscp: u8, pcp: u8) -> Draft {
        let mut draft = self.draft(Opcode::CNP, CnpRepr::LEN, &Payload::default());
        let bth = self.bth();
        // Sets BECN.
        draft.bytes[bth + 4] = 0x40;
        self.mark(&mut draft.bytes, dscp << 2 | ECT_0, pcp);
        draft
    }

    /// Gives a frame another traffic class, and another PCP if it has a tag.
    fn mark(&self, bytes: &mut [u8], traffic_class: u8, pcp: u8) {
        self.traffic_class(bytes, |_| traffic_class);
        if self.tagged() {
            let tci = &mut bytes[EthernetRepr::LEN];
            *tci = pcp << 5 | *tci & 0x1F;
        }
    }

    /// Drafts the frame of a packet that is given from its BTH to its last pad byte: at least a BTH, and a multiple of
    /// 4 bytes that fits in the 16-bit lengths.
    pub(in crate::nic) fn packet(&self, packet: &[u8], sent_as: SentAs) -> Draft {
        let behind = Bytes::copy_from_slice(&packet[BthRepr::LEN..]);
        let mut draft = self.draft(Opcode::default(), 0, &behind.into());
        let bth = self.bth();
        draft.bytes[bth..bth + BthRepr::LEN].copy_from_slice(&packet[..BthRepr::LEN]);
        let bytes = &mut draft.bytes;
        match sent_as {
            SentAs::Request { ecn_capable: true } => {
                self.traffic_class(bytes, |class| class | ECT_0)
            }
            SentAs::Request { ecn_capable: false } => {}
            SentAs::Answer => self.mark(bytes, self.answers.0 << 2, self.answers.1),
            SentAs::Cnp { dscp, pcp } => self.mark(bytes, dscp << 2 | ECT_0, pcp),
        }
        draft
    }

    /// Drafts a packet with so many bytes of extension headers, which are left out.
    fn draft(&self, opcode: Opcode, ext: usize, payload: &Payload) -> Draft {
        let padded = payload.len().next_multiple_of(4);
        let headers = self.head.len() + ext;
        let end = headers + padded;
        let content = match payload {
            Payload::Content(extent) if extent.len() >= FrameBytes::CONTENT_MIN => Some(*extent),
            _ => None,
        };
        let written = match content {
            Some(_) => headers,
            None => (end + ICRC_BYTES).max(MIN_FRAME_BYTES),
        };
        let mut bytes = Vec::with_capacity(written);
        bytes.extend_from_slice(&self.head);
        bytes.resize(written, 0);
        if content.is_none() {
            payload.read(&mut bytes[headers..headers + payload.len()]);
        }
        let bth = self.bth();
        let udp = bth - UdpRepr::LEN;
        let datagram = (end + ICRC_BYTES - udp) as u16;
        bytes[udp + 4..udp + 6].copy_from_slice(&datagram.to_be_bytes());
        let ip = self.network;
        if self.ipv6 {
            bytes[ip + 4..ip + 6].copy_from_slice(&datagram.to_be_bytes());
        } else {
            let total = datagram + Ipv4Repr::LEN as u16;
            bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
        }
        bytes[bth] = opcode.0;
        bytes[bth + 1] = ((padded - payload.len()) as u8) << 4;
        Draft {
            bytes,
            end,
            payload: payload.len(),
            content,
        }
    }

    fn traffic_class(&self, bytes: &mut [u8], change: impl FnOnce(u8) -> u8) {
        let ip = &mut bytes[self.network..];
        if self.ipv6 {
            let class = change(ip[0] << 4 | ip[1] >> 4);
            ip[0] = 0x60 | class >> 4;
            ip[1] = class << 4;
        } else {
            ip[1] = change(ip[1]);
        }
    }

    /// Completes a frame for transmission. `id` counts the port's frames with an IPv4 header.
    pub(in crate::nic) fn finish(&self, draft: Draft, id: &mut u16) -> FrameBytes {
        let Draft {
            mut bytes,
            end,
            content,
            ..
        } = draft;
        if !self.ipv6 {
            let header = &mut bytes[self.network..self.network + Ipv4Repr::LEN];
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[10..12].fill(0);
            let checksum = !ones_complement_sum(header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            *id = id.wrapping_add(1);
        }
        if let Some(content) = content {
            return FrameBytes::of(bytes.into(), content);
        }
        let kind = if self.ipv6 { IpKind::V6 } else { IpKind::V4 };
        let icrc = icrc(kind, &bytes[self.network..end]).expect("all headers are written");
        bytes[end..end + ICRC_BYTES].copy_from_slice(&icrc);
        bytes.into()
    }
}

#[cfg(test)]
mod tests;
