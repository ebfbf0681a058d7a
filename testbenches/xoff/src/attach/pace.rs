//! Keeps simulated time at the pace of the clock on the wall.

use std::time::{Duration as Wall, Instant};

use xoff_sim::time::{Duration, Time};

use super::clock::{on_wall, simulated};

/// How far the simulation runs before it is looked again for frames.
pub(super) const SLICE: Duration = Duration::from_us(20);
/// How far simulated time may be behind and still catch up. What is more was too much for the simulation: time stood
/// still meanwhile, as far as it can tell.
const BEHIND: Duration = Duration::from_ms(5);
/// The shortest and the longest wait for a frame.
const SHORT: Wall = Wall::from_micros(50);
const LONG: Wall = Wall::from_millis(50);

/// The clock on the wall, as the simulation follows it.
pub(crate) struct Pace {
    /// Simulated seconds a second.
    pace: f64,
    last: Instant,
    /// Time that has passed on the wall and not in the simulation.
    owed: Duration,
}

impl Pace {
    /// A pace in simulated seconds a second on the wall.
    pub fn new(pace: f64) -> Self {
        Self {
            pace,
            last: Instant::now(),
            owed: Duration::ZERO,
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        self.owed += simulated((now - self.last).mul_f64(self.pace));
        self.last = now;
    }

    /// How long may be waited for a frame of the peer, in a simulation that is at `now` and does something next at
    /// `next`.
    pub fn pause(&self, now: Time, next: Option<Time>) -> Wall {
        let idle = next.map(|at| at.saturating_since(now));
        let idle = idle.map_or(LONG, |it| {
            on_wall(it.saturating_sub(self.owed)).div_f64(self.pace)
        });
        idle.clamp(SHORT, LONG)
    }

    /// Until when the simulation may go.
    pub fn until(&mut self, now: Time, next: Option<Time>) -> Time {
        self.look();
        let next = next.map_or(now + self.owed, |at| at.max(now));
        let until = (now + self.owed).min(next + SLICE);
        let left = self.owed.saturating_sub(until.saturating_since(now));
        self.owed = left.min(BEHIND);
        until
    }
}
