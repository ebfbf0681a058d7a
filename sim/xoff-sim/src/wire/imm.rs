//! Immediate data, and the key to invalidate.

header! {
    /// Immediate data, 4 bytes (IBTA volume 1 §9.3.6):
    ///
    /// ```text
    ///  byte 0
    ///      | immediate data 32 |
    /// ```
    ImmDt, ImmDtRepr, "ImmDt", 4 bytes;
    /// Passed unchanged to the receiver, with the completion.
    imm, set_imm: u32 = 0..32;
}

header! {
    /// Invalidate extended transport header, 4 bytes (IBTA volume 1 §9.3.7):
    ///
    /// ```text
    ///  byte 0
    ///      | R_Key 32 |
    /// ```
    Ieth, IethRepr, "IETH", 4 bytes;
    /// Remote key that the responder is to invalidate.
    rkey, set_rkey: u32 = 0..32;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(imm_round_trip, ImmDt, ImmDtRepr);
    round_trip!(ieth_round_trip, Ieth, IethRepr);

    #[test]
    fn as_ibta_9_3_6_and_9_3_7_draw_them() {
        let bytes = [0xA0, 0x00, 0x00, 0x77];
        assert_eq!(
            ImmDtRepr::parse(&ImmDt::new_checked(bytes).unwrap()),
            ImmDtRepr { imm: 0xA000_0077 }
        );
        assert_eq!(
            IethRepr::parse(&Ieth::new_checked(bytes).unwrap()),
            IethRepr { rkey: 0xA000_0077 }
        );
    }
}
