//! Arbitration, and what is put on the wire.

use super::answers::Answer;
use super::slots::{Granted, Slot};
use super::translating::Unread;
use super::{ModelNic, NEVER, latency};
use crate::frame::{FCS_BYTES, FrameBytes, wire_bytes};
use crate::nic_registers as reg;
use crate::protocol::gbn::responder::answered::Asked;
use crate::protocol::gbn::{Refusal, RequesterEvent, ResponderEvent, mtu_bytes};
use crate::protocol::{Content, Descriptor};
use crate::time::Cycles;
use crate::wire::frame::ControlHead;
use crate::wire::{MacAddr, PfcRepr, Psn, Syndrome, set_bits};

/// High three bits of an RNR NAK's syndrome (IBTA volume 1 table 43).
const RNR_NAK: u8 = 0b001;

impl ModelNic {
    /// Notes that a request may be granted at `at`.
    pub(super) fn send_soon(&mut self, at: u64) {
        self.send_next = self.send_next.min(at);
    }

    /// Notes that an answer may be granted at `at`.
    pub(super) fn grant_soon(&mut self, at: u64) {
        self.grant_next = self.grant_next.min(at.max(self.grant_from));
    }

    /// Steps the pause units, and sends what they tell the peer.
    pub(super) fn pause(&mut self, now: u64, progress: bool) {
        let settings = &self.config.settings;
        if let Some(watched) = self.pauses.watch(now, progress, settings) {
            self.counters.add(reg::BARKS, watched.bark.into());
            self.counters.add(reg::BITES, watched.bite.into());
        }
        let free = self.outlet.select_from() <= now;
        let Some(control) = self.pauses.ask(now, free, self.buffer.depth(), settings) else {
            return;
        };
        let ControlHead {
            class_enable,
            timers,
            ..
        } = control;
        let frame = Descriptor {
            dst: MacAddr::CONTROL,
            src: settings.mac,
            tags: Vec::new(),
            content: Content::Pfc(PfcRepr {
                class_enable,
                timers,
            }),
        };
        let bytes = frame.build().expect("untagged and to the right address");
        self.count(reg::PFC_OUT);
        self.put_out(now, latency::SELECT_PFC, bytes.into(), 0);
    }

    fn put_out(&mut self, now: u64, after: u64, bytes: FrameBytes, payload: usize) {
        self.count(reg::FRAMES_OUT);
        self.counters.add(reg::BYTES_OUT, bytes.len() as u64);
        self.outlet.send(now, after, bytes, payload);
    }

    /// Asks the responder for an answer that a QP owes, of a class that has room for it.
    pub(super) fn grant_answer(&mut self, now: u64) {
        if now < self.grant_next {
            return;
        }
        self.grant_next = NEVER;
        let class_of = |qp: usize| self.qps[qp].as_ref().map_or(0, |open| open.answer_class);
        let free = |qp: usize| self.answers.has_room(class_of(qp));
        let Some(qp) = self.turns.answerer.next(&self.owed, free) else {
            return;
        };
        let class = class_of(qp);
        self.grant_from = now + latency::GRANT_EVERY;
        let response = match self.next_named(now, qp as u16) {
            None => self.responder_event(now, qp as u16, ResponderEvent::Grant, None),
            named => named,
        };
        if let Some((response, open)) = response.zip(self.qps[qp].as_ref()) {
            let frame = open.path.answer(&response);
            self.count(reg::ANSWERS_OUT);
            if response.syndrome == Syndrome::PSN_SEQUENCE_ERROR {
                self.count(reg::NAKS_OUT);
            }
            if response.syndrome.0 >> 5 == RNR_NAK {
                self.count(reg::RNR_NAKS_OUT);
            }
            let answer = Answer {
                from: now + latency::ANSWER,
                qp: qp as u16,
                frame,
            };
            self.answers.put(class, answer);
        }
        self.grant_soon(now + 1);
    }

    /// Has a response to a READ or an atomic built. Its memory is checked again, because the region may be gone.
    /// Returns its bytes on the wire, 0 if it is refused.
    fn grant_response(&mut self, now: u64, index: u16) -> u64 {
        let qp = usize::from(index);
        let mtu = mtu_bytes(self.responder.qps[qp].context.configuration.mtu);
        let (Some(responses), Some(open)) = (&mut self.responses, &self.qps[qp]) else {
            return 0;
        };
        let Some(data) = responses.answered[qp].next(mtu) else {
            self.owe(now, index);
            return 0;
        };
        let asked = Asked::Read {
            bytes: data.bytes.into(),
        };
        if data.bytes > 0 && !self.memory.answers(index, data.rkey, data.va, asked) {
            responses.answered[qp].sent();
            responses.answered[qp].fail();
            let refusal = Refusal {
                psn: data.response.psn,
                msn: data.response.msn.advance(u32::MAX),
                remote: true,
            };
            self.responder_event(now, index, ResponderEvent::Refuse(refusal), None);
            return 0;
        }
        let paced = self.pacing.is_some();
        let payload = self.host.payload(data.va, data.bytes);
        let draft = (open.path).response(&data.response, &payload, paced);
        let class = open.class;
        let bytes = wire_bytes(draft.len() as u64 + FCS_BYTES);
        if let Some(pacing) = &mut self.pacing {
            pacing.sent(qp, class, bytes as u16, now);
        }
        self.count(reg::ANSWERS_OUT);
        self.counters.add(reg::RESENT_OUT, data.again.into());
        let slot = Slot {
            qp: index,
            ready: NEVER,
            read: 0,
            draft,
            psn: data.response.psn,
            granted: Granted::Response,
        };
        self.put_in(now, class, slot, (data.rkey, data.va));
        self.owe(now, index);
        bytes
    }

    /// Withdraws those packets of a QP that wait in slots and are not `wanted`. Returns how many.
    pub(super) fn withdraw(&mut self, now: u64, qp: u16, wanted: impl Fn(&Slot) -> bool) -> u64 {
        let withdrawn = self.slots.withdraw(qp, now, wanted);
        self.counters.add(reg::WITHDRAWN, withdrawn);
        if withdrawn > 0 {
            self.forget_reads();
        }
        withdrawn
    }

    /// Withdraws the responses of a QP from a PSN on.
    pub(super) fn withdraw_responses(&mut self, now: u64, qp: u16, from: Psn) {
        let wanted = |slot: &Slot| slot.granted != Granted::Response || slot.psn.ahead_of(from) < 0;
        let withdrawn = self.withdraw(now, qp, wanted);
        if let Some(responses) = &mut self.responses {
            let answered = &mut responses.answered[usize::from(qp)];
            (0..withdrawn).for_each(|_| answered.sent());
        }
    }

    /// Puts a packet that was granted into a slot, and asks for its payload, from the memory of a key and an address.
    fn put_in(&mut self, now: u64, class: u8, slot: Slot, memory: (u32, u64)) {
        let from = now + latency::READ;
        let bytes = slot.draft.payload;
        let (key, va) = memory;
        // The region of a READ response was checked before.
        let registered =
            slot.granted == Granted::Response || self.memory.reads(slot.qp, key, va, bytes as u64);
        let unread = match (registered, self.host.can_read(va, bytes)) {
            _ if bytes == 0 => None,
            (false, _) => Some(Unread::Gone),
            (true, false) => Some(Unread::Failed),
            (true, true) => None,
        };
        let (ready, read) = match bytes {
            0 => (from, 0),
            bytes => (NEVER, self.slots.reads.ask(class, bytes, from)),
        };
        if bytes > 0 && self.translation.is_some() {
            self.look_up(now, read, memory, bytes);
        }
        self.slots.put(
            class,
            Slot {
                ready,
                read,
                ..slot
            },
        );
        if let Some(unread) = unread {
            self.end_unread(now, (class, read), unread);
        }
        // Nothing can come between the grant and its read.
        self.fetch(from);
    }

    /// When a QP's congestion control lets it send: `None` while there is no slot for its class, or the class is not in
    /// `free`.
    fn paced_from(&self, index: usize, free: u8) -> Option<u64> {
        let qp = self.qps[index].as_ref()?;
        let pacing = self.pacing.as_ref();
        (free >> qp.class & 1 != 0).then(|| pacing.map_or(0, |it| it.eligible_from(index)))
    }

    /// Whether a QP may be granted a response; `later` becomes no later than when it may.
    fn next_response(&self, now: u64, free: u8, later: &mut u64) -> bool {
        let owing = self.responses.iter().flat_map(|it| it.owing.members());
        let first = owing.filter_map(|qp| self.paced_from(qp, free)).min();
        let from = first.unwrap_or(NEVER);
        *later = (*later).min(from);
        from <= now
    }

    /// Grants a response to the QP whose turn it is.
    fn grant_data(&mut self, now: u64, free: u8, both: bool) {
        let Some(mut responses) = self.responses.take() else {
            return;
        };
        let may = |qp| self.paced_from(qp, free).is_some_and(|from| from <= now);
        let qp = responses.next(may);
        self.responses = Some(responses);
        let Some(qp) = qp else { return };
        let bytes = self.grant_response(now, qp as u16);
        if let Some(responses) = &mut self.responses {
            responses.granted(true, bytes, both);
        }
    }

    /// When a QP may be granted a request: `None` as in [`paced_from`](Self::paced_from).
    fn grant_from(&self, index: usize, free: u8) -> Option<u64> {
        let qp = self.qps[index].as_ref()?;
        let from = self.paced_from(index, free)?;
        Some(from.max(qp.locked_until))
    }

    /// Grants a request: to the QPs that may send in turn, while a slot is free.
    pub(super) fn grant_request(&mut self, now: u64) {
        if now < self.send_next {
            return;
        }
        self.send_next = NEVER;
        let free = self.slots.free(self.classes) & !self.pauses.paused();
        if free == 0 {
            return;
        }
        let mut later = NEVER;
        let mut may = |index: &usize| {
            let from = self.grant_from(*index, free).unwrap_or(NEVER);
            if from > now {
                later = later.min(from);
            }
            from <= now
        };
        let turn = self
            .sendable
            .without(self.turns.sender.had())
            .find(&mut may);
        // A round begins for those that may send now.
        let round: Vec<usize> = match turn {
            Some(_) => Vec::new(),
            None => self.sendable.members().filter(&mut may).collect(),
        };
        let next = turn.or(round.first().copied());
        let mut response = false;
        if let Some(responses) = &self.responses {
            let turn = next.is_none() || responses.have_the_turn();
            response = self.next_response(now, free, &mut later);
            if response && turn {
                self.send_next = now + 1;
                return self.grant_data(now, free, next.is_some());
            }
        }
        let Some(qp) = next else {
            self.send_next = later;
            return;
        };
        round.into_iter().for_each(|qp| self.turns.sender.again(qp));
        self.turns.sender.take(qp);
        self.grant(now, qp as u16, response);
        self.send_next = now + 1;
    }

    /// Grants a QP a request. `both` is whether a response waits, too.
    fn grant(&mut self, now: u64, index: u16, both: bool) {
        let Some(request) = self.requester_event(now, index, RequesterEvent::Send) else {
            return;
        };
        self.count(reg::REQUESTS_OUT);
        self.counters.add(reg::RESENT_OUT, request.again.into());
        let Some(qp) = &mut self.qps[usize::from(index)] else {
            return;
        };
        let paced = self.pacing.is_some();
        qp.locked_until = now + latency::SEND_EVERY * if paced { 2 } else { 1 };
        let size = wire_bytes(qp.path.request_bytes(&request) as u64 + FCS_BYTES);
        if let Some(pacing) = &mut self.pacing {
            pacing.sent(index.into(), qp.class, size as u16, now);
        }
        if let Some(responses) = &mut self.responses {
            responses.granted(false, size, both);
        }
        let payload = self.host.payload(request.local_va, request.payload_bytes);
        let draft = qp.path.request(&request, &payload, paced);
        let class = qp.class;
        let slot = Slot {
            qp: index,
            ready: NEVER,
            read: 0,
            draft,
            psn: request.psn,
            granted: Granted::Request {
                asks: request.ack_req,
                again: request.again,
            },
        };
        self.put_in(now, class, slot, (request.local_key, request.local_va));
    }

    /// Requests the reads that are due by a cycle.
    pub(super) fn fetch(&mut self, by: u64) {
        while let Some((at, read)) = self.slots.reads.take(by) {
            if self.translation.is_some() && !self.may_read(at, read) {
                continue;
            }
            let [first, last] = self.host.read_whole(Cycles(at), read.bytes);
            self.slots.reads.requested(first.0, last.0);
            let ready = last.0 + latency::READY;
            self.slots.fetched(read.class, read.number, ready);
        }
    }

    /// The CNP to be sent next: its QP, and the earliest cycle.
    fn next_cnp(&self) -> Option<(usize, u64)> {
        let pacing = self.pacing.as_ref()?;
        let turn = self.cnps.without(self.turns.cnp.had()).next();
        let qp = turn.or_else(|| self.cnps.members().next())?;
        let settings = &self.config.settings;
        let class = if settings.class_by_pcp {
            let tagged = self.qps[qp].as_ref().is_some_and(|qp| qp.path.tagged());
            let pcp = if tagged { pacing.settings().cnp_pcp } else { 0 };
            settings.pcp_classes[usize::from(pcp)]
        } else {
            settings.class_of(pacing.settings().cnp_dscp)
        };
        (self.pauses.paused() >> class & 1 == 0).then_some((qp, self.cnp_from))
    }

    /// When the next packet may be selected.
    pub(super) fn next_select(&self) -> u64 {
        let cnp = self.next_cnp().map_or(NEVER, |(_, from)| from);
        let classes = self.classes_in_use & !self.pauses.paused();
        let mut next = cnp.min(self.answers.from(classes));
        if !self.answers.go_first(classes) {
            let ready = set_bits(classes).map(|class| self.slots.ready(class));
            next = ready.fold(next, u64::min);
        }
        next.max(self.outlet.select_from())
    }

    /// Selects what is sent next: CNPs before answers before requests.
    pub(super) fn select(&mut self, now: u64) {
        if self.next_select() > now {
            return;
        }
        if let Some((qp, _)) = self.next_cnp().filter(|(_, from)| *from <= now) {
            return self.send_cnp(now, qp);
        }
        let may = self.classes_in_use & !self.pauses.paused();
        let requests = set_bits(may).filter(|class| self.slots.ready(*class) <= now);
        let waits = requests.clone().next().is_some();
        if !waits || self.answers.go_first(may) {
            let answers = set_bits(may).filter_map(|class| {
                let answer = self.answers.first(class)?;
                (answer.from <= now).then_some((class, usize::from(answer.qp)))
            });
            if let Some(class) = self.turns.answer.next_class(answers) {
                self.send_answer(now, class, waits);
            }
        } else if let Some(class) = self.class_scheduler.next(requests) {
            self.send_request(now, class);
        }
    }

    fn send_cnp(&mut self, now: u64, index: usize) {
        if self.turns.cnp.has_had(index) {
            self.cnps.members().for_each(|qp| self.turns.cnp.again(qp));
        }
        self.turns.cnp.take(index);
        self.cnps.set(index, false);
        let (Some(qp), Some(pacing)) = (&self.qps[index], &self.pacing) else {
            return;
        };
        let dcqcn = pacing.settings();
        let cnp = qp.path.cnp(dcqcn.cnp_dscp, dcqcn.cnp_pcp);
        let bytes = qp.path.finish(cnp, &mut self.ip_id);
        self.count(reg::CNPS_OUT);
        self.put_out(now, latency::SELECT, bytes, 0);
    }

    /// `ahead` is whether a request waits for the answer.
    fn send_answer(&mut self, now: u64, class: u8, ahead: bool) {
        let Some(answer) = self.answers.take(class, ahead) else {
            return;
        };
        self.grant_soon(now + 1);
        let Some(qp) = &self.qps[usize::from(answer.qp)] else {
            return;
        };
        let payload = answer.frame.payload;
        let after = match payload {
            0 => latency::SELECT,
            _ => latency::SELECT_PAYLOAD,
        };
        let bytes = qp.path.finish(answer.frame, &mut self.ip_id);
        self.put_out(now, after, bytes, payload);
    }

    fn send_request(&mut self, now: u64, class: u8) {
        let Some(slot) = self.slots.pop(class) else {
            return;
        };
        self.answers.request_taken();
        let Some(qp) = &self.qps[usize::from(slot.qp)] else {
            return;
        };
        let payload = slot.draft.payload;
        let length = wire_bytes(slot.draft.len() as u64 + FCS_BYTES);
        let wants = self.slots.held() & !self.pauses.paused();
        self.class_scheduler.charge(class, length, wants);
        let (index, psn) = (slot.qp, slot.psn);
        let bytes = qp.path.finish(slot.draft, &mut self.ip_id);
        let after = if payload == 0 {
            latency::SELECT
        } else {
            latency::SELECT_PAYLOAD
        };
        self.put_out(now, after, bytes, payload);
        self.slots.read(class, self.outlet.select_from());
        let Granted::Request { asks, again } = slot.granted else {
            if let Some(responses) = &mut self.responses {
                responses.answered[usize::from(index)].sent();
            }
            return self.owe(now, index);
        };
        if let Some(pacing) = &mut self.pacing
            && pacing.listens(index.into())
            && (asks || again)
        {
            pacing.left(index.into(), psn, again, self.outlet.last_bit());
        }
        if asks
            && let Some(qp) = &mut self.qps[usize::from(index)]
            && qp.armed
        {
            qp.armed = false;
            qp.left = Some(self.outlet.last_bit());
        }
    }
}
