//! Packets of a connection in frames.

use bytes::{Bytes, BytesMut};
use smoltcp::wire::{IpAddress, Ipv4Packet, Ipv6Packet, TcpPacket};
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{EtherType, IP_PROTOCOL_TCP, MIN_FRAME_BYTES, MacAddr, Walk, address_of};

/// The Ethernet header, tags and DSCP of a connection's packets.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    dst: MacAddr,
    src: MacAddr,
    tags: Vec<u16>,
    traffic_class: u8,
}

impl Envelope {
    pub(super) fn new(settings: &QpSettings) -> Self {
        Self {
            dst: settings.peer.mac,
            src: settings.own.mac,
            tags: settings.tags.clone(),
            // Not ECN-capable: the stack does not know ECN.
            traffic_class: settings.dscp << 2,
        }
    }

    /// The frame with a packet of the stack, padded, without FCS.
    pub(super) fn frame(&self, mut packet: BytesMut) -> Bytes {
        let ether_type = match packet[0] >> 4 {
            6 => {
                Ipv6Packet::new_unchecked(&mut packet[..]).set_traffic_class(self.traffic_class);
                EtherType::IPV6
            }
            _ => {
                let mut ip = Ipv4Packet::new_unchecked(&mut packet[..]);
                ip.set_dscp(self.traffic_class >> 2);
                ip.fill_checksum();
                EtherType::IPV4
            }
        };
        let mut frame = BytesMut::with_capacity((packet.len() + 22).max(MIN_FRAME_BYTES));
        frame.extend_from_slice(&self.dst.0);
        frame.extend_from_slice(&self.src.0);
        for tag in &self.tags {
            frame.extend_from_slice(&EtherType::C_TAG.0.to_be_bytes());
            frame.extend_from_slice(&tag.to_be_bytes());
        }
        frame.extend_from_slice(&ether_type.0.to_be_bytes());
        frame.extend_from_slice(&packet);
        frame.resize(frame.len().max(MIN_FRAME_BYTES), 0);
        frame.freeze()
    }

    /// Whether a frame of this connection may have this tag. VLAN identifier 0 counts as none.
    pub(super) fn same_vlan(&self, vid: u16) -> bool {
        self.tags.first().map_or(0, |tag| tag & 0xFFF) == vid
    }
}

/// A TCP segment that was received.
#[derive(Debug)]
pub(super) struct Segment {
    /// The IP packet.
    pub(super) packet: Bytes,
    /// Destination port, source address and source port.
    pub(super) to: Tuple,
    /// Whether it has data.
    pub(super) data: bool,
    /// VLAN identifier of the outer tag, 0 without one.
    pub(super) vid: u16,
}

/// What tells the connections of a host apart: the own port, the peer's address, its port.
pub(super) type Tuple = (u16, IpAddress, u16);

/// The segment in a frame to a host with this MAC address and this IP address.
///
/// # Errors
///
/// The register that counts why it is none.
pub(super) fn segment(frame: &Bytes, mac: MacAddr, ip: IpAddress) -> Result<Segment, u16> {
    let walk = Walk::of(frame).ok_or(reg::DROP_MALFORMED)?;
    if walk.dst != mac {
        return Err(reg::DROP_ADDRESS);
    }
    let header = walk.ip().ok_or(reg::DROP_NOT_ROCE)?;
    let (head, end) = (header.head, header.end);
    if head.next_header != IP_PROTOCOL_TCP {
        return Err(reg::DROP_SERVICE);
    }
    let inside = header.inside.map_err(|_| reg::DROP_MALFORMED)?;
    let whole = inside <= end && end <= frame.len() && !header.is_fragment();
    if !whole || !header.checksum_ok(frame) {
        return Err(reg::DROP_MALFORMED);
    }
    let [src, dst]: [IpAddress; 2] =
        [head.src, head.dst].map(|it| address_of(it, head.kind == IpKind::V4).into());
    if dst != ip {
        return Err(reg::DROP_ADDRESS);
    }
    let tcp = TcpPacket::new_checked(&frame[inside..end]).map_err(|_| reg::DROP_MALFORMED)?;
    if !tcp.verify_checksum(&src, &dst) {
        return Err(reg::DROP_MALFORMED);
    }
    Ok(Segment {
        to: (tcp.dst_port(), src, tcp.src_port()),
        data: end - inside > usize::from(tcp.header_len()),
        vid: walk.tags().next().map_or(0, |tag| tag.vid),
        packet: frame.slice(header.at..end),
    })
}
