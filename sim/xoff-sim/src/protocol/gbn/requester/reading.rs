//! READs and atomics at the requester: their responses are counted and checked, and asked for again where one is
//! missing (IBTA volume 1 §9.7.2, §9.7.5.1, §9.7.5.2).
//!
//! This is an addition to [`RequesterQp`] for model NICs. The RTL's requester refuses these work requests, and so does
//! [`RequesterQp::step`], with which it is compared.

use serde::{Deserialize, Serialize};

use super::{
    After, Posted, RequesterContext, RequesterEvent, RequesterNote, RequesterQp, RequesterStep,
    WINDOW_MAX,
};
use crate::protocol::Cycle;
use crate::protocol::gbn::responder::answered::ATOMIC_BYTES;
use crate::protocol::gbn::{Place, QpState, Request, Status, Work, WorkKind};
use crate::wire::{Opcode, Psn, Syndrome, SyndromeMeaning};

/// Fewer PSNs than this are not acknowledged: half of them all, so that each is either ahead or behind.
const PSNS_MAX: u32 = 1 << 23;

/// What the requester of a QP keeps for READs and atomics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Most of them that are asked for and not answered (`max_rd_atomic`).
    limit: usize,
    /// Where a READ was asked again from its inside: the answer begins there, with a First or an Only.
    resumed: Option<Psn>,
    /// Whether it went back for a response that was missing, and none has come since: those behind it are of the old
    /// answer.
    went_back: bool,
    /// How often it went back because of what came behind a response that was missing.
    implied_naks: u64,
}

impl Reading {
    /// At most `limit` READs and atomics unanswered, 1 or more.
    pub fn new(limit: u16) -> Self {
        Self {
            limit: limit.max(1).into(),
            ..Self::default()
        }
    }

    /// Forgets all: the QP is opened.
    pub fn clear(&mut self) {
        *self = Self {
            limit: self.limit,
            ..Self::default()
        };
    }

    /// How often what came behind a missing response was taken for a NAK (IBTA volume 1 §9.7.5.2.8).
    pub const fn implied_naks(&self) -> u64 {
        self.implied_naks
    }
}

/// A READ response or the response of an atomic, as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// Its opcode.
    pub opcode: Opcode,
    /// Its PSN.
    pub psn: Psn,
    /// The syndrome of its AETH; an ACK's if it has none.
    pub syndrome: Syndrome,
    /// Bytes of payload; of an atomic those of the original.
    pub bytes: u16,
}

/// What the requester of a QP with READs takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// What any requester takes.
    Event(RequesterEvent),
    /// A response.
    Response(Returned),
    /// The memory of a packet to be sent is gone.
    LocalFault,
}

impl From<RequesterEvent> for Incoming {
    fn from(event: RequesterEvent) -> Self {
        Self::Event(event)
    }
}

/// What a response at the PSN that is expected is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checked {
    /// The one that is expected.
    Right,
    /// Of an answer that was given before the READ was asked again.
    Stale,
    /// One that cannot be.
    Wrong,
}

impl Posted {
    /// Bytes of a READ that its responses before `psn` carry.
    fn before(&self, psn: Psn, mtu: u32) -> u32 {
        psn.ahead_of(self.first) as u32 * mtu
    }

    /// Where the payload of its response goes.
    fn place(&self, returned: &Returned, mtu: u32) -> Place {
        Place {
            va: (self.work.local_va).wrapping_add(self.before(returned.psn, mtu).into()),
            key: self.work.local_key,
            remote: false,
            bytes: returned.bytes,
        }
    }

    /// Checks a response at `psn`, the next one of this work request. `begins`: an answer begins there.
    fn check(&self, returned: &Returned, begins: bool, mtu: u32) -> Checked {
        let right = |right: bool| match right {
            true => Checked::Right,
            false => Checked::Wrong,
        };
        let bytes = u32::from(returned.bytes);
        if self.work.kind != WorkKind::READ {
            return right(returned.opcode == Opcode::RC_ATOMIC_ACK && bytes == ATOMIC_BYTES);
        }
        let left = self.work.length - self.before(returned.psn, mtu);
        let (first, last) = match returned.opcode {
            Opcode::RC_READ_RESP_FIRST => (true, false),
            Opcode::RC_READ_RESP_MIDDLE => (false, false),
            Opcode::RC_READ_RESP_LAST => (false, true),
            Opcode::RC_READ_RESP_ONLY => (true, true),
            _ => return Checked::Wrong,
        };
        match (begins, first) {
            (true, false) => Checked::Stale,
            (false, true) => Checked::Wrong,
            _ if last => right(left <= mtu && bytes == left),
            _ => right(left > mtu && bytes == mtu),
        }
    }
}

impl RequesterContext {
    /// Whether a packet of `packets` PSNs can follow without a PSN that is both ahead and behind.
    fn has_psns(&self, packets: u32) -> bool {
        self.next_psn.ahead_of(self.una_psn).max(0) as u32 + packets < PSNS_MAX
    }
}

impl RequesterQp {
    /// Work requests from one index of the ring to another.
    fn between(&self, from: u8, to: u8) -> impl Iterator<Item = &Posted> {
        (0..to.wrapping_sub(from)).map(move |place| self.posted(from.wrapping_add(place)))
    }

    /// READs and atomics that were asked for, since the QP last went back, and are not answered.
    fn outstanding(&self) -> impl Iterator<Item = &Posted> {
        let context = &self.context;
        self.between(context.tail, context.current)
            .filter(|posted| posted.work.kind.returns())
    }

    /// The oldest READ or atomic that was ever asked for and is not answered.
    fn oldest_asked(&self) -> Option<Posted> {
        let context = &self.context;
        let asked = |posted: &&Posted| posted.first.ahead_of(context.top_psn) < 0;
        let mut sent = (self.between(context.tail, context.head)).take_while(asked);
        sent.find(|posted| posted.work.kind.returns()).copied()
    }

    /// Whether what answers this QP has to be taken in order with its READ responses.
    pub fn awaits_data(&self) -> bool {
        self.context.state == QpState::Ready && self.oldest_asked().is_some()
    }

    /// Whether a SEND would produce a packet, of a QP with READs.
    pub fn can_send(&self, reading: &Reading) -> bool {
        let context = &self.context;
        if context.state != QpState::Ready || context.current == context.head || context.rnr_wait {
            return false;
        }
        let next = self.posted(context.current);
        let (mut count, mut psns) = (0, 0);
        for asked in self.outstanding() {
            let answered = context.una_psn.ahead_of(asked.first).max(0) as u32;
            psns += asked.packets.saturating_sub(answered);
            count += 1;
        }
        if next.work.fence && count > 0 {
            return false;
        }
        if next.work.kind.returns() {
            return count < reading.limit && context.has_psns(next.packets);
        }
        // The window is one of packets of this side.
        let unacknowledged = context.next_psn.ahead_of(context.una_psn).max(0) as u32;
        let window = match context.configuration.window {
            window @ 1..=WINDOW_MAX => window,
            _ => WINDOW_MAX,
        };
        unacknowledged.saturating_sub(psns) < window && context.has_psns(1)
    }

    /// Performs one step of a QP with READs. A response's payload goes where `Place` says, which `allowed` has
    /// permitted.
    pub fn step_reading(
        &mut self,
        incoming: Incoming,
        now: Cycle,
        reading: &mut Reading,
        allowed: impl FnOnce(&Place) -> bool,
    ) -> (RequesterStep, Option<Place>) {
        let ready = self.context.state == QpState::Ready;
        let event = match incoming {
            Incoming::Response(returned) if ready => {
                return self.respond(&returned, now, reading, allowed);
            }
            Incoming::LocalFault => return (self.fault(), None),
            Incoming::Response(_) => return (RequesterNote::Ignored.into(), None),
            Incoming::Event(event) => event,
        };
        let step = match event {
            RequesterEvent::Post(work) if work.kind.returns() => self.post_read(work),
            RequesterEvent::Send if !self.can_send(reading) => RequesterNote::Blocked.into(),
            RequesterEvent::Send if self.posted(self.context.current).work.kind.returns() => {
                self.ask(now, reading)
            }
            RequesterEvent::Send => self.send(now),
            RequesterEvent::Ack { psn, syndrome } if ready => {
                self.answer_in_order(psn, syndrome, now, reading)
            }
            RequesterEvent::Open { .. } | RequesterEvent::Close => {
                reading.clear();
                self.step(event, now)
            }
            RequesterEvent::Timer => {
                // Nothing of an old answer is under way any more.
                reading.went_back = false;
                self.step(event, now)
            }
            _ => self.step(event, now),
        };
        (step, None)
    }

    /// Where the payload of a response would be written if it were taken now.
    pub fn place_of(&self, returned: &Returned) -> Option<Place> {
        let context = &self.context;
        if context.state != QpState::Ready || returned.bytes == 0 {
            return None;
        }
        let posted = self.oldest_asked()?;
        (returned.psn == posted.next(context.una_psn)).then(|| posted.place(returned, self.mtu()))
    }

    fn post_read(&mut self, work: Work) -> RequesterStep {
        let right = work.kind == WorkKind::READ || work.length == ATOMIC_BYTES;
        self.post(work, right)
    }

    /// Sends a READ, or the rest of one, or an atomic.
    fn ask(&mut self, now: Cycle, reading: &mut Reading) -> RequesterStep {
        let mtu = self.mtu();
        let posted = *self.posted(self.context.current);
        let work = posted.work;
        let context = &mut self.context;
        let psn = context.next_psn;
        let skipped = posted.before(psn, mtu);
        let request = Request {
            opcode: match work.kind {
                WorkKind::CMP_SWAP => Opcode::RC_CMP_SWAP,
                WorkKind::FETCH_ADD => Opcode::RC_FETCH_ADD,
                _ => Opcode::RC_READ_REQUEST,
            },
            psn,
            ack_req: true,
            again: psn.ahead_of(context.top_psn) < 0,
            va: work.remote_va.wrapping_add(skipped.into()),
            rkey: work.remote_key,
            dma_len: match work.kind {
                WorkKind::READ => work.length - skipped,
                _ => 0,
            },
            swap_add: work.swap_add,
            compare: work.compare,
            ..Request::default()
        };
        reading.resumed = match psn == posted.first {
            // That of an older READ, which comes first, stays.
            true => reading.resumed,
            false => Some(psn),
        };
        let end = posted.last().advance(1);
        context.next_psn = end;
        if end.ahead_of(context.top_psn) > 0 {
            context.top_psn = end;
        }
        context.current = context.current.wrapping_add(1);
        context.asked_psn = end;
        context.unasked = 0;
        if !context.timer_runs {
            self.start_ack_timer(now);
        }
        RequesterStep {
            request: Some(request),
            ..RequesterNote::None.into()
        }
    }

    /// Takes a response: the next one acknowledges all before it, one behind it says that it is missing.
    fn respond(
        &mut self,
        returned: &Returned,
        now: Cycle,
        reading: &mut Reading,
        allowed: impl FnOnce(&Place) -> bool,
    ) -> (RequesterStep, Option<Place>) {
        let mtu = self.mtu();
        let context = &self.context;
        let psn = returned.psn;
        let unused = |note: RequesterNote| (note.into(), None);
        if psn.ahead_of(context.una_psn) < 0 {
            return unused(RequesterNote::Stale);
        }
        let Some(posted) = self.oldest_asked() else {
            return unused(RequesterNote::Unsent);
        };
        let expected = posted.next(context.una_psn);
        let ahead = psn.ahead_of(expected);
        if psn.ahead_of(context.top_psn) >= 0 || ahead < 0 {
            return unused(RequesterNote::Unsent);
        }
        if ahead > 0 {
            return (self.missing(&posted, now, reading), None);
        }
        if !matches!(returned.syndrome.meaning(), SyndromeMeaning::Ack(_)) {
            return unused(RequesterNote::Reserved);
        }
        let begins = psn == posted.first || reading.resumed == Some(psn);
        let checked = posted.check(returned, begins, mtu);
        if checked == Checked::Stale {
            return unused(RequesterNote::Stale);
        }
        self.acknowledge_before(&posted, now);
        let place = posted.place(returned, mtu);
        let refused = match checked {
            Checked::Wrong => Some(Status::BadResponse),
            _ => (place.bytes > 0 && !allowed(&place)).then_some(Status::LocalAccess),
        };
        if let Some(status) = refused {
            self.fail(status);
            return (self.answered(RequesterNote::RemoteError), None);
        }
        reading.went_back = false;
        reading.resumed.take_if(|resumed| *resumed == psn);
        self.acknowledge(psn, now);
        let step = self.answered(RequesterNote::Progress);
        (step, (place.bytes > 0).then_some(place))
    }

    /// Acknowledges what is before a READ or an atomic that is answered.
    fn acknowledge_before(&mut self, posted: &Posted, now: Cycle) {
        if posted.first.ahead_of(self.context.una_psn) > 0 {
            self.acknowledge(posted.first.advance(Psn::MAX.get()), now);
        }
    }

    /// Takes an ACK or a NAK. One behind a READ or an atomic that is not answered says that the response is missing.
    fn answer_in_order(
        &mut self,
        psn: Psn,
        syndrome: Syndrome,
        now: Cycle,
        reading: &mut Reading,
    ) -> RequesterStep {
        let context = &self.context;
        let sent = psn.ahead_of(context.una_psn) >= 0 && psn.ahead_of(context.top_psn) < 0;
        let behind = |posted: &Posted| {
            let ahead = psn.ahead_of(posted.next(context.una_psn));
            match syndrome.meaning() {
                SyndromeMeaning::Reserved => false,
                SyndromeMeaning::Ack(_) => ahead >= 0,
                _ => ahead > 0,
            }
        };
        match self.oldest_asked().filter(behind) {
            Some(posted) if sent => self.missing(&posted, now, reading),
            _ => self.answer(psn, syndrome, now),
        }
    }

    /// Goes back to a READ or an atomic of which a response is missing (IBTA volume 1 §9.7.5.2.8).
    fn missing(&mut self, posted: &Posted, now: Cycle, reading: &mut Reading) -> RequesterStep {
        let begun = self.context.una_psn.ahead_of(posted.first) >= 0;
        self.acknowledge_before(posted, now);
        if reading.went_back && begun || self.context.rnr_wait {
            return self.answered(RequesterNote::Stale);
        }
        reading.went_back = true;
        reading.implied_naks += 1;
        let note = match self.context.configuration.nak_retry {
            true => self.use_up_retry(RequesterNote::None),
            false => {
                self.rewind();
                RequesterNote::None
            }
        };
        debug_assert!(self.context.after != After::None);
        self.answered(note)
    }
}

impl Posted {
    /// The PSN of the next response, when all before `una` are acknowledged.
    fn next(&self, una: Psn) -> Psn {
        match una.ahead_of(self.first) > 0 {
            true => una,
            false => self.first,
        }
    }
}

#[cfg(test)]
mod tests;
