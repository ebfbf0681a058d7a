//! The header fields that a switch, or a fault rule, reads: addresses, tag, IP, ports, BTH. Frames are not validated
//! here; the reference parser does that.

use std::net::IpAddr;

use bytes::BytesMut;

use crate::wire::frame::IpKind;
use crate::wire::{
    Bth, EtherType, EthernetRepr, Ipv4, Ipv6, MacAddr, Network, Opcode, Psn, Qpn, Tci, VlanTagRepr,
    Walk, address_of,
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
        Walk::of(frame).as_ref().map(Self::of)
    }

    /// Those that the walk through a frame has found.
    pub fn of(walk: &Walk<'_>) -> Self {
        let ip = |Network { head, at, .. }: Network| IpFields {
            offset: at,
            version: if head.kind == IpKind::V4 { 4 } else { 6 },
            traffic_class: head.traffic_class,
            id: head.id,
            ttl: head.hop_limit,
            protocol: head.next_header,
            src: head.src,
            dst: head.dst,
        };
        let bth = |at| {
            let bth = Bth::new_unchecked(&walk.frame[at..]);
            BthFields {
                opcode: bth.opcode(),
                dest_qp: bth.dest_qp(),
                psn: bth.psn(),
            }
        };
        Self {
            dst: walk.dst,
            src: walk.src,
            tag: walk.tags().next().map(VlanTagRepr::tci),
            ether_type: walk.ether_type,
            ip: walk.ip().map(ip),
            ports: walk.ports(),
            bth: walk.bth().map(bth),
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
        change_traffic_class(frame, ip, |class| class | ECN_CE);
    }

    /// Sets the DSCP, 0 to 63. The ECN field stays.
    pub fn set_dscp(frame: &mut [u8], ip: &IpFields, dscp: u8) {
        change_traffic_class(frame, ip, |class| dscp << 2 | class & 0b11);
    }

    /// Changes the traffic class that the frame has now; an earlier change is not in `ip`.
    fn change_traffic_class(frame: &mut [u8], ip: &IpFields, change: impl FnOnce(u8) -> u8) {
        let header = &mut frame[ip.offset..];
        if ip.version == 4 {
            let mut view = Ipv4::new_unchecked(header);
            view.set_traffic_class(change(view.traffic_class()));
            view.fill_checksum();
        } else {
            let mut view = Ipv6::new_unchecked(header);
            view.set_traffic_class(change(view.traffic_class()));
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
    use crate::wire::UDP_PORT_ROCE;

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
