//! QPs.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::protocol::gbn::{RequesterConfig, ResponderConfig};
use crate::wire::{MacAddr, Psn};

/// A port in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// MAC address.
    pub mac: MacAddr,
    /// IP address.
    pub ip: IpAddr,
}

/// A connected QP: RC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QpSettings {
    /// Own port.
    pub own: Address,
    /// The peer's; its MAC address is where frames go, a router's where there is one.
    pub peer: Address,
    /// VLAN tags, the outer one first: PCP, DEI, VLAN. Two at most.
    pub tags: Vec<u16>,
    /// DSCP of packets.
    pub dscp: u8,
    /// Hop limit, TTL.
    pub hop_limit: u8,
    /// UDP source port, 0xC000 and more: where ECMP takes the flow.
    pub udp_port: u16,
    /// P_Key.
    pub pkey: u16,
    /// The peer's QP number.
    pub peer_qpn: u32,
    /// The requester's configuration.
    pub requester: RequesterConfig,
    /// Its first PSN.
    pub requester_psn: Psn,
    /// The responder's configuration.
    pub responder: ResponderConfig,
    /// The first PSN that it expects.
    pub responder_psn: Psn,
}
