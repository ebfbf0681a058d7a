//! Selective repeat at the responder: packets ahead of a missing one are kept until it comes (IRN, SIGCOMM 2018,
//! section 3.1). The requester's part is [`requester::selective`](crate::protocol::gbn::requester::selective).
//!
//! IRN's NIC writes such packets into the host's memory when they come. So do they here as far as PCIe and the receive
//! buffer are concerned, but what is in memory changes in the order of packets.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::ModelNic;
use super::buffer::{Job, Received, Waiting, Write};
use crate::nic_registers as reg;
use crate::protocol::gbn::requester::selective::Selective;
use crate::protocol::gbn::{Arrival, QpState, ResponderEvent, Response};
use crate::wire::{Msn, Opcode, Psn, Syndrome};

/// What a QP that repeats selectively keeps at its responder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ahead {
    settings: Selective,
    /// Packets ahead of a missing one by PSN. Their room in the receive buffer is free.
    kept: BTreeMap<u32, Waiting>,
    /// PSNs of packets that came ahead, each to be named in a NAK.
    named: VecDeque<Psn>,
}

impl Ahead {
    pub(super) const fn new(settings: Selective) -> Self {
        Self {
            settings,
            kept: BTreeMap::new(),
            named: VecDeque::new(),
        }
    }

    /// Whether an answer is owed that the responder does not know of.
    pub(super) fn owes(&self) -> bool {
        !self.named.is_empty()
    }

    /// Number of packets that are kept.
    pub(super) fn len(&self) -> u64 {
        self.kept.len() as u64
    }
}

impl ModelNic {
    /// Gives the responder of a QP that repeats selectively a packet. One ahead of a missing one is kept; behind the
    /// missing one, those that are kept follow.
    pub(super) fn take_selectively(&mut self, now: u64, arrival: Arrival, waiting: Waiting) {
        let qp = waiting.qp;
        let context = &self.responder.qps[usize::from(qp)].context;
        let distance = arrival.psn.ahead_of(context.expected_psn);
        if context.state == QpState::Ready && distance > 0 {
            return self.keep(now, (arrival.psn, distance), waiting);
        }
        let mut next = Some(waiting);
        while let Some(waiting) = next {
            let Received::Request(arrival) = waiting.received else {
                return;
            };
            let event = ResponderEvent::Packet(arrival);
            self.responder_event(now, qp, event, Some(waiting));
            let context = &self.responder.qps[usize::from(qp)].context;
            let expected = context.expected_psn;
            let stands = context.state != QpState::Ready || expected == arrival.psn;
            let Some(ahead) = self.ahead(qp) else { return };
            if stands {
                // It was refused, and so is what is behind it: the requester goes back, or has failed.
                let lost = ahead.len();
                ahead.kept.clear();
                ahead.named.clear();
                return self.counters.add(reg::GAPS_IN, lost);
            }
            next = ahead.kept.remove(&expected.get());
        }
    }

    /// Whether a QP repeats selectively.
    pub(super) fn is_selective(&self, qp: u16) -> bool {
        let open = self.qps[usize::from(qp)].as_ref();
        open.is_some_and(|open| open.ahead.is_some())
    }

    fn ahead(&mut self, qp: u16) -> Option<&mut Ahead> {
        self.qps[usize::from(qp)].as_mut()?.ahead.as_deref_mut()
    }

    /// Keeps a packet that is ahead of the expected one by a `distance`, and frees its room once it has crossed PCIe.
    fn keep(&mut self, now: u64, (psn, distance): (Psn, i32), waiting: Waiting) {
        let (qp, room) = (waiting.qp, waiting.room);
        let Some(ahead) = self.ahead(qp) else { return };
        let (fits, known) = (
            distance.unsigned_abs() < ahead.settings.packets,
            ahead.kept.contains_key(&psn.get()),
        );
        let mut write = None;
        if fits {
            ahead.named.push_back(psn);
        }
        if fits && !known {
            write = (!waiting.payload.is_empty()).then_some(Write::Ahead(waiting.payload.len()));
            let room = room.freed();
            (ahead.kept).insert(psn.get(), Waiting { room, ..waiting });
        }
        match (fits, known) {
            (true, true) => self.count(reg::DUPLICATES_IN),
            (false, _) => self.count(reg::GAPS_IN),
            // It is counted when it is accepted.
            (true, false) => {}
        }
        self.buffer.push(Job {
            write,
            room: Some(room),
            ..Job::after(now, qp)
        });
        self.owe(now, qp);
    }

    /// The NAK that names the next packet that came ahead of a missing one.
    pub(super) fn next_named(&mut self, now: u64, qp: u16) -> Option<Response> {
        let expected = self.responder.qps[usize::from(qp)].context.expected_psn;
        let named = self.ahead(qp)?.named.pop_front()?;
        self.owe(now, qp);
        Some(Response {
            opcode: Opcode::RC_ACK,
            psn: expected,
            syndrome: Syndrome::PSN_SEQUENCE_ERROR,
            msn: Msn::default().advance(named.get()),
            original: 0,
        })
    }
}
