//! The bus between NIC and host.

use serde::{Deserialize, Serialize};

use crate::time::{Clock, Cycles, Duration, Rate};

/// Settings of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieConfig {
    /// Latency of one direction: a doorbell, a completion, or half of a read.
    pub latency: Duration,
    /// Payload rate of each direction, [`LEAST_RATE`](Self::LEAST_RATE) or more; `None`: as fast as the NIC's streams.
    pub rate: Option<Rate>,
}

impl Default for PcieConfig {
    /// 250 ns for each direction, and Gen3 ×8: 64 Gb/s (SIGCOMM 2016, section 4.4).
    fn default() -> Self {
        Self {
            latency: Duration::from_ns(250),
            rate: Some(Rate::from_gbps(64)),
        }
    }
}

impl PcieConfig {
    /// Slower buses count as one of this rate.
    pub const LEAST_RATE: Rate = Rate::from_bits_per_second(2_000_000);

    /// How many units of 256 bytes have to be on their way so that reads keep the bus busy: those of a round trip, and
    /// one that is not complete. 0 for a bus without a limit, or of more than 511 units.
    pub fn read_ahead(&self) -> u16 {
        let Some(rate) = self.rate else { return 0 };
        let bits = u128::from(rate.as_bits_per_second()) * 2 * u128::from(self.latency.as_ps())
            / 1_000_000_000_000;
        let units = bits.div_ceil(8 * 256) + 1;
        u16::try_from(units)
            .ok()
            .filter(|units| *units < 512)
            .unwrap_or(0)
    }
}

/// The bus, in cycles of the NIC. Reads are answered in order, and each direction has its own bandwidth. How long it is
/// taken is counted in picoseconds, so that what a beat takes of a cycle is neither lost nor given away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    latency: Cycles,
    /// Picoseconds for a KiB of payload; 0: no limit.
    ps_per_kib: u64,
    period_ps: u64,
    /// When the direction of reads is free, in picoseconds since cycle 0.
    read_free_ps: u64,
    /// When the direction of writes is free.
    write_free_ps: u64,
}

impl Pcie {
    /// Creates a bus with nothing in progress.
    pub fn new(config: &PcieConfig, clock: &Clock) -> Self {
        let kib_ps = |rate: Rate| {
            let rate = rate.max(PcieConfig::LEAST_RATE).as_bits_per_second();
            (1024 * 8 * 1_000_000_000_000u64).div_ceil(rate)
        };
        Self {
            latency: clock.cycles_in(config.latency),
            ps_per_kib: config.rate.map_or(0, kib_ps),
            period_ps: clock.period.as_ps(),
            read_free_ps: 0,
            write_free_ps: 0,
        }
    }

    /// Latency of one direction, rounded up to cycles.
    pub const fn latency(&self) -> Cycles {
        self.latency
    }

    /// Picoseconds for which `bytes` occupy a direction, at least `beats` cycles.
    fn occupied_ps(&self, bytes: usize, beats: u64) -> u64 {
        (bytes as u64 * self.ps_per_kib / 1024).max(beats * self.period_ps)
    }

    /// Takes a read that the NIC requests at `now`. Returns the cycle of its first beat; the others follow, one a
    /// cycle.
    pub fn read(&mut self, now: Cycles, bytes: usize, beats: u64) -> Cycles {
        let answered = (now.0 + 2 * self.latency.0).max(now.0 + 1);
        let first_ps = self.read_free_ps.max(answered * self.period_ps);
        self.read_free_ps = first_ps + self.occupied_ps(bytes, beats);
        Cycles(first_ps.div_ceil(self.period_ps))
    }

    /// Whether a beat of a write is accepted at `now`.
    pub fn takes_write(&self, now: Cycles) -> bool {
        self.write_free() <= now
    }

    /// The earliest cycle in which the next beat is accepted: the one in whose course the bus is free again, so that no
    /// beat waits for a fraction of a cycle.
    pub const fn write_free(&self) -> Cycles {
        Cycles(self.write_free_ps / self.period_ps)
    }

    /// Accepts no write before this cycle.
    pub fn hold_writes(&mut self, until: Cycles) {
        self.write_free_ps = self.write_free_ps.max(until.0 * self.period_ps);
    }

    /// Notes that a beat, or a piece of `beats` beats, was accepted at `now`.
    pub fn written(&mut self, now: Cycles, bytes: usize, beats: u64) {
        let from = self.write_free_ps.max(now.0 * self.period_ps);
        self.write_free_ps = from + self.occupied_ps(bytes, beats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus(latency_ns: u64, rate: Option<Rate>) -> Pcie {
        let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
        let latency = Duration::from_ns(latency_ns);
        Pcie::new(&PcieConfig { latency, rate }, &clock)
    }

    #[test]
    fn reads_come_after_both_ways_and_one_behind_the_other() {
        // 512 ns are 100 cycles.
        let mut bus = bus(512, None);
        assert_eq!(bus.read(Cycles(10), 1024, 32), Cycles(210));
        assert_eq!(bus.read(Cycles(11), 64, 2), Cycles(242));
        assert_eq!(bus.read(Cycles(100), 64, 2), Cycles(300));
    }

    #[test]
    fn a_round_trip_of_units_keeps_the_bus_busy() {
        // 500 ns at 64 Gb/s are 4,000 bytes.
        assert_eq!(PcieConfig::default().read_ahead(), 17);
        let config = |latency_ns, rate| PcieConfig {
            latency: Duration::from_ns(latency_ns),
            rate,
        };
        assert_eq!(config(0, Some(Rate::from_gbps(64))).read_ahead(), 1);
        assert_eq!(config(250, None).read_ahead(), 0);
        // 163,840 bytes are 640 units.
        assert_eq!(config(10_240, Some(Rate::from_gbps(64))).read_ahead(), 0);
    }

    #[test]
    fn bandwidth_spaces_reads() {
        // 25.6 Gb/s: 1,024 bytes take 320 ns, 62.5 cycles.
        let mut bus = bus(0, Some(Rate::from_bits_per_second(25_600_000_000)));
        assert_eq!(bus.read(Cycles(0), 1024, 32), Cycles(1));
        assert_eq!(bus.read(Cycles(0), 1024, 32), Cycles(64));
    }

    #[test]
    fn writes_wait_for_the_bus() {
        let mut bus = bus(0, Some(Rate::from_gbps(10)));
        assert!(bus.takes_write(Cycles(5)));
        // 32 bytes at 10 Gb/s: 25.6 ns, 5 cycles.
        bus.written(Cycles(5), 32, 1);
        assert!(!bus.takes_write(Cycles(9)));
        assert!(bus.takes_write(Cycles(10)));
    }

    /// A beat of 32 bytes takes two and a half cycles at 20 Gb/s, and so does a read of as many.
    #[test]
    fn fractions_of_cycles_add_up() {
        let mut bus = bus(0, Some(Rate::from_gbps(20)));
        let taken: Vec<u64> = (0..21)
            .filter(|cycle| {
                let takes = bus.takes_write(Cycles(*cycle));
                if takes {
                    bus.written(Cycles(*cycle), 32, 1);
                }
                takes
            })
            .collect();
        assert_eq!(taken, [0, 2, 5, 7, 10, 12, 15, 17, 20]);
        let read: Vec<u64> = (0..5).map(|_| bus.read(Cycles(0), 32, 1).0).collect();
        assert_eq!(read, [1, 4, 6, 9, 11]);
    }
}
