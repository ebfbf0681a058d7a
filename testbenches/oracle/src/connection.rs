//! Two QPs that are connected, and the two directions between them.

use crate::answers::Answers;
use crate::breach::{Breach, Place};
use crate::fact::{Buffer, Completion, Ps, Qp, Status};
use crate::memory::Writing;
use crate::message::Messages;
use crate::oracle::Options;
use crate::packet::Path;
use crate::receive_queue::ReceiveQueue;
use crate::requests::Requests;
use crate::responses::Responses;
use crate::returned::Returned;
use crate::rules;
use crate::send_queue::SendQueue;

/// A QP of a side.
#[derive(Debug)]
pub struct End {
    /// How it was opened.
    pub qp: Qp,
    /// When it was closed.
    pub closed: Option<Ps>,
    /// Frames that arrived may have been dropped.
    pub lossy: bool,
    /// What its frames have in common.
    pub path: Option<Path>,
    /// When it was first seen to be in error.
    pub failed: Option<Ps>,
    /// Something was flushed: where, and what.
    flushed: Option<(Place, Completion)>,
    /// It was seen why the QP is in error.
    pub explained: bool,
}

impl End {
    fn new(qp: Qp) -> Self {
        Self {
            qp,
            closed: None,
            lossy: false,
            path: None,
            failed: None,
            flushed: None,
            explained: false,
        }
    }

    /// Notes how a work request or a buffer ended.
    pub fn completed(&mut self, place: &Place, completion: &Completion) {
        match completion.status {
            Status::Success => return,
            Status::Flushed => drop(self.flushed.get_or_insert((*place, *completion))),
            _ => self.explained = true,
        }
        self.failed.get_or_insert(place.at);
    }

    /// Judges that what was flushed was flushed for a reason.
    pub fn check_flushes(&self) -> Result<(), Breach> {
        match &self.flushed {
            Some((place, completion)) if !self.explained => place.breaks(
                &rules::FLUSH_CAUSE,
                format!("{completion:?}, and nothing says what has failed"),
            ),
            _ => Ok(()),
        }
    }
}

/// Messages from one side to the other.
#[derive(Debug)]
pub struct Direction {
    /// What the sender posted.
    pub messages: Messages,
    /// What the receiver posted, and when.
    pub buffers: Vec<(Ps, Buffer)>,
    /// The sender's frames.
    pub requests: Requests,
    /// The receiver's frames.
    pub answers: Answers,
    /// The receiver's memory.
    pub writing: Writing,
    /// The receiver's responses to READs and atomics.
    pub responses: Responses,
    /// What they bring back to the sender's memory.
    pub returned: Returned,
    /// Completions of the sender.
    pub sends: SendQueue,
    /// Completions of the receiver.
    pub receives: ReceiveQueue,
    /// The packet behind the last message that the sender has completed with success, and when.
    pub done_since: Option<(u64, Ps)>,
}

impl Direction {
    fn new(sender: Qp, receiver: Qp, options: Options) -> Self {
        Self {
            messages: Messages::new(sender.mtu),
            buffers: vec![],
            requests: Requests::new(sender, options),
            answers: Answers::new(receiver),
            writing: Writing::new(receiver.restart),
            responses: Responses::default(),
            returned: Returned::new(sender.restart),
            sends: SendQueue::default(),
            receives: ReceiveQueue::default(),
            done_since: None,
        }
    }

    /// Judges that what the receiver has acknowledged, or the sender has completed with success, is at the receiver.
    pub fn check_delivered(&mut self, place: &Place) -> Result<(), Breach> {
        let acknowledged = self.messages.complete(self.answers.acked);
        let Some(last) = self.sends.succeeded.max(acknowledged).checked_sub(1) else {
            return Ok(());
        };
        let told = || format!("{acknowledged} messages are acknowledged, {:?}", self.sends);
        place.holds(
            self.writing.has(last, &self.messages),
            &rules::SEND_WRITTEN,
            || format!("{}, and {:?}", told(), self.writing),
        )?;
        let taken = self.messages.buffers(self.messages.list()[last].end);
        place.holds(
            self.receives.succeeded >= taken,
            &rules::SEND_DELIVERED,
            || format!("{}, and of {taken} buffers {:?}", told(), self.receives),
        )
    }
}

/// Two QPs, of which one may not be open yet.
#[derive(Debug)]
pub struct Connection {
    /// By side.
    pub ends: [Option<End>; 2],
    /// By the sender's side.
    pub ways: [Direction; 2],
}

/// The peer of a QP as far as the QP knows it.
fn mirrored(qp: Qp) -> Qp {
    Qp {
        qpn: qp.peer_qpn,
        peer_qpn: qp.qpn,
        first_psn: qp.peer_first_psn,
        peer_first_psn: qp.first_psn,
        ..qp
    }
}

impl Connection {
    /// Of a QP whose peer is not open yet.
    pub fn new(side: usize, qp: Qp, options: Options) -> Self {
        let own = Direction::new(qp, mirrored(qp), options);
        let peer = Direction::new(mirrored(qp), qp, options);
        let (ways, ends) = match side {
            0 => ([own, peer], [Some(End::new(qp)), None]),
            _ => ([peer, own], [None, Some(End::new(qp))]),
        };
        Self { ends, ways }
    }

    /// Opens the peer, too.
    pub fn join(&mut self, place: &Place, qp: Qp, options: Options) -> Result<(), Breach> {
        let side = place.side;
        let other = self.ends[1 - side].as_ref().map(|end| mirrored(end.qp));
        let agrees = other.is_none_or(|own| {
            (own.first_psn, own.peer_first_psn, own.mtu)
                == (qp.first_psn, qp.peer_first_psn, qp.mtu)
        });
        place.holds(agrees, &rules::LOG, || {
            format!("{qp:?} is not the peer of {other:?}")
        })?;
        self.ends[side] = Some(End::new(qp));
        self.ways[side].requests = Requests::new(qp, options);
        self.ways[side].returned = Returned::new(qp.restart);
        self.ways[1 - side].answers = Answers::new(qp);
        self.ways[1 - side].writing = Writing::new(qp.restart);
        Ok(())
    }
}
