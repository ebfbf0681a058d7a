//! READs and atomics of both directions, which only NICs have that are told to.

use serde::{Deserialize, Serialize};

use super::qp_set::QpSet;
use super::turns::Turns;
use crate::protocol::gbn::requester::reading::Reading;
use crate::protocol::gbn::responder::answered::Answered;

/// What a NIC keeps for READs and atomics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Responses {
    /// What each QP owes, and what it waits for.
    pub(super) answered: Vec<Answered>,
    pub(super) reading: Vec<Reading>,
    /// QPs that owe a response, and their turns.
    pub(super) owing: QpSet,
    pub(super) turns: Turns,
    /// Bytes on the wire of responses, less those of requests, that were granted while both waited.
    ahead: i64,
}

impl Responses {
    /// Of `qps` QPs that each have at most `limit` READs and atomics unanswered in each direction.
    pub(super) fn new(qps: usize, limit: u16) -> Self {
        Self {
            answered: vec![Answered::new(limit); qps],
            reading: vec![Reading::new(limit); qps],
            owing: QpSet::new(qps),
            turns: Turns::new(qps),
            ahead: 0,
        }
    }

    /// Forgets what a QP had: it is opened.
    pub(super) fn open(&mut self, qp: usize) {
        self.answered[qp].clear();
        self.reading[qp].clear();
        self.owing.set(qp, false);
    }

    /// Whether a response goes before the request that waits, too.
    pub(super) const fn have_the_turn(&self) -> bool {
        self.ahead <= 0
    }

    /// Notes that a packet of so many bytes on the wire is granted: a `response`, or a request. `both`: one of the
    /// other kind waits.
    pub(super) fn granted(&mut self, response: bool, bytes: u64, both: bool) {
        let bytes = bytes as i64;
        self.ahead = match (both, response) {
            (false, _) => 0,
            (true, true) => self.ahead + bytes,
            (true, false) => self.ahead - bytes,
        };
    }

    /// The QP whose response is next, of those that `can` send: it has its turn.
    pub(super) fn next(&mut self, can: impl Fn(usize) -> bool) -> Option<usize> {
        self.turns.next(&self.owing, can)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_and_requests_get_as_many_bytes() {
        let mut responses = Responses::new(4, 16);
        let mut bytes = [0, 0];
        for _ in 0..10_000 {
            let response = responses.have_the_turn();
            let size = if response { 1_106 } else { 84 };
            responses.granted(response, size, true);
            bytes[usize::from(response)] += size;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 1_106, "{bytes:?}");
        responses.granted(true, 1_106, false);
        assert!(responses.have_the_turn(), "nothing is saved up");
    }
}
