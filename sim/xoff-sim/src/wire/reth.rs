//! RDMA extended transport header.

header! {
    /// RDMA extended transport header, 16 bytes (IBTA volume 1 §9.3.3):
    ///
    /// ```text
    ///  byte 0              8          12
    ///      | address 64   | R_Key 32 | length 32 |
    /// ```
    Reth, RethRepr, "RETH", 16 bytes;
    /// Virtual address at the responder.
    va, set_va: u64 = 0..64;
    /// Remote key of the memory region.
    rkey, set_rkey: u32 = 64..96;
    /// Bytes that the whole message writes or reads, 0 … 2³¹.
    dma_len, set_dma_len: u32 = 96..128;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Reth, RethRepr);

    #[test]
    fn as_ibta_9_3_3_draws_it() {
        let bytes = [
            0, 0, 0x7F, 0x9D, 0x16, 0x82, 0x40, 0x00, 0, 0, 0x23, 0x2B, 0x80, 0, 0, 1,
        ];
        assert_eq!(
            RethRepr::parse(&Reth::new_checked(bytes).unwrap()),
            RethRepr {
                va: 0x7F9D_1682_4000,
                rkey: 0x232B,
                dma_len: 0x8000_0001
            }
        );
    }
}
