//! The tools `ib_send_bw`, `ib_write_bw`, `ib_read_bw` and `ib_atomic_bw` of perftest: both ends tell each other over
//! TCP what they are and where their memory is, and then the client sends, writes, reads or has words changed.
//!
//! | module | what is in it |
//! |---|---|
//! | `exchange` | what is told, and in which order |
//! | `verb` | the operations |
//! | `answers` | what READs and atomics bring, and what it has to be |

use std::net::IpAddr;

use crc32fast::hash;
use xoff_sim::nic::shape::WQES;
use xoff_sim::nic::{ReadRights, Region};
use xoff_sim::protocol::gbn::{Recv, Status, Work, mtu_code};

use super::dial::{DONE, Dial};
use super::stack::Stack;
use super::verbs::{MEMORY, QP, Remote, TAG, Transport, Verbs, failed};
use super::{Messages, Role, ToolError};
use crate::endpoint::Created;

mod answers;
mod exchange;
mod verb;

pub use verb::Verb;

use answers::{Answers, added};
use exchange::{
    Keys, NUMBER, ONE_SIDED, SEND, Step, VERSION_BYTES, description, read_description, read_mtu,
    read_version,
};

/// The version of the exchange that this is.
const VERSION: &str = "6.06";
/// What is told of the memory of small messages, and of the processor's caches, in bytes.
const CYCLE: u32 = 4096;
const CACHE_LINE: u32 = 64;
/// How many messages are posted at a time: as many as an RTL NIC holds. More would wait at its pins, and keep it awake.
const DEPTH: u64 = WQES as u64;
/// What makes a key another one.
const WRONG: u32 = 0x0100;

/// The settings of the tool, named as its options are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Perftest {
    /// The operation.
    pub verb: Verb,
    /// Bytes of a message, 1 or more; of atomics 8.
    pub size: u32,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096. The smaller one of both ends counts.
    pub mtu: u32,
    /// How many messages, 1 or more.
    pub iterations: u64,
    /// How many receive buffers a server of SENDs keeps posted, 1 to 16. With few of them the NIC has to answer that it
    /// is not ready.
    pub buffers: u64,
    /// How many READs and atomics may be unanswered in each direction, 1 to 16. The NIC's own limit, and that of the
    /// other end, count too.
    pub reads: u16,
    /// The server's TCP port.
    pub port: u16,
    /// Whether a key is used, or told, that is none.
    pub wrong_key: bool,
}

/// The tool while it runs.
#[derive(Debug)]
pub(super) struct Running {
    settings: Perftest,
    dial: Dial,
    steps: &'static [Step],
    place: usize,
    /// Whether the client has told its part of the step.
    told: bool,
    created: Created,
    mtu: u32,
    remote: Option<Keys>,
    posted: u64,
    answers: Answers,
    messages: Messages,
}

impl Running {
    /// Starts the tool.
    pub fn new(
        settings: Perftest,
        role: Role,
        stack: &mut Stack,
        verbs: &mut Verbs,
    ) -> Result<Self, ToolError> {
        let region = Region {
            base: MEMORY,
            // A client goes round in two pages with messages that are smaller.
            length: u64::from(settings.size.max(CYCLE)) * 2,
            tag: TAG,
            pd: 0,
            local_write: true,
            remote_write: settings.verb == Verb::Write,
        };
        verbs.limit_reads(settings.reads);
        let created = verbs.create(QP, &region)?;
        verbs.permit(QP, settings.verb.rights());
        Ok(Self {
            settings,
            dial: Dial::new(role, settings.port, stack)?,
            steps: match settings.verb {
                Verb::Send => &SEND,
                _ => &ONE_SIDED,
            },
            place: 0,
            told: false,
            created,
            mtu: settings.mtu,
            remote: None,
            posted: 0,
            // Behind what the other end may write to or read from.
            answers: Answers::new(settings.verb, MEMORY + u64::from(settings.size.max(CYCLE))),
            messages: Messages::default(),
        })
    }

    pub const fn messages(&self) -> &Messages {
        &self.messages
    }

    pub fn remote(&self) -> Option<Remote> {
        self.remote.map(|keys| keys.remote)
    }

    pub const fn finished(&self) -> bool {
        self.place == self.steps.len()
    }

    /// What it waits for.
    pub fn waits_for(&self) -> String {
        let name = self.settings.verb.tool();
        let (sent, received) = (self.messages.sent, self.messages.received);
        let of = self.settings.iterations;
        match self.steps.get(self.place) {
            _ if !self.dial.open() => self.dial.waits_for(name),
            None => "nothing".into(),
            Some(Step::Run) => format!("messages: {sent} of {of} were sent, {received} received"),
            Some(step) => step.words().into(),
        }
    }

    /// Does what it can. Returns whether it has done something.
    pub fn step(&mut self, stack: &mut Stack, verbs: &mut Verbs) -> Result<bool, ToolError> {
        if !self.dial.open() {
            return self.dial.step(stack, verbs.bench.now(), &self.waits_for());
        }
        let Some(step) = self.steps.get(self.place).copied() else {
            return Ok(false);
        };
        let done = match step {
            Step::Run => self.run(stack, verbs)?,
            step => self.exchange(step, stack, verbs)?,
        };
        if done {
            self.place += 1;
            self.told = false;
            if self.finished() {
                stack.close();
            }
        }
        Ok(done)
    }

    const fn is_client(&self) -> bool {
        matches!(self.dial.role, Role::Client(_))
    }

    /// Tells and is told. Returns whether both are done.
    fn exchange(
        &mut self,
        step: Step,
        stack: &mut Stack,
        verbs: &mut Verbs,
    ) -> Result<bool, ToolError> {
        if self.is_client() && !self.told {
            let own = self.own(step, verbs)?;
            stack.write(&own);
            self.told = true;
        }
        let Some(bytes) = self.dial.read(step.bytes(), stack, step.words())? else {
            return Ok(false);
        };
        self.hear(step, &bytes, verbs)?;
        if !self.is_client() {
            // Of what a server need not know it thinks as the client.
            let own = match step {
                Step::Version | Step::Cycle | Step::Line | Step::Result => bytes,
                step => self.own(step, verbs)?,
            };
            stack.write(&own);
        }
        Ok(true)
    }

    /// What this end tells.
    fn own(&self, step: Step, verbs: &Verbs) -> Result<Vec<u8>, ToolError> {
        Ok(match step {
            Step::Version => {
                let mut bytes = VERSION.as_bytes().to_vec();
                bytes.resize(VERSION_BYTES, 0);
                bytes
            }
            Step::Cycle => CYCLE.to_be_bytes().to_vec(),
            Step::Line => CACHE_LINE.to_be_bytes().to_vec(),
            // 1 is 256 bytes.
            Step::Mtu => vec![b'1' + mtu_code(self.mtu).unwrap_or(4), 0],
            Step::Meet | Step::Sync => {
                let key = match self.settings.wrong_key && !self.is_client() {
                    true => self.created.key ^ WRONG,
                    false => self.created.key,
                };
                description(&Keys {
                    remote: verbs.told(&self.created, self.peer()?)?,
                    reads: verbs.reads(),
                    key,
                    va: MEMORY,
                })
            }
            Step::Run => Vec::new(),
            Step::Result => vec![0; NUMBER],
            Step::Done => DONE.to_vec(),
        })
    }

    /// The peer's address, as far as it is known.
    fn peer(&self) -> Result<IpAddr, ToolError> {
        match (self.remote, self.dial.role) {
            (Some(keys), _) => Ok(keys.remote.ip),
            (None, Role::Client(peer)) => Ok(peer),
            (None, Role::Server) => Err(ToolError::Exchange("the peer is not known".into())),
        }
    }

    /// Takes what the other end tells.
    fn hear(&mut self, step: Step, bytes: &[u8], verbs: &mut Verbs) -> Result<(), ToolError> {
        match step {
            Step::Version => read_version(bytes).map_err(ToolError::Exchange),
            Step::Mtu => {
                let mtu = read_mtu(bytes).map_err(ToolError::Exchange)?;
                self.mtu = self.mtu.min(mtu);
                Ok(())
            }
            Step::Meet => {
                let keys = read_description(bytes).map_err(ToolError::Exchange)?;
                self.remote = Some(keys);
                verbs.limit_reads(keys.reads);
                let transport = Transport::of_tools(self.mtu);
                verbs.connect(QP, &self.created, &keys.remote, transport)?;
                if !self.is_client() && self.settings.verb == Verb::Send {
                    for _ in 0..self.settings.buffers.min(self.settings.iterations) {
                        self.post_buffer(verbs);
                    }
                }
                Ok(())
            }
            Step::Sync => {
                let keys = read_description(bytes).map_err(ToolError::Exchange)?;
                match self.remote == Some(keys) {
                    true => {
                        self.look_at_memory(verbs);
                        Ok(())
                    }
                    false => Err(ToolError::Exchange(format!(
                        "the peer told its queue pair as {:?} and now as {keys:?}",
                        self.remote
                    ))),
                }
            }
            Step::Done if bytes != DONE => Err(ToolError::Exchange(format!(
                "the peer says '{}'; 'done' and a zero byte is right",
                bytes.escape_ascii()
            ))),
            _ => Ok(()),
        }
    }

    fn post_buffer(&mut self, verbs: &mut Verbs) {
        let recv = Recv {
            id: self.posted,
            local_va: MEMORY,
            local_key: self.created.key,
            length: self.settings.size,
        };
        verbs.receive(QP, recv);
        self.posted += 1;
    }

    /// The server, once the client has said that its messages went: what atomics have added to its memory.
    fn look_at_memory(&mut self, verbs: &Verbs) {
        let ran = self.place > 0 && self.steps[self.place - 1] == Step::Run;
        if self.is_client() || !ran || self.settings.verb != Verb::FetchAdd {
            return;
        }
        let sum = added(MEMORY, &verbs.read(MEMORY, 2 * CYCLE));
        self.messages.received = sum;
        self.messages.changed += sum.abs_diff(self.settings.iterations);
    }

    fn post_message(&mut self, verbs: &mut Verbs) {
        let (key, va) = self.remote.map_or((0, 0), |keys| (keys.key, keys.va));
        let work = Work {
            kind: self.settings.verb.kind(),
            signaled: true,
            length: self.settings.size,
            local_va: MEMORY,
            local_key: self.created.key,
            remote_va: va,
            remote_key: if self.settings.wrong_key {
                key ^ WRONG
            } else {
                key
            },
            id: self.posted,
            ..Work::default()
        };
        verbs.send(QP, self.answers.ask(work));
        self.posted += 1;
    }

    /// Has messages go. Returns whether all have.
    fn run(&mut self, stack: &Stack, verbs: &mut Verbs) -> Result<bool, ToolError> {
        for (_, completion) in verbs.completions() {
            if completion.status != Status::Success {
                return Err(failed(&completion, &self.waits_for()));
            }
            match completion.receive {
                true => self.received(completion.length, verbs),
                false => {
                    let sent = self.messages.sent;
                    self.messages.sent += 1;
                    if self.settings.verb.rights() != ReadRights::default() {
                        self.answered(sent, verbs);
                    }
                }
            }
        }
        let iterations = self.settings.iterations;
        if !self.is_client() {
            // A server sees SENDs alone. It waits for nothing that comes by itself, so it looks at TCP, too.
            let all = self.settings.verb != Verb::Send || self.messages.received == iterations;
            if !all {
                self.dial.still_open(stack, &self.waits_for())?;
            }
            return Ok(all);
        }
        while self.posted < iterations && self.posted - self.messages.sent < DEPTH {
            self.post_message(verbs);
        }
        Ok(self.messages.sent == iterations)
    }

    fn received(&mut self, length: u32, verbs: &mut Verbs) {
        self.messages.received += 1;
        self.messages.bytes_received += u64::from(length);
        self.messages.changed += u64::from(length != self.settings.size);
        if self.messages.checksum.is_none() {
            self.messages.checksum = Some(hash(&verbs.read(MEMORY, length)));
        }
        if self.posted < self.settings.iterations {
            self.post_buffer(verbs);
        }
    }

    /// The answer to the READ or atomic of this number has come.
    fn answered(&mut self, number: u64, verbs: &Verbs) {
        let (va, bytes) = (self.answers.place(number), self.settings.size);
        let found = verbs.read(va, bytes);
        let right = self.answers.take(number, &found);
        self.messages.received += 1;
        self.messages.bytes_received += u64::from(bytes);
        self.messages.changed += u64::from(!right);
        self.messages.checksum.get_or_insert_with(|| hash(&found));
    }
}
