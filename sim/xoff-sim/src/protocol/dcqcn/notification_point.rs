//! The notification point: a receiver asks for at most one CNP per interval and QP (SIGCOMM 2015, section 3.1, 'NP
//! algorithm', and figure 6).

use serde::{Deserialize, Serialize};

use crate::protocol::Cycle;

/// The state of a notification point for one QP. The default is that of a QP just opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NpContext {
    /// Whether a CNP was sent.
    pub sent: bool,
    /// When the last CNP was sent.
    pub last: Cycle,
}

impl NpContext {
    /// Handles a packet marked CE at `now`. Returns the next context, and whether a CNP is to be sent.
    ///
    /// `interval` is in cycles; with 0, every marked packet causes a CNP.
    #[must_use]
    pub fn marked(&self, interval: u32, now: Cycle) -> (NpContext, bool) {
        let due = !self.sent || now.0.saturating_sub(self.last.0) >= u64::from(interval);
        let sent = Self {
            sent: true,
            last: now,
        };
        (if due { sent } else { *self }, due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_asks_at_once() {
        let (context, cnp) = NpContext::default().marked(9_766, Cycle(0));
        assert!(cnp && context.sent);
    }

    #[test]
    fn one_cnp_an_interval() {
        let (context, _) = NpContext::default().marked(9_766, Cycle(100));
        let (kept, cnp) = context.marked(9_766, Cycle(100 + 9_765));
        assert!(!cnp);
        assert_eq!(
            kept, context,
            "the interval runs from the CNP, not the mark"
        );
        let (moved, cnp) = kept.marked(9_766, Cycle(100 + 9_766));
        assert!(cnp);
        assert_eq!(moved.last, Cycle(9_866));
    }

    #[test]
    fn an_interval_of_zero_asks_every_time() {
        let (context, _) = NpContext::default().marked(0, Cycle(5));
        assert!(context.marked(0, Cycle(5)).1);
    }
}
