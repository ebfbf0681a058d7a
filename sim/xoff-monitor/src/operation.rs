//! What an opcode says about the operation, and about a packet's place in its message.

use xoff_sim::wire::Opcode;

/// Transport service: the high three bits of the opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Reliable datagram, extended RC, or a manufacturer's own service.
    Other,
}

impl Service {
    pub fn of(opcode: Opcode) -> Self {
        match opcode.0 >> 5 {
            0 => Self::Rc,
            1 => Self::Uc,
            3 => Self::Ud,
            _ => Self::Other,
        }
    }
}

/// The operation that a request belongs to. All packets of a message have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Send,
    Write,
    Read,
    Atomic,
    Flush,
    AtomicWrite,
}

impl Operation {
    /// Whether it is answered by a response of its own, which a plain ACK does not replace.
    pub fn has_response(self) -> bool {
        matches!(self, Self::Read | Self::Atomic | Self::Flush)
    }

    /// Whether its packets carry a message's data.
    pub fn has_data(self) -> bool {
        matches!(self, Self::Send | Self::Write)
    }

    /// Whether an answer with this opcode may be the one to it.
    pub fn is_answered_by(self, opcode: Opcode) -> bool {
        match self {
            Self::Read => response(opcode).is_some(),
            Self::Atomic => opcode == Opcode::RC_ATOMIC_ACK,
            // RDMA READ response of no bytes (IBTA annex A19); for ATOMIC WRITE there is also the plain ACK.
            Self::Flush | Self::AtomicWrite => opcode == Opcode::RC_READ_RESP_ONLY,
            Self::Send | Self::Write => false,
        }
    }
}

/// Place in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Middle,
    Last,
    Only,
}

impl Place {
    /// Whether a message begins with this packet.
    pub fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether a message ends with this packet.
    pub fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// Operation and place of a request of RC or UC; `None` for answers and everything else.
pub(crate) fn request(opcode: Opcode) -> Option<(Operation, Place)> {
    use Operation::{Atomic, AtomicWrite, Flush, Read, Send, Write};
    use Place::{First, Last, Middle, Only};
    match opcode {
        Opcode::RC_FLUSH => return Some((Flush, Only)),
        Opcode::RC_ATOMIC_WRITE => return Some((AtomicWrite, Only)),
        _ => {}
    }
    if !matches!(Service::of(opcode), Service::Rc | Service::Uc) {
        return None;
    }
    Some(match opcode.0 & 0x1F {
        0x00 => (Send, First),
        0x01 => (Send, Middle),
        0x02 | 0x03 | 0x16 => (Send, Last),
        0x04 | 0x05 | 0x17 => (Send, Only),
        0x06 => (Write, First),
        0x07 => (Write, Middle),
        0x08 | 0x09 => (Write, Last),
        0x0A | 0x0B => (Write, Only),
        0x0C => (Read, Only),
        0x13 | 0x14 => (Atomic, Only),
        _ => return None,
    })
}

/// Whether a packet with this opcode may ask for a solicited event: the last or only one of a SEND or a WRITE.
pub(crate) fn may_be_solicited(opcode: Opcode) -> bool {
    match request(opcode) {
        Some((operation, place)) => operation.has_data() && place.ends(),
        None => Service::of(opcode) == Service::Ud,
    }
}

/// Place of a READ response; `None` for every other opcode.
pub(crate) fn response(opcode: Opcode) -> Option<Place> {
    Some(match opcode {
        Opcode::RC_READ_RESP_FIRST => Place::First,
        Opcode::RC_READ_RESP_MIDDLE => Place::Middle,
        Opcode::RC_READ_RESP_LAST => Place::Last,
        Opcode::RC_READ_RESP_ONLY => Place::Only,
        _ => return None,
    })
}
