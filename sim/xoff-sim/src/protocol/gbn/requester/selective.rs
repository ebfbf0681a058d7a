//! Selective repeat at the requester, in place of go-back-N: only what is missing is sent again (IRN, SIGCOMM 2018,
//! section 3.1). Model NICs have it; the RTL goes back.
//!
//! The responder answers every packet ahead of a missing one with a NAK for a sequence error that names both: the
//! missing one in its PSN, as always, and the one that came in its MSN, which means nothing in such a NAK otherwise.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{RequesterQp, RequesterStep};
use crate::protocol::Cycle;
use crate::protocol::gbn::QpState;
use crate::wire::Psn;

/// With fewer packets unacknowledged than this, the shorter timeout counts: there are not enough to be answered with a
/// NAK (IRN, section 3.1: N = 3).
const FEW: i32 = 3;

/// What software chooses for a QP that repeats selectively.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selective {
    /// Code of the ACK timeout while fewer than three packets are unacknowledged, 4.096 µs « code, 1 to 31; 0: that of
    /// [`RequesterConfig`](super::RequesterConfig), which counts with more of them.
    pub few_timeout: u8,
    /// Most packets that the responder keeps ahead of a missing one. The peer's window is no larger.
    pub packets: u32,
}

/// Which of the packets that are not acknowledged have arrived, and which of the others were sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scoreboard {
    settings: Selective,
    /// Which packets have arrived, the oldest that is not acknowledged first, up to the last that has.
    arrived: VecDeque<bool>,
    /// Before this one everything that is missing was sent again. What is lost once more is left to the timer.
    repeated: Psn,
    /// Before this one everything that has not arrived is missing: the timer has expired.
    overdue: Psn,
}

impl Scoreboard {
    /// The oldest packet that is missing and was not sent again, of those from `una` on: one behind it has arrived, or
    /// the timer has expired.
    fn missing(&self, una: Psn) -> Option<Psn> {
        let ahead = |psn: Psn| psn.ahead_of(una).max(0) as usize;
        let end = self.arrived.len().max(ahead(self.overdue));
        let has_arrived = |place: usize| self.arrived.get(place).copied().unwrap_or_default();
        let place = (ahead(self.repeated)..end).find(|place| !has_arrived(*place))?;
        Some(una.advance(place as u32))
    }

    /// Notes that everything up to `una` is acknowledged, `packets` more than before.
    pub(super) fn acknowledged(&mut self, packets: usize, una: Psn) {
        self.arrived.drain(..packets.min(self.arrived.len()));
        for follows in [&mut self.repeated, &mut self.overdue] {
            if follows.ahead_of(una) < 0 {
                *follows = una;
            }
        }
    }

    /// Takes all packets before `next` that have not arrived for missing, also those that were sent again.
    pub(super) const fn timed_out(&mut self, una: Psn, next: Psn) {
        (self.repeated, self.overdue) = (una, next);
    }

    /// Forgets what has arrived: everything from `una` on is sent again.
    pub(super) fn go_back(&mut self, una: Psn) {
        self.arrived.clear();
        (self.repeated, self.overdue) = (una, una);
    }

    /// The code of the ACK timeout with so many packets unacknowledged.
    pub(super) const fn timeout(&self, code: u8, outstanding: i32) -> u8 {
        match self.settings.few_timeout {
            0 => code,
            few if outstanding < FEW => few,
            _ => code,
        }
    }
}

impl RequesterQp {
    /// Has the QP, which was opened, repeat selectively until it is opened again.
    pub fn repeat_selectively(&mut self, settings: Selective) {
        let una = self.context.una_psn;
        self.scoreboard = Some(Box::new(Scoreboard {
            settings,
            arrived: VecDeque::new(),
            repeated: una,
            overdue: una,
        }));
    }

    /// Whether it repeats selectively.
    pub const fn is_selective(&self) -> bool {
        self.scoreboard.is_some()
    }

    /// Notes that a packet has arrived ahead of a missing one. One that is not under way is ignored.
    pub fn arrived(&mut self, psn: Psn) {
        let (una, next) = (self.context.una_psn, self.context.next_psn);
        let Some(board) = &mut self.scoreboard else {
            return;
        };
        let place = psn.ahead_of(una);
        if place <= 0 || psn.ahead_of(next) >= 0 {
            return;
        }
        let place = place as usize;
        if board.arrived.len() <= place {
            board.arrived.resize(place + 1, false);
        }
        board.arrived[place] = true;
    }

    /// Whether a SEND would produce a packet, a new one or one that is missing.
    pub fn sendable(&self) -> bool {
        self.context.sendable() || self.next_missing().is_some()
    }

    /// The packet to be sent again before any new one.
    pub(super) fn next_missing(&self) -> Option<Psn> {
        let board = self.scoreboard.as_ref()?;
        let context = &self.context;
        let sends =
            context.state == QpState::Ready && !context.rnr_wait && context.unread.is_none();
        sends.then(|| board.missing(context.una_psn)).flatten()
    }

    /// Sends a missing packet again. It asks for an ACK, and the timer counts from it if it is the oldest one.
    pub(super) fn repeat(&mut self, psn: Psn, now: Cycle) -> Option<RequesterStep> {
        let posted = *self
            .between(self.context.tail, self.context.head)
            .find(|posted| psn.ahead_of(posted.last()) <= 0)?;
        let request = self.request(&posted, psn, true);
        let next = psn.advance(1);
        self.scoreboard.as_mut()?.repeated = next;
        let context = &mut self.context;
        if next.ahead_of(context.asked_psn) > 0 {
            context.asked_psn = next;
        }
        if psn == context.una_psn || !context.timer_runs {
            self.start_ack_timer(now);
        }
        Some(RequesterStep {
            request: Some(request),
            ..super::RequesterNote::None.into()
        })
    }
}

#[cfg(test)]
mod tests;
