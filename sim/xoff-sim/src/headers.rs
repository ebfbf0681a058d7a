//! The header fields that a switch, or a fault rule, reads: addresses, tag, IP, ports, BTH. Frames are not validated
//! here; the reference parser does that.

use std::net::IpAddr;
use std::ops::Range;

use bytes::BytesMut;

use crate::wire::{
    Bth, EtherType, Ethernet, EthernetRepr, IP_PROTOCOL_TCP, IP_PROTOCOL_UDP, Ipv4, Ipv6, MacAddr,
    Opcode, Psn, Qpn, Tci, UDP_PORT_ROCE, VlanTag, VlanTagRepr, address_of,
};

/// The headers of a frame, as far as they are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// The outer VLAN tag.
    pub tag: Option<Tci>,
    /// The EtherType after the tags.
    pub ether_type: EtherType,
    /// The IPv4 or IPv6 header.
    pub ip: Option<IpFields>,
    /// Source and destination port of UDP or TCP. `None` in fragments other than the first.
    pub ports: Option<(u16, u16)>,
    /// Base transport header of a RoCEv2 packet.
    pub bth: Option<BthFields>,
}

/// Fields of an IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpFields {
    /// Offset of the header in the frame.
    pub offset: usize,
    /// 4 or 6.
    pub version: u8,
    /// DSCP in the high six bits, ECN in the low two.
    pub traffic_class: u8,
    /// IPv4 identification; 0 for IPv6.
    pub id: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Protocol or next header.
    pub protocol: u8,
    /// Source; IPv4 in the low 32 bits.
    pub src: u128,
    /// Destination; IPv4 in the low 32 bits.
    pub dst: u128,
}

impl IpFields {
    /// The destination.
    pub const fn destination(&self) -> IpAddr {
        address_of(self.dst, self.version == 4)
    }
}

/// Fields of a BTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BthFields {
    /// Operation and service.
    pub opcode: Opcode,
    /// Destination queue pair.
    pub dest_qp: Qpn,
    /// Packet sequence number.
    pub psn: Psn,
}

impl Headers {
    /// Reads the headers of a frame without FCS. Returns `None` when there is no Ethernet header.
    pub fn at(frame: &[u8]) -> Option<Self> {
        let eth = Ethernet::new_checked(frame).ok()?;
        let mut headers = Self {
            dst: eth.dst(),
            src: eth.src(),
            tag: None,
            ether_type: eth.ether_type(),
            ip: None,
            ports: None,
            bth: None,
        };
        let mut offset = Ethernet::<&[u8]>::LEN;
        while headers.ether_type.is_tag() {
            // The EtherType just read is the tag's TPID.
            let Ok(tag) = VlanTag::new_checked(&frame[offset - 2..]) else {
                return Some(headers);
            };
            let Some(next) = frame.get(offset + 2..offset + 4) else {
                return Some(headers);
            };
            headers.tag.get_or_insert(Tci {
                pcp: tag.pcp(),
                dei: tag.dei(),
                vid: tag.vid(),
            });
            headers.ether_type = EtherType(u16::from_be_bytes([next[0], next[1]]));
            offset += 4;
        }
        let transport = match headers.ether_type {
            EtherType::IPV4 => headers.ipv4(frame, offset),
            EtherType::IPV6 => headers.ipv6(frame, offset),
            _ => None,
        };
        if let Some(transport) = transport {
            headers.transport(frame, transport);
        }
        Some(headers)
    }

    /// The payload of the IP packet, by its length field: from the transport header on, which fragments other than the
    /// first do not have. It may end behind the frame, if that is cut.
    pub fn transport_range(&self, frame: &[u8]) -> Option<Range<usize>> {
        let ip = self.ip?;
        let header = frame.get(ip.offset..)?;
        if ip.version == 6 {
            let start = ip.offset + Ipv6::<&[u8]>::LEN;
            let length = usize::from(Ipv6::new_checked(header).ok()?.payload_length());
            return Some(start..start + length);
        }
        let ipv4 = Ipv4::new_checked(header).ok()?;
        let start = ip.offset + ipv4.header()?.len();
        Some(start..ip.offset + usize::from(ipv4.total_length()))
    }

    /// The range that the ICRC of a RoCEv2 packet protects after the UDP header, including the ICRC itself: from the
    /// BTH to the end of the IP packet. For any other frame, everything after the Ethernet header.
    pub fn protected(&self, frame: &[u8]) -> Range<usize> {
        let packet = self.bth.and_then(|_| self.transport_range(frame));
        let (start, end) = match packet {
            Some(transport) => (transport.start + crate::wire::UdpRepr::LEN, transport.end),
            None => (Ethernet::<&[u8]>::LEN.min(frame.len()), frame.len()),
        };
        // If the length field is wrong, the range covers at least the BTH.
        let least = start + usize::from(self.bth.is_some()) * crate::wire::BthRepr::LEN;
        start..end.clamp(least, frame.len().max(least))
    }

    /// Reads an IPv4 header. Returns the offset of the transport header, if there is one.
    fn ipv4(&mut self, frame: &[u8], offset: usize) -> Option<usize> {
        let ip = Ipv4::new_checked(frame.get(offset..)?).ok()?;
        if ip.version() != 4 {
            return None;
        }
        let header = ip.header()?.len();
        self.ip = Some(IpFields {
            offset,
            version: 4,
            traffic_class: ip.traffic_class(),
            id: ip.id(),
            ttl: ip.ttl(),
            protocol: ip.protocol(),
            src: ip.src().into(),
            dst: ip.dst().into(),
        });
        (ip.fragment_offset() == 0).then_some(offset + header)
    }

    fn ipv6(&mut self, frame: &[u8], offset: usize) -> Option<usize> {
        let ip = Ipv6::new_checked(frame.get(offset..)?).ok()?;
        if ip.version() != 6 {
            return None;
        }
        self.ip = Some(IpFields {
            offset,
            version: 6,
            traffic_class: ip.traffic_class(),
            id: 0,
            ttl: ip.hop_limit(),
            protocol: ip.next_header(),
            src: ip.src(),
            dst: ip.dst(),
        });
        Some(offset + Ipv6::<&[u8]>::LEN)
    }

    fn transport(&mut self, frame: &[u8], offset: usize) {
        let protocol = self.ip.map(|ip| ip.protocol);
        if !matches!(protocol, Some(IP_PROTOCOL_UDP | IP_PROTOCOL_TCP)) {
            return;
        }
        // Source and destination port are at the same offsets in UDP and TCP.
        let Some(&[a, b, c, d]) = frame.get(offset..offset + 4) else {
            return;
        };
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        self.ports = Some(ports);
        let udp_bytes = crate::wire::UdpRepr::LEN;
        if protocol == Some(IP_PROTOCOL_UDP) && ports.1 == UDP_PORT_ROCE {
            self.bth = frame
                .get(offset + udp_bytes..)
                .and_then(|bytes| Bth::new_checked(bytes).ok())
                .map(|bth| BthFields {
                    opcode: bth.opcode(),
                    dest_qp: bth.dest_qp(),
                    psn: bth.psn(),
                });
        }
    }
}

/// Functions that change the IP header of a frame in place and correct its checksum.
pub mod rewrite {
    use super::*;

    /// ECN codepoint "congestion experienced" (RFC 3168 §5).
    pub const ECN_CE: u8 = 0b11;

    /// Whether the packet may be marked: ECT(0), ECT(1), or already marked (RFC 3168 §5).
    pub const fn ecn_capable(traffic_class: u8) -> bool {
        traffic_class & 0b11 != 0
    }

    /// Whether the packet is marked "congestion experienced".
    pub const fn is_ce(traffic_class: u8) -> bool {
        traffic_class & 0b11 == ECN_CE
    }

    /// Removes all VLAN tags of a frame with an IP header, and puts `tag` in their place. The frame may be shorter than
    /// the shortest one then.
    pub fn retag(frame: &[u8], ip: &IpFields, tag: Option<Tci>) -> BytesMut {
        let ether_type = &frame[ip.offset - 2..ip.offset];
        let mut bytes = BytesMut::with_capacity(frame.len() + VlanTagRepr::LEN);
        bytes.extend_from_slice(&frame[..EthernetRepr::LEN - 2]);
        if let Some(Tci { pcp, dei, vid }) = tag {
            let tci = u16::from(pcp) << 13 | u16::from(dei) << 12 | vid & 0xFFF;
            bytes.extend_from_slice(&EtherType::C_TAG.0.to_be_bytes());
            bytes.extend_from_slice(&tci.to_be_bytes());
        }
        bytes.extend_from_slice(ether_type);
        bytes.extend_from_slice(&frame[ip.offset..]);
        bytes
    }

    /// Sets the ECN field to "congestion experienced".
    pub fn mark_ce(frame: &mut [u8], ip: &IpFields) {
        let header = &mut frame[ip.offset..];
        if ip.version == 4 {
            let mut view = Ipv4::new_unchecked(header);
            view.set_traffic_class(ip.traffic_class | ECN_CE);
            view.fill_checksum();
        } else {
            Ipv6::new_unchecked(header).set_traffic_class(ip.traffic_class | ECN_CE);
        }
    }

    /// Decrements TTL or hop limit. The caller must have dropped packets that have no hops left.
    pub fn decrement_ttl(frame: &mut [u8], ip: &IpFields) {
        let header = &mut frame[ip.offset..];
        if ip.version == 4 {
            let mut view = Ipv4::new_unchecked(header);
            view.set_ttl(ip.ttl.saturating_sub(1));
            view.fill_checksum();
        } else {
            Ipv6::new_unchecked(header).set_hop_limit(ip.ttl.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::roce_frame;

    #[test]
    fn sees_a_roce_packet() {
        let frame = roce_frame(1, 2).qpn(3).psn(77).ip_id(0x12FF).bytes(1086);
        let headers = Headers::at(&frame).unwrap();
        let ip = headers.ip.unwrap();
        assert_eq!((ip.src as u32, ip.dst as u32), (0x0A00_0001, 0x0A00_0002));
        assert_eq!((ip.id, ip.ttl), (0x12FF, 64));
        assert_eq!(headers.ports.unwrap().1, UDP_PORT_ROCE);
        let bth = headers.bth.unwrap();
        assert_eq!((bth.dest_qp.get(), bth.psn.get()), (3, 77));
    }

    #[test]
    fn sees_through_a_tag() {
        let plain = roce_frame(1, 2).qpn(3).bytes(200);
        let tagged = [&plain[..12], &[0x81, 0x00, 0x60, 0x01], &plain[12..]].concat();
        let headers = Headers::at(&tagged).unwrap();
        assert_eq!(headers.tag.unwrap().pcp, 3);
        assert_eq!(headers.bth, Headers::at(&plain).unwrap().bth);
    }

    #[test]
    fn rewriting_keeps_the_checksum_right() {
        let mut frame = roce_frame(1, 2).bytes(200).to_vec();
        let ip = Headers::at(&frame).unwrap().ip.unwrap();
        rewrite::decrement_ttl(&mut frame, &ip);
        rewrite::mark_ce(&mut frame, &ip);
        let now = Headers::at(&frame).unwrap().ip.unwrap();
        assert_eq!((now.ttl, now.traffic_class & 3), (63, rewrite::ECN_CE));
        assert!(
            Ipv4::new_checked(&frame[now.offset..])
                .unwrap()
                .checksum_ok()
        );
    }

    proptest! {
        #[test]
        fn never_fails_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Headers::at(&bytes).is_some(), bytes.len() >= 14);
        }

        #[test]
        fn never_fails_on_a_frame_cut_short(cut in 0usize..200) {
            let frame = roce_frame(1, 2).bytes(204);
            prop_assert_eq!(Headers::at(&frame[..cut]).is_some(), cut >= 14);
        }
    }
}
