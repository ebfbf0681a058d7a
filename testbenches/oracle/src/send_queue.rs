//! Completions of work requests.

use crate::breach::{Breach, Place};
use crate::fact::{Completion, Status};
use crate::message::{Message, Messages};
use crate::region::{Access, Permitted};
use crate::requests::Requests;
use crate::rules;

/// What the send queue of a QP has reported.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// Work requests that are reported, or were passed in silence.
    pub done: usize,
    /// Those of them that ended in success.
    pub succeeded: usize,
    /// Whether one has failed.
    pub failed: bool,
}

/// What a completion is judged by.
pub struct Judged<'a> {
    /// What was posted.
    pub messages: &'a Messages,
    /// What was sent and answered.
    pub requests: &'a Requests,
    /// The sender's memory.
    pub regions: Permitted<'a>,
    /// Answers that arrived may have been dropped.
    pub lossy: bool,
}

impl SendQueue {
    /// Judges a completion.
    pub fn completed(
        &mut self,
        place: &Place,
        completion: &Completion,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let left = &judged.messages.list()[self.done..];
        let found = left
            .iter()
            .position(|message| message.work.id == completion.id);
        let Some(passed) = found else {
            return place.breaks(
                &rules::SEND_ORDER,
                format!(
                    "{completion:?}: no work request with this id is left of {}",
                    judged.messages.list().len()
                ),
            );
        };
        let message = &left[passed];
        let silent = left[..passed].iter().all(|message| !message.work.signaled)
            && (passed == 0 || !self.failed);
        place.holds(silent, &rules::SEND_ORDER, || {
            format!("{completion:?}: next is {:?}", left[0].work)
        })?;
        let length =
            completion.status != Status::Success || completion.length == message.work.length;
        let facts = completion.operation == Some(message.work.operation) && length;
        place.holds(facts, &rules::SEND_FACTS, || {
            format!("{completion:?} of {:?}", message.work)
        })?;
        match (self.failed, completion.status) {
            (true, Status::Flushed) => {}
            (true, _) => {
                return place.breaks(&rules::FLUSH, format!("{completion:?} behind an error"));
            }
            (false, Status::Success) => {
                place.holds(message.work.signaled, &rules::SEND_ORDER, || {
                    format!("{completion:?} was not asked for")
                })?;
                acknowledged(place, completion, message.end, judged)?;
                self.succeeded = self.done + passed + 1;
            }
            (false, _) => {
                acknowledged(place, completion, message.first, judged)?;
                place.holds(
                    has_cause(place, completion.status, message, judged),
                    &rules::SEND_CAUSE,
                    || {
                        format!(
                            "{completion:?} of {:?}: {:?}",
                            message.work, judged.requests
                        )
                    },
                )?;
                self.failed = true;
                self.succeeded = self.done + passed;
            }
        }
        self.done += passed + 1;
        Ok(())
    }
}

/// Judges that the packets before `end` were acknowledged.
fn acknowledged(
    place: &Place,
    completion: &Completion,
    end: u64,
    judged: &Judged<'_>,
) -> Result<(), Breach> {
    let acked = judged.requests.acked;
    place.holds(acked >= end, &rules::SEND_ACKED, || {
        format!("{completion:?}: success up to packet {end}, and the packets before {acked} are acknowledged")
    })
}

/// Whether what was seen may make a work request fail in this way. A flush has its cause elsewhere in its QP.
fn has_cause(place: &Place, status: Status, message: &Message, judged: &Judged<'_>) -> bool {
    let requests = judged.requests;
    let refused = |code: u8| {
        let named =
            |(found, number)| found == code && (message.first..message.end).contains(&number);
        requests.fatal.is_some_and(named)
    };
    let work = &message.work;
    match status {
        Status::Success | Status::BadResponse => false,
        Status::Flushed => true,
        Status::LocalLength => work.length > 1 << 31,
        Status::LocalAccess => {
            let write = work.operation.returns();
            let access = Access::Local { write };
            !write && judged.regions.may_fail(work.va, work.length.into())
                || judged.regions.may_refuse(
                    access,
                    work.key,
                    work.va,
                    work.length.into(),
                    message.posted,
                )
        }
        Status::RemoteInvalid => refused(1),
        Status::RemoteAccess => refused(2),
        Status::RemoteOperation => refused(3),
        Status::RetryExceeded | Status::RnrExceeded => {
            let used_up = match status {
                Status::RnrExceeded => requests.rnr_retries_are_used_up(place.at),
                _ => requests.retries_are_used_up(place.at),
            };
            judged.lossy || requests.can_fail(place.at, message.end) && used_up
        }
    }
}
