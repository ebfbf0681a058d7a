//! The Ethernet header.

use super::{EtherType, MacAddr};

/// Shortest frame without FCS: 64 bytes less 4 (IEEE 802.3 §4.4.2, minFrameSize).
pub const MIN_FRAME_BYTES: usize = 60;

header! {
    /// The Ethernet header, 14 bytes (IEEE 802.3 §3.1.1), without preamble:
    ///
    /// ```text
    ///  byte 0          6          12
    ///      | dst 48   | src 48   | EtherType 16 |
    /// ```
    Ethernet, EthernetRepr, "Ethernet", 14 bytes;
    /// Destination address.
    dst, set_dst: MacAddr = 0..48;
    /// Source address.
    src, set_src: MacAddr = 48..96;
    /// What comes next: an EtherType, or the TPID of a tag.
    ether_type, set_ether_type: EtherType = 96..112;
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(round_trip, Ethernet, EthernetRepr);

    #[test]
    fn as_802_3_draws_it() {
        let bytes = [0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 0x86, 0xDD];
        let repr = EthernetRepr::parse(&Ethernet::new_checked(bytes).unwrap());
        assert_eq!(
            repr,
            EthernetRepr {
                dst: MacAddr([0x52, 0x54, 0, 0, 0, 2]),
                src: MacAddr([0x52, 0x54, 0, 0, 0, 1]),
                ether_type: EtherType::IPV6
            }
        );
    }
}
