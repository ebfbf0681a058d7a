//! Types that both ends share: `rtl/pkg/gbn_pkg.sv` in Rust.

use serde::{Deserialize, Serialize};

use crate::wire::{Msn, Opcode, Psn, Syndrome};

/// Most packets of a message.
pub const MESSAGE_PACKETS_MAX: u32 = 1 << 22;
/// Most bytes of a message: 2^31 (IBTA volume 1 §9.4.2).
pub const MESSAGE_BYTES_MAX: u32 = 1 << 31;

/// Payload bytes of a full packet, from the code of a configuration: 256 « code, at most 4,096.
pub const fn mtu_bytes(code: u8) -> u32 {
    256 << if code > 4 { 4 } else { code }
}

/// The code of a path MTU of so many bytes; `None` if there is none.
pub fn mtu_code(bytes: u32) -> Option<u8> {
    (0..5).find(|code| mtu_bytes(*code) == bytes)
}

/// The state of a QP (`qp_state_e`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QpState {
    /// The QP does not exist.
    #[default]
    Closed,
    /// The QP works.
    Ready,
    /// The QP has failed: everything that is posted is flushed.
    Error,
}

/// How a work request ended (`status_e`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the package says what they are")]
pub enum Status {
    #[default]
    Success,
    LocalLength,
    Flushed,
    RetryExceeded,
    RnrExceeded,
    RemoteInvalid,
    RemoteAccess,
    RemoteOperate,
    /// The receive buffer, or the memory of a READ, is not registered. Reported by the NIC, not by these units.
    LocalAccess,
    /// A READ response that cannot be.
    BadResponse,
}

impl Status {
    /// All statuses, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::LocalLength,
        Self::Flushed,
        Self::RetryExceeded,
        Self::RnrExceeded,
        Self::RemoteInvalid,
        Self::RemoteAccess,
        Self::RemoteOperate,
        Self::LocalAccess,
        Self::BadResponse,
    ];
}

/// The kind of a work request (`work_e`): four bits, of which the values 8 to 15 have no meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkKind(pub u8);

#[allow(missing_docs, reason = "the package says what they are")]
impl WorkKind {
    pub const SEND: Self = Self(0);
    pub const SEND_IMM: Self = Self(1);
    pub const SEND_INV: Self = Self(2);
    pub const WRITE: Self = Self(3);
    pub const WRITE_IMM: Self = Self(4);
    pub const READ: Self = Self(5);
    pub const CMP_SWAP: Self = Self(6);
    pub const FETCH_ADD: Self = Self(7);

    /// Whether its packets are those of a WRITE.
    pub const fn writes(self) -> bool {
        matches!(self, Self::WRITE | Self::WRITE_IMM)
    }

    /// Whether its last packet carries 4 more bytes: immediate data, or a key to invalidate.
    pub const fn has_imm(self) -> bool {
        matches!(self, Self::SEND_IMM | Self::SEND_INV | Self::WRITE_IMM)
    }

    /// Whether it completes a receive buffer.
    pub const fn takes_buffer(self) -> bool {
        !matches!(self, Self::WRITE) && !self.returns()
    }

    /// Whether it is answered with data for the requester's memory: a READ or an atomic.
    pub const fn returns(self) -> bool {
        matches!(self, Self::READ | Self::CMP_SWAP | Self::FETCH_ADD)
    }

    /// Whether it is an atomic.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CMP_SWAP | Self::FETCH_ADD)
    }

    /// The opcode of a packet at this place in the message (IBTA volume 1 table 38).
    pub const fn opcode(self, first: bool, last: bool) -> Opcode {
        match (self.writes(), first, last) {
            (false, true, false) => Opcode::RC_SEND_FIRST,
            (false, false, false) => Opcode::RC_SEND_MIDDLE,
            (true, true, false) => Opcode::RC_WRITE_FIRST,
            (true, false, false) => Opcode::RC_WRITE_MIDDLE,
            (_, first, true) => match (self, first) {
                (Self::SEND_IMM, false) => Opcode::RC_SEND_LAST_IMM,
                (Self::SEND_IMM, true) => Opcode::RC_SEND_ONLY_IMM,
                (Self::SEND_INV, false) => Opcode::RC_SEND_LAST_INV,
                (Self::SEND_INV, true) => Opcode::RC_SEND_ONLY_INV,
                (Self::WRITE, false) => Opcode::RC_WRITE_LAST,
                (Self::WRITE, true) => Opcode::RC_WRITE_ONLY,
                (Self::WRITE_IMM, false) => Opcode::RC_WRITE_LAST_IMM,
                (Self::WRITE_IMM, true) => Opcode::RC_WRITE_ONLY_IMM,
                (_, false) => Opcode::RC_SEND_LAST,
                (_, true) => Opcode::RC_SEND_ONLY,
            },
        }
    }
}

/// A work request for the send queue (`work_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Work {
    pub kind: WorkKind,
    pub signaled: bool,
    pub solicited: bool,
    /// Whether it waits until all READs and atomics before it are answered.
    pub fence: bool,
    pub length: u32,
    pub local_va: u64,
    pub local_key: u32,
    pub remote_va: u64,
    pub remote_key: u32,
    pub imm: u32,
    pub swap_add: u64,
    pub compare: u64,
    pub id: u64,
}

impl Work {
    /// Number of its packets at this MTU.
    pub const fn packets(&self, mtu: u32) -> u32 {
        let packets = self.length.div_ceil(mtu);
        if packets == 0 { 1 } else { packets }
    }
}

/// A buffer for the receive queue (`recv_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Recv {
    pub length: u32,
    pub local_va: u64,
    pub local_key: u32,
    pub id: u64,
}

/// A request packet to be built (`request_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Request {
    pub opcode: Opcode,
    pub psn: Psn,
    pub ack_req: bool,
    pub solicited: bool,
    pub again: bool,
    pub payload_bytes: u16,
    pub local_va: u64,
    pub local_key: u32,
    pub va: u64,
    pub rkey: u32,
    pub dma_len: u32,
    pub imm: u32,
    pub swap_add: u64,
    pub compare: u64,
}

impl Request {
    /// The packet as the responder receives it. `access` is the result of the responder's check of its memory.
    pub const fn arrival(&self, access: bool) -> Arrival {
        Arrival {
            operation: self.opcode.0 & 0x1F,
            psn: self.psn,
            ack_req: self.ack_req,
            solicited: self.solicited,
            payload_bytes: self.payload_bytes,
            access,
            va: self.va,
            rkey: self.rkey,
            dma_len: self.dma_len,
            imm: self.imm,
            swap_add: self.swap_add,
            compare: self.compare,
        }
    }
}

/// A completion (`completion_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Completion {
    pub receive: bool,
    pub status: Status,
    pub id: u64,
    pub operation: u8,
    pub length: u32,
    pub imm: u32,
    pub solicited: bool,
}

impl Completion {
    /// Returns the key that the message has invalidated: of a SEND with invalidate that was received.
    pub fn invalidated(&self) -> Option<u32> {
        let with_key = [Opcode::RC_SEND_LAST_INV, Opcode::RC_SEND_ONLY_INV];
        let whole = self.receive && self.status == Status::Success;
        (whole && with_key.contains(&Opcode(self.operation))).then_some(self.imm)
    }
}

/// A request packet that was received (`arrival_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Arrival {
    /// The opcode without the service, 5 bits.
    pub operation: u8,
    pub psn: Psn,
    pub ack_req: bool,
    pub solicited: bool,
    pub payload_bytes: u16,
    pub access: bool,
    pub va: u64,
    pub rkey: u32,
    pub dma_len: u32,
    pub imm: u32,
    pub swap_add: u64,
    pub compare: u64,
}

/// A packet that was accepted and whose payload cannot be written (`refusal_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The PSN of the packet.
    pub psn: Psn,
    /// The number of messages that were complete before the packet.
    pub msn: Msn,
    /// Whether it belongs to a WRITE; otherwise it belongs to a receive buffer.
    pub remote: bool,
}

/// Where a packet's payload is to be written (`place_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Place {
    pub va: u64,
    pub key: u32,
    pub remote: bool,
    pub bytes: u16,
}

/// An answer to be built (`response_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct Response {
    pub opcode: Opcode,
    pub psn: Psn,
    pub syndrome: Syndrome,
    pub msn: Msn,
    pub original: u64,
}
