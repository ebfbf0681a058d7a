//! Processing of received frames.

use super::buffer::{Job, Received, Room, Waiting, Write};
use super::classify::{Addressed, Classified, look};
use super::slots::{Granted, Slot};
use super::{ModelNic, latency};
use crate::frame::FrameBytes;
use crate::host::payload::Payload;
use crate::nic::congestion::Acknowledged;
use crate::nic::qp::pkeys_match;
use crate::nic_registers as reg;
use crate::protocol::Cycle;
use crate::protocol::gbn::ends::{RequesterAction, ResponderAction};
use crate::protocol::gbn::responder::answered::Asked;
use crate::protocol::gbn::{
    Arrival, Completion, Place, QpState, Refusal, Request, RequesterEnd, RequesterEvent,
    RequesterNote, ResponderEvent, ResponderNote, Response, Status, mtu_bytes,
};
use crate::protocol::pfc_rx::PfcRxEvent;
use crate::time::Cycles;
use crate::wire::{AethRepr, Psn, Syndrome};

impl ModelNic {
    /// Looks up the QP of a frame and decides what becomes of the frame.
    pub(super) fn judge(&mut self, now: u64, frame: &FrameBytes) {
        self.count(reg::FRAMES_IN);
        self.counters.add(reg::BYTES_IN, frame.len() as u64);
        let register = match look(frame, self.config.settings.mac) {
            Classified::Control(control) => {
                let event = self.pauses.receive(now, control, &self.config.settings);
                match event {
                    PfcRxEvent::Pfc => reg::PFC_IN,
                    PfcRxEvent::Pause => reg::PAUSE_IN,
                    PfcRxEvent::Ignored => reg::PAUSE_IGNORED,
                }
            }
            Classified::Dropped(register) => register,
            Classified::Cnp(to) => match self.owner(&to) {
                Err(register) => register,
                Ok(qp) => {
                    if let Some(pacing) = &mut self.pacing {
                        pacing.cnp(qp.into(), now);
                        self.set_window(qp.into());
                        self.send_soon(now + latency::SCHEDULE);
                    }
                    reg::CNPS_IN
                }
            },
            Classified::Answer(to, psn, AethRepr { syndrome, msn }) => match self.owner(&to) {
                Err(register) => register,
                Ok(qp) if self.is_in_order(qp) => {
                    let received = Received::Answer(psn, syndrome);
                    return self.put(now, (qp, &to), received, Payload::default(), frame.len());
                }
                Ok(qp) => {
                    if syndrome == Syndrome::PSN_SEQUENCE_ERROR {
                        let named = Psn::wrapping(msn.get());
                        self.requester.qps[usize::from(qp)].arrived(named);
                    }
                    let at = now + latency::ACKNOWLEDGE;
                    return self.acknowledge(at, qp, psn, syndrome, None);
                }
            },
            Classified::Response(to, returned, payload) => match self.owner(&to) {
                Err(register) => register,
                Ok(_) if self.responses.is_none() => reg::DROP_RESPONSE,
                Ok(qp) => {
                    let received = Received::Response(returned);
                    return self.put(now, (qp, &to), received, payload, frame.len());
                }
            },
            Classified::Request(to, mut arrival, payload) => match self.owner(&to) {
                Err(register) => register,
                Ok(qp) => {
                    arrival.access = self.memory.allows(
                        qp,
                        arrival.rkey,
                        arrival.va,
                        arrival.dma_len.into(),
                        true,
                    );
                    let received = Received::Request(arrival);
                    return self.put(now, (qp, &to), received, payload, frame.len());
                }
            },
        };
        self.count(register);
    }

    /// Puts a packet of a QP into the receive buffer, or drops it if there is no room.
    fn put(
        &mut self,
        now: u64,
        (qp, to): (u16, &Addressed),
        received: Received,
        payload: Payload,
        bytes: usize,
    ) {
        // A CE mark takes effect when its packet arrives, whatever becomes of the packet.
        if to.traffic_class & 0b11 == 0b11 {
            self.marked(now, qp);
        }
        let class = self.class_of(to);
        let fits = self.buffer.put(Waiting {
            from: now + latency::RESPOND,
            qp,
            received,
            payload,
            room: Room {
                class,
                bytes: bytes as u32,
                beats: 0,
            },
        });
        match fits {
            true => self.depth_changed(now, class),
            false => self.count(reg::DROP_FULL),
        }
    }

    /// Whether ACKs of a QP have to stay behind what arrived before: they must not pass READ responses, nor what those
    /// complete.
    fn is_in_order(&self, qp: u16) -> bool {
        self.responses.is_some()
            && (self.requester.qps[usize::from(qp)].awaits_data() || self.buffer.completes_work(qp))
    }

    /// Gives a QP's requester an ACK or a NAK. `waited` is the packet if it was in the buffer.
    fn acknowledge(
        &mut self,
        at: u64,
        qp: u16,
        psn: Psn,
        syndrome: Syndrome,
        waited: Option<Waiting>,
    ) {
        let before = self.requester.qps[usize::from(qp)].context.una_psn;
        let event = RequesterEvent::Ack { psn, syndrome };
        self.requester_step(at, qp, event, waited);
        self.acknowledged(at, qp, before, syndrome);
        self.send_soon(at + latency::SCHEDULE);
    }

    /// Tells a QP's own congestion control of an acknowledgement. `before` is the oldest packet that was not
    /// acknowledged.
    fn acknowledged(&mut self, at: u64, qp: u16, before: Psn, syndrome: Syndrome) {
        let index = usize::from(qp);
        let Some(pacing) = self.pacing.as_mut().filter(|pacing| pacing.listens(index)) else {
            return;
        };
        let context = &self.requester.qps[index].context;
        let packets = |ahead: i32| ahead.max(0) as u32;
        let ack = Acknowledged {
            packets: packets(context.una_psn.ahead_of(before)),
            outstanding: packets(context.next_psn.ahead_of(context.una_psn)),
            lost: syndrome == Syndrome::PSN_SEQUENCE_ERROR,
        };
        pacing.acknowledged(index, &ack, context.una_psn, at);
        self.set_window(index);
    }

    /// Handles a packet of a QP that was marked CE.
    fn marked(&mut self, now: u64, qp: u16) {
        self.count(reg::MARKED_IN);
        let index = usize::from(qp);
        let pacing = self.pacing.as_mut();
        if pacing.is_some_and(|pacing| pacing.marked(index, now)) {
            self.cnps.set(index, true);
            self.cnp_from = self.cnp_from.max(now + latency::CNP);
        }
    }

    /// The QP that a packet is for: it must be open, have the packet's destination as own address and its source as
    /// peer; then be of its VLANs; then have a P_Key that matches. Otherwise, the register of the counter of packets
    /// that are dropped for this reason.
    fn owner(&self, to: &Addressed) -> Result<u16, u16> {
        let open = || {
            let index = to.qpn.checked_sub(self.config.settings.qpn_base)?;
            let qp = self.qps.get(index as usize)?.as_ref()?;
            (qp.ipv6 == to.ipv6 && qp.own == to.dst && qp.peer == to.src).then_some((index, qp))
        };
        let (index, qp) = open().ok_or(reg::DROP_QP)?;
        if qp.vlans != to.vlans {
            return Err(reg::DROP_VLAN);
        }
        match pkeys_match(qp.pkey, to.pkey) {
            true => Ok(index as u16),
            false => Err(reg::DROP_PKEY),
        }
    }

    fn class_of(&self, to: &Addressed) -> u8 {
        let settings = &self.config.settings;
        if settings.class_by_pcp {
            settings.pcp_classes[usize::from(to.pcp)]
        } else {
            settings.class_of(to.traffic_class >> 2)
        }
    }

    fn depth_changed(&mut self, now: u64, class: u8) {
        let depth = self.buffer.depth()[usize::from(class)];
        let settings = &self.config.settings;
        self.pauses.depth_changed(now + 1, class, depth, settings);
    }

    /// Steps the requester: counts, completes, and returns the packet to be sent, if any.
    pub(super) fn requester_event(
        &mut self,
        now: u64,
        qp: u16,
        event: RequesterEvent,
    ) -> Option<Request> {
        self.requester_step(now, qp, event, None)
    }

    /// The same for all that a requester takes. `waited` is the packet if it was in the buffer: what it completes is
    /// reported when what arrived before, and its own payload, is in memory.
    pub(super) fn requester_step(
        &mut self,
        now: u64,
        qp: u16,
        event: RequesterEvent,
        waited: Option<Waiting>,
    ) -> Option<Request> {
        let Self {
            requester,
            responses,
            counters,
            host,
            memory,
            buffer,
            translation,
            work_blocked,
            ..
        } = self;
        let index = usize::from(qp);
        let mut request = None;
        let mut failed = false;
        let timer = |requester: &RequesterEnd| {
            let context = &requester.qps[index].context;
            context.due().filter(|_| !context.rnr_wait)
        };
        let before = timer(requester);
        let in_order = waited.is_some() || responses.is_some() && buffer.completes_work(qp);
        let mut completions = Vec::new();
        let act = |action| match action {
            RequesterAction::Note(note) => {
                failed |= matches!(
                    note,
                    RequesterNote::RemoteError
                        | RequesterNote::Exhausted
                        | RequesterNote::Unreadable
                );
                if let Some(register) = requester_counter(note, &event) {
                    counters.add(register, 1);
                }
            }
            RequesterAction::Send(packet) => request = Some(packet),
            RequesterAction::Complete(completion) if in_order => completions.push(completion),
            RequesterAction::Complete(completion) => {
                host.complete(Cycles(now + latency::COMPLETE), qp, &completion);
            }
        };
        let gone = translation.as_ref().is_some_and(|it| it.gone);
        let selective = requester.qps[index].is_selective();
        let place = match responses {
            Some(responses) if !selective => {
                let reading = (index, &mut responses.reading[index]);
                let allowed = |place: &Place| {
                    !gone && memory.allows(qp, place.key, place.va, place.bytes.into(), false)
                };
                requester.event_reading(reading, event, Cycle(now), allowed, act)
            }
            _ => {
                requester.event(index, event, Cycle(now), act);
                None
            }
        };
        // Acknowledged work requests have left the ring, with or without a completion.
        *work_blocked &= matches!(event, RequesterEvent::Send);
        if in_order {
            self.finish_in_order(now, qp, waited, place, completions);
        }
        self.sendable.set(index, self.can_send(index));
        let context = &self.requester.qps[index].context;
        if let Some(deadline) = context.due() {
            self.timer_next = self.timer_next.min(deadline.0);
        }
        let after = timer(&self.requester);
        if after.is_some()
            && after != before
            && let Some(open) = &mut self.qps[index]
        {
            open.armed = true;
        }
        let ready = context.state == QpState::Ready;
        let (oldest, end) = (context.oldest_wanted(), context.end_wanted());
        let wanted = |slot: &Slot| {
            slot.granted == Granted::Response
                || ready && slot.psn.ahead_of(oldest) >= 0 && slot.psn.ahead_of(end) < 0
        };
        self.withdraw(now, qp, wanted);
        if failed {
            self.responder_event(now + latency::FAIL, qp, ResponderEvent::Fail, None);
        }
        request
    }

    /// Has the payload of a packet that waited in the buffer written, and then work requests completed.
    fn finish_in_order(
        &mut self,
        now: u64,
        qp: u16,
        waited: Option<Waiting>,
        place: Option<Place>,
        completions: Vec<Completion>,
    ) {
        if let Some(Waiting { payload, room, .. }) = waited {
            self.buffer.push(Job {
                write: place.map(|place| Write::Whole(place.va, payload)),
                room: Some(room),
                ..Job::after(now, qp)
            });
        }
        for completion in completions {
            self.buffer.push(Job {
                completion: Some(completion),
                ..Job::after(now, qp)
            });
        }
    }

    /// Lets the QP of the next packet in the buffer take it, once its memory is translated.
    pub(super) fn respond(&mut self, now: u64) {
        if self.translation.is_some() && !self.is_translated(now) {
            return;
        }
        let Some(waiting) = self.buffer.take(now) else {
            return;
        };
        let qp = waiting.qp;
        match waiting.received {
            Received::Request(arrival) => match Asked::of(&arrival) {
                Some(asked) if self.responses.is_some() => {
                    self.ask(now, (qp, waiting.room), &arrival, asked);
                }
                _ if self.is_selective(qp) => self.take_selectively(now, arrival, waiting),
                _ => {
                    let event = ResponderEvent::Packet(arrival);
                    self.responder_event(now, qp, event, Some(waiting));
                }
            },
            Received::Response(returned) => {
                self.requester_step(now, qp, RequesterEvent::Response(returned), Some(waiting));
                self.send_soon(now + latency::SCHEDULE);
            }
            Received::Answer(psn, syndrome) => {
                self.acknowledge(now, qp, psn, syndrome, Some(waiting));
            }
        }
    }

    /// Gives the responder a READ or an atomic. It is answered when the earlier writes are in memory.
    fn ask(&mut self, now: u64, (qp, room): (u16, Room), arrival: &Arrival, asked: Asked) {
        let index = usize::from(qp);
        let gone = self.translation.as_ref().is_some_and(|it| it.gone);
        let allowed = !gone && self.memory.answers(qp, arrival.rkey, arrival.va, asked);
        let Some(responses) = &mut self.responses else {
            return;
        };
        let answered = &mut responses.answered[index];
        let (step, accepted) = self.responder.qps[index].ask(arrival, asked, answered, allowed);
        self.buffer.push(Job {
            asked: accepted,
            room: Some(room),
            ..Job::after(now, qp)
        });
        self.note(step.note, &ResponderEvent::Packet(*arrival));
        if step.walk {
            self.responder_event(now, qp, ResponderEvent::Walk, None);
            self.requester_event(now + latency::FAIL, qp, RequesterEvent::Fail);
        }
        self.owe(now, qp);
    }

    /// Notes whether a QP has an answer to send.
    pub(super) fn owe(&mut self, now: u64, qp: u16) {
        let index = usize::from(qp);
        let mut owed = self.responder.owed(index);
        if let Some(responses) = &mut self.responses {
            let answered = &responses.answered[index];
            let owes = answered.owes();
            owed &= !answered.is_before_acks();
            responses.owing.set(index, owes);
            if owes {
                self.send_soon(now + latency::GRANT);
            }
        }
        let ahead = self.qps[index].as_ref().and_then(|qp| qp.ahead.as_ref());
        owed |= ahead.is_some_and(|ahead| ahead.owes());
        self.owed.set(index, owed);
        if owed {
            self.grant_soon(now + latency::GRANT);
        }
    }

    /// Steps the responder: counts, queues jobs, and returns the answer to be sent, if any. `request` is the packet
    /// of the event.
    pub(super) fn responder_event(
        &mut self,
        now: u64,
        qp: u16,
        event: ResponderEvent,
        request: Option<Waiting>,
    ) -> Option<Response> {
        let Self {
            responder,
            responses,
            buffer,
            counters,
            qps,
            memory,
            translation,
            recv_blocked,
            ..
        } = self;
        let index = usize::from(qp);
        let gone = translation.as_ref().is_some_and(|it| it.gone);
        let mut spoilt = qps[index].as_ref().is_some_and(|qp| qp.spoilt);
        let mut unwritable = None;
        let mut response = None;
        let mut step_note = ResponderNote::None;
        let mut job = Job {
            room: request.as_ref().map(|request| request.room),
            ..Job::after(now, qp)
        };
        let mut whole = false;
        let mut flushed = Vec::new();
        responder.event(index, event, |action| match action {
            ResponderAction::Note(note) => step_note = note,
            ResponderAction::Place(Place {
                va,
                key,
                remote,
                bytes,
            }) => {
                if !gone && memory.allows(qp, key, va, bytes.into(), remote) {
                    job.write = request.as_ref().map(|it| match it.room.is_freed() {
                        false => Write::Whole(va, it.payload.clone()),
                        true => Write::Placed(va, it.payload.clone()),
                    });
                } else {
                    counters.add(reg::LOCAL_ACCESS, 1);
                    unwritable = Some(remote);
                    spoilt |= !remote;
                }
            }
            ResponderAction::Answer(answer) => response = Some(answer),
            ResponderAction::Complete(mut completion) => {
                // A SEND with invalidate needs a key that names a region.
                if let Some(key) = completion.invalidated()
                    && unwritable.is_none()
                {
                    if !memory.invalidate(qp, key) {
                        counters.add(reg::LOCAL_ACCESS, 1);
                        unwritable = Some(true);
                        job.write = None;
                    } else if let Some(translation) = translation {
                        translation.unit.unmap((key >> 8) as u16);
                        buffer.look_again();
                    }
                }
                if spoilt {
                    completion.status = Status::LocalAccess;
                    completion.length = 0;
                } else if unwritable.is_some() {
                    completion.status = Status::Flushed;
                    completion.length = 0;
                }
                spoilt = false;
                if step_note == ResponderNote::Accepted && !whole {
                    whole = true;
                    job.completion = Some(completion);
                } else {
                    flushed.push(completion);
                }
            }
        });
        if let Some(qp) = &mut qps[index] {
            qp.spoilt = spoilt;
        }
        if matches!(event, ResponderEvent::Fail)
            && let Some(responses) = responses
        {
            responses.answered[index].fail();
        }
        *recv_blocked &= matches!(event, ResponderEvent::Grant);
        if request.is_some() {
            buffer.push(job);
        }
        for completion in flushed {
            buffer.push(Job {
                completion: Some(completion),
                ..Job::after(now, qp)
            });
        }
        self.note(step_note, &event);
        if matches!(
            step_note,
            ResponderNote::Invalid
                | ResponderNote::Access
                | ResponderNote::TooLong
                | ResponderNote::Unwritable
        ) {
            self.requester_event(now + latency::FAIL, qp, RequesterEvent::Fail);
        }
        if let Some(remote) = unwritable {
            self.refuse(now, qp, remote);
        }
        self.owe(now, qp);
        response
    }

    /// Refuses the packet before the expected one, which cannot be written, before anything is answered.
    fn refuse(&mut self, now: u64, qp: u16, remote: bool) {
        let context = &self.responder.qps[usize::from(qp)].context;
        let completed = u32::from(!context.under_way);
        let refusal = Refusal {
            psn: context.expected_psn.advance(Psn::MAX.get()),
            msn: context.msn.advance(completed.wrapping_neg()),
            remote,
        };
        self.responder_event(now, qp, ResponderEvent::Refuse(refusal), None);
    }

    fn note(&mut self, note: ResponderNote, event: &ResponderEvent) {
        let register = match note {
            ResponderNote::Accepted => reg::REQUESTS_IN,
            ResponderNote::Duplicate => reg::DUPLICATES_IN,
            ResponderNote::Gap | ResponderNote::GapAgain => reg::GAPS_IN,
            ResponderNote::NoBuffer => reg::NO_BUFFER,
            ResponderNote::Invalid | ResponderNote::TooLong => reg::INVALID_IN,
            ResponderNote::Access => reg::ACCESS_IN,
            ResponderNote::NotReady => reg::NOT_READY_IN,
            ResponderNote::RefusedFull | ResponderNote::RefusedState
                if matches!(event, ResponderEvent::Post(_)) =>
            {
                reg::RECV_REFUSED
            }
            _ => return,
        };
        self.count(register);
    }

    /// Performs DMA writes and the completions after them. Returns whether a request left the buffer.
    pub(super) fn work(&mut self, now: u64) -> bool {
        let Some(job) = self.buffer.work(now, &mut self.host) else {
            return false;
        };
        if let Some(completion) = job.completion {
            self.host.complete(Cycles(now + 1), job.qp, &completion);
        }
        if let Some((asked, responses)) = job.asked.zip(self.responses.as_mut()) {
            let (host, answered) = (&mut self.host, &mut responses.answered);
            let answered = &mut answered[usize::from(job.qp)];
            answered.answer(&asked, |va, kind| host.atomic(va, kind));
            if asked.again {
                let responder = &self.responder.qps[usize::from(job.qp)];
                let mtu = mtu_bytes(responder.context.configuration.mtu);
                let end = asked.end(mtu);
                // They are built again; but what is built behind them must not pass them.
                if !self.slots.has_response(job.qp, end) {
                    self.withdraw_responses(now, job.qp, asked.psn);
                }
            }
            self.owe(now, job.qp);
        }
        if let Some(room) = job.room {
            self.depth_changed(now, room.class);
        }
        job.room.is_some()
    }
}

const fn requester_counter(note: RequesterNote, event: &RequesterEvent) -> Option<u16> {
    Some(match note {
        RequesterNote::Unsent if matches!(event, RequesterEvent::Response(_)) => reg::DROP_RESPONSE,
        RequesterNote::Nak => reg::NAKS_IN,
        RequesterNote::Implied => reg::IMPLIED_NAKS,
        RequesterNote::Rnr => reg::RNR_NAKS_IN,
        RequesterNote::RemoteError => reg::REMOTE_ERRORS_IN,
        RequesterNote::Timeout => reg::TIMEOUTS,
        RequesterNote::Exhausted => reg::EXHAUSTED,
        RequesterNote::Stale if matches!(event, RequesterEvent::Unread { .. }) => return None,
        RequesterNote::Stale | RequesterNote::Unsent | RequesterNote::Reserved => {
            reg::ANSWERS_UNUSED
        }
        RequesterNote::RefusedFull | RequesterNote::RefusedState | RequesterNote::RefusedWork => {
            reg::WORK_REFUSED
        }
        _ => return None,
    })
}
