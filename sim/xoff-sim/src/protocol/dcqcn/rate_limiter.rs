//! The rate limiter: when a QP's next packet may start.
//!
//! Whole cycles would be too coarse: at 40 Gb/s a byte lasts 1/25.6 of a cycle. The time of a byte and the schedule
//! therefore have 24 fraction bits. The schedule also continues from its previous value rather than from when a
//! packet started, because otherwise every delay would reduce the rate.

use serde::{Deserialize, Serialize};

use super::Rate;
use crate::protocol::Cycle;

/// Number of fraction bits of [`ByteGap`] and [`Moment`].
pub const FRACTION_BITS: u32 = 24;

/// The time that a byte takes, in units of 2⁻²⁴ cycles, 32 bits: at most 256 cycles, which at 5,120 ps is 6.1 Mb/s.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteGap(pub u32);

impl ByteGap {
    /// The gap of a rate, at a clock period in ps. It is rounded down and saturates at all ones. The gap of rate 0,
    /// which only a closed QP has, is 0: what a QP sends when it is opened again, before its first rate is in force,
    /// does not count.
    ///
    /// # Panics
    ///
    /// If the period is 0.
    #[must_use]
    pub fn of(rate: Rate, period_ps: u64) -> Self {
        assert!(period_ps > 0, "a clock without a period");
        // A byte at 1 kb/s lasts 8 ms.
        const PS_A_BYTE_AT_1_KBPS: u128 = 8_000_000_000;
        let divisor = u128::from(period_ps) * u128::from(rate.0);
        let gap = (PS_A_BYTE_AT_1_KBPS << FRACTION_BITS)
            .checked_div(divisor)
            .unwrap_or(0);
        Self(u32::try_from(gap).unwrap_or(u32::MAX))
    }
}

/// A point in time in units of 2⁻²⁴ cycles. It may be before cycle 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i128);

impl Moment {
    /// Before any cycle.
    pub const LONG_AGO: Self = Self(i128::MIN);

    /// The beginning of a cycle.
    #[must_use]
    pub fn of(cycle: Cycle) -> Self {
        Self(i128::from(cycle.0) << FRACTION_BITS)
    }

    /// The first cycle that does not begin before this moment.
    #[must_use]
    pub const fn cycle(self) -> Cycle {
        let whole = self.0 >> FRACTION_BITS;
        let part = self.0 & ((1 << FRACTION_BITS) - 1) != 0;
        match whole < 0 {
            true => Cycle(0),
            false => Cycle(whole as u64 + part as u64),
        }
    }
}

/// The state of a rate limiter for one QP. The default is the state after reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LimiterContext {
    /// Whether the schedule applies. If not, the QP may always send.
    pub limited: bool,
    /// The time that a byte takes.
    pub gap: ByteGap,
    /// When the next packet may start.
    pub next: Moment,
}

impl Default for LimiterContext {
    fn default() -> Self {
        Self {
            limited: false,
            gap: ByteGap::default(),
            next: Moment::LONG_AGO,
        }
    }
}

impl LimiterContext {
    /// Changes the rate.
    #[must_use]
    pub fn update(&self, rate: Rate, limited: bool, period_ps: u64) -> Self {
        Self {
            limited,
            gap: ByteGap::of(rate, period_ps),
            ..*self
        }
    }

    /// Notes that a packet with this many bytes, as they count on the wire, started at `now`.
    ///
    /// Time that the QP left unused may be caught up, but only the last `burst` cycles of it.
    #[must_use]
    pub fn sent(&self, bytes: u16, now: Cycle, burst: u16) -> Self {
        let earliest = Moment::of(now).0 - (i128::from(burst) << FRACTION_BITS);
        let length = i128::from(bytes) * i128::from(self.gap.0);
        Self {
            next: Moment(self.next.0.max(earliest) + length),
            ..*self
        }
    }

    /// The cycle from which on the QP may start a packet.
    #[must_use]
    pub fn eligible_from(&self) -> Cycle {
        match self.limited {
            true => self.next.cycle(),
            false => Cycle(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_PS: u64 = 5_120;

    #[test]
    fn gaps_of_rates() {
        // 40 Gb/s: 200 ps a byte, 1/25.6 of a cycle.
        assert_eq!(ByteGap::of(Rate::mbps(40_000), PERIOD_PS), ByteGap(655_360));
        // 10 Mb/s: 800 ns a byte, 156.25 cycles.
        assert_eq!(
            ByteGap::of(Rate::mbps(10), PERIOD_PS),
            ByteGap(156 * (1 << 24) + (1 << 22))
        );
        assert_eq!(ByteGap::of(Rate(0), PERIOD_PS), ByteGap(0));
        assert_eq!(
            ByteGap::of(Rate(6_103), PERIOD_PS),
            ByteGap(u32::MAX),
            "over 256 cycles"
        );
        assert!(ByteGap::of(Rate(6_104), PERIOD_PS) < ByteGap(u32::MAX));
        assert_eq!(ByteGap::of(Rate(u32::MAX), PERIOD_PS), ByteGap(6_103));
    }

    fn at(mbps: u32) -> LimiterContext {
        LimiterContext::default().update(Rate::mbps(mbps), true, PERIOD_PS)
    }

    #[test]
    fn a_free_qp_may_always_send() {
        let free = at(10).update(Rate::mbps(10), false, PERIOD_PS);
        let sent = free.sent(9_038, Cycle(1_000), 0);
        assert_eq!(sent.eligible_from(), Cycle(0));
        assert!(
            sent.next > Moment::of(Cycle(1_000)),
            "and keeps its schedule"
        );
    }

    #[test]
    fn a_packet_holds_the_next_one_off_for_its_time() {
        // 1,106 bytes at 1 Gb/s: 8 ns a byte, 1,728.125 cycles.
        let sent = at(1_000).sent(1_106, Cycle(500), 0);
        assert_eq!(sent.next, Moment((500 << 24) + (1_728 << 24) + (1 << 21)));
        assert_eq!(sent.eligible_from(), Cycle(2_229), "rounded up");
    }

    #[test]
    fn lateness_up_to_the_burst_costs_no_rate() {
        let sent = at(1_000).sent(1_106, Cycle(500), 0);
        let due = sent.next;
        let next_after = |late: u64, burst| sent.sent(1_106, Cycle(2_229 + late), burst).next;
        let on_time = Moment(due.0 + (1_728 << 24) + (1 << 21));
        assert_eq!(next_after(100, 128), on_time);
        assert_eq!(
            next_after(200, 128).0,
            ((2_229 + 200 - 128 + 1_728) << 24) + (1 << 21),
            "what is over the burst is lost"
        );
    }

    #[test]
    fn a_packet_before_its_time_is_a_debt() {
        let once = at(1_000).sent(1_106, Cycle(500), 0);
        let twice = once.sent(1_106, Cycle(501), 0);
        assert_eq!(twice.next.0 - once.next.0, (1_728 << 24) + (1 << 21));
    }

    #[test]
    fn a_burst_may_reach_before_the_first_cycle() {
        let early = at(1).sent(0, Cycle(3), 5);
        assert_eq!(
            (early.next, early.eligible_from()),
            (Moment(-2 << 24), Cycle(0))
        );
    }
}
