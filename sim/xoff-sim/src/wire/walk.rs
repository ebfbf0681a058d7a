//! The walk through the headers of a frame.
//!
//! All who read frames go this way, so that one place knows where a header begins. The walk finds and does not judge:
//! it goes on as long as it can tell where the next header is, whatever lengths and checksums say. What is wrong with a
//! frame is a matter of those who read it, above all of [`parse`](crate::protocol::parse).
//!
//! Only headers are read, and where a packet ends is what its header says. So a frame may be cut, and its payload need
//! not be written yet.
//!
//! | what is read | where it ends |
//! |---|---|
//! | Ethernet | nothing is read of a frame that is shorter |
//! | VLAN tags, however many | in a tag that is cut: its TPID stays the EtherType |
//! | IPv4, IPv6, GRH | at another EtherType, in a header that is cut, or at another version |
//! | options of IPv4 | if they are cut, or IHL is below 5 |
//! | ports of UDP and TCP, BTH of RoCEv2 | at another protocol or port, or where they are cut or in an earlier fragment |

use super::frame::{IpHead, IpKind, Reason};
use super::{
    BthRepr, EtherType, Ethernet, EthernetRepr, IP_PROTOCOL_TCP, IP_PROTOCOL_UDP, Ipv4, Ipv4Repr,
    Ipv6, Ipv6Repr, MacAddr, UDP_PORT_ROCE, UdpRepr, VlanTag, VlanTagRepr,
};

/// What the headers of a frame say, as far as they are there.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// The frame from its destination address on, without FCS; at least its headers.
    pub frame: &'a [u8],
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// The EtherType after the tags.
    pub ether_type: EtherType,
    /// Offset of what has that EtherType.
    pub at: usize,
    /// The network header, or why it cannot be read. `None` if the EtherType is of none.
    pub network: Option<Result<Network, Reason>>,
}

/// A network header, and where it is in its frame.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// What it says.
    pub head: IpHead,
    /// Its offset.
    pub at: usize,
    /// Offset of what it carries, or why that is not known.
    pub inside: Result<usize, Reason>,
    /// Where the packet ends, by the length that the header states. It may be in the header, or behind the frame.
    pub end: usize,
}

impl<'a> Walk<'a> {
    /// Reads the headers of a frame. `None` if it is shorter than an Ethernet header.
    #[inline]
    pub fn of(frame: &'a [u8]) -> Option<Self> {
        let eth = Ethernet::new_checked(frame).ok()?;
        let mut ether_type = eth.ether_type();
        let mut at = EthernetRepr::LEN;
        // The TPID of a tag is where the EtherType of a frame without one is.
        while ether_type.is_tag()
            && let Some(&next) = frame.get(at + 2..).and_then(<[u8]>::first_chunk)
        {
            ether_type = EtherType(u16::from_be_bytes(next));
            at += VlanTagRepr::LEN;
        }
        Some(Self {
            frame,
            dst: eth.dst(),
            src: eth.src(),
            ether_type,
            at,
            network: Network::of(ether_type, frame, at),
        })
    }

    /// The VLAN tags, the outer one first.
    pub fn tags(&self) -> impl Iterator<Item = VlanTagRepr> + use<'a> {
        let tags = &self.frame[EthernetRepr::LEN - 2..self.at - 2];
        let tags = tags.chunks_exact(VlanTagRepr::LEN);
        tags.map(|tag| VlanTagRepr::parse(&VlanTag::new_unchecked(tag)))
    }

    /// The header of IPv4 with all its options, or of IPv6.
    #[inline]
    pub fn ip(&self) -> Option<Network> {
        let network = self.network?.ok()?;
        (network.inside.is_ok() && network.head.kind != IpKind::Grh).then_some(network)
    }

    /// Source and destination port of UDP or TCP. Fragments other than the first have none.
    #[inline]
    pub fn ports(&self) -> Option<(u16, u16)> {
        let Network { head, inside, .. } = self.ip()?;
        // They are at the same offsets in both.
        if head.fragment_offset != 0
            || !matches!(head.next_header, IP_PROTOCOL_UDP | IP_PROTOCOL_TCP)
        {
            return None;
        }
        let &[a, b, c, d] = self.frame.get(inside.ok()?..)?.first_chunk()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// Offset of the BTH, if this is a RoCEv2 packet: it is to RoCE's UDP port.
    #[inline]
    pub fn bth(&self) -> Option<usize> {
        let Network { head, inside, .. } = self.ip()?;
        let udp = head.next_header == IP_PROTOCOL_UDP;
        let bth = inside.ok()? + UdpRepr::LEN;
        let whole = bth + BthRepr::LEN <= self.frame.len();
        (udp && whole && self.ports()?.1 == UDP_PORT_ROCE).then_some(bth)
    }

    /// Where the frame has what the ICRC of a RoCEv2 packet protects behind the UDP header, and the ICRC itself: from
    /// the BTH to the end of the IP packet. Of any other frame, everything behind the Ethernet header.
    pub fn protected(&self) -> std::ops::Range<usize> {
        let length = self.frame.len();
        match self.bth().zip(self.ip()) {
            // If the length field is wrong, it is at least the BTH.
            Some((bth, ip)) => bth..ip.end.clamp(bth + BthRepr::LEN, length),
            None => EthernetRepr::LEN..length,
        }
    }
}

impl Network {
    /// Reads the header at an offset of a frame that has this EtherType, or why it cannot be read. `None` if the
    /// EtherType is not that of a network header.
    #[inline]
    pub fn of(ether_type: EtherType, frame: &[u8], at: usize) -> Option<Result<Self, Reason>> {
        Some(match ether_type {
            EtherType::IPV4 => Self::v4(frame, at),
            EtherType::IPV6 => Self::v6(IpKind::V6, frame, at),
            EtherType::ROCE_V1 => Self::v6(IpKind::Grh, frame, at),
            _ => return None,
        })
    }

    #[inline]
    fn v4(frame: &[u8], at: usize) -> Result<Self, Reason> {
        let bytes = frame.get(at..).unwrap_or_default();
        let view = Ipv4::new_checked(bytes).map_err(|_| Reason::IpTruncated)?;
        if view.version() != 4 {
            return Err(Reason::IpVersion);
        }
        let header = Ipv4Repr::parse(&view);
        let header_bytes = usize::from(view.ihl()) * 4;
        Ok(Self {
            head: IpHead {
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
            },
            at,
            inside: match header_bytes {
                0..Ipv4Repr::LEN => Err(Reason::IpHeaderLength),
                _ if header_bytes > bytes.len() => Err(Reason::IpTruncated),
                _ => Ok(at + header_bytes),
            },
            end: at + usize::from(header.total_length),
        })
    }

    /// IPv6 or a GRH, whose fields are the same.
    #[inline]
    fn v6(kind: IpKind, frame: &[u8], at: usize) -> Result<Self, Reason> {
        let bytes = frame.get(at..).unwrap_or_default();
        let view = Ipv6::new_checked(bytes).map_err(|_| Reason::IpTruncated)?;
        if view.version() != 6 {
            return Err(Reason::IpVersion);
        }
        let header = Ipv6Repr::parse(&view);
        let inside = at + Ipv6Repr::LEN;
        Ok(Self {
            head: IpHead {
                kind,
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
            },
            at,
            inside: Ok(inside),
            end: inside + usize::from(header.payload_length),
        })
    }

    /// Whether it is that of a fragment, the first one included.
    pub const fn is_fragment(&self) -> bool {
        self.head.flags & 0b001 != 0 || self.head.fragment_offset != 0
    }

    /// Whether its checksum is right, in the frame that it was read from. Only IPv4 has one.
    pub fn checksum_ok(&self, frame: &[u8]) -> bool {
        self.head.kind != IpKind::V4 || Ipv4::new_unchecked(&frame[self.at..]).checksum_ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::parse;
    use crate::strategies::any_frame;
    use crate::testing::roce_frame;
    use crate::wire::Bth;

    #[test]
    fn finds_what_is_behind_tags_and_options() {
        let plain = roce_frame(1, 2).bytes(200);
        let tags = [0x88, 0xA8, 0x60, 0x01, 0x81, 0x00, 0xA0, 0x02];
        let mut frame = [&plain[..12], &tags, &plain[12..34], &[1; 8], &plain[34..]].concat();
        frame[22] = 0x47;
        let walk = Walk::of(&frame).unwrap();
        let vids: Vec<u16> = walk.tags().map(|tag| tag.vid).collect();
        assert_eq!((&vids[..], walk.at), (&[1, 2][..], 22));
        let ip = walk.ip().unwrap();
        assert_eq!((ip.at, ip.inside, ip.end), (22, Ok(50), 22 + 182));
        assert_eq!((walk.bth(), walk.protected()), (Some(58), 58..204));
    }

    #[test]
    fn says_where_it_stopped() {
        let frame = roce_frame(1, 2).bytes(200).to_vec();
        let network = |frame: &[u8]| Walk::of(frame).unwrap().network.unwrap().err();
        let inside = |frame: &[u8]| Walk::of(frame).unwrap().network.unwrap().unwrap().inside;
        assert_eq!(network(&frame[..33]), Some(Reason::IpTruncated));
        let with_first = |first| [&frame[..14], &[first], &frame[15..]].concat();
        assert_eq!(network(&with_first(0x65)), Some(Reason::IpVersion));
        assert_eq!(inside(&with_first(0x44)), Err(Reason::IpHeaderLength));
        assert_eq!(inside(&with_first(0x4F)[..73]), Err(Reason::IpTruncated));
        let tagged = [&frame[..12], &[0x81, 0, 0, 1], &frame[12..13]].concat();
        let walk = Walk::of(&tagged).unwrap();
        assert_eq!((walk.ether_type, walk.at), (EtherType::C_TAG, 14));
        // Without the ports, and without the end of the BTH.
        for (cut, ports, bth) in [(37, false, false), (53, true, false), (54, true, true)] {
            let walk = Walk::of(&frame[..cut]).unwrap();
            let found = (walk.ports().is_some(), walk.bth().is_some());
            assert_eq!(found, (ports, bth), "{cut}");
        }
    }

    proptest! {
        /// What follows the headers has no part in it: the payload need not be there.
        #[test]
        fn headers_are_enough(frame in any_frame()) {
            let parsed = parse(&frame);
            let Some(walk) = Walk::of(&frame) else {
                return Ok(());
            };
            if let (Some(bth), Some(end)) = (parsed.bth, walk.bth().map(|bth| bth + BthRepr::LEN)) {
                let short = Walk::of(&frame[..end]).unwrap();
                prop_assert_eq!(short.bth(), walk.bth());
                prop_assert_eq!(short.ip().map(|ip| (ip.head, ip.end)), walk.ip().map(|ip| (ip.head, ip.end)));
                prop_assert_eq!(bth, BthRepr::parse(&Bth::new_unchecked(&frame[end - BthRepr::LEN..])));
            }
        }
    }
}
