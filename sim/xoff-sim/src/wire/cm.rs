//! Messages of the communication manager: what two ends tell each other to connect their queue pairs, and to part
//! again (IBTA volume 1 chapter 12).
//!
//! Each is a management datagram of 256 bytes: the common header, the message's own header, and private data of whoever
//! uses the connection. What [`IpCm`] says is at the beginning of the private data of a request.

use std::fmt;

use thiserror::Error;

use super::mad::MAD_BYTES;
use super::{Mad, MadRepr, Psn, Qpn};

/// Version of the common header.
const BASE_VERSION: u8 = 1;
/// Management class of the communication manager, its version, and its only method, Send.
const CLASS: u8 = 0x07;
const CLASS_VERSION: u8 = 2;
const METHOD_SEND: u8 = 0x03;
/// Bytes of a message with its private data.
const MESSAGE_BYTES: usize = MAD_BYTES - MadRepr::LEN;
/// Service IDs of IP addressing: 1 in 40 bits, the protocol TCP in 8 (IBTA annex A11.4); a port follows.
const IP_SERVICE: u64 = 0x0000_0000_0106_0000;

header! {
    /// REQ: a request for a connection, 140 bytes before its private data (IBTA volume 1 table 106). Of the alternate
    /// path nothing is read, and none is told; over Ethernet there is none.
    ///
    /// ```text
    ///  byte 0           4        8            16           24       28
    ///      | local ID 32 | rsv 32 | service 64 | CA GUID 64 | rsv 32 | Q_Key 32 |
    ///  byte 32      35                  36     39                 40     43
    ///      | QPN 24 | responder res. 8 | EECN 24 | init. depth 8 | EECN 24 | remote timeout 5 · service 2 · flow 1 |
    ///  byte 44      47                            48        50
    ///      | PSN 24 | local timeout 5 · retries 3 | P_Key 16 | MTU 4 · RDC 1 · RNR retries 3 |
    ///  byte 51                                52           54            56            72
    ///      | CM retries 4 · SRQ 1 · ext. type 3 | local LID 16 | remote LID 16 | local GID 128 | remote GID 128 |
    ///  byte 88             90.4    91     92                 93            94                          95
    ///      | flow label 20 · rsv 6 · rate 6 | traffic class 8 | hop limit 8 | SL 4 · subnet local 1 | ACK timeout 5 |
    /// ```
    CmReq, CmReqRepr, "REQ", 140 bytes;
    /// The requester's number for the connection.
    local_id, set_local_id: u32 = 0..32;
    /// What is asked for: [`service_of_port`].
    service, set_service: u64 = 64..128;
    /// The requester's channel adapter.
    ca_guid, set_ca_guid: u64 = 128..192;
    /// Q_Key, of datagrams.
    qkey, set_qkey: u32 = 224..256;
    /// The requester's queue pair.
    qpn, set_qpn: Qpn = 256..280;
    /// How many READs and atomics the requester's queue pair answers at a time.
    responder_resources, set_responder_resources: u8 = 280..288;
    /// How many READs and atomics the requester's queue pair has under way at a time.
    initiator_depth, set_initiator_depth: u8 = 312..320;
    /// In what time the other end should answer: 4.096 µs · 2^n.
    remote_timeout, set_remote_timeout: u8 = 344..349;
    /// Service: RC 0, UC 1.
    service_type, set_service_type: u8 = 349..351;
    /// End-to-end flow control.
    flow_control, set_flow_control: bool = 351..352;
    /// The PSN with which the other end's requests begin.
    psn, set_psn: Psn = 352..376;
    /// In what time the requester answers.
    local_timeout, set_local_timeout: u8 = 376..381;
    /// How often the other end's queue pair may send again.
    retries, set_retries: u8 = 381..384;
    /// P_Key.
    pkey, set_pkey: u16 = 384..400;
    /// Path MTU: 1 is 256 bytes, 5 is 4096.
    mtu, set_mtu: u8 = 400..404;
    /// Whether there is a reliable datagram channel.
    rdc_exists, set_rdc_exists: bool = 404..405;
    /// How often the other end's queue pair may try again when the receiver is not ready; 7: forever.
    rnr_retries, set_rnr_retries: u8 = 405..408;
    /// How often either end sends a message again that is not answered.
    cm_retries, set_cm_retries: u8 = 408..412;
    /// Whether the requester's queue pair has a shared receive queue.
    srq, set_srq: bool = 412..413;
    /// Extended transport type.
    extended_type, set_extended_type: u8 = 413..416;
    /// LIDs; over Ethernet 0xffff.
    local_lid, set_local_lid: u16 = 416..432;
    /// The other end's.
    remote_lid, set_remote_lid: u16 = 432..448;
    /// GIDs: addresses, of which IPv4's are mapped into IPv6.
    local_gid, set_local_gid: u128 = 448..576;
    /// The other end's.
    remote_gid, set_remote_gid: u128 = 576..704;
    /// Flow label, 20 bits.
    flow_label, set_flow_label: u32 = 704..724;
    /// Code of the rate, 6 bits.
    rate, set_rate: u8 = 730..736;
    /// Traffic class.
    traffic_class, set_traffic_class: u8 = 736..744;
    /// Hop limit.
    hop_limit, set_hop_limit: u8 = 744..752;
    /// Service level.
    sl, set_sl: u8 = 752..756;
    /// Whether the path is within a subnet.
    subnet_local, set_subnet_local: bool = 756..757;
    /// ACK timeout of the other end's queue pair: 4.096 µs · 2^n, 0 is none.
    ack_timeout, set_ack_timeout: u8 = 760..765;
}

header! {
    /// MRA: a message was received, and its answer takes longer than the other end waits, 10 bytes before its private
    /// data (IBTA volume 1 table 107):
    ///
    /// ```text
    ///  byte 0             4              8             9
    ///      | local ID 32 | remote ID 32 | message 2 · | timeout 5 · |
    /// ```
    CmMra, CmMraRepr, "MRA", 10 bytes;
    /// The sender's number for the connection.
    local_id, set_local_id: u32 = 0..32;
    /// The receiver's.
    remote_id, set_remote_id: u32 = 32..64;
    /// Which message: 0 REQ, 1 REP, 2 LAP.
    message, set_message: u8 = 64..66;
    /// How much longer the answer takes: 4.096 µs · 2^n.
    service_timeout, set_service_timeout: u8 = 72..77;
}

header! {
    /// REJ: a connection is refused, 12 bytes before more about the reason and private data (IBTA volume 1 table 108):
    ///
    /// ```text
    ///  byte 0             4              8             9               10          12
    ///      | local ID 32 | remote ID 32 | message 2 · | info length 7 · | reason 16 | info 576 | private data |
    /// ```
    CmRej, CmRejRepr, "REJ", 12 bytes;
    /// The sender's number for the connection; 0 if it never had one.
    local_id, set_local_id: u32 = 0..32;
    /// The receiver's.
    remote_id, set_remote_id: u32 = 32..64;
    /// Which message is refused: 0 REQ, 1 REP, 2 none of them.
    message, set_message: u8 = 64..66;
    /// Bytes of the information about the reason.
    info_bytes, set_info_bytes: u8 = 72..79;
    /// Why: [`RejectReason`].
    reason, set_reason: u16 = 80..96;
}

header! {
    /// REP: the answer to a request that is accepted, 36 bytes before its private data (IBTA volume 1 table 110):
    ///
    /// ```text
    ///  byte 0             4              8          12             16            20
    ///      | local ID 32 | remote ID 32 | Q_Key 32 | QPN 24 · rsv | EECN 24 · rsv | PSN 24 · rsv |
    ///  byte 24               25             26                             27                   28
    ///      | responder res. 8 | init. depth 8 | ACK delay 5 · failover 2 · flow 1 | RNR retry 3 · SRQ 1 | CA GUID 64 |
    /// ```
    CmRep, CmRepRepr, "REP", 36 bytes;
    /// The sender's number for the connection.
    local_id, set_local_id: u32 = 0..32;
    /// The receiver's.
    remote_id, set_remote_id: u32 = 32..64;
    /// Q_Key, of datagrams.
    qkey, set_qkey: u32 = 64..96;
    /// The sender's queue pair.
    qpn, set_qpn: Qpn = 96..120;
    /// The PSN with which the receiver's requests begin.
    psn, set_psn: Psn = 160..184;
    /// How many READs and atomics the sender's queue pair answers at a time.
    responder_resources, set_responder_resources: u8 = 192..200;
    /// How many READs and atomics the sender's queue pair has under way at a time.
    initiator_depth, set_initiator_depth: u8 = 200..208;
    /// In what time the sender's queue pair acknowledges: 4.096 µs · 2^n.
    ack_delay, set_ack_delay: u8 = 208..213;
    /// What became of the alternate path.
    failover, set_failover: u8 = 213..215;
    /// End-to-end flow control.
    flow_control, set_flow_control: bool = 215..216;
    /// How often the receiver's queue pair may try again when the sender's is not ready; 7: forever.
    rnr_retries, set_rnr_retries: u8 = 216..219;
    /// Whether the sender's queue pair has a shared receive queue.
    srq, set_srq: bool = 219..220;
    /// The sender's channel adapter.
    ca_guid, set_ca_guid: u64 = 224..288;
}

header! {
    /// RTU: the answer has come, and messages may go; and DREP: the connection is given up. 8 bytes before their
    /// private data (IBTA volume 1 tables 111 and 113):
    ///
    /// ```text
    ///  byte 0             4
    ///      | local ID 32 | remote ID 32 |
    /// ```
    CmIds, CmIdsRepr, "communication IDs", 8 bytes;
    /// The sender's number for the connection.
    local_id, set_local_id: u32 = 0..32;
    /// The receiver's.
    remote_id, set_remote_id: u32 = 32..64;
}

header! {
    /// DREQ: a request to part, 12 bytes before its private data (IBTA volume 1 table 112):
    ///
    /// ```text
    ///  byte 0             4              8
    ///      | local ID 32 | remote ID 32 | remote QPN 24 · rsv |
    /// ```
    CmDreq, CmDreqRepr, "DREQ", 12 bytes;
    /// The sender's number for the connection.
    local_id, set_local_id: u32 = 0..32;
    /// The receiver's.
    remote_id, set_remote_id: u32 = 32..64;
    /// The receiver's queue pair.
    remote_qpn, set_remote_qpn: Qpn = 64..88;
}

header! {
    /// IP addressing at the beginning of the private data of a REQ, 36 bytes (IBTA annex A11.4):
    ///
    /// ```text
    ///  byte 0                 1                  2         4            20
    ///      | major 4 · minor 4 | IP version 4 · rsv | port 16 | source 128 | destination 128 |
    /// ```
    IpCm, IpCmRepr, "IP addressing", 36 bytes;
    /// Version of this header: 0.
    major, set_major: u8 = 0..4;
    /// Its lower part.
    minor, set_minor: u8 = 4..8;
    /// 4 or 6.
    ip_version, set_ip_version: u8 = 8..12;
    /// The port from which the requester connects.
    port, set_port: u16 = 16..32;
    /// The requester's address; IPv4's in the low 32 bits.
    src, set_src: u128 = 32..160;
    /// The address that it connects to.
    dst, set_dst: u128 = 160..288;
}

/// The service ID of a port of RDMA's TCP port space.
pub const fn service_of_port(port: u16) -> u64 {
    IP_SERVICE | port as u64
}

/// The port of a service ID, if it is one of RDMA's TCP port space.
pub const fn port_of_service(service: u64) -> Option<u16> {
    match service & !0xFFFF == IP_SERVICE {
        true => Some(service as u16),
        false => None,
    }
}

/// Why a connection is refused (IBTA volume 1 table 109).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectReason(pub u16);

impl RejectReason {
    /// There is no queue pair for it.
    pub const NO_QP: Self = Self(1);
    /// It took too long.
    pub const TIMEOUT: Self = Self(4);
    /// Nobody waits for requests for this service.
    pub const INVALID_SERVICE: Self = Self(8);
    /// The service is not RC.
    pub const INVALID_SERVICE_TYPE: Self = Self(9);
    /// The path MTU is none.
    pub const INVALID_MTU: Self = Self(26);
    /// Who waits there does not want it.
    pub const CONSUMER: Self = Self(28);

    /// The standard's words.
    pub const fn words(self) -> &'static str {
        match self.0 {
            1 => "no QP available",
            2 => "no EEC available",
            3 => "no resources available",
            4 => "timeout",
            5 => "unsupported request",
            6 => "invalid communication ID",
            7 => "invalid communication instance",
            8 => "invalid service ID: nobody waits there",
            9 => "invalid transport service type",
            10 => "stale connection",
            11 => "RDC does not exist",
            12 => "primary remote port GID rejected",
            13 => "primary remote port LID rejected",
            14 => "invalid primary SL",
            15 => "invalid primary traffic class",
            16 => "invalid primary hop limit",
            17 => "invalid primary packet rate",
            18 => "alternate remote port GID rejected",
            19 => "alternate remote port LID rejected",
            20 => "invalid alternate SL",
            21 => "invalid alternate traffic class",
            22 => "invalid alternate hop limit",
            23 => "invalid alternate packet rate",
            24 => "port and CM redirection",
            25 => "port redirection",
            26 => "invalid path MTU",
            27 => "insufficient responder resources",
            28 => "consumer reject",
            29 => "RNR retry count rejected",
            30 => "duplicate local communication ID",
            31 => "unsupported class version",
            32 => "invalid flow label",
            33 => "invalid alternate flow label",
            _ => "a reason without a name",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.words())
    }
}

/// The names of the attributes of the communication manager (IBTA volume 1 table 105), from 0x0010 on.
const NAMES: [&str; 11] = [
    "REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR",
];
const FIRST: u16 = 0x0010;

/// The own header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the headers say it")]
#[allow(clippy::large_enum_variant, reason = "few are under way at a time")]
pub enum CmBody {
    Req(CmReqRepr),
    Mra(CmMraRepr),
    Rej(CmRejRepr),
    Rep(CmRepRepr),
    Rtu(CmIdsRepr),
    Dreq(CmDreqRepr),
    Drep(CmIdsRepr),
}

/// A message of the communication manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmMessage {
    /// Transaction of its datagram.
    pub transaction: u64,
    /// Its own header.
    pub body: CmBody,
    /// What follows the own header: private data, and of a REJ 72 bytes of information before it. Zeros at its end may
    /// be left out.
    pub private: Vec<u8>,
}

/// Why a management datagram is no message of the communication manager that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CmError {
    /// Its length is not that of every management datagram.
    #[error("a management datagram of {0} bytes; {MAD_BYTES} is right (IBTA volume 1 §13.4.2)")]
    Length(usize),
    /// A field of the common header.
    #[error(
        "byte {at} of a management datagram, the {field}, is {found:#04x}; {right:#04x} is right"
    )]
    Header {
        /// The field.
        field: &'static str,
        /// Where it is.
        at: usize,
        /// What it says.
        found: u8,
        /// What the communication manager's say.
        right: u8,
    },
    /// Its attribute is none of those for connections of RC.
    #[error(
        "bytes 16 and 17 of a management datagram, the attribute, are {0:#06x}{name}; 0x0010 (REQ) to 0x0016 (DREP) \
         is right",
        name = attribute_name(*.0).map_or_else(String::new, |name| format!(" ({name})"))
    )]
    Attribute(u16),
}

impl CmError {
    /// A word for it, for counters.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Length(_) => "mad_length",
            Self::Header { .. } => "mad_header",
            Self::Attribute(_) => "attribute",
        }
    }
}

/// The name of an attribute of the communication manager.
pub fn attribute_name(attribute: u16) -> Option<&'static str> {
    let place = usize::from(attribute.checked_sub(FIRST)?);
    NAMES.get(place).copied()
}

impl CmBody {
    /// The attribute of its datagram.
    pub const fn attribute(&self) -> u16 {
        FIRST
            + match self {
                Self::Req(_) => 0,
                Self::Mra(_) => 1,
                Self::Rej(_) => 2,
                Self::Rep(_) => 3,
                Self::Rtu(_) => 4,
                Self::Dreq(_) => 5,
                Self::Drep(_) => 6,
            }
    }

    /// The message's name.
    pub const fn name(&self) -> &'static str {
        NAMES[(self.attribute() - FIRST) as usize]
    }

    /// The sender's and the receiver's numbers for the connection; of the latter a REQ knows none.
    pub const fn ids(&self) -> (u32, Option<u32>) {
        match self {
            Self::Req(it) => (it.local_id, None),
            Self::Mra(it) => (it.local_id, Some(it.remote_id)),
            Self::Rej(it) => (it.local_id, Some(it.remote_id)),
            Self::Rep(it) => (it.local_id, Some(it.remote_id)),
            Self::Rtu(it) | Self::Drep(it) => (it.local_id, Some(it.remote_id)),
            Self::Dreq(it) => (it.local_id, Some(it.remote_id)),
        }
    }
}

/// What a person reads of a message.
impl fmt::Display for CmBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (local, remote) = self.ids();
        write!(f, "CM {} {local:#x}", self.name())?;
        if let Some(remote) = remote {
            write!(f, " to {remote:#x}")?;
        }
        match self {
            Self::Req(it) => {
                match port_of_service(it.service) {
                    Some(port) => write!(f, " port {port}")?,
                    None => write!(f, " service {:#x}", it.service)?,
                }
                write!(f, " QP {:#x} psn {:#x}", it.qpn.get(), it.psn.get())
            }
            Self::Rep(it) => write!(f, " QP {:#x} psn {:#x}", it.qpn.get(), it.psn.get()),
            Self::Rej(it) => write!(f, " reason {}", RejectReason(it.reason)),
            Self::Dreq(it) => write!(f, " QP {:#x}", it.remote_qpn.get()),
            Self::Mra(_) | Self::Rtu(_) | Self::Drep(_) => Ok(()),
        }
    }
}

impl CmMessage {
    /// Reads a management datagram.
    ///
    /// # Errors
    ///
    /// [`CmError`]: it is none of the communication manager's, or none for connections of RC.
    pub fn parse(mad: &[u8]) -> Result<Self, CmError> {
        if mad.len() != MAD_BYTES {
            return Err(CmError::Length(mad.len()));
        }
        let (header, message) = mad.split_at(MadRepr::LEN);
        let header = MadRepr::parse(&Mad::new_unchecked(header));
        for (at, field, found, right) in [
            (0, "base version", header.base_version, BASE_VERSION),
            (1, "class", header.class, CLASS),
            (2, "class version", header.class_version, CLASS_VERSION),
            (3, "method", header.method, METHOD_SEND),
        ] {
            if found != right {
                return Err(CmError::Header {
                    field,
                    at,
                    found,
                    right,
                });
            }
        }
        let place = header.attribute.wrapping_sub(FIRST);
        let (body, bytes) = match place {
            0 => {
                let it = CmReqRepr::parse(&CmReq::new_unchecked(message));
                (CmBody::Req(it), CmReqRepr::LEN)
            }
            1 => {
                let it = CmMraRepr::parse(&CmMra::new_unchecked(message));
                (CmBody::Mra(it), CmMraRepr::LEN)
            }
            2 => {
                let it = CmRejRepr::parse(&CmRej::new_unchecked(message));
                (CmBody::Rej(it), CmRejRepr::LEN)
            }
            3 => {
                let it = CmRepRepr::parse(&CmRep::new_unchecked(message));
                (CmBody::Rep(it), CmRepRepr::LEN)
            }
            4 | 6 => {
                let it = CmIdsRepr::parse(&CmIds::new_unchecked(message));
                let body = if place == 4 {
                    CmBody::Rtu(it)
                } else {
                    CmBody::Drep(it)
                };
                (body, CmIdsRepr::LEN)
            }
            5 => {
                let it = CmDreqRepr::parse(&CmDreq::new_unchecked(message));
                (CmBody::Dreq(it), CmDreqRepr::LEN)
            }
            _ => return Err(CmError::Attribute(header.attribute)),
        };
        Ok(Self {
            transaction: header.transaction,
            body,
            private: message[bytes..].to_vec(),
        })
    }

    /// Writes the management datagram. Panics when there is more private data than the message has room for.
    pub fn emit(&self) -> [u8; MAD_BYTES] {
        let mut mad = [0; MAD_BYTES];
        let (header, message) = mad.split_at_mut(MadRepr::LEN);
        MadRepr {
            base_version: BASE_VERSION,
            class: CLASS,
            class_version: CLASS_VERSION,
            method: METHOD_SEND,
            status: 0,
            class_specific: 0,
            transaction: self.transaction,
            attribute: self.body.attribute(),
            modifier: 0,
        }
        .emit(&mut Mad::new_unchecked(header));
        let bytes = match &self.body {
            CmBody::Req(it) => {
                it.emit(&mut CmReq::new_unchecked(&mut *message));
                CmReqRepr::LEN
            }
            CmBody::Mra(it) => {
                it.emit(&mut CmMra::new_unchecked(&mut *message));
                CmMraRepr::LEN
            }
            CmBody::Rej(it) => {
                it.emit(&mut CmRej::new_unchecked(&mut *message));
                CmRejRepr::LEN
            }
            CmBody::Rep(it) => {
                it.emit(&mut CmRep::new_unchecked(&mut *message));
                CmRepRepr::LEN
            }
            CmBody::Rtu(it) | CmBody::Drep(it) => {
                it.emit(&mut CmIds::new_unchecked(&mut *message));
                CmIdsRepr::LEN
            }
            CmBody::Dreq(it) => {
                it.emit(&mut CmDreq::new_unchecked(&mut *message));
                CmDreqRepr::LEN
            }
        };
        message[bytes..bytes + self.private.len()].copy_from_slice(&self.private);
        debug_assert_eq!(message.len(), MESSAGE_BYTES);
        mad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip_req, CmReq, CmReqRepr);
    round_trip!(round_trip_mra, CmMra, CmMraRepr);
    round_trip!(round_trip_rej, CmRej, CmRejRepr);
    round_trip!(round_trip_rep, CmRep, CmRepRepr);
    round_trip!(round_trip_ids, CmIds, CmIdsRepr);
    round_trip!(round_trip_dreq, CmDreq, CmDreqRepr);
    round_trip!(round_trip_ip, IpCm, IpCmRepr);

    fn rtu() -> [u8; MAD_BYTES] {
        let body = CmBody::Rtu(CmIdsRepr {
            local_id: 1,
            remote_id: 2,
        });
        let private = Vec::new();
        CmMessage {
            transaction: 3,
            body,
            private,
        }
        .emit()
    }

    #[test]
    fn what_is_no_message_is_said_with_what_would_be() {
        let wrong = |at: usize, byte: u8| {
            let mut mad = rtu();
            mad[at] = byte;
            CmMessage::parse(&mad).unwrap_err().to_string()
        };
        assert_eq!(
            wrong(1, 0x03),
            "byte 1 of a management datagram, the class, is 0x03; 0x07 is right"
        );
        assert!(wrong(0, 2).contains("base version") && wrong(2, 1).contains("class version"));
        assert!(wrong(3, 0x81).contains("method"));
        assert!(wrong(17, 0x17).contains("0x0017 (SIDR_REQ); 0x0010 (REQ)"));
        assert!(wrong(17, 0x40).contains("0x0040; 0x0010 (REQ)"));
        let short = CmMessage::parse(&rtu()[..200]).unwrap_err().to_string();
        assert!(short.starts_with("a management datagram of 200 bytes; 256 is right"));
    }

    #[test]
    fn service_ids_are_those_of_ports() {
        assert_eq!(service_of_port(7174), 0x0000_0000_0106_1c06);
        assert_eq!(port_of_service(0x0000_0000_0106_1c06), Some(7174));
        // The port space of UDP.
        assert_eq!(port_of_service(0x0000_0000_0111_1c06), None);
    }
}
