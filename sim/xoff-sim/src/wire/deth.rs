//! Datagram extended transport header.

use super::Qpn;

header! {
    /// Datagram extended transport header, 8 bytes (IBTA volume 1 §9.3.2):
    ///
    /// ```text
    ///  byte 0          4       5
    ///      | Q_Key 32 | rsv 8 | SrcQP 24 |
    /// ```
    Deth, DethRepr, "DETH", 8 bytes;
    /// Queue key; must equal the receiving QP's.
    qkey, set_qkey: u32 = 0..32;
    /// The QP that sent the datagram.
    src_qp, set_src_qp: Qpn = 40..64;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Deth, DethRepr);

    #[test]
    fn as_ibta_9_3_2_draws_it() {
        let view = Deth::new_checked([0x11, 0x11, 0x11, 0x12, 0xEE, 0x00, 0x00, 0x42]).unwrap();
        assert_eq!(
            DethRepr::parse(&view),
            DethRepr {
                qkey: 0x1111_1112,
                src_qp: Qpn::new(0x42).unwrap()
            }
        );
    }
}
