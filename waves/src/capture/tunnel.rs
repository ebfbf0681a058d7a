//! Tunnels: how frames of RoCE are captured in fabrics, inside of other packets.
//!
//! An overlay carries a host's frame in VXLAN, GENEVE or NVGRE, a backbone under MPLS labels, a mirror port in ERSPAN.
//! What a NIC at the end of the tunnel gets is the inner frame.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;
use xoff_sim::headers::rewrite::{ecn_capable, is_ce};
use xoff_sim::wire::frame::{IpHead, IpKind};
use xoff_sim::wire::{
    self, EtherType, EthernetRepr, IP_PROTOCOL_UDP, Ipv4, Ipv6, Network, Udp, UdpRepr, address_of,
};

use super::link::{IPV4, IPV6, LINK_TYPE_ETHERNET};
use super::{Link, Record};

/// IP protocol numbers (IANA).
const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_GRE: u8 = 47;
const PROTOCOL_MPLS: u8 = 137;
/// UDP ports (IANA), and that of VXLAN in Linux before one was assigned.
const PORTS_VXLAN: [u16; 2] = [4789, 8472];
const PORT_GENEVE: u16 = 6081;
const PORT_MPLS: u16 = 6635;
/// EtherTypes: MPLS (RFC 5332), and those of GRE for a frame (RFC 7637) and for mirrored frames.
const MPLS: [EtherType; 2] = [EtherType(0x8847), EtherType(0x8848)];
const BRIDGED: EtherType = EtherType(0x6558);
const ERSPAN_I_II: EtherType = EtherType(0x88BE);
const ERSPAN_III: EtherType = EtherType(0x22EB);
/// EtherTypes by which a frame is told from a control word.
const USUAL: [u16; 8] = [
    0x0800, 0x0806, 0x8100, 0x86DD, 0x8808, 0x88A8, 0x88CC, 0x8915,
];
/// Most tunnels in each other that are read.
const DEPTH: usize = 8;

/// A tunnel around a frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tunnel {
    /// What carries the frame.
    #[serde(flatten)]
    pub carrier: Carrier,
    /// Source of the IP packet that it is in. MPLS is in a frame, and has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_ip: Option<IpAddr>,
    /// Destination of that packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_ip: Option<IpAddr>,
    /// DSCP of that packet, by which the fabric chooses a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// ECN of that packet, which the fabric marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<u8>,
}

/// What carries a frame in a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Carrier {
    /// VXLAN (RFC 7348).
    Vxlan {
        /// Network identifier, 24 bits.
        vni: u32,
    },
    /// GENEVE (RFC 8926).
    Geneve {
        /// Network identifier, 24 bits.
        vni: u32,
    },
    /// GRE (RFC 2784, RFC 2890).
    Gre {
        /// Its key, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
    },
    /// NVGRE: GRE with a key around a frame (RFC 7637).
    Nvgre {
        /// Subnet identifier, 24 bits.
        vsid: u32,
    },
    /// A mirrored frame (draft-foschiano-erspan).
    Erspan {
        /// 1, 2 or 3. Type 1 has no header, thus nothing of what follows.
        version: u8,
        /// Which mirror, 10 bits.
        session: u16,
        /// VLAN of the mirrored frame.
        vlan: u16,
        /// Its class.
        cos: u8,
    },
    /// MPLS (RFC 3032).
    Mpls {
        /// The labels, the outer one first, 20 bits each.
        labels: Vec<u32>,
    },
    /// An IP packet in another (RFC 2003, RFC 4213).
    IpInIp,
}

impl Carrier {
    /// Its name, as in `VXLAN`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Vxlan { .. } => "VXLAN",
            Self::Geneve { .. } => "GENEVE",
            Self::Gre { .. } => "GRE",
            Self::Nvgre { .. } => "NVGRE",
            Self::Erspan { version: 1, .. } => "ERSPAN I",
            Self::Erspan { version: 2, .. } => "ERSPAN II",
            Self::Erspan { .. } => "ERSPAN III",
            Self::Mpls { .. } => "MPLS",
            Self::IpInIp => "IP",
        }
    }
}

/// The name, and what tells one from others: `VXLAN 5000`.
impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Vxlan { vni } | Self::Geneve { vni } => write!(f, " {vni}"),
            Self::Nvgre { vsid } => write!(f, " {vsid}"),
            Self::Gre { key: Some(key) } => write!(f, " {key:#x}"),
            Self::Erspan {
                version: 2..,
                session,
                ..
            } => write!(f, " session {session}"),
            Self::Mpls { labels } => labels.iter().try_for_each(|label| write!(f, " {label}")),
            Self::Gre { key: None } | Self::Erspan { .. } | Self::IpInIp => Ok(()),
        }
    }
}

/// `VXLAN 5000 192.0.2.1→192.0.2.2`, with ` CE` if the packet around was marked.
impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.carrier.fmt(f)?;
        if let (Some(src), Some(dst)) = (self.src_ip, self.dst_ip) {
            write!(f, " {src}→{dst}")?;
        }
        f.write_str(if self.is_marked() { " CE" } else { "" })
    }
}

impl Tunnel {
    /// Whether the packet around is marked 'congestion experienced'.
    pub fn is_marked(&self) -> bool {
        self.ecn.is_some_and(is_ce)
    }

    /// Whether it brings a copy of a frame that was on a line elsewhere.
    const fn is_mirror(&self) -> bool {
        matches!(self.carrier, Carrier::Erspan { .. })
    }
}

/// The frame inside of the tunnels of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inner {
    /// The tunnels, the outer one first; at least one.
    pub tunnels: Vec<Tunnel>,
    /// Offset of the frame, or of the packet, in the record.
    pub start: usize,
    /// Its length, which may be more than is recorded.
    pub length: usize,
    /// What it begins with: Ethernet, or an IP header.
    pub link: Link,
    /// The link type of a record that begins so.
    pub link_type: u32,
    /// Offset of the frame that was on a line, with the tunnels in it: the record, or the frame that a mirror sent.
    /// `None` if that is the frame inside, or no frame of Ethernet.
    pub line: Option<usize>,
}

impl Inner {
    /// The record of the frame inside of a record.
    pub fn of(self, record: Record) -> Record {
        let mut bytes = record.bytes;
        let line = self.line.map(|line| bytes[line..].to_vec());
        bytes.drain(..self.start);
        bytes.truncate(self.length);
        Record {
            bytes,
            length: self.length,
            link_type: self.link_type,
            link: self.link,
            tunnels: self.tunnels,
            line,
            ..record
        }
    }
}

/// Finds the frame inside of the tunnels of a record of `length` bytes. `None` if there is no tunnel, or one that is
/// damaged, cut or in a fragment, or whose content is neither a frame nor IP.
pub(super) fn inner(link: &Link, record: &[u8], length: usize) -> Option<Inner> {
    let (start, next) = match link {
        Link::Ethernet => (0, Next::Frame),
        _ => link
            .before_packet()
            .map(|(start, of)| (start, Next::Packet(of)))?,
    };
    let mut walk = Walk {
        record,
        start,
        end: length,
        next,
        around: None,
        cut: false,
    };
    let mut line = (*link == Link::Ethernet).then_some(start);
    let mut tunnels = Vec::new();
    let mut found = None;
    while tunnels.len() < DEPTH
        && let Some(tunnel) = walk.enter()
    {
        if tunnel.is_mirror() {
            line = Some(walk.start);
        }
        tunnels.push(tunnel);
        if let Some((link, link_type)) = walk.inside() {
            let (start, length) = (walk.start, walk.length());
            let line = line.filter(|line| *line != start);
            let tunnels = tunnels.clone();
            found = Some(Inner {
                tunnels,
                start,
                length,
                link,
                link_type,
                line,
            });
        }
    }
    found
}

/// What comes next in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An Ethernet header.
    Frame,
    /// What this EtherType says.
    Packet(EtherType),
}

/// A position in a record.
#[derive(Clone, Copy)]
struct Walk<'a> {
    record: &'a [u8],
    /// Where the next header begins.
    start: usize,
    /// Where what it begins ends, at most the record's length on the line.
    end: usize,
    next: Next,
    /// The header of the IP packet around it.
    around: Option<IpHead>,
    /// Whether a mirror has cut the frame, so that it was longer.
    cut: bool,
}

impl<'a> Walk<'a> {
    /// The bytes that were recorded from the next header on.
    fn rest(&self) -> &'a [u8] {
        let end = self.end.min(self.record.len());
        self.record.get(self.start..end).unwrap_or(&[])
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Goes on behind the next tunnel's headers.
    fn enter(&mut self) -> Option<Tunnel> {
        let mut walk = *self;
        let carrier = walk.ethernet()?;
        let around = walk.around.take();
        *self = walk;
        Some(Tunnel {
            carrier,
            src_ip: around.map(|ip| address_of(ip.src, ip.kind == IpKind::V4)),
            dst_ip: around.map(|ip| address_of(ip.dst, ip.kind == IpKind::V4)),
            dscp: around.map(|ip| ip.traffic_class >> 2),
            ecn: around.map(|ip| ip.traffic_class & 3),
        })
    }

    fn ethernet(&mut self) -> Option<Carrier> {
        match self.ether_type()? {
            ether_type @ (EtherType::IPV4 | EtherType::IPV6) => self.ip(ether_type),
            mpls if MPLS.contains(&mpls) => self.mpls(),
            _ => None,
        }
    }

    /// The EtherType of what comes next, behind an Ethernet header with its tags if that is there.
    fn ether_type(&mut self) -> Option<EtherType> {
        match self.next {
            Next::Packet(ether_type) => Some(ether_type),
            Next::Frame => {
                let walk = wire::Walk::of(self.rest())?;
                self.skip(walk.at);
                Some(walk.ether_type)
            }
        }
    }

    fn ip(&mut self, version: EtherType) -> Option<Carrier> {
        let rest = self.rest();
        let ip = Network::of(version, rest, 0)?.ok()?;
        let header = ip.inside.ok()?;
        let mut inside = *self;
        inside.end = self.end.min(self.start + ip.end);
        inside.skip(header);
        // Most packets are no tunnel, and need not be looked at any further.
        let carrier = inside.protocol(ip.head.next_header)?;
        if !ip.checksum_ok(rest) || ip.is_fragment() || ip.end < header {
            return None;
        }
        inside.around = Some(ip.head);
        *self = inside;
        Some(carrier)
    }

    fn protocol(&mut self, protocol: u8) -> Option<Carrier> {
        match protocol {
            IP_PROTOCOL_UDP => self.udp(),
            PROTOCOL_GRE => self.gre(),
            PROTOCOL_MPLS => self.mpls(),
            PROTOCOL_IPV4 => self.ip_in_ip(EtherType::IPV4),
            PROTOCOL_IPV6 => self.ip_in_ip(EtherType::IPV6),
            _ => None,
        }
    }

    fn ip_in_ip(&mut self, version: EtherType) -> Option<Carrier> {
        self.next = Next::Packet(version);
        Some(Carrier::IpInIp)
    }

    fn udp(&mut self) -> Option<Carrier> {
        let port = Udp::new_checked(self.rest()).ok()?.dst_port();
        self.skip(UdpRepr::LEN);
        match port {
            _ if PORTS_VXLAN.contains(&port) => self.vxlan(),
            PORT_GENEVE => self.geneve(),
            PORT_MPLS => self.mpls(),
            _ => None,
        }
    }

    /// ```text
    /// 0 flags 8, of which 0x08: there is a VNI · 1 reserved 24 · 4 VNI 24 · 7 reserved 8
    /// ```
    fn vxlan(&mut self) -> Option<Carrier> {
        let header: &[u8; 8] = self.rest().first_chunk()?;
        if header[0] & 0x08 == 0 {
            return None;
        }
        self.skip(header.len());
        self.next = Next::Frame;
        Some(Carrier::Vxlan {
            vni: word(header, 4)? >> 8,
        })
    }

    /// ```text
    /// 0 version 2, length of the options in words 6 · 1 flags 8 · 2 EtherType 16 · 4 VNI 24 · 7 reserved 8 · options
    /// ```
    fn geneve(&mut self) -> Option<Carrier> {
        let header: &[u8; 8] = self.rest().first_chunk()?;
        if header[0] >> 6 != 0 {
            return None;
        }
        self.skip(header.len() + usize::from(header[0] & 0x3F) * 4);
        self.next = carried(EtherType(half(header, 2)?));
        Some(Carrier::Geneve {
            vni: word(header, 4)? >> 8,
        })
    }

    /// ```text
    /// 0 flags 13, of which 0x8000 checksum, 0x2000 key, 0x1000 sequence number; version 3 · 2 EtherType 16
    /// 4 checksum 16, reserved 16 · key 32 · sequence number 32, each if its flag is set
    /// ```
    fn gre(&mut self) -> Option<Carrier> {
        let header = self.rest();
        let (flags, ether_type) = (half(header, 0)?, EtherType(half(header, 2)?));
        // Another version, or source routes, which RFC 2784 has done away with.
        if flags & 0x4007 != 0 {
            return None;
        }
        let word_if = |flag: u16| usize::from(flags & flag != 0) * 4;
        let at = 4 + word_if(0x8000);
        let key = if flags & 0x2000 != 0 {
            Some(word(header, at)?)
        } else {
            None
        };
        self.skip(at + word_if(0x2000) + word_if(0x1000));
        match ether_type {
            ERSPAN_I_II if flags & 0x1000 == 0 => {
                self.next = Next::Frame;
                Some(Carrier::Erspan {
                    version: 1,
                    session: 0,
                    vlan: 0,
                    cos: 0,
                })
            }
            ERSPAN_I_II => self.erspan(1, 8),
            ERSPAN_III => self.erspan(2, 12),
            BRIDGED => {
                self.next = Next::Frame;
                Some(key.map_or(Carrier::Gre { key }, |key| Carrier::Nvgre {
                    vsid: key >> 8,
                }))
            }
            _ => {
                self.next = carried(ether_type);
                Some(Carrier::Gre { key })
            }
        }
    }

    /// ```text
    /// 0 version 4, VLAN 12 · 2 class 3, 2 bits, cut 1, session 10 · type II: 4 reserved 12, port 20
    /// type III: 4 time stamp 32 · 8 group 16 · 10 1 bit, frame type 5, hardware 6, 3 bits, 8 more bytes follow 1
    /// ```
    fn erspan(&mut self, version: u16, bytes: usize) -> Option<Carrier> {
        let header = self.rest().get(..bytes)?;
        let (first, second) = (half(header, 0)?, half(header, 2)?);
        let more = match bytes {
            8 => 0,
            _ => {
                let last = half(header, 10)?;
                // 0 is Ethernet.
                if last >> 10 & 0x1F != 0 {
                    return None;
                }
                usize::from(last & 1) * 8
            }
        };
        if first >> 12 != version {
            return None;
        }
        self.skip(bytes + more);
        self.next = Next::Frame;
        self.cut |= second & 0x400 != 0;
        Some(Carrier::Erspan {
            version: version as u8 + 1,
            session: second & 0x3FF,
            vlan: first & 0xFFF,
            cos: (second >> 13) as u8,
        })
    }

    /// ```text
    /// label 20, traffic class 3, last 1, TTL 8, until the last one
    /// ```
    ///
    /// What follows is not said: IP is known by its version and what it says of itself (RFC 4928); otherwise it is a
    /// frame, behind a control word or not (RFC 4385).
    fn mpls(&mut self) -> Option<Carrier> {
        let mut labels = Vec::new();
        let mut last = false;
        while !last {
            let entry = word(self.rest(), 0)?;
            labels.push(entry >> 12);
            last = entry & 0x100 != 0;
            self.skip(4);
        }
        let rest = self.rest();
        let left = self.end.checked_sub(self.start)?;
        let frame_at = |at: usize| half(rest, at + 12).is_some_and(|found| USUAL.contains(&found));
        self.next = match rest.first()? >> 4 {
            4 if Ipv4::new_checked(rest).is_ok_and(|ip| ip.checksum_ok()) => {
                Next::Packet(EtherType::IPV4)
            }
            6 if half(rest, 4).is_some_and(|length| 40 + usize::from(length) <= left)
                && !frame_at(0) =>
            {
                Next::Packet(EtherType::IPV6)
            }
            0 if frame_at(4) || !frame_at(0) => {
                self.skip(4);
                Next::Frame
            }
            _ => Next::Frame,
        };
        Some(Carrier::Mpls { labels })
    }

    /// The link and link type of what is inside, if it is a frame or an IP packet, of which something was recorded.
    fn inside(&self) -> Option<(Link, u32)> {
        let rest = self.rest();
        match self.next {
            Next::Frame => {
                (rest.len() >= EthernetRepr::LEN).then_some((Link::Ethernet, LINK_TYPE_ETHERNET))
            }
            Next::Packet(of)
                if rest.is_empty() || ![EtherType::IPV4, EtherType::IPV6].contains(&of) =>
            {
                None
            }
            Next::Packet(of) => Some((
                Link::RawIp(of),
                if of == EtherType::IPV4 { IPV4 } else { IPV6 },
            )),
        }
    }

    /// The length of what is inside. Of a frame that a mirror has cut it is at least what its IP header says.
    fn length(&self) -> usize {
        let there = self.end.saturating_sub(self.start);
        let stated = self.stated().filter(|_| self.cut);
        there.max(stated.map_or(0, |end| end - self.start))
    }

    /// Where what is inside ends by its IP header.
    fn stated(mut self) -> Option<usize> {
        match self.ether_type()? {
            EtherType::IPV4 => Some(self.start + usize::from(half(self.rest(), 2)?)),
            EtherType::IPV6 => {
                Some(self.start + Ipv6::<&[u8]>::LEN + usize::from(half(self.rest(), 4)?))
            }
            _ => None,
        }
    }
}

/// What a tunnel carries whose header has that EtherType.
fn carried(ether_type: EtherType) -> Next {
    match ether_type {
        BRIDGED => Next::Frame,
        other => Next::Packet(other),
    }
}

/// Whether the end of the tunnels marks the packet inside, which has that traffic class: a mark of the fabric is handed
/// on if the packet takes part in ECN (RFC 6040 §4.2). The way of a mirrored copy does not count.
pub(super) fn mark(tunnels: &[Tunnel], traffic_class: u8) -> bool {
    let of_line = tunnels
        .iter()
        .rev()
        .take_while(|tunnel| !tunnel.is_mirror());
    ecn_capable(traffic_class) && of_line.into_iter().any(Tunnel::is_marked)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|&it| u16::from_be_bytes(it))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|&it| u32::from_be_bytes(it))
}

#[cfg(test)]
mod tests;
