//! Routes: longest prefix, and equal-cost paths chosen by a hash.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::headers::Headers;
use crate::kernel::PortId;
use crate::seeded::Seed;

/// The next hop of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextHop {
    /// Other switches: one of these ports, chosen by the hash of the five-tuple.
    Ports(Vec<PortId>),
    /// A host of this subnet, whose port is found in the ARP and MAC tables.
    Connected,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The prefix; bits beyond `length` are ignored.
    pub prefix: Ipv4Addr,
    /// Its length, 0 … 32.
    pub length: u8,
    /// Where packets for the prefix go.
    pub hop: NextHop,
}

/// A routing table, ordered from the longest prefixes to the shortest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteTable {
    levels: Vec<Level>,
}

/// The routes whose prefixes have the same length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Level {
    mask: u32,
    /// Sorted, and apart from the next hops, since a search looks at many of them.
    prefixes: Vec<u32>,
    /// The next hop of each prefix.
    hops: Vec<NextHop>,
}

impl RouteTable {
    /// Creates a table of these routes. Of two with the same prefix, the later one applies.
    pub fn new(routes: &[Route]) -> Self {
        let mut table = Self::default();
        for route in routes {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(route.length.min(32)))
                .unwrap_or(0);
            // Longer prefixes have larger masks.
            let level = match table.levels.iter().position(|level| level.mask <= mask) {
                Some(level) if table.levels[level].mask == mask => level,
                place => {
                    let place = place.unwrap_or(table.levels.len());
                    let level = Level {
                        mask,
                        ..Level::default()
                    };
                    table.levels.insert(place, level);
                    place
                }
            };
            let level = &mut table.levels[level];
            let prefix = u32::from(route.prefix) & mask;
            match level.prefixes.binary_search(&prefix) {
                Ok(place) => level.hops[place] = route.hop.clone(),
                Err(place) => {
                    level.prefixes.insert(place, prefix);
                    level.hops.insert(place, route.hop.clone());
                }
            }
        }
        table
    }

    /// The next hop of the longest prefix that contains the address.
    pub fn lookup(&self, address: u32) -> Option<&NextHop> {
        self.levels.iter().find_map(|level| {
            let place = level.prefixes.binary_search(&(address & level.mask));
            Some(&level.hops[place.ok()?])
        })
    }
}

/// A hash of addresses, protocol and ports, so that a flow always takes the same path.
pub fn flow_hash(headers: &Headers, seed: Seed) -> u64 {
    let mut tuple = [0; 37];
    if let Some(ip) = &headers.ip {
        tuple[..16].copy_from_slice(&ip.src.to_be_bytes());
        tuple[16..32].copy_from_slice(&ip.dst.to_be_bytes());
        tuple[32] = ip.protocol;
    }
    if let Some((src, dst)) = headers.ports {
        tuple[33..35].copy_from_slice(&src.to_be_bytes());
        tuple[35..].copy_from_slice(&dst.to_be_bytes());
    }
    XxHash3_64::oneshot_with_seed(seed.0, &tuple)
}

/// Chooses one of `ports` by a hash, uniformly. `None` when there are none.
pub fn choose(ports: &[PortId], hash: u64) -> Option<PortId> {
    let place = (u128::from(hash) * ports.len() as u128) >> 64;
    ports.get(place as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::roce_frame;

    fn route(prefix: [u8; 4], length: u8, port: u16) -> Route {
        Route {
            prefix: prefix.into(),
            length,
            hop: NextHop::Ports(vec![PortId(port)]),
        }
    }

    #[test]
    fn the_longest_prefix_counts() {
        let table = RouteTable::new(&[
            route([0, 0, 0, 0], 0, 0),
            route([10, 1, 0, 0], 16, 1),
            route([10, 1, 2, 3], 32, 3),
            route([10, 1, 2, 0], 24, 9),
            route([10, 1, 2, 77], 24, 2),
        ]);
        for (address, port) in [
            ([10, 1, 2, 3], 3),
            ([10, 1, 2, 4], 2),
            ([10, 1, 3, 4], 1),
            ([192, 0, 2, 1], 0),
        ] {
            let hop = table.lookup(u32::from(Ipv4Addr::from(address)));
            assert_eq!(hop, Some(&NextHop::Ports(vec![PortId(port)])));
        }
        assert_eq!(RouteTable::new(&[]).lookup(1), None);
    }

    #[test]
    fn flows_spread_evenly_and_stay_where_they_are() {
        let ports: Vec<PortId> = (0..4).map(PortId).collect();
        let path = |src_port, seed| {
            let frame = roce_frame(1, 2).src_port(src_port).bytes(100);
            let headers = Headers::at(&frame).unwrap();
            choose(&ports, flow_hash(&headers, Seed(seed))).unwrap()
        };
        let mut shares = [0; 4];
        for src_port in 0xC000..0xC000 + 4000 {
            shares[usize::from(path(src_port, 1).0)] += 1;
            assert_eq!(path(src_port, 1), path(src_port, 1));
        }
        // 1,000 each are expected; the standard deviation is 27.
        assert!(
            shares.iter().all(|share| (870..1130).contains(share)),
            "{shares:?}"
        );
        assert!((0..100).any(|flow| path(flow, 1) != path(flow, 2)));
        assert_eq!(choose(&[], 1), None);
    }
}
