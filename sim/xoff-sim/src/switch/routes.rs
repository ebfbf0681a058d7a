//! Routes: longest prefix, and equal-cost paths chosen by a hash.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::{Add, BitOr, Not};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::headers::Headers;
use crate::kernel::PortId;
use crate::seeded::Seed;

/// The next hop of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// The prefix, IPv4 or IPv6; bits beyond `length` are ignored.
    pub prefix: IpAddr,
    /// Its length, 0 … 32 for IPv4, 0 … 128 for IPv6.
    pub length: u8,
    /// Where packets for the prefix go.
    pub hop: NextHop,
}

/// A routing table for both versions of IP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteTable {
    /// From the longest prefixes to the shortest, as is `v6`.
    v4: Vec<Level<u32>>,
    v6: Vec<Level<u128>>,
    /// Each next hop once.
    hops: Vec<NextHop>,
}

/// The routes whose prefixes have the same length: first and last address, and the index of the next hop, sorted by
/// address. Prefixes that follow each other and have the same next hop are one entry. Most routes of a switch share a
/// few next hops, so that a search touches little memory.
type Level<A> = Vec<(A, A, u32)>;

/// The routes with their next hops' indices, by length of the prefix and by prefix.
type Prefixes<A> = BTreeMap<Reverse<u8>, BTreeMap<A, u32>>;

/// The levels of these routes. `mask` is that of a length.
fn levels<A>(routes: &Prefixes<A>, mask: impl Fn(u8) -> A) -> Vec<Level<A>>
where
    A: Ord + Copy + BitOr<Output = A> + Not<Output = A> + Add<Output = A> + From<u8>,
{
    let level = |(length, routes): (&Reverse<u8>, &BTreeMap<A, u32>)| {
        let mut level: Level<A> = Vec::new();
        for (&first, &hop) in routes {
            let end = first | !mask(length.0);
            match level.last_mut() {
                // `first` is greater than `last`, which therefore is not the greatest of all.
                Some((_, last, same)) if *same == hop && *last + A::from(1) == first => *last = end,
                _ => level.push((first, end, hop)),
            }
        }
        level
    };
    routes.iter().map(level).collect()
}

/// The index of the next hop of the longest prefix that contains the address.
fn longest<A: Ord + Copy>(levels: &[Level<A>], address: A) -> Option<u32> {
    levels.iter().find_map(|level| {
        let behind = level.partition_point(|(first, ..)| *first <= address);
        let (_, last, hop) = level[..behind].last()?;
        (address <= *last).then_some(*hop)
    })
}

impl RouteTable {
    /// Creates a table of these routes. Of two with the same prefix, the later one applies.
    pub fn new(routes: &[Route]) -> Self {
        let mask_v4 = |length| u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        let mask_v6 = |length| u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        let (mut v4, mut v6) = (Prefixes::new(), Prefixes::new());
        let mut hops = Vec::new();
        let mut known: BTreeMap<&NextHop, u32> = BTreeMap::new();
        for route in routes {
            let hop = *known.entry(&route.hop).or_insert_with(|| {
                hops.push(route.hop.clone());
                hops.len() as u32 - 1
            });
            match route.prefix {
                IpAddr::V4(prefix) => {
                    let length = route.length.min(32);
                    let prefix = u32::from(prefix) & mask_v4(length);
                    v4.entry(Reverse(length)).or_default().insert(prefix, hop);
                }
                IpAddr::V6(prefix) => {
                    let length = route.length.min(128);
                    let prefix = u128::from(prefix) & mask_v6(length);
                    v6.entry(Reverse(length)).or_default().insert(prefix, hop);
                }
            }
        }
        Self {
            v4: levels(&v4, mask_v4),
            v6: levels(&v6, mask_v6),
            hops,
        }
    }

    /// The next hop of the longest prefix that contains the address.
    pub fn lookup(&self, address: IpAddr) -> Option<&NextHop> {
        let hop = match address {
            IpAddr::V4(address) => longest(&self.v4, u32::from(address)),
            IpAddr::V6(address) => longest(&self.v6, u128::from(address)),
        };
        self.hops.get(hop? as usize)
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

    fn route(prefix: impl Into<IpAddr>, length: u8, port: u16) -> Route {
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
            let hop = table.lookup(IpAddr::from(address));
            assert_eq!(hop, Some(&NextHop::Ports(vec![PortId(port)])));
        }
        assert_eq!(RouteTable::new(&[]).lookup([0, 0, 0, 1].into()), None);
    }

    #[test]
    fn the_versions_of_ip_have_tables_of_their_own() {
        let table = RouteTable::new(&[
            route([0, 0, 0, 0], 0, 1),
            route([0xFD00, 0, 0, 7, 0, 0, 0, 0], 64, 2),
            route([0xFD00, 0, 0, 7, 0, 0, 0, 9], 128, 3),
        ]);
        let port = |address: IpAddr| match table.lookup(address) {
            Some(NextHop::Ports(ports)) => Some(ports[0].0),
            _ => None,
        };
        assert_eq!(port([10, 0, 0, 1].into()), Some(1));
        assert_eq!(port([0xFD00, 0, 0, 7, 0, 0, 0, 8].into()), Some(2));
        assert_eq!(port([0xFD00, 0, 0, 7, 0, 0, 0, 9].into()), Some(3));
        // The default route is one of IPv4 only.
        assert_eq!(port([0xFD00, 0, 0, 8, 0, 0, 0, 9].into()), None);
        assert_eq!(port([0, 0, 0, 0, 0, 0, 0, 1].into()), None);
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
