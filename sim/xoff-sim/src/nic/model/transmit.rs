//! Arbitration, and what is put on the wire.

use super::answers::Answer;
use super::slots::Slot;
use super::{ModelNic, NEVER, latency};
use crate::host::memory;
use crate::kernel::frame::{FCS_BYTES, wire_bytes};
use crate::nic_registers as reg;
use crate::protocol::gbn::responder::answered::{Answered, Asked};
use crate::protocol::gbn::{Refusal, RequesterEvent, ResponderEvent, mtu_bytes};
use crate::protocol::{Content, Descriptor};
use crate::time::Cycles;
use crate::wire::frame::ControlHead;
use crate::wire::{MacAddr, Opcode, PfcRepr, Syndrome, set_bits};

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
        let bytes = frame
            .build()
            .expect("untagged and to the right address")
            .into();
        self.count(reg::PFC_OUT);
        self.put_out(now, latency::SELECT_PFC, bytes, 0);
    }

    fn put_out(&mut self, now: u64, after: u64, bytes: bytes::Bytes, payload: usize) {
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
        // READ responses are of the class of requests.
        let class_of = |qp: usize| {
            let answered = self.answered.get(qp);
            let reads = answered.is_some_and(Answered::reads_next);
            let open = self.qps[qp].as_ref();
            open.map_or(0, |open| if reads { open.class } else { open.answer_class })
        };
        let free = |qp: usize| self.answers.has_room(class_of(qp));
        let Some(qp) = self.turns.answerer.next(&self.owed, free) else {
            return;
        };
        let class = class_of(qp);
        self.grant_from = now + latency::GRANT_EVERY;
        if self.answered.get(qp).is_some_and(Answered::owes) {
            self.grant_data(now, qp as u16, class);
            return self.grant_soon(now + 1);
        }
        let response = self.responder_event(now, qp as u16, ResponderEvent::Grant, None);
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
    fn grant_data(&mut self, now: u64, index: u16, class: u8) {
        let qp = usize::from(index);
        let mtu = mtu_bytes(self.responder.qps[qp].context.configuration.mtu);
        let answered = &mut self.answered[qp];
        let (Some(data), Some(open)) = (answered.next(mtu), self.qps[qp].as_ref()) else {
            return;
        };
        let asked = Asked::Read {
            bytes: data.bytes.into(),
        };
        if data.bytes > 0 && !self.memory.answers(data.rkey, data.va, asked) {
            self.answered[qp].clear();
            let refusal = Refusal {
                psn: data.response.psn,
                msn: data.response.msn.advance(u32::MAX),
                remote: true,
            };
            self.responder_event(now, index, ResponderEvent::Refuse(refusal), None);
            return;
        }
        let frame = match data.response.opcode {
            Opcode::RC_ATOMIC_ACK => open.path.answer(&data.response),
            _ => {
                let paced = self.pacing.is_some();
                (open.path).response(&data.response, data.bytes.into(), paced, |payload| {
                    self.host.read_memory(data.va, payload);
                })
            }
        };
        let from = match data.bytes {
            0 => now + latency::ANSWER,
            bytes => {
                let at = Cycles(now + latency::READ);
                let [_, last] = self.host.read_whole(at, bytes.into());
                last.0 + latency::READY
            }
        };
        self.count(reg::ANSWERS_OUT);
        let answer = Answer {
            from,
            qp: index,
            frame,
        };
        self.answers.put(class, answer);
        self.owe(now, index);
    }

    /// When a QP may be granted a request: `None` while there is no slot for its class, or the class is not in `free`.
    fn grant_from(&self, index: usize, free: u8) -> Option<u64> {
        let qp = self.qps[index].as_ref()?;
        let eligible = self
            .pacing
            .as_ref()
            .map_or(0, |pacing| pacing.eligible_from(index));
        (free >> qp.class & 1 != 0).then(|| eligible.max(qp.locked_until))
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
        let Some(qp) = turn.or(round.first().copied()) else {
            self.send_next = later;
            return;
        };
        round.into_iter().for_each(|qp| self.turns.sender.again(qp));
        self.turns.sender.take(qp);
        self.grant(now, qp as u16);
        self.send_next = now + 1;
    }

    fn grant(&mut self, now: u64, index: u16) {
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
        if let Some(pacing) = &mut self.pacing {
            let size = qp.path.request_bytes(&request) as u64 + FCS_BYTES;
            pacing.sent(index.into(), qp.class, wire_bytes(size) as u16, now);
        }
        let draft = qp.path.request(&request, paced, |payload| {
            memory::fill(request.local_va, payload);
        });
        let from = now + latency::READ;
        let class = qp.class;
        let (ready, read) = match draft.payload {
            0 => (from, 0),
            bytes => (NEVER, self.slots.reads.ask(class, bytes, from)),
        };
        let slot = Slot {
            qp: index,
            ready,
            read,
            draft,
            psn: request.psn,
            asks: request.ack_req,
            again: request.again,
        };
        self.slots.put(class, slot);
        // Nothing can come between the grant and its read.
        self.fetch(from);
    }

    /// Requests the reads that are due by a cycle.
    pub(super) fn fetch(&mut self, by: u64) {
        while let Some((at, read)) = self.slots.reads.take(by) {
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
        let requests = set_bits(may).filter_map(|class| {
            let slot = self.slots.first(class).filter(|slot| slot.ready <= now)?;
            Some((class, usize::from(slot.qp)))
        });
        let waits = requests.clone().next().is_some();
        if !waits || self.answers.go_first(may) {
            let answers = set_bits(may).filter_map(|class| {
                let answer = self.answers.first(class)?;
                (answer.from <= now).then_some((class, usize::from(answer.qp)))
            });
            if let Some(class) = self.turns.answer.next_class(answers) {
                self.send_answer(now, class, waits);
            }
        } else if let Some(class) = self.turns.request.next_class(requests) {
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
        let (asks, index) = (slot.asks, slot.qp);
        let (psn, again) = (slot.psn, slot.again);
        let bytes = qp.path.finish(slot.draft, &mut self.ip_id);
        let after = if payload == 0 {
            latency::SELECT
        } else {
            latency::SELECT_PAYLOAD
        };
        self.put_out(now, after, bytes, payload);
        self.slots.read(class, self.outlet.select_from());
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
