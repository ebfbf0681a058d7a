//! Pauses sent to the peer: XOFF, XON, refresh.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::PauseKind;
use crate::time::{Duration, Time};
use crate::wire::{MacAddr, Pause, PauseRepr, Pfc, PfcRepr, control_frame};

/// The pauses that a port tells its peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseSender {
    kind: PauseKind,
    /// The port's address, the source of pause frames.
    mac: MacAddr,
    /// Pause time of an XOFF in quanta.
    quanta: u16,
    /// Time between two XOFFs, while the pause lasts.
    refresh: Duration,
    /// Priorities that have to pause, one bit each.
    xoff: u8,
    /// Priorities whose state the peer has to be told, for the first time or again, one bit each.
    untold: u8,
    refresh_at: Option<Time>,
}

impl PauseSender {
    pub(crate) const fn new(kind: PauseKind, mac: MacAddr, quanta: u16, refresh: Duration) -> Self {
        Self {
            kind,
            mac,
            quanta,
            refresh,
            xoff: 0,
            untold: 0,
            refresh_at: None,
        }
    }

    /// Sets whether a priority has to pause. Returns true if that is a change.
    pub(crate) fn set(&mut self, priority: u8, xoff: bool) -> bool {
        let bit = 1 << priority;
        if self.kind == PauseKind::Off || (self.xoff & bit != 0) == xoff {
            return false;
        }
        self.xoff ^= bit;
        self.untold |= bit;
        true
    }

    /// Priorities that have to pause, one bit each.
    pub const fn xoff(&self) -> u8 {
        self.xoff
    }

    /// Tells the whole state again, as after the link was down.
    pub(crate) fn tell_again(&mut self) {
        self.untold |= self.xoff;
    }

    /// Whether a pause frame waits to be sent.
    pub(crate) const fn pending(&self) -> bool {
        self.untold != 0
    }

    pub(crate) const fn refresh_at(&self) -> Option<Time> {
        self.refresh_at
    }

    /// Advances time to `now`: marks pauses that have to be repeated as untold.
    pub(crate) fn tick(&mut self, now: Time) {
        if self.refresh_at.is_some_and(|at| at <= now) {
            self.refresh_at = None;
            self.untold |= self.xoff;
        }
    }

    /// The pause frame to send at `now`. It has the current state of all priorities that are untold or have to pause.
    pub(crate) fn frame(&mut self, now: Time) -> Bytes {
        let bytes = control_frame(self.mac, |control| {
            if self.kind == PauseKind::Link {
                let timer = if self.xoff == 0 { 0 } else { self.quanta };
                PauseRepr { timer }.emit(&mut Pause::new_unchecked(control));
            } else {
                let timer = |class: usize| match self.xoff & 1 << class {
                    0 => 0,
                    _ => self.quanta,
                };
                PfcRepr {
                    class_enable: (self.untold | self.xoff).into(),
                    timers: std::array::from_fn(timer),
                }
                .emit(&mut Pfc::new_unchecked(control));
            }
        });
        self.untold = 0;
        self.refresh_at = (self.xoff != 0).then(|| now.saturating_add(self.refresh));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(bytes: &Bytes) -> PfcRepr {
        PfcRepr::parse(&Pfc::new_checked(&bytes[14..]).unwrap())
    }

    #[test]
    fn xoff_refresh_xon() {
        let refresh = Duration::from_us(400);
        let mut sender = PauseSender::new(PauseKind::Pfc, MacAddr([2; 6]), 0xFFFF, refresh);
        let at = |us| Time::from_us(us);
        assert!(sender.set(3, true) && !sender.set(3, true) && sender.pending());
        let frame = pfc(&sender.frame(at(10)));
        assert_eq!((frame.class_enable, frame.timers[3]), (8, 0xFFFF));
        assert_eq!(sender.refresh_at(), Some(at(410)));
        sender.tick(at(409));
        assert!(!sender.pending());
        sender.tick(at(410));
        assert!(sender.pending());
        // A second class is added; the first one is repeated in the same frame.
        sender.set(5, true);
        let frame = pfc(&sender.frame(at(411)));
        assert_eq!(frame.class_enable, 0b10_1000);
        sender.set(3, false);
        let frame = pfc(&sender.frame(at(500)));
        assert_eq!(frame.class_enable, 0b10_1000);
        assert_eq!((frame.timers[3], frame.timers[5]), (0, 0xFFFF));
        sender.set(5, false);
        let frame = pfc(&sender.frame(at(600)));
        assert_eq!((frame.class_enable, frame.timers[5]), (0b10_0000, 0));
        assert_eq!(sender.refresh_at(), None);
    }

    #[test]
    fn an_xoff_taken_back_before_it_was_told_is_told_as_xon() {
        let mut sender = PauseSender::new(PauseKind::Pfc, MacAddr([2; 6]), 9, Duration::from_us(1));
        sender.set(1, true);
        sender.set(1, false);
        let frame = pfc(&sender.frame(Time::ZERO));
        assert_eq!((frame.class_enable, frame.timers), (2, [0; 8]));
    }

    #[test]
    fn link_pause_is_for_all() {
        let mut sender =
            PauseSender::new(PauseKind::Link, MacAddr([2; 6]), 9, Duration::from_us(1));
        sender.set(1, true);
        sender.set(2, true);
        let timer = |bytes: &Bytes| Pause::new_checked(&bytes[14..]).unwrap().timer();
        assert_eq!(timer(&sender.frame(Time::ZERO)), 9);
        sender.set(1, false);
        assert_eq!(timer(&sender.frame(Time::ZERO)), 9);
        sender.set(2, false);
        assert_eq!(timer(&sender.frame(Time::ZERO)), 0);
        let mut off = PauseSender::new(PauseKind::Off, MacAddr([2; 6]), 9, Duration::ZERO);
        assert!(!off.set(1, true));
    }
}
