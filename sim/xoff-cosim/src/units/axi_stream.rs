//! AXI4-Stream beats: `tdata` with the first byte in lane 0 (bits 7 to 0), `tkeep` with one bit per lane.

use super::beat::LEFT_OVER;

/// A data port made of whole bytes, with lane 0 in the least significant bits.
pub trait Lanes {
    /// Bytes of the port, 1 to 128.
    const LANES: usize;
    /// The byte of a lane.
    fn lane(&self, lane: usize) -> u8;
    /// Sets the byte of a lane.
    fn set_lane(&mut self, lane: usize, byte: u8);
}

macro_rules! word_lanes {
    ($($word:ty),*) => {$(
        impl Lanes for $word {
            const LANES: usize = size_of::<$word>();
            fn lane(&self, lane: usize) -> u8 {
                self.to_le_bytes()[lane]
            }
            fn set_lane(&mut self, lane: usize, byte: u8) {
                let mut bytes = self.to_le_bytes();
                bytes[lane] = byte;
                *self = Self::from_le_bytes(bytes);
            }
        }
    )*};
}
word_lanes!(u8, u16, u32, u64);

impl<const WORDS: usize> Lanes for [u32; WORDS] {
    const LANES: usize = 4 * WORDS;
    fn lane(&self, lane: usize) -> u8 {
        self[lane / 4].lane(lane % 4)
    }
    fn set_lane(&mut self, lane: usize, byte: u8) {
        self[lane / 4].set_lane(lane % 4, byte);
    }
}

/// Puts a beat on `tdata` and returns its `tkeep`. Lanes without a byte are set to [`LEFT_OVER`].
///
/// # Panics
///
/// If there are more bytes than lanes.
pub fn put<L: Lanes>(tdata: &mut L, bytes: &[u8]) -> u128 {
    assert!(bytes.len() <= L::LANES);
    for lane in 0..L::LANES {
        tdata.set_lane(lane, bytes.get(lane).copied().unwrap_or(LEFT_OVER));
    }
    keep(bytes.len())
}

/// The bytes of a beat.
///
/// # Errors
///
/// `tkeep` has a hole, has no lane set, or has fewer than all lanes set in a beat that is not the last.
pub fn take<L: Lanes>(tdata: &L, tkeep: u128, tlast: bool) -> Result<Vec<u8>, String> {
    let count = tkeep.trailing_ones() as usize;
    if tkeep == 0 || count > L::LANES || tkeep != keep(count) {
        return Err(format!(
            "tkeep is {tkeep:#x}: 1 to {} ones from lane 0 on are right",
            L::LANES
        ));
    }
    if !tlast && count != L::LANES {
        return Err(format!(
            "tkeep is {tkeep:#x} in a beat that is not the last: all {} lanes are right",
            L::LANES
        ));
    }
    Ok((0..count).map(|lane| tdata.lane(lane)).collect())
}

const fn keep(bytes: usize) -> u128 {
    if bytes == 128 {
        u128::MAX
    } else {
        (1 << bytes) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways<L: Lanes>(mut tdata: L) {
        for count in 1..=L::LANES {
            let bytes: Vec<u8> = (1..=count as u8).collect();
            let tkeep = put(&mut tdata, &bytes);
            assert_eq!(tkeep.count_ones() as usize, count);
            assert_eq!(take(&tdata, tkeep, true).unwrap(), bytes);
            assert_eq!(take(&tdata, tkeep, false).is_ok(), count == L::LANES);
        }
    }

    #[test]
    fn every_width_both_ways() {
        both_ways(0u8);
        both_ways(0u16);
        both_ways(0u32);
        both_ways(0u64);
        both_ways([0u32; 4]);
        both_ways([0u32; 32]);
    }

    #[test]
    fn the_first_byte_is_in_lane_0() {
        let mut tdata = [0; 4];
        assert_eq!(put(&mut tdata, &[1, 2, 3, 4, 5]), 0x1F);
        assert_eq!(tdata[..2], [0x0403_0201, 0xA5A5_A505]);
    }

    #[test]
    fn lanes_with_holes_are_errors() {
        for tkeep in [0, 0b10, 0b1011, 1 << 64 | 0xFF] {
            assert!(take(&0u64, tkeep, true).unwrap_err().contains("tkeep is"));
        }
    }
}
