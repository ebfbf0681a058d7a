//! The invariant CRC (annex A17, A17.3.3): the CRC of Ethernet over the packet, with ones in place of the fields that
//! routers change, behind eight bytes of ones that stand for the missing local route header.

use crc32fast::Hasher;

/// The ICRC, as its bytes follow the packet, of a packet from these parts: the header of IPv4 (version 4) or IPv6,
/// that of UDP, and all behind it without the ICRC.
pub fn icrc(ip: &[u8], udp: &[u8], transport: &[u8]) -> [u8; 4] {
    let mut crc = Hasher::new();
    crc.update(&[0xFF; 8]);
    let mut ip = ip.to_vec();
    match ip[0] >> 4 {
        // Type of service, time to live, header checksum.
        4 => [1, 8, 10, 11]
            .into_iter()
            .for_each(|place| ip[place] = 0xFF),
        // Traffic class, flow label, hop limit.
        _ => {
            ip[0] |= 0x0F;
            [1, 2, 3, 7].into_iter().for_each(|place| ip[place] = 0xFF);
        }
    }
    crc.update(&ip);
    crc.update(&udp[..6]);
    crc.update(&[0xFF; 2]);
    // The reserved byte before the QP number, in which routers may mark.
    let (start, rest) = transport.split_at(transport.len().min(4));
    crc.update(start);
    if let Some((_, rest)) = rest.split_first() {
        crc.update(&[0xFF]);
        crc.update(rest);
    }
    crc.finalize().to_le_bytes()
}
