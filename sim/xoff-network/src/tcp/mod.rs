//! Hosts that speak TCP, `nic = "tcp"`: the stack of the crate smoltcp behind a kernel that takes its time.
//!
//! | module | what is in it |
//! |---|---|
//! | `connection` | messages over the byte stream of a connection |
//! | `packets` | its packets in frames |
//! | `device` | packets into the stack and out of it |
//! | `clock` | the stack's microseconds and the simulation's picoseconds |
//! | `kernel` | the distribution of the kernel's delay |
//!
//! A message is posted as on an RDMA NIC. The kernel takes it some time later and puts it into the connection's stream;
//! it is complete when the peer has acknowledged its last byte. A frame that arrives wakes the kernel, which some time
//! later hands that frame and all that have come until then to the stack, one by one; each gets its answer. Frames
//! leave in the order in which the stack sends them, at line rate; the buffers of the connections bound how many wait.
//!
//! What the stack does not have: ECN, SACK at the sender (receivers say which segments they have, and the sender goes
//! by duplicate ACKs), delayed ACKs, which are switched off, and resets of unknown connections, whose frames are
//! dropped and counted. PFC and PAUSE are counted and not obeyed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use bytes::Bytes;
use smoltcp::wire::IpAddress;
use xoff_sim::frame::Frame;
use xoff_sim::host::Host;
use xoff_sim::host::payload::View;
use xoff_sim::kernel::{Arrivals, Departures, Node, PortId};
use xoff_sim::mac::ReceiveCounters;
use xoff_sim::nic::shape::BEAT_BYTES;
use xoff_sim::nic::{ModelNicConfig, NicCounters, PauseLog, QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::{Alpha, Rate};
use xoff_sim::protocol::gbn::{Completion, Status, Work, WorkKind};
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::{Clock, Duration, LineRate, Time};
use xoff_sim::wire::{MacAddr, Opcode, Psn};

use self::connection::{Connection, Opening, Outcome, Sent};
use self::kernel::Delay;
use self::packets::{Tuple, segment};
use crate::endpoint::{
    Created, Endpoint, EndpointError, EndpointSetup, Kind, Limits, ProcessorTime,
};
use crate::plain_port::PlainPort;
use crate::scenario::TcpSettings;
use crate::scenario::check::{MODEL_QPS, RING};

pub(crate) mod clock;
mod connection;
pub(crate) mod device;
mod kernel;
mod packets;
#[cfg(test)]
mod tests;

/// The port of the connection with index 0 that others open; the next one has the next port.
const FIRST_PORT: u16 = 10_000;

/// The kind of hosts with TCP.
pub(crate) fn kind() -> Kind {
    Kind {
        limits: || Limits {
            qps: MODEL_QPS as u16,
            // A stream has bytes and no receive buffers.
            operations: &[WorkKind::WRITE],
            answers: &[WorkKind::WRITE],
            granted: 0,
            mtus: Limits::MODEL.mtus,
            message: 1 << 31,
            outstanding: RING,
            ipv6: true,
        },
        period: ModelNicConfig::period,
        too_slow: |_| None,
        make: |setup| Ok(Box::new(TcpHost::new(setup))),
        restore: |_| Err(NOT_SAVED.into()),
    }
}

/// What is said of a TCP host that should be part of a checkpoint.
const NOT_SAVED: &str = "a TCP host is in no checkpoint: the state of its stack cannot be saved; run from the start, or \
    without it";

/// A host that speaks TCP.
struct TcpHost {
    settings: TcpSettings,
    mac: MacAddr,
    ip: IpAddress,
    clock: Clock,
    port: PlainPort,
    seed: Seed,
    draws: Draws,
    delay: Delay,
    host: Host,
    connections: BTreeMap<u16, Connection>,
    places: BTreeMap<Tuple, u16>,
    /// Messages on their way through the kernel: when they are through, a number that orders those of one time, and
    /// the connection.
    posts: BTreeMap<(Time, u64), (u16, Work)>,
    posted: u64,
    /// When the last message of each connection is through: messages do not overtake each other.
    through: BTreeMap<u16, Time>,
    /// Frames that wait for the kernel, and when it comes.
    waiting: VecDeque<Bytes>,
    wake: Option<Time>,
    /// When each stack has something to do by itself.
    deadlines: BTreeSet<(Time, u16)>,
    deadline_of: BTreeMap<u16, Time>,
    cpu: Duration,
    /// Until when everything has happened.
    now: Time,
}

impl fmt::Debug for TcpHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("TcpHost");
        text.field("ip", &self.ip).field("now", &self.now);
        text.field("connections", &self.connections.len());
        text.finish_non_exhaustive()
    }
}

impl TcpHost {
    fn new(setup: EndpointSetup) -> Self {
        let own = setup.host;
        let settings = setup.tcp;
        let seed = Seed(setup.seed);
        Self {
            mac: own.address.mac,
            ip: own.address.ip.into(),
            clock: own.clock,
            port: PlainPort::new(own.rate, setup.max_frame),
            seed,
            draws: seed.derive(&[0]).draws(),
            delay: Delay::new(settings.kernel_median, settings.kernel_p99),
            host: Host::new(own.clock, BEAT_BYTES, &setup.pcie),
            connections: BTreeMap::new(),
            places: BTreeMap::new(),
            posts: BTreeMap::new(),
            posted: 0,
            through: BTreeMap::new(),
            waiting: VecDeque::new(),
            wake: None,
            deadlines: BTreeSet::new(),
            deadline_of: BTreeMap::new(),
            cpu: Duration::ZERO,
            now: Time::ZERO,
            settings,
        }
    }

    fn count(&mut self, register: u16) {
        self.port.counters.add(register, 1);
    }

    /// When the host next looks for what its applications post.
    fn next_work(&self) -> Option<Time> {
        Some(self.clock.edge(self.host.next_work()?))
    }

    /// When something happens inside.
    fn next_inside(&self) -> Option<Time> {
        let post = self.posts.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let all = [self.next_work(), post, self.wake, deadline];
        all.into_iter().flatten().min()
    }

    /// Takes a frame whose last bit has arrived. The first that waits for the kernel wakes it.
    fn arrive(&mut self, frame: Frame) {
        let Some(frame) = self.port.arrive(frame) else {
            return;
        };
        if self.waiting.is_empty() {
            self.wake = Some(frame.end + self.delay.draw(&mut self.draws));
        }
        self.waiting.push_back(frame.bytes.whole());
    }

    /// Does what is due at `now`.
    fn step(&mut self, now: Time) {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            for frame in std::mem::take(&mut self.waiting) {
                self.deliver(&frame, now);
            }
        }
        while self.next_work().is_some_and(|at| at <= now) {
            self.take_work(now);
        }
        while let Some(entry) = self.posts.first_entry()
            && entry.key().0 <= now
        {
            let (index, work) = entry.remove();
            let Some(connection) = self.connections.get_mut(&index) else {
                self.count(reg::WORK_REFUSED);
                continue;
            };
            connection.post(work);
            let outcome = connection.poll(now);
            self.settle(index, outcome, now);
        }
        while let Some(&(at, index)) = self.deadlines.first()
            && at <= now
        {
            let Some(connection) = self.connections.get_mut(&index) else {
                self.deadlines.pop_first();
                continue;
            };
            let outcome = connection.poll(now);
            // No timer but that of retransmissions is set: ACKs are not delayed, and windows never close.
            let timeout = outcome.frames.iter().any(|frame| frame.again);
            self.port.counters.add(reg::TIMEOUTS, timeout.into());
            self.settle(index, outcome, now);
        }
    }

    /// Takes the message that an application has posted, into the kernel.
    fn take_work(&mut self, now: Time) {
        let cycle = self.clock.edge_from(now);
        let Some((index, work)) = self.host.work(cycle) else {
            return;
        };
        self.host.work_taken(cycle);
        let before = self.through.get(&index).copied().unwrap_or(Time::ZERO);
        let through = (now + self.delay.draw(&mut self.draws)).max(before);
        self.through.insert(index, through);
        self.posts.insert((through, self.posted), (index, work));
        self.posted += 1;
    }

    /// Hands a frame to the stack that it is for.
    fn deliver(&mut self, frame: &Bytes, now: Time) {
        let segment = match segment(frame, self.mac, self.ip) {
            Ok(segment) => segment,
            Err(reason) => return self.count(reason),
        };
        let Some(&index) = self.places.get(&segment.to) else {
            return self.count(reg::DROP_QP);
        };
        let Some(connection) = self.connections.get_mut(&index) else {
            return self.count(reg::DROP_QP);
        };
        if !connection.envelope.same_vlan(segment.vid) {
            return self.count(reg::DROP_VLAN);
        }
        if segment.data {
            self.cpu += self.settings.cpu_receive;
            self.port.counters.add(reg::REQUESTS_IN, 1);
        }
        let outcome = connection.receive(segment.packet, now);
        self.settle(index, outcome, now);
    }

    /// Does what a call of a stack has brought.
    fn settle(&mut self, index: u16, outcome: Outcome, now: Time) {
        for frame in outcome.frames {
            self.send(frame, now);
        }
        let cycle = self.clock.edge_from(now);
        for (va, bytes) in outcome.written {
            self.host.write(cycle, va, View::Written(&bytes));
        }
        for work in outcome.completed {
            let completion = Completion {
                receive: false,
                status: Status::Success,
                id: work.id,
                operation: Opcode::RC_WRITE_LAST.0,
                length: work.length,
                ..Completion::default()
            };
            self.host.complete(cycle, index, &completion);
        }
        let deadline = self
            .connections
            .get_mut(&index)
            .and_then(|connection| connection.deadline(now));
        self.set_deadline(index, deadline);
    }

    fn set_deadline(&mut self, index: u16, deadline: Option<Time>) {
        let before = match deadline {
            Some(at) => self.deadline_of.insert(index, at),
            None => self.deadline_of.remove(&index),
        };
        if let Some(before) = before {
            self.deadlines.remove(&(before, index));
        }
        self.deadlines.extend(deadline.map(|at| (at, index)));
    }

    /// Puts a frame on the line, behind those before it.
    fn send(&mut self, sent: Sent, now: Time) {
        if sent.data {
            self.cpu += self.settings.cpu_send;
            self.port.counters.add(reg::REQUESTS_OUT, 1);
            self.port.counters.add(reg::RESENT_OUT, sent.again.into());
        }
        self.port.send(sent.bytes.into(), now);
    }
}

impl Node for TcpHost {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![self.port.rate]
    }

    fn cost(&self) -> u32 {
        3
    }

    fn sending_since(&self, _port: PortId) -> Option<Time> {
        self.port.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        let leaving = self.port.next_departure();
        self.next_inside().into_iter().chain(leaving).min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        // In the order of time, since arrivals and posts draw from one stream; of what is at one time, arrivals first.
        loop {
            let inside = self.next_inside().filter(|at| *at < until);
            let arrives = arrivals.next_time();
            match (arrives, inside) {
                (Some(arrives), inside) if inside.is_none_or(|at| arrives <= at) => {
                    if let Some(arrival) = arrivals.next() {
                        self.arrive(arrival.frame);
                    }
                }
                (_, Some(at)) => self.step(at),
                (_, None) => break,
            }
        }
        self.now = until;
        self.port.depart(until, departures);
    }
}

impl Endpoint for TcpHost {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn create(
        &mut self,
        index: u16,
        psn: Psn,
        _region: &Region,
    ) -> Result<Option<Created>, EndpointError> {
        Ok(Some(Created {
            qpn: (FIRST_PORT + index).into(),
            psn,
            key: 0,
        }))
    }

    fn connect(&mut self, index: u16, settings: &QpSettings) -> Result<(), EndpointError> {
        let receives = self.host.receivers().iter().find(|it| it.qp == index);
        let opening = Opening {
            settings: &self.settings,
            qp: settings,
            port: FIRST_PORT + index,
            seed: self.seed.derive(&[1, index.into()]).0,
            receives: receives.map(|receiver| receiver.config.clone()),
        };
        let connection = Connection::open(opening, self.now).map_err(EndpointError::new)?;
        self.places.insert(connection.tuple, index);
        self.connections.insert(index, connection);
        self.set_deadline(index, Some(self.now));
        Ok(())
    }

    fn connected(&self, index: u16) -> bool {
        let connection = self.connections.get(&index);
        connection.is_some_and(Connection::established)
    }

    fn counters(&self) -> &NicCounters {
        &self.port.counters
    }

    fn mac_counters(&self) -> ReceiveCounters {
        self.port.mac_counters
    }

    fn pauses(&self) -> &PauseLog {
        &self.port.pauses
    }

    fn rate(&self, _qp: u16) -> Option<(Rate, Alpha, bool)> {
        None
    }

    fn set_link(&mut self, _now: Time, _up: bool) {}

    fn processor_time(&self) -> Option<ProcessorTime> {
        Some(ProcessorTime {
            busy: self.cpu,
            cores: self.settings.cores,
        })
    }

    fn unsaved(&self) -> Option<&'static str> {
        Some(NOT_SAVED)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        Err(NOT_SAVED.into())
    }
}
