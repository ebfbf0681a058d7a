//! The requester: divides messages into packets, keeps the PSN window, goes back after losses.

use serde::{Deserialize, Serialize};

use super::types::{MESSAGE_BYTES_MAX, MESSAGE_PACKETS_MAX};
use super::{Completion, Place, QpState, Request, Status, Times, Work, WorkKind, mtu_bytes};
use crate::protocol::Cycle;
use crate::wire::{NakCode, Psn, RnrTimer, Syndrome, SyndromeMeaning};

pub mod reading;
pub mod selective;

use reading::{AskedReads, Returned};
use selective::Scoreboard;

/// The largest window. 0 and larger values stand for it.
const WINDOW_MAX: u32 = 1 << 22;
/// An RNR retry count that is never used up (IBTA volume 1).
const RNR_FOREVER: u8 = 7;

/// The configuration that software chooses for a QP's requester (`requester_config_t`). All 0 is that of
/// a closed QP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequesterConfig {
    /// Code of the path MTU: 256 « mtu bytes; 5 to 7 count as 4.
    pub mtu: u8,
    /// Code of the ACK timeout: 4.096 µs « timeout, 1 to 31; 0: off.
    pub timeout: u8,
    /// How many consecutive timeouts and NAKs for a sequence error are tolerated, together, 0 to 7. What acknowledges a
    /// packet begins the count again.
    pub retry: u8,
    /// Whether a NAK for a sequence error uses up a retry, as the standard wants it (IBTA volume 1, 9.9.2.1); `false`:
    /// only timeouts do.
    pub nak_retry: bool,
    /// How many consecutive RNR NAKs are tolerated, 0 to 6; 7: unlimited.
    pub rnr_retry: u8,
    /// Every how many packets an ACK is asked for; 0: never for this reason. The last packet of a message, and a
    /// packet that fills the window, always ask for one.
    pub ack_every: u8,
    /// Most packets that may be unacknowledged; 0 and more than 2^22 count as 2^22. 23 bits.
    pub window: u32,
    /// Go-back-0: a retransmission starts at the first packet of the message.
    pub restart: bool,
    /// READs that may be unanswered (`max_rd_atomic`), 1 to 16; 0 and more than the RTL's unit has count as these. Model
    /// NICs are told otherwise.
    #[serde(default)]
    pub reads: u8,
}

/// What a walk does once it has completed everything that is acknowledged (`after_e`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// Nothing.
    #[default]
    None,
    /// Go back to the oldest packet that is not acknowledged.
    Rewind,
    /// Put the QP into the error state.
    Fail,
}

/// The state of the requester for one QP (`requester_context_t`). Head, current and tail count modulo 256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the package says what they are")]
pub struct RequesterContext {
    pub state: QpState,
    pub configuration: RequesterConfig,
    pub head: u8,
    pub current: u8,
    pub tail: u8,
    pub post_psn: Psn,
    pub next_psn: Psn,
    pub top_psn: Psn,
    pub una_psn: Psn,
    pub asked_psn: Psn,
    pub unasked: u8,
    pub retries: u8,
    pub rnr_retries: u8,
    pub after: After,
    pub status: Status,
    pub rnr_wait: bool,
    pub timer_runs: bool,
    pub deadline: Cycle,
    pub asking: AskedReads,
    pub unread: Option<Psn>,
}

impl RequesterContext {
    /// Whether a SEND would produce a packet, unless its work has to wait for READs.
    pub fn sendable(&self) -> bool {
        self.may_send() && !self.asking.blocked
    }

    /// The same, whatever a SEND has found of READs. PSNs of responses are no packets of this side.
    fn may_send(&self) -> bool {
        let sent = self.next_psn.ahead_of(self.una_psn).max(0) as u32;
        self.state == QpState::Ready
            && self.current != self.head
            && !self.rnr_wait
            && self.unread.is_none()
            && sent.saturating_sub(self.asking.psns) < self.window()
    }

    /// The PSN from which on packets of the QP are not wanted on the wire: not granted, or from one on whose payload
    /// cannot be read.
    pub fn end_wanted(&self) -> Psn {
        self.unread.unwrap_or(self.next_psn)
    }

    /// When a TIMER step is due.
    pub fn due(&self) -> Option<Cycle> {
        self.timer_runs.then_some(self.deadline)
    }

    /// Packets that may be unacknowledged.
    const fn window(&self) -> u32 {
        match self.configuration.window {
            window @ 1..=WINDOW_MAX => window,
            _ => WINDOW_MAX,
        }
    }

    /// Whether the window has no room for packets after those before `psn`.
    fn window_full_at(&self, psn: Psn) -> bool {
        psn.ahead_of(self.una_psn) >= self.window() as i32
    }
}

/// An event of a QP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequesterEvent {
    /// The QP is opened.
    Open {
        /// The configuration that software chooses.
        configuration: RequesterConfig,
        /// PSN of the first packet.
        psn: Psn,
    },
    /// The QP is closed.
    Close,
    /// A work request is posted.
    Post(Work),
    /// The QP may send a packet.
    Send,
    /// An answer was received.
    Ack {
        /// PSN of the answer.
        psn: Psn,
        /// Syndrome of the answer.
        syndrome: Syndrome,
    },
    /// A READ response was received, or the response of an atomic.
    Response(Returned),
    /// The payload of a packet that was to be sent cannot be read.
    Unread {
        /// PSN of the packet.
        psn: Psn,
    },
    /// The QP's deadline has passed. Generated by the unit itself.
    Timer,
    /// The QP's responder has failed.
    Fail,
    /// The QP has something to walk. Generated by the unit itself.
    Walk,
    /// An event from outside with a kind, 5, 6 or 10 to 15, that has no meaning there.
    Other(u8),
}

/// The outcome of a step (`requester_note_e`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the package says what they are")]
pub enum RequesterNote {
    None,
    Progress,
    Stale,
    Unsent,
    Reserved,
    Nak,
    Rnr,
    RemoteError,
    Timeout,
    RnrOver,
    Exhausted,
    Blocked,
    RefusedFull,
    RefusedState,
    RefusedWork,
    Ignored,
    Implied,
    Unreadable,
}

impl RequesterNote {
    /// All notes, in the order of their codes.
    pub const ALL: [Self; 18] = [
        Self::None,
        Self::Progress,
        Self::Stale,
        Self::Unsent,
        Self::Reserved,
        Self::Nak,
        Self::Rnr,
        Self::RemoteError,
        Self::Timeout,
        Self::RnrOver,
        Self::Exhausted,
        Self::Blocked,
        Self::RefusedFull,
        Self::RefusedState,
        Self::RefusedWork,
        Self::Ignored,
        Self::Implied,
        Self::Unreadable,
    ];
}

/// The results of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterStep {
    /// The outcome.
    pub note: RequesterNote,
    /// A packet to send.
    pub request: Option<Request>,
    /// A work request that ended.
    pub completion: Option<Completion>,
    /// Where the payload of a response goes.
    pub place: Option<Place>,
    /// Whether a WALK step comes next.
    pub walk: bool,
}

impl From<RequesterNote> for RequesterStep {
    fn from(note: RequesterNote) -> Self {
        Self {
            note,
            request: None,
            completion: None,
            place: None,
            walk: false,
        }
    }
}

impl RequesterStep {
    fn walk(note: RequesterNote) -> Self {
        Self {
            walk: true,
            ..note.into()
        }
    }
}

/// A work request in the ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// The work request.
    pub work: Work,
    /// PSN of its first packet.
    pub first: Psn,
    /// Number of its packets.
    pub packets: u32,
}

impl Posted {
    fn last(&self) -> Psn {
        self.first.advance(self.packets - 1)
    }

    fn completion(&self, status: Status) -> Completion {
        Completion {
            receive: false,
            status,
            id: self.work.id,
            operation: self.work.kind.0,
            length: match status {
                Status::Success => self.work.length,
                _ => 0,
            },
            ..Completion::default()
        }
    }
}

/// A QP of the requester: context and ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterQp {
    /// The context.
    pub context: RequesterContext,
    ring: Vec<Posted>,
    times: Times,
    /// What has arrived, if the QP repeats selectively.
    scoreboard: Option<Box<Scoreboard>>,
}

impl RequesterQp {
    /// Creates a closed QP with a ring of `slots` (a power of two, 2 to 128).
    pub fn new(slots: usize, times: Times) -> Self {
        Self {
            context: RequesterContext::default(),
            ring: vec![Posted::default(); slots],
            times,
            scoreboard: None,
        }
    }

    /// The work request at an index of the ring.
    pub fn posted(&self, index: u8) -> &Posted {
        &self.ring[usize::from(index) % self.ring.len()]
    }

    /// Number of slots of the ring.
    pub fn slots(&self) -> usize {
        self.ring.len()
    }

    /// Performs one step at `now`.
    pub fn step(&mut self, event: RequesterEvent, now: Cycle) -> RequesterStep {
        let ready = self.context.state == QpState::Ready;
        match event {
            RequesterEvent::Open { configuration, psn } => self.open(configuration, psn),
            RequesterEvent::Close => {
                self.context = RequesterContext::default();
                self.scoreboard = None;
                RequesterNote::None.into()
            }
            RequesterEvent::Post(work) => self.post(work, work.kind.0 <= WorkKind::WRITE_IMM.0),
            RequesterEvent::Send => self.send_next(now),
            RequesterEvent::Ack { psn, syndrome } if ready => self.answer(psn, syndrome, now),
            RequesterEvent::Ack { .. } | RequesterEvent::Response(_) | RequesterEvent::Other(_) => {
                RequesterNote::Ignored.into()
            }
            RequesterEvent::Fail if ready => self.fail_with_the_other_half(),
            RequesterEvent::Unread { psn } if ready => self.unread(psn),
            RequesterEvent::Fail | RequesterEvent::Unread { .. } => RequesterNote::Ignored.into(),
            RequesterEvent::Timer => self.time_out(),
            RequesterEvent::Walk => self.walk(),
        }
    }

    fn open(&mut self, configuration: RequesterConfig, psn: Psn) -> RequesterStep {
        self.context = RequesterContext {
            state: QpState::Ready,
            configuration,
            post_psn: psn,
            next_psn: psn,
            top_psn: psn,
            una_psn: psn,
            asked_psn: psn,
            retries: configuration.retry,
            rnr_retries: configuration.rnr_retry,
            ..RequesterContext::default()
        };
        self.scoreboard = None;
        RequesterNote::None.into()
    }

    /// Sends nothing from a packet on whose payload cannot be read. Its work request fails when those before it are
    /// complete.
    fn unread(&mut self, psn: Psn) -> RequesterStep {
        let context = &mut self.context;
        if psn.ahead_of(context.una_psn) < 0 || psn.ahead_of(context.end_wanted()) >= 0 {
            return RequesterNote::Stale.into();
        }
        context.unread = Some(psn);
        RequesterStep::walk(RequesterNote::None)
    }

    /// The error state belongs to the whole QP (IBTA volume 1): all outstanding work requests are flushed.
    fn fail_with_the_other_half(&mut self) -> RequesterStep {
        let context = &mut self.context;
        context.timer_runs = false;
        context.rnr_wait = false;
        context.status = Status::Flushed;
        if context.head == context.tail {
            context.state = QpState::Error;
            context.asking = AskedReads::default();
            return RequesterNote::None.into();
        }
        context.after = After::Fail;
        RequesterStep::walk(RequesterNote::None)
    }

    /// Restarts a due ACK timer, because the packet that it waits for was not away for the timeout T by `now`. `left`
    /// is when the packet was sent; `None` if it has not been sent yet.
    pub fn hold(&mut self, left: Option<Cycle>, now: Cycle) {
        self.start_ack_timer(left.unwrap_or(now));
    }

    /// The timeout T in cycles; `None` if the ACK timer is off.
    pub fn timeout(&self) -> Option<u64> {
        let context = &self.context;
        let code = context.configuration.timeout;
        let outstanding = context.next_psn.ahead_of(context.una_psn);
        self.times.timeout(match &self.scoreboard {
            None => code,
            Some(board) => board.timeout(code, outstanding),
        })
    }

    fn mtu(&self) -> u32 {
        mtu_bytes(self.context.configuration.mtu)
    }

    fn post(&mut self, work: Work, supported: bool) -> RequesterStep {
        let packets = work.packets(self.mtu());
        let slots = self.ring.len();
        let context = &mut self.context;
        if context.state == QpState::Closed {
            return RequesterNote::RefusedState.into();
        }
        if !supported || work.length > MESSAGE_BYTES_MAX || packets > MESSAGE_PACKETS_MAX {
            return RequesterNote::RefusedWork.into();
        }
        if usize::from(context.head.wrapping_sub(context.tail)) == slots {
            return RequesterNote::RefusedFull.into();
        }
        self.ring[usize::from(context.head) % slots] = Posted {
            work,
            first: context.post_psn,
            packets,
        };
        context.head = context.head.wrapping_add(1);
        context.post_psn = context.post_psn.advance(packets);
        RequesterStep {
            walk: context.state == QpState::Error,
            ..RequesterNote::None.into()
        }
    }

    /// Sends what is missing, or the next packet.
    fn send_next(&mut self, now: Cycle) -> RequesterStep {
        let repeated = self.next_missing().and_then(|psn| self.repeat(psn, now));
        match repeated {
            Some(step) => step,
            None if self.context.sendable() => self.send(now),
            None => RequesterNote::Blocked.into(),
        }
    }

    /// A packet of a work request.
    fn request(&self, posted: &Posted, psn: Psn, ack_req: bool) -> Request {
        let mtu = self.mtu();
        let Posted {
            work,
            first,
            packets,
        } = *posted;
        let i = psn.ahead_of(first) as u32;
        let (is_first, is_last) = (i == 0, i + 1 == packets);
        let offset = u64::from(i) * u64::from(mtu);
        let payload_bytes = match is_last {
            true => work.length - i * mtu,
            false => mtu,
        };
        let reth = work.kind.writes() && is_first;
        Request {
            opcode: work.kind.opcode(is_first, is_last),
            psn,
            ack_req,
            solicited: work.solicited && is_last,
            again: psn.ahead_of(self.context.top_psn) < 0,
            payload_bytes: payload_bytes as u16,
            local_va: work.local_va.wrapping_add(offset),
            local_key: work.local_key,
            va: if reth { work.remote_va } else { 0 },
            rkey: if reth { work.remote_key } else { 0 },
            dma_len: if reth { work.length } else { 0 },
            imm: match is_last && work.kind.has_imm() {
                true => work.imm,
                false => 0,
            },
            swap_add: 0,
            compare: 0,
        }
    }

    fn send(&mut self, now: Cycle) -> RequesterStep {
        let posted = *self.posted(self.context.current);
        let context = &self.context;
        let psn = context.next_psn;
        let next = psn.advance(1);
        let is_last = psn == posted.last();
        let every = context.configuration.ack_every;
        let ack_req = is_last
            || every != 0 && u32::from(context.unasked) + 1 >= u32::from(every)
            || context.window_full_at(next);
        let request = self.request(&posted, psn, ack_req);
        let context = &mut self.context;
        context.next_psn = next;
        if next.ahead_of(context.top_psn) > 0 {
            context.top_psn = next;
        }
        if is_last {
            context.current = context.current.wrapping_add(1);
        }
        if ack_req {
            context.asked_psn = next;
            context.unasked = 0;
            if !context.timer_runs {
                self.start_ack_timer(now);
            }
        } else {
            context.unasked = context.unasked.saturating_add(1);
        }
        RequesterStep {
            request: Some(request),
            ..RequesterNote::None.into()
        }
    }

    /// Starts the ACK timer, unless the timeout is off.
    fn start_ack_timer(&mut self, now: Cycle) {
        if let Some(cycles) = self.timeout() {
            self.context.timer_runs = true;
            self.context.deadline = Cycle(now.0 + cycles);
        }
    }

    fn answer(&mut self, psn: Psn, syndrome: Syndrome, now: Cycle) -> RequesterStep {
        let meaning = syndrome.meaning();
        // The standard's syndrome 0x64, invalid RD request, is for a service that is not supported here.
        if matches!(
            meaning,
            SyndromeMeaning::Reserved | SyndromeMeaning::Nak(NakCode::InvalidRdRequest)
        ) {
            return RequesterNote::Reserved.into();
        }
        let context = &self.context;
        let nak = !matches!(meaning, SyndromeMeaning::Ack(_));
        let low = match nak && context.configuration.restart && context.tail != context.head {
            true => self.posted(context.tail).first,
            false => context.una_psn,
        };
        if psn.ahead_of(low) < 0 {
            return RequesterNote::Stale.into();
        }
        if psn.ahead_of(context.top_psn) >= 0 {
            return RequesterNote::Unsent.into();
        }
        if !nak {
            self.acknowledge(psn, now);
            return self.answered(RequesterNote::Progress);
        }
        let progress = psn.ahead_of(self.context.una_psn) > 0;
        if progress {
            self.acknowledge(psn.advance(Psn::MAX.get()), now);
        }
        let note = match meaning {
            SyndromeMeaning::RnrNak(_) | SyndromeMeaning::Nak(NakCode::PsnSequenceError)
                if self.context.rnr_wait =>
            {
                match progress {
                    true => RequesterNote::Progress,
                    false => RequesterNote::Stale,
                }
            }
            SyndromeMeaning::RnrNak(timer) => self.not_ready(timer, now),
            SyndromeMeaning::Nak(NakCode::PsnSequenceError) if self.is_selective() => {
                RequesterNote::Nak
            }
            SyndromeMeaning::Nak(NakCode::PsnSequenceError) => {
                if self.context.configuration.nak_retry {
                    self.use_up_retry(RequesterNote::Nak)
                } else {
                    self.rewind();
                    RequesterNote::Nak
                }
            }
            SyndromeMeaning::Nak(code) => {
                self.fail(match code {
                    NakCode::RemoteAccessError => Status::RemoteAccess,
                    NakCode::RemoteOperationalError => Status::RemoteOperate,
                    _ => Status::RemoteInvalid,
                });
                RequesterNote::RemoteError
            }
            SyndromeMeaning::Ack(_) | SyndromeMeaning::Reserved => unreachable!("answered above"),
        };
        self.answered(note)
    }

    /// The step of an answer: completes the oldest message if it is acknowledged. The QP walks if the next one may be,
    /// too, or if something is to be done after.
    fn answered(&mut self, note: RequesterNote) -> RequesterStep {
        let mut step = self.complete_acknowledged().unwrap_or(note.into());
        step.note = note;
        step.walk |= self.context.walks_on();
        step
    }

    /// Completes the oldest message if all of it is acknowledged. The step says whether a packet of the next one is.
    fn complete_acknowledged(&mut self) -> Option<RequesterStep> {
        let posted = *self.posted(self.context.tail);
        let context = &mut self.context;
        if context.tail == context.head || posted.last().ahead_of(context.una_psn) >= 0 {
            return None;
        }
        context.pass_tail();
        Some(RequesterStep {
            completion: (posted.work.signaled).then(|| posted.completion(Status::Success)),
            walk: context.tail != context.head && posted.last().advance(1) != context.una_psn,
            ..RequesterNote::None.into()
        })
    }

    /// Acknowledges everything up to and including `psn`, which must not be before `una_psn`.
    fn acknowledge(&mut self, psn: Psn, now: Cycle) {
        let context = &mut self.context;
        let una = psn.advance(1);
        if let Some(board) = &mut self.scoreboard {
            board.acknowledged(una.ahead_of(context.una_psn).max(0) as usize, una);
        }
        context.una_psn = una;
        context.retries = context.configuration.retry;
        context.rnr_retries = context.configuration.rnr_retry;
        for follows in [&mut context.next_psn, &mut context.asked_psn] {
            if follows.ahead_of(una) < 0 {
                *follows = una;
            }
        }
        if !context.rnr_wait {
            context.timer_runs = false;
            if context.asked_psn.ahead_of(una) > 0 {
                self.start_ack_timer(now);
            }
        }
        // It was sent before, when its payload could be read, and what is behind it waits no longer to be sent.
        let passed = |unread: &mut Psn| unread.ahead_of(una) < 0;
        if self.context.unread.take_if(passed).is_some() {
            self.rewind();
        }
    }

    fn not_ready(&mut self, timer: RnrTimer, now: Cycle) -> RequesterNote {
        if self.context.rnr_retries == 0 {
            self.fail(Status::RnrExceeded);
            return RequesterNote::Exhausted;
        }
        self.rewind();
        let context = &mut self.context;
        if context.configuration.rnr_retry != RNR_FOREVER {
            context.rnr_retries -= 1;
        }
        context.rnr_wait = true;
        context.timer_runs = true;
        context.deadline = Cycle(now.0 + self.times.rnr(timer));
        RequesterNote::Rnr
    }

    /// Uses up a retry and returns `note`, or fails the QP if there is none left.
    fn use_up_retry(&mut self, note: RequesterNote) -> RequesterNote {
        if self.context.retries == 0 {
            self.fail(Status::RetryExceeded);
            return RequesterNote::Exhausted;
        }
        self.context.retries -= 1;
        match &mut self.scoreboard {
            Some(board) => board.timed_out(self.context.una_psn, self.context.next_psn),
            None => self.rewind(),
        }
        note
    }

    fn rewind(&mut self) {
        self.context.after = After::Rewind;
        self.context.timer_runs = false;
    }

    fn fail(&mut self, status: Status) {
        let context = &mut self.context;
        context.after = After::Fail;
        context.status = status;
        context.timer_runs = false;
        context.rnr_wait = false;
    }

    fn time_out(&mut self) -> RequesterStep {
        self.context.timer_runs = false;
        if self.context.rnr_wait {
            self.context.rnr_wait = false;
            return RequesterNote::RnrOver.into();
        }
        RequesterStep::walk(self.use_up_retry(RequesterNote::Timeout))
    }

    fn walk(&mut self) -> RequesterStep {
        let posted = *self.posted(self.context.tail);
        let empty = self.context.tail == self.context.head;
        let mut step = RequesterStep::from(RequesterNote::None);
        if self.context.state == QpState::Error && !empty {
            let context = &mut self.context;
            step.completion = Some(posted.completion(context.status));
            context.status = Status::Flushed;
            context.pass_tail();
            step.walk = context.tail != context.head;
            return step;
        }
        if let Some(mut step) = self.complete_acknowledged() {
            step.walk |= self.context.walks_on();
            return step;
        }
        let context = &mut self.context;
        if context.after == After::Rewind {
            context.after = After::None;
            context.current = context.tail;
            if context.configuration.restart && !empty {
                context.una_psn = posted.first;
            }
            context.next_psn = context.una_psn;
            if let Some(board) = &mut self.scoreboard {
                board.go_back(context.una_psn);
            }
            context.asked_psn = context.next_psn;
            context.unasked = 0;
            context.asking.go_back();
            context.unread = None;
        } else if context.after == After::Fail {
            context.after = After::None;
            context.state = QpState::Error;
            context.asking = AskedReads::default();
            context.unread = None;
            step.walk = true;
        } else if let Some(unread) = context.unread
            && unread.ahead_of(posted.last()) <= 0
        {
            // All work requests before it are complete.
            self.fail(Status::LocalAccess);
            step = RequesterStep::walk(RequesterNote::Unreadable);
        }
        step
    }
}

impl RequesterContext {
    /// Whether a WALK is to be made, also if nothing more is acknowledged.
    fn walks_on(&self) -> bool {
        self.after != After::None || self.unread.is_some()
    }

    fn pass_tail(&mut self) {
        if self.current == self.tail {
            self.current = self.current.wrapping_add(1);
        }
        self.tail = self.tail.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests;
