//! The IPv6 header.

/// Next header value of a fragment header. That header has 8 bytes, and its first byte is the next header of the
/// fragmented part (RFC 8200 §4.5).
pub const NEXT_HEADER_FRAGMENT: u8 = 44;

header! {
    /// The IPv6 header, 40 bytes (RFC 8200 §3):
    ///
    /// ```text
    ///  bit 0       4                 12                             32
    ///     | ver 4 | traffic class 8 | flow label 20                |
    ///     | payload length 16       | next header 8 | hop limit 8  |
    ///     | source 128                                             |
    ///     | destination 128                                        |
    /// ```
    Ipv6, Ipv6Repr, "IPv6", 40 bytes;
    /// DSCP in the high six bits (RFC 2474), ECN in the low two (RFC 3168).
    traffic_class, set_traffic_class: u8 = 4..12;
    /// Flow label, 20 bits.
    flow_label, set_flow_label: u32 = 12..32;
    /// Bytes after this header.
    payload_length, set_payload_length: u16 = 32..48;
    /// What follows; 17 is UDP.
    next_header, set_next_header: u8 = 48..56;
    /// Hop limit.
    hop_limit, set_hop_limit: u8 = 56..64;
    /// Source address.
    src, set_src: u128 = 64..192;
    /// Destination address.
    dst, set_dst: u128 = 192..320;
    @fixed
    /// Version; 6.
    version, set_version: u8 = 0..4, always 6;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Ipv6, Ipv6Repr);

    #[test]
    fn as_rfc_8200_draws_it() {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&[0x6A, 0xB1, 0x23, 0x45, 0x04, 0x08, 0x11, 0x40]);
        bytes[8..12].copy_from_slice(&[0x20, 0x01, 0x0D, 0xB8]);
        bytes[23] = 1;
        bytes[24..28].copy_from_slice(&[0x20, 0x01, 0x0D, 0xB8]);
        bytes[39] = 2;
        let view = Ipv6::new_checked(bytes).unwrap();
        assert_eq!(view.version(), 6);
        let expected = Ipv6Repr {
            traffic_class: 0xAB,
            flow_label: 0x1_2345,
            payload_length: 0x408,
            next_header: 17,
            hop_limit: 64,
            src: 0x2001_0DB8_0000_0000_0000_0000_0000_0001,
            dst: 0x2001_0DB8_0000_0000_0000_0000_0000_0002,
        };
        assert_eq!(Ipv6Repr::parse(&view), expected);
        let mut out = [0xFF; 40];
        expected.emit(&mut Ipv6::new_unchecked(&mut out));
        assert_eq!(out, bytes);
    }
}
