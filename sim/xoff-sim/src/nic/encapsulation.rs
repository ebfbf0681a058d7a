//! Ethernet, IP, UDP and ICRC around the packets of a NIC whose streams begin with the BTH.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::model::path::{Path, SentAs};
use super::{Address, DcqcnSettings, QpSettings};
use crate::mac::Beat;
use crate::nic::qp::vlans;
use crate::nic_registers as reg;
use crate::protocol::parser::parse_walk;
use crate::wire::frame::{IpKind, Reason, Verdict};
use crate::wire::{BthRepr, ICRC_BYTES, Ipv4Repr, Opcode, UdpRepr, Walk, address_bits};

/// The longest packet from the BTH to its last pad byte: with IPv4, UDP and ICRC it has to fit in the 16-bit total
/// length, and it is a multiple of 4.
const PACKET_MAX: usize = (u16::MAX as usize - Ipv4Repr::LEN - UdpRepr::LEN - ICRC_BYTES) / 4 * 4;

/// Why a packet of the NIC cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncapsulationError {
    /// The length is not that of a packet from the BTH on.
    #[error(
        "a packet of {bytes} bytes from the BTH on: {}, 16 … {PACKET_MAX} are right, since the NIC adds the pad",
        BthRepr::LEN
    )]
    Length {
        /// The length.
        bytes: usize,
    },
    /// The QP that is said to send the packet is not connected.
    #[error("a packet of QP index {index}, which is not connected")]
    NotConnected {
        /// The QP's index.
        index: u16,
    },
    /// No connected QP has the packet's destination as its other end.
    #[error("a packet to QPN {qpn:#x}, which is the other end of no connected QP")]
    NoEnd {
        /// The destination QPN.
        qpn: u32,
    },
    /// Several connected QPs have the packet's destination QPN at their other ends.
    #[error(
        "a packet to QPN {qpn:#x}, which is the other end of QP indices {} and {}: `Driver::sends_from` has to say which",
        indices[0], indices[1]
    )]
    SeveralEnds {
        /// The destination QPN.
        qpn: u32,
        /// The first two QPs.
        indices: [u16; 2],
    },
    /// The addresses of a QP's two ends do not fit together.
    #[error(
        "QP index {index} connects {own} with {peer} and QPN {qpn:#x}: no frame has these addresses"
    )]
    Path {
        /// The QP's index.
        index: u16,
        /// The own address.
        own: IpAddr,
        /// The peer's address.
        peer: IpAddr,
        /// The peer's QPN.
        qpn: u32,
    },
}

/// A connected QP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    path: Path,
    /// The QPN that packets to this QP have.
    qpn: u32,
    peer_qpn: u32,
    /// Own and peer's address; IPv4 in the low 32 bits.
    addresses: [u128; 2],
    ipv6: bool,
    vlans: [u16; 2],
}

/// The layers around the packets of a port.
///
/// A packet that is sent gets the addresses, DSCP, tags and UDP port of its QP; see [`wrap`](Self::wrap) for how the QP
/// is found. A received packet has to be for a connected QP and to come from the QP's other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encapsulation {
    own: Address,
    /// DSCP and PCP of CNPs, if DCQCN is on.
    cnps: Option<(u8, u8)>,
    /// By QP index.
    ends: BTreeMap<u16, End>,
    /// The beats of the packet that the NIC is handing over.
    open: Vec<u8>,
    /// IPv4 identification of the next packet.
    ip_id: u16,
}

impl Encapsulation {
    /// The layers of a port with these addresses, without QPs. With DCQCN, packets other than answers are ECN capable.
    pub fn new(own: Address, dcqcn: Option<&DcqcnSettings>) -> Self {
        Self {
            own,
            cnps: dcqcn.map(|dcqcn| (dcqcn.cnp_dscp, dcqcn.cnp_pcp)),
            ends: BTreeMap::new(),
            open: Vec::new(),
            ip_id: 0,
        }
    }

    /// Connects a QP that has the number `qpn`.
    ///
    /// # Errors
    ///
    /// [`EncapsulationError::Path`].
    pub fn connect(
        &mut self,
        index: u16,
        qpn: u32,
        qp: &QpSettings,
    ) -> Result<(), EncapsulationError> {
        let path = Path::new(qp).ok_or(EncapsulationError::Path {
            index,
            own: qp.own.ip,
            peer: qp.peer.ip,
            qpn: qp.peer_qpn,
        })?;
        let end = End {
            path,
            qpn,
            peer_qpn: qp.peer_qpn,
            addresses: [address_bits(qp.own.ip), address_bits(qp.peer.ip)],
            ipv6: qp.own.ip.is_ipv6(),
            vlans: vlans(qp.tags.iter().copied()),
        };
        self.ends.insert(index, end);
        Ok(())
    }

    /// Takes a beat of the NIC. Returns the packet that it ends.
    pub fn take(&mut self, beat: &Beat) -> Option<Vec<u8>> {
        self.open.extend_from_slice(&beat.data);
        beat.last.then(|| std::mem::take(&mut self.open))
    }

    /// The frame of a packet that is given from its BTH to its last pad byte. The frame is padded to 60 bytes.
    ///
    /// The addresses are those of the other end of the QP with index `from`. Without `from`, it is the connected QP
    /// whose other end has the packet's destination QPN, if there is only one: two peers may use the same QPN.
    ///
    /// # Errors
    ///
    /// A length that no packet has, or a QP that cannot be told.
    pub fn wrap(&mut self, packet: &[u8], from: Option<u16>) -> Result<Bytes, EncapsulationError> {
        let bytes = packet.len();
        let length = EncapsulationError::Length { bytes };
        let Some(&[opcode, _, _, _, _, a, b, c]) = packet.first_chunk::<8>() else {
            return Err(length);
        };
        if !(BthRepr::LEN..=PACKET_MAX).contains(&bytes) || !bytes.is_multiple_of(4) {
            return Err(length);
        }
        let qpn = u32::from_be_bytes([0, a, b, c]);
        let end = match from {
            Some(index) => {
                let end = self.ends.get(&index);
                end.ok_or(EncapsulationError::NotConnected { index })?
            }
            None => {
                let mut ends = self.ends.iter().filter(|(_, end)| end.peer_qpn == qpn);
                match (ends.next(), ends.next()) {
                    (None, _) => return Err(EncapsulationError::NoEnd { qpn }),
                    (Some((_, end)), None) => end,
                    (Some((a, _)), Some((b, _))) => {
                        let indices = [*a, *b];
                        return Err(EncapsulationError::SeveralEnds { qpn, indices });
                    }
                }
            }
        };
        let opcode = Opcode(opcode);
        let sent_as = match (opcode, self.cnps) {
            (Opcode::RC_ACK | Opcode::RC_ATOMIC_ACK, _) => SentAs::Answer,
            (Opcode::CNP, Some((dscp, pcp))) => SentAs::Cnp { dscp, pcp },
            (_, cnps) => SentAs::Request {
                ecn_capable: cnps.is_some(),
            },
        };
        let draft = end.path.packet(packet, sent_as);
        Ok(end.path.finish(draft, &mut self.ip_id).whole())
    }

    /// The packet of a received frame, from its BTH to its last pad byte.
    ///
    /// Everything around it is checked: addresses, IP, UDP and the ICRC, and whether it comes from the other end of the
    /// QP that its BTH names, in the QP's VLAN. The rest of the BTH and what follows it are left to the NIC.
    ///
    /// # Errors
    ///
    /// The register of the counter of frames that are dropped for this reason.
    pub fn strip(&self, frame: &Bytes) -> Result<Bytes, u16> {
        let walk = Walk::of(frame).filter(|walk| walk.dst == self.own.mac);
        let walk = walk.ok_or(reg::DROP_ADDRESS)?;
        let parsed = parse_walk(&walk);
        let inside = matches!(
            parsed.reason,
            Some(
                Reason::BthVersion
                    | Reason::UnknownOpcode
                    | Reason::HeaderTruncated
                    | Reason::PadCount
                    | Reason::UnexpectedPayload
            )
        );
        let (ip, bth) = match (parsed.verdict, parsed.ip, parsed.bth) {
            (_, Some(ip), _) if ip.kind == IpKind::Grh => return Err(reg::DROP_ROCE_V1),
            (Verdict::RoceV2 | Verdict::Cnp, Some(ip), Some(bth)) => (ip, bth),
            (Verdict::Malformed, Some(ip), Some(bth)) if inside => (ip, bth),
            (Verdict::Malformed, ..) => return Err(reg::DROP_MALFORMED),
            _ => return Err(reg::DROP_NOT_ROCE),
        };
        if parsed.icrc_ok != Some(true) {
            return Err(reg::DROP_ICRC);
        }
        let ipv6 = ip.kind == IpKind::V6;
        let mut ends = self.ends.values();
        let to = ends.find(|end| {
            let from = (end.qpn, end.ipv6, end.addresses);
            from == (bth.dest_qp.get(), ipv6, [ip.dst, ip.src])
        });
        if to.ok_or(reg::DROP_QP)?.vlans != vlans(walk.tags().map(|tag| tag.vid)) {
            return Err(reg::DROP_VLAN);
        }
        let packet = walk.protected();
        Ok(frame.slice(packet.start..packet.end - ICRC_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::gbn::{RequesterConfig, ResponderConfig};
    use crate::protocol::{Content, Descriptor, IpFields, RocePacket};
    use crate::strategies;
    use crate::wire::{EthernetRepr, ExtHeaders, MacAddr, Psn, Qpn, VlanTagRepr};

    /// The settings of a QP of host `own` whose other end is QPN `qpn` of host `peer`.
    fn qp(ipv6: bool, own: u8, peer: u8, qpn: u32, tags: &[u16]) -> QpSettings {
        let address = |host: u8| Address {
            mac: MacAddr([2, 0, 0, 0, 0, host]),
            ip: match ipv6 {
                false => std::net::Ipv4Addr::new(10, 0, 0, host).into(),
                true => std::net::Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, host.into()).into(),
            },
        };
        QpSettings {
            own: address(own),
            peer: address(peer),
            tags: tags.to_vec(),
            dscp: 24,
            answer_dscp: None,
            answer_pcp: None,
            hop_limit: 64,
            udp_port: 0xC123,
            pkey: 0xFFFF,
            pd: 0,
            peer_qpn: qpn,
            requester: RequesterConfig::default(),
            requester_psn: Psn::wrapping(1),
            responder: ResponderConfig::default(),
            responder_psn: Psn::wrapping(2),
            selective: None,
        }
    }

    fn encapsulation(own: &QpSettings) -> Encapsulation {
        Encapsulation::new(own.own, None)
    }

    /// What the reference builder makes of a packet on a QP's path.
    fn descriptor(qp: &QpSettings, opcode: Opcode, payload: &[u8]) -> Descriptor {
        let ipv6 = qp.own.ip.is_ipv6();
        Descriptor {
            dst: qp.peer.mac,
            src: qp.own.mac,
            tags: (qp.tags.iter())
                .map(|tag| crate::wire::Tci {
                    pcp: (tag >> 13) as u8,
                    dei: tag >> 12 & 1 != 0,
                    vid: tag & 0xFFF,
                })
                .collect(),
            content: Content::Roce(RocePacket {
                ip: IpFields {
                    kind: if ipv6 { IpKind::V6 } else { IpKind::V4 },
                    traffic_class: qp.dscp << 2,
                    flow_label: 0,
                    id: 0,
                    flags: if ipv6 { 0 } else { 0b010 },
                    hop_limit: qp.hop_limit,
                    src: address_bits(qp.own.ip),
                    dst: address_bits(qp.peer.ip),
                },
                udp_src_port: Some(qp.udp_port),
                bth: BthRepr {
                    opcode,
                    pkey: 0x8001,
                    dest_qp: Qpn::new(qp.peer_qpn).unwrap(),
                    psn: Psn::wrapping(77),
                    ack_req: true,
                    ..BthRepr::default()
                },
                ext: ExtHeaders::parse(opcode.layout().unwrap(), &[0; 28]).unwrap(),
                payload: payload.to_vec(),
            }),
        }
    }

    /// From the BTH to the last pad byte.
    fn transport(frame: &[u8], qp: &QpSettings, payload: usize, ext: usize) -> Vec<u8> {
        let ip = if qp.own.ip.is_ipv6() { 40 } else { 20 };
        let bth = EthernetRepr::LEN + VlanTagRepr::LEN * qp.tags.len() + ip + UdpRepr::LEN;
        frame[bth..bth + BthRepr::LEN + ext + payload.next_multiple_of(4)].to_vec()
    }

    proptest! {
        #[test]
        fn wraps_as_the_builder_builds_and_strips_it_again(
            ipv6: bool, tags in prop::collection::vec(any::<u16>(), 0..=2), payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let own = qp(ipv6, 1, 2, 0x11, &tags);
            let frame = descriptor(&own, Opcode::RC_SEND_ONLY, &payload).build().unwrap();
            let packet = transport(&frame, &own, payload.len(), 0);
            let mut sender = encapsulation(&own);
            sender.connect(0, 0x20, &own).unwrap();
            let wrapped = sender.wrap(&packet, None).unwrap();
            prop_assert_eq!(&wrapped[..], &frame[..]);
            let peer = qp(ipv6, 2, 1, 0x20, &tags);
            let mut receiver = encapsulation(&peer);
            receiver.connect(5, 0x11, &peer).unwrap();
            prop_assert_eq!(receiver.strip(&wrapped).unwrap(), packet);
        }

        #[test]
        fn any_frame_is_stripped_or_has_a_reason(frame in strategies::any_frame()) {
            let own = qp(false, 1, 2, 0x11, &[]);
            let mut receiver = encapsulation(&own);
            receiver.connect(0, 0x20, &own).unwrap();
            if let Err(register) = receiver.strip(&frame.into()) {
                prop_assert!(reg::COUNTERS.iter().any(|counter| counter.address == register && counter.name.starts_with("drop_")));
            }
        }
    }

    #[test]
    fn the_qp_that_the_driver_names_decides_between_equal_qpns() {
        // Hosts 2 and 3 both use QPN 0x11.
        let (second, third) = (qp(false, 1, 2, 0x11, &[]), qp(false, 1, 3, 0x11, &[]));
        let frame = |qp| {
            descriptor(qp, Opcode::RC_SEND_ONLY, b"abcd")
                .build()
                .unwrap()
        };
        let packet = transport(&frame(&second), &second, 4, 0);
        let mut sender = encapsulation(&second);
        sender.connect(0, 0x20, &second).unwrap();
        sender.connect(3, 0x23, &third).unwrap();
        // Counted up: the builder's frames have identification 0.
        let from = |sender: &Encapsulation, index| sender.clone().wrap(&packet, Some(index));
        assert_eq!(from(&sender, 0).unwrap()[..], frame(&second)[..]);
        assert_eq!(from(&sender, 3).unwrap()[..], frame(&third)[..]);
        let error = |packet: &[u8], index| {
            let wrapped = sender.clone().wrap(packet, index);
            wrapped.unwrap_err().to_string()
        };
        assert_eq!(
            error(&packet, None),
            "a packet to QPN 0x11, which is the other end of QP indices 0 and 3: `Driver::sends_from` has to say which"
        );
        assert_eq!(
            error(&packet, Some(1)),
            "a packet of QP index 1, which is not connected"
        );
        let mut other = packet.clone();
        other[7] = 0x12;
        assert_eq!(
            error(&other, None),
            "a packet to QPN 0x12, which is the other end of no connected QP"
        );
        for wrong in [0, 11, 13, PACKET_MAX + 4] {
            let text = error(&vec![0; wrong], Some(0));
            assert!(
                text.starts_with(&format!("a packet of {wrong} bytes from the BTH on")),
                "{text}"
            );
        }
        assert!(sender.clone().wrap(&vec![0; PACKET_MAX], Some(0)).is_ok());
        let mixed = QpSettings {
            peer: qp(true, 1, 2, 0x11, &[]).peer,
            ..second
        };
        let error = sender.connect(9, 1, &mixed).unwrap_err().to_string();
        assert_eq!(
            error,
            "QP index 9 connects 10.0.0.1 with fd00::2 and QPN 0x11: no frame has these addresses"
        );
    }

    #[test]
    fn frames_are_dropped_by_reason() {
        let (sender, own) = (qp(false, 2, 1, 0x20, &[]), qp(false, 1, 2, 0x11, &[]));
        let mut receiver = encapsulation(&own);
        receiver.connect(0, 0x20, &own).unwrap();
        let good = descriptor(&sender, Opcode::RC_SEND_ONLY, b"abcd");
        let strip = |frame: Vec<u8>| receiver.strip(&frame.into());
        assert!(strip(good.build().unwrap()).is_ok());
        let changed = |at: usize| {
            let mut frame = good.build().unwrap();
            frame[at] ^= 1;
            strip(frame).unwrap_err()
        };
        // Destination address, EtherType, header checksum, UDP port, payload.
        assert_eq!(changed(5), reg::DROP_ADDRESS);
        assert_eq!(changed(13), reg::DROP_NOT_ROCE);
        assert_eq!(changed(24), reg::DROP_MALFORMED);
        assert_eq!(changed(37), reg::DROP_NOT_ROCE);
        assert_eq!(changed(54), reg::DROP_ICRC);
        // From another host, to another QP, to another address: all with right checksums.
        let from_other = |qp: &QpSettings| {
            strip(
                descriptor(qp, Opcode::RC_SEND_ONLY, b"abcd")
                    .build()
                    .unwrap(),
            )
            .unwrap_err()
        };
        let other_source = QpSettings {
            own: qp(false, 3, 1, 0x20, &[]).own,
            ..sender.clone()
        };
        let other_qp = QpSettings {
            peer_qpn: 0x21,
            ..sender.clone()
        };
        let other_address = QpSettings {
            peer: Address {
                ip: std::net::Ipv4Addr::new(10, 0, 0, 9).into(),
                ..sender.peer
            },
            ..sender.clone()
        };
        for qp in [other_source, other_qp, other_address] {
            assert_eq!(from_other(&qp), reg::DROP_QP);
        }
        // Without UDP, behind a GRH.
        let mut v1 = descriptor(&qp(true, 2, 1, 0x20, &[]), Opcode::RC_SEND_ONLY, b"abcd");
        if let Content::Roce(packet) = &mut v1.content {
            (packet.ip.kind, packet.udp_src_port) = (IpKind::Grh, None);
        }
        assert_eq!(strip(v1.build().unwrap()), Err(reg::DROP_ROCE_V1));
        // The transport's own faults are the NIC's: here an opcode that does not exist, under a right ICRC.
        let mut packet = vec![0; BthRepr::LEN];
        (packet[0], packet[7]) = (0x1F, 0x20);
        let mut peer = encapsulation(&sender);
        peer.connect(0, 0x11, &sender).unwrap();
        let wrapped = peer.wrap(&packet, None).unwrap();
        assert_eq!(receiver.strip(&wrapped).unwrap(), packet);
    }

    #[test]
    fn marks_and_classes_are_those_of_dcqcn() {
        let own = qp(false, 1, 2, 0x11, &[3 << 13 | 7]);
        let mut sender = encapsulation(&own);
        sender.cnps = Some((48, 6));
        sender.connect(0, 0x20, &own).unwrap();
        let mut of = |opcode: Opcode, ext: usize| {
            let mut packet = vec![0; BthRepr::LEN + ext];
            (packet[0], packet[7]) = (opcode.0, 0x11);
            let frame = sender.wrap(&packet, None).unwrap();
            // The tag's PCP, DSCP and ECN, identification.
            (frame[14] >> 5, frame[19], frame[23])
        };
        // ECT(0) is 2 (RFC 3168).
        assert_eq!(of(Opcode::RC_SEND_ONLY, 0), (3, 24 << 2 | 2, 0));
        assert_eq!(of(Opcode::RC_ACK, 4), (3, 24 << 2, 1));
        assert_eq!(of(Opcode::CNP, 16), (6, 48 << 2 | 2, 2));
    }
}
