//! A NIC with its host whose peer is outside of the simulation: another program at the other end of the cable, such as
//! Linux in a virtual machine.
//!
//! | module | what is in it |
//! |---|---|
//! | `port` | the port: fault rules, and what goes to the NIC and what to the host's stack |
//! | `stack` | the host's own stack: ARP, neighbour discovery, pings, TCP |
//! | `cm` | the communication manager of RDMA: connections by datagrams to QP 1 |
//! | `verbs` | what tools do with the NIC |
//! | `dial` | a tool's TCP connection, from either end |
//! | `pingpong` | the tool `ibv_rc_pingpong` |
//! | `inside` | a host of a network with all of this |
//! | `outside` | the port of a network at which its peer is |
//! | `rping` | the tool `rping`, whose ends connect by RDMA CM |
//! | `perftest` | the tools `ib_send_bw`, `ib_write_bw`, `ib_read_bw` and `ib_atomic_bw` |
//!
//! Nothing here knows a clock or a socket: [`Attached`] is given frames and times, and gives frames. The same frames at
//! the same times have the same result.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use xoff_sim::frame::Frame;
use xoff_sim::headers::Headers;
use xoff_sim::link::FaultRule;
use xoff_sim::nic::Address;
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::Seed;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::MacAddr;

use crate::arp;
use crate::bench::Bench;
use crate::endpoint::{Endpoint, EndpointError, Endpoints};
use crate::scenario::NicKind;

mod cm;
mod dial;
pub(crate) mod inside;
pub(crate) mod outside;
mod perftest;
mod pingpong;
mod port;
mod rping;
mod stack;
#[cfg(test)]
mod tests;
mod verbs;

pub use outside::Outside;
pub use perftest::{Perftest, Verb};
pub use pingpong::Pingpong;
pub use rping::Rping;

use port::{For, Way, addressee};
use stack::Stack;
use verbs::{Remote, Verbs};

/// After how long at most the host looks for what its NIC has done.
const LOOK: Duration = Duration::from_us(2);
/// Queue pairs of the NIC.
const QPS: usize = 2;

/// Which end of the TCP connection the tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It waits for a client.
    Server,
    /// It connects to the server at an address.
    Client(IpAddr),
}

/// A tool with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `ibv_rc_pingpong`.
    Pingpong(Pingpong),
    /// `ib_send_bw`, `ib_write_bw`, `ib_read_bw`, `ib_atomic_bw`.
    Perftest(Perftest),
    /// `rping`.
    Rping(Rping),
}

/// What is attached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The kind of NIC.
    pub nic: NicKind,
    /// MAC address of its port.
    pub mac: MacAddr,
    /// The host's IPv4 address, in a network of 24 bits.
    pub ipv4: Ipv4Addr,
    /// The host's global IPv6 address, if it has one, in a network of 64 bits.
    pub ipv6: Option<Ipv6Addr>,
    /// The tool.
    pub tool: Tool,
    /// Which end the tool is.
    pub role: Role,
    /// DSCP of the NIC's packets, 0 to 63.
    pub dscp: u8,
    /// Fault rules for frames from the peer.
    pub faults_in: Vec<FaultRule>,
    /// Fault rules for frames to the peer.
    pub faults_out: Vec<FaultRule>,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Why a tool cannot go on.
#[derive(Debug, Error)]
enum ToolError {
    /// What the other end said over TCP is not what the tool says.
    #[error("{0}")]
    Exchange(String),
    /// The transport has failed.
    #[error("{0}")]
    Transport(String),
    /// The NIC cannot go on.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// A tool while it runs.
#[derive(Debug)]
enum Running {
    Pingpong(pingpong::Running),
    Perftest(perftest::Running),
    Rping(rping::Running),
}

impl Running {
    fn new(
        tool: Tool,
        role: Role,
        stack: &mut Stack,
        cm: &mut cm::Manager,
        verbs: &mut Verbs,
    ) -> Result<Self, ToolError> {
        Ok(match tool {
            Tool::Pingpong(it) => Self::Pingpong(pingpong::Running::new(it, role, stack, verbs)?),
            Tool::Perftest(it) => Self::Perftest(perftest::Running::new(it, role, stack, verbs)?),
            Tool::Rping(it) => Self::Rping(rping::Running::new(it, role, stack, cm, verbs)?),
        })
    }

    fn step(
        &mut self,
        stack: &mut Stack,
        cm: &mut cm::Manager,
        verbs: &mut Verbs,
    ) -> Result<bool, ToolError> {
        match self {
            Self::Pingpong(it) => it.step(stack, verbs),
            Self::Perftest(it) => it.step(stack, verbs),
            Self::Rping(it) => it.step(stack, cm, verbs),
        }
    }

    fn waits_for(&self) -> String {
        match self {
            Self::Pingpong(it) => it.waits_for(),
            Self::Perftest(it) => it.waits_for(),
            Self::Rping(it) => it.waits_for(),
        }
    }

    const fn messages(&self) -> &Messages {
        match self {
            Self::Pingpong(it) => it.messages(),
            Self::Perftest(it) => it.messages(),
            Self::Rping(it) => it.messages(),
        }
    }

    fn remote(&self) -> Option<Remote> {
        match self {
            Self::Pingpong(it) => it.remote(),
            Self::Perftest(it) => it.remote(),
            Self::Rping(it) => it.remote(),
        }
    }

    fn finished(&self) -> bool {
        match self {
            Self::Pingpong(it) => it.finished(),
            Self::Perftest(it) => it.finished(),
            Self::Rping(it) => it.finished(),
        }
    }
}

/// How the tool has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It has not.
    Running,
    /// All messages went, unchanged.
    Complete,
    /// Messages came that are not what was sent.
    Changed,
    /// The transport failed: what has, and with which status.
    Failed(String),
    /// The peer said what the tool does not say: what was read, and what would be right.
    Refused(String),
}

/// What became of the tool's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Messages that were sent and acknowledged.
    pub sent: u64,
    /// Messages that came: of READs and atomics their answers, and at a server of FETCH_ADDs what they have added to
    /// its memory, all together.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Messages that came with another content or length than they should have.
    pub changed: u64,
    /// CRC-32 of the first message that came.
    pub checksum: Option<u32>,
}

/// A frame at the NIC's port: those from the peer behind the fault rules, those to it before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When its last bit passed.
    pub time: Time,
    /// Whether it goes to the peer.
    pub out: bool,
    /// The frame without FCS.
    pub bytes: Bytes,
    /// Whether its FCS is right.
    pub fcs_ok: bool,
}

/// Frames by whom they were for or from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// Frames of the NIC: RoCE, and MAC control.
    pub nic: u64,
    /// Frames of the communication manager: RoCE to QP 1.
    pub manager: u64,
    /// Frames of the host's stack.
    pub stack: u64,
}

/// What has happened.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The kind of NIC.
    pub nic: String,
    /// How the tool ended.
    pub ended: Ended,
    /// The queue pair's peer: its address, number and first PSN, once they are known.
    pub peer: Option<(IpAddr, u32, u32)>,
    /// Frames from the peer.
    pub frames_in: Frames,
    /// Frames to the peer.
    pub frames_out: Frames,
    /// Messages of the communication manager: what went out, came in, was resent, and came again.
    pub manager: BTreeMap<String, u64>,
    /// Frames that were dropped or not taken, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The first message of the communication manager that was dropped for each reason: what was read, where, and what
    /// would be right.
    pub complaints: Vec<String>,
    /// Counters of the NIC that are not 0.
    pub counters: BTreeMap<&'static str, u64>,
    /// Messages of the tool.
    pub messages: Messages,
    /// Simulated time.
    pub duration: Duration,
    /// Cycles of the NIC's clock that were evaluated, and all; of RTL alone.
    pub cycles: Option<(u64, u64)>,
}

/// Why nothing can be attached, or the NIC cannot go on.
#[derive(Debug, Error)]
pub enum Error {
    /// The kind of NIC is not there.
    #[error("{0}")]
    Kind(String),
    /// The NIC could not be set up.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The NIC stopped working.
    #[error("the NIC stopped working: {0}")]
    Nic(String),
}

/// A host with its NIC, at a cable to the outside.
pub struct Attached {
    nic: String,
    mac: MacAddr,
    verbs: Verbs,
    stack: Stack,
    cm: cm::Manager,
    tool: Running,
    ended: Ended,
    from_peer: Way,
    to_peer: Way,
    own: Address,
    neighbours: Vec<Address>,
    seen: Vec<Seen>,
    sent: Vec<Frame>,
    frames_in: Frames,
    frames_out: Frames,
    dropped: BTreeMap<String, u64>,
}

impl Attached {
    /// Sets up the NIC and starts the tool.
    ///
    /// # Errors
    ///
    /// The kind of NIC is not there, or the NIC cannot be set up.
    pub fn new(settings: &Settings, endpoints: &Endpoints) -> Result<Self, Error> {
        let kind = endpoints.kind(&settings.nic).map_err(Error::Kind)?;
        let address = Address {
            mac: settings.mac,
            ip: settings.ipv4.into(),
        };
        let bench = Bench::new("attached", &kind, address, QPS)?;
        Self::with(settings, bench, Vec::new())
    }

    /// Starts the tool at a NIC that is set up. ARP for these neighbours is answered here.
    pub(crate) fn with(
        settings: &Settings,
        bench: Bench,
        neighbours: Vec<Address>,
    ) -> Result<Self, Error> {
        let mac = settings.mac;
        let link_local = link_local(mac).into();
        let global = settings.ipv6.map(IpAddr::V6);
        let ips: Vec<IpAddr> = [Some(settings.ipv4.into()), Some(link_local), global]
            .into_iter()
            .flatten()
            .collect();
        let addresses: Vec<Address> = ips.iter().map(|ip| Address { mac, ip: *ip }).collect();
        let seed = Seed(settings.seed);
        let rate = bench.rate;
        let own = addresses[0];
        // The number of the port's channel adapter is that of its link-local address.
        let guid = interface_id(mac);
        let dscp = settings.dscp;
        let mut cm = cm::Manager::new(addresses.clone(), dscp, guid, seed.derive(&[4]));
        let mut verbs = Verbs::new(bench, addresses, dscp, seed.derive(&[0]));
        let mut stack = Stack::new(mac, &ips, seed.derive(&[1]).0);
        let (tool, role) = (settings.tool, settings.role);
        let tool = match Running::new(tool, role, &mut stack, &mut cm, &mut verbs) {
            Ok(tool) => tool,
            Err(ToolError::Endpoint(error)) => return Err(error.into()),
            Err(other) => return Err(Error::Kind(other.to_string())),
        };
        Ok(Self {
            nic: settings.nic.name().to_owned(),
            mac,
            verbs,
            stack,
            cm,
            tool,
            ended: Ended::Running,
            from_peer: Way::new(rate, settings.faults_in.clone(), seed.derive(&[2])),
            to_peer: Way::new(rate, settings.faults_out.clone(), seed.derive(&[3])),
            own,
            neighbours,
            seen: Vec::new(),
            sent: Vec::new(),
            frames_in: Frames::default(),
            frames_out: Frames::default(),
            dropped: BTreeMap::new(),
        })
    }

    /// The NIC.
    pub fn nic(&self) -> &dyn Endpoint {
        &*self.verbs.bench.nic
    }

    /// The NIC, for waves.
    pub fn nic_mut(&mut self) -> &mut dyn Endpoint {
        &mut *self.verbs.bench.nic
    }

    /// The simulated time that was reached.
    pub const fn now(&self) -> Time {
        self.verbs.bench.now()
    }

    /// When something happens unless a frame comes before. It may be earlier than that.
    pub fn next_event(&mut self) -> Option<Time> {
        let now = self.now();
        let all = [
            self.verbs.bench.next_event(),
            self.stack.deadline(now),
            self.cm.deadline(now),
            self.from_peer.next(),
            self.to_peer.next(),
            self.verbs.look(),
        ];
        all.into_iter().flatten().min()
    }

    /// How the tool has ended, or that it runs.
    pub const fn ended(&self) -> &Ended {
        &self.ended
    }

    /// What the tool waits for, in words.
    pub fn waits_for(&self) -> String {
        let mut words = self.tool.waits_for();
        if let Some(complaint) = self.cm.complaints().last() {
            words.push_str(", and dropped ");
            words.push_str(complaint);
        }
        words
    }

    /// Takes a frame of the peer, without FCS.
    pub fn arrive(&mut self, bytes: Bytes) {
        let now = self.now();
        self.from_peer.enter(bytes, now);
    }

    /// Takes a frame of the peer whose last bit arrives at its end.
    pub(crate) fn arrive_at(&mut self, frame: Frame) {
        self.from_peer.pass(frame);
    }

    /// Frames for the peer since the last call.
    pub fn take_sent(&mut self) -> Vec<Bytes> {
        let frames = self.take_frames();
        frames
            .into_iter()
            .map(|frame| frame.bytes.whole())
            .collect()
    }

    /// The same, with their times.
    pub(crate) fn take_frames(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.sent)
    }

    /// Frames at the port since the last call, in the order of time in each direction.
    pub fn take_seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    /// Runs until `until`.
    ///
    /// # Errors
    ///
    /// The NIC stopped working.
    pub fn run_until(&mut self, until: Time) -> Result<(), Error> {
        while self.now() < until {
            let next = self.next_event().unwrap_or(until).max(self.now());
            self.step(until.min(next + LOOK))?;
        }
        Ok(())
    }

    /// Runs until `until`, which is so near that the host need not look before.
    fn step(&mut self, until: Time) -> Result<(), Error> {
        for frame in self.from_peer.take(until) {
            let bytes = frame.bytes.whole();
            self.seen.push(Seen {
                time: frame.end,
                out: false,
                bytes: bytes.clone(),
                fcs_ok: frame.fcs_ok,
            });
            match addressee(&bytes, self.mac) {
                For::Nic => {
                    self.frames_in.nic += 1;
                    self.meet(&bytes);
                    self.verbs.bench.queue(frame);
                }
                For::Manager if frame.fcs_ok => {
                    self.frames_in.manager += 1;
                    self.meet(&bytes);
                    self.cm.receive(&bytes, frame.end);
                }
                For::Manager => self.drop("cm.bad_fcs"),
                For::Stack if frame.fcs_ok => {
                    self.frames_in.stack += 1;
                    self.meet(&bytes);
                    let told = arp::first_hop(&bytes, self.own, &self.neighbours);
                    told.into_iter().for_each(|told| self.stack.receive(told));
                    self.stack.receive(bytes);
                }
                For::Stack => self.drop("stack.bad_fcs"),
                For::Nobody => self.drop("host.not_for_it"),
            }
        }
        self.verbs.bench.run_until(until);
        // Nobody looks at single packets.
        self.verbs.bench.nic.host_mut().take_written();
        if let Some(failure) = self.verbs.bench.nic.failure() {
            return Err(Error::Nic(failure.to_owned()));
        }
        for frame in self.verbs.bench.take() {
            self.frames_out.nic += 1;
            self.leave(frame.end, frame.bytes.whole());
            self.to_peer.pass(frame);
        }
        // While a queue pair is being connected nothing is said, neither over TCP nor by the communication manager: the
        // peer would send at once.
        match self.verbs.settled() {
            Ok(true) => {
                self.poll_stack(until);
                self.poll_manager(until);
                self.run_tool();
            }
            Ok(false) => {}
            Err(late) if self.ended == Ended::Running => {
                self.ended = Ended::Refused(late.to_string())
            }
            Err(_) => {}
        }
        for frame in self.to_peer.take(until) {
            match frame.fcs_ok {
                true => self.sent.push(frame),
                // A virtual cable has no FCS that could be wrong.
                false => self.drop("fault_out.bad_fcs"),
            }
        }
        Ok(())
    }

    fn poll_stack(&mut self, now: Time) {
        loop {
            let mut answered = false;
            for bytes in self.stack.poll(now) {
                if let Some(answer) = arp::answer(&bytes, |ip| arp::mac_of(&self.neighbours, ip)) {
                    self.stack.receive(answer);
                    answered = true;
                    continue;
                }
                self.frames_out.stack += 1;
                self.leave(now, bytes.clone());
                self.to_peer.enter(bytes, now);
            }
            if !answered {
                return;
            }
        }
    }

    fn poll_manager(&mut self, now: Time) {
        for bytes in self.cm.poll(now) {
            self.frames_out.manager += 1;
            self.leave(now, bytes.clone());
            self.to_peer.enter(bytes, now);
        }
    }

    fn leave(&mut self, time: Time, bytes: Bytes) {
        self.seen.push(Seen {
            time,
            out: true,
            bytes,
            fcs_ok: true,
        });
    }

    fn drop(&mut self, reason: &str) {
        *self.dropped.entry(reason.into()).or_default() += 1;
    }

    /// Notes the peer's MAC address.
    fn meet(&mut self, frame: &[u8]) {
        let headers = Headers::at(frame).filter(|headers| headers.dst == self.mac);
        self.verbs.peer = headers.map(|headers| headers.src).or(self.verbs.peer);
    }

    /// Has the tool do what it can, and the stack send what it says.
    fn run_tool(&mut self) {
        while self.ended == Ended::Running {
            let done = self
                .tool
                .step(&mut self.stack, &mut self.cm, &mut self.verbs);
            if self.verbs.settled().is_ok_and(|settled| !settled) {
                return;
            }
            if done.is_err() {
                // As a tool that ends: its peer need not wait.
                self.stack.abort();
                self.cm.abort(self.now());
            }
            let now = self.now();
            self.poll_stack(now);
            self.poll_manager(now);
            let changed = self.tool.messages().changed > 0;
            self.ended = match done {
                Ok(_) if self.tool.finished() && changed => Ended::Changed,
                Ok(_) if self.tool.finished() => Ended::Complete,
                Ok(true) => Ended::Running,
                Ok(false) => return,
                Err(ToolError::Transport(why)) => Ended::Failed(why),
                Err(ToolError::Exchange(why)) => Ended::Refused(why),
                Err(ToolError::Endpoint(error)) => Ended::Refused(error.to_string()),
            };
        }
    }

    /// What has happened until now.
    pub fn report(&self) -> Report {
        let nic = &self.verbs.bench.nic;
        let counters: BTreeMap<&str, u64> = (reg::COUNTERS.iter())
            .map(|counter| (counter.name, nic.counters().get(counter.address)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let mut dropped = self.dropped.clone();
        let mac = nic.mac_counters();
        let more = [
            ("mac.bad_fcs", mac.bad_fcs),
            ("mac.runts", mac.runts),
            ("mac.giants", mac.giants),
            ("mac.overflows", mac.overflows),
            ("fault_in.lost", self.from_peer.lost()),
            ("fault_out.lost", self.to_peer.lost()),
        ];
        dropped.extend(more.map(|(reason, count)| (reason.to_owned(), count)));
        let of_nic = counters
            .iter()
            .filter(|(name, _)| name.starts_with("drop_"));
        dropped.extend(of_nic.map(|(name, count)| (format!("nic.{name}"), *count)));
        let of_manager = self.cm.dropped().iter();
        dropped.extend(of_manager.map(|(reason, count)| (reason.clone(), *count)));
        dropped.retain(|_, count| *count > 0);
        let remote = self.tool.remote();
        Report {
            nic: self.nic.clone(),
            ended: self.ended.clone(),
            peer: remote.map(|it| (it.ip, it.qpn, it.psn.get())),
            frames_in: self.frames_in,
            frames_out: self.frames_out,
            manager: self.cm.counts().clone(),
            dropped,
            complaints: self.cm.complaints().to_vec(),
            counters,
            messages: *self.tool.messages(),
            duration: self.now().since_start(),
            cycles: (nic.clocked()).map(|rtl| (rtl.cycles_evaluated(), rtl.cycles(self.now()))),
        }
    }
}

/// The interface identifier of a port (RFC 4291 appendix A, RFC 2464 §4).
fn interface_id(mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([a ^ 2, b, c, 0xFF, 0xFE, d, e, f])
}

/// The link-local address of a port.
fn link_local(mac: MacAddr) -> Ipv6Addr {
    const PREFIX: u128 = 0xFE80 << 112;
    Ipv6Addr::from_bits(PREFIX | u128::from(interface_id(mac)))
}
