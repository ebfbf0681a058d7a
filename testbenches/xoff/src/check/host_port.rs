//! Ports of hosts: the names of `--host-port`, and which way a frame passes such a port.

use std::net::IpAddr;
use std::str::FromStr;

use xoff_sim::headers::Headers;
use xoff_sim::wire::{EtherType, MacAddr};
use xoff_waves::capture::{Direction, Filled};

/// A port that is a host's own, as the command line names it: `NAME`, or `NAME=ADDRESS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// The name of an interface, of a tap or of a capture.
    pub name: String,
    /// The host's address, for captures that do not record directions.
    pub address: Option<Address>,
}

/// A host's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// IP version and address.
    Ip(u8, u128),
    /// MAC address.
    Mac(MacAddr),
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name, Some(address)),
            None => (text, None),
        };
        let parsed = |address: &str| {
            let ip = address.parse().map(|ip: IpAddr| match ip {
                IpAddr::V4(ip) => Address::Ip(4, ip.to_bits().into()),
                IpAddr::V6(ip) => Address::Ip(6, ip.to_bits()),
            });
            let mac = || address.parse().map(Address::Mac);
            ip.or_else(|_| mac()).map_err(|_| {
                format!(
                    "'{address}' is no address of a host: expected IPv4, IPv6 or MAC, as in {name}=192.0.2.1"
                )
            })
        };
        Ok(Self {
            name: name.to_owned(),
            address: address.map(parsed).transpose()?,
        })
    }
}

/// Finds the directions of frames at a host's port.
#[derive(Debug)]
pub(super) struct Directions {
    address: Address,
    /// The host's MAC address, once a frame has shown it.
    mac: Option<MacAddr>,
}

impl Directions {
    pub fn new(address: Address) -> Self {
        let mac = match address {
            Address::Mac(mac) => Some(mac),
            Address::Ip(..) => None,
        };
        Self { address, mac }
    }

    /// The direction of a frame; `None` if it is neither from the host nor to it.
    pub fn of(&mut self, frame: &Filled<'_>) -> Option<Direction> {
        let headers = Headers::at(&frame.bytes)?;
        if let (Address::Ip(version, address), Some(ip)) = (self.address, headers.ip)
            && ip.version == version
        {
            if ip.src == address {
                if frame.addressed {
                    self.mac = Some(headers.src);
                }
                return Some(Direction::Sent);
            }
            if ip.dst == address {
                return Some(Direction::Received);
            }
        }
        let mac = self.mac.filter(|_| frame.addressed)?;
        match headers {
            _ if headers.src == mac => Some(Direction::Sent),
            _ if headers.dst == mac || headers.ether_type == EtherType::MAC_CONTROL => {
                Some(Direction::Received)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_addresses() {
        let port = |text: &str| text.parse::<HostPort>();
        assert_eq!(port("a.0").unwrap().address, None);
        let v4 = port("a.pcap=192.0.2.1").unwrap();
        assert_eq!(
            (&v4.name[..], v4.address),
            ("a.pcap", Some(Address::Ip(4, 0xC000_0201)))
        );
        assert_eq!(
            port("-=2001:db8::1").unwrap().address,
            Some(Address::Ip(6, 0x2001_0DB8 << 96 | 1))
        );
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        assert_eq!(
            port("a=02:00:00:00:00:01").unwrap().address,
            Some(Address::Mac(mac))
        );
        let error = port("a.pcap=host1").unwrap_err();
        assert!(error.contains("'host1' is no address"), "{error}");
    }
}
