//! MPA, the framing of iWARP in a TCP stream.

header! {
    /// What both ends of a connection send first, 20 bytes, before their private data (RFC 5044 §7.1.1):
    ///
    /// ```text
    ///  bit 0        128 129 130 131    136         144                160
    ///     | key 128 | M | C | R | res. | revision 8 | private bytes 16 |
    /// ```
    MpaStart, MpaStartRepr, "MPA start-up frame", 20 bytes;
    /// [`REQUEST`](MpaStartRepr::REQUEST) or [`REPLY`](MpaStartRepr::REPLY).
    key, set_key: u128 = 0..128;
    /// The sender wants markers in what it receives.
    markers, set_markers: bool = 128..129;
    /// The sender wants CRCs. Both ends send them if one of them does.
    crc, set_crc: bool = 129..130;
    /// The connection is refused; only in a reply.
    reject, set_reject: bool = 130..131;
    /// Version of MPA: 1, or 2 with RFC 6581.
    revision, set_revision: u8 = 136..144;
    /// Bytes of private data that follow, at most 512.
    private_bytes, set_private_bytes: u16 = 144..160;
}

impl MpaStartRepr {
    /// The key of the end that opens the connection.
    pub const REQUEST: u128 = u128::from_be_bytes(*b"MPA ID Req Frame");
    /// The key of the end that accepts it.
    pub const REPLY: u128 = u128::from_be_bytes(*b"MPA ID Rep Frame");
    /// Most private data.
    pub const MAX_PRIVATE_BYTES: u16 = 512;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, MpaStart, MpaStartRepr);

    #[test]
    fn as_rfc_5044_draws_it() {
        let bytes = *b"MPA ID Rep Frame\x60\x01\x00\x03";
        let repr = MpaStartRepr::parse(&MpaStart::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            MpaStartRepr {
                key: MpaStartRepr::REPLY,
                markers: false,
                crc: true,
                reject: true,
                revision: 1,
                private_bytes: 3
            }
        );
    }
}
