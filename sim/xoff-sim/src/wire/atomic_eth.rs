//! Atomic extended transport header.

header! {
    /// Atomic extended transport header, 28 bytes (IBTA volume 1 §9.3.4):
    ///
    /// ```text
    ///  byte 0            8          12              20
    ///      | address 64 | R_Key 32 | swap / add 64 | compare 64 |
    /// ```
    AtomicEth, AtomicEthRepr, "AtomicETH", 28 bytes;
    /// Virtual address at the responder; a multiple of 8.
    va, set_va: u64 = 0..64;
    /// Remote key of the memory region.
    rkey, set_rkey: u32 = 64..96;
    /// The value to store (compare and swap) or to add (fetch and add).
    swap_add, set_swap_add: u64 = 96..160;
    /// The value that the memory must have for a swap to happen; fetch and add ignores it.
    compare, set_compare: u64 = 160..224;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, AtomicEth, AtomicEthRepr);

    #[test]
    fn as_ibta_9_3_4_draws_it() {
        let bytes = std::array::from_fn::<u8, 28, _>(|i| i as u8);
        let expected = AtomicEthRepr {
            va: 0x0001_0203_0405_0607,
            rkey: 0x0809_0A0B,
            swap_add: 0x0C0D_0E0F_1011_1213,
            compare: 0x1415_1617_1819_1A1B,
        };
        assert_eq!(
            AtomicEthRepr::parse(&AtomicEth::new_checked(bytes).unwrap()),
            expected
        );
    }
}
