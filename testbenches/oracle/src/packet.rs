//! What a frame says: Ethernet, VLANs, IP and UDP by `etherparse`, the transport headers by the few lines here
//! (volume 1, 9.2 and 9.3).

use etherparse::{EtherType, LinkExtSlice, LinkSlice, NetSlice, SlicedPacket, TransportSlice};

use crate::icrc::icrc;

/// The UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;
/// EtherType of MAC control: PFC and PAUSE.
const MAC_CONTROL: u16 = 0x8808;
/// Opcode of an acknowledgement of a reliable connection.
pub const ACKNOWLEDGE: u8 = 0x11;
/// Opcode of the response of an atomic.
const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
/// Opcode of a congestion notification (A17.9.3).
pub const CNP: u8 = 0x81;
/// Bytes of FCS, preamble and the smallest gap, which the wire carries with each frame.
const AROUND: u64 = 4 + 8 + 12;

/// What a frame is.
#[derive(Debug)]
pub enum Frame {
    /// A RoCEv2 packet.
    Packet(Box<Packet>),
    /// PFC or PAUSE.
    MacControl,
    /// Neither; why.
    Other(String),
}

/// What all packets of a QP have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Destination and source.
    pub macs: [[u8; 6]; 2],
    /// EtherTypes, of tags first.
    pub types: Vec<u16>,
    /// VLAN identifiers.
    pub vlans: Vec<u16>,
    /// Source and destination.
    pub addresses: [Vec<u8>; 2],
    /// P_Key.
    pub pkey: u16,
}

/// RDMA extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reth {
    /// Address at the responder.
    pub va: u64,
    /// Key.
    pub key: u32,
    /// Length of the message.
    pub length: u32,
}

/// Atomic extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicEth {
    /// Address at the responder.
    pub va: u64,
    /// Key.
    pub key: u32,
    /// What is added or stored.
    pub swap_add: u64,
    /// What is compared with.
    pub compare: u64,
}

/// Acknowledge extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aeth {
    /// Kind of answer, with its code.
    pub syndrome: u8,
    /// Message sequence number.
    pub msn: u32,
}

/// A RoCEv2 packet.
#[derive(Debug)]
pub struct Packet {
    /// What all packets of its QP have in common.
    pub path: Path,
    /// DSCP.
    pub dscp: u8,
    /// Bytes on the wire, with preamble, FCS and gap.
    pub wire_bytes: u64,
    /// Whether the checksum of an IPv4 header is right.
    pub checksum: bool,
    /// Whether the ICRC is right.
    pub icrc: bool,
    /// Opcode.
    pub opcode: u8,
    /// SE.
    pub solicited: bool,
    /// Whether reserved bits, header version and pad bytes are 0.
    pub plain: bool,
    /// Number of pad bytes.
    pub pad: usize,
    /// Number of the QP to which it goes.
    pub qpn: u32,
    /// Whether it asks for an acknowledgement.
    pub ack_request: bool,
    /// PSN.
    pub psn: u32,
    /// RETH, if the opcode has one.
    pub reth: Option<Reth>,
    /// AETH, if the opcode has one.
    pub aeth: Option<Aeth>,
    /// AtomicETH, if the opcode has one.
    pub atomic: Option<AtomicEth>,
    /// The original value, if the opcode has one.
    pub original: Option<u64>,
    /// Immediate data or the key to invalidate, if the opcode has either.
    pub word: Option<u32>,
    /// Payload, without pad.
    pub payload: Vec<u8>,
}

impl Packet {
    /// Whether it is a request.
    pub fn is_request(&self) -> bool {
        self.opcode != ACKNOWLEDGE && self.opcode != CNP && !self.is_response()
    }

    /// Whether it is a READ response or the response of an atomic.
    pub fn is_response(&self) -> bool {
        matches!(self.opcode, 0x0D..=0x10 | ATOMIC_ACKNOWLEDGE)
    }
}

/// Whether a packet with this opcode has a RETH.
const fn has_reth(opcode: u8) -> bool {
    matches!(opcode, 0x06 | 0x0A | 0x0B | 0x0C)
}

/// Whether a packet with this opcode has an AETH.
const fn has_aeth(opcode: u8) -> bool {
    matches!(
        opcode,
        0x0D | 0x0F | 0x10 | ACKNOWLEDGE | ATOMIC_ACKNOWLEDGE
    )
}

/// Whether a packet with this opcode has immediate data or a key to invalidate.
const fn has_word(opcode: u8) -> bool {
    matches!(opcode, 0x03 | 0x05 | 0x09 | 0x0B | 0x16 | 0x17)
}

/// Reads a frame.
pub fn read(bytes: &[u8]) -> Frame {
    if bytes.get(12..14) == Some(&MAC_CONTROL.to_be_bytes()) {
        return Frame::MacControl;
    }
    match packet(bytes) {
        Ok(packet) => Frame::Packet(Box::new(packet)),
        Err(why) => Frame::Other(why),
    }
}

fn packet(bytes: &[u8]) -> Result<Packet, String> {
    let parts = SlicedPacket::from_ethernet(bytes).map_err(|error| error.to_string())?;
    let Some(LinkSlice::Ethernet2(ethernet)) = &parts.link else {
        return Err("not Ethernet".into());
    };
    let mut types = vec![ethernet.ether_type().0];
    types.extend(parts.link_exts.iter().filter_map(|part| match part {
        LinkExtSlice::Vlan(vlan) => Some(vlan.ether_type().0),
        LinkExtSlice::Macsec(_) => None,
    }));
    let vlans = parts.link_exts.iter().map(|part| match part {
        LinkExtSlice::Vlan(vlan) => Ok(vlan.vlan_identifier().value()),
        LinkExtSlice::Macsec(_) => Err("MACsec".to_owned()),
    });
    let vlans = vlans.collect::<Result<Vec<_>, _>>()?;
    let (ip, addresses, traffic_class, checksum) = match &parts.net {
        Some(NetSlice::Ipv4(ip)) if ip.extensions().is_empty() => {
            let header = ip.header();
            let addresses = [header.source().to_vec(), header.destination().to_vec()];
            let whole = header.to_header();
            let checksum = whole.calc_header_checksum() == whole.header_checksum;
            let class = header.slice()[1];
            (header.slice().to_vec(), addresses, class, checksum)
        }
        Some(NetSlice::Ipv6(ip)) if ip.extensions().slice().is_empty() => {
            let header = ip.header();
            let addresses = [header.source().to_vec(), header.destination().to_vec()];
            (
                header.slice().to_vec(),
                addresses,
                header.traffic_class(),
                true,
            )
        }
        _ => {
            return Err(format!(
                "no plain IP behind EtherType {:?}",
                ethernet_type(&parts)
            ));
        }
    };
    let Some(TransportSlice::Udp(udp)) = &parts.transport else {
        return Err("not UDP".into());
    };
    if udp.destination_port() != ROCE_PORT {
        return Err(format!(
            "UDP port {}, not {ROCE_PORT}",
            udp.destination_port()
        ));
    }
    let (transport, found) = (udp.payload())
        .split_last_chunk::<4>()
        .filter(|(transport, _)| transport.len() >= 12 && transport.len() % 4 == 0)
        .ok_or_else(|| format!("a UDP payload of {} bytes", udp.payload().len()))?;
    let mut read = Packet {
        path: Path {
            macs: [ethernet.destination(), ethernet.source()],
            types,
            vlans,
            addresses,
            pkey: 0,
        },
        dscp: traffic_class >> 2,
        wire_bytes: bytes.len().max(60) as u64 + AROUND,
        checksum,
        icrc: icrc(&ip, udp.header_slice(), transport) == *found,
        ..transport_headers(transport)?
    };
    read.path.pkey = u16::from_be_bytes([transport[2], transport[3]]);
    Ok(read)
}

fn ethernet_type(parts: &SlicedPacket<'_>) -> Option<EtherType> {
    parts.ether_payload().map(|payload| payload.ether_type)
}

/// Reads a number of two words.
fn long(next: &mut impl FnMut() -> Result<u32, String>) -> Result<u64, String> {
    Ok(u64::from(next()?) << 32 | u64::from(next()?))
}

/// Reads BTH, what follows it by the opcode, and the payload.
fn transport_headers(bytes: &[u8]) -> Result<Packet, String> {
    let word = |place: usize| {
        bytes
            .get(place..place + 4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
    };
    let mut behind = 12;
    let mut next = || {
        behind += 4;
        word(behind - 4).ok_or_else(|| {
            format!(
                "{} bytes are too short for opcode {:#x}",
                bytes.len(),
                bytes[0]
            )
        })
    };
    let opcode = bytes[0];
    let reth = match has_reth(opcode) {
        true => Some(Reth {
            va: u64::from(next()?) << 32 | u64::from(next()?),
            key: next()?,
            length: next()?,
        }),
        false => None,
    };
    let aeth = match has_aeth(opcode) {
        true => next().map(|word| {
            Some(Aeth {
                syndrome: (word >> 24) as u8,
                msn: word & 0xFF_FFFF,
            })
        })?,
        false => None,
    };
    let original = match opcode == ATOMIC_ACKNOWLEDGE {
        true => Some(long(&mut next)?),
        false => None,
    };
    let atomic = match matches!(opcode, 0x13 | 0x14) {
        true => Some(AtomicEth {
            va: long(&mut next)?,
            key: next()?,
            swap_add: long(&mut next)?,
            compare: long(&mut next)?,
        }),
        false => None,
    };
    let immediate = match has_word(opcode) {
        true => Some(next()?),
        false => None,
    };
    let pad = usize::from(bytes[1] >> 4 & 3);
    let payload = (bytes.len() - behind).checked_sub(pad);
    let payload = payload.ok_or_else(|| format!("{pad} bytes of pad and no payload"))?;
    let (payload, padding) = bytes[behind..].split_at(payload);
    let [psn, qpn] = [8, 4].map(|place| word(place).expect("a BTH has 12 bytes"));
    Ok(Packet {
        path: Path {
            macs: [[0; 6]; 2],
            types: vec![],
            vlans: vec![],
            addresses: [vec![], vec![]],
            pkey: 0,
        },
        dscp: 0,
        wire_bytes: 0,
        checksum: true,
        icrc: true,
        opcode,
        solicited: bytes[1] >> 7 == 1,
        plain: bytes[1] & 0xF == 0
            && bytes[4] & 0x3F == 0
            && bytes[8] & 0x7F == 0
            && padding.iter().all(|byte| *byte == 0),
        pad,
        qpn: qpn & 0xFF_FFFF,
        ack_request: bytes[8] >> 7 == 1,
        psn: psn & 0xFF_FFFF,
        reth,
        aeth,
        atomic,
        original,
        word: immediate,
        payload: payload.to_vec(),
    })
}
