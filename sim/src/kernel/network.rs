//! A network in time.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::seat::Seat;
use super::{Digest, Node, NodeId, PortCounters, PortId, Record};
use crate::link::FaultInjector;
use crate::time::{Duration, Time};

/// Nodes, links, and frames on their way. Plain data: serialized, it is a checkpoint.
///
/// Windows run on rayon's current thread pool; inside `pool.install(|| network.run_until(…))` on that pool's. With one thread, or little to do in a window, no thread is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network<N> {
    seats: Vec<Seat<N>>,
    now: Time,
    lookahead: Duration,
    /// Windows that cost so much or more run on many threads.
    parallel_from: u32,
}

/// Asking threads costs some microseconds a window: below this they make it slower.
const PARALLEL_FROM: u32 = 32;

impl<N: Node> Network<N> {
    pub(super) fn new(seats: Vec<Seat<N>>, lookahead: Duration) -> Self {
        Self {
            seats,
            now: Time::ZERO,
            lookahead,
            parallel_from: PARALLEL_FROM,
        }
    }

    /// All before this instant has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The longest window: the least link latency.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Shorter windows than the links allow. The result is the same; tests say so.
    pub fn limit_lookahead(&mut self, at_most: Duration) {
        self.lookahead = self.lookahead.min(at_most).max(Duration::from_ps(1));
    }

    /// From which [`cost`](Node::cost) of a window's nodes on it runs on many threads; 0: always. Changes speed and nothing else.
    pub fn set_parallel_from(&mut self, cost: u32) {
        self.parallel_from = cost;
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        let next = self.seats.iter().filter_map(Seat::next_event).min();
        next.map(|next| next.max(self.now))
    }

    /// Lives through all instants before `end`. `observe` gets the records of tapped ports, window by window, in the order of time.
    pub fn run_until(&mut self, end: Time, mut observe: impl FnMut(&[Record])) {
        let threads = rayon::current_num_threads();
        let mut records = Vec::new();
        while let Some(from) = self.next_event().filter(|from| *from < end) {
            let until = from.saturating_add(self.lookahead).min(end);
            let due = |seat: &Seat<N>| seat.next_event().is_some_and(|next| next < until);
            let run = |seat: &mut Seat<N>| {
                if due(seat) {
                    seat.run(from, until);
                }
            };
            let cost = || self.seats.iter().filter(|seat| due(seat)).map(Seat::cost);
            if threads > 1 && cost().sum::<u32>() >= self.parallel_from {
                self.seats.par_iter_mut().for_each(run);
            } else {
                self.seats.iter_mut().for_each(run);
            }
            self.hand_over(&mut records);
            self.now = until;
            if !records.is_empty() {
                records.sort_by_key(|record| {
                    (record.frame.end, record.node, record.port, record.direction)
                });
                observe(&records);
                records.clear();
            }
        }
        self.now = self.now.max(end);
    }

    /// Puts each sent frame where it is going; collects records.
    fn hand_over(&mut self, records: &mut Vec<Record>) {
        for sender in 0..self.seats.len() {
            records.append(&mut self.seats[sender].records);
            let mut outbox = std::mem::take(&mut self.seats[sender].outbox);
            for (to, arrival) in outbox.drain(..) {
                self.seats[to.0 as usize].deliver(arrival);
            }
            // Keeps the room it has got.
            self.seats[sender].outbox = outbox;
        }
    }

    /// Lets the ports of a capture be seen by `run_until`'s observer, or no more. Panics when there is no such port.
    pub fn tap(&mut self, node: NodeId, port: PortId, on: bool) {
        self.seats[node.0 as usize].ports[usize::from(port.0)].tapped = on;
    }

    /// What happened so far: every frame at every port.
    pub fn digest(&self) -> Digest {
        let mut all = Digest::default();
        for port in self.seats.iter().flat_map(|seat| &seat.ports) {
            all.part(port.received);
            all.part(port.sent);
        }
        all
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.seats.len()
    }

    /// A node. Panics when there is none of that number, as all of these do.
    pub fn node(&self, node: NodeId) -> &N {
        &self.seats[node.0 as usize].node
    }

    /// Changes a node from outside, between two runs. What it is told to do must not lie before [`now`](Self::now).
    pub fn update<R>(&mut self, node: NodeId, change: impl FnOnce(&mut N) -> R) -> R {
        let seat = &mut self.seats[node.0 as usize];
        let result = change(&mut seat.node);
        seat.ask_again();
        result
    }

    /// What went through a port.
    pub fn counters(&self, node: NodeId, port: PortId) -> PortCounters {
        self.seats[node.0 as usize].ports[usize::from(port.0)].counters
    }

    /// The faults of the link that starts at a port, with their counters. `None` when the port is not connected.
    pub fn faults(&self, node: NodeId, port: PortId) -> Option<&FaultInjector> {
        let port = &self.seats[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.faults)
    }

    /// Frames on their way to a node.
    pub fn in_flight(&self, to: NodeId) -> usize {
        self.seats[to.0 as usize].frames_on_their_way()
    }
}
