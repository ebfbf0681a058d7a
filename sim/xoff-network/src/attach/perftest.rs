//! The tools `ib_send_bw` and `ib_write_bw` of perftest: both ends tell each other over TCP what they are and where
//! their memory is, and then the client sends.
//!
//! Over TCP the ends take turns: for each thing that they tell each other the client writes first, and the server
//! writes when it has read. So the exchange is a list of [`Step`]s, of which one end has the same as the other.

use std::net::IpAddr;

use crc32fast::hash;
use xoff_sim::nic::Region;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind, mtu_code};
use xoff_sim::wire::Psn;

use super::dial::Dial;
use super::stack::Stack;
use super::verbs::{MEMORY, Remote, Verbs, address_of_gid, failed, gid_of};
use super::{Messages, Role, ToolError};
use crate::endpoint::Created;

/// Bytes in which a version is told, and the version of the exchange that this is.
const VERSION_BYTES: usize = 16;
const VERSION: &str = "6.06";
/// What is told of the memory of small messages, and of the processor's caches, in bytes.
const CYCLE: u32 = 4096;
const CACHE_LINE: u32 = 64;
/// Bytes of a queue pair's description, with the zero byte at its end.
const KEYS: usize = 108;
/// Bytes of each number of a report of results.
const NUMBER: usize = 8;
const DONE: &[u8] = b"done\0";
/// How many messages are posted at a time.
const DEPTH: u64 = 32;
/// The index of the tool's queue pair.
const QP: u16 = 0;
const TAG: u8 = 0x5A;
/// What makes a key another one.
const WRONG: u32 = 0x0100;

/// The operation of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `ib_send_bw`.
    Send,
    /// `ib_write_bw`.
    Write,
}

/// The settings of the tool, named as its options are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Perftest {
    /// The operation.
    pub verb: Verb,
    /// Bytes of a message, 1 or more.
    pub size: u32,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096. The smaller one of both ends counts.
    pub mtu: u32,
    /// How many messages, 1 or more.
    pub iterations: u64,
    /// How many receive buffers a server of SENDs keeps posted, 1 to 64. With few of them the NIC has to answer that it
    /// is not ready.
    pub buffers: u64,
    /// The server's TCP port.
    pub port: u16,
    /// Whether a key is used, or told, that is none.
    pub wrong_key: bool,
}

/// What both ends tell each other, or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The versions.
    Version,
    /// Bytes of the memory in which messages smaller than a page go round, and of a cache line.
    Cycle,
    Line,
    /// The path MTU, as the digit of its code.
    Mtu,
    /// The queue pairs, for the first time.
    Meet,
    /// The queue pairs again: both ends have come so far.
    Sync,
    /// The messages.
    Run,
    /// A number of the results: bytes, messages, three rates.
    Result,
    /// The last word.
    Done,
}

const SEND: [Step; 11] = [
    Step::Version,
    Step::Cycle,
    Step::Line,
    Step::Mtu,
    Step::Meet,
    Step::Sync,
    Step::Sync,
    Step::Sync,
    Step::Run,
    Step::Sync,
    Step::Done,
];

const WRITE: [Step; 16] = [
    Step::Version,
    Step::Cycle,
    Step::Line,
    Step::Mtu,
    Step::Meet,
    Step::Sync,
    Step::Sync,
    Step::Run,
    Step::Sync,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Result,
    Step::Sync,
    Step::Done,
];

impl Step {
    /// Bytes that each end tells.
    const fn bytes(self) -> usize {
        match self {
            Self::Version => VERSION_BYTES,
            Self::Cycle | Self::Line => 4,
            Self::Mtu => 2,
            Self::Meet | Self::Sync => KEYS,
            Self::Run => 0,
            Self::Result => NUMBER,
            Self::Done => DONE.len(),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Version => "the other end's version",
            Self::Cycle => "the size of the other end's cycle buffer",
            Self::Line => "the size of the other end's cache lines",
            Self::Mtu => "the other end's MTU",
            Self::Meet | Self::Sync => "the other end's LID, QP number, PSN, key, address and GID",
            Self::Run => "messages",
            Self::Result => "the other end's results",
            Self::Done => "the other end's 'done'",
        }
    }
}

/// What the other end tells of its queue pair and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Keys {
    remote: Remote,
    key: u32,
    va: u64,
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
            local_write: true,
            remote_write: settings.verb == Verb::Write,
        };
        let created = verbs.create(QP, &region)?;
        Ok(Self {
            settings,
            dial: Dial::new(role, settings.port, stack)?,
            steps: match settings.verb {
                Verb::Send => &SEND,
                Verb::Write => &WRITE,
            },
            place: 0,
            told: false,
            created,
            mtu: settings.mtu,
            remote: None,
            posted: 0,
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
        let name = match self.settings.verb {
            Verb::Send => "ib_send_bw",
            Verb::Write => "ib_write_bw",
        };
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
            Step::Run => self.run(verbs)?,
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
                verbs.connect(QP, &self.created, &keys.remote, self.mtu)?;
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
                    true => Ok(()),
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

    fn post_message(&mut self, verbs: &mut Verbs) {
        let (key, va) = self.remote.map_or((0, 0), |keys| (keys.key, keys.va));
        let work = Work {
            kind: match self.settings.verb {
                Verb::Send => WorkKind::SEND,
                Verb::Write => WorkKind::WRITE,
            },
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
        verbs.send(QP, work);
        self.posted += 1;
    }

    /// Has messages go. Returns whether all have.
    fn run(&mut self, verbs: &mut Verbs) -> Result<bool, ToolError> {
        for (_, completion) in verbs.completions() {
            if completion.status != Status::Success {
                return Err(failed(&completion, &self.waits_for()));
            }
            match completion.receive {
                true => self.received(completion.length, verbs),
                false => self.messages.sent += 1,
            }
        }
        let iterations = self.settings.iterations;
        if !self.is_client() {
            // A server of WRITEs does not see them.
            return Ok(self.settings.verb == Verb::Write || self.messages.received == iterations);
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
}

fn read_version(bytes: &[u8]) -> Result<(), String> {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let version = std::str::from_utf8(text).ok();
    let version = version.and_then(|text| text.parse::<f64>().ok());
    match version {
        // From here on the exchange is as it is here.
        Some(version) if version >= 5.70 => Ok(()),
        _ => Err(format!(
            "the peer's version is '{}'; 5.70 or later, as of perftest 4.4 or later, is right",
            bytes.escape_ascii()
        )),
    }
}

fn read_mtu(bytes: &[u8]) -> Result<u32, String> {
    match bytes.first() {
        Some(digit @ b'1'..=b'5') => Ok(128 << (digit - b'0')),
        _ => Err(format!(
            "the peer's MTU is '{}'; a digit from 1, 256 bytes, to 5, 4096 bytes, and a zero byte is right",
            bytes.escape_ascii()
        )),
    }
}

/// A queue pair's description: LID, READs at a time, QP number, PSN, key, address, the bytes of the GID and the number
/// of a shared receive queue, in hexadecimal, each with a colon, and a zero byte.
fn description(keys: &Keys) -> Vec<u8> {
    let Keys { remote, key, va } = keys;
    let (qpn, psn) = (remote.qpn, remote.psn.get());
    let mut text = format!(
        "{:04x}:{:04x}:{qpn:06x}:{psn:06x}:{key:08x}:{va:016x}:",
        0, 0
    );
    for byte in gid_of(remote.ip).to_be_bytes() {
        text += &format!("{byte:02x}:");
    }
    text += &format!("{:08x}:\0", 0);
    text.into_bytes()
}

/// Reads a queue pair's description.
fn read_description(bytes: &[u8]) -> Result<Keys, String> {
    let wrong = |why: &str| {
        format!(
            "the peer describes its queue pair as '{}': {why}; 23 hexadecimal numbers with a colon behind each, and a \
             zero byte, are right, as of the option -x with a GID's index",
            bytes.escape_ascii()
        )
    };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| wrong("no text"))?;
    let text = text
        .strip_suffix(':')
        .ok_or_else(|| wrong("no colon at its end"))?;
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let numbers: Option<Vec<u64>> = text.split(':').map(number).collect();
    let numbers = numbers.ok_or_else(|| wrong("not all are numbers"))?;
    let [_, _, qpn, psn, key, va, gid @ .., _] = &numbers[..] else {
        return Err(wrong("too few numbers"));
    };
    let fits = *qpn < 1 << 24 && *psn < 1 << 24 && *key < 1 << 32;
    if gid.len() != 16 || gid.iter().any(|byte| *byte > 0xFF) || !fits {
        return Err(wrong("a number is too large, or there are not 23"));
    }
    let gid = gid
        .iter()
        .fold(0, |gid: u128, byte| gid << 8 | u128::from(*byte));
    Ok(Keys {
        remote: Remote {
            ip: address_of_gid(gid),
            qpn: *qpn as u32,
            psn: Psn::wrapping(*psn as u32),
        },
        key: *key as u32,
        va: *va,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for ip in ["192.0.2.1", "2001:db8::1"] {
            let keys = Keys {
                remote: Remote {
                    ip: ip.parse().unwrap(),
                    qpn: 0x11,
                    psn: Psn::wrapping(0xAB_CDEF),
                },
                key: 0x1234_5678,
                va: 0x7F00_1234_5000,
            };
            let text = description(&keys);
            assert_eq!(text.len(), KEYS);
            assert_eq!(read_description(&text), Ok(keys));
        }
    }

    #[test]
    fn what_is_not_of_the_exchange_is_named() {
        assert_eq!(read_version(b"6.06\0\0\0\0\0\0\0\0\0\0\0\0"), Ok(()));
        let wrong = read_version(b"GET / HTTP/1.1\r\n").unwrap_err();
        assert!(wrong.contains("GET") && wrong.contains("5.70"), "{wrong}");
        assert_eq!(read_mtu(b"3\0"), Ok(1024));
        assert!(read_mtu(b"6\0").unwrap_err().contains("'6"));
        let wrong = read_description(&[b'x'; KEYS]).unwrap_err();
        assert!(wrong.contains("no colon"), "{wrong}");
        let wrong = read_description(b"0000:0000:\0").unwrap_err();
        assert!(wrong.contains("too few"), "{wrong}");
    }
}
