//! The tool `ibv_rc_pingpong`: both ends tell each other their queue pairs over TCP, and then a message goes to and
//! fro.
//!
//! Each end keeps one buffer, from which it sends and into which it receives. So the server sends back what it got, and
//! the client gets what it has sent, if no byte was changed on either way.

use std::net::IpAddr;

use crc32fast::hash;
use xoff_sim::host::memory;
use xoff_sim::nic::Region;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::Psn;

use super::dial::{DONE, Dial};
use super::stack::Stack;
use super::verbs::{MEMORY, QP, Remote, TAG, Transport, Verbs, address_of_gid, failed, gid_of};
use super::{Messages, Role, ToolError};
use crate::endpoint::Created;

/// The port on which a server waits, unless another is said.
pub const PORT: u16 = 18_515;
/// Bytes of an end's description, with the zero byte at its end.
const DESCRIPTION: usize = 52;
/// Receive buffers that are posted: one for the message on its way, others for a peer that is ahead.
const BUFFERS: u32 = 4;

/// The settings of the tool, named as its options are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pingpong {
    /// Bytes of a message, 1 or more.
    pub size: u32,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// How often a message goes to and fro, 1 or more.
    pub iterations: u64,
    /// The server's TCP port.
    pub port: u16,
}

impl Default for Pingpong {
    /// The tool's own.
    fn default() -> Self {
        Self {
            size: 4096,
            mtu: 1024,
            iterations: 1000,
            port: PORT,
        }
    }
}

/// How far the tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waits for the TCP connection.
    Connecting,
    /// Waits for the other end's description.
    Described,
    /// The server waits for the client's word.
    Answered,
    /// Messages go.
    Running,
    /// All have.
    Finished,
}

/// The tool while it runs.
#[derive(Debug)]
pub(super) struct Running {
    settings: Pingpong,
    dial: Dial,
    stage: Stage,
    created: Created,
    remote: Option<Remote>,
    /// Whether a message that was posted is not complete.
    sending: bool,
    /// Whether a message has come that was not answered.
    owing: bool,
    messages: Messages,
}

impl Running {
    /// Starts the tool.
    pub fn new(
        settings: Pingpong,
        role: Role,
        stack: &mut Stack,
        verbs: &mut Verbs,
    ) -> Result<Self, ToolError> {
        let region = Region {
            base: MEMORY,
            length: settings.size.into(),
            tag: TAG,
            pd: 0,
            local_write: true,
            remote_write: false,
        };
        let created = verbs.create(QP, &region)?;
        Ok(Self {
            settings,
            dial: Dial::new(role, settings.port, stack)?,
            stage: Stage::Connecting,
            created,
            remote: None,
            sending: false,
            owing: false,
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
        let of = self.settings.iterations;
        let Messages { sent, received, .. } = self.messages;
        match self.stage {
            Stage::Connecting => self.dial.waits_for("ibv_rc_pingpong"),
            Stage::Described => "the other end's LID, QP number, PSN and GID".into(),
            Stage::Answered => "the client's 'done'".into(),
            Stage::Running => format!("messages: {sent} of {of} were sent, {received} received"),
            Stage::Finished => "nothing".into(),
        }
    }

    /// Does what it can. Returns whether it has done something.
    pub fn step(&mut self, stack: &mut Stack, verbs: &mut Verbs) -> Result<bool, ToolError> {
        match self.stage {
            Stage::Connecting => self.connecting(stack, verbs),
            Stage::Described => self.described(stack, verbs),
            Stage::Answered => self.answered(stack),
            Stage::Running => self.run(verbs),
            Stage::Finished => Ok(false),
        }
    }

    fn connecting(&mut self, stack: &mut Stack, verbs: &Verbs) -> Result<bool, ToolError> {
        let done = (self.dial).step(stack, verbs.bench.now(), &self.waits_for())?;
        if self.dial.open() {
            if let Role::Client(peer) = self.dial.role {
                self.describe(peer, stack, verbs)?;
            }
            self.stage = Stage::Described;
        }
        Ok(done)
    }

    /// Tells the other end the own queue pair.
    fn describe(&self, peer: IpAddr, stack: &mut Stack, verbs: &Verbs) -> Result<(), ToolError> {
        stack.write(&description(&verbs.told(&self.created, peer)?));
        Ok(())
    }

    fn described(&mut self, stack: &mut Stack, verbs: &mut Verbs) -> Result<bool, ToolError> {
        let Some(bytes) = self.dial.read(DESCRIPTION, stack, &self.waits_for())? else {
            return Ok(false);
        };
        let remote = read_description(&bytes).map_err(ToolError::Exchange)?;
        self.remote = Some(remote);
        let transport = Transport::of_tools(self.settings.mtu);
        verbs.connect(QP, &self.created, &remote, transport)?;
        for _ in 0..BUFFERS {
            self.post_buffer(verbs);
        }
        match self.dial.role {
            Role::Server => {
                self.describe(remote.ip, stack, verbs)?;
                self.stage = Stage::Answered;
            }
            Role::Client(_) => {
                stack.write(DONE);
                stack.close();
                self.stage = Stage::Running;
                self.post_message(verbs, self.settings.size);
            }
        }
        Ok(true)
    }

    fn answered(&mut self, stack: &mut Stack) -> Result<bool, ToolError> {
        let Some(word) = self.dial.read(DONE.len(), stack, &self.waits_for())? else {
            return Ok(false);
        };
        if word != DONE {
            return Err(ToolError::Exchange(format!(
                "the client says '{}' ({word:02x?}); 'done' and a zero byte is right",
                word.escape_ascii()
            )));
        }
        stack.close();
        self.stage = Stage::Running;
        Ok(true)
    }

    fn post_buffer(&self, verbs: &mut Verbs) {
        let recv = Recv {
            id: 0,
            local_va: MEMORY,
            local_key: self.created.key,
            length: self.settings.size,
        };
        verbs.receive(QP, recv);
    }

    fn post_message(&mut self, verbs: &mut Verbs, length: u32) {
        let work = Work {
            kind: WorkKind::SEND,
            signaled: true,
            length,
            local_va: MEMORY,
            local_key: self.created.key,
            id: 1,
            ..Work::default()
        };
        verbs.send(QP, work);
        self.sending = true;
    }

    fn run(&mut self, verbs: &mut Verbs) -> Result<bool, ToolError> {
        let completions = verbs.completions();
        let some = !completions.is_empty();
        for (_, completion) in completions {
            if completion.status != Status::Success {
                return Err(failed(&completion, &self.waits_for()));
            }
            match completion.receive {
                true => self.received(completion.length, verbs),
                false => {
                    self.messages.sent += 1;
                    self.sending = false;
                }
            }
        }
        let begun = self.messages.sent + u64::from(self.sending);
        if self.owing && !self.sending && begun < self.settings.iterations {
            self.owing = false;
            self.post_message(verbs, self.settings.size);
        }
        let Messages { sent, received, .. } = self.messages;
        if sent.min(received) >= self.settings.iterations {
            self.stage = Stage::Finished;
        }
        Ok(some)
    }

    /// A message has come: what is in the buffer has to be what was sent, or the same as in every message.
    fn received(&mut self, length: u32, verbs: &mut Verbs) {
        let found = verbs.read(MEMORY, length);
        let checksum = hash(&found);
        let expected = match self.dial.role {
            Role::Client(_) => {
                let mut sent = vec![0; self.settings.size as usize];
                memory::fill(MEMORY, &mut sent);
                hash(&sent)
            }
            Role::Server => self.messages.checksum.unwrap_or(checksum),
        };
        let right = checksum == expected && length == self.settings.size;
        self.messages.received += 1;
        self.messages.bytes_received += u64::from(length);
        self.messages.changed += u64::from(!right);
        self.messages.checksum.get_or_insert(checksum);
        self.owing = true;
        self.post_buffer(verbs);
    }
}

/// An end's description: LID, QP number, PSN and GID in hexadecimal, with colons, and a zero byte.
fn description(end: &Remote) -> Vec<u8> {
    let (qpn, psn, gid) = (end.qpn, end.psn.get(), gid_of(end.ip));
    let mut text = format!("{:04x}:{qpn:06x}:{psn:06x}:{gid:032x}", 0).into_bytes();
    text.push(0);
    text
}

/// Reads an end's description.
fn read_description(bytes: &[u8]) -> Result<Remote, String> {
    let wrong = |why: &str| {
        format!(
            "the peer describes its queue pair as '{}': {why}; LLLL:QQQQQQ:PPPPPP:GID and a zero byte is right, \
             hexadecimal, with 4, 6, 6 and 32 digits",
            bytes.escape_ascii()
        )
    };
    let text = bytes
        .strip_suffix(&[0])
        .ok_or_else(|| wrong("no zero byte at its end"))?;
    let text = std::str::from_utf8(text).map_err(|_| wrong("no text"))?;
    let fields: Vec<&str> = text.split(':').collect();
    let [lid, qpn, psn, gid] = fields[..] else {
        return Err(wrong("not four fields"));
    };
    let number = |digits: &str, most: usize| {
        let right = digits.len() == most && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(digits, 16).ok().filter(|_| right)
    };
    let fields = (
        number(lid, 4),
        number(qpn, 6),
        number(psn, 6),
        number(gid, 32),
    );
    let (Some(_), Some(qpn), Some(psn), Some(gid)) = fields else {
        return Err(wrong("a field that is no such number"));
    };
    if gid == 0 {
        return Err(wrong(
            "the GID is 0, as without the option -g; RoCE needs one, such as -g 1 for IPv4",
        ));
    }
    Ok(Remote {
        ip: address_of_gid(gid),
        qpn: qpn as u32,
        psn: Psn::wrapping(psn as u32),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for ip in ["192.0.2.1", "fe80::5054:ff:fe00:1", "2001:db8::1"] {
            let end = Remote {
                ip: ip.parse().unwrap(),
                qpn: 0x11,
                psn: Psn::wrapping(0xAB_CDEF),
            };
            let text = description(&end);
            assert_eq!(text.len(), DESCRIPTION);
            assert_eq!(read_description(&text), Ok(end));
        }
        let text = b"0000:000011:abcdef:00000000000000000000ffffc0000201\0";
        let end = read_description(text).unwrap();
        assert_eq!(end.ip, "192.0.2.1".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn what_is_no_description_is_named() {
        for (text, said) in [
            (
                &b"GET / HTTP/1.1\r\nHost: 192.0.2.2\r\nAccept: */*\r\n\r\n.."[..],
                "no zero byte",
            ),
            (
                b"0000:000011:abcdef:0000000000000000000000000000000000\0",
                "no such number",
            ),
            (
                b"0000:000011:abcdex:00000000000000000000ffffc0000201\0",
                "no such number",
            ),
            (
                b"0000-000011-abcdef-00000000000000000000ffffc0000201\0",
                "not four fields",
            ),
            (
                b"0000:000011:abcdef:00000000000000000000000000000000\0",
                "-g 1",
            ),
        ] {
            let wrong = read_description(text).unwrap_err();
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
