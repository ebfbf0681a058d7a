//! Pauses received from the peer.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::PauseKind;
use crate::time::{Duration, LineRate, Time};
use crate::wire::PRIORITIES;
use crate::wire::{CONTROL_PAUSE, CONTROL_PFC, Pause, Pfc, PfcRepr};

/// The pauses of the peer that apply to a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseReceiver {
    kind: PauseKind,
    /// Priorities that obey, one bit each.
    obeying: u8,
    /// Time from a pause frame's last bit until it takes effect.
    response: Duration,
    /// Pauses that were received but have not taken effect yet.
    coming: VecDeque<(Time, PfcRepr)>,
    until: [Time; PRIORITIES],
    /// For each class, when its last pause took effect.
    since: [Time; PRIORITIES],
    /// For each class, start and end of the last time without a gap in which it is stopped, and before it of those that
    /// were longer than all later ones.
    stops: [Vec<(Time, Time)>; PRIORITIES],
    /// For each class, the total time of the earlier pauses.
    before: [Duration; PRIORITIES],
    /// Priorities whose pauses have no effect, one bit each.
    ignored: u8,
}

/// The kind of a MAC control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// A pause.
    Pause,
    /// Something else.
    Unknown,
}

impl PauseReceiver {
    /// Pauses of other priorities than these, one bit each, have no effect.
    pub(crate) fn new(kind: PauseKind, obeying: u8, response: Duration) -> Self {
        Self {
            kind,
            obeying,
            response,
            coming: VecDeque::new(),
            until: [Time::ZERO; PRIORITIES],
            since: [Time::ZERO; PRIORITIES],
            stops: Default::default(),
            before: [Duration::ZERO; PRIORITIES],
            ignored: 0,
        }
    }

    /// Takes the bytes after a MAC control EtherType. Pauses of a kind or priority that does not obey are recognized but
    /// ignored.
    pub(crate) fn receive(&mut self, now: Time, control: &[u8]) -> Control {
        let opcode = control
            .first_chunk::<2>()
            .map(|opcode| u16::from_be_bytes(*opcode));
        let (kind, pause) = match opcode {
            Some(CONTROL_PFC) => match Pfc::new_checked(control) {
                Ok(pfc) => (PauseKind::Pfc, PfcRepr::parse(&pfc)),
                Err(_) => return Control::Unknown,
            },
            Some(CONTROL_PAUSE) => match Pause::new_checked(control) {
                // Applies to all priorities.
                Ok(pause) => (
                    PauseKind::Link,
                    PfcRepr {
                        class_enable: 0xFF,
                        timers: [pause.timer(); PRIORITIES],
                    },
                ),
                Err(_) => return Control::Unknown,
            },
            _ => return Control::Unknown,
        };
        if kind == self.kind {
            let class_enable = pause.class_enable & u16::from(self.obeying);
            let pause = PfcRepr {
                class_enable,
                ..pause
            };
            self.coming.push_back((now + self.response, pause));
        }
        Control::Pause
    }

    /// When the next received pause takes effect.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.coming.front().map(|coming| coming.0)
    }

    /// Advances time to `now` and applies the pauses that take effect. Each replaces the rest of the previous one; a
    /// time of 0 ends it. Returns the priorities that were paused, or would have been if they were not ignored.
    pub(crate) fn tick(&mut self, now: Time, rate: LineRate) -> u8 {
        let mut paused = 0;
        while let Some((at, pause)) = self.coming.front().copied()
            && at <= now
        {
            self.coming.pop_front();
            for class in 0..PRIORITIES {
                let bit = 1 << class;
                if pause.class_enable & u16::from(bit) == 0 {
                    continue;
                }
                let quanta = pause.timers[class];
                paused |= if quanta == 0 { 0 } else { bit };
                if self.ignored & bit == 0 {
                    self.set(class, at, rate.time_of_quanta(quanta));
                }
            }
        }
        paused
    }

    fn set(&mut self, class: usize, at: Time, time: Duration) {
        self.before[class] = self.paused_for(class, at);
        self.since[class] = at;
        self.until[class] = at + time;
        let stops = &mut self.stops[class];
        match stops.last_mut() {
            Some((_, end)) if at <= *end => *end = self.until[class],
            // An XON while nothing is paused.
            _ if time == Duration::ZERO => {}
            _ => {
                // Whatever the window, none is its longest if a later one was as long.
                if let Some(last) = stops.pop() {
                    stops.retain(|stop| length(*stop) > length(last));
                    stops.push(last);
                }
                stops.push((at, self.until[class]));
            }
        }
    }

    /// Ends the pause of a priority and ignores further ones, or obeys them again.
    pub(crate) fn ignore(&mut self, now: Time, priority: u8, ignore: bool) {
        let bit = 1 << priority;
        if ignore {
            self.set(usize::from(priority), now, Duration::ZERO);
            self.ignored |= bit;
        } else {
            self.ignored &= !bit;
        }
    }

    /// Ends all pauses, and forgets those that have not taken effect yet.
    pub(crate) fn clear(&mut self, now: Time) {
        self.coming.clear();
        for class in 0..PRIORITIES {
            self.set(class, now, Duration::ZERO);
        }
    }

    /// Until when a priority must not start a frame.
    pub fn until(&self, priority: usize) -> Time {
        self.until[priority]
    }

    /// Start and end of the last time without a gap in which a priority must not start a frame; the end may be ahead.
    /// `None` when there was none. A pause that is repeated before it ends goes on without a gap.
    pub fn last_stop(&self, priority: usize) -> Option<(Time, Time)> {
        self.stops[priority].last().copied()
    }

    /// Start and end of times without a gap in which a priority must not start a frame, as
    /// [`last_stop`](Self::last_stop): the last, and those before it that were longer than all later ones. So the
    /// longest since any time is one of them.
    pub fn long_stops(&self, priority: usize) -> &[(Time, Time)] {
        &self.stops[priority]
    }

    /// How long a priority could not start a frame, until `now`. Not valid for times before the last pause took
    /// effect.
    pub fn paused_for(&self, priority: usize, now: Time) -> Duration {
        let end = self.until[priority].min(now);
        self.before[priority] + end.saturating_since(self.since[priority])
    }
}

fn length((began, end): (Time, Time)) -> Duration {
    end.saturating_since(began)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(class: u8, quanta: u16) -> [u8; 20] {
        let mut bytes = [0; 20];
        let mut timers = [0; 8];
        timers[usize::from(class)] = quanta;
        PfcRepr {
            class_enable: 1 << class,
            timers,
        }
        .emit(&mut Pfc::new_unchecked(&mut bytes));
        bytes
    }

    #[test]
    fn a_pause_counts_after_the_response_and_lasts_its_quanta() {
        let mut receiver = PauseReceiver::new(PauseKind::Pfc, u8::MAX, Duration::from_ns(100));
        let at = |ns| Time::from_ns(ns);
        assert_eq!(receiver.receive(at(50), &pfc(3, 10)), Control::Pause);
        assert_eq!(receiver.next_event(), Some(at(150)));
        receiver.tick(at(149), LineRate::G40);
        assert_eq!(receiver.until(3), Time::ZERO);
        receiver.tick(at(150), LineRate::G40);
        // Ten quanta of 12.8 ns.
        assert_eq!(receiver.until(3), at(278));
        assert_eq!(receiver.until(2), Time::ZERO);
        // XON.
        receiver.receive(at(160), &pfc(3, 0));
        receiver.tick(at(260), LineRate::G40);
        assert_eq!(receiver.until(3), at(260));
        // Paused from 150 to 260, and again from 500 to 628, of which 100 have passed.
        assert_eq!(receiver.paused_for(3, at(300)), Duration::from_ns(110));
        receiver.receive(at(400), &pfc(3, 10));
        receiver.tick(at(500), LineRate::G40);
        assert_eq!(receiver.paused_for(3, at(600)), Duration::from_ns(210));
        assert_eq!(receiver.paused_for(3, at(700)), Duration::from_ns(238));
        assert_eq!(receiver.paused_for(2, at(700)), Duration::ZERO);
    }

    #[test]
    fn a_repeated_pause_is_one_stop() {
        let mut receiver = PauseReceiver::new(PauseKind::Pfc, u8::MAX, Duration::ZERO);
        let at = |ns| Time::from_ns(ns);
        let mut stop = |ns, quanta| {
            receiver.receive(at(ns), &pfc(3, quanta));
            receiver.tick(at(ns), LineRate::G40);
            receiver.last_stop(3)
        };
        assert_eq!(stop(50, 0), None);
        // Ten quanta are 128 ns. Repeated at 200 before it ends at 228, and at the very instant at which it ends.
        assert_eq!(stop(100, 10), Some((at(100), at(228))));
        assert_eq!(stop(200, 10), Some((at(100), at(328))));
        assert_eq!(stop(328, 10), Some((at(100), at(456))));
        assert_eq!(stop(400, 0), Some((at(100), at(400))));
        // An XON after the end changes nothing; a pause after a gap is another stop.
        assert_eq!(stop(450, 0), Some((at(100), at(400))));
        assert_eq!(stop(500, 10), Some((at(500), at(628))));
        assert_eq!(receiver.last_stop(2), None);
    }

    #[test]
    fn stops_are_kept_until_a_later_one_is_as_long() {
        let mut receiver = PauseReceiver::new(PauseKind::Pfc, u8::MAX, Duration::ZERO);
        let at = |ns| Time::from_ns(ns);
        let mut stops = |ns, quanta| {
            receiver.receive(at(ns), &pfc(3, quanta));
            receiver.tick(at(ns), LineRate::G40);
            receiver.long_stops(3).to_vec()
        };
        // A quantum is 12.8 ns. Stops of 256, 128 and 64 ns: each may be the longest since some time.
        assert_eq!(stops(100, 20), [(at(100), at(356))]);
        assert_eq!(stops(400, 10).len(), 2);
        let three = [(100, 356), (400, 528), (600, 664)].map(|(from, to)| (at(from), at(to)));
        assert_eq!(stops(600, 5), three);
        // One of 128 ns, which an XON ends. That it is no shorter than the second is known when the next begins.
        assert_eq!(stops(700, 20)[..3], three);
        let fourth = (at(700), at(828));
        assert_eq!(stops(828, 0), [&three[..], &[fourth]].concat());
        assert_eq!(stops(900, 5), [three[0], fourth, (at(900), at(964))]);
        // One of 256 ns, refreshed after 128.
        stops(1_000, 20);
        let last = (at(1_000), at(1_256));
        assert_eq!(stops(1_128, 10).last(), Some(&last));
        assert_eq!(stops(1_300, 5), [last, (at(1_300), at(1_364))]);
    }

    #[test]
    fn only_the_kind_that_the_link_uses_is_obeyed() {
        let mut receiver = PauseReceiver::new(PauseKind::Link, u8::MAX, Duration::ZERO);
        assert_eq!(receiver.receive(Time::ZERO, &pfc(3, 10)), Control::Pause);
        assert_eq!(receiver.next_event(), None);
        let pause = receiver.receive(Time::ZERO, &[0, 1, 0, 2]);
        assert_eq!(pause, Control::Pause);
        receiver.tick(Time::ZERO, LineRate::G40);
        assert!((0..8).all(|priority| receiver.until(priority) == Time::from_ps(25_600)));
        let unknown = receiver.receive(Time::ZERO, &[0, 9, 0, 2]);
        assert_eq!(unknown, Control::Unknown);
    }
}
