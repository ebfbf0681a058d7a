//! The pause watchdog of a port: ends pauses that do not end by themselves.
//!
//! A peer that pauses a priority without end stops everything that is to leave by this port, and in time everything
//! behind it. The watchdog of a priority acts when frames have waited and none could start for `detect`: the
//! priority is no longer lossless here. Its pauses are ignored, and frames of the priority that wait for the port,
//! are to leave by it, or come in by it, are dropped. When no pause has come for `restore`, the priority is lossless
//! again.
//!
//! "RDMA over Commodity Ethernet at Scale" (SIGCOMM 2016), section 4.3, describes it for ports that lead to servers,
//! with 100 ms and 200 ms. SONiC's watches all ports by default with 400 ms and 2 s.

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};
use crate::wire::PRIORITIES;

/// Settings of a pause watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogConfig {
    /// How long frames have to wait behind a pause, with none of them starting, until the watchdog acts.
    pub detect: Duration,
    /// How long no pause may have come until the priority is lossless again.
    pub restore: Duration,
}

/// The watchdog of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// Nothing waits behind a pause.
    Quiet,
    /// Frames have waited behind a pause since then.
    Stuck(Time),
    /// It has acted. The last pause came then.
    Acted(Time),
}

/// What becomes of a priority at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is no longer lossless.
    Act,
    /// It is lossless again.
    Restore,
}

/// The watchdogs of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watchdog {
    config: WatchdogConfig,
    states: [State; PRIORITIES],
}

impl Watchdog {
    pub(super) const fn new(config: WatchdogConfig) -> Self {
        Self {
            config,
            states: [State::Quiet; PRIORITIES],
        }
    }

    /// Whether it has acted on a priority, so that its frames are dropped.
    pub(super) fn has_acted(&self, priority: u8) -> bool {
        matches!(self.states[usize::from(priority)], State::Acted(_))
    }

    /// States whether frames of a priority wait behind a pause now. It has to be told whenever that may have changed.
    pub(super) fn waits(&mut self, now: Time, priority: u8, stuck: bool) {
        let state = &mut self.states[usize::from(priority)];
        *state = match (*state, stuck) {
            (State::Quiet, true) => State::Stuck(now),
            (State::Stuck(_), false) => State::Quiet,
            (same, _) => same,
        };
    }

    /// States that a pause of these priorities, one bit each, came from the peer.
    pub(super) fn paused(&mut self, now: Time, priorities: u8) {
        for (priority, state) in self.states.iter_mut().enumerate() {
            if let State::Acted(last) = state
                && priorities & 1 << priority != 0
            {
                *last = now;
            }
        }
    }

    /// The next decision that is due by `now`, with its priority.
    pub(super) fn decide(&mut self, now: Time) -> Option<(u8, Decision)> {
        let due = |state: &State| self.due(state).is_some_and(|due| due <= now);
        let priority = self.states.iter().position(due)?;
        let state = &mut self.states[priority];
        let decision = match state {
            State::Stuck(_) => Decision::Act,
            _ => Decision::Restore,
        };
        *state = match decision {
            Decision::Act => State::Acted(now),
            Decision::Restore => State::Quiet,
        };
        Some((priority as u8, decision))
    }

    fn due(&self, state: &State) -> Option<Time> {
        match *state {
            State::Quiet => None,
            State::Stuck(since) => Some(since.saturating_add(self.config.detect)),
            State::Acted(last) => Some(last.saturating_add(self.config.restore)),
        }
    }

    /// When a decision is due next, unless something happens before.
    pub(super) fn next_event(&self) -> Option<Time> {
        self.states.iter().filter_map(|state| self.due(state)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_after_a_wait_without_a_gap_and_restores_after_quiet() {
        let config = WatchdogConfig {
            detect: Duration::from_us(100),
            restore: Duration::from_us(200),
        };
        let mut dog = Watchdog::new(config);
        let at = |us| Time::from_us(us);
        dog.waits(at(10), 3, true);
        // A frame could start: it counts from anew.
        dog.waits(at(50), 3, false);
        dog.waits(at(60), 3, true);
        dog.waits(at(90), 3, true);
        assert_eq!(dog.next_event(), Some(at(160)));
        assert_eq!(dog.decide(at(159)), None);
        assert_eq!(dog.decide(at(160)), Some((3, Decision::Act)));
        assert!(dog.has_acted(3) && !dog.has_acted(4));
        // Pauses of this priority put it off, others do not.
        dog.paused(at(300), 1 << 3);
        dog.paused(at(400), 1 << 4);
        assert_eq!(dog.decide(at(499)), None);
        assert_eq!(dog.decide(at(500)), Some((3, Decision::Restore)));
        assert_eq!((dog.has_acted(3), dog.next_event()), (false, None));
    }
}
