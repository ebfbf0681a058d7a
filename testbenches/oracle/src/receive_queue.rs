//! Completions of receive buffers.

use crate::answers::Answers;
use crate::breach::{Breach, Place};
use crate::fact::{Buffer, Completion, Ps, Status};
use crate::memory::Writing;
use crate::message::Messages;
use crate::region::{Access, Permitted};
use crate::rules;

/// What the receive queue of a QP has reported.
#[derive(Debug, Default)]
pub struct ReceiveQueue {
    /// Buffers that are reported.
    pub done: usize,
    /// Those of them that ended in success.
    pub succeeded: usize,
    /// Whether one has failed.
    pub failed: bool,
}

/// What a completion is judged by.
pub struct Judged<'a> {
    /// The peer's messages.
    pub messages: &'a Messages,
    /// What was posted, and when.
    pub buffers: &'a [(Ps, Buffer)],
    /// What arrived.
    pub answers: &'a Answers,
    /// The receiver's memory.
    pub regions: Permitted<'a>,
}

impl ReceiveQueue {
    /// Judges a completion.
    pub fn completed(
        &mut self,
        place: &Place,
        completion: &Completion,
        judged: &Judged<'_>,
        writing: &mut Writing,
    ) -> Result<(), Breach> {
        let next = judged.buffers.get(self.done);
        let Some(buffer) = next.filter(|(_, buffer)| buffer.id == completion.id) else {
            return place.breaks(
                &rules::RECEIVE_ORDER,
                format!("{completion:?}: next is {next:?}"),
            );
        };
        match (self.failed, completion.status) {
            (true, Status::Flushed) => {}
            (true, _) => {
                return place.breaks(&rules::FLUSH, format!("{completion:?} behind an error"));
            }
            (false, Status::Success) => {
                self.whole(place, completion, judged, writing)?;
                self.succeeded = self.done + 1;
            }
            (false, status) => {
                let cause = self.has_cause(status, buffer, judged);
                place.holds(cause, &rules::RECEIVE_CAUSE, || {
                    format!("{completion:?} of {buffer:?}")
                })?;
                self.failed = true;
            }
        }
        self.done += 1;
        Ok(())
    }

    /// Judges a success by the message that takes the buffer.
    fn whole(
        &self,
        place: &Place,
        completion: &Completion,
        judged: &Judged<'_>,
        writing: &mut Writing,
    ) -> Result<(), Breach> {
        let Some(index) = judged.messages.taking(self.done) else {
            return place.breaks(
                &rules::RECEIVE_WHOLE,
                format!("{completion:?}: no message takes buffer {}", self.done),
            );
        };
        let message = &judged.messages.list()[index];
        let work = &message.work;
        let word = !work.operation.has_word() || completion.immediate == work.immediate;
        let same = (
            completion.length,
            completion.operation,
            completion.solicited,
        ) == (work.length, Some(work.operation), work.solicited);
        place.holds(word && same, &rules::RECEIVE_FACTS, || {
            format!("{completion:?} of {work:?}")
        })?;
        let Answers { could, fatal, .. } = judged.answers;
        place.holds(judged.answers.may_accept(message.end - 1), &rules::RECEIVE_WHOLE, || {
            format!("{completion:?}: packets before {could} have arrived, refused was {fatal:?}; {message:?}")
        })?;
        place.holds(
            writing.has(index, judged.messages),
            &rules::RECEIVE_WHOLE,
            || format!("{completion:?}: not all of it is written: {writing:?}, {message:?}"),
        )
    }

    /// Whether what was seen may make the next buffer fail in this way. A flush has its cause elsewhere in its QP.
    fn has_cause(
        &self,
        status: Status,
        (posted, buffer): &(Ps, Buffer),
        judged: &Judged<'_>,
    ) -> bool {
        let message = judged
            .messages
            .taking(self.done)
            .map(|index| &judged.messages.list()[index]);
        let arrived = message.filter(|message| judged.answers.could > message.first);
        match status {
            Status::Flushed => true,
            Status::LocalLength => {
                arrived.is_some_and(|message| message.work.length > buffer.length)
            }
            Status::LocalAccess => arrived.is_some_and(|message| {
                let length = message.work.length.into();
                let access = Access::Local { write: true };
                judged
                    .regions
                    .may_refuse(access, buffer.key, buffer.va, length, *posted)
            }),
            _ => false,
        }
    }
}
