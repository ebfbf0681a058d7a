//! How full the fullest queues were over time, for whoever draws them: bytes at the ends of intervals say nothing of what
//! was between them.

use serde::{Deserialize, Serialize};

use super::buffer::SharedBuffer;
use crate::kernel::PortId;
use crate::time::{Duration, Time};
use crate::wire::PRIORITIES;

/// The fills of an interval, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// The least.
    pub least: u64,
    /// The mean over time.
    pub mean: f64,
    /// The greatest.
    pub greatest: u64,
}

/// The greatest of some fills over time. A fill that lasts no time, such as that of a frame which leaves at the instant
/// at which it came, does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fullest {
    fills: Vec<u64>,
    /// One of the places with the greatest fill, and that fill since `since`.
    at: usize,
    top: u64,
    since: Time,
    /// The start of the interval; least and greatest of it until `since`, and the sum of bytes times picoseconds.
    from: Time,
    least: u64,
    greatest: u64,
    area: u128,
}

impl Fullest {
    fn new(now: Time, fills: Vec<u64>) -> Self {
        let top = fills.iter().copied().max().unwrap_or(0);
        Self {
            at: fills.iter().position(|fill| *fill == top).unwrap_or(0),
            fills,
            top,
            since: now,
            from: now,
            least: u64::MAX,
            greatest: 0,
            area: 0,
        }
    }

    fn grow(&mut self, now: Time, place: usize, bytes: u64) {
        self.fills[place] += bytes;
        let fill = self.fills[place];
        if fill > self.top {
            self.pass(now);
            (self.at, self.top) = (place, fill);
        }
    }

    fn shrink(&mut self, now: Time, place: usize, bytes: u64) {
        self.fills[place] -= bytes;
        if place == self.at {
            self.pass(now);
            let most = self.fills.iter().copied().enumerate();
            let most = most.max_by_key(|(_, fill)| *fill);
            (self.at, self.top) = most.expect("the place is one of them");
        }
    }

    /// Counts the greatest fill for the time until `now`.
    fn pass(&mut self, now: Time) {
        let time = now.saturating_since(self.since);
        if time > Duration::ZERO {
            self.least = self.least.min(self.top);
            self.greatest = self.greatest.max(self.top);
            self.area += u128::from(self.top) * u128::from(time.as_ps());
            self.since = now;
        }
    }

    /// The level of the interval that ends at `now`. Begins the next.
    fn take(&mut self, now: Time) -> Level {
        self.pass(now);
        let time = now.saturating_since(self.from).as_ps();
        let level = match time {
            0 => Level {
                least: self.top,
                mean: self.top as f64,
                greatest: self.top,
            },
            _ => Level {
                least: self.least,
                mean: self.area as f64 / time as f64,
                greatest: self.greatest,
            },
        };
        (self.from, self.least, self.greatest, self.area) = (now, u64::MAX, 0, 0);
        level
    }
}

/// How full the fullest port and the fullest lossless ingress queue of a switch were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Levels {
    /// Bytes that wait in the egress queues of each port.
    egress: Fullest,
    /// Bytes in each lossless ingress queue.
    ingress: Fullest,
    /// The place of each lossless priority among those of a port.
    place: [Option<usize>; PRIORITIES],
    lossless: usize,
}

impl Levels {
    /// Begins an interval, with the bytes that wait at each port.
    pub(super) fn new(now: Time, waiting: Vec<u64>, buffer: &SharedBuffer) -> Self {
        let lossless: Vec<u8> = (0..PRIORITIES as u8)
            .filter(|priority| buffer.lossless(*priority))
            .collect();
        let place = |priority| lossless.iter().position(|&of| usize::from(of) == priority);
        let ports = (0..waiting.len() as u16).map(PortId);
        let held = ports.flat_map(|port| lossless.iter().map(move |of| (port, *of)));
        let held = held.map(|(port, priority)| buffer.queue(port, priority).bytes());
        Self {
            ingress: Fullest::new(now, held.collect()),
            egress: Fullest::new(now, waiting),
            place: std::array::from_fn(place),
            lossless: lossless.len(),
        }
    }

    /// Bytes that joined the egress queues of a port.
    pub(super) fn queued(&mut self, now: Time, port: PortId, bytes: u64) {
        self.egress.grow(now, usize::from(port.0), bytes);
    }

    /// Bytes that left the egress queues of a port.
    pub(super) fn left(&mut self, now: Time, port: PortId, bytes: u64) {
        self.egress.shrink(now, usize::from(port.0), bytes);
    }

    fn ingress_place(&self, port: PortId, priority: u8) -> Option<usize> {
        let place = self.place[usize::from(priority)]?;
        Some(usize::from(port.0) * self.lossless + place)
    }

    /// Bytes that the buffer took in.
    pub(super) fn admitted(&mut self, now: Time, port: PortId, priority: u8, bytes: u64) {
        if let Some(place) = self.ingress_place(port, priority) {
            self.ingress.grow(now, place, bytes);
        }
    }

    /// Bytes that the buffer released.
    pub(super) fn released(&mut self, now: Time, port: PortId, priority: u8, bytes: u64) {
        if let Some(place) = self.ingress_place(port, priority) {
            self.ingress.shrink(now, place, bytes);
        }
    }

    /// The levels of the interval that ends at `now`: of the fullest port and of the fullest lossless ingress queue.
    /// Begins the next interval.
    pub(super) fn take(&mut self, now: Time) -> [Level; 2] {
        [self.egress.take(now), self.ingress.take(now)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn the_mean_is_over_time_and_the_fullest_counts() {
        let mut fullest = Fullest::new(at(0), vec![0; 3]);
        fullest.grow(at(10), 1, 100);
        fullest.grow(at(20), 2, 60);
        fullest.shrink(at(40), 1, 100);
        // 10 ps of nothing, 30 of 100 bytes, 60 of 60.
        let level = fullest.take(at(100));
        assert_eq!((level.least, level.greatest), (0, 100));
        assert_eq!(level.mean, (30.0 * 100.0 + 60.0 * 60.0) / 100.0);
        // The next interval begins with what is there.
        let level = fullest.take(at(150));
        assert_eq!((level.least, level.mean, level.greatest), (60, 60.0, 60));
    }

    #[test]
    fn what_lasts_no_time_does_not_count() {
        let mut fullest = Fullest::new(at(0), vec![0]);
        fullest.grow(at(5), 0, 1_000);
        fullest.shrink(at(5), 0, 1_000);
        assert_eq!(fullest.take(at(10)), Level::default());
        assert_eq!(fullest.take(at(10)), Level::default());
    }
}
