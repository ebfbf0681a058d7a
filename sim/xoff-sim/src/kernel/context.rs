//! A node in the network: its ports, the frames on their way to it, and what was seen there.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::digest::FrameHash;
use super::injection::Origin;
use super::node::sort_in;
use super::{
    Arrival, Arrivals, Departures, Digest, Direction, Injection, Node, NodeId, PortId, Record,
};
use crate::frame::{Frame, GAP_BYTES, PREAMBLE_BYTES};
use crate::link::FaultInjector;
use crate::time::{Duration, LineRate, Time};

/// Frames and bytes (FCS included) through a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortCounters {
    /// Frames received, whether intact or broken.
    pub frames_received: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Frames sent.
    pub frames_sent: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
}

impl PortCounters {
    /// Byte times for which sent frames held the line: their bytes, preambles and gaps.
    pub const fn wire_bytes_sent(&self) -> u64 {
        self.bytes_sent + self.frames_sent * (PREAMBLE_BYTES + GAP_BYTES)
    }
}

/// One direction of a link, owned by the sending end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outgoing {
    pub(super) to: NodeId,
    /// Where the node `to` is in memory.
    pub(super) place: u32,
    pub(super) to_port: PortId,
    pub(super) latency: Duration,
    pub(super) faults: FaultInjector,
    /// The digest of what arrives at the other end. It is computed here, since the hash of a frame that is sent is at
    /// hand. `None` from the first frame on that fault rules have seen: the other end
    /// computes it then, since only there the order of frames is known.
    pub(super) arriving: Option<Digest>,
    /// Frames injected from outside.
    #[serde(default)]
    pub(super) injection: Injection,
}

impl Outgoing {
    /// Sends a frame, whose bytes have this hash, through the link's fault rules and on its way.
    fn send(&mut self, frame: Frame, hash: FrameHash, outbox: &mut Vec<(u32, Arrival)>) {
        let (place, port, latency) = (self.place, self.to_port, self.latency);
        self.arriving.take_if(|_| !self.faults.is_idle());
        let arriving = &mut self.arriving;
        self.faults.pass(frame, |frame| {
            let frame = Frame {
                start: frame.start + latency,
                end: frame.end + latency,
                ..frame
            };
            if let Some(digest) = arriving {
                digest.hashed(hash, &frame);
            }
            let arrival = Arrival {
                received: *arriving,
                ..Arrival::new(port, frame)
            };
            outbox.push((place, arrival));
        });
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NodePort {
    pub(super) rate: LineRate,
    pub(super) tapped: bool,
    pub(super) received: Digest,
    pub(super) sent: Digest,
    pub(super) counters: PortCounters,
    pub(super) out: Option<Outgoing>,
    /// When the last bit of the node's last frame left it.
    last_sent: Time,
    /// When the gap behind the node's last frame ends, if nobody else's was in its way.
    pub(super) line_free: Time,
}

impl NodePort {
    pub(super) fn new(rate: LineRate) -> Self {
        Self {
            rate,
            tapped: false,
            received: Digest::default(),
            sent: Digest::default(),
            counters: PortCounters::default(),
            out: None,
            last_sent: Time::ZERO,
            line_free: Time::ZERO,
        }
    }

    /// Counts a frame that leaves the port, whose bytes have this hash.
    fn count(&mut self, frame: &Frame, hash: FrameHash) {
        self.counters.frames_sent += 1;
        self.counters.bytes_sent += frame.size();
        self.sent.hashed(hash, frame);
    }

    /// How long sent frames have held the line until `now`, excluding the rest of the gap after the last one.
    pub(super) fn wire_time(&self, now: Time) -> Duration {
        if self.counters.frames_sent == 0 {
            return Duration::ZERO;
        }
        let sent = self.rate.time_of(self.counters.wire_bytes_sent());
        sent - self.line_free.saturating_since(now)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NodeContext<N> {
    pub(super) id: NodeId,
    pub(super) node: N,
    pub(super) ports: Vec<NodePort>,
    /// Frames on their way to the node, sorted by time and port.
    inbox: VecDeque<Arrival>,
    /// The time of the node's own next event, queried after each change.
    next: Option<Time>,
    /// The time of the next frame injected into a wire that starts here.
    next_injected: Option<Time>,
    /// The frames of the current window for other nodes. Empty between windows.
    #[serde(skip)]
    pub(super) outbox: Vec<(u32, Arrival)>,
    #[serde(skip)]
    pub(super) records: Vec<Record>,
    /// Empty between windows.
    #[serde(skip)]
    departures: Departures,
}

impl<N: Node> NodeContext<N> {
    pub(super) fn new(id: NodeId, node: N) -> Self {
        Self {
            id,
            ports: node.line_rates().into_iter().map(NodePort::new).collect(),
            inbox: VecDeque::new(),
            next: node.next_event(),
            next_injected: None,
            node,
            outbox: Vec::new(),
            records: Vec::new(),
            departures: Departures::default(),
        }
    }

    /// The time of the next event at this node.
    pub(super) fn next_event(&self) -> Option<Time> {
        let arrival = self.inbox.front().map(|arrival| arrival.frame.end);
        [self.next, arrival, self.next_injected]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn cost(&self) -> u32 {
        self.node.cost()
    }

    pub(super) fn frames_on_their_way(&self) -> usize {
        self.inbox.len()
    }

    /// Queries the node's next event again, after it was changed from outside.
    pub(super) fn reschedule(&mut self) {
        self.next = self.node.next_event();
    }

    /// Has no frame on its way to the node any more: it runs elsewhere.
    pub(super) fn forget_arrivals(&mut self) {
        self.inbox.clear();
    }

    pub(super) fn deliver(&mut self, arrival: Arrival) {
        sort_in(&mut self.inbox, arrival);
    }

    /// Runs the node through a window.
    pub(super) fn run(&mut self, from: Time, until: Time) {
        let mut arriving = 0;
        for arrival in &self.inbox {
            if arrival.frame.end >= until {
                break;
            }
            arriving += 1;
            let port = &mut self.ports[usize::from(arrival.port.0)];
            port.counters.frames_received += 1;
            port.counters.bytes_received += arrival.frame.size();
            match arrival.received {
                Some(received) => port.received = received,
                None => port.received.frame(&arrival.frame),
            }
            if port.tapped {
                let record = Self::record(self.id, arrival, Direction::Received);
                self.records.push(record);
            }
        }
        let waiting = self.inbox.len() - arriving;
        let mut departures = std::mem::take(&mut self.departures);
        self.node.advance(
            until,
            &mut Arrivals::new(&mut self.inbox, until),
            &mut departures,
        );
        assert_eq!(
            self.inbox.len(),
            waiting,
            "node {} left arrivals before {until}",
            self.id.0
        );
        self.next = self.node.next_event();
        assert!(
            self.next.is_none_or(|next| next >= until),
            "node {} has an event left at {:?} after running to {until}",
            self.id.0,
            self.next
        );
        for departure in departures.list.drain(..) {
            self.depart(departure, from, until);
        }
        // Put back so that its allocation is reused.
        self.departures = departures;
        if self.next_injected.is_some() {
            for port in 0..self.ports.len() as u16 {
                self.inject_before(PortId(port), until);
            }
            self.injection_changed();
        }
    }

    /// Updates the time of the next injected frame.
    pub(super) fn injection_changed(&mut self) {
        let outgoing = self.ports.iter().filter_map(|port| port.out.as_ref());
        self.next_injected = outgoing.filter_map(|out| out.injection.next()).min();
    }

    fn depart(&mut self, departure: Arrival, from: Time, until: Time) {
        let end = departure.frame.end;
        let port = &mut self.ports[usize::from(departure.port.0)];
        assert!(
            from <= end && end < until && port.last_sent <= end,
            "node {}, port {}: a frame departs at {end}, in a window from {from} to {until}, after one at {}",
            self.id.0,
            departure.port.0,
            port.last_sent
        );
        port.last_sent = end;
        let hash = FrameHash::of(&departure.frame.bytes);
        port.count(&departure.frame, hash);
        if port.tapped {
            let record = Self::record(self.id, &departure, Direction::Sent);
            self.records.push(record);
        }
        self.inject_before(departure.port, end);
        let port = &mut self.ports[usize::from(departure.port.0)];
        port.line_free = departure.frame.line_free(port.rate);
        let Some(out) = &mut port.out else { return };
        let frame = out.injection.pass(departure.frame, port.rate);
        out.send(frame, hash, &mut self.outbox);
    }

    /// Sends the frames injected into the wire of a port that are due before `until`.
    fn inject_before(&mut self, number: PortId, until: Time) {
        let port = &mut self.ports[usize::from(number.0)];
        while let Some(out) = &mut port.out
            && let Some((frame, origin)) = out.injection.take_before(until, port.rate)
        {
            let hash = FrameHash::of(&frame.bytes);
            if origin == Origin::Port {
                port.line_free = port.line_free.max(frame.line_free(port.rate));
                port.count(&frame, hash);
                if port.tapped {
                    let passed = Arrival::new(number, frame.clone());
                    let record = Self::record(self.id, &passed, Direction::Sent);
                    self.records.push(record);
                }
            }
            if let Some(out) = &mut port.out {
                out.send(frame, hash, &mut self.outbox);
            }
        }
    }

    fn record(node: NodeId, passed: &Arrival, direction: Direction) -> Record {
        Record {
            node,
            port: passed.port,
            direction,
            frame: passed.frame.clone(),
        }
    }
}
