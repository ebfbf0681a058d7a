//! Swift (SIGCOMM 2020), reduced to what a NIC sees: a window that follows the round trip.
//!
//! Delay below a target raises the window by `ai` packets a round trip; above it cuts the window, once a round trip, by
//! `beta` of the part of the delay that is too much and at most by `max_mdf`. A window below one packet becomes a rate.
//! The target grows as the window shrinks, so that many flows find a common queue (flow-based scaling).

use serde::{Deserialize, Serialize};
use xoff_sim::nic::congestion::{Acknowledged, Congestion, CongestionSetup, Pace, Rate};
use xoff_sim::time::Cycles;

/// Timeouts in a row from which on the window is the least one.
const RESET_AFTER: u32 = 5;

/// A QP's state. Times are in cycles of the NIC, the window in packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swift {
    target: f64,
    scaling: Scaling,
    ai: f64,
    beta: f64,
    max_mdf: f64,
    least: f64,
    most: f64,
    /// Bytes of a full packet on the wire, and picoseconds of a cycle.
    packet: f64,
    period_ps: f64,
    window: f64,
    round_trip: f64,
    last_cut: Option<u64>,
    timeouts: u32,
}

/// By how much the target grows: `range` at the least window, nothing at the largest, in between with 1/√window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Scaling {
    range: f64,
    alpha: f64,
    beta: f64,
}

impl Scaling {
    fn new(range: f64, least: f64, most: f64) -> Self {
        let alpha = range / (1.0 / least.sqrt() - 1.0 / most.sqrt());
        Self {
            range,
            alpha,
            beta: -alpha / most.sqrt(),
        }
    }

    fn at(&self, window: f64) -> f64 {
        (self.alpha / window.sqrt() + self.beta).clamp(0.0, self.range)
    }
}

impl Swift {
    /// The delay that is aimed at, in cycles.
    fn aim(&self) -> f64 {
        self.target + self.scaling.at(self.window)
    }

    fn may_cut(&self, now: u64) -> bool {
        self.last_cut
            .is_none_or(|cut| (now - cut) as f64 >= self.round_trip)
    }

    fn cut(&mut self, to: f64, now: u64) {
        if self.may_cut(now) {
            self.window = to.clamp(self.least, self.most);
            self.last_cut = Some(now);
        }
    }
}

impl Congestion for Swift {
    const PARAMETERS: &'static [&'static str] = &["target_us", "range_us", "ai", "beta", "max_mdf"];

    fn open(setup: &CongestionSetup<'_>) -> Result<Self, String> {
        let value = |name: &str, default: f64, most: f64| {
            let value = setup.parameter(name, default);
            match value > 0.0 && value <= most {
                true => Ok(value),
                false => Err(format!("{name} = {value}: above 0 to {most}")),
            }
        };
        let period_ps = setup.clock.period.as_ps() as f64;
        let cycles = |us: f64| us * 1e6 / period_ps;
        let (least, most) = (0.01, 256.0);
        Ok(Self {
            target: cycles(value("target_us", 12.0, 1e6)?),
            scaling: Scaling::new(cycles(value("range_us", 20.0, 1e6)?), 0.1, 100.0),
            ai: value("ai", 1.0, 100.0)?,
            beta: value("beta", 0.8, 1.0)?,
            max_mdf: value("max_mdf", 0.5, 0.99)?,
            least,
            most,
            packet: f64::from(setup.mtu + 82),
            period_ps,
            window: most,
            round_trip: cycles(value("target_us", 12.0, 1e6)?),
            last_cut: None,
            timeouts: 0,
        })
    }

    fn pace(&self) -> Pace {
        if self.window >= 1.0 {
            return Pace {
                rate: None,
                window: Some(self.window as u32),
            };
        }
        // Bytes in a round trip, as kilobits a second.
        let seconds = self.round_trip * self.period_ps / 1e12;
        Pace {
            rate: Some(Rate((self.window * self.packet * 8e-3 / seconds) as u32)),
            window: Some(1),
        }
    }

    fn round_trip(&mut self, time: Cycles, now: Cycles) {
        self.round_trip = time.0 as f64;
        let over = self.round_trip - self.aim();
        if over > 0.0 {
            let part = (self.beta * over / self.round_trip).min(self.max_mdf);
            self.cut(self.window * (1.0 - part), now.0);
        }
    }

    fn acknowledged(&mut self, ack: &Acknowledged, now: Cycles) {
        if ack.lost {
            return self.cut(self.window * (1.0 - self.max_mdf), now.0);
        }
        self.timeouts = 0;
        if self.round_trip < self.aim() {
            let packets = f64::from(ack.packets);
            let more = match self.window >= 1.0 {
                true => self.ai / self.window * packets,
                false => self.ai * packets,
            };
            self.window = (self.window + more).min(self.most);
        }
    }

    fn timed_out(&mut self, now: Cycles) {
        self.timeouts += 1;
        match self.timeouts >= RESET_AFTER {
            true => self.window = self.least,
            false => self.cut(self.window * (1.0 - self.max_mdf), now.0),
        }
    }
}
