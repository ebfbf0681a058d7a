//! The oracle beside a case: what went into two NICs and what came out, judged by rules that share nothing with them.

use xoff_oracle::{
    Buffer, Completion, Fact, Operation, Options, Oracle, Ps, Qp, Region, Status, What, Work,
};
use xoff_sim::host::memory::content;
use xoff_sim::nic::{self, QpSettings};
use xoff_sim::protocol::gbn::{self, WorkKind, mtu_bytes};
use xoff_sim::time::{Duration, Time};

use super::pair::{PERIOD, Pair};
use crate::property::Disagreement;

/// For how long after what they describe facts may be told.
const LATE: Duration = Duration::from_us(3);
/// Cycles for which a host may stall: the longest stall of a case's text, or some of those that are drawn.
const STALL_MAX: u64 = u16::MAX as u64;
/// Unit of an ACK timeout: volume 1, 9.9.2.1.1.
const TIMEOUT: Ps = 4_096_000;

const OPERATIONS: [(WorkKind, Operation); 5] = [
    (WorkKind::SEND, Operation::Send),
    (WorkKind::SEND_IMM, Operation::SendImmediate),
    (WorkKind::SEND_INV, Operation::SendInvalidate),
    (WorkKind::WRITE, Operation::Write),
    (WorkKind::WRITE_IMM, Operation::WriteImmediate),
];

fn of_kind(kind: WorkKind) -> Option<Operation> {
    let same = |(other, operation)| (other == kind).then_some(operation);
    OPERATIONS.into_iter().find_map(same)
}

/// The operation of a completion: at the receiver that of the message's last packet.
fn operation(completion: &gbn::Completion) -> Option<Operation> {
    if !completion.receive {
        return of_kind(WorkKind(completion.operation));
    }
    let last = |(kind, operation): (WorkKind, Operation)| {
        let opcodes = [false, true].map(|first| kind.opcode(first, true).0);
        opcodes.contains(&completion.operation).then_some(operation)
    };
    let whole = completion.status == gbn::Status::Success;
    OPERATIONS.into_iter().find_map(last).filter(|_| whole)
}

const fn status(status: gbn::Status) -> Status {
    match status {
        gbn::Status::Success => Status::Success,
        gbn::Status::LocalLength => Status::LocalLength,
        gbn::Status::Flushed => Status::Flushed,
        gbn::Status::RetryExceeded => Status::RetryExceeded,
        gbn::Status::RnrExceeded => Status::RnrExceeded,
        gbn::Status::RemoteInvalid => Status::RemoteInvalid,
        gbn::Status::RemoteAccess => Status::RemoteAccess,
        gbn::Status::RemoteOperate => Status::RemoteOperation,
        gbn::Status::LocalAccess => Status::LocalAccess,
        gbn::Status::BadResponse => Status::BadResponse,
    }
}

/// An oracle, and how much it has been told of a pair.
pub struct Outside {
    oracle: Oracle<fn(usize, u64) -> u8>,
    /// Frames sent, and frames that arrived.
    frames: [usize; 2],
    /// Completions and writes, by side.
    results: [[usize; 2]; 2],
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
        }
    }

    fn tell(&mut self, at: Time, side: usize, what: What) {
        let at = at.as_ps();
        self.oracle.tell(Fact { at, side, what });
    }

    /// A region was registered, before anything else.
    pub fn registered(&mut self, side: usize, index: u16, region: &nic::Region) {
        let what = What::Registered(Region {
            base: region.base,
            length: region.length,
            key: region.key(index),
            local_write: region.local_write,
            remote_write: region.remote_write,
            // The RTL has no READ and no atomics.
            remote_read: false,
            remote_atomic: false,
        });
        self.tell(Time::ZERO, side, what);
    }

    /// The region with this key is being withdrawn.
    pub fn withdrawn(&mut self, at: Time, side: usize, key: u32) {
        self.tell(at, side, What::Removing { key });
    }

    /// A QP was opened.
    pub fn opened(&mut self, at: Time, side: usize, qpn: u32, settings: &QpSettings) {
        let requester = &settings.requester;
        let what = What::Opened(Qp {
            qpn,
            peer_qpn: settings.peer_qpn,
            first_psn: settings.requester_psn.into(),
            peer_first_psn: settings.responder_psn.into(),
            mtu: mtu_bytes(requester.mtu),
            timeout: (requester.timeout > 0).then(|| TIMEOUT << requester.timeout),
            retries: requester.retry,
            rnr_retries: requester.rnr_retry,
            restart: requester.restart,
            window: Some(requester.window),
            reads: None,
        });
        self.tell(at, side, what);
    }

    /// A QP was closed.
    pub fn closed(&mut self, at: Time, side: usize, qpn: u32) {
        self.tell(at, side, What::Closed { qpn });
    }

    /// A work request was posted.
    pub fn posted(&mut self, at: Time, side: usize, qpn: u32, work: &gbn::Work) {
        let Some(operation) = of_kind(work.kind) else {
            unreachable!("no other is drawn: {work:?}")
        };
        let work = Work {
            id: work.id,
            operation,
            signaled: work.signaled,
            solicited: work.solicited,
            fence: work.fence,
            length: work.length,
            va: work.local_va,
            key: work.local_key,
            remote_va: work.remote_va,
            remote_key: work.remote_key,
            immediate: work.imm,
            swap_add: work.swap_add,
            compare: work.compare,
        };
        self.tell(at, side, What::Posted { qpn, work });
    }

    /// A receive buffer was posted.
    pub fn buffer(&mut self, at: Time, side: usize, qpn: u32, buffer: &gbn::Recv) {
        let buffer = Buffer {
            id: buffer.id,
            length: buffer.length,
            va: buffer.local_va,
            key: buffer.local_key,
        };
        self.tell(at, side, What::Buffer { qpn, buffer });
    }

    /// Takes in what a pair has done since the last time. `qpn` gives the number of a side's QP by its index.
    pub fn see(&mut self, pair: &Pair, qpn: impl Fn(usize, u16) -> u32) {
        let [sent, arrived] = self.frames;
        for (side, frame, _) in &pair.frames[sent..] {
            self.tell(frame.start, *side, What::Sent(frame.bytes.to_vec()));
        }
        for (side, frame) in &pair.arrivals[arrived..] {
            self.tell(frame.end, *side, What::Arrived(frame.bytes.to_vec()));
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
                let completion = Completion {
                    id: it.id,
                    receive: it.receive,
                    status: status(it.status),
                    length: it.length,
                    immediate: it.imm,
                    solicited: it.solicited,
                    operation: operation(it),
                };
                let qpn = qpn(side, *index);
                self.tell(now, side, What::Completed { qpn, completion });
            }
            self.results[side] = [completions.len(), written.len()];
        }
    }

    /// A side has dropped frames because its buffer was full.
    pub fn overflowed(&mut self, at: Time, side: usize) {
        self.tell(at, side, What::Overflowed);
    }

    /// Judges what is known by now.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn judge(&mut self, pair: &Pair) -> Result<(), Disagreement> {
        let until = pair.watched().as_ps().saturating_sub(LATE.as_ps());
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
    use super::super::pair::{QPN_BASE, REGIONS, qp};
    use super::*;

    /// Two NICs with a QP each, of which side 0 has posted a WRITE.
    fn posted() -> Outside {
        let mut outside = Outside::new();
        for side in 0..2 {
            let (index, region) = REGIONS[0];
            outside.registered(side, index, &region);
            outside.opened(Time::ZERO, side, QPN_BASE, &qp(side, 0));
        }
        let (index, region) = REGIONS[0];
        let work = gbn::Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: 100,
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
        let mut outside = posted();
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

    #[test]
    fn a_message_that_never_ends_is_found() {
        let found = posted().finish().unwrap_err();
        assert!(found.contains("sends.missing"), "{found}");
    }
}
