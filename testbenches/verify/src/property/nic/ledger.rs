//! What was posted in one direction of a connection, and which results are allowed.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Written;
use xoff_sim::host::memory::{differing, number};
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;

use crate::property::Disagreement;

/// Maximum number of messages per direction in a case. Each has its own place in memory.
pub const MESSAGES_MAX: usize = 64;
/// Size of a place in bytes.
const PLACE: u64 = 1 << 18;
/// Maximum length of a message: it begins up to 63 bytes behind its place, and its buffer is up to 2 bytes longer.
pub const LENGTH_MAX: u64 = PLACE - 65;
/// Maximum number of messages posted and not yet reported. The rings have 16 slots.
const UNDER_WAY: usize = 14;
/// Low bits of an id that are the message's number.
const NUMBER_BITS: u32 = 16;

#[derive(Serialize, Deserialize)]
struct Message {
    work: Work,
    buffer: Option<Recv>,
    /// What an atomic finds.
    found: Option<u64>,
}

impl Message {
    /// Returns where its bytes go, with which key, and whether that key is the peer's.
    fn place(&self) -> (u64, u32, bool) {
        match &self.buffer {
            Some(buffer) if !self.work.kind.writes() => (buffer.local_va, buffer.local_key, false),
            _ => (self.work.remote_va, self.work.remote_key, true),
        }
    }
}

/// One direction of a connection.
#[derive(Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Address of the first place.
    base: u64,
    /// Where messages are sent from, and with which key.
    sent: (u64, u32),
    /// Messages may be restarted (go-back-0).
    restarts: bool,
    messages: Vec<Message>,
    /// Messages that the sender reported, or completed without a completion.
    reported: usize,
    failed: Option<usize>,
    /// The receiver's region was withdrawn, or the sender's: what cannot be written ends the QP on both sides.
    withdrawn: bool,
    /// What the sender sends may not be readable any more.
    unreadable: bool,
    /// The receiver reported the buffers of all messages before this one.
    received: usize,
    /// The receiver reported success for the buffers of all messages before this one.
    received_whole: usize,
    /// The receiver's QP has failed: its remaining buffers are flushed.
    receiver_failed: bool,
    /// Receive buffers were flushed. What ended the QP may be reported after them, as the queues are two.
    flushed: bool,
    /// Buffers that the receiver has not reported.
    buffers: usize,
    /// The message being written, and the number of its bytes already written.
    writing: usize,
    written: u64,
    /// Likewise of READs, at the sender.
    reading: usize,
    read: u64,
    /// How often the QP was opened again, and what its atomics since then leave in their word: the word is another one
    /// each time, because nothing says whether those that were not reported were performed.
    reopened: u64,
    word: Option<u64>,
}

/// Where a READ's bytes come from, and with which key.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The first byte.
    pub va: u64,
    /// How many there are. The words of atomics are the last ones.
    pub bytes: u64,
    /// The peer's key.
    pub key: u32,
}

impl Ledger {
    /// Creates an empty ledger; `base` is the address of the memory for its messages, and they are sent from that at
    /// `sent`, with its key.
    pub fn new(base: u64, sent: (u64, u32), restarts: bool) -> Self {
        Self {
            base,
            sent,
            restarts,
            ..Self::default()
        }
    }

    /// Creates the READ that is posted next: its work request. Its bytes go to the place of its number from `place` on.
    pub fn post_read(
        &mut self,
        length: u32,
        signaled: bool,
        (place, key): (u64, u32),
        source: Source,
    ) -> Work {
        let (mut work, _) = self.post(WorkKind::READ, length, signaled, key, None);
        let offset = work.remote_va - self.base;
        (work.local_va, work.local_key) = (place + offset, key);
        (work.remote_va, work.remote_key) = (source.va + offset / 3, source.key);
        work.fence = work.id >> 60 == 0;
        self.messages.last_mut().expect("it was posted").work = work;
        work
    }

    /// Creates the atomic that is posted next. What it finds goes to the place of its number from `place` on.
    pub fn post_atomic(
        &mut self,
        kind: WorkKind,
        signaled: bool,
        place: (u64, u32),
        source: Source,
    ) -> Work {
        let mut work = self.post_read(8, signaled, place, source);
        work.kind = kind;
        work.remote_va = (source.va + source.bytes - 8) - 8 * self.reopened;
        let found = self.word.unwrap_or_else(|| number(work.remote_va));
        let mut draw = SplitMix::new(work.id);
        work.swap_add = draw.bits();
        work.compare = match draw.once_in(3) {
            true => draw.bits(),
            false => found,
        };
        self.word = Some(match kind {
            WorkKind::FETCH_ADD => found.wrapping_add(work.swap_add),
            _ if found == work.compare => work.swap_add,
            _ => found,
        });
        let message = self.messages.last_mut().expect("it was posted");
        (message.work, message.found) = (work, Some(found));
        work
    }

    /// Returns whether a message may be posted.
    pub fn has_room(&self) -> bool {
        self.messages.len() < MESSAGES_MAX
            && self.messages.len() - self.reported < UNDER_WAY
            && self.buffers < UNDER_WAY
    }

    /// Posts a message. Returns the work request for the sender and the buffer that the receiver needs.
    ///
    /// `key` is that of the receiver's memory, `invalidates` the key that a SEND with invalidate carries.
    pub fn post(
        &mut self,
        kind: WorkKind,
        length: u32,
        signaled: bool,
        key: u32,
        invalidates: Option<u32>,
    ) -> (Work, Option<Recv>) {
        let index = self.messages.len();
        let id = index as u64;
        // What the NIC hands through has any value.
        let mut draw = SplitMix::new(self.base ^ id);
        let number = id ^ self.mask();
        let mut name = || number | draw.bits() << NUMBER_BITS;
        let place = self.base + PLACE * id + 3 * id % 64;
        let work = Work {
            kind,
            signaled,
            solicited: name() >> 63 == 1,
            length,
            // Memory content is a function of the address, so the source address differs from the place's.
            local_va: self.sent.0 + PLACE * id + 5 * id % 64,
            local_key: self.sent.1,
            remote_va: place,
            remote_key: key,
            imm: invalidates.unwrap_or((name() >> 32) as u32),
            id: name(),
            ..Work::default()
        };
        let buffer = kind.takes_buffer().then(|| Recv {
            length: length + index as u32 % 3,
            local_va: place,
            local_key: key,
            id: name(),
        });
        self.buffers += usize::from(buffer.is_some());
        self.messages.push(Message {
            work,
            buffer,
            found: None,
        });
        (work, buffer)
    }

    /// Has the message that was posted last name this key for the sender's memory. Returns its work request.
    pub fn send_with(&mut self, key: u32) -> Work {
        let message = self.messages.last_mut().expect("it was posted");
        message.work.local_key = key;
        message.work
    }

    /// What the low bits of ids differ from their messages' numbers in.
    fn mask(&self) -> u64 {
        SplitMix::new(self.base).bits() & ((1 << NUMBER_BITS) - 1)
    }

    /// Returns whether anything was posted.
    pub fn used(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Returns whether the sender has reported all messages.
    pub fn settled(&self) -> bool {
        self.reported == self.messages.len()
    }

    /// Judges a completion of the sender.
    ///
    /// # Errors
    ///
    /// Returns an error if the completion is not allowed.
    pub fn sent(&mut self, completion: &Completion) -> Result<(), Disagreement> {
        let number = completion.id & ((1 << NUMBER_BITS) - 1);
        let id = usize::try_from(number ^ self.mask()).expect("16 bits");
        let wrong = |what: &str| Err(format!("{what}: {completion:?}"));
        if id >= self.messages.len() || id < self.reported {
            return wrong("a completion of nothing, or a second one");
        }
        let work = &self.messages[id].work;
        let length = match completion.status {
            Status::Success => work.length,
            _ => 0,
        };
        if completion.receive
            || (completion.id, completion.operation, completion.length)
                != (work.id, work.kind.0, length)
        {
            return Err(format!("{completion:?} of {work:?}"));
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
            (Status::LocalAccess, None)
                if !(work.kind.returns() || self.unreadable && work.length > 0) =>
            {
                return wrong("its memory can be read");
            }
            (
                Status::RemoteAccess
                | Status::RemoteOperate
                | Status::LocalAccess
                | Status::Flushed,
                None,
            ) if self.withdrawn => {
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

    /// Notes that the region of one of the two sides was withdrawn.
    pub fn withdraw(&mut self) {
        self.withdrawn = true;
    }

    /// Notes that what is sent may not be readable from now on.
    pub fn forbid_reads(&mut self) {
        self.unreadable = true;
    }

    /// Notes that the receiver's QP has failed as a sender: a QP has one state (IBTA volume 1).
    pub fn fail_receiver(&mut self) {
        self.receiver_failed = true;
    }

    /// The QP was closed at both sides and is opened again: what is not reported by now never will be.
    ///
    /// # Errors
    ///
    /// As [`Ledger::end`].
    pub fn reopen(&mut self) -> Result<(), Disagreement> {
        self.end()?;
        let all = self.messages.len();
        (self.reported, self.received, self.received_whole) = (all, all, all);
        (self.writing, self.written) = (all, 0);
        (self.reading, self.read) = (all, 0);
        (self.reopened, self.word) = (self.reopened + 1, None);
        (self.failed, self.receiver_failed, self.buffers) = (None, false, 0);
        self.flushed = false;
        Ok(())
    }

    /// Judges a completion of the receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if the completion is not allowed.
    pub fn received(&mut self, completion: &Completion) -> Result<(), Disagreement> {
        let taking = |message: &Message| message.buffer.is_some();
        let next = self.messages[self.received..].iter().position(taking);
        let Some(index) = next.map(|next| self.received + next) else {
            return Err(format!("a receive of nothing: {completion:?}"));
        };
        let Message { work, buffer, .. } = &self.messages[index];
        let imm = (work.kind.has_imm()).then_some(work.imm);
        let whole = completion.status == Status::Success
            && completion.length == work.length
            && completion.solicited == work.solicited
            && [true, false]
                .map(|first| work.kind.opcode(first, true).0)
                .contains(&completion.operation)
            && imm.is_none_or(|imm| completion.imm == imm);
        let flushed = match completion.status {
            Status::Flushed => {
                self.flushed = true;
                true
            }
            Status::LocalAccess => self.withdrawn,
            _ => false,
        };
        let right =
            Some(completion.id) == buffer.as_ref().map(|buffer| buffer.id) && (whole || flushed);
        if !right {
            return Err(format!("{completion:?} of message {index}, {work:?}"));
        }
        self.received = index + 1;
        if whole {
            self.received_whole = index + 1;
        }
        self.buffers -= 1;
        Ok(())
    }

    /// Judges the bytes of a packet in the receiver's memory.
    ///
    /// # Errors
    ///
    /// Returns an error if they belong to no message, are wrong, or are out of order.
    pub fn wrote(&mut self, write: &Written) -> Result<(), Disagreement> {
        while (self.messages.get(self.writing))
            .is_some_and(|m| m.work.kind.returns() || u64::from(m.work.length) == self.written)
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
        // Under go-back-0 a message is written again from its start.
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

    /// Judges the bytes of a READ, or what an atomic found, in the sender's memory.
    ///
    /// # Errors
    ///
    /// As [`Ledger::wrote`].
    pub fn fetched(&mut self, write: &Written) -> Result<(), Disagreement> {
        while (self.messages.get(self.reading))
            .is_some_and(|m| !m.work.kind.returns() || u64::from(m.work.length) == self.read)
        {
            self.reading += 1;
            self.read = 0;
        }
        let what = format!(
            "{} bytes at {:#x}; next is byte {} of READ {}",
            write.bytes.len(),
            write.va,
            self.read,
            self.reading
        );
        let Some(Message { work, found, .. }) = self.messages.get(self.reading) else {
            return Err(what);
        };
        // Under go-back-0 a READ is asked again from its start.
        if self.restarts && write.va == work.local_va {
            self.read = 0;
        }
        let right = write.va == work.local_va + self.read
            && (write.key, write.remote) == (work.local_key, false);
        let from = work.remote_va + self.read;
        self.read += write.bytes.len() as u64;
        let same = match found {
            Some(found) => write.bytes == found.to_le_bytes(),
            None => differing(from, &write.bytes) == 0,
        };
        if !right || !same || self.read > work.length.into() {
            return Err(format!("wrong bytes: {what}"));
        }
        Ok(())
    }

    /// Checks that the receiver has everything that was reported to the sender as delivered, and that what was flushed
    /// was flushed for a reason.
    ///
    /// # Errors
    ///
    /// Returns an error if it has not.
    pub fn end(&self) -> Result<(), Disagreement> {
        if self.flushed && !(self.receiver_failed || self.withdrawn) {
            return Err("receive buffers were flushed, and nothing has failed".into());
        }
        let told = self.failed.unwrap_or(self.reported);
        let there = |(index, message): (usize, &Message)| {
            let (next, bytes) = match message.work.kind {
                kind if kind.returns() => (self.reading, self.read),
                _ => (self.writing, self.written),
            };
            let whole = match index.cmp(&next) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => bytes == u64::from(message.work.length),
                std::cmp::Ordering::Greater => message.work.length == 0,
            };
            whole && (message.buffer.is_none() || index < self.received_whole)
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
