//! READs and atomics at the requester: their responses are counted and checked, and asked for again where one is
//! missing (IBTA volume 1 §9.7.2, §9.7.5.1, §9.7.5.2).
//!
//! This is an addition to [`RequesterQp`], whose [`step`](RequesterQp::step) refuses these work requests. It looks for
//! READs in the ring, where the RTL has a queue of them; [`AskedReads`] is what both say of them.

use serde::{Deserialize, Serialize};

use super::{
    After, Posted, RequesterContext, RequesterEvent, RequesterNote, RequesterQp, RequesterStep,
};
use crate::protocol::Cycle;
use crate::protocol::gbn::responder::answered::ATOMIC_BYTES;
use crate::protocol::gbn::{Place, QpState, Request, Status, Work, WorkKind};
use crate::wire::{NakCode, Opcode, Psn, Syndrome, SyndromeMeaning};

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
}

/// What the context of a QP says of READs and atomics (`asking_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AskedReads {
    /// Those that were ever asked for and are not answered.
    pub unanswered: u8,
    /// Those of them that were asked for since the QP last went back.
    pub asked: u8,
    /// The first PSN of the oldest one; 0 if there is none.
    pub first_psn: Psn,
    /// Responses to come of those asked for since the QP last went back.
    pub psns: u32,
    /// Where a READ was asked again from its inside.
    pub resumed: Option<Psn>,
    /// The QP went back for a missing response, and none has come since.
    pub went_back: bool,
    /// A SEND found that its work has to wait for READs, and nothing has been acknowledged since.
    pub blocked: bool,
}

impl AskedReads {
    /// The QP goes back: what is not answered is asked again.
    pub(super) const fn go_back(&mut self) {
        (self.asked, self.psns, self.blocked) = (0, 0, false);
    }
}

/// A READ response or the response of an atomic, as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The PSN from which on packets of the QP may be wanted on the wire. The request of a READ is wanted until all of
    /// it is answered: if it is asked for again, responses of the answer before may come in the meantime, and not all of
    /// them.
    pub fn oldest_wanted(&self) -> Psn {
        let AskedReads {
            unanswered,
            first_psn,
            ..
        } = self.asking;
        match unanswered > 0 && first_psn.ahead_of(self.una_psn) < 0 {
            true => first_psn,
            false => self.una_psn,
        }
    }

    /// Whether PSNs up to `last` can be in use without one that is both ahead and behind.
    fn has_psns_to(&self, last: Psn) -> bool {
        (0..PSNS_MAX as i32 - 1).contains(&last.ahead_of(self.una_psn))
    }
}

impl RequesterQp {
    /// Work requests from one index of the ring to another.
    pub(super) fn between(&self, from: u8, to: u8) -> impl Iterator<Item = &Posted> {
        (0..to.wrapping_sub(from)).map(move |place| self.posted(from.wrapping_add(place)))
    }

    /// READs and atomics that were asked for, since the QP last went back, and are not answered.
    fn outstanding(&self) -> impl Iterator<Item = &Posted> {
        let context = &self.context;
        self.between(context.tail, context.current)
            .filter(|posted| posted.work.kind.returns())
    }

    /// READs and atomics in the ring that were ever asked for.
    fn ever_asked(&self) -> impl Iterator<Item = &Posted> {
        let context = &self.context;
        self.between(context.tail, context.head)
            .take_while(|posted| posted.first.ahead_of(context.top_psn) < 0)
            .filter(|posted| posted.work.kind.returns())
    }

    /// The oldest one of them that is not answered.
    fn oldest_asked(&self) -> Option<Posted> {
        self.ever_asked().next().copied()
    }

    /// Whether what answers this QP has to be taken in order with its READ responses.
    pub const fn awaits_data(&self) -> bool {
        self.context.asking.unanswered > 0
    }

    /// Whether a SEND would produce a packet, of a QP with READs.
    pub fn can_send(&self, reading: &Reading) -> bool {
        let context = &self.context;
        let next = self.posted(context.current);
        let count = usize::from(context.asking.asked);
        context.may_send()
            && !(next.work.fence && count > 0)
            && match next.work.kind.returns() {
                true => count < reading.limit && context.has_psns_to(next.last()),
                false => context.has_psns_to(context.next_psn),
            }
    }

    /// What the context says of READs.
    fn asked_reads(&self, reading: &Reading) -> AskedReads {
        let context = &self.context;
        if context.state != QpState::Ready {
            return AskedReads::default();
        }
        let mut asking = AskedReads {
            resumed: reading.resumed,
            went_back: reading.went_back,
            blocked: context.asking.blocked,
            ..AskedReads::default()
        };
        let unanswered = |posted: &&Posted| posted.last().ahead_of(context.una_psn) >= 0;
        for posted in self.ever_asked().filter(unanswered) {
            if asking.unanswered == 0 {
                asking.first_psn = posted.first;
            }
            asking.unanswered += 1;
        }
        for posted in self.outstanding().filter(unanswered) {
            let answered = context.una_psn.ahead_of(posted.first).max(0) as u32;
            asking.psns += posted.packets - answered;
            asking.asked += 1;
        }
        asking
    }

    /// Performs one step of a QP with READs. A response's payload goes to a place that `allowed` has permitted.
    pub fn step_reading(
        &mut self,
        event: RequesterEvent,
        now: Cycle,
        reading: &mut Reading,
        allowed: impl FnOnce(&Place) -> bool,
    ) -> RequesterStep {
        let (una, sendable) = (self.context.una_psn, self.context.sendable());
        let step = self.event_reading(event, now, reading, allowed);
        let asking = &mut self.context.asking;
        match event {
            RequesterEvent::Send if step.note == RequesterNote::Blocked => {
                asking.blocked |= sendable;
            }
            _ => asking.blocked &= self.context.una_psn == una,
        }
        self.context.asking = self.asked_reads(reading);
        step
    }

    fn event_reading(
        &mut self,
        event: RequesterEvent,
        now: Cycle,
        reading: &mut Reading,
        allowed: impl FnOnce(&Place) -> bool,
    ) -> RequesterStep {
        let ready = self.context.state == QpState::Ready;
        match event {
            RequesterEvent::Response(returned) if ready => {
                self.respond(&returned, now, reading, allowed)
            }
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
        }
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
        let psn = self.context.next_psn;
        let skipped = posted.before(psn, mtu);
        let is_oldest = self.outstanding().next().is_none();
        let context = &mut self.context;
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
            swap_add: if work.kind.is_atomic() {
                work.swap_add
            } else {
                0
            },
            compare: if work.kind.is_atomic() {
                work.compare
            } else {
                0
            },
            ..Request::default()
        };
        reading.resumed = match psn == posted.first {
            true if is_oldest => None,
            // That of an older READ, which is answered first, stays.
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
    ) -> RequesterStep {
        let mtu = self.mtu();
        let context = &self.context;
        let psn = returned.psn;
        if psn.ahead_of(context.una_psn) < 0 {
            return RequesterNote::Stale.into();
        }
        let Some(posted) = self.oldest_asked() else {
            return RequesterNote::Unsent.into();
        };
        let expected = posted.next(context.una_psn);
        let ahead = psn.ahead_of(expected);
        if psn.ahead_of(context.top_psn) >= 0 || ahead < 0 {
            return RequesterNote::Unsent.into();
        }
        if ahead > 0 {
            return self.missing(&posted, now, reading);
        }
        if !matches!(returned.syndrome.meaning(), SyndromeMeaning::Ack(_)) {
            return RequesterNote::Reserved.into();
        }
        let begins = psn == posted.first || reading.resumed == Some(psn);
        let checked = posted.check(returned, begins, mtu);
        if checked == Checked::Stale {
            return RequesterNote::Stale.into();
        }
        let place = posted.place(returned, mtu);
        let refused = match checked {
            Checked::Wrong => Some(Status::BadResponse),
            _ => (place.bytes > 0 && !allowed(&place)).then_some(Status::LocalAccess),
        };
        if let Some(status) = refused {
            // No timer starts, not even for a moment.
            let deadline = self.context.deadline;
            self.acknowledge_before(&posted, now);
            self.context.deadline = deadline;
            self.fail(status);
            return self.answered(RequesterNote::RemoteError);
        }
        reading.went_back = false;
        reading.resumed.take_if(|resumed| *resumed == psn);
        self.acknowledge(psn, now);
        RequesterStep {
            place: (place.bytes > 0).then_some(place),
            ..self.answered(RequesterNote::Progress)
        }
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
                SyndromeMeaning::Reserved | SyndromeMeaning::Nak(NakCode::InvalidRdRequest) => {
                    false
                }
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
        let note = match self.context.configuration.nak_retry {
            true => self.use_up_retry(RequesterNote::Implied),
            false => {
                self.rewind();
                RequesterNote::Implied
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
