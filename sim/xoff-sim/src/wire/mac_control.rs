//! MAC control: priority pause (PFC) and PAUSE.

use bytes::Bytes;

use super::{EtherType, Ethernet, EthernetRepr, MIN_FRAME_BYTES, MacAddr};

/// MAC control opcode of PAUSE (IEEE 802.3 annex 31A).
pub const CONTROL_PAUSE: u16 = 0x0001;
/// MAC control opcode of priority-based flow control (IEEE 802.3 annex 31D, 802.1Q clause 36).
pub const CONTROL_PFC: u16 = 0x0101;

/// Number of priorities (IEEE 802.1Q §6.9.3).
pub const PRIORITIES: usize = 8;

/// The priorities of a set, one bit each, from the lowest on.
pub(crate) fn set_bits(mut set: u8) -> impl Iterator<Item = u8> + Clone {
    std::iter::from_fn(move || {
        let bit = (set != 0).then_some(set.trailing_zeros() as u8);
        set &= set.wrapping_sub(1);
        bit
    })
}

/// Number of bit times in a quantum: IEEE 802.3 annex 31B.2, `pause_quantum`.
pub const QUANTUM_BITS: u32 = 512;

header! {
    /// Priority-based flow control: the 20 bytes that follow EtherType 0x8808 (IEEE 802.3 annex 31D, first in
    /// 802.1Qbb):
    ///
    /// ```text
    ///  byte 0           2                 4           6                 18
    ///      | opcode 16 | class enable 16 | time 0 16 | time 1 16 | … | time 7 16 |
    ///                    rsv 8, e7 … e0
    /// ```
    Pfc, PfcRepr, "PFC", 20 bytes;
    /// Class-enable vector: bit c says that `timers[c]` applies. The high eight bits are reserved.
    class_enable, set_class_enable: u16 = 16..32;
    /// How long class c is to pause, in quanta of 512 bit times; 0 lets it send again.
    timers, set_timers: [u16; 8] = 32..160;
    @fixed
    /// 0x0101 ([`CONTROL_PFC`]).
    opcode, set_opcode: u16 = 0..16, always CONTROL_PFC;
}

header! {
    /// PAUSE: the 4 bytes that follow EtherType 0x8808 (IEEE 802.3 annex 31B, first in 802.3x):
    ///
    /// ```text
    ///  byte 0           2
    ///      | opcode 16 | time 16 |
    /// ```
    Pause, PauseRepr, "PAUSE", 4 bytes;
    /// How long to pause, in quanta of 512 bit times; 0 lets all classes send again.
    timer, set_timer: u16 = 16..32;
    @fixed
    /// 0x0001 ([`CONTROL_PAUSE`]).
    opcode, set_opcode: u16 = 0..16, always CONTROL_PAUSE;
}

/// A MAC control frame to the reserved address 01-80-C2-00-00-01 (IEEE 802.3 annex 31A), padded to 60 bytes, without
/// FCS. `emit` writes what follows the EtherType.
pub fn control_frame(src: MacAddr, emit: impl FnOnce(&mut [u8])) -> Bytes {
    let mut bytes = vec![0; MIN_FRAME_BYTES];
    let (eth, control) = bytes.split_at_mut(EthernetRepr::LEN);
    EthernetRepr {
        dst: MacAddr::CONTROL,
        src,
        ether_type: EtherType::MAC_CONTROL,
    }
    .emit(&mut Ethernet::new_unchecked(eth));
    emit(control);
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    round_trip!(pfc_round_trip, Pfc, PfcRepr);
    round_trip!(pause_round_trip, Pause, PauseRepr);

    #[test]
    fn pfc_as_802_1qbb_draws_it() {
        let bytes = [
            0x01, 0x01, 0x00, 0x09, // opcode; classes 3 and 0
            0xFF, 0xFF, 0, 0, 0, 0, 0x12, 0x34, // times 0 to 3
            0, 0, 0, 0, 0, 0, 0, 7, // times 4 to 7
        ];
        let view = Pfc::new_checked(bytes).unwrap();
        assert_eq!(view.opcode(), CONTROL_PFC);
        assert_eq!(
            PfcRepr::parse(&view),
            PfcRepr {
                class_enable: 1 << 3 | 1,
                timers: [0xFFFF, 0, 0, 0x1234, 0, 0, 0, 7]
            }
        );
    }

    #[test]
    fn pause_as_802_3x_draws_it() {
        let view = Pause::new_checked([0x00, 0x01, 0xFF, 0xFE]).unwrap();
        assert_eq!(view.opcode(), CONTROL_PAUSE);
        assert_eq!(PauseRepr::parse(&view), PauseRepr { timer: 0xFFFE });
    }
}
