//! VLAN tags.

use serde::{Deserialize, Serialize};

use super::EtherType;

header! {
    /// A VLAN tag, 4 bytes (IEEE 802.1Q §9.6), between the source address and the EtherType:
    ///
    /// ```text
    ///  bit 0        16    19    20       32
    ///     | TPID 16 | PCP | DEI | VID 12 |
    /// ```
    VlanTag, VlanTagRepr, "VLAN tag", 4 bytes;
    /// Tag protocol identifier: 0x8100 for a customer tag, 0x88A8 for a service tag.
    tpid, set_tpid: EtherType = 0..16;
    /// Priority code point, 0 … 7.
    pcp, set_pcp: u8 = 16..19;
    /// Drop eligible indicator.
    dei, set_dei: bool = 19..20;
    /// VLAN identifier, 0 … 4095; 0 means priority only, 4095 is reserved.
    vid, set_vid: u16 = 20..32;
}

/// Tag control information: a tag without its TPID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Tci {
    /// Priority code point, 0 … 7.
    pub pcp: u8,
    /// Drop eligible indicator.
    pub dei: bool,
    /// VLAN identifier, 0 … 4095.
    pub vid: u16,
}

impl Tci {
    /// The complete tag with this control information and the given TPID.
    pub const fn tag(self, tpid: EtherType) -> VlanTagRepr {
        VlanTagRepr {
            tpid,
            pcp: self.pcp,
            dei: self.dei,
            vid: self.vid,
        }
    }
}

impl VlanTagRepr {
    /// The tag's control information, without the TPID.
    pub const fn tci(self) -> Tci {
        Tci {
            pcp: self.pcp,
            dei: self.dei,
            vid: self.vid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, VlanTag, VlanTagRepr);

    #[test]
    fn as_802_1q_draws_it() {
        // PCP 5 = 101, DEI 1, VID 0x123: 1011 0001 0010 0011.
        let repr = VlanTagRepr::parse(&VlanTag::new_checked([0x81, 0x00, 0xB1, 0x23]).unwrap());
        assert_eq!(
            repr,
            Tci {
                pcp: 5,
                dei: true,
                vid: 0x123
            }
            .tag(EtherType::C_TAG)
        );
    }
}
