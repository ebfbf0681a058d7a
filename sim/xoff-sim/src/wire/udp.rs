//! The UDP header.

/// IP protocol number of UDP (IANA).
pub const IP_PROTOCOL_UDP: u8 = 17;
/// UDP destination port of RoCEv2 (IBTA annex A17.3, IANA `roce`).
pub const UDP_PORT_ROCE: u16 = 4791;

header! {
    /// The UDP header, 8 bytes (RFC 768):
    ///
    /// ```text
    ///  bit 0                16              32
    ///     | source port 16 | dest. port 16 |
    ///     | length 16      | checksum 16   |
    /// ```
    Udp, UdpRepr, "UDP", 8 bytes;
    /// Source port. RoCEv2 senders choose one of 0xC000 … 0xFFFF for each QP, so that ECMP can distribute flows
    /// (annex A17.3).
    src_port, set_src_port: u16 = 0..16;
    /// Destination port.
    dst_port, set_dst_port: u16 = 16..32;
    /// Length of this header and what follows, in bytes.
    length, set_length: u16 = 32..48;
    /// Checksum; 0 means that there is none. RoCEv2 sends 0 and ignores it (annex A17.3), since the ICRC protects the
    /// packet.
    checksum, set_checksum: u16 = 48..64;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Udp, UdpRepr);

    #[test]
    fn as_rfc_768_draws_it() {
        let repr = UdpRepr::parse(
            &Udp::new_checked([0xC0, 0x01, 0x12, 0xB7, 0x01, 0x14, 0xAB, 0xCD]).unwrap(),
        );
        assert_eq!(
            repr,
            UdpRepr {
                src_port: 0xC001,
                dst_port: UDP_PORT_ROCE,
                length: 276,
                checksum: 0xABCD
            }
        );
    }
}
