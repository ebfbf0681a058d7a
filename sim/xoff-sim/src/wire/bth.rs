//! The base transport header.

use super::{Opcode, Psn, Qpn};

header! {
    /// Base transport header, 12 bytes (IBTA volume 1 §9.2; FECN and BECN by annex A17.9):
    ///
    /// ```text
    ///  bit 0          8    9   10    12      16              32
    ///     | opcode 8 | SE | M | Pad | TVer  | P_Key 16      |
    ///     | F | B | rsv 6 | DestQP 24                       |
    ///     | A | rsv 7     | PSN 24                          |
    /// ```
    Bth, BthRepr, "BTH", 12 bytes;
    /// Operation and service.
    opcode, set_opcode: Opcode = 0..8;
    /// Solicited event: the responder is to raise an event when the message is complete.
    solicited, set_solicited: bool = 8..9;
    /// Migration state of automatic path migration.
    mig_req, set_mig_req: bool = 9..10;
    /// Bytes of padding between payload and ICRC, 0 … 3.
    pad, set_pad: u8 = 10..12;
    /// Transport header version, 4 bits; 0.
    tver, set_tver: u8 = 12..16;
    /// Partition key; the default partition is 0xFFFF.
    pkey, set_pkey: u16 = 16..32;
    /// Forward explicit congestion notification.
    fecn, set_fecn: bool = 32..33;
    /// Backward explicit congestion notification; 1 in a CNP.
    becn, set_becn: bool = 33..34;
    /// Six reserved bits; sent as 0, ignored on receipt.
    reserved6, set_reserved6: u8 = 34..40;
    /// Destination queue pair.
    dest_qp, set_dest_qp: Qpn = 40..64;
    /// The requester asks for an acknowledgement.
    ack_req, set_ack_req: bool = 64..65;
    /// Seven reserved bits; sent as 0, ignored on receipt.
    reserved7, set_reserved7: u8 = 65..72;
    /// Packet sequence number.
    psn, set_psn: Psn = 72..96;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    round_trip!(round_trip, Bth, BthRepr);

    #[test]
    fn as_ibta_9_2_draws_it() {
        // Byte 1: SE 1, M 0, Pad 10, TVer 0000. Byte 4: FECN 0, BECN 1, reserved 000001. Byte 8: A 1, reserved 0000010.
        let bytes = [
            0x0A,
            0b1010_0000,
            0xFF,
            0xFF,
            0b0100_0001,
            0x00,
            0x00,
            0x11,
            0b1000_0010,
            0x4D,
            0x46,
            0x8A,
        ];
        let expected = BthRepr {
            opcode: Opcode::RC_WRITE_ONLY,
            solicited: true,
            mig_req: false,
            pad: 2,
            tver: 0,
            pkey: 0xFFFF,
            fecn: false,
            becn: true,
            reserved6: 1,
            dest_qp: Qpn::new(0x11).unwrap(),
            ack_req: true,
            reserved7: 2,
            psn: Psn::wrapping(0x4D468A),
        };
        assert_eq!(BthRepr::parse(&Bth::new_checked(bytes).unwrap()), expected);
    }

    proptest! {
        // A round trip keeps all bits of a BTH, including reserved ones.
        #[test]
        fn every_bit_is_in_the_repr(bytes: [u8; 12]) {
            let mut out = [0; 12];
            BthRepr::parse(&Bth::new_unchecked(&bytes)).emit(&mut Bth::new_unchecked(&mut out));
            prop_assert_eq!(out, bytes);
        }
    }
}
