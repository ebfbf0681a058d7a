//! ECN marking at the congestion point.

use serde::{Deserialize, Serialize};

use crate::seeded::Draws;
use crate::time::{ByteCount, LineRate};

/// RED on the instantaneous egress queue (DCQCN, SIGCOMM 2015): no marks up to Kmin, then with a probability that
/// rises linearly to Pmax at Kmax, and every packet above that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedConfig {
    /// Queue length up to which nothing is marked. The paper: 5 KB.
    pub kmin: ByteCount,
    /// Queue length above which every packet is marked. The paper: 200 KB.
    pub kmax: ByteCount,
    /// Probability at Kmax in parts per million. The paper: 1 %, 10,000.
    pub pmax_ppm: u32,
    /// Whether packets that would be marked but are not ECN capable are dropped; otherwise they pass.
    #[serde(default)]
    pub drop_incapable: bool,
    /// The rate of a line that Kmin and Kmax are for: those of a faster one are higher by as much, as in HPCC (SIGCOMM
    /// 2019, section 5.1). Without it all lines have the same.
    #[serde(default)]
    pub line: Option<LineRate>,
}

/// Where a packet is judged by the length of its egress queue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MarkAt {
    /// When it joins the queue, by what waits before it, as the DCQCN paper's simulations do.
    #[default]
    Enqueue,
    /// When it leaves the queue, by what waits behind it, as switch ASICs do: the mark is younger by the time that
    /// the packet has waited.
    Dequeue,
}

impl RedConfig {
    /// The paper's parameters.
    pub const DCQCN: Self = Self {
        kmin: ByteCount::new(5_000),
        kmax: ByteCount::new(200_000),
        pmax_ppm: 10_000,
        drop_incapable: false,
        line: None,
    };

    /// The settings of a line of this rate.
    pub fn at(mut self, rate: LineRate) -> Self {
        if let Some(line) = self.line.take() {
            let [of, byte] = [line, rate].map(|rate| rate.byte_time().as_ps());
            if byte < of {
                let higher = |bytes: ByteCount| ByteCount::new(bytes.get() * of / byte);
                (self.kmin, self.kmax) = (higher(self.kmin), higher(self.kmax));
            }
        }
        self
    }

    /// The probability of a mark for a packet that finds `queue` bytes waiting, as numerator and denominator. The
    /// denominator is 1 where the outcome is certain: up to Kmin, and above Kmax.
    pub fn probability(&self, queue: u64) -> (u64, u64) {
        let (kmin, kmax) = (self.kmin.get(), self.kmax.get());
        if queue <= kmin {
            (0, 1)
        } else if queue > kmax {
            (1, 1)
        } else {
            let part = u64::from(self.pmax_ppm) * (queue - kmin);
            (part, 1_000_000 * (kmax - kmin))
        }
    }

    /// Whether to mark a packet that finds `queue` bytes waiting. Draws a random number only between the limits.
    pub fn marks(&self, queue: u64, draws: &mut Draws) -> bool {
        match self.probability(queue) {
            (part, 1) => part == 1,
            (part, whole) => draws.below(whole) < part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Seed;

    #[test]
    fn the_probability_rises_linearly_to_pmax() {
        // 1 % at 200 KB, none at 5 KB: 95 / 195 of it at 100 KB.
        for (queue, expected) in [
            (0, (0, 1)),
            (5_000, (0, 1)),
            (100_000, (10_000 * 95_000, 1_000_000 * 195_000)),
            (200_000, (10_000 * 195_000, 1_000_000 * 195_000)),
            (200_001, (1, 1)),
        ] {
            assert_eq!(RedConfig::DCQCN.probability(queue), expected, "{queue}");
        }
    }

    #[test]
    fn faster_lines_have_higher_thresholds() {
        let red = RedConfig {
            line: Some(LineRate::G40),
            ..RedConfig::DCQCN
        };
        for (rate, kmin, kmax) in [
            (LineRate::G10, 5_000, 200_000),
            (LineRate::G40, 5_000, 200_000),
            (LineRate::G100, 12_500, 500_000),
            (LineRate::G400, 50_000, 2_000_000),
        ] {
            let expected = RedConfig {
                kmin: ByteCount::new(kmin),
                kmax: ByteCount::new(kmax),
                ..RedConfig::DCQCN
            };
            assert_eq!(red.at(rate), expected);
            assert_eq!(RedConfig::DCQCN.at(rate), RedConfig::DCQCN);
        }
    }

    #[test]
    fn marks_as_often_as_the_line_says() {
        let red = RedConfig {
            kmin: ByteCount::new(10_000),
            kmax: ByteCount::new(50_000),
            pmax_ppm: 200_000,
            drop_incapable: false,
            line: None,
        };
        let mut draws = Seed(1).draws();
        let n = 20_000;
        for (queue, expected) in [
            (0, 0.0),
            (10_000, 0.0),
            (20_000, 0.05),
            (30_000, 0.1),
            (50_000, 0.2),
            (50_001, 1.0),
        ] {
            let marked = (0..n).filter(|_| red.marks(queue, &mut draws)).count() as f64;
            let deviation = (f64::from(n) * expected * (1.0 - expected)).sqrt();
            let off = marked - f64::from(n) * expected;
            assert!(off.abs() <= 4.0 * deviation, "{queue}: {marked}");
        }
    }
}
