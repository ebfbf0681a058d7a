//! Clocks: instants and edges.

use serde::{Deserialize, Serialize};

use super::{Duration, Time};

/// A number of clock cycles; also the number of a clock edge, counted from 0 in simulated time. What a device takes for
/// the time, its `now_i`, is a [`Cycle`](crate::protocol::Cycle).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cycles(pub u64);

/// A clock whose edges are at phase, phase + period, phase + 2 periods …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clock {
    /// Time between two edges; at least 1 ps.
    pub period: Duration,
    /// Time of edge 0, less than one period. It is drawn from the seed for each NIC, so that ties favour none.
    pub phase: Duration,
}

impl Clock {
    /// 195.3125 MHz, at which 256 bits a cycle carry 40 Gb/s and a quarter more.
    pub const PERIOD_40G: Duration = Duration::from_ps(5_120);
    /// 312.5 MHz, at which 512 bits a cycle carry 100 Gb/s and more than half as much again.
    pub const PERIOD_100G: Duration = Duration::from_ps(3_200);

    /// Creates a clock. The phase is taken modulo the period. Panics when the period is zero.
    pub const fn new(period: Duration, phase: Duration) -> Self {
        Self {
            period,
            phase: Duration::from_ps(phase.as_ps() % period.as_ps()),
        }
    }

    /// The time of edge `cycle`.
    pub fn edge(&self, cycle: Cycles) -> Time {
        Time::ZERO + self.phase + self.period * cycle.0
    }

    /// The first edge at `time` or later.
    pub fn edge_from(&self, time: Time) -> Cycles {
        let since_phase = time.since_start().saturating_sub(self.phase);
        self.cycles_in(since_phase)
    }

    /// Number of edges before `time`, which are the edges that a window ending at `time` evaluates.
    pub fn edges_before(&self, time: Time) -> u64 {
        self.edge_from(time).0
    }

    /// The least number of cycles that lasts at least `duration`.
    pub const fn cycles_in(&self, duration: Duration) -> Cycles {
        Cycles(duration.as_ps().div_ceil(self.period.as_ps()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn edge_from_is_the_first_that_is_not_before(period in 1u64..10_000, phase: u32, time in 0u64..1 << 50) {
            let clock = Clock::new(Duration::from_ps(period), Duration::from_ps(phase.into()));
            let time = Time::from_ps(time);
            let edge = clock.edge_from(time);
            prop_assert!(clock.edge(edge) >= time);
            prop_assert!(edge.0 == 0 || clock.edge(Cycles(edge.0 - 1)) < time);
        }

        #[test]
        fn an_edge_is_its_own(period in 1u64..10_000, phase: u32, cycle in 0u64..1 << 40) {
            let clock = Clock::new(Duration::from_ps(period), Duration::from_ps(phase.into()));
            prop_assert_eq!(clock.edge_from(clock.edge(Cycles(cycle))), Cycles(cycle));
        }
    }
}
