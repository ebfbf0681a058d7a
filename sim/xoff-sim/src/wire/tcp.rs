//! The TCP header.

/// IP protocol number of TCP (IANA).
pub const IP_PROTOCOL_TCP: u8 = 6;

header! {
    /// The TCP header without options, 20 bytes (RFC 9293 §3.1):
    ///
    /// ```text
    ///  bit 0                        16                32
    ///     | source port 16         | dest. port 16   |
    ///     | sequence number 32                       |
    ///     | acknowledgment number 32                 |
    ///     | offset 4 | 4 | flags 8 | window 16       |
    ///     | checksum 16            | urgent 16       |
    /// ```
    Tcp, TcpRepr, "TCP", 20 bytes;
    /// Source port.
    src_port, set_src_port: u16 = 0..16;
    /// Destination port.
    dst_port, set_dst_port: u16 = 16..32;
    /// Sequence number of the first byte of data, or of SYN.
    seq, set_seq: u32 = 32..64;
    /// The next sequence number that is expected; only with ACK.
    ack, set_ack: u32 = 64..96;
    /// Where data begins, in words of 32 bits, 5 to 15.
    data_offset, set_data_offset: u8 = 96..100;
    /// CWR, ECE, URG, ACK, PSH, RST, SYN and FIN, the first in the highest bit.
    flags, set_flags: u8 = 104..112;
    /// Bytes that the sender of this header takes, shifted right as its SYN said.
    window, set_window: u16 = 112..128;
    /// Checksum over a pseudo-header, this header and what follows.
    checksum, set_checksum: u16 = 128..144;
    /// Where urgent data ends; only with URG.
    urgent, set_urgent: u16 = 144..160;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Tcp, TcpRepr);

    #[test]
    fn as_rfc_9293_draws_it() {
        let bytes = [
            0xC0, 0x01, 0x27, 0x10, 0, 0, 0, 7, 0, 0, 0, 9, 0x60, 0x12, 0x01, 0x02, 0xAB, 0xCD, 0,
            5,
        ];
        let repr = TcpRepr::parse(&Tcp::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            TcpRepr {
                src_port: 0xC001,
                dst_port: 10_000,
                seq: 7,
                ack: 9,
                data_offset: 6,
                // SYN and ACK.
                flags: 0x12,
                window: 0x102,
                checksum: 0xABCD,
                urgent: 5
            }
        );
    }
}
