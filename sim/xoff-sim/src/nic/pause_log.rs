//! A log of when each class could not be sent.

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// Pauses of a port, by class, each with its start and end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseLog {
    paused: u8,
    since: [Time; 8],
    ended: [Vec<(Time, Time)>; 8],
}

impl PauseLog {
    /// Sets the paused classes, one bit each, from `now` on.
    pub fn set(&mut self, paused: u8, now: Time) {
        let mut changed = paused ^ self.paused;
        self.paused = paused;
        while changed != 0 {
            let class = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            if paused & 1 << class != 0 {
                self.since[class] = now;
            } else {
                self.ended[class].push((self.since[class], now));
            }
        }
    }

    /// How many pauses of each class have ended.
    pub fn lengths(&self) -> [usize; 8] {
        self.ended.each_ref().map(Vec::len)
    }

    /// A copy that has only the pauses behind those that were `known`, by class: all of them from then on.
    pub fn tail(&self, known: &mut [usize; 8]) -> Self {
        let of = |class: usize| self.ended[class][known[class]..].to_vec();
        let ended = std::array::from_fn(of);
        *known = self.lengths();
        Self { ended, ..*self }
    }

    /// Takes the state of [`tail`](Self::tail), whose pauses come behind those that are here.
    pub fn follow(&mut self, tail: Self) {
        for (ended, more) in self.ended.iter_mut().zip(tail.ended) {
            ended.extend(more);
        }
        (self.paused, self.since) = (tail.paused, tail.since);
    }

    /// The classes that are paused now, one bit each.
    pub const fn paused(&self) -> u8 {
        self.paused
    }

    /// Since when a class is paused, if it is.
    pub fn since(&self, class: usize) -> Option<Time> {
        (self.paused & 1 << class != 0).then_some(self.since[class])
    }

    /// The pauses of a class that have ended.
    pub fn ended(&self, class: usize) -> &[(Time, Time)] {
        &self.ended[class]
    }

    /// All pauses of a class until `now`.
    pub fn spans(&self, class: usize, now: Time) -> Vec<(Time, Time)> {
        let mut spans = self.ended[class].clone();
        if self.paused & 1 << class != 0 {
            spans.push((self.since[class], now));
        }
        spans
    }

    /// How long a class was paused until `now`.
    pub fn time(&self, class: usize, now: Time) -> Duration {
        let lengths = self.spans(class, now).into_iter();
        lengths.fold(Duration::ZERO, |sum, (from, to)| {
            sum + to.saturating_since(from)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_what_still_lasts() {
        let at = Time::from_ps;
        let mut log = PauseLog::default();
        for (now, paused) in [(10, 0b1000), (20, 0b1000), (30, 0b0001), (50, 0b1001)] {
            log.set(paused, at(now));
        }
        assert_eq!(log.spans(3, at(60)), [(at(10), at(30)), (at(50), at(60))]);
        assert_eq!(log.ended(3), [(at(10), at(30))]);
        assert_eq!(log.since(3), Some(at(50)));
        assert_eq!(log.since(1), None);
        assert_eq!(log.time(0, at(60)), Duration::from_ps(30));
        assert_eq!(log.paused(), 0b1001);
    }
}
