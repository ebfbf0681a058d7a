//! The tool `rping`: both ends connect by RDMA CM. Then, for each ping, the client tells where its buffer is, and the
//! server reads it, tells the client to go on, is told of a second buffer, writes there what it has read, and tells
//! that it has.
//!
//! The content of a ping is known at both ends: its number, and letters that begin one further on with each ping. So
//! the server compares what it has read, and the client what was written, byte by byte.

use crc32fast::hash;
use xoff_sim::nic::{ReadRights, Region};
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind, mtu_code};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{Qpn, RejectReason};

use super::cm::{Event, Manager, Offer, Told};
use super::stack::Stack;
use super::verbs::{MEMORY, QP, Remote, TAG, Transport, Verbs, failed};
use super::{Messages, Role, ToolError};
use crate::endpoint::Created;

/// The port on which a server waits, unless another is said.
pub const PORT: u16 = 7174;
/// Bytes that tell where a buffer is: address, key, length.
const ADVERT: u32 = 16;
/// Receive buffers that are posted.
const BUFFERS: u64 = 2;
/// Where things are in memory: receive buffers, what the two SENDs of a ping say, and the two buffers.
const RECEIVED: u64 = MEMORY;
const ADVERTS: u64 = MEMORY + 0x100;
pub(super) const FIRST: u64 = MEMORY + 0x1000;
const SECOND: u64 = FIRST + 0x1_0000;
const LENGTH: u64 = SECOND + 0x1_0000 - MEMORY;
/// Code of the ACK timeout, 268 ms, and how often messages are sent again.
const ACK_TIMEOUT: u8 = 16;
const RETRY: u8 = 7;
const RNR_RETRY: u8 = 7;
/// For how long a client that finds nobody waiting asks again, and how often: the server's tool may be started later.
const PATIENCE: Duration = Duration::from_ms(2_000);
const AGAIN: Duration = Duration::from_ms(100);
/// The letters of a ping.
const LETTERS: std::ops::RangeInclusive<u8> = b'A'..=b'z';

/// Ids of work requests.
const SENT: u64 = 1;
const READ: u64 = 2;
const WRITTEN: u64 = 3;

/// The settings of the tool, named as its options are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rping {
    /// Bytes of a buffer, 23 to 65535. The server takes what is no larger.
    pub size: u32,
    /// How many pings, 1 or more. Without it the client goes on without end, and the server takes what comes.
    pub count: Option<u64>,
    /// The server's port, in RDMA's TCP port space.
    pub port: u16,
    /// Path MTU of a client, in bytes: 256, 512, 1024, 2048 or 4096. A server has the client's.
    pub mtu: u32,
}

impl Rping {
    /// The smallest buffer that the tool has.
    pub const MIN_SIZE: u32 = 23;
    /// The largest.
    pub const MAX_SIZE: u32 = 65_535;
}

impl Default for Rping {
    /// The tool's own.
    fn default() -> Self {
        Self {
            size: 64,
            count: None,
            port: PORT,
            mtu: 4096,
        }
    }
}

/// How far the tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server waits for a client.
    Listening,
    /// The client waits until the peer's MAC address is known, and pings again at a time: who has to ask for this end's
    /// first may lose a ping.
    Resolving(Time),
    /// The client waits until it may ask again: nobody has waited at the port.
    Refused(Time),
    /// The client waits for the answer to its request.
    Asking,
    /// The queue pair is being connected.
    Connecting,
    /// Pings go.
    Running(Phase),
    /// The client has had its pings, and waits for the last acknowledgement.
    Acknowledged,
    /// The client waits until both ends have parted.
    Parting,
    /// Both have.
    Finished,
}

/// How far a ping is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server waits to be told of the first buffer, the client to be told that it was read.
    First,
    /// The server reads.
    Reading,
    /// The server waits to be told of the second buffer, the client to be told that it was written.
    Second,
    /// The server writes.
    Writing,
}

/// Where a buffer of the client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Buffer {
    va: u64,
    key: u32,
    bytes: u32,
}

/// The tool while it runs.
#[derive(Debug)]
pub(super) struct Running {
    settings: Rping,
    role: Role,
    stage: Stage,
    created: Created,
    remote: Option<Remote>,
    /// Until when a client that is refused asks again.
    patience: Option<Time>,
    /// SENDs that are not acknowledged.
    unacknowledged: u64,
    /// What the server has read, to write it back.
    echo: u32,
    messages: Messages,
}

/// The content of the ping of a number, in a buffer of so many bytes.
fn content(number: u64, bytes: u32) -> Vec<u8> {
    let mut text = format!("rdma-ping-{number}: ").into_bytes();
    let letters = LETTERS.len() as u64;
    let place = |offset: usize| *LETTERS.start() + ((number + offset as u64) % letters) as u8;
    let left = (bytes as usize).saturating_sub(text.len());
    text.extend((0..left).map(place));
    text.truncate(bytes as usize - 1);
    text.push(0);
    text
}

impl Running {
    /// Starts the tool.
    pub fn new(
        settings: Rping,
        role: Role,
        stack: &mut Stack,
        cm: &mut Manager,
        verbs: &mut Verbs,
    ) -> Result<Self, ToolError> {
        let region = Region {
            base: MEMORY,
            length: LENGTH,
            tag: TAG,
            pd: 0,
            local_write: true,
            remote_write: true,
        };
        let created = verbs.create(QP, &region)?;
        let rights = ReadRights {
            read: true,
            atomic: false,
        };
        verbs.permit(QP, rights);
        let stage = match role {
            Role::Server => {
                cm.listen(settings.port);
                Stage::Listening
            }
            Role::Client(peer) => {
                stack.ping(peer).map_err(ToolError::Exchange)?;
                Stage::Resolving(verbs.bench.now() + AGAIN)
            }
        };
        Ok(Self {
            settings,
            role,
            stage,
            created,
            remote: None,
            patience: None,
            unacknowledged: 0,
            echo: 0,
            messages: Messages::default(),
        })
    }

    pub const fn messages(&self) -> &Messages {
        &self.messages
    }

    pub fn remote(&self) -> Option<Remote> {
        self.remote
    }

    pub fn finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// What it waits for.
    pub fn waits_for(&self) -> String {
        let port = self.settings.port;
        match (self.stage, self.role) {
            (Stage::Listening, _) => format!("a client of rping at port {port}"),
            (Stage::Resolving(_), Role::Client(peer)) => format!("{peer} to answer ARP or a ping"),
            (Stage::Refused(_) | Stage::Asking, Role::Client(peer)) => {
                format!("a server of rping at {peer}, port {port}")
            }
            (Stage::Connecting, _) => "the NIC to connect its queue pair".into(),
            (Stage::Running(phase), role) => {
                let what = match (phase, role) {
                    (Phase::First, Role::Server) => "where the first buffer is",
                    (Phase::Second, Role::Server) => "where the second buffer is",
                    (Phase::Reading, _) => "the answer to a READ",
                    (Phase::Writing, _) => "the acknowledgement of a WRITE",
                    (Phase::First, Role::Client(_)) => "the server to have read the first buffer",
                    (Phase::Second, Role::Client(_)) => {
                        "the server to have written the second buffer"
                    }
                };
                let number = self.messages.received;
                match self.settings.count {
                    Some(of) => format!("{what}; {number} of {of} pings went"),
                    None => format!("{what}; {number} pings went"),
                }
            }
            (Stage::Acknowledged, _) => "the acknowledgement of the last SEND".into(),
            (Stage::Parting, _) => "the other end to part".into(),
            _ => "nothing".into(),
        }
    }

    /// Does what it can. Returns whether it has done something.
    pub fn step(
        &mut self,
        stack: &mut Stack,
        cm: &mut Manager,
        verbs: &mut Verbs,
    ) -> Result<bool, ToolError> {
        if let Some(event) = cm.event() {
            self.hear(event, cm, verbs)?;
            return Ok(true);
        }
        match self.stage {
            Stage::Resolving(_) if verbs.peer.is_some() => self.ask(cm, verbs)?,
            Stage::Resolving(at) if at <= verbs.bench.now() => {
                if let Role::Client(peer) = self.role {
                    stack.ping(peer).map_err(ToolError::Exchange)?;
                }
                self.stage = Stage::Resolving(verbs.bench.now() + AGAIN);
            }
            Stage::Refused(at) if at <= verbs.bench.now() => self.ask(cm, verbs)?,
            // The queue pair is connected: nobody is asked before.
            Stage::Connecting => self.begin(cm, verbs)?,
            Stage::Running(_) | Stage::Acknowledged => return self.run(cm, verbs),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What this end tells of its queue pair. The PSN that was drawn for it is that of the peer's requests.
    fn told(&self, reads: u8, transport: Transport) -> Result<Told, ToolError> {
        let qpn = Qpn::new(self.created.qpn);
        Ok(Told {
            qpn: qpn.map_err(|error| ToolError::Exchange(error.to_string()))?,
            psn: self.created.psn,
            answers: reads,
            asks: reads,
            mtu: mtu_code(transport.mtu).unwrap_or(4) + 1,
            ack_timeout: transport.timeout,
            retries: transport.retry,
            rnr_retries: transport.rnr_retry,
        })
    }

    fn ask(&mut self, cm: &mut Manager, verbs: &Verbs) -> Result<(), ToolError> {
        let (Role::Client(peer), Some(mac)) = (self.role, verbs.peer) else {
            return Ok(());
        };
        let own = verbs.own_for(peer).ok_or_else(|| {
            ToolError::Exchange(format!("{peer}: this host has no address of its kind"))
        })?;
        let told = self.told(verbs.reads() as u8, self.transport())?;
        let peer = xoff_sim::nic::Address { mac, ip: peer };
        cm.connect((own, peer), self.settings.port, &told, verbs.bench.now());
        self.stage = Stage::Asking;
        Ok(())
    }

    const fn transport(&self) -> Transport {
        Transport {
            mtu: self.settings.mtu,
            timeout: ACK_TIMEOUT,
            retry: RETRY,
            rnr_retry: RNR_RETRY,
        }
    }

    /// Takes what has happened to the connection.
    fn hear(&mut self, event: Event, cm: &mut Manager, verbs: &mut Verbs) -> Result<(), ToolError> {
        let now = verbs.bench.now();
        match (event, self.stage) {
            (Event::Request(offer), _) => {
                let transport = Transport {
                    mtu: 128 << offer.told.mtu,
                    timeout: offer.told.ack_timeout,
                    retry: offer.told.retries,
                    rnr_retry: offer.told.rnr_retries,
                };
                self.connect(&offer, transport, verbs)
            }
            (Event::Reply(offer), _) => {
                let transport = Transport {
                    rnr_retry: offer.told.rnr_retries,
                    ..self.transport()
                };
                self.connect(&offer, transport, verbs)
            }
            (Event::Rejected(RejectReason::INVALID_SERVICE), Stage::Asking)
                if now < *self.patience.get_or_insert(now + PATIENCE) =>
            {
                self.stage = Stage::Refused(now + AGAIN);
                Ok(())
            }
            (Event::Rejected(reason), Stage::Asking) => Err(ToolError::Exchange(format!(
                "the peer rejects the request for a connection to port {}: reason {reason}",
                self.settings.port
            ))),
            (Event::Rejected(reason), _) => Err(ToolError::Transport(format!(
                "the peer rejects the connection: reason {reason}; this end waited for {}",
                self.waits_for()
            ))),
            (Event::Unanswered(what, times), _) => Err(ToolError::Exchange(format!(
                "the peer has not answered a {what} that was sent {times} times"
            ))),
            (Event::Parted, Stage::Parting) => {
                self.stage = Stage::Finished;
                Ok(())
            }
            (Event::Parted, _) => self.left(cm, verbs),
            (Event::Established, _) => Ok(()),
        }
    }

    /// The peer has parted: right for a client that has had its pings.
    fn left(&mut self, cm: &mut Manager, verbs: &mut Verbs) -> Result<(), ToolError> {
        // What came before it counts.
        self.run(cm, verbs)?;
        let all = (self.settings.count).is_none_or(|count| count == self.messages.received);
        if self.role == Role::Server && all {
            self.stage = Stage::Finished;
            return Ok(());
        }
        Err(ToolError::Transport(format!(
            "the peer has parted; this end waited for {}",
            self.waits_for()
        )))
    }

    /// Connects the queue pair with the one that is offered.
    fn connect(
        &mut self,
        offer: &Offer,
        transport: Transport,
        verbs: &mut Verbs,
    ) -> Result<(), ToolError> {
        if self.role == Role::Server && offer.told.answers == 0 {
            return Err(ToolError::Exchange(
                "the client's responder resources are 0: it answers no READ; 1 or more is right"
                    .into(),
            ));
        }
        let remote = Remote {
            ip: offer.ip,
            qpn: offer.told.qpn.get(),
            psn: self.created.psn,
        };
        let own = Created {
            psn: offer.told.psn,
            ..self.created
        };
        // Each end has no more READs under way than the other answers.
        verbs.limit_reads(offer.told.answers.max(1).into());
        verbs.connect(QP, &own, &remote, transport)?;
        self.remote = Some(remote);
        for place in 0..BUFFERS {
            self.post_buffer(place, verbs);
        }
        self.stage = Stage::Connecting;
        Ok(())
    }

    /// Tells the peer that this end is ready, and begins.
    fn begin(&mut self, cm: &mut Manager, verbs: &mut Verbs) -> Result<(), ToolError> {
        match self.role {
            Role::Server => {
                let told = self.told(verbs.reads() as u8, self.transport())?;
                cm.accept(&told, verbs.bench.now());
            }
            Role::Client(_) => {
                cm.ready();
                self.ping(verbs);
            }
        }
        self.stage = Stage::Running(Phase::First);
        Ok(())
    }

    fn post_buffer(&self, place: u64, verbs: &mut Verbs) {
        let recv = Recv {
            id: place,
            local_va: RECEIVED + place * u64::from(ADVERT),
            local_key: self.created.key,
            length: ADVERT,
        };
        verbs.receive(QP, recv);
    }

    fn post(&self, work: Work, verbs: &mut Verbs) {
        let work = Work {
            signaled: true,
            local_key: self.created.key,
            ..work
        };
        verbs.send(QP, work);
    }

    /// Sends what tells the server where a buffer is; of the server nobody reads it.
    fn tell(&mut self, va: u64, verbs: &mut Verbs) {
        let place = ADVERTS + if va == FIRST { 0 } else { u64::from(ADVERT) };
        let mut advert = va.to_be_bytes().to_vec();
        advert.extend(self.created.key.to_be_bytes());
        advert.extend(self.settings.size.to_be_bytes());
        verbs.write(place, &advert);
        let work = Work {
            kind: WorkKind::SEND,
            length: ADVERT,
            local_va: place,
            id: SENT,
            ..Work::default()
        };
        self.post(work, verbs);
        self.unacknowledged += 1;
    }

    /// The client begins a ping.
    fn ping(&mut self, verbs: &mut Verbs) {
        verbs.write(FIRST, &content(self.messages.received, self.settings.size));
        self.tell(FIRST, verbs);
    }

    fn run(&mut self, cm: &mut Manager, verbs: &mut Verbs) -> Result<bool, ToolError> {
        let completions = verbs.completions();
        let some = !completions.is_empty();
        for (_, completion) in completions {
            if completion.status != Status::Success {
                return Err(failed(&completion, &self.waits_for()));
            }
            if completion.receive {
                cm.heard();
            }
            self.complete(&completion, verbs)?;
        }
        if self.stage == Stage::Acknowledged && self.unacknowledged == 0 {
            cm.part(verbs.bench.now());
            self.stage = Stage::Parting;
            return Ok(true);
        }
        Ok(some)
    }

    fn complete(&mut self, completion: &Completion, verbs: &mut Verbs) -> Result<(), ToolError> {
        if completion.receive {
            let advert = self.received(completion, verbs)?;
            return match self.role {
                Role::Server => self.serve(advert, verbs),
                Role::Client(_) => self.told_to_go_on(verbs),
            };
        }
        match (completion.id, self.stage) {
            (READ, Stage::Running(Phase::Reading)) => {
                self.compare(FIRST, self.echo, verbs);
                self.tell(FIRST, verbs);
                self.stage = Stage::Running(Phase::Second);
            }
            (WRITTEN, Stage::Running(Phase::Writing)) => {
                self.messages.sent += 1;
                self.tell(FIRST, verbs);
                self.stage = Stage::Running(Phase::First);
            }
            _ => self.unacknowledged = self.unacknowledged.saturating_sub(1),
        }
        Ok(())
    }

    /// Takes what a SEND has said, and has its buffer receive again.
    fn received(&self, completion: &Completion, verbs: &mut Verbs) -> Result<Buffer, ToolError> {
        if completion.length != ADVERT {
            return Err(ToolError::Exchange(format!(
                "a SEND of the peer has {} bytes; {ADVERT} is right: a buffer's address, key and length",
                completion.length
            )));
        }
        let bytes = verbs.read(RECEIVED + completion.id * u64::from(ADVERT), ADVERT);
        self.post_buffer(completion.id, verbs);
        let number = |from: usize| {
            let word = bytes[from..from + 4].try_into();
            word.map_or(0, u32::from_be_bytes)
        };
        Ok(Buffer {
            va: u64::from(number(0)) << 32 | u64::from(number(4)),
            key: number(8),
            bytes: number(12),
        })
    }

    /// The server is told of a buffer.
    fn serve(&mut self, buffer: Buffer, verbs: &mut Verbs) -> Result<(), ToolError> {
        let most = self.settings.size;
        if buffer.bytes == 0 || buffer.bytes > most {
            return Err(ToolError::Exchange(format!(
                "the client's buffer has {} bytes; 1 to {most} is right, as -S says",
                buffer.bytes
            )));
        }
        let work = Work {
            local_va: FIRST,
            remote_va: buffer.va,
            remote_key: buffer.key,
            ..Work::default()
        };
        let (work, phase) = match self.stage {
            Stage::Running(Phase::First) => {
                self.echo = buffer.bytes;
                let work = Work {
                    kind: WorkKind::READ,
                    id: READ,
                    length: buffer.bytes,
                    ..work
                };
                (work, Phase::Reading)
            }
            Stage::Running(Phase::Second) => {
                // Up to the zero byte at its end, as of a text.
                let text = verbs.read(FIRST, self.echo);
                let end = text.iter().position(|byte| *byte == 0);
                let work = Work {
                    kind: WorkKind::WRITE,
                    id: WRITTEN,
                    length: end.map_or(self.echo, |end| end as u32 + 1),
                    ..work
                };
                (work, Phase::Writing)
            }
            _ => {
                return Err(ToolError::Exchange(format!(
                    "a SEND of the client has come while this end waited for {}",
                    self.waits_for()
                )));
            }
        };
        self.post(work, verbs);
        self.stage = Stage::Running(phase);
        Ok(())
    }

    /// The client is told that the server has read, or written.
    fn told_to_go_on(&mut self, verbs: &mut Verbs) -> Result<(), ToolError> {
        match self.stage {
            Stage::Running(Phase::First) => {
                self.tell(SECOND, verbs);
                self.stage = Stage::Running(Phase::Second);
            }
            Stage::Running(Phase::Second) => {
                self.compare(SECOND, self.settings.size, verbs);
                self.messages.sent += 1;
                if self.settings.count == Some(self.messages.received) {
                    self.stage = Stage::Acknowledged;
                } else {
                    self.ping(verbs);
                    self.stage = Stage::Running(Phase::First);
                }
            }
            _ => {
                return Err(ToolError::Exchange(format!(
                    "a SEND of the server has come while this end waited for {}",
                    self.waits_for()
                )));
            }
        }
        Ok(())
    }

    /// A ping has come: it has to be what its number says.
    fn compare(&mut self, va: u64, bytes: u32, verbs: &Verbs) {
        let found = verbs.read(va, bytes);
        let right = found == content(self.messages.received, bytes);
        self.messages.received += 1;
        self.messages.bytes_received += u64::from(bytes);
        self.messages.changed += u64::from(!right);
        self.messages.checksum.get_or_insert_with(|| hash(&found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of pings in a capture of Linux's tool.
    #[test]
    fn pings_have_linux_content() {
        assert_eq!(content(0, 23), b"rdma-ping-0: ABCDEFGHI\0");
        assert_eq!(content(12, 30), b"rdma-ping-12: MNOPQRSTUVWXYZ[\0");
        let long = content(57, 80);
        assert_eq!(&long[..18], b"rdma-ping-57: zABC");
        assert_eq!((long.len(), long[78], long[79]), (80, b'F', 0));
    }
}
