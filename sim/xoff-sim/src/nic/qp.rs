//! Settings of QPs.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::protocol::gbn::requester::selective::Selective;
use crate::protocol::gbn::{RequesterConfig, ResponderConfig};
use crate::wire::{MacAddr, Psn};

/// The addresses of a port in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// MAC address.
    pub mac: MacAddr,
    /// IP address.
    pub ip: IpAddr,
}

/// The VLANs of a frame whose tags have these identifiers, the outer one first. 0 is no VLAN: a tag with identifier 0
/// has only a priority (IEEE 802.1Q §9.6), and counts as none.
pub(crate) fn vlans(tags: impl IntoIterator<Item = u16>) -> [u16; 2] {
    let mut vlans = [0; 2];
    for (place, tag) in vlans.iter_mut().zip(tags) {
        *place = tag & 0xFFF;
    }
    vlans
}

/// Whether two P_Keys permit the QPs that have them to talk: their low 15 bits are equal, and at least one of them is
/// that of a full member, with bit 15 (IBTA volume 1 §10.9).
pub(crate) const fn pkeys_match(one: u16, other: u16) -> bool {
    (one ^ other) & 0x7FFF == 0 && (one | other) & 0x8000 != 0
}

/// Settings of a connected QP (RC).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QpSettings {
    /// Addresses of the own port.
    pub own: Address,
    /// Addresses of the peer. The MAC address is where frames are sent, which is a router's if there is one.
    pub peer: Address,
    /// VLAN tags, the outer one first, each with PCP, DEI and VLAN identifier. At most two. What is received has to be
    /// of the same VLANs; a tag with VLAN identifier 0 counts as none.
    pub tags: Vec<u16>,
    /// DSCP of requests.
    pub dscp: u8,
    /// DSCP of ACKs and NAKs; without it that of requests.
    pub answer_dscp: Option<u8>,
    /// PCP of the same in the outer tag, if there is one; without it that of requests.
    pub answer_pcp: Option<u8>,
    /// Hop limit, TTL.
    pub hop_limit: u8,
    /// UDP source port, 0xC000 or above, by which ECMP distinguishes flows.
    pub udp_port: u16,
    /// P_Key. It matches that of a received packet if their low 15 bits are equal and bit 15 is set in one of them.
    pub pkey: u16,
    /// Its protection domain: the QP and its peer may use the regions of this domain alone.
    pub pd: u16,
    /// The peer's QP number.
    pub peer_qpn: u32,
    /// The requester's configuration.
    pub requester: RequesterConfig,
    /// The requester's first PSN.
    pub requester_psn: Psn,
    /// The responder's configuration.
    pub responder: ResponderConfig,
    /// The first PSN that the responder expects.
    pub responder_psn: Psn,
    /// Selective repeat in place of go-back-N, at both ends. Only model NICs have it, for SENDs and WRITEs.
    pub selective: Option<Selective>,
}

impl QpSettings {
    /// PCP of requests: that of the outer tag, 0 without one.
    pub fn pcp(&self) -> u8 {
        self.tags.first().map_or(0, |tag| (tag >> 13) as u8)
    }

    /// DSCP and PCP of answers.
    pub fn of_answers(&self) -> (u8, u8) {
        let dscp = self.answer_dscp.unwrap_or(self.dscp);
        (dscp, self.answer_pcp.unwrap_or_else(|| self.pcp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_members_talk_to_full_ones_alone() {
        for (one, other, match_) in [
            (0xFFFF, 0xFFFF, true),
            (0xFFFF, 0x7FFF, true),
            (0x7FFF, 0xFFFF, true),
            (0x7FFF, 0x7FFF, false),
            (0x8001, 0x0001, true),
            (0x0001, 0x0001, false),
            (0x8001, 0x8002, false),
        ] {
            assert_eq!(pkeys_match(one, other), match_, "{one:#x}, {other:#x}");
        }
    }

    #[test]
    fn a_priority_tag_is_of_no_vlan() {
        assert_eq!(vlans([]), [0, 0]);
        assert_eq!(vlans([5 << 13]), vlans([]));
        assert_eq!(vlans([5 << 13 | 1 << 12 | 20]), [20, 0]);
        assert_eq!(vlans([20, 30]), [20, 30]);
    }
}
