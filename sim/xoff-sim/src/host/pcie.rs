//! The bus between NIC and host.

use serde::{Deserialize, Serialize};

use crate::time::{Clock, Cycles, Duration, Rate};

/// Settings of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieConfig {
    /// Latency of one direction: a doorbell, a completion, or half of a read.
    pub latency: Duration,
    /// Payload rate of each direction; `None`: as fast as the NIC's streams.
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

/// The bus, in cycles of the NIC. Reads are answered in order, and each direction has its own bandwidth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    latency: Cycles,
    /// Picoseconds for a KiB of payload; 0: no limit.
    ps_per_kib: u64,
    period_ps: u64,
    /// Earliest cycle of the next read's data.
    read_free: Cycles,
    /// Earliest cycle of the next beat of a write.
    write_free: Cycles,
}

impl Pcie {
    /// Creates a bus with nothing in progress.
    pub fn new(config: &PcieConfig, clock: &Clock) -> Self {
        let kib_ps = |rate: Rate| {
            (1024 * 8 * 1_000_000_000_000u128)
                .div_ceil(u128::from(rate.as_bits_per_second().max(1)))
        };
        Self {
            latency: clock.cycles_in(config.latency),
            ps_per_kib: config.rate.map_or(0, |rate| {
                kib_ps(rate).min(u128::from(u64::MAX >> 32)) as u64
            }),
            period_ps: clock.period.as_ps(),
            read_free: Cycles(0),
            write_free: Cycles(0),
        }
    }

    /// Latency of one direction, rounded up to cycles.
    pub const fn latency(&self) -> Cycles {
        self.latency
    }

    /// Cycles for which `bytes` occupy a direction, at least `beats`.
    fn occupied(&self, bytes: usize, beats: u64) -> u64 {
        let ps = bytes as u64 * self.ps_per_kib / 1024;
        ps.div_ceil(self.period_ps).max(beats)
    }

    /// Takes a read that the NIC requests at `now`. Returns the cycle of its first beat; the others follow, one a
    /// cycle.
    pub fn read(&mut self, now: Cycles, bytes: usize, beats: u64) -> Cycles {
        let first = Cycles(
            (now.0 + 2 * self.latency.0)
                .max(self.read_free.0)
                .max(now.0 + 1),
        );
        self.read_free = Cycles(first.0 + self.occupied(bytes, beats));
        first
    }

    /// Whether a beat of a write is accepted at `now`.
    pub fn takes_write(&self, now: Cycles) -> bool {
        self.write_free <= now
    }

    /// The earliest cycle in which the next beat is accepted.
    pub const fn write_free(&self) -> Cycles {
        self.write_free
    }

    /// Accepts no write before this cycle.
    pub fn hold_writes(&mut self, until: Cycles) {
        self.write_free = self.write_free.max(until);
    }

    /// Notes that a beat, or a piece of `beats` beats, was accepted at `now`.
    pub fn written(&mut self, now: Cycles, bytes: usize, beats: u64) {
        // Rounded down, so that no beat waits for a fraction of a cycle: 64 Gb/s is more than the rate of beats at 40
        // Gb/s.
        let ps = bytes as u64 * self.ps_per_kib / 1024;
        let cycles = (ps / self.period_ps).max(beats);
        self.write_free = Cycles(self.write_free.0.max(now.0) + cycles);
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
}
