//! Forwarding: where a frame goes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::routes::{NextHop, Route, RouteTable, choose, flow_hash};
use super::tables::AgingTable;
use super::{DropReason, PortConfig};
use crate::headers::Headers;
use crate::kernel::PortId;
use crate::seeded::Seed;
use crate::time::{Duration, Time};
use crate::wire::MacAddr;

/// What to do with a frame for a MAC address that is not in the table.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// Drop it.
    #[default]
    Drop,
    /// Send it out of all ports other than the one where it arrived.
    Flood,
}

/// A host that is in the tables at time zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    /// The host's IP address.
    pub ip: IpAddr,
    /// The host's MAC address.
    pub mac: MacAddr,
    /// The port that leads to the host.
    pub port: PortId,
}

/// Settings of forwarding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ForwardingConfig {
    /// Routes by destination.
    pub routes: Vec<Route>,
    /// Hosts that are known at time zero, as if learned then.
    pub hosts: Vec<HostEntry>,
    /// Time after which an ARP entry expires; `None`: never. The paper's switches: 4 h.
    pub arp_timeout: Option<Duration>,
    /// Time after which a MAC entry expires unless a frame from that address refreshes it; `None`: never. The paper's
    /// switches: 5 min.
    pub mac_timeout: Option<Duration>,
    /// What to do when the MAC address is unknown: the ARP entry is incomplete, or the frame is not IP.
    pub on_mac_miss: Miss,
    /// The fix for the deadlock (SIGCOMM 2016): lossless packets with an incomplete ARP entry are dropped, never
    /// flooded.
    pub lossless_never_floods: bool,
    /// Seed of the hash over the five-tuple.
    pub ecmp_seed: Seed,
    /// Whether packets take equal-cost paths in turn, whatever flow they belong to, instead of by the hash.
    pub spray: bool,
    /// Ports for packets whose shortest paths are all down: local rerouting. Without ports they are dropped.
    pub detours: Vec<PortId>,
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Out of one port. For packets that are `routed` the TTL is decremented; `dst` is their new destination address.
    Port {
        /// The port.
        port: PortId,
        /// Whether the packet is routed by its destination.
        routed: bool,
        /// New destination address.
        dst: Option<MacAddr>,
    },
    /// Out of every port but the one where it arrived.
    Flood {
        /// Whether the packet is routed by its destination.
        routed: bool,
        /// New destination address.
        dst: Option<MacAddr>,
    },
    /// Nowhere: it is dropped.
    Drop(DropReason),
}

/// The routing table, and the ARP and MAC tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarding {
    routes: RouteTable,
    /// The ARP table: MAC addresses by IP address. For IPv6 it is the table of neighbours (RFC 4861), with the same
    /// time-out.
    pub arp: AgingTable<IpAddr, MacAddr>,
    /// The MAC table: ports by MAC address.
    pub macs: AgingTable<MacAddr, PortId>,
    on_mac_miss: Miss,
    lossless_never_floods: bool,
    paths: Paths,
}

/// How one of several paths is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Paths {
    seed: Seed,
    /// Counts packets, to spray them.
    spray: Option<u64>,
    /// Ports whose link is down.
    down: BTreeSet<PortId>,
    /// Ports that are used when all shortest paths are down.
    detours: Vec<PortId>,
}

impl Forwarding {
    /// Creates the tables as they are at time zero.
    pub fn new(config: &ForwardingConfig) -> Self {
        let mut forwarding = Self {
            routes: RouteTable::new(&config.routes),
            arp: AgingTable::new(config.arp_timeout),
            macs: AgingTable::new(config.mac_timeout),
            on_mac_miss: config.on_mac_miss,
            lossless_never_floods: config.lossless_never_floods,
            paths: Paths {
                seed: config.ecmp_seed,
                spray: config.spray.then_some(0),
                down: BTreeSet::new(),
                detours: config.detours.clone(),
            },
        };
        for host in &config.hosts {
            forwarding.arp.learn(Time::ZERO, host.ip, host.mac);
            forwarding.macs.learn(Time::ZERO, host.mac, host.port);
        }
        forwarding
    }

    pub(super) fn set_lossless_never_floods(&mut self, never: bool) {
        self.lossless_never_floods = never;
    }

    pub(super) fn set_routes(&mut self, routes: &[Route]) {
        self.routes = RouteTable::new(routes);
    }

    /// Counts a packet, so that the next one that is sprayed takes the next path.
    pub(super) fn count_packet(&mut self) {
        if let Some(count) = &mut self.paths.spray {
            *count = count.wrapping_add(1);
        }
    }

    pub(super) fn set_link(&mut self, port: PortId, up: bool) {
        if up {
            self.paths.down.remove(&port);
        } else {
            self.paths.down.insert(port);
        }
    }

    /// Decides where a frame goes that `arrived` at the port `from`, which has these settings. `lossless` says whether
    /// its priority is lossless.
    ///
    /// A router takes only frames to the port's own MAC address. Others are bridged, if the port does that.
    pub fn decide(
        &self,
        now: Time,
        from: PortId,
        arrived: &PortConfig,
        headers: &Headers,
        lossless: bool,
    ) -> Verdict {
        if headers.dst != arrived.mac {
            return match arrived.bridges {
                true => self.bridge(now, headers.dst, lossless, None),
                false => Verdict::Drop(DropReason::OtherMac),
            };
        }
        let Some(ip) = headers.ip else {
            return Verdict::Drop(DropReason::NoRoute);
        };
        let address = ip.destination();
        match self.routes.lookup(address) {
            None => Verdict::Drop(DropReason::NoRoute),
            Some(_) if ip.ttl <= 1 => Verdict::Drop(DropReason::TtlExpired),
            Some(NextHop::Ports(ports)) => {
                let Paths {
                    seed,
                    spray,
                    down,
                    detours,
                } = &self.paths;
                let pick = |ports: &[PortId]| match spray {
                    None => choose(ports, flow_hash(headers, *seed)),
                    Some(_) if ports.is_empty() => None,
                    Some(count) => Some(ports[(count % ports.len() as u64) as usize]),
                };
                let chosen = if down.is_empty() {
                    pick(ports)
                } else {
                    let live = |port: &PortId| !down.contains(port) && *port != from;
                    let of = |ports: &[PortId]| {
                        let live: Vec<PortId> = ports.iter().copied().filter(live).collect();
                        pick(&live)
                    };
                    of(ports).or_else(|| of(detours))
                };
                match chosen {
                    None if ports.is_empty() => Verdict::Drop(DropReason::NoRoute),
                    None => Verdict::Drop(DropReason::LinkDown),
                    Some(port) => Verdict::Port {
                        port,
                        routed: true,
                        dst: None,
                    },
                }
            }
            Some(NextHop::Connected) => match self.arp.lookup(now, &address) {
                None => Verdict::Drop(DropReason::ArpMiss),
                Some(mac) => self.bridge(now, mac, lossless, Some(mac)),
            },
        }
    }

    fn bridge(&self, now: Time, mac: MacAddr, lossless: bool, dst: Option<MacAddr>) -> Verdict {
        let routed = dst.is_some();
        if mac.is_group() {
            return Verdict::Flood { routed, dst };
        }
        match (self.macs.lookup(now, &mac), self.on_mac_miss) {
            (Some(port), _) => Verdict::Port { port, routed, dst },
            (None, _) if lossless && self.lossless_never_floods => {
                Verdict::Drop(DropReason::IncompleteArp)
            }
            (None, Miss::Flood) => Verdict::Flood { routed, dst },
            (None, Miss::Drop) => Verdict::Drop(DropReason::MacMiss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{host_ip, host_mac, roce_frame, router_mac};
    use crate::time::LineRate;

    fn port(mac: MacAddr, bridges: bool) -> PortConfig {
        PortConfig {
            rate: LineRate::G40,
            mac,
            peer: None,
            bridges,
            learn: false,
            trunk: None,
            watchdog: None,
        }
    }

    fn config() -> ForwardingConfig {
        ForwardingConfig {
            routes: vec![Route {
                prefix: [10, 0, 0, 0].into(),
                length: 24,
                hop: NextHop::Connected,
            }],
            hosts: vec![HostEntry {
                ip: host_ip(2).into(),
                mac: host_mac(2),
                port: PortId(5),
            }],
            arp_timeout: Some(Duration::from_s(4 * 3600)),
            mac_timeout: Some(Duration::from_s(300)),
            on_mac_miss: Miss::Flood,
            ..ForwardingConfig::default()
        }
    }

    fn decide(
        config: &ForwardingConfig,
        seconds: u64,
        ttl: u8,
        dst: u8,
        lossless: bool,
    ) -> Verdict {
        let frame = roce_frame(1, dst).ttl(ttl).bytes(100);
        let now = Time::ZERO + Duration::from_s(seconds);
        let headers = Headers::at(&frame).unwrap();
        let port = port(router_mac(), false);
        Forwarding::new(config).decide(now, PortId(0), &port, &headers, lossless)
    }

    #[test]
    fn an_arp_entry_without_a_mac_entry_floods_unless_told_not_to() {
        let mut config = config();
        let dst = Some(host_mac(2));
        let to_host = Verdict::Port {
            port: PortId(5),
            routed: true,
            dst,
        };
        let flood = Verdict::Flood { routed: true, dst };
        // The MAC entry expires after 5 minutes, the ARP entry after 4 hours.
        assert_eq!(decide(&config, 299, 64, 2, true), to_host);
        assert_eq!(decide(&config, 300, 64, 2, true), flood);
        let after_arp = decide(&config, 4 * 3600, 64, 2, true);
        assert_eq!(after_arp, Verdict::Drop(DropReason::ArpMiss));
        config.lossless_never_floods = true;
        let lossless = decide(&config, 300, 64, 2, true);
        assert_eq!(lossless, Verdict::Drop(DropReason::IncompleteArp));
        assert_eq!(decide(&config, 300, 64, 2, false), flood);
        config.on_mac_miss = Miss::Drop;
        let lossy = decide(&config, 300, 64, 2, false);
        assert_eq!(lossy, Verdict::Drop(DropReason::MacMiss));
    }

    #[test]
    fn unknown_subnets_and_dead_packets_are_dropped() {
        let mut config = config();
        assert_eq!(
            decide(&config, 0, 1, 2, false),
            Verdict::Drop(DropReason::TtlExpired)
        );
        assert_eq!(
            decide(&config, 0, 64, 3, false),
            Verdict::Drop(DropReason::ArpMiss)
        );
        config.routes.clear();
        assert_eq!(
            decide(&config, 0, 64, 2, false),
            Verdict::Drop(DropReason::NoRoute)
        );
    }

    #[test]
    fn a_router_takes_only_what_is_addressed_to_it() {
        let frame = roce_frame(1, 2).bytes(100);
        let headers = Headers::at(&frame).unwrap();
        let at = |port| {
            let forwarding = Forwarding::new(&config());
            forwarding.decide(Time::ZERO, PortId(0), &port, &headers, false)
        };
        let other = MacAddr([0x52, 0x54, 0, 0, 9, 9]);
        assert_eq!(at(port(other, false)), Verdict::Drop(DropReason::OtherMac));
        // The frame's MAC address is in no table: a bridge floods it, and leaves its addresses and TTL.
        let flood = Verdict::Flood {
            routed: false,
            dst: None,
        };
        assert_eq!(at(port(other, true)), flood);
        assert!(matches!(
            at(port(router_mac(), true)),
            Verdict::Port { routed: true, .. }
        ));
    }
}
