//! DDP, which says where the data of an iWARP segment goes, with the byte of RDMAP in it.

header! {
    /// The header of data for a named buffer, 14 bytes (RFC 5041 §4.1, RFC 5040 §4.1):
    ///
    /// ```text
    ///  bit 0   1   2         6    8    10        12       16        48          112
    ///     | T=1 | L | reserved | DV | RV | reserved | opcode | STag 32 | offset 64 |
    /// ```
    DdpTagged, DdpTaggedRepr, "tagged DDP header", 14 bytes;
    /// Data for a named buffer: `true`.
    tagged, set_tagged: bool = 0..1;
    /// The last segment of its message.
    last, set_last: bool = 1..2;
    /// Version of DDP: 1.
    ddp_version, set_ddp_version: u8 = 6..8;
    /// Version of RDMAP: 1.
    rdmap_version, set_rdmap_version: u8 = 8..10;
    /// Opcode of RDMAP.
    opcode, set_opcode: u8 = 12..16;
    /// The buffer.
    stag, set_stag: u32 = 16..48;
    /// Where the data begins in it.
    offset, set_offset: u64 = 48..112;
}

header! {
    /// The header of data for the next buffer of a queue, 18 bytes (RFC 5041 §4.2, RFC 5040 §4.1):
    ///
    /// ```text
    ///  bit 0   1   2         6    8    10        12       16        48         80       112        144
    ///     | T=0 | L | reserved | DV | RV | reserved | opcode | STag 32 | queue 32 | MSN 32 | offset 32 |
    /// ```
    DdpUntagged, DdpUntaggedRepr, "untagged DDP header", 18 bytes;
    /// Data for a named buffer: `false`.
    tagged, set_tagged: bool = 0..1;
    /// The last segment of its message.
    last, set_last: bool = 1..2;
    /// Version of DDP: 1.
    ddp_version, set_ddp_version: u8 = 6..8;
    /// Version of RDMAP: 1.
    rdmap_version, set_rdmap_version: u8 = 8..10;
    /// Opcode of RDMAP.
    opcode, set_opcode: u8 = 12..16;
    /// The buffer that a Send with Invalidate invalidates; else 0.
    inv_stag, set_inv_stag: u32 = 16..48;
    /// Queue: 0 Sends, 1 READ requests, 2 Terminate, 3 atomic responses.
    queue, set_queue: u32 = 48..80;
    /// Number of the message in its queue, from 1.
    msn, set_msn: u32 = 80..112;
    /// Where the data begins in the message.
    offset, set_offset: u32 = 112..144;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip_of_tagged, DdpTagged, DdpTaggedRepr);
    round_trip!(round_trip_of_untagged, DdpUntagged, DdpUntaggedRepr);

    #[test]
    fn as_rfc_5041_draws_them() {
        let bytes = [0xC1, 0x40, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0x10, 0];
        let repr = DdpTaggedRepr::parse(&DdpTagged::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            DdpTaggedRepr {
                tagged: true,
                last: true,
                ddp_version: 1,
                rdmap_version: 1,
                opcode: 0,
                stag: 0x102,
                offset: 0x1000
            }
        );
        let bytes = [1, 0x44, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 5, 0xDC];
        let repr = DdpUntaggedRepr::parse(&DdpUntagged::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            DdpUntaggedRepr {
                tagged: false,
                last: false,
                ddp_version: 1,
                rdmap_version: 1,
                opcode: 4,
                inv_stag: 9,
                queue: 0,
                msn: 7,
                offset: 1500
            }
        );
    }
}
