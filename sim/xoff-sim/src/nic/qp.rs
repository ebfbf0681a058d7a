//! Settings of QPs.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

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

/// Settings of a connected QP (RC).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QpSettings {
    /// Addresses of the own port.
    pub own: Address,
    /// Addresses of the peer. The MAC address is where frames are sent, which is a router's if there is one.
    pub peer: Address,
    /// VLAN tags, the outer one first, each with PCP, DEI and VLAN identifier. At most two.
    pub tags: Vec<u16>,
    /// DSCP of packets.
    pub dscp: u8,
    /// Hop limit, TTL.
    pub hop_limit: u8,
    /// UDP source port, 0xC000 or above, by which ECMP distinguishes flows.
    pub udp_port: u16,
    /// P_Key.
    pub pkey: u16,
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
}
