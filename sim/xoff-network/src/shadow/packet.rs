//! Packets of a capture, and the answers among them.

use bytes::Bytes;
use serde::{Serialize, Serializer};
use xoff_sim::protocol::parse;
use xoff_sim::time::Time;
use xoff_sim::wire::frame::{IpHead, IpKind, ParsedFrame};
use xoff_sim::wire::{BthRepr, ExtHeaders, Msn, Opcode, Psn, Syndrome, SyndromeMeaning};

/// A frame of a capture.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number in the file, from 1.
    pub number: u64,
    /// When it was recorded, from the capture's first frame on.
    pub time: Time,
    /// The whole Ethernet frame, without FCS.
    pub bytes: Bytes,
}

/// A frame with what the parser says of it.
#[derive(Debug)]
pub(super) struct Packet {
    pub number: u64,
    pub time: Time,
    pub bytes: Bytes,
    pub frame: ParsedFrame,
    /// The headers, if it is a whole RoCEv2 packet whose ICRC is right.
    pub roce: Option<(IpHead, BthRepr, ExtHeaders)>,
    /// The request of RC that it is.
    pub request: Option<Request>,
    /// The answer of RC that it is.
    pub answer: Option<Answer>,
}

impl Packet {
    pub fn new(recorded: &Recorded) -> Self {
        let frame = parse(&recorded.bytes);
        let roce = roce(&frame);
        Self {
            number: recorded.number,
            time: recorded.time,
            bytes: recorded.bytes.clone(),
            request: roce.and_then(|(_, bth, ext)| Request::of(&frame, bth, ext)),
            answer: roce.and_then(|(_, bth, ext)| Answer::of(&frame, bth, ext)),
            roce,
            frame,
        }
    }
}

fn roce(frame: &ParsedFrame) -> Option<(IpHead, BthRepr, ExtHeaders)> {
    let ip = frame.ip.filter(|ip| ip.kind != IpKind::Grh)?;
    let whole = frame.verdict.is_roce() && frame.icrc_ok == Some(true);
    Some((ip, frame.bth?, frame.ext?)).filter(|_| whole)
}

fn is_answer(opcode: Opcode) -> bool {
    (Opcode::RC_READ_RESP_FIRST..=Opcode::RC_ATOMIC_ACK).contains(&opcode)
}

/// A request of RC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub opcode: Opcode,
    pub psn: Psn,
    /// Bytes of payload.
    pub payload: u32,
    pub va: Option<u64>,
    pub rkey: Option<u32>,
    pub dma_len: u32,
    /// The key that a SEND invalidates.
    pub invalidates: Option<u32>,
}

impl Request {
    fn of(frame: &ParsedFrame, bth: BthRepr, ext: ExtHeaders) -> Option<Self> {
        let (reth, atomic) = (ext.reth, ext.atomic);
        (bth.opcode.0 < 0x20 && !is_answer(bth.opcode)).then(|| Self {
            opcode: bth.opcode,
            psn: bth.psn,
            payload: frame.payload_bytes.unwrap_or_default().into(),
            va: reth.map(|it| it.va).or(atomic.map(|it| it.va)),
            rkey: reth.map(|it| it.rkey).or(atomic.map(|it| it.rkey)),
            dma_len: reth.map_or(0, |it| it.dma_len),
            invalidates: ext.ieth.map(|it| it.rkey),
        })
    }

    pub fn is_read(&self) -> bool {
        self.opcode == Opcode::RC_READ_REQUEST
    }

    pub fn is_atomic(&self) -> bool {
        matches!(self.opcode, Opcode::RC_CMP_SWAP | Opcode::RC_FETCH_ADD)
    }

    /// Whether it is the first packet of its message.
    pub fn begins(&self) -> bool {
        let first = [
            Opcode::RC_SEND_FIRST,
            Opcode::RC_SEND_ONLY,
            Opcode::RC_SEND_ONLY_IMM,
            Opcode::RC_SEND_ONLY_INV,
        ];
        self.va.is_some() || first.contains(&self.opcode)
    }

    /// Whether it is the last packet of its message.
    pub fn ends(&self) -> bool {
        !matches!(
            self.opcode,
            Opcode::RC_SEND_FIRST
                | Opcode::RC_SEND_MIDDLE
                | Opcode::RC_WRITE_FIRST
                | Opcode::RC_WRITE_MIDDLE
        )
    }

    /// Whether a receive buffer has to be posted for it.
    pub fn needs_receive(&self) -> bool {
        let imm = [Opcode::RC_WRITE_LAST_IMM, Opcode::RC_WRITE_ONLY_IMM];
        self.is_send() && self.begins() || imm.contains(&self.opcode)
    }

    /// Whether it belongs to a SEND.
    pub fn is_send(&self) -> bool {
        self.opcode <= Opcode::RC_SEND_ONLY_IMM || self.invalidates.is_some()
    }

    /// Number of PSNs that it takes.
    pub fn psns(&self, mtu: u32) -> u32 {
        match self.is_read() {
            true => self.dma_len.div_ceil(mtu).max(1),
            false => 1,
        }
    }

    /// Whether a PSN is one of those that it takes.
    pub fn covers(&self, psn: Psn, mtu: u32) -> bool {
        let ahead = psn.ahead_of(self.psn);
        ahead >= 0 && (ahead as u32) < self.psns(mtu)
    }

    /// Bytes of memory that it may touch.
    pub fn memory_bytes(&self) -> u64 {
        match self.is_atomic() {
            true => 8,
            false => self.dma_len.into(),
        }
    }
}

/// An answer of RC: ACK, NAK, READ response, response of an atomic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Its opcode.
    pub opcode: Opcode,
    /// Its PSN.
    #[serde(serialize_with = "number")]
    pub psn: Psn,
    /// AETH: syndrome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syndrome: Option<Syndrome>,
    /// AETH: MSN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msn: Option<Msn>,
    /// What an atomic found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<u64>,
    /// Payload of a READ response.
    #[serde(skip)]
    pub payload: Bytes,
}

fn number<S: Serializer>(psn: &Psn, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(psn.get())
}

/// What an answer is, as far as answers of both sides are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    Ack,
    SequenceNak,
    RnrNak,
    FatalNak,
    Read,
    Atomic,
}

impl Answer {
    fn of(frame: &ParsedFrame, bth: BthRepr, ext: ExtHeaders) -> Option<Self> {
        is_answer(bth.opcode).then(|| Self {
            opcode: bth.opcode,
            psn: bth.psn,
            syndrome: ext.aeth.map(|it| it.syndrome),
            msn: ext.aeth.map(|it| it.msn),
            original: ext.atomic_ack.map(|it| it.original),
            payload: frame.payload.clone().into(),
        })
    }

    pub(super) fn class(&self) -> Class {
        match self.opcode {
            Opcode::RC_ATOMIC_ACK => Class::Atomic,
            Opcode::RC_ACK => match self.syndrome.unwrap_or_default().meaning() {
                SyndromeMeaning::Ack(_) => Class::Ack,
                SyndromeMeaning::RnrNak(_) => Class::RnrNak,
                _ if self.syndrome == Some(Syndrome::PSN_SEQUENCE_ERROR) => Class::SequenceNak,
                _ => Class::FatalNak,
            },
            _ => Class::Read,
        }
    }

    /// Whether it refuses its PSN.
    pub(super) fn refuses(&self) -> bool {
        matches!(
            self.class(),
            Class::RnrNak | Class::SequenceNak | Class::FatalNak
        )
    }

    /// Whether the requester learns from it that a PSN was taken: a NAK acknowledges all before its own.
    pub(super) fn acknowledges(&self, psn: Psn) -> bool {
        let ahead = self.psn.ahead_of(psn);
        match self.refuses() {
            true => ahead > 0,
            false => ahead >= 0,
        }
    }
}
