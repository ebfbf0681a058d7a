//! PSNs without their wrap: the number of a packet, counted from the first one of its direction.

/// How many PSNs there are.
const PSNS: i64 = 1 << 24;

/// The number of the packet with this PSN that is nearest to the packet `near`, where number 0 has the PSN `first`.
/// It is negative when the packet is before the first one.
pub fn number(first: u32, psn: u32, near: u64) -> i64 {
    let near = near as i64;
    let ahead = (i64::from(psn) - i64::from(first) - near).rem_euclid(PSNS);
    near + if ahead >= PSNS / 2 {
        ahead - PSNS
    } else {
        ahead
    }
}

/// A count as 24 bits carry it.
pub fn wrapped(count: u64) -> u32 {
    (count % PSNS as u64) as u32
}

/// The time that an RNR NAK with these five bits asks for, in picoseconds (table 45).
pub fn rnr_wait(code: u8) -> u64 {
    /// In units of 10 us.
    const TENS: [u64; 32] = [
        65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024,
        1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
    ];
    TENS[usize::from(code & 31)] * 10_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_over_the_wrap() {
        assert_eq!(number(0xFF_FFFE, 0xFF_FFFE, 0), 0);
        assert_eq!(number(0xFF_FFFE, 3, 4), 5);
        assert_eq!(number(0xFF_FFFE, 0xFF_FFFD, 0), -1);
        assert_eq!(number(5, 4, 1 << 24), (1 << 24) - 1);
        assert_eq!(wrapped((1 << 24) + 7), 7);
    }

    #[test]
    fn rnr_times_are_those_of_the_table() {
        assert_eq!(rnr_wait(0), 655_360_000_000);
        assert_eq!(rnr_wait(1), 10_000_000);
        assert_eq!(rnr_wait(14), 1_280_000_000);
        assert_eq!(rnr_wait(31), 491_520_000_000);
    }
}
