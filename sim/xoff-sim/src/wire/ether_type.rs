//! EtherTypes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::header::Field;

/// An EtherType, or a length if it is below 0x600 (IEEE 802.3 §3.2.6). Numbers are those assigned by the IEEE
/// registration authority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: Self = Self(0x0800);
    /// IPv6 (RFC 2464).
    pub const IPV6: Self = Self(0x86DD);
    /// Customer VLAN tag (IEEE 802.1Q table 9-1).
    pub const C_TAG: Self = Self(0x8100);
    /// Service VLAN tag (IEEE 802.1Q table 9-1).
    pub const S_TAG: Self = Self(0x88A8);
    /// MAC control (IEEE 802.3 clause 31).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// RoCE version 1 (IBTA annex A16).
    pub const ROCE_V1: Self = Self(0x8915);

    /// Whether the number is a TPID, so that a tag follows.
    pub const fn is_tag(self) -> bool {
        matches!(self, Self::C_TAG | Self::S_TAG)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Field for EtherType {
    fn from_bits(bits: u128) -> Self {
        Self(bits as u16)
    }
    fn to_bits(self) -> u128 {
        self.0.into()
    }
}
