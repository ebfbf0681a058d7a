//! Link types: what a record begins with (tcpdump's registry of link types, `pcap-linktype(7)`).

use xoff_sim::kernel::Direction;
use xoff_sim::wire::{EtherType, MacAddr};

/// `LINKTYPE_ETHERNET`.
pub const LINK_TYPE_ETHERNET: u32 = 1;
/// `LINKTYPE_RAW`: an IP packet, whose first four bits say which version.
const RAW: u32 = 101;
/// `LINKTYPE_LINUX_SLL`: the header of Linux cooked captures, version 1.
const LINUX_SLL: u32 = 113;
/// `LINKTYPE_IPV4`: an IPv4 packet.
pub(super) const IPV4: u32 = 228;
/// `LINKTYPE_IPV6`: an IPv6 packet.
pub(super) const IPV6: u32 = 229;
/// `LINKTYPE_LINUX_SLL2`: the header of Linux cooked captures, version 2.
const LINUX_SLL2: u32 = 276;

/// The name of a link type that users of RDMA meet, if it is one.
pub const fn link_name(link_type: u32) -> Option<&'static str> {
    Some(match link_type {
        0 => "BSD loopback",
        LINK_TYPE_ETHERNET => "Ethernet",
        RAW => "raw IP",
        105 => "Wi-Fi",
        LINUX_SLL => "Linux cooked v1",
        127 => "radiotap",
        147 => "private use",
        197 => "ERF",
        IPV4 => "raw IPv4",
        IPV6 => "raw IPv6",
        247 => "InfiniBand",
        253 => "netlink",
        LINUX_SLL2 => "Linux cooked v2",
        _ => return None,
    })
}

/// What precedes the packet of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The header of an Ethernet frame.
    Ethernet,
    /// A pseudo-header of Linux in place of that of the device: no destination address, no tag that was stripped.
    Cooked(Cooked),
    /// Nothing: the record begins with the IP header of this EtherType.
    RawIp(EtherType),
    /// The link type is not read, or the record ends within its header.
    Other,
}

/// The header of a Linux cooked capture (`LINKTYPE_LINUX_SLL`, `LINKTYPE_LINUX_SLL2`).
///
/// ```text
/// v1   0 packet type 2 · 2 ARPHRD type 2 · 4 address length 2 · 6 address 8 · 14 protocol 2
/// v2   0 protocol 2 · 2 reserved 2 · 4 device 4 · 8 ARPHRD type 2 · 10 packet type 1 · 11 address length 1
///      12 address 8
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooked {
    /// Number of bytes of the header.
    pub bytes: usize,
    /// Who the packet was from and for, as `PACKET_HOST` and the like of Linux' `if_packet.h`.
    pub packet_type: u16,
    /// Type of the device, as `ARPHRD_ETHER` and the like of Linux' `if_arp.h`.
    pub device_type: u16,
    /// Index of the device; version 1 does not have it.
    pub device: Option<u32>,
    /// The sender's address, if it is a MAC address.
    pub address: Option<MacAddr>,
    /// The EtherType, if the device is of a type that has one.
    pub protocol: EtherType,
}

impl Cooked {
    const V1_BYTES: usize = 16;
    const V2_BYTES: usize = 20;

    /// Reads a header of version 1. Returns `None` if the record ends within it.
    pub fn v1(record: &[u8]) -> Option<Self> {
        let header: &[u8; Self::V1_BYTES] = record.first_chunk()?;
        Some(Self {
            bytes: Self::V1_BYTES,
            packet_type: half(header, 0),
            device_type: half(header, 2),
            device: None,
            address: address(half(header, 4), &header[6..]),
            protocol: EtherType(half(header, 14)),
        })
    }

    /// Reads a header of version 2. Returns `None` if the record ends within it.
    pub fn v2(record: &[u8]) -> Option<Self> {
        let header: &[u8; Self::V2_BYTES] = record.first_chunk()?;
        Some(Self {
            bytes: Self::V2_BYTES,
            packet_type: header[10].into(),
            device_type: half(header, 8),
            device: Some(u32::from(half(header, 4)) << 16 | u32::from(half(header, 6))),
            address: address(header[11].into(), &header[12..]),
            protocol: EtherType(half(header, 0)),
        })
    }

    /// The direction of the packet at its device; `None` for one between two other hosts, which a device sees that
    /// takes in everything.
    pub const fn direction(&self) -> Option<Direction> {
        match self.packet_type {
            // To this host, to all, to a group.
            0..=2 => Some(Direction::Received),
            4 => Some(Direction::Sent),
            _ => None,
        }
    }

    /// Whether what follows the header is what [`protocol`](Self::protocol) says. For Frame Relay, radiotap and
    /// netlink it is not.
    const fn has_ether_type(&self) -> bool {
        !matches!(self.device_type, 770 | 803 | 824)
    }
}

/// Whether an interface of that link type records several devices, and says of each packet at which.
pub(super) const fn has_devices(link_type: u32) -> bool {
    link_type == LINUX_SLL2
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn address(length: u16, field: &[u8]) -> Option<MacAddr> {
    let bytes = field.first_chunk().filter(|_| length == 6)?;
    Some(MacAddr(*bytes))
}

impl Link {
    /// Reads what a record of that link type begins with.
    pub fn of(link_type: u32, record: &[u8]) -> Self {
        let cooked = |header: Option<Cooked>| {
            header
                .filter(Cooked::has_ether_type)
                .map_or(Self::Other, Self::Cooked)
        };
        match link_type {
            LINK_TYPE_ETHERNET => Self::Ethernet,
            LINUX_SLL => cooked(Cooked::v1(record)),
            LINUX_SLL2 => cooked(Cooked::v2(record)),
            RAW if record.first().is_some_and(|first| first >> 4 == 6) => {
                Self::RawIp(EtherType::IPV6)
            }
            RAW | IPV4 => Self::RawIp(EtherType::IPV4),
            IPV6 => Self::RawIp(EtherType::IPV6),
            _ => Self::Other,
        }
    }

    /// Number of bytes before the EtherType's packet, and that EtherType; `None` for an Ethernet frame, and for what is
    /// not read.
    pub(super) const fn before_packet(&self) -> Option<(usize, EtherType)> {
        match self {
            Self::Cooked(cooked) => Some((cooked.bytes, cooked.protocol)),
            Self::RawIp(ether_type) => Some((0, *ether_type)),
            Self::Ethernet | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes and their meaning are those that tshark 4.0.17 shows (`sll.pkttype`, `sll.hatype`, `sll.halen`,
    /// `sll.src.eth`, `sll.etype`, `sll.ifindex`).
    #[test]
    fn cooked_headers() {
        let v1 = [
            0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x86, 0xDD, 0x60, 0,
        ];
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        assert_eq!(
            Link::of(113, &v1),
            Link::Cooked(Cooked {
                bytes: 16,
                packet_type: 4,
                device_type: 1,
                device: None,
                address: Some(mac),
                protocol: EtherType::IPV6,
            })
        );
        let v2 = [
            8, 0, 0, 0, 0, 1, 0, 2, 3, 4, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x45,
        ];
        let Link::Cooked(cooked) = Link::of(276, &v2) else {
            panic!("not cooked");
        };
        assert_eq!(
            cooked,
            Cooked {
                bytes: 20,
                packet_type: 0,
                device_type: 0x0304,
                device: Some(0x1_0002),
                address: Some(mac),
                protocol: EtherType::IPV4,
            }
        );
        // One byte less is no header any more.
        assert_eq!(Link::of(113, &v1[..15]), Link::Other);
        assert_eq!(Link::of(276, &v2[..19]), Link::Other);
    }

    #[test]
    fn directions_of_packet_types() {
        let direction = |packet_type: u8| {
            let header = [0, packet_type, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
            Cooked::v1(&header).unwrap().direction()
        };
        let (received, sent) = (Some(Direction::Received), Some(Direction::Sent));
        assert_eq!(
            [0, 1, 2, 3, 4].map(direction),
            [received, received, received, None, sent]
        );
    }

    #[test]
    fn addresses_of_other_lengths_are_none() {
        let mut header = [0; 16];
        header[5] = 8;
        assert_eq!(Cooked::v1(&header).unwrap().address, None);
    }

    /// For these devices the protocol is none (the registry's page of `LINKTYPE_LINUX_SLL`).
    #[test]
    fn devices_without_an_ether_type() {
        for device_type in [770_u16, 803, 824] {
            let mut header = [0; 20];
            header[8..10].copy_from_slice(&device_type.to_be_bytes());
            assert_eq!(Link::of(276, &header), Link::Other);
        }
    }

    #[test]
    fn raw_ip_by_type_and_version() {
        let (v4, v6) = (Link::RawIp(EtherType::IPV4), Link::RawIp(EtherType::IPV6));
        assert_eq!(
            [(101, 0x45), (101, 0x60), (228, 0x60), (229, 0x45)]
                .map(|(link_type, first)| Link::of(link_type, &[first])),
            [v4, v6, v4, v6]
        );
    }
}
