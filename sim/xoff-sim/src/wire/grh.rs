//! The global route header of RoCEv1.

/// NxtHdr of a GRH: a base transport header follows (IBTA volume 1 §8.3.6, annex A16).
pub const GRH_NEXT_HEADER_BTH: u8 = 0x1B;

header! {
    /// Global route header, 40 bytes (IBTA volume 1 §8.3). The fields are IPv6's, the names InfiniBand's:
    ///
    /// ```text
    ///  bit 0         4          12                         32
    ///     | IPVer 4 | TClass 8 | FlowLabel 20             |
    ///     | PayLen 16          | NxtHdr 8  | HopLmt 8     |
    ///     | SGID 128                                      |
    ///     | DGID 128                                      |
    /// ```
    Grh, GrhRepr, "GRH", 40 bytes;
    /// Traffic class.
    traffic_class, set_traffic_class: u8 = 4..12;
    /// Flow label, 20 bits.
    flow_label, set_flow_label: u32 = 12..32;
    /// Bytes from the first after this header to the last of the ICRC.
    payload_length, set_payload_length: u16 = 32..48;
    /// What follows; 0x1B ([`GRH_NEXT_HEADER_BTH`]) is a BTH.
    next_header, set_next_header: u8 = 48..56;
    /// Hop limit.
    hop_limit, set_hop_limit: u8 = 56..64;
    /// Source GID.
    sgid, set_sgid: u128 = 64..192;
    /// Destination GID.
    dgid, set_dgid: u128 = 192..320;
    @fixed
    /// Version; 6.
    version, set_version: u8 = 0..4, always 6;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Grh, GrhRepr);

    #[test]
    fn as_ibta_8_3_draws_it() {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&[0x60, 0x20, 0x00, 0x01, 0x00, 0x14, 0x1B, 0xFF]);
        bytes[8] = 0xFE;
        bytes[9] = 0x80;
        bytes[39] = 9;
        let view = Grh::new_checked(bytes).unwrap();
        assert_eq!(view.version(), 6);
        let expected = GrhRepr {
            traffic_class: 2,
            flow_label: 1,
            payload_length: 20,
            next_header: GRH_NEXT_HEADER_BTH,
            hop_limit: 255,
            sgid: 0xFE80 << 112,
            dgid: 9,
        };
        assert_eq!(GrhRepr::parse(&view), expected);
        let mut out = [0xFF; 40];
        expected.emit(&mut Grh::new_unchecked(&mut out));
        assert_eq!(out, bytes);
    }
}
