//! The switch as a node of the kernel.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::buffer::{IngressQueue, SharedBuffer};
use super::egress::{Charge, Egress, Queued, Sent};
use super::forwarding::{Forwarding, Verdict};
use super::pause_receiver::{Control, PauseReceiver};
use super::pause_sender::PauseSender;
use super::watchdog::{Decision, Watchdog};
use super::{ConfigError, DropReason, Limit, MarkAt, PortCounters, RedConfig, SwitchConfig};
use crate::headers::{Headers, rewrite};
use crate::kernel::{Arrivals, Departures, Frame, Node, PortId};
use crate::link::FaultInjector;
use crate::seeded::Draws;
use crate::time::{Duration, LineRate, Time};
use crate::wire::{
    CONTROL_PAUSE, EtherType, Ethernet, EthernetRepr, MIN_FRAME_BYTES, MacAddr, PRIORITIES, Tci,
};

/// A shared-buffer switch. The table of the [module](super) says where each of its rules is implemented.
///
/// A flooded frame takes up buffer once, until its last copy has left; each copy counts in its egress queue. A frame
/// that a fault rule duplicates is two frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Switch {
    config: SwitchConfig,
    buffer: SharedBuffer,
    forwarding: Forwarding,
    faults: FaultInjector,
    ports: Vec<Port>,
    /// For each flooded frame in the buffer, how many copies are to leave.
    flooded: BTreeMap<u64, u32>,
    /// Number of frames flooded so far.
    floods: u64,
    /// Ports to be processed at the current instant; empty between instants.
    #[serde(skip)]
    touched: Vec<PortId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Port {
    egress: Egress,
    marking: Draws,
    counters: PortCounters,
    /// Whether its link is up.
    up: bool,
    /// Time of the egress side's next event.
    wake: Option<Time>,
}

/// How a frame leaves.
#[derive(Debug, Clone, Copy)]
struct Exit {
    routed: bool,
    dst: Option<MacAddr>,
    ready: Time,
}

impl Switch {
    /// Creates an empty switch.
    ///
    /// # Errors
    ///
    /// The setting that does not fit, and what it conflicts with.
    pub fn new(config: SwitchConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let pause = config.pause;
        let port = |(i, settings): (usize, &super::PortConfig)| {
            let refresh = config.refresh(settings.rate);
            Port {
                egress: Egress::new(
                    settings.rate,
                    PauseReceiver::new(pause.kind, pause.response),
                    PauseSender::new(pause.kind, settings.mac, pause.quanta, refresh),
                    settings.watchdog.map(Watchdog::new),
                ),
                marking: config.seed.derive(&[0, i as u64]).draws(),
                counters: PortCounters::default(),
                up: true,
                wake: None,
            }
        };
        Ok(Self {
            buffer: SharedBuffer::new(config.buffer, config.ports.len())?,
            forwarding: Forwarding::new(&config.forwarding),
            faults: FaultInjector::new(config.faults.clone(), config.seed.derive(&[1])),
            ports: config.ports.iter().enumerate().map(port).collect(),
            flooded: BTreeMap::new(),
            floods: 0,
            touched: Vec::new(),
            config,
        })
    }

    /// The counters of a port.
    pub fn counters(&self, port: PortId) -> &PortCounters {
        &self.ports[usize::from(port.0)].counters
    }

    /// The bytes that a port's ingress queue holds.
    pub fn ingress(&self, port: PortId, priority: u8) -> &IngressQueue {
        self.buffer.queue(port, priority)
    }

    /// Bytes waiting in an egress queue, without the frame on the wire.
    pub fn egress_waiting(&self, port: PortId, priority: u8) -> u64 {
        self.ports[usize::from(port.0)].egress.waiting(priority)
    }

    /// The ingress ports with bytes that wait in an egress queue, and how many. The frame on the wire is not counted.
    pub fn waiting_from(&self, port: PortId, priority: u8) -> impl Iterator<Item = (PortId, u64)> {
        let ingress = self.ports[usize::from(port.0)]
            .egress
            .waiting_from(priority);
        let all = ingress.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
        all.map(|(ingress, bytes)| (PortId(ingress as u16), *bytes))
    }

    /// The priority of a frame with these headers, and where the switch would send it now if it arrived at `port`.
    ///
    /// A verdict for one port has the address that the frame would have there.
    pub fn route(&self, now: Time, port: PortId, headers: &Headers) -> (u8, Verdict) {
        let priority = self.priority(headers);
        let arrived = &self.config.ports[usize::from(port.0)];
        let lossless = self.buffer.lossless(priority);
        let mut verdict = (self.forwarding).decide(now, port, arrived, headers, lossless);
        if let Verdict::Port { port, routed, dst } = &mut verdict {
            *dst = dst.or(self.next_router(*port, *routed));
        }
        (priority, verdict)
    }

    /// The address of the router behind a port, for packets that are routed.
    fn next_router(&self, port: PortId, routed: bool) -> Option<MacAddr> {
        let peer = self.config.ports[usize::from(port.0)].peer;
        peer.filter(|_| routed)
    }

    fn priority(&self, headers: &Headers) -> u8 {
        match headers.dst.is_group() {
            true => self.config.group_priority,
            false => self.config.classify.priority(headers),
        }
    }

    /// The priorities that the port's peer has to pause, one bit each.
    pub fn xoff(&self, port: PortId) -> u8 {
        self.ports[usize::from(port.0)].egress.xoff.xoff()
    }

    /// Until when the port's peer has paused a priority.
    pub fn paused_until(&self, port: PortId, priority: u8) -> Time {
        let pauses = &self.ports[usize::from(port.0)].egress.pauses;
        pauses.until(usize::from(priority))
    }

    /// How long a port could not start frames of a priority, until `now`.
    pub fn paused_for(&self, port: PortId, priority: u8, now: Time) -> Duration {
        let pauses = &self.ports[usize::from(port.0)].egress.pauses;
        pauses.paused_for(usize::from(priority), now)
    }

    /// Start and end of the last time without a gap in which the port's peer has stopped a priority, as
    /// [`PauseReceiver::last_stop`].
    pub fn last_stop(&self, port: PortId, priority: u8) -> Option<(Time, Time)> {
        let pauses = &self.ports[usize::from(port.0)].egress.pauses;
        pauses.last_stop(usize::from(priority))
    }

    /// Number of bytes in the buffer.
    pub fn occupancy(&self) -> u64 {
        self.buffer.occupancy()
    }

    /// Number of frames in the buffer, including those on the wire.
    pub fn frames(&self) -> u64 {
        self.ports.iter().map(|port| port.egress.frames()).sum()
    }

    /// The buffer's accounting.
    pub fn buffer(&self) -> &SharedBuffer {
        &self.buffer
    }

    /// Routes, and ARP and MAC tables.
    pub fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// Mutable access to routes, and ARP and MAC tables.
    pub fn forwarding_mut(&mut self) -> &mut Forwarding {
        &mut self.forwarding
    }

    /// Fault rules, with their counters.
    pub fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// Mutable access to the fault rules, for stating first PSNs.
    pub fn faults_mut(&mut self) -> &mut FaultInjector {
        &mut self.faults
    }

    /// Changes the limit of a lossless or lossy priority at `now`.
    pub fn set_limit(&mut self, now: Time, priority: u8, limit: Limit) {
        self.buffer.set_limit(priority, limit);
        self.resume();
        self.wake_touched(now);
    }

    /// Changes the ECN marking of a priority.
    pub fn set_red(&mut self, priority: u8, red: Option<RedConfig>) {
        self.config.red[usize::from(priority)] = red;
    }

    /// Sets whether lossless packets with an incomplete ARP entry are dropped instead of flooded.
    pub fn set_lossless_never_floods(&mut self, never: bool) {
        self.forwarding.set_lossless_never_floods(never);
    }

    /// States at `now` that the link of a port went down or came up.
    ///
    /// What waits for a link that goes down is dropped, pauses of its other end are over, and packets are routed
    /// over the remaining links. The peer is told about queues in XOFF again when the link comes up.
    pub fn set_link(&mut self, now: Time, port: PortId, up: bool) {
        let state = &mut self.ports[usize::from(port.0)];
        state.up = up;
        state.egress.pauses.clear(now);
        state.egress.xoff.tell_again();
        self.forwarding.set_link(port, up);
        if !up {
            for priority in 0..PRIORITIES as u8 {
                self.discard(port, priority, DropReason::LinkDown);
            }
        }
        self.touch(port);
        self.resume();
        self.wake_touched(now);
    }

    /// Has the next step, at `now`, process the ports that a change from outside has touched.
    fn wake_touched(&mut self, now: Time) {
        for port in std::mem::take(&mut self.touched) {
            self.ports[usize::from(port.0)].wake = Some(now);
        }
    }

    /// Drops what waits in an egress queue. Returns whether there was anything.
    fn discard(&mut self, port: PortId, priority: u8, reason: DropReason) -> bool {
        let frames = self.ports[usize::from(port.0)].egress.drain(priority);
        for frame in &frames {
            self.release(frame.charge);
            self.drop(frame.charge.ingress, priority, reason);
        }
        !frames.is_empty()
    }

    /// Carries out what the watchdog of a port decides now. Returns whether buffer was released.
    fn watch(&mut self, now: Time, port: PortId) -> bool {
        let mut released = false;
        while let Some((priority, decision)) =
            self.ports[usize::from(port.0)].egress.watchdog_decides(now)
        {
            if decision == Decision::Act {
                let counters = &mut self.ports[usize::from(port.0)].counters;
                counters.watchdog[usize::from(priority)] += 1;
                released |= self.discard(port, priority, DropReason::Watchdog);
            }
        }
        released
    }

    fn touch(&mut self, port: PortId) {
        self.touched.push(port);
    }

    fn step(&mut self, now: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        let mut released = false;
        for i in 0..self.ports.len() {
            if self.ports[i].wake.is_some_and(|wake| wake <= now) {
                let port = PortId(i as u16);
                self.touch(port);
                if let Some((frame, charge)) = self.ports[i].egress.depart(now) {
                    if let Some(charge) = charge {
                        released |= self.release(charge);
                        let queue = usize::from(charge.priority);
                        self.ports[i].counters.sent[queue].count(frame.size());
                    }
                    departures.push(port, frame);
                }
                released |= self.watch(now, port);
            }
        }
        if released {
            self.resume();
        }
        while arrivals.next_time() == Some(now) {
            if let Some(arrival) = arrivals.next() {
                self.receive(now, arrival.port, arrival.frame);
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        for port in std::mem::take(&mut self.touched) {
            let Port {
                egress,
                marking,
                counters,
                wake,
                ..
            } = &mut self.ports[usize::from(port.0)];
            let red = &self.config.red;
            let at_dequeue = self.config.mark_at == MarkAt::Dequeue;
            let leave = |priority: u8, waiting, bytes| {
                let queue = usize::from(priority);
                match red[queue].filter(|_| at_dequeue) {
                    Some(red) if red.marks(waiting, marking) => {
                        marked(bytes, &mut counters.marked[queue])
                    }
                    _ => bytes,
                }
            };
            if egress.pump(now, &self.config.services, leave) == Some(Sent::Pause) {
                counters.pauses_sent += 1;
            }
            *wake = egress.next_event();
            assert!(
                wake.is_none_or(|wake| wake > now),
                "a port that wakes at {now} again would never let time go on"
            );
        }
    }

    /// Releases the buffer of a frame that is gone. Returns whether there was any to release: copies of a flooded frame
    /// share it.
    fn release(&mut self, charge: Charge) -> bool {
        let Charge {
            ingress,
            priority,
            size,
            flooded,
        } = charge;
        if let Some(number) = flooded {
            let copies = self.flooded.get_mut(&number);
            let copies = copies.expect("a flooded frame has copies until the last has left");
            *copies -= 1;
            if *copies > 0 {
                return false;
            }
            self.flooded.remove(&number);
        }
        self.buffer.release(ingress, priority, size);
        true
    }

    /// Tells the peers about queues that have left XOFF.
    fn resume(&mut self) {
        let (ports, touched) = (&mut self.ports, &mut self.touched);
        self.buffer.resume(|port, priority| {
            ports[usize::from(port.0)].egress.xoff.set(priority, false);
            touched.push(port);
        });
    }

    fn drop(&mut self, port: PortId, priority: u8, reason: DropReason) {
        let counters = &mut self.ports[usize::from(port.0)].counters;
        counters.dropped[reason as usize][usize::from(priority)] += 1;
    }

    fn receive(&mut self, now: Time, port: PortId, frame: Frame) {
        let size = frame.size();
        let broken = if !frame.fcs_ok {
            Some(DropReason::BadFcs)
        } else if frame.bytes.len() < MIN_FRAME_BYTES {
            Some(DropReason::Runt)
        } else if size > self.config.max_frame.get() {
            Some(DropReason::Giant)
        } else {
            None
        };
        let headers = match (broken, Headers::at(&frame.bytes)) {
            (None, Some(headers)) => headers,
            (reason, _) => {
                self.ports[usize::from(port.0)].counters.received[0].count(size);
                return self.drop(port, 0, reason.unwrap_or(DropReason::Runt));
            }
        };
        if headers.ether_type == EtherType::MAC_CONTROL {
            return self.control(now, port, headers.dst, &frame);
        }
        let priority = self.priority(&headers);
        let ingress = &mut self.ports[usize::from(port.0)].counters;
        ingress.received[usize::from(priority)].count(size);
        if self.ports[usize::from(port.0)].egress.given_up(priority) {
            return self.drop(port, priority, DropReason::Watchdog);
        }
        let trunk = self.config.ports[usize::from(port.0)].trunk.is_some();
        if trunk && headers.tag.is_none() {
            return self.drop(port, priority, DropReason::Untagged);
        }
        let mut passed: Vec<Frame> = Vec::new();
        self.faults.pass(frame, |frame| passed.push(frame));
        if passed.is_empty() {
            return self.drop(port, priority, DropReason::Fault);
        }
        let counters = &mut self.ports[usize::from(port.0)].counters;
        counters.copies += passed.len() as u64 - 1;
        for frame in passed {
            self.forward(now, port, priority, frame);
        }
    }

    fn control(&mut self, now: Time, port: PortId, dst: MacAddr, frame: &Frame) {
        let own = self.config.ports[usize::from(port.0)].mac;
        let receiver = &mut self.ports[usize::from(port.0)];
        let control = &frame.bytes[EthernetRepr::LEN..];
        // PAUSE may also be sent to the port's own address (IEEE 802.3 annex 31B).
        let pause = control.starts_with(&CONTROL_PAUSE.to_be_bytes());
        if dst != MacAddr::CONTROL && !(pause && dst == own) {
            receiver.counters.received[0].count(frame.size());
            return self.drop(port, 0, DropReason::OtherMac);
        }
        match receiver.egress.pauses.receive(now, control) {
            Control::Pause => receiver.counters.pauses_received += 1,
            Control::Unknown => {
                receiver.counters.received[0].count(frame.size());
                self.drop(port, 0, DropReason::Control);
            }
        }
        self.touch(port);
    }

    fn forward(&mut self, now: Time, port: PortId, priority: u8, frame: Frame) {
        // A fault rule may have changed the frame.
        let Some(headers) = Headers::at(&frame.bytes) else {
            return self.drop(port, priority, DropReason::Runt);
        };
        if self.config.ports[usize::from(port.0)].learn && !headers.src.is_group() {
            self.forwarding.macs.learn(now, headers.src, port);
        }
        let exit = |routed, dst| Exit {
            routed,
            dst,
            // Frames that a rule delays have a later `end`.
            ready: frame.end.max(now) + self.config.latency,
        };
        let lossless = self.buffer.lossless(priority);
        self.forwarding.count_packet();
        let arrived = &self.config.ports[usize::from(port.0)];
        match self
            .forwarding
            .decide(now, port, arrived, &headers, lossless)
        {
            Verdict::Drop(reason) => self.drop(port, priority, reason),
            Verdict::Port { port: out, .. } if out == port => {
                self.drop(port, priority, DropReason::SamePort);
            }
            Verdict::Port {
                port: out,
                routed,
                dst,
            } => {
                let exit = exit(routed, dst.or(self.next_router(out, routed)));
                let mark = match self.may_leave(out, priority, &headers) {
                    Ok(mark) => mark,
                    Err(reason) => return self.drop(port, priority, reason),
                };
                if let Err(reason) = self.admit(port, priority, frame.size()) {
                    return self.drop(port, priority, reason);
                }
                let charge = Charge {
                    ingress: port,
                    priority,
                    size: frame.size(),
                    flooded: None,
                };
                self.enqueue(out, charge, &headers, frame, exit, mark);
            }
            Verdict::Flood { routed, dst } => {
                self.flood(port, priority, &headers, &frame, exit(routed, dst));
            }
        }
    }

    /// Sends a frame out of all ports but the one where it arrived.
    fn flood(&mut self, port: PortId, priority: u8, headers: &Headers, frame: &Frame, exit: Exit) {
        let others = (0..self.ports.len() as u16).map(PortId);
        let mut copies = Vec::new();
        for out in others.filter(|out| *out != port) {
            match self.may_leave(out, priority, headers) {
                Ok(mark) => copies.push((out, mark)),
                Err(reason) => {
                    self.drop(port, priority, reason);
                    self.ports[usize::from(port.0)].counters.copies += 1;
                }
            }
        }
        if copies.is_empty() {
            // With a single port, or with no link up.
            if self.ports.len() == 1 {
                return self.drop(port, priority, DropReason::SamePort);
            }
            self.ports[usize::from(port.0)].counters.copies -= 1;
            return;
        }
        if let Err(reason) = self.admit(port, priority, frame.size()) {
            return self.drop(port, priority, reason);
        }
        self.floods += 1;
        self.flooded.insert(self.floods, copies.len() as u32);
        let counters = &mut self.ports[usize::from(port.0)].counters;
        counters.copies += copies.len() as u64 - 1;
        let charge = Charge {
            ingress: port,
            priority,
            size: frame.size(),
            flooded: Some(self.floods),
        };
        for (out, mark) in copies {
            self.enqueue(out, charge, headers, frame.clone(), exit, mark);
        }
    }

    /// Whether a frame may join an egress queue, and whether it is marked then.
    fn may_leave(
        &mut self,
        out: PortId,
        priority: u8,
        headers: &Headers,
    ) -> Result<bool, DropReason> {
        let exit = &self.ports[usize::from(out.0)];
        if !exit.up {
            return Err(DropReason::LinkDown);
        }
        if exit.egress.given_up(priority) {
            return Err(DropReason::Watchdog);
        }
        match self.marks(out, priority, headers) {
            Marking::Drop => Err(DropReason::RedIncapable),
            marking => Ok(marking == Marking::Mark),
        }
    }

    /// Takes a frame into the buffer, and notes whether the peer has to pause.
    fn admit(&mut self, port: PortId, priority: u8, size: u64) -> Result<(), DropReason> {
        let queue = usize::from(priority);
        let admitted = self.buffer.admit(port, priority, size);
        let held = *self.buffer.queue(port, priority);
        let ingress = &mut self.ports[usize::from(port.0)];
        if held.xoff && ingress.egress.xoff.set(priority, true) {
            ingress.counters.xoff[queue] += 1;
            self.touched.push(port);
        }
        let peak = &mut ingress.counters.ingress_peak[queue];
        *peak = held.bytes().max(*peak);
        let peak = &mut ingress.counters.headroom_peak[queue];
        *peak = held.headroom.max(*peak);
        admitted
    }

    /// Appends a frame that is in the buffer to an egress queue.
    fn enqueue(
        &mut self,
        out: PortId,
        charge: Charge,
        headers: &Headers,
        frame: Frame,
        exit: Exit,
        mark: bool,
    ) {
        let queue = usize::from(charge.priority);
        let bytes = self.rewrite(frame.bytes, headers, out, charge.priority, exit, mark);
        let egress = &mut self.ports[usize::from(out.0)];
        egress.counters.marked[queue] += u64::from(mark);
        egress.egress.push(Queued {
            bytes,
            fcs_ok: frame.fcs_ok,
            charge,
            ready: exit.ready,
        });
        let peak = &mut egress.counters.egress_peak[queue];
        *peak = egress.egress.waiting(charge.priority).max(*peak);
        self.touch(out);
    }

    fn marks(&mut self, out: PortId, priority: u8, headers: &Headers) -> Marking {
        let red = &self.config.red[usize::from(priority)];
        let Some(red) = red.filter(|_| self.config.mark_at == MarkAt::Enqueue) else {
            return Marking::Pass;
        };
        let egress = &mut self.ports[usize::from(out.0)];
        if !red.marks(egress.egress.waiting(priority), &mut egress.marking) {
            return Marking::Pass;
        }
        let capable = headers
            .ip
            .is_some_and(|ip| rewrite::ecn_capable(ip.traffic_class));
        let already = headers
            .ip
            .is_some_and(|ip| rewrite::is_ce(ip.traffic_class));
        match (capable, red.drop_incapable) {
            (true, _) if already => Marking::Pass,
            (true, _) => Marking::Mark,
            (false, true) => Marking::Drop,
            (false, false) => Marking::Pass,
        }
    }

    /// The frame as it is sent: if needed, with TTL decremented, new addresses, without the tags of the network that
    /// it came from, with the tag of a trunk, and marked CE.
    fn rewrite(
        &self,
        bytes: Bytes,
        headers: &Headers,
        out: PortId,
        priority: u8,
        exit: Exit,
        mark: bool,
    ) -> Bytes {
        let Some(mut ip) = headers.ip.filter(|_| exit.routed || mark) else {
            return bytes;
        };
        let mut bytes = mutable(bytes);
        if exit.routed {
            rewrite::decrement_ttl(&mut bytes, &ip);
            ip.ttl -= 1;
        }
        if mark {
            rewrite::mark_ce(&mut bytes, &ip);
        }
        if let Some(dst) = exit.dst {
            let mut eth = Ethernet::new_unchecked(&mut bytes[..]);
            eth.set_dst(dst);
            eth.set_src(self.config.ports[usize::from(out.0)].mac);
        }
        let vid = self.config.ports[usize::from(out.0)].trunk;
        if exit.routed && (headers.tag.is_some() || vid.is_some()) {
            let tag = vid.map(|vid| Tci {
                pcp: priority,
                dei: false,
                vid,
            });
            bytes = rewrite::retag(&bytes, &ip, tag);
        }
        bytes.freeze()
    }
}

/// A frame marked CE, if it can be marked and is not yet. Counts it then.
fn marked(bytes: Bytes, count: &mut u64) -> Bytes {
    let ip = Headers::at(&bytes).and_then(|headers| headers.ip);
    let markable = |ip: &crate::headers::IpFields| {
        rewrite::ecn_capable(ip.traffic_class) && !rewrite::is_ce(ip.traffic_class)
    };
    let Some(ip) = ip.filter(markable) else {
        return bytes;
    };
    *count += 1;
    let mut bytes = mutable(bytes);
    rewrite::mark_ce(&mut bytes, &ip);
    bytes.freeze()
}

/// The bytes for changes in place; copied if something else holds them too.
fn mutable(bytes: Bytes) -> BytesMut {
    bytes
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]))
}

/// The decision of RED for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marking {
    Pass,
    Mark,
    Drop,
}

impl Node for Switch {
    fn line_rates(&self) -> Vec<LineRate> {
        self.config.ports.iter().map(|port| port.rate).collect()
    }

    fn sending_since(&self, port: PortId) -> Option<Time> {
        self.ports[usize::from(port.0)].egress.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        self.ports.iter().filter_map(|port| port.wake).min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        loop {
            let own = self.next_event();
            let next = match (own, arrivals.next_time()) {
                (Some(own), Some(arrival)) => own.min(arrival),
                (own, arrival) => match own.or(arrival) {
                    Some(next) => next,
                    None => return,
                },
            };
            if next >= until {
                return;
            }
            self.step(next, arrivals, departures);
        }
    }
}
