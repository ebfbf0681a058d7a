//! Many QPs of one end. Each call handles an event: its step and the walks that follow, reported as actions. Models
//! of a NIC are built from these.

use serde::{Deserialize, Serialize};

use super::requester::reading::Reading;
use super::{
    Completion, Owed, Place, Request, RequesterEvent, RequesterNote, RequesterQp, RequesterStep,
    ResponderEvent, ResponderNote, ResponderQp, Response, Times,
};
use crate::protocol::Cycle;

/// A result of an event at the requester. The results are reported in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequesterAction {
    /// The note of the event's own step.
    Note(RequesterNote),
    /// A packet to send.
    Send(Request),
    /// A work request that ended.
    Complete(Completion),
}

impl RequesterQp {
    /// Reports a step, and the walks that follow it.
    fn walk_on(
        &mut self,
        mut step: RequesterStep,
        now: Cycle,
        act: &mut impl FnMut(RequesterAction),
    ) {
        act(RequesterAction::Note(step.note));
        loop {
            step.request.map(RequesterAction::Send).map(&mut *act);
            (step.completion.map(RequesterAction::Complete)).map(&mut *act);
            if !step.walk {
                return;
            }
            step = self.step(RequesterEvent::Walk, now);
            if step.note != RequesterNote::None {
                act(RequesterAction::Note(step.note));
            }
        }
    }
}

/// The QPs of a requester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterEnd {
    /// The QPs by index.
    pub qps: Vec<RequesterQp>,
}

impl RequesterEnd {
    /// Creates `qps` closed QPs with rings of `slots`.
    pub fn new(qps: usize, slots: usize, times: Times) -> Self {
        Self {
            qps: vec![RequesterQp::new(slots, times); qps],
        }
    }

    /// Handles an event of a QP at `now`, and the walks that follow.
    pub fn event(
        &mut self,
        qp: usize,
        event: RequesterEvent,
        now: Cycle,
        mut act: impl FnMut(RequesterAction),
    ) {
        let qp = &mut self.qps[qp];
        let step = qp.step(event, now);
        qp.walk_on(step, now, &mut act);
    }

    /// As [`event`](Self::event), for a QP with READs. Returns where the payload of a response goes, as `allowed` has
    /// permitted.
    pub fn event_reading(
        &mut self,
        (qp, reading): (usize, &mut Reading),
        event: RequesterEvent,
        now: Cycle,
        allowed: impl FnOnce(&Place) -> bool,
        mut act: impl FnMut(RequesterAction),
    ) -> Option<Place> {
        let qp = &mut self.qps[qp];
        let step = qp.step_reading(event, now, reading, allowed);
        qp.walk_on(step, now, &mut act);
        step.place
    }

    /// When the next TIMER is due, and for which QP; if several are due at the same time, for the one with the lowest
    /// number.
    pub fn next_timer(&self) -> Option<(Cycle, usize)> {
        let due = |(number, qp): (usize, &RequesterQp)| Some((qp.context.due()?, number));
        self.qps.iter().enumerate().filter_map(due).min()
    }

    /// Whether a SEND would produce a packet.
    pub fn sendable(&self, qp: usize) -> bool {
        self.qps[qp].context.sendable()
    }
}

/// A result of an event at the responder. The results are reported in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponderAction {
    /// The note of the event's own step.
    Note(ResponderNote),
    /// Where the packet's payload is to be written.
    Place(Place),
    /// An answer to send.
    Answer(Response),
    /// A receive buffer that ended.
    Complete(Completion),
}

/// The QPs of a responder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderEnd {
    /// The QPs by index.
    pub qps: Vec<ResponderQp>,
}

impl ResponderEnd {
    /// Creates `qps` closed QPs with rings of `slots`.
    pub fn new(qps: usize, slots: usize) -> Self {
        Self {
            qps: vec![ResponderQp::new(slots); qps],
        }
    }

    /// Handles an event of a QP, and the walks that follow.
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

    /// Whether a GRANT would produce an answer.
    pub fn owed(&self, qp: usize) -> bool {
        self.qps[qp].context.owed != Owed::None
    }
}
