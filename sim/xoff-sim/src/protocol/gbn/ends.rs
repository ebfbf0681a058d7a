//! Many QPs of one end, an event a call: the step and the walks that it leaves, as actions. A model of a NIC is made of these.

use serde::{Deserialize, Serialize};

use super::{
    Completion, Cycle, Owed, Place, Request, RequesterEvent, RequesterNote, RequesterQp,
    ResponderEvent, ResponderNote, ResponderQp, Response, Times,
};

/// What an event at the requester leads to, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequesterAction {
    /// The event's own step made this of it.
    Note(RequesterNote),
    /// A packet to send.
    Send(Request),
    /// A work request ended.
    Complete(Completion),
}

/// The QPs of a requester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterEnd {
    /// QP by number.
    pub qps: Vec<RequesterQp>,
}

impl RequesterEnd {
    /// So many closed QPs, with rings of `slots`.
    pub fn new(qps: usize, slots: usize, times: Times) -> Self {
        Self {
            qps: vec![RequesterQp::new(slots, times); qps],
        }
    }

    /// An event of a QP at `now`, and the walks behind it.
    pub fn event(
        &mut self,
        qp: usize,
        event: RequesterEvent,
        now: Cycle,
        mut act: impl FnMut(RequesterAction),
    ) {
        let qp = &mut self.qps[qp];
        let mut step = qp.step(event, now);
        act(RequesterAction::Note(step.note));
        loop {
            step.request.map(RequesterAction::Send).map(&mut act);
            (step.completion.map(RequesterAction::Complete)).map(&mut act);
            if !step.walk {
                return;
            }
            step = qp.step(RequesterEvent::Walk, now);
        }
    }

    /// When the next TIMER is due, and whose: of those that are due together, the lowest number's.
    pub fn next_timer(&self) -> Option<(Cycle, usize)> {
        let due = |(number, qp): (usize, &RequesterQp)| Some((qp.context.due()?, number));
        self.qps.iter().enumerate().filter_map(due).min()
    }

    /// Whether a SEND would give a packet.
    pub fn sendable(&self, qp: usize) -> bool {
        self.qps[qp].context.sendable()
    }
}

/// What an event at the responder leads to, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponderAction {
    /// The event's own step made this of it.
    Note(ResponderNote),
    /// The packet's payload goes there.
    Place(Place),
    /// An answer to send.
    Answer(Response),
    /// A buffer ended.
    Complete(Completion),
}

/// The QPs of a responder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderEnd {
    /// QP by number.
    pub qps: Vec<ResponderQp>,
}

impl ResponderEnd {
    /// So many closed QPs, with rings of `slots`.
    pub fn new(qps: usize, slots: usize) -> Self {
        Self {
            qps: vec![ResponderQp::new(slots); qps],
        }
    }

    /// An event of a QP, and the walks behind it.
    pub fn event(
        &mut self,
        qp: usize,
        event: ResponderEvent,
        mut act: impl FnMut(ResponderAction),
    ) {
        let qp = &mut self.qps[qp];
        let mut step = qp.step(event);
        act(ResponderAction::Note(step.note));
        loop {
            step.place.map(ResponderAction::Place).map(&mut act);
            step.response.map(ResponderAction::Answer).map(&mut act);
            (step.completion.map(ResponderAction::Complete)).map(&mut act);
            if !step.walk {
                return;
            }
            step = qp.step(ResponderEvent::Walk);
        }
    }

    /// Whether a GRANT would give an answer.
    pub fn owed(&self, qp: usize) -> bool {
        self.qps[qp].context.owed != Owed::None
    }
}
