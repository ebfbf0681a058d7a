//! BTH opcodes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::header::Field;
use super::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, CnpRepr, DethRepr, IethRepr, ImmDtRepr, RethRepr,
};

/// The opcode of a BTH: service in the high three bits, operation in the low five (IBTA volume 1 table 38; CNP: annex
/// A17.9.3).
///
/// Any byte is an `Opcode`, but [`layout`](Self::layout) knows only those of RC, UC, UD and the CNP. The text form is
/// the name, or `0x` and two digits for opcodes without one. Some opcodes have a [name](Self::unread_name) although
/// their extension headers are not read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Opcode(pub u8);

/// Which extension headers an opcode has. Their order in the packet is that of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ExtLayout {
    /// [`Deth`](super::Deth).
    pub deth: bool,
    /// [`Reth`](super::Reth).
    pub reth: bool,
    /// [`AtomicEth`](super::AtomicEth).
    pub atomic: bool,
    /// [`Aeth`](super::Aeth).
    pub aeth: bool,
    /// [`AtomicAckEth`](super::AtomicAckEth).
    pub atomic_ack: bool,
    /// [`ImmDt`](super::ImmDt).
    pub imm: bool,
    /// [`Ieth`](super::Ieth).
    pub ieth: bool,
    /// A CNP's 16 reserved bytes.
    pub cnp: bool,
}

impl ExtLayout {
    /// Length of all these headers in bytes, 0 … 28.
    pub const fn bytes(self) -> usize {
        self.deth as usize * DethRepr::LEN
            + self.reth as usize * RethRepr::LEN
            + self.atomic as usize * AtomicEthRepr::LEN
            + self.aeth as usize * AethRepr::LEN
            + self.atomic_ack as usize * AtomicAckEthRepr::LEN
            + self.imm as usize * ImmDtRepr::LEN
            + self.ieth as usize * IethRepr::LEN
            + self.cnp as usize * CnpRepr::LEN
    }
}

/// One row of the table of opcodes.
struct Row {
    opcode: Opcode,
    name: &'static str,
    layout: ExtLayout,
    payload: bool,
}

macro_rules! opcodes {
    ($($name:ident = $code:literal: [$($ext:ident)*] $payload:ident;)*) => {
        #[allow(missing_docs, reason = "the names say it all; the table below is the document")]
        impl Opcode {
            $(pub const $name: Self = Self($code);)*

            /// All opcodes that have a [`name`](Self::name), in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        const ROWS: &[Row] = &[$(Row {
            opcode: Opcode::$name,
            name: stringify!($name),
            layout: {
                #[allow(unused_mut)]
                let mut layout = NO_EXT;
                $(layout.$ext = true;)*
                layout
            },
            payload: $payload,
        }),*];
    };
}

const NO_EXT: ExtLayout = ExtLayout {
    deth: false,
    reth: false,
    atomic: false,
    aeth: false,
    atomic_ack: false,
    imm: false,
    ieth: false,
    cnp: false,
};
const PAYLOAD: bool = true;
const NO_PAYLOAD: bool = false;

opcodes! {
    RC_SEND_FIRST       = 0x00: [] PAYLOAD;
    RC_SEND_MIDDLE      = 0x01: [] PAYLOAD;
    RC_SEND_LAST        = 0x02: [] PAYLOAD;
    RC_SEND_LAST_IMM    = 0x03: [imm] PAYLOAD;
    RC_SEND_ONLY        = 0x04: [] PAYLOAD;
    RC_SEND_ONLY_IMM    = 0x05: [imm] PAYLOAD;
    RC_WRITE_FIRST      = 0x06: [reth] PAYLOAD;
    RC_WRITE_MIDDLE     = 0x07: [] PAYLOAD;
    RC_WRITE_LAST       = 0x08: [] PAYLOAD;
    RC_WRITE_LAST_IMM   = 0x09: [imm] PAYLOAD;
    RC_WRITE_ONLY       = 0x0A: [reth] PAYLOAD;
    RC_WRITE_ONLY_IMM   = 0x0B: [reth imm] PAYLOAD;
    RC_READ_REQUEST     = 0x0C: [reth] NO_PAYLOAD;
    RC_READ_RESP_FIRST  = 0x0D: [aeth] PAYLOAD;
    RC_READ_RESP_MIDDLE = 0x0E: [] PAYLOAD;
    RC_READ_RESP_LAST   = 0x0F: [aeth] PAYLOAD;
    RC_READ_RESP_ONLY   = 0x10: [aeth] PAYLOAD;
    RC_ACK              = 0x11: [aeth] NO_PAYLOAD;
    RC_ATOMIC_ACK       = 0x12: [aeth atomic_ack] NO_PAYLOAD;
    RC_CMP_SWAP         = 0x13: [atomic] NO_PAYLOAD;
    RC_FETCH_ADD        = 0x14: [atomic] NO_PAYLOAD;
    RC_SEND_LAST_INV    = 0x16: [ieth] PAYLOAD;
    RC_SEND_ONLY_INV    = 0x17: [ieth] PAYLOAD;
    UC_SEND_FIRST       = 0x20: [] PAYLOAD;
    UC_SEND_MIDDLE      = 0x21: [] PAYLOAD;
    UC_SEND_LAST        = 0x22: [] PAYLOAD;
    UC_SEND_LAST_IMM    = 0x23: [imm] PAYLOAD;
    UC_SEND_ONLY        = 0x24: [] PAYLOAD;
    UC_SEND_ONLY_IMM    = 0x25: [imm] PAYLOAD;
    UC_WRITE_FIRST      = 0x26: [reth] PAYLOAD;
    UC_WRITE_MIDDLE     = 0x27: [] PAYLOAD;
    UC_WRITE_LAST       = 0x28: [] PAYLOAD;
    UC_WRITE_LAST_IMM   = 0x29: [imm] PAYLOAD;
    UC_WRITE_ONLY       = 0x2A: [reth] PAYLOAD;
    UC_WRITE_ONLY_IMM   = 0x2B: [reth imm] PAYLOAD;
    UD_SEND_ONLY        = 0x64: [deth] PAYLOAD;
    UD_SEND_ONLY_IMM    = 0x65: [deth imm] PAYLOAD;
    CNP                 = 0x81: [cnp] NO_PAYLOAD;
}

/// Assigned opcodes whose extension headers the parser does not read: RC's FLUSH and ATOMIC WRITE (IBTA release 1.5,
/// annex A19), and extended RC (annex A14), whose operations have the codes of RC.
const UNREAD: &[(Opcode, &str)] = &[
    (Opcode::RC_FLUSH, "RC_FLUSH"),
    (Opcode::RC_ATOMIC_WRITE, "RC_ATOMIC_WRITE"),
    (Opcode(0xA0), "XRC_SEND_FIRST"),
    (Opcode(0xA1), "XRC_SEND_MIDDLE"),
    (Opcode(0xA2), "XRC_SEND_LAST"),
    (Opcode(0xA3), "XRC_SEND_LAST_IMM"),
    (Opcode(0xA4), "XRC_SEND_ONLY"),
    (Opcode(0xA5), "XRC_SEND_ONLY_IMM"),
    (Opcode(0xA6), "XRC_WRITE_FIRST"),
    (Opcode(0xA7), "XRC_WRITE_MIDDLE"),
    (Opcode(0xA8), "XRC_WRITE_LAST"),
    (Opcode(0xA9), "XRC_WRITE_LAST_IMM"),
    (Opcode(0xAA), "XRC_WRITE_ONLY"),
    (Opcode(0xAB), "XRC_WRITE_ONLY_IMM"),
    (Opcode(0xAC), "XRC_READ_REQUEST"),
    (Opcode(0xAD), "XRC_READ_RESP_FIRST"),
    (Opcode(0xAE), "XRC_READ_RESP_MIDDLE"),
    (Opcode(0xAF), "XRC_READ_RESP_LAST"),
    (Opcode(0xB0), "XRC_READ_RESP_ONLY"),
    (Opcode(0xB1), "XRC_ACK"),
    (Opcode(0xB2), "XRC_ATOMIC_ACK"),
    (Opcode(0xB3), "XRC_CMP_SWAP"),
    (Opcode(0xB4), "XRC_FETCH_ADD"),
    (Opcode(0xB6), "XRC_SEND_LAST_INV"),
    (Opcode(0xB7), "XRC_SEND_ONLY_INV"),
];

impl Opcode {
    /// FLUSH of RC: makes what was written before persistent or visible. Not in [`ALL`](Self::ALL): see
    /// [`unread_name`](Self::unread_name).
    pub const RC_FLUSH: Self = Self(0x1C);
    /// ATOMIC WRITE of RC: writes 8 bytes at once. Not in [`ALL`](Self::ALL): see [`unread_name`](Self::unread_name).
    pub const RC_ATOMIC_WRITE: Self = Self(0x1D);

    /// The name of an assigned opcode whose extension headers the parser does not read, so that it has no
    /// [`name`](Self::name): FLUSH and ATOMIC WRITE of RC, and those of extended RC (`XRC_…`).
    pub fn unread_name(self) -> Option<&'static str> {
        let found = UNREAD.iter().find(|(opcode, _)| *opcode == self);
        found.map(|(_, name)| *name)
    }

    /// Whether it is that of a READ response of RC.
    pub const fn is_read_response(self) -> bool {
        Self::RC_READ_RESP_FIRST.0 <= self.0 && self.0 <= Self::RC_READ_RESP_ONLY.0
    }

    /// Whether it answers with data: a READ response, or the answer of an atomic.
    pub const fn is_response(self) -> bool {
        self.is_read_response() || matches!(self, Self::RC_ATOMIC_ACK)
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.opcode == self)
    }

    /// The operation's name, such as `RC_SEND_FIRST`; `None` for an opcode that is neither one of RC, UC or UD, nor
    /// the CNP's.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// The opcode with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ROWS.iter()
            .find(|row| row.name == name)
            .map(|row| row.opcode)
    }

    /// Which extension headers follow the BTH; `None` for an opcode without a [`name`](Self::name).
    pub fn layout(self) -> Option<ExtLayout> {
        self.row().map(|row| row.layout)
    }

    /// Whether a payload, of 0 bytes or more, may follow the extension headers. False for an opcode without a
    /// [`name`](Self::name).
    pub fn has_payload(self) -> bool {
        self.row().is_some_and(|row| row.payload)
    }
}

/// The error for a text that is not an opcode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("opcode '{0}': expected a name such as RC_SEND_ONLY, or 0x and two hexadecimal digits")]
pub struct UnknownOpcode(String);

impl FromStr for Opcode {
    type Err = UnknownOpcode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = |digits: &&str| {
            digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        let number = || {
            u8::from_str_radix(text.strip_prefix("0x").filter(hex)?, 16)
                .ok()
                .map(Self)
        };
        let unread = || {
            let found = UNREAD.iter().find(|(_, name)| *name == text);
            found.map(|(opcode, _)| *opcode)
        };
        Self::from_name(text)
            .or_else(unread)
            .or_else(number)
            .ok_or_else(|| UnknownOpcode(text.into()))
    }
}

impl TryFrom<String> for Opcode {
    type Error = UnknownOpcode;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Opcode> for String {
    fn from(opcode: Opcode) -> String {
        opcode.to_string()
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name().or(self.unread_name()) {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#04x}", self.0)),
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Field for Opcode {
    fn from_bits(bits: u128) -> Self {
        Self(bits as u8)
    }
    fn to_bits(self) -> u128 {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways_for_every_byte() {
        for code in 0..=0xFF {
            let opcode = Opcode(code);
            assert_eq!(opcode.to_string().parse(), Ok(opcode));
            assert_eq!(
                opcode.name().and_then(Opcode::from_name),
                opcode.name().map(|_| opcode)
            );
        }
        assert_eq!(Opcode(0x15).to_string(), "0x15");
        assert!("RC_SEND".parse::<Opcode>().is_err());
    }

    #[test]
    fn exactly_the_operations_of_rc_uc_ud_and_the_cnp() {
        let known: Vec<u8> = (0..=0xFF)
            .filter(|&code| Opcode(code).name().is_some())
            .collect();
        let expected: Vec<u8> = (0x00..=0x14)
            .chain([0x16, 0x17])
            .chain(0x20..=0x2B)
            .chain([0x64, 0x65, 0x81])
            .collect();
        assert_eq!(known, expected);
    }

    /// XRC has the operations of RC with 0xA0 in the high bits (IBTA annex A14), and neither FLUSH nor ATOMIC WRITE.
    #[test]
    fn what_is_not_read_has_a_name_of_its_own() {
        assert_eq!(Opcode(0x1C).to_string(), "RC_FLUSH");
        assert_eq!("RC_ATOMIC_WRITE".parse(), Ok(Opcode(0x1D)));
        for code in 0x00..=0x1F {
            let (xrc, rc) = (Opcode(0xA0 | code), Opcode(code));
            let expected = rc.name().map(|name| format!("X{name}"));
            assert_eq!(xrc.unread_name(), expected.as_deref());
            assert_eq!(xrc.name().or(xrc.layout().map(|_| "")), None);
        }
        for opcode in (0..=0xFF).map(Opcode) {
            assert!(opcode.name().is_none() || opcode.unread_name().is_none());
        }
    }

    #[test]
    fn uc_is_rc_with_other_high_bits() {
        for code in 0x20..=0x2B {
            let (uc, rc) = (Opcode(code), Opcode(code - 0x20));
            assert_eq!(uc.layout(), rc.layout());
            assert_eq!(uc.has_payload(), rc.has_payload());
            assert_eq!(
                uc.name().map(|name| &name[2..]),
                rc.name().map(|name| &name[2..])
            );
        }
    }

    #[test]
    fn extension_headers_sum_up_as_in_table_38() {
        let bytes = |opcode: Opcode| opcode.layout().map(ExtLayout::bytes);
        assert_eq!(bytes(Opcode::RC_SEND_MIDDLE), Some(0));
        assert_eq!(bytes(Opcode::RC_SEND_ONLY_INV), Some(4));
        assert_eq!(bytes(Opcode::RC_READ_RESP_MIDDLE), Some(0));
        assert_eq!(bytes(Opcode::RC_READ_RESP_ONLY), Some(4));
        assert_eq!(bytes(Opcode::RC_ATOMIC_ACK), Some(12));
        assert_eq!(bytes(Opcode::RC_READ_REQUEST), Some(16));
        assert_eq!(bytes(Opcode::RC_WRITE_ONLY_IMM), Some(20));
        assert_eq!(bytes(Opcode::RC_CMP_SWAP), Some(28));
        assert_eq!(bytes(Opcode::UD_SEND_ONLY_IMM), Some(12));
        assert_eq!(bytes(Opcode::CNP), Some(16));
        assert_eq!(bytes(Opcode(0x15)), None);
    }
}
