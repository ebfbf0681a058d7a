//! Frames that carry messages of the communication manager: UD packets to QP 1 of an end from QP 1 of the other.

use std::net::IpAddr;

use bytes::Bytes;
use thiserror::Error;
use xoff_sim::nic::Address;
use xoff_sim::protocol::builder::{Content, Descriptor, IpFields, RocePacket};
use xoff_sim::protocol::parse;
use xoff_sim::wire::frame::{IpKind, Reason, Verdict};
use xoff_sim::wire::{
    BthRepr, CmError, CmMessage, DethRepr, ExtHeaders, Opcode, Psn, Q_KEY_GENERAL_SERVICES,
    QP_GENERAL_SERVICES, Qpn, address_bits, address_of,
};

use super::super::verbs::{HOP_LIMIT, UDP_PORT};

/// The flag that forbids fragments, of three from the high one.
const DONT_FRAGMENT: u8 = 0b010;
const PKEY: u16 = 0xFFFF;

/// Why a frame to QP 1 has no message for the communication manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The packet is malformed.
    #[error("the packet is malformed: {0}")]
    Malformed(Reason),
    /// Its ICRC is wrong.
    #[error("its ICRC is not that of its bytes")]
    Icrc,
    /// It is no packet of the service of QP 1.
    #[error("its opcode is {0}; UD_SEND_ONLY is right")]
    Opcode(Opcode),
    /// Its Q_Key is not that of QP 1.
    #[error("the Q_Key in its DETH is {0:#010x}; {Q_KEY_GENERAL_SERVICES:#010x} is right")]
    QKey(u32),
    /// The datagram is no message.
    #[error(transparent)]
    Message(#[from] CmError),
}

impl Refused {
    /// A word for it, for counters.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Icrc => "icrc",
            Self::Opcode(_) => "opcode",
            Self::QKey(_) => "q_key",
            Self::Message(error) => error.reason(),
        }
    }
}

/// Whether a BTH is that of a packet for the communication manager.
pub const fn is_for_it(dest_qp: Qpn) -> bool {
    dest_qp.get() == QP_GENERAL_SERVICES
}

/// Reads a frame to QP 1. Returns who has sent it, to which address, and the message.
///
/// # Errors
///
/// [`Refused`].
pub fn read(frame: &[u8]) -> Result<(Address, IpAddr, CmMessage), Refused> {
    let parsed = parse(frame);
    if let Some(reason) = parsed.reason {
        return Err(Refused::Malformed(reason));
    }
    let (Verdict::RoceV2, Some(eth), Some(ip), Some(bth)) =
        (parsed.verdict, &parsed.eth, parsed.ip, parsed.bth)
    else {
        // With a BTH that can be read, it is a CNP.
        let opcode = parsed.bth.map_or(Opcode::CNP, |bth| bth.opcode);
        return Err(Refused::Opcode(opcode));
    };
    if parsed.icrc_ok != Some(true) {
        return Err(Refused::Icrc);
    }
    let deth = parsed.ext.and_then(|ext| ext.deth);
    let (Opcode::UD_SEND_ONLY, Some(deth)) = (bth.opcode, deth) else {
        return Err(Refused::Opcode(bth.opcode));
    };
    if deth.qkey != Q_KEY_GENERAL_SERVICES {
        return Err(Refused::QKey(deth.qkey));
    }
    let is_v4 = ip.kind == IpKind::V4;
    let from = Address {
        mac: eth.src,
        ip: address_of(ip.src, is_v4),
    };
    Ok((
        from,
        address_of(ip.dst, is_v4),
        CmMessage::parse(&parsed.payload)?,
    ))
}

/// Writes the frame of a message. `psn` counts the packets of QP 1.
pub fn write(own: Address, to: Address, dscp: u8, psn: Psn, message: &CmMessage) -> Bytes {
    let qp = Qpn::new(QP_GENERAL_SERVICES).unwrap_or_default();
    let (kind, flags) = match to.ip {
        IpAddr::V4(_) => (IpKind::V4, DONT_FRAGMENT),
        IpAddr::V6(_) => (IpKind::V6, 0),
    };
    let packet = RocePacket {
        ip: IpFields {
            kind,
            traffic_class: dscp << 2,
            flow_label: 0,
            id: 0,
            flags,
            hop_limit: HOP_LIMIT,
            src: address_bits(own.ip),
            dst: address_bits(to.ip),
        },
        udp_src_port: Some(UDP_PORT | QP_GENERAL_SERVICES as u16),
        bth: BthRepr {
            opcode: Opcode::UD_SEND_ONLY,
            pkey: PKEY,
            dest_qp: qp,
            psn,
            ..BthRepr::default()
        },
        ext: ExtHeaders {
            deth: Some(DethRepr {
                qkey: Q_KEY_GENERAL_SERVICES,
                src_qp: qp,
            }),
            ..ExtHeaders::default()
        },
        payload: message.emit().to_vec(),
    };
    let frame = Descriptor {
        dst: to.mac,
        src: own.mac,
        tags: Vec::new(),
        content: Content::Roce(packet),
    };
    let built = frame.build();
    built
        .expect("a UD packet with a DETH and 256 bytes can be built")
        .into()
}

#[cfg(test)]
mod tests {
    use xoff_sim::wire::{CmBody, CmIdsRepr, MacAddr};

    use super::*;

    fn address(number: u8, ip: &str) -> Address {
        Address {
            mac: MacAddr([2, 0, 0, 0, 0, number]),
            ip: ip.parse().unwrap(),
        }
    }

    fn rtu() -> CmMessage {
        let ids = CmIdsRepr {
            local_id: 7,
            remote_id: 9,
        };
        CmMessage {
            transaction: 1,
            body: CmBody::Rtu(ids),
            private: Vec::new(),
        }
    }

    fn frame(from: &str, to: &str) -> Vec<u8> {
        write(address(1, from), address(2, to), 0, Psn::default(), &rtu()).to_vec()
    }

    #[test]
    fn a_message_is_read_as_it_is_written() {
        for (from, to) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")] {
            let (by, whom, message) = read(&frame(from, to)).unwrap();
            assert_eq!((by, whom), (address(1, from), to.parse().unwrap()));
            assert_eq!(message.body, rtu().body);
        }
    }

    #[test]
    fn what_is_no_message_is_said() {
        let right = frame("192.0.2.1", "192.0.2.2");
        // Headers of 14, 20, 8 and 12 bytes are before the DETH.
        let changed = |at: usize, byte: u8| {
            let mut bytes = right.clone();
            bytes[at] ^= byte;
            read(&bytes).unwrap_err()
        };
        assert_eq!(changed(100, 1), Refused::Icrc);
        assert_eq!(changed(54, 1), Refused::Icrc);
        assert_eq!(changed(17, 1).reason(), "malformed");
        let other = |change: &dyn Fn(&mut RocePacket)| {
            let mut frame = Descriptor::from_parsed(&parse(&right)).unwrap();
            let Content::Roce(packet) = &mut frame.content else {
                panic!("{frame:?}");
            };
            change(packet);
            read(&frame.build().unwrap()).unwrap_err()
        };
        let key = other(&|packet| packet.ext.deth.as_mut().unwrap().qkey = 5);
        assert_eq!(
            key.to_string(),
            "the Q_Key in its DETH is 0x00000005; 0x80010000 is right"
        );
        let short = other(&|packet| packet.payload.truncate(100));
        assert_eq!(
            (short.reason(), short),
            ("mad_length", Refused::Message(CmError::Length(100)))
        );
        let service = other(&|packet| {
            packet.bth.opcode = Opcode::RC_SEND_ONLY;
            packet.ext.deth = None;
        });
        assert!(
            service.to_string().contains("UD_SEND_ONLY is right"),
            "{service}"
        );
    }
}
