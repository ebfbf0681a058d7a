//! The invariant CRC of a RoCE packet (IBTA volume 1 §7.8.1, annexes A16.5.2 and A17.3.3).

use crc32fast::Hasher;

use crate::wire::frame::IpKind;
use crate::wire::{BthRepr, GrhRepr, ICRC_BYTES, Ipv4, Ipv6Repr, Truncated, UdpRepr};

/// Stands for the local route header, which Ethernet does not have.
const NO_LRH: [u8; 8] = [0xFF; 8];
/// The longest headers up to the BTH: those behind IPv4 with all options.
const HEADERS_MAX: usize = 15 * 4 + UdpRepr::LEN + BthRepr::LEN;

/// The ICRC of `packet`, in the form that it has on the wire. `packet` extends from the network header to the last
/// byte before the ICRC, IPv4 options included.
///
/// It is a CRC-32 (0x04C11DB7, reflected, initialized to ones, complemented, low byte first) over eight bytes of ones
/// and the packet. In the packet, the following fields count as ones because routers may change them:
///
/// | header | fields |
/// |---|---|
/// | IPv4 | TOS, TTL, header checksum |
/// | IPv6, GRH | traffic class, flow label, hop limit |
/// | UDP | checksum |
/// | BTH | byte 4: FECN, BECN, reserved |
///
/// # Errors
///
/// [`Truncated`] when the headers up to the BTH are not all in `packet`, or IHL is below 5.
pub fn icrc(kind: IpKind, packet: &[u8]) -> Result<[u8; ICRC_BYTES], Truncated> {
    let ip_bytes = match kind {
        IpKind::V4 => Ipv4::new_checked(packet)?
            .header()
            .map_or(usize::MAX, <[u8]>::len),
        IpKind::V6 => Ipv6Repr::LEN,
        IpKind::Grh => GrhRepr::LEN,
    };
    let udp_bytes = if kind == IpKind::Grh { 0 } else { UdpRepr::LEN };
    let bth = ip_bytes.saturating_add(udp_bytes);
    let headers = bth.saturating_add(BthRepr::LEN);
    let (head, rest) = packet.split_at_checked(headers).ok_or(Truncated {
        header: "headers that the ICRC covers",
        have: packet.len(),
        need: headers,
    })?;

    let mut covered = [0xFF; NO_LRH.len() + HEADERS_MAX];
    let covered = &mut covered[..NO_LRH.len() + headers];
    let masked = &mut covered[NO_LRH.len()..];
    masked.copy_from_slice(head);
    match kind {
        IpKind::V4 => {
            masked[1] = 0xFF;
            masked[8] = 0xFF;
            masked[10..12].fill(0xFF);
        }
        IpKind::V6 | IpKind::Grh => {
            masked[0] |= 0x0F;
            masked[1..4].fill(0xFF);
            masked[7] = 0xFF;
        }
    }
    if kind != IpKind::Grh {
        masked[ip_bytes + 6..ip_bytes + 8].fill(0xFF);
    }
    masked[bth + 4] = 0xFF;

    let mut crc = Hasher::new();
    crc.update(covered);
    crc.update(rest);
    Ok(crc.finalize().to_le_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The CRC-32 bit by bit: shifted in from the top, in the words of IEEE 802.3 §3.2.9, on reflected bits.
    fn bitwise(bytes: impl IntoIterator<Item = u8>) -> u32 {
        !bytes.into_iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xEDB8_8320
                } else {
                    crc >> 1
                }
            })
        })
    }

    #[test]
    fn register_after_eight_bytes_of_ones() {
        // Linux's rxe starts from this number.
        assert_eq!(!bitwise(NO_LRH), 0xDEBB_20E3);
    }

    #[test]
    fn needs_all_headers() {
        assert!(icrc(IpKind::V4, &[0x45; 39]).is_err());
        assert!(icrc(IpKind::V4, &[0x45; 40]).is_ok());
        assert!(icrc(IpKind::V4, &[0x44; 100]).is_err(), "IHL 4");
        assert!(icrc(IpKind::V4, &[0x4F; 79]).is_err(), "IHL 15: 60 bytes");
        assert!(icrc(IpKind::V6, &[0x60; 59]).is_err());
        assert!(icrc(IpKind::V6, &[0x60; 60]).is_ok());
        assert!(icrc(IpKind::Grh, &[0x60; 51]).is_err());
        assert!(icrc(IpKind::Grh, &[0x60; 52]).is_ok());
    }

    /// The bits of the packet's headers that do not affect the ICRC, found by flipping each, must be those that the
    /// standard names.
    #[test]
    fn exactly_the_variant_fields_are_masked() {
        let variant = |kind, ihl: usize| -> Vec<usize> {
            let bits = |byte: usize| byte * 8..byte * 8 + 8;
            let udp = if kind == IpKind::V4 { 4 * ihl } else { 40 };
            match kind {
                IpKind::V4 => [1, 8, 10, 11, udp + 6, udp + 7, udp + 12]
                    .into_iter()
                    .flat_map(bits)
                    .collect(),
                IpKind::V6 => (4..32)
                    .chain([7, udp + 6, udp + 7, udp + 12].into_iter().flat_map(bits))
                    .collect(),
                IpKind::Grh => (4..32)
                    .chain([7, 40 + 4].into_iter().flat_map(bits))
                    .collect(),
            }
        };
        for (kind, ihl) in [
            (IpKind::V4, 5),
            (IpKind::V4, 8),
            (IpKind::V6, 5),
            (IpKind::Grh, 5),
        ] {
            let mut packet = [0x5A; 120];
            packet[0] = if kind == IpKind::V4 {
                0x40 | ihl as u8
            } else {
                0x65
            };
            let right = icrc(kind, &packet).unwrap();
            // The IHL determines where the headers are, so it is not flipped.
            let flips =
                (0..packet.len() * 8).filter(|bit| kind != IpKind::V4 || !(4..8).contains(bit));
            let unseen: Vec<usize> = flips
                .filter(|bit| {
                    let mut flipped = packet;
                    flipped[bit / 8] ^= 0x80 >> (bit % 8);
                    icrc(kind, &flipped).unwrap() == right
                })
                .collect();
            assert_eq!(unseen, variant(kind, ihl), "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn is_the_bitwise_crc_of_the_masked_packet(mut packet in prop::collection::vec(any::<u8>(), 52..200)) {
            packet[0] |= 0x0F;
            packet[1..4].fill(0xFF);
            packet[7] = 0xFF;
            packet[44] = 0xFF;
            let expected = bitwise(NO_LRH.into_iter().chain(packet.iter().copied())).to_le_bytes();
            prop_assert_eq!(icrc(IpKind::Grh, &packet).unwrap(), expected);
        }
    }
}
