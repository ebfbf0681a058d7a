//! What tools do with the NIC: queue pairs, memory, work.

use std::net::{IpAddr, Ipv6Addr};

use xoff_sim::nic::{Address, QpSettings, ReadRights, Region};
use xoff_sim::protocol::gbn::{Completion, Recv, RequesterConfig, ResponderConfig, Work, mtu_code};
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{MacAddr, Psn};

use super::ToolError;
use crate::bench::Bench;
use crate::endpoint::{Created, EndpointError};

/// First address of the tools' memory.
pub(super) const MEMORY: u64 = 1 << 32;
/// The index of a tool's queue pair.
pub(super) const QP: u16 = 0;
/// The low byte of the keys of its memory.
pub(super) const TAG: u8 = 0x5A;

/// The ACK timeout and the retries of Linux's tools: 67 ms, 7 times; RNR NAKs without limit.
const TIMEOUT: u8 = 14;
const RETRY: u8 = 7;
const RNR_RETRY: u8 = 7;
/// The RNR timer of the same tools: 0.64 ms.
const RNR_TIMER: u8 = 12;
/// How many packets may be on their way, and after how many an ACK is asked for. Linux's `rdma_rxe` asks after 64.
const WINDOW: u32 = 256;
const ACK_EVERY: u8 = 64;
/// How many READs and atomics of a queue pair may be unanswered, each way. An RTL NIC has no more.
pub const READS: u16 = 16;
/// How long software of the host may take to connect a queue pair, and how often it is asked.
const CONNECT: Duration = Duration::from_ms(10);
const LOOK: Duration = Duration::from_us(1);
/// The first UDP source port of the range of which RoCE's are.
pub(super) const UDP_PORT: u16 = 0xC000;
/// The hop limit of packets; Linux's.
pub(super) const HOP_LIMIT: u8 = 64;

/// What an end tells of its queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remote {
    /// Its address.
    pub ip: IpAddr,
    /// Its number.
    pub qpn: u32,
    /// The PSN of its first request.
    pub psn: Psn,
}

/// How a queue pair cuts its messages, and sends them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transport {
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Code of the ACK timeout: 4.096 µs · 2^n, 0 is none.
    pub timeout: u8,
    /// How often it sends again.
    pub retry: u8,
    /// How often it tries again when the receiver is not ready; 7: forever.
    pub rnr_retry: u8,
}

impl Transport {
    /// What Linux's tools of libibverbs and perftest have, with a path MTU of so many bytes.
    pub const fn of_tools(mtu: u32) -> Self {
        Self {
            mtu,
            timeout: TIMEOUT,
            retry: RETRY,
            rnr_retry: RNR_RETRY,
        }
    }
}

/// What is posted.
#[derive(Debug)]
enum Post {
    Receive(Recv),
    Send(Work),
}

/// A NIC as tools see it.
#[derive(Debug)]
pub(super) struct Verbs {
    pub bench: Bench,
    own: Vec<Address>,
    draws: Draws,
    reads: u16,
    dscp: u8,
    /// The queue pair that is being connected, and until when it has to be.
    connecting: Option<(u16, Time)>,
    /// What was posted meanwhile, by queue pair.
    held: Vec<(u16, Post)>,
    /// The peer's MAC address, once a frame of it came.
    pub peer: Option<MacAddr>,
}

impl Verbs {
    /// The verbs of a NIC with these addresses, all with its one MAC address. Its packets have this
    /// DSCP.
    pub fn new(mut bench: Bench, own: Vec<Address>, dscp: u8, seed: Seed) -> Self {
        bench.nic.enable_reads(READS);
        Self {
            bench,
            own,
            draws: seed.draws(),
            reads: READS,
            dscp,
            connecting: None,
            held: Vec::new(),
            peer: None,
        }
    }

    /// The own address for a peer with this one: of the same version of IP, and link-local if that is.
    pub fn own_for(&self, peer: IpAddr) -> Option<Address> {
        let kind = |ip: IpAddr| match ip {
            IpAddr::V4(_) => 0,
            IpAddr::V6(ip) if ip.is_unicast_link_local() => 1,
            IpAddr::V6(_) => 2,
        };
        let mut own = self.own.iter().copied();
        own.find(|own| kind(own.ip) == kind(peer))
    }

    /// What a peer with this address is told of a queue pair.
    ///
    /// # Errors
    ///
    /// The host has no address of its kind.
    pub fn told(&self, created: &Created, peer: IpAddr) -> Result<Remote, ToolError> {
        let own = self.own_for(peer).ok_or_else(|| {
            ToolError::Exchange(format!("{peer}: this host has no address of its kind"))
        })?;
        Ok(Remote {
            ip: own.ip,
            qpn: created.qpn,
            psn: created.psn,
        })
    }

    /// How many READs and atomics may be unanswered, each way.
    pub const fn reads(&self) -> u16 {
        self.reads
    }

    /// Has no more than so many READs and atomics unanswered, of the queue pairs that are connected from now on.
    pub fn limit_reads(&mut self, limit: u16) {
        self.reads = self.reads.min(limit);
    }

    /// Sets what the peer's READs and atomics may do with the memory of a queue pair that was created.
    pub fn permit(&mut self, index: u16, rights: ReadRights) {
        self.bench.nic.permit(index, rights);
    }

    /// Creates a queue pair with its memory. The PSN of its first request is drawn.
    ///
    /// # Errors
    ///
    /// The NIC cannot go on.
    pub fn create(&mut self, index: u16, region: &Region) -> Result<Created, EndpointError> {
        let psn = Psn::wrapping(self.draws.below(1 << 24) as u32);
        self.bench.create(index, psn, region)
    }

    /// Begins to connect a queue pair that was created. What is posted from now on is held until it
    /// [is connected](Self::settled).
    ///
    /// # Errors
    ///
    /// The peer's address is of a kind that the host has not, or the NIC cannot go on.
    pub fn connect(
        &mut self,
        index: u16,
        created: &Created,
        remote: &Remote,
        transport: Transport,
    ) -> Result<(), EndpointError> {
        let (Some(own), Some(mac)) = (self.own_for(remote.ip), self.peer) else {
            return Err(EndpointError::new(format!(
                "the peer's queue pair has the address {}: this host has none of its kind",
                remote.ip
            )));
        };
        let mtu = mtu_code(transport.mtu).unwrap_or(4);
        let settings = QpSettings {
            own,
            peer: Address { mac, ip: remote.ip },
            tags: Vec::new(),
            dscp: self.dscp,
            answer_dscp: None,
            answer_pcp: None,
            hop_limit: HOP_LIMIT,
            udp_port: UDP_PORT + (created.qpn as u16 & 0x3FFF),
            pkey: 0xFFFF,
            pd: 0,
            peer_qpn: remote.qpn,
            requester: RequesterConfig {
                mtu,
                timeout: transport.timeout,
                retry: transport.retry,
                nak_retry: true,
                rnr_retry: transport.rnr_retry,
                ack_every: ACK_EVERY,
                window: WINDOW,
                restart: false,
                reads: self.reads as u8,
            },
            requester_psn: created.psn,
            responder: ResponderConfig {
                mtu,
                rnr_timer: RNR_TIMER,
                restart: false,
            },
            responder_psn: remote.psn,
            selective: None,
        };
        self.bench.nic.connect(index, &settings)?;
        self.connecting = Some((index, self.bench.now() + CONNECT));
        Ok(())
    }

    /// Whether no queue pair is being connected. Call it when the NIC has run.
    ///
    /// # Errors
    ///
    /// It takes too long.
    pub fn settled(&mut self) -> Result<bool, EndpointError> {
        let Some((index, late)) = self.connecting else {
            return Ok(true);
        };
        if !self.bench.nic.connected(index) {
            return match self.bench.now() < late {
                true => Ok(false),
                false => Err(EndpointError::new(format!(
                    "QP {index} was not connected in {CONNECT}"
                ))),
            };
        }
        self.connecting = None;
        for (index, post) in std::mem::take(&mut self.held) {
            match post {
                Post::Receive(recv) => self.bench.post(index, recv),
                Post::Send(work) => self.bench.post_work(index, work),
            }
        }
        Ok(true)
    }

    /// When it is to be looked again whether a queue pair is connected.
    pub fn look(&self) -> Option<Time> {
        self.connecting.map(|_| self.bench.now() + LOOK)
    }

    /// Posts a receive buffer.
    pub fn receive(&mut self, index: u16, recv: Recv) {
        match self.connecting {
            Some(_) => self.held.push((index, Post::Receive(recv))),
            None => self.bench.post(index, recv),
        }
    }

    /// Posts a work request.
    pub fn send(&mut self, index: u16, work: Work) {
        match self.connecting {
            Some(_) => self.held.push((index, Post::Send(work))),
            None => self.bench.post_work(index, work),
        }
    }

    /// What has completed since the last call.
    pub fn completions(&mut self) -> Vec<(u16, Completion)> {
        self.bench.completions()
    }

    /// Writes bytes to the memory from `va` on.
    pub fn write(&mut self, va: u64, bytes: &[u8]) {
        self.bench.nic.host_mut().write_memory(va, bytes);
    }

    /// The bytes of the memory from `va` on.
    pub fn read(&self, va: u64, bytes: u32) -> Vec<u8> {
        let mut found = vec![0; bytes as usize];
        self.bench.nic.host().read_memory(va, &mut found);
        found
    }
}

/// The error of a work request or a buffer that has failed while a tool waited for something.
pub(super) fn failed(completion: &Completion, waits_for: &str) -> ToolError {
    let what = match completion.receive {
        true => "a receive buffer",
        false => "a work request",
    };
    let status = completion.status;
    ToolError::Transport(format!("{what} ended with {status:?}; {waits_for}"))
}

/// The address in a GID: an IPv4 one is mapped into IPv6.
pub(super) fn address_of_gid(gid: u128) -> IpAddr {
    let ip = Ipv6Addr::from_bits(gid);
    ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
}

/// The GID of an address.
pub(super) fn gid_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}
