//! What was posted in one direction of a connection, and what may come of it.

use xoff_sim::host::Written;
use xoff_sim::host::memory::differing;
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind};

use crate::property::Disagreement;

/// Messages of a direction in a case, at most: each has its own place in memory.
pub const MESSAGES_MAX: usize = 64;
/// Bytes of a place.
const PLACE: u64 = 1 << 18;
/// Messages that are posted and not yet reported: the rings have 16 slots.
const UNDER_WAY: usize = 14;

struct Message {
    work: Work,
    buffer: Option<Recv>,
}

impl Message {
    /// Where its bytes go, under which key, and whether that key is the peer's.
    fn place(&self) -> (u64, u32, bool) {
        match &self.buffer {
            Some(buffer) if !self.work.kind.writes() => (buffer.local_va, buffer.local_key, false),
            _ => (self.work.remote_va, self.work.remote_key, true),
        }
    }
}

/// One direction of a connection.
#[derive(Default)]
pub struct Ledger {
    /// Where its places begin.
    base: u64,
    /// Messages may be sent again from their start.
    restarts: bool,
    messages: Vec<Message>,
    /// Messages that the sender reported, or passed by in silence.
    reported: usize,
    failed: Option<usize>,
    /// The receiver reported the buffers of all messages before this one.
    received: usize,
    /// Its QP has failed: what is left of its buffers comes back flushed.
    receiver_failed: bool,
    /// Buffers that it has not reported.
    buffers: usize,
    /// The message that is being written, and how much of it was.
    writing: usize,
    written: u64,
}

impl Ledger {
    /// Nothing posted yet; `base` is where memory for its messages begins.
    pub fn new(base: u64, restarts: bool) -> Self {
        Self {
            base,
            restarts,
            ..Self::default()
        }
    }

    /// Whether a message may be posted.
    pub fn has_room(&self) -> bool {
        self.messages.len() < MESSAGES_MAX
            && self.messages.len() - self.reported < UNDER_WAY
            && self.buffers < UNDER_WAY
    }

    /// A message is posted: what the sender gets, and the buffer that the receiver needs.
    pub fn post(
        &mut self,
        kind: WorkKind,
        length: u32,
        signaled: bool,
        key: u32,
    ) -> (Work, Option<Recv>) {
        let index = self.messages.len();
        let id = index as u64;
        let place = self.base + PLACE * id + 3 * id % 64;
        let work = Work {
            kind,
            signaled,
            solicited: index % 2 == 1,
            length,
            // Content is a function of the address: another one than the place's.
            local_va: (1 << 46) + place.rotate_left(3) + id,
            local_key: 77,
            remote_va: place,
            remote_key: key,
            imm: 0xA000_0000 + index as u32,
            id,
            ..Work::default()
        };
        let buffer = kind.takes_buffer().then(|| Recv {
            length: length + index as u32 % 3,
            local_va: place,
            local_key: key,
            id: 1_000 + id,
        });
        self.buffers += usize::from(buffer.is_some());
        self.messages.push(Message { work, buffer });
        (work, buffer)
    }

    /// Whether anything was posted.
    pub fn used(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Whether the sender has reported all.
    pub fn settled(&self) -> bool {
        self.reported == self.messages.len()
    }

    /// The sender's completion.
    ///
    /// # Errors
    ///
    /// It may not come.
    pub fn sent(&mut self, completion: &Completion) -> Result<(), Disagreement> {
        let id = completion.id as usize;
        let wrong = |what: &str| Err(format!("{what}: {completion:?}"));
        if id >= self.messages.len() || id < self.reported {
            return wrong("a completion of nothing, or a second one");
        }
        let silent = |messages: &[Message]| messages.iter().all(|message| !message.work.signaled);
        match (completion.status, self.failed) {
            (Status::Success, None) => {
                if !silent(&self.messages[self.reported..id]) {
                    return wrong("a completion out of turn");
                }
                if !self.messages[id].work.signaled {
                    return wrong("a success that was not asked for");
                }
            }
            (Status::RetryExceeded | Status::RnrExceeded, None) => {
                if !silent(&self.messages[self.reported..id]) {
                    return wrong("an error out of turn");
                }
                self.failed = Some(id);
            }
            (Status::Flushed, Some(_)) => {
                if id != self.reported {
                    return wrong("flushed out of turn");
                }
            }
            _ => return wrong("a status that cannot be"),
        }
        self.reported = id + 1;
        Ok(())
    }

    /// The receiver's QP has failed as a sender: one state a QP (IBTA volume 1 §10.3.1.5).
    pub fn fail_receiver(&mut self) {
        self.receiver_failed = true;
    }

    /// The receiver's completion.
    ///
    /// # Errors
    ///
    /// It may not come.
    pub fn received(&mut self, completion: &Completion) -> Result<(), Disagreement> {
        let taking = |message: &Message| message.buffer.is_some();
        let next = self.messages[self.received..].iter().position(taking);
        let Some(index) = next.map(|next| self.received + next) else {
            return Err(format!("a receive of nothing: {completion:?}"));
        };
        let Message { work, buffer } = &self.messages[index];
        let imm = (work.kind.has_imm()).then_some(work.imm);
        let whole = completion.status == Status::Success
            && completion.length == work.length
            && imm.is_none_or(|imm| completion.imm == imm);
        let flushed = completion.status == Status::Flushed && self.receiver_failed;
        let right =
            Some(completion.id) == buffer.as_ref().map(|buffer| buffer.id) && (whole || flushed);
        if !right {
            return Err(format!("{completion:?} of message {index}, {work:?}"));
        }
        self.received = index + 1;
        self.buffers -= 1;
        Ok(())
    }

    /// A packet's bytes in the receiver's memory.
    ///
    /// # Errors
    ///
    /// They belong nowhere, are wrong, or are not next.
    pub fn wrote(&mut self, write: &Written) -> Result<(), Disagreement> {
        while (self.messages.get(self.writing))
            .is_some_and(|m| u64::from(m.work.length) == self.written)
        {
            self.writing += 1;
            self.written = 0;
        }
        let index = ((write.va - self.base) / PLACE) as usize;
        let what = format!(
            "{} bytes at {:#x}, message {index}; next is byte {} of {}",
            write.bytes.len(),
            write.va,
            self.written,
            self.writing
        );
        let Some(message) = self.messages.get(index) else {
            return Err(what);
        };
        let (place, key, remote) = message.place();
        if (write.key, write.remote) != (key, remote) {
            return Err(format!(
                "key {:#x}, the peer's: {}; {what}",
                write.key, write.remote
            ));
        }
        // Go-back-0 writes a message again from its start.
        let again = self.restarts && index == self.writing && write.va == place;
        if again {
            self.written = 0;
        }
        if index != self.writing || write.va != place + self.written {
            return Err(what);
        }
        let from = message.work.local_va + self.written;
        self.written += write.bytes.len() as u64;
        if differing(from, &write.bytes) != 0 || self.written > message.work.length.into() {
            return Err(format!("wrong bytes: {what}"));
        }
        Ok(())
    }

    /// Whether the receiver has all of what the sender was told is there.
    ///
    /// # Errors
    ///
    /// It has not.
    pub fn end(&self) -> Result<(), Disagreement> {
        let told = self.failed.unwrap_or(self.messages.len());
        let there = |(index, message): (usize, &Message)| {
            let whole = match index.cmp(&self.writing) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.written == u64::from(message.work.length),
                std::cmp::Ordering::Greater => message.work.length == 0,
            };
            whole && (message.buffer.is_none() || index < self.received)
        };
        match self.messages[..told]
            .iter()
            .enumerate()
            .find(|m| !there(*m))
        {
            None => Ok(()),
            Some((index, message)) => Err(format!(
                "message {index} was acknowledged and is not there: {:?}",
                message.work
            )),
        }
    }
}
