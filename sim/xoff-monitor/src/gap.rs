//! Gaps in what arrives at a responder's port: it owes a NAK for each.

use xoff_sim::time::{Duration, Time};

use crate::report::Findings;
use crate::requests::show;
use crate::{Habit, Rule};

/// How long the missing request has to be late before a NAK must have been sent. Within this time the request may
/// arrive before the NAK has a turn on the wire, and an ACK takes its place.
const NAK_WITHIN: Duration = Duration::from_us(20);

/// The oldest gap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// The first PSN that is missing.
    pub psn: i64,
    /// The PSN of the packet behind it that arrived.
    pub behind: i64,
    /// When that arrived.
    pub since: Time,
    /// When it arrived after all.
    pub filled: Option<Time>,
}

impl Gap {
    /// Takes in a request that arrives. Returns whether the gap is still of interest.
    pub fn arrives(&mut self, psn: i64, time: Time) -> bool {
        if self.filled.is_none() && psn <= self.psn {
            self.filled = Some(time);
            return time.saturating_since(self.since) > NAK_WITHIN;
        }
        true
    }

    /// Judges an ACK that covers the gap, which was not NAKed. `kept`: it covers the packet behind the gap too, which
    /// was not sent again, so that the host did not drop it. `paused`: when the host was paused the last time.
    pub fn acknowledged(&self, kept: bool, paused: Option<Time>, out: &mut Findings) {
        let free = paused.is_none_or(|paused| paused < self.since);
        let Some(filled) = self.filled.filter(|_| free) else {
            return;
        };
        let text = || {
            format!(
                "PSN {} is acknowledged, which came {} behind a later one, and no NAK was sent",
                show(self.psn),
                filled.saturating_since(self.since)
            )
        };
        if kept {
            out.check(Rule::NakOwed, false, text);
        } else {
            out.remark(Habit::GapUntold, text);
        }
    }
}
