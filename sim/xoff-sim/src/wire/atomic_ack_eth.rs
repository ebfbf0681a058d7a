//! Atomic acknowledge extended transport header.

header! {
    /// Atomic acknowledge extended transport header, 8 bytes (IBTA volume 1 §9.5.3):
    ///
    /// ```text
    ///  byte 0
    ///      | original remote data 64 |
    /// ```
    AtomicAckEth, AtomicAckEthRepr, "AtomicAckETH", 8 bytes;
    /// The content of the memory before the operation.
    original, set_original: u64 = 0..64;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, AtomicAckEth, AtomicAckEthRepr);

    #[test]
    fn as_ibta_9_5_3_draws_it() {
        let view =
            AtomicAckEth::new_checked([0xCF, 0x84, 0xB6, 0x83, 0xA7, 0x49, 0xF9, 0xC5]).unwrap();
        assert_eq!(
            AtomicAckEthRepr::parse(&view),
            AtomicAckEthRepr {
                original: 0xCF84_B683_A749_F9C5
            }
        );
    }
}
