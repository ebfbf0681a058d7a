//! ACK timeouts and RNR waits, in cycles of a device's clock. Times that are not a whole number of cycles are rounded
//! up.

use serde::{Deserialize, Serialize};

use crate::wire::RnrTimer;

/// The unit of the local ACK timeout, 4.096 µs, in picoseconds (IBTA volume 1 §9.7.6.1.3).
const TIMEOUT_UNIT_PS: u64 = 4_096_000;

/// Timeouts and waits at a clock period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Times {
    /// The clock period in picoseconds.
    pub period_ps: u64,
}

impl Times {
    /// The ACK timeout in cycles, 4.096 µs « `code`, for codes 1 to 31; `None` for code 0, which turns it off.
    pub const fn timeout(self, code: u8) -> Option<u64> {
        match code & 31 {
            0 => None,
            code => Some((TIMEOUT_UNIT_PS << code).div_ceil(self.period_ps)),
        }
    }

    /// How long an RNR NAK makes the requester wait, in cycles (IBTA volume 1 table 45).
    pub const fn rnr(self, timer: RnrTimer) -> u64 {
        let ps = timer.duration().as_nanos() as u64 * 1_000;
        ps.div_ceil(self.period_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_40G: Times = Times { period_ps: 5_120 };

    #[test]
    fn timeouts_double() {
        assert_eq!(AT_40G.timeout(0), None);
        assert_eq!(AT_40G.timeout(1), Some(1_600));
        assert_eq!(AT_40G.timeout(14), Some(800 << 14));
        // 2.4 hours.
        assert_eq!(AT_40G.timeout(31), Some(800 << 31));
        // 8,192,000 ps are 2,560 cycles of 3,200 ps, but not a whole number of 3,000 ps.
        assert_eq!(Times { period_ps: 3_200 }.timeout(1), Some(2_560));
        assert_eq!(Times { period_ps: 3_000 }.timeout(1), Some(2_731));
    }

    #[test]
    fn rnr_waits_are_table_45() {
        // In units of 10 µs.
        let table = [
            65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
            1_024, 1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768,
            49_152,
        ];
        for (code, units) in (0..).zip(table) {
            let timer = RnrTimer::from_code(code).unwrap();
            let cycles = (units * 10_000_000u64).div_ceil(5_120);
            assert_eq!(AT_40G.rnr(timer), cycles, "timer {code}");
        }
    }
}
