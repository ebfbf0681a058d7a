//! The switch as a node of the kernel.
//!
//! | module | what is in it |
//! |---|---|
//! | `path` | the path of a frame from its arrival to an egress queue, or to a drop |
//! | `change` | changes while it runs: settings, links, decisions of watchdogs |

mod change;
mod path;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::path::marked;
use super::buffer::{IngressQueue, SharedBuffer};
use super::egress::{Charge, Egress, Sent};
use super::forwarding::{Forwarding, Verdict};
use super::levels::{Level, Levels};
use super::watchdog::Watchdog;
use super::{ConfigError, DropReason, MarkAt, PortCounters, SwitchConfig};
use crate::headers::Headers;
use crate::kernel::{Arrivals, Departures, Node, PortId};
use crate::link::FaultInjector;
use crate::mac::{PauseReceiver, PauseSender};
use crate::seeded::Draws;
use crate::time::{Duration, LineRate, Time};
use crate::wire::MacAddr;

/// A shared-buffer switch. The table of the [module](super) says where each of its rules is implemented.
///
/// A flooded frame takes up buffer once, until its last copy has left; each copy counts in its egress queue. A frame
/// that a fault rule duplicates is two frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Switch {
    pub(super) config: SwitchConfig,
    pub(super) buffer: SharedBuffer,
    pub(super) forwarding: Forwarding,
    pub(super) faults: FaultInjector,
    pub(super) ports: Vec<Port>,
    /// For each port the time of its egress side's next event, [`Time::MAX`] without one. They are apart from the
    /// ports because each step looks at all of them.
    wakes: Vec<Time>,
    /// The earliest of them.
    next: Time,
    /// For each flooded frame in the buffer, how many copies are to leave.
    flooded: BTreeMap<u64, u32>,
    /// Number of frames flooded so far.
    floods: u64,
    /// How full queues are over time, once somebody has asked.
    levels: Option<Box<Levels>>,
    /// Ports to be processed at the current instant; empty between instants.
    #[serde(skip)]
    touched: Vec<PortId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Port {
    pub(super) egress: Egress,
    marking: Draws,
    pub(super) counters: PortCounters,
    /// Whether its link is up.
    pub(super) up: bool,
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
        let obeying = config.obeying();
        let port = |(i, settings): (usize, &super::PortConfig)| {
            let refresh = config.refresh(settings.rate);
            Port {
                egress: Egress::new(
                    settings.rate,
                    PauseReceiver::new(pause.kind, obeying, pause.response),
                    PauseSender::new(pause.kind, settings.mac, pause.quanta, refresh),
                    settings.watchdog.map(Watchdog::new),
                ),
                marking: config.seed.derive(&[0, i as u64]).draws(),
                counters: PortCounters::default(),
                up: true,
            }
        };
        Ok(Self {
            buffer: SharedBuffer::new(config.buffer, config.ports.len())?,
            forwarding: Forwarding::new(&config.forwarding),
            faults: FaultInjector::new(config.faults.clone(), config.seed.derive(&[1])),
            ports: config.ports.iter().enumerate().map(port).collect(),
            wakes: vec![Time::MAX; config.ports.len()],
            next: Time::MAX,
            flooded: BTreeMap::new(),
            floods: 0,
            levels: None,
            touched: Vec::new(),
            config,
        })
    }

    /// The settings. Limits of the buffer that were changed since are in [`buffer`](Self::buffer).
    pub const fn config(&self) -> &SwitchConfig {
        &self.config
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
        let mut from = vec![0; self.ports.len()];
        for frame in self.ports[usize::from(port.0)].egress.queued(priority) {
            from[usize::from(frame.charge.ingress.0)] += frame.size();
        }
        let all = from.into_iter().enumerate().filter(|(_, bytes)| *bytes > 0);
        all.map(|(ingress, bytes)| (PortId(ingress as u16), bytes))
    }

    /// Whether bytes that came in by the port `ingress` wait in an egress queue. The frame on the wire is not counted.
    pub fn waits_from(&self, port: PortId, priority: u8, ingress: PortId) -> bool {
        let mut queued = self.ports[usize::from(port.0)].egress.queued(priority);
        queued.any(|frame| frame.charge.ingress == ingress)
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

    /// Start and end of times without a gap in which the port's peer has stopped a priority, among them the longest
    /// since any time, as [`PauseReceiver::long_stops`].
    pub fn long_stops(&self, port: PortId, priority: u8) -> &[(Time, Time)] {
        let pauses = &self.ports[usize::from(port.0)].egress.pauses;
        pauses.long_stops(usize::from(priority))
    }

    /// How full queues were since the last call, which ends at `now`: bytes that wait in the egress queues of the
    /// fullest port, without frames on the wire, and those that the fullest lossless ingress queue holds.
    ///
    /// The first call says what is there, and has the switch keep account from then on.
    pub fn take_levels(&mut self, now: Time) -> [Level; 2] {
        let waiting = || (self.ports.iter()).map(|port| port.egress.waiting_in_all());
        let levels = self
            .levels
            .get_or_insert_with(|| Box::new(Levels::new(now, waiting().collect(), &self.buffer)));
        levels.take(now)
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

    fn touch(&mut self, port: PortId) {
        self.touched.push(port);
    }

    fn step(&mut self, now: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        let mut released = false;
        for i in 0..self.wakes.len() {
            if self.wakes[i] <= now {
                let port = PortId(i as u16);
                self.touch(port);
                if let Some((frame, charge)) = self.ports[i].egress.depart(now) {
                    if let Some(charge) = charge {
                        released |= self.release(now, charge);
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
        let mut touched = std::mem::take(&mut self.touched);
        for port in touched.drain(..) {
            let Port {
                egress,
                marking,
                counters,
                ..
            } = &mut self.ports[usize::from(port.0)];
            let red = &self.config.red;
            let at_dequeue = self.config.mark_at == MarkAt::Dequeue;
            let rate = egress.rate;
            let leave = |priority: u8, waiting, bytes| {
                let queue = usize::from(priority);
                match red[queue].filter(|_| at_dequeue) {
                    Some(red) if red.at(rate).marks(waiting, marking) => {
                        marked(bytes, &mut counters.marked[queue])
                    }
                    _ => bytes,
                }
            };
            match egress.pump(now, &self.config.services, leave) {
                Some(Sent::Pause) => counters.pauses_sent += 1,
                Some(Sent::Data(size)) => {
                    if let Some(levels) = &mut self.levels {
                        levels.left(now, port, size);
                    }
                }
                None => {}
            }
            let wake = egress.next_event().unwrap_or(Time::MAX);
            assert!(
                wake > now,
                "a port that wakes at {now} again would never let time go on"
            );
            self.wakes[usize::from(port.0)] = wake;
        }
        self.next = self.wakes.iter().copied().fold(Time::MAX, Time::min);
        // Put back so that its allocation is reused.
        self.touched = touched;
    }

    /// Releases the buffer of a frame that is gone. Returns whether there was any to release: copies of a flooded frame
    /// share it.
    fn release(&mut self, now: Time, charge: Charge) -> bool {
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
        if let Some(levels) = &mut self.levels {
            levels.released(now, ingress, priority, size);
        }
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
}

impl Node for Switch {
    fn line_rates(&self) -> Vec<LineRate> {
        self.config.ports.iter().map(|port| port.rate).collect()
    }

    fn cost(&self) -> u32 {
        // A frame at each port takes about half a microsecond.
        (self.ports.len() as u32).div_ceil(2)
    }

    fn weight(&self) -> u32 {
        self.ports.len() as u32
    }

    fn sending_since(&self, port: PortId) -> Option<Time> {
        self.ports[usize::from(port.0)].egress.sending_since()
    }

    fn next_event(&self) -> Option<Time> {
        (self.next != Time::MAX).then_some(self.next)
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
