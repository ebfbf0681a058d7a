//! What iWARP has in a stream: the frame with which an end begins, and PDUs.

use serde::Serialize;
use xoff_sim::wire::{
    DdpTagged, DdpTaggedRepr, DdpUntagged, DdpUntaggedRepr, MpaStart, MpaStartRepr, RdmapOpcode,
    RdmapRead, RdmapReadRepr, RdmapTerminate, RdmapTerminateRepr,
};

use crate::row::Hex64;
use crate::terminal::Ink;

/// The version of DDP, and of RDMAP.
const VERSION: u8 = 1;

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// The frame with which an end begins.
    Start(Start),
    /// A PDU.
    Pdu(Pdu),
}

impl Part {
    /// What it is, in a column.
    pub fn name(&self) -> String {
        match self {
            Self::Start(start) => format!("MPA {}", start.mpa),
            Self::Pdu(pdu) => format!("iWARP {}", RdmapOpcode(pdu.opcode)),
        }
    }

    /// The rest of it, as pieces of a row.
    pub fn pieces(&self) -> Vec<(Ink, String)> {
        match self {
            Self::Start(start) => start.pieces(),
            Self::Pdu(pdu) => pdu.pieces(),
        }
    }
}

/// The frame with which an end begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Start {
    /// `request` of the end that opens the connection, or `reply`.
    pub mpa: &'static str,
    /// Version of MPA.
    pub revision: u8,
    /// Whether it wants markers in what it receives.
    pub markers: bool,
    /// Whether it wants CRCs.
    pub crc: bool,
    /// Whether it refuses the connection.
    pub reject: bool,
    /// Bytes of private data.
    pub private_bytes: u16,
}

impl Start {
    /// The frame at the beginning of a segment's data, with its length. `None` if there is none.
    pub(super) fn of(data: &[u8]) -> Option<(Self, u32)> {
        let said = MpaStartRepr::parse(&MpaStart::new_checked(data).ok()?);
        let mpa = match said.key {
            MpaStartRepr::REQUEST => "request",
            MpaStartRepr::REPLY => "reply",
            _ => return None,
        };
        let start = Self {
            mpa,
            revision: said.revision,
            markers: said.markers,
            crc: said.crc,
            reject: said.reject,
            private_bytes: said.private_bytes,
        };
        let possible = said.private_bytes <= MpaStartRepr::MAX_PRIVATE_BYTES;
        let bytes = MpaStartRepr::LEN as u32 + u32::from(said.private_bytes);
        possible.then_some((start, bytes))
    }

    fn pieces(&self) -> Vec<(Ink, String)> {
        let mut pieces = vec![(Ink::Plain, format!("revision {}", self.revision))];
        let wants = [(self.markers, "wants markers"), (self.crc, "wants CRCs")];
        let wants = wants.iter().filter(|(wants, _)| *wants);
        pieces.extend(wants.map(|(_, text)| (Ink::Plain, text.to_string())));
        if self.reject {
            pieces.push((Ink::Bad, "refuses".into()));
        }
        let private = format!("{} B of private data", self.private_bytes);
        pieces.push((Ink::Plain, private));
        pieces
    }
}

/// A PDU of MPA: the headers of DDP and RDMAP in it. Keys are those of the RFCs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pdu {
    /// Opcode of RDMAP.
    pub opcode: u8,
    /// Name of the opcode, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// Whether it is the last of its message.
    pub last: bool,
    /// The buffer that the data is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stag: Option<u32>,
    /// Where the data begins in that buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Hex64>,
    /// The queue whose next buffer the data is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qn: Option<u32>,
    /// Number of the message in its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msn: Option<u32>,
    /// Where the data begins in that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mo: Option<u32>,
    /// The buffer to be invalidated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inv_stag: Option<u32>,
    /// What is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
    /// Why the stream ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate: Option<Terminate>,
    /// Bytes behind the header of DDP.
    pub payload_bytes: u32,
    /// Whether the CRC is right; absent if none was asked for, or if not all bytes were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc_ok: Option<bool>,
}

/// What an RDMA Read asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Read {
    /// How much is read.
    pub bytes: u32,
    /// The buffer of the end that is asked.
    pub from_stag: u32,
    /// Where the data comes from in it.
    pub from: Hex64,
    /// The buffer of the end that asks.
    pub to_stag: u32,
    /// Where the data goes in it.
    pub to: Hex64,
}

/// Why a stream ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terminate {
    /// Layer that found the error: 0 RDMAP, 1 DDP, 2 MPA.
    pub layer: u8,
    /// Kind of the error, by layer.
    pub error_type: u8,
    /// The error, by layer and kind.
    pub code: u8,
}

impl Pdu {
    /// Reads what is between the length and the CRC of a PDU; `None` is a byte that was not recorded. `None` if it is
    /// no PDU, or if that cannot be told.
    pub(super) fn of(ulpdu: &[Option<u8>]) -> Option<Self> {
        let recorded =
            |bytes: usize| -> Option<Vec<u8>> { ulpdu.get(..bytes)?.iter().copied().collect() };
        let tagged = recorded(1)?[0] & 0x80 != 0;
        let pdu = |opcode: u8, last: bool, versions: [u8; 2], header: usize| {
            let opcode = RdmapOpcode(opcode);
            (versions == [VERSION; 2] && opcode.name().is_some()).then(|| Self {
                opcode: opcode.0,
                name: opcode.name(),
                last,
                stag: None,
                to: None,
                qn: None,
                msn: None,
                mo: None,
                inv_stag: None,
                read: None,
                terminate: None,
                payload_bytes: (ulpdu.len() - header) as u32,
                crc_ok: None,
            })
        };
        if tagged {
            let bytes = recorded(DdpTaggedRepr::LEN)?;
            let ddp = DdpTaggedRepr::parse(&DdpTagged::new_unchecked(bytes));
            let versions = [ddp.ddp_version, ddp.rdmap_version];
            return Some(Self {
                stag: Some(ddp.stag),
                to: Some(Hex64(ddp.offset)),
                ..pdu(ddp.opcode, ddp.last, versions, DdpTaggedRepr::LEN)?
            });
        }
        let bytes = recorded(DdpUntaggedRepr::LEN)?;
        let ddp = DdpUntaggedRepr::parse(&DdpUntagged::new_unchecked(bytes));
        let versions = [ddp.ddp_version, ddp.rdmap_version];
        let opcode = RdmapOpcode(ddp.opcode);
        // The headers of RDMAP are at the beginning of a message.
        let behind = |bytes: usize| {
            let bytes = recorded(DdpUntaggedRepr::LEN + bytes).filter(|_| ddp.offset == 0);
            bytes.map(|bytes| bytes[DdpUntaggedRepr::LEN..].to_vec())
        };
        let read = behind(RdmapReadRepr::LEN).filter(|_| opcode == RdmapOpcode::READ_REQUEST);
        let terminate =
            behind(RdmapTerminateRepr::LEN).filter(|_| opcode == RdmapOpcode::TERMINATE);
        Some(Self {
            qn: Some(ddp.queue),
            msn: Some(ddp.msn),
            mo: Some(ddp.offset),
            inv_stag: opcode.invalidates().then_some(ddp.inv_stag),
            read: read.map(|bytes| Read::of(&bytes)),
            terminate: terminate.map(|bytes| Terminate::of(&bytes)),
            ..pdu(ddp.opcode, ddp.last, versions, DdpUntaggedRepr::LEN)?
        })
    }

    fn pieces(&self) -> Vec<(Ink, String)> {
        let mut pieces = vec![(Ink::Data, format!("{} B", self.payload_bytes))];
        let mut say = |ink: Ink, text: String| pieces.push((ink, text));
        if let (Some(stag), Some(to)) = (self.stag, self.to) {
            say(Ink::Plain, format!("stag {stag:#x} to {:#x}", to.0));
        }
        if let (Some(qn), Some(msn), Some(mo)) = (self.qn, self.msn, self.mo) {
            say(Ink::Plain, format!("queue {qn} msn {msn} mo {mo}"));
        }
        if let Some(stag) = self.inv_stag {
            say(Ink::Plain, format!("invalidate stag {stag:#x}"));
        }
        if let Some(read) = &self.read {
            let Read {
                bytes,
                from_stag,
                from,
                to_stag,
                to,
            } = read;
            let (from, to) = (from.0, to.0);
            say(
                Ink::Read,
                format!(
                    "{bytes} B of stag {from_stag:#x} at {from:#x}, to stag {to_stag:#x} at {to:#x}"
                ),
            );
        }
        if let Some(end) = &self.terminate {
            let layer = match end.layer {
                0 => "RDMAP",
                1 => "DDP",
                2 => "MPA",
                _ => "unknown layer",
            };
            let Terminate {
                error_type, code, ..
            } = end;
            say(
                Ink::Bad,
                format!("error of {layer}, type {error_type} code {code:#04x}"),
            );
        }
        if self.last {
            say(Ink::Plain, "last".into());
        }
        match self.crc_ok {
            Some(true) => say(Ink::Dim, "crc ok".into()),
            Some(false) => say(Ink::Bad, "crc BAD".into()),
            None => {}
        }
        pieces
    }
}

impl Read {
    fn of(bytes: &[u8]) -> Self {
        let said = RdmapReadRepr::parse(&RdmapRead::new_unchecked(bytes));
        Self {
            bytes: said.bytes,
            from_stag: said.from_stag,
            from: Hex64(said.from_offset),
            to_stag: said.to_stag,
            to: Hex64(said.to_offset),
        }
    }
}

impl Terminate {
    fn of(bytes: &[u8]) -> Self {
        let said = RdmapTerminateRepr::parse(&RdmapTerminate::new_unchecked(bytes));
        Self {
            layer: said.layer,
            error_type: said.error_type,
            code: said.code,
        }
    }
}
