//! The ICRC of a RoCEv2 packet whose headers are in their usual places: like [`icrc`](super::icrc), but without
//! searching for the headers and without a copy on the heap.

use crc32fast::Hasher;

use crate::wire::{BthRepr, ICRC_BYTES, Ipv4Repr, Ipv6Repr, UdpRepr};

/// Stands for the local route header, which Ethernet does not have.
const NO_LRH: usize = 8;
const MAX_HEADERS: usize = Ipv6Repr::LEN + UdpRepr::LEN + BthRepr::LEN;

/// The ICRC of `packet`: an IPv6 header or an IPv4 header without options, UDP, BTH, and so on to the last byte
/// before the ICRC.
pub(crate) fn usual_icrc(ipv6: bool, packet: &[u8]) -> [u8; ICRC_BYTES] {
    let ip = if ipv6 { Ipv6Repr::LEN } else { Ipv4Repr::LEN };
    let bth = ip + UdpRepr::LEN;
    let (head, rest) = packet.split_at(bth + BthRepr::LEN);
    let mut masked = [0xFF; NO_LRH + MAX_HEADERS];
    let covered = &mut masked[..NO_LRH + head.len()];
    covered[NO_LRH..].copy_from_slice(head);
    let header = &mut covered[NO_LRH..];
    if ipv6 {
        header[0] |= 0x0F;
        header[1..4].fill(0xFF);
        header[7] = 0xFF;
    } else {
        header[1] = 0xFF;
        header[8] = 0xFF;
        header[10..12].fill(0xFF);
    }
    header[ip + 6..ip + 8].fill(0xFF);
    header[bth + 4] = 0xFF;
    let mut crc = Hasher::new();
    crc.update(covered);
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::icrc::icrc;
    use crate::wire::frame::IpKind;

    proptest! {
        #[test]
        fn is_the_reference_icrc(mut packet in prop::collection::vec(any::<u8>(), 60..300), ipv6: bool) {
            packet[0] = if ipv6 { 0x60 | packet[0] & 0x0F } else { 0x45 };
            let kind = if ipv6 { IpKind::V6 } else { IpKind::V4 };
            prop_assert_eq!(usual_icrc(ipv6, &packet), icrc(kind, &packet).unwrap());
        }
    }
}
