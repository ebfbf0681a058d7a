//! Congestion notification packets.

header! {
    /// The bytes that follow the BTH in a congestion notification packet: 16 reserved bytes, sent as zero and ignored
    /// on receipt (IBTA annex A17.9.3). The notification itself is in the BTH:
    /// [`Opcode::CNP`](crate::wire::Opcode::CNP), BECN 1, the destination QP.
    ///
    /// ```text
    ///  byte 0
    ///      | reserved 128 |
    /// ```
    Cnp, CnpRepr, "CNP", 16 bytes;
    @fixed
    /// Reserved; 0.
    reserved, set_reserved: u128 = 0..128, always 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Cnp, CnpRepr);

    #[test]
    fn as_annex_a17_9_3_draws_it() {
        let mut bytes = [0xFF; 16];
        assert_eq!(Cnp::new_checked(bytes).unwrap().reserved(), u128::MAX);
        CnpRepr::default().emit(&mut Cnp::new_checked(&mut bytes).unwrap());
        assert_eq!(bytes, [0; 16]);
    }
}
