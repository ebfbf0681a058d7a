//! Gaps in what arrives at a responder's port: it owes a NAK for each.

use xoff_sim::time::{Duration, Time};

use crate::Rule;
use crate::report::Findings;
use crate::requests::show;

/// How long the missing request has to be late before a NAK must have been sent. Within this time the request may
/// arrive before the NAK has a turn on the wire, and an ACK takes its place.
const NAK_WITHIN: Duration = Duration::from_us(20);

/// The oldest gap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// The first PSN that is missing.
    pub psn: i64,
    /// When a packet behind it arrived.
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

    /// Judges an ACK that covers the gap, which was not NAKed. `paused`: when the host was paused the last time.
    pub fn acknowledged(&self, paused: Option<Time>, out: &mut Findings) {
        let free = paused.is_none_or(|paused| paused < self.since);
        if let Some(filled) = self.filled.filter(|_| free) {
            out.check(Rule::NakOwed, false, || {
                format!(
                    "PSN {} is acknowledged, which came {} behind a later one, and no NAK was sent",
                    show(self.psn),
                    filled.saturating_since(self.since)
                )
            });
        }
    }
}
