//! The oracle beside a case: what went into two NICs and what came out, judged by rules that share nothing with them.

use xoff_oracle::{Fact, Options, Oracle, What};
use xoff_sim::host::memory::content;
use xoff_sim::nic::{self, QpSettings, ReadRights};
use xoff_sim::protocol::gbn;
use xoff_sim::time::{Duration, Time};

use super::facts;
use super::pair::{PERIOD, Pair};
use crate::property::Disagreement;

/// For how long after what they describe facts may be told.
const LATE: Duration = Duration::from_us(3);
/// READs that a QP may have unanswered.
const READS: u32 = xoff_rtl::nic::READS;
/// Cycles for which a host may stall: the longest stall of a case's text, or some of those that are drawn.
const STALL_MAX: u64 = u16::MAX as u64;

/// An oracle, and how much it has been told of a pair.
pub struct Outside {
    oracle: Oracle<fn(usize, u64) -> u8>,
    /// Frames sent, and frames that arrived.
    frames: [usize; 2],
    /// Completions and writes, by side.
    results: [[usize; 2]; 2],
    /// All before it is judged.
    judged: Time,
}

impl Outside {
    /// An oracle that knows of no memory and no QP.
    pub fn new() -> Self {
        let options = Options {
            stall: PERIOD.as_ps() * STALL_MAX,
            // An answer leaves when its packet is accepted, and hosts may stall.
            written_first: false,
            ..Options::default()
        };
        Self {
            oracle: Oracle::new(options, |_, va| content(va)),
            frames: [0; 2],
            results: [[0; 2]; 2],
            judged: Time::ZERO,
        }
    }

    fn tell(&mut self, at: Time, side: usize, what: What) {
        let at = at.as_ps();
        self.oracle.tell(Fact { at, side, what });
    }

    /// A region was registered, before anything else.
    pub fn registered(
        &mut self,
        side: usize,
        index: u16,
        region: &nic::Region,
        rights: ReadRights,
    ) {
        let what = What::Registered(facts::region(index, region, rights));
        self.tell(Time::ZERO, side, what);
    }

    /// The region with this key is being withdrawn.
    pub fn withdrawn(&mut self, at: Time, side: usize, key: u32) {
        self.tell(at, side, What::Removing { key });
    }

    /// Memory cannot be read from now on.
    pub fn unreadable(&mut self, at: Time, side: usize, (va, bytes): (u64, u64)) {
        self.tell(at, side, What::Unreadable { va, bytes });
    }

    /// A QP was opened.
    pub fn opened(&mut self, at: Time, side: usize, qpn: u32, settings: &QpSettings) {
        let reads = match u32::from(settings.requester.reads) {
            0 => READS,
            reads => reads.min(READS),
        };
        let what = What::Opened(facts::qp(qpn, settings, Some(reads)));
        self.tell(at, side, what);
    }

    /// A QP was closed.
    pub fn closed(&mut self, at: Time, side: usize, qpn: u32) {
        self.tell(at, side, What::Closed { qpn });
    }

    /// A work request was posted.
    pub fn posted(&mut self, at: Time, side: usize, qpn: u32, work: &gbn::Work) {
        let work = facts::work(work);
        self.tell(at, side, What::Posted { qpn, work });
    }

    /// A receive buffer was posted.
    pub fn buffer(&mut self, at: Time, side: usize, qpn: u32, buffer: &gbn::Recv) {
        let buffer = facts::buffer(buffer);
        self.tell(at, side, What::Buffer { qpn, buffer });
    }

    /// Takes in what a pair has done since the last time. `qpn` gives the number of a side's QP by its index.
    pub fn see(&mut self, pair: &Pair, qpn: impl Fn(usize, u16) -> u32) {
        let [sent, arrived] = self.frames;
        for (side, frame, _) in &pair.frames[sent..] {
            self.tell(frame.start, *side, What::Sent(frame.bytes.whole().to_vec()));
        }
        for (side, frame) in &pair.arrivals[arrived..] {
            self.tell(
                frame.end,
                *side,
                What::Arrived(frame.bytes.whole().to_vec()),
            );
        }
        self.frames = [pair.frames.len(), pair.arrivals.len()];
        let now = pair.time();
        for side in 0..2 {
            let (completions, written) = (&pair.completions[side], &pair.written[side]);
            let [completed, wrote] = self.results[side];
            for write in &written[wrote..] {
                let (va, bytes) = (write.va, write.bytes.clone());
                self.tell(now, side, What::Written { va, bytes });
            }
            for (index, it) in &completions[completed..] {
                let completion = facts::completion(it);
                let qpn = qpn(side, *index);
                self.tell(now, side, What::Completed { qpn, completion });
            }
            self.results[side] = [completions.len(), written.len()];
        }
    }

    /// A side has dropped frames because its buffer was full. The first of them has arrived, and may be among those that
    /// are known and not judged.
    pub fn overflowed(&mut self, side: usize) {
        self.tell(self.judged, side, What::Overflowed);
    }

    /// Judges what is known by now.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn judge(&mut self, pair: &Pair) -> Result<(), Disagreement> {
        let until = pair.watched().as_ps().saturating_sub(LATE.as_ps());
        self.judged = self.judged.max(Time::from_ps(until));
        self.oracle.judge_until(until).map_err(from_outside)
    }

    /// Judges all, when both NICs are idle.
    ///
    /// # Errors
    ///
    /// As [`Outside::judge`].
    pub fn finish(&mut self) -> Result<(), Disagreement> {
        self.oracle.finish().map_err(from_outside)
    }
}

fn from_outside(breach: xoff_oracle::Breach) -> Disagreement {
    format!("the oracle: {breach}")
}

#[cfg(test)]
mod tests {
    use xoff_oracle::{Completion, Operation, Status};
    use xoff_sim::protocol::gbn::WorkKind;

    use super::super::pair::{QPN_BASE, REGIONS, all, qp};
    use super::*;

    /// Two NICs with a QP each, of which side 0 has posted a WRITE of so many bytes.
    fn posted(length: u32) -> Outside {
        let mut outside = Outside::new();
        for side in 0..2 {
            let (index, region) = REGIONS[0];
            outside.registered(side, index, &region, ReadRights::default());
            outside.opened(Time::ZERO, side, QPN_BASE, &qp(side, 0));
        }
        let (index, region) = REGIONS[0];
        let work = gbn::Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length,
            remote_va: region.base,
            remote_key: region.key(index),
            id: 7,
            ..gbn::Work::default()
        };
        outside.posted(Time::ZERO, 0, QPN_BASE, &work);
        outside
    }

    #[test]
    fn success_of_what_was_never_sent_is_found() {
        let mut outside = posted(100);
        let completion = Completion {
            id: 7,
            receive: false,
            status: Status::Success,
            length: 100,
            immediate: 0,
            solicited: false,
            operation: Some(Operation::Write),
        };
        let qpn = QPN_BASE;
        outside.tell(Time::from_ps(1), 0, What::Completed { qpn, completion });
        let found = outside.finish().unwrap_err();
        assert!(
            found.starts_with("the oracle: 0.000001 us, side 0, QP 0x1000: sends."),
            "{found}"
        );
    }

    /// That a NIC drops frames is known when it has dropped one, which has arrived before.
    #[test]
    fn an_answer_that_was_dropped_was_not_taken() {
        let judged = |overflows: bool| {
            let mut pair = Pair::new(1, &|_| {}, 1).unwrap();
            let work = gbn::Work {
                kind: WorkKind::WRITE,
                remote_va: REGIONS[0].1.base,
                remote_key: pair.key[1],
                id: 7,
                ..gbn::Work::default()
            };
            pair.post(0, 0, work);
            while pair.arrivals.len() < 2 {
                pair.step(&mut all).unwrap();
            }
            let mut outside = posted(0);
            let request = pair.frames[0].1.clone();
            outside.see(&pair, |_, index| QPN_BASE + u32::from(index));
            if overflows {
                outside.overflowed(0);
            }
            // The ACK timeout after its request, the request is repeated, although the ACK has come.
            let at = request.start + Duration::from_us(33);
            outside.tell(at, 0, What::Sent(request.bytes.whole().to_vec()));
            outside.oracle.judge_until(at.as_ps() + 1)
        };
        judged(true).unwrap();
        let found = judged(false).unwrap_err().to_string();
        assert!(found.contains("requests."), "{found}");
    }

    #[test]
    fn a_message_that_never_ends_is_found() {
        let found = posted(100).finish().unwrap_err();
        assert!(found.contains("sends.missing"), "{found}");
    }
}
