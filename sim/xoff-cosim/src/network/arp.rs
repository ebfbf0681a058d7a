//! ARP (RFC 826) for NICs that ask for their peers' MAC addresses. The simulated network routes by IP address and has
//! no ARP of its own.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xoff_sim::frame::Frame;
use xoff_sim::nic::Address;
use xoff_sim::wire::MacAddr;

/// Answers requests for known addresses, like a router that does proxy ARP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Arp {
    table: BTreeMap<Ipv4Addr, MacAddr>,
    answered: u64,
}

impl Arp {
    /// Creates an agent that knows these addresses. IPv6 addresses are ignored, since IPv6 does not use ARP.
    pub fn new(neighbours: &[Address]) -> Self {
        let v4 = |address: &Address| match address.ip {
            IpAddr::V4(ip) => Some((ip, address.mac)),
            IpAddr::V6(_) => None,
        };
        Self {
            table: neighbours.iter().filter_map(v4).collect(),
            answered: 0,
        }
    }

    /// Number of requests answered.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// The reply to a frame that is a request for a known address, otherwise `None`. For use in
    /// [`Driver::answer`](super::Driver::answer).
    pub fn answer(&mut self, frame: &Frame) -> Option<Bytes> {
        let known = |ip| self.table.get(&ip).copied();
        let reply = xoff_network::arp::answer(frame.bytes.headers(), known)?;
        self.answered += 1;
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::time::{LineRate, Time};

    use super::*;

    const ETHER_TYPE: [u8; 2] = [0x08, 0x06];
    /// The fixed fields of a request: hardware type Ethernet, protocol type IPv4, address lengths 6 and 4, operation 1
    /// (RFC 826).
    const REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];

    #[test]
    fn requests_for_known_addresses_are_answered() {
        let address = |last| Address {
            mac: MacAddr([2, 0, 0, 0, 0, last]),
            ip: Ipv4Addr::new(10, 0, 0, last).into(),
        };
        let mut arp = Arp::new(&[address(1), address(2)]);
        let request = |target: u8| {
            let mut bytes = vec![0xFF; 6];
            bytes.extend(address(1).mac.0);
            bytes.extend(ETHER_TYPE);
            bytes.extend(REQUEST);
            bytes.extend(address(1).mac.0);
            bytes.extend([10, 0, 0, 1]);
            bytes.extend([0; 6]);
            bytes.extend([10, 0, 0, target]);
            bytes.resize(60, 0);
            bytes
        };
        let mut answer =
            |bytes: Vec<u8>| arp.answer(&Frame::sent(bytes.into(), Time::ZERO, LineRate::G40));
        let reply = answer(request(2)).unwrap();
        assert_eq!(reply.len(), 60);
        assert_eq!(reply[..6], address(1).mac.0);
        assert_eq!(reply[6..12], address(2).mac.0);
        // Operation 2; sender 10.0.0.2 with its MAC address; target the node that asked.
        assert_eq!(reply[20..22], [0, 2]);
        assert_eq!(reply[22..28], address(2).mac.0);
        assert_eq!(reply[28..32], [10, 0, 0, 2]);
        assert_eq!(reply[32..38], address(1).mac.0);
        assert_eq!(reply[38..42], [10, 0, 0, 1]);
        // An unknown address; a reply; not ARP; a truncated request.
        assert_eq!(answer(request(9)), None);
        assert_eq!(answer(reply.to_vec()), None);
        let mut other = request(2);
        other[13] = 0;
        assert_eq!(answer(other), None);
        assert_eq!(answer(request(2)[..40].to_vec()), None);
        assert_eq!(arp.answered(), 1);
    }
}
