//! The operations of the tools of perftest.

use xoff_sim::nic::ReadRights;
use xoff_sim::protocol::gbn::WorkKind;

/// The operation of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `ib_send_bw`.
    Send,
    /// `ib_write_bw`.
    Write,
    /// `ib_read_bw`.
    Read,
    /// `ib_atomic_bw` with `FETCH_AND_ADD`.
    FetchAdd,
    /// `ib_atomic_bw` with `CMP_AND_SWAP`.
    CmpSwap,
}

impl Verb {
    /// The name of its tool.
    pub(super) const fn tool(self) -> &'static str {
        match self {
            Self::Send => "ib_send_bw",
            Self::Write => "ib_write_bw",
            Self::Read => "ib_read_bw",
            Self::FetchAdd | Self::CmpSwap => "ib_atomic_bw",
        }
    }

    /// The kind of its work requests.
    pub(super) const fn kind(self) -> WorkKind {
        match self {
            Self::Send => WorkKind::SEND,
            Self::Write => WorkKind::WRITE,
            Self::Read => WorkKind::READ,
            Self::FetchAdd => WorkKind::FETCH_ADD,
            Self::CmpSwap => WorkKind::CMP_SWAP,
        }
    }

    /// Which READs and atomics of the other end the memory has to be open for.
    pub(super) const fn rights(self) -> ReadRights {
        ReadRights {
            read: matches!(self, Self::Read),
            atomic: matches!(self, Self::FetchAdd | Self::CmpSwap),
        }
    }
}
