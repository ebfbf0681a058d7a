//! Answers to ARP (RFC 826) in place of a network whose switches route: hosts send what is for others to their first
//! hop.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, Ipv4Packet,
};
use xoff_sim::nic::Address;
use xoff_sim::wire::{EthernetRepr, MIN_FRAME_BYTES, MacAddr};

/// The MAC address of the neighbour with this address.
pub fn mac_of(neighbours: &[Address], ip: Ipv4Addr) -> Option<MacAddr> {
    let is_it = |it: &&Address| it.ip == IpAddr::V4(ip);
    Some(neighbours.iter().find(is_it)?.mac)
}

/// The answer to a frame, without FCS, that asks for an address of which `mac_of` knows the MAC address. `None`: it is
/// no such request.
pub fn answer(frame: &[u8], mac_of: impl FnOnce(Ipv4Addr) -> Option<MacAddr>) -> Option<Bytes> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    if frame.ethertype() != EthernetProtocol::Arp {
        return None;
    }
    let asked = ArpRepr::parse(&ArpPacket::new_checked(frame.payload()).ok()?).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = asked
    else {
        return None;
    };
    let mac = mac_of(target_protocol_addr)?;
    let asker = MacAddr(source_hardware_addr.0);
    Some(reply(
        (target_protocol_addr, mac),
        (source_protocol_addr, asker),
    ))
}

/// An answer without a question: the first hop to whoever has sent an IPv4 packet. A stack that knows it need not ask,
/// and answers at once. `None`: the frame is none of a neighbour's.
pub(crate) fn first_hop(frame: &[u8], own: Address, neighbours: &[Address]) -> Option<Bytes> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    let (EthernetProtocol::Ipv4, IpAddr::V4(to)) = (frame.ethertype(), own.ip) else {
        return None;
    };
    let from = Ipv4Packet::new_checked(frame.payload()).ok()?.src_addr();
    Some(reply((from, mac_of(neighbours, from)?), (to, own.mac)))
}

/// The reply that an address has a MAC address, to whoever has other ones.
fn reply((ip, mac): (Ipv4Addr, MacAddr), (to_ip, to_mac): (Ipv4Addr, MacAddr)) -> Bytes {
    let [mac, to_mac] = [mac, to_mac].map(|mac| EthernetAddress(mac.0));
    let told = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: mac,
        source_protocol_addr: ip,
        target_hardware_addr: to_mac,
        target_protocol_addr: to_ip,
    };
    let mut bytes = vec![0; (EthernetRepr::LEN + told.buffer_len()).max(MIN_FRAME_BYTES)];
    let mut reply = EthernetFrame::new_unchecked(&mut bytes);
    reply.set_src_addr(mac);
    reply.set_dst_addr(to_mac);
    reply.set_ethertype(EthernetProtocol::Arp);
    told.emit(&mut ArpPacket::new_unchecked(reply.payload_mut()));
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_for_and_its_first_hop_is_told() {
        let ask = |ip: [u8; 4]| {
            let repr = ArpRepr::EthernetIpv4 {
                operation: ArpOperation::Request,
                source_hardware_addr: EthernetAddress([2, 0, 0, 0, 0, 9]),
                source_protocol_addr: Ipv4Addr::new(10, 0, 0, 9),
                target_hardware_addr: EthernetAddress([0; 6]),
                target_protocol_addr: ip.into(),
            };
            let mut bytes = vec![0; 60];
            let mut frame = EthernetFrame::new_unchecked(&mut bytes);
            frame.set_dst_addr(EthernetAddress::BROADCAST);
            frame.set_ethertype(EthernetProtocol::Arp);
            repr.emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
            bytes
        };
        let hop = MacAddr([2, 1, 0, 0, 0, 1]);
        let neighbours = [Address {
            mac: hop,
            ip: Ipv4Addr::new(10, 0, 0, 2).into(),
        }];
        let answer = |frame: &[u8]| answer(frame, |ip| mac_of(&neighbours, ip));
        let reply = answer(&ask([10, 0, 0, 2])).unwrap();
        assert_eq!(reply[..12], [[2, 0, 0, 0, 0, 9], hop.0].concat());
        let packet = ArpPacket::new_checked(&reply[EthernetRepr::LEN..]).unwrap();
        assert_eq!(packet.source_hardware_addr(), hop.0);
        assert_eq!(packet.source_protocol_addr(), [10, 0, 0, 2]);
        assert_eq!(packet.operation(), ArpOperation::Reply);
        assert_eq!(answer(&ask([10, 0, 0, 3])), None);
        // An answer is asked nothing.
        assert_eq!(answer(&reply), None);
    }
}
