//! `epb_flags` of pcapng: the direction of a frame and its errors (draft-ietf-opsawg-pcapng, "Enhanced Packet Block
//! Flags Word").

use super::Direction;

/// Bits 0 and 1: the direction.
const DIRECTION_MASK: u32 = 0b11;
const INBOUND: u32 = 0b01;
const OUTBOUND: u32 = 0b10;
/// Bit 24: the FCS is wrong.
pub(super) const CRC_ERROR: u32 = 1 << 24;

/// Returns the bits for a direction.
pub(super) const fn of_direction(direction: Direction) -> u32 {
    match direction {
        Direction::Received => INBOUND,
        Direction::Sent => OUTBOUND,
    }
}

/// Returns the direction that the bits state, if any.
pub(super) const fn direction(flags: u32) -> Option<Direction> {
    match flags & DIRECTION_MASK {
        INBOUND => Some(Direction::Received),
        OUTBOUND => Some(Direction::Sent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values agree with tshark 4.0.17: `frame.packet_flags_direction` and `frame.packet_flags_crc_error`. A
    /// round trip alone would not detect swapped bits.
    #[test]
    fn bits_are_where_wireshark_looks() {
        assert_eq!(of_direction(Direction::Received), 1);
        assert_eq!(of_direction(Direction::Sent), 2);
        assert_eq!(CRC_ERROR, 0x0100_0000);
        assert_eq!(direction(0xffff_fffc), None);
    }
}
