//! A network in time.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::context::NodeContext;
use super::{Digest, Frame, Injection, Node, NodeId, PortCounters, PortId, Record};
use crate::link::FaultInjector;
use crate::time::{Duration, Time};

/// Nodes, links, and frames on their way. Plain data: serialized, it is a checkpoint.
///
/// Windows run on rayon's current thread pool; inside `pool.install(|| network.run_until(…))` on that pool's. With one
/// thread, or little to do in a window, no thread is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network<N> {
    nodes: Vec<NodeContext<N>>,
    now: Time,
    lookahead: Duration,
    /// Windows that cost so much or more run on many threads.
    parallel_from: u32,
}

/// Asking threads costs some microseconds a window: below this they make it slower.
const PARALLEL_FROM: u32 = 32;

impl<N: Node> Network<N> {
    pub(super) fn new(nodes: Vec<NodeContext<N>>, lookahead: Duration) -> Self {
        Self {
            nodes,
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

    /// From which [`cost`](Node::cost) of a window's nodes on it runs on many threads; 0: always. Changes speed and
    /// nothing else.
    pub fn set_parallel_from(&mut self, cost: u32) {
        self.parallel_from = cost;
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        let next = self.nodes.iter().filter_map(NodeContext::next_event).min();
        next.map(|next| next.max(self.now))
    }

    /// Runs until `end` (exclusive). `observe` gets the records of tapped ports, window by window, in the
    /// order of time.
    pub fn run_until(&mut self, end: Time, mut observe: impl FnMut(&[Record])) {
        let threads = rayon::current_num_threads();
        let mut records = Vec::new();
        while let Some(from) = self.next_event().filter(|from| *from < end) {
            let until = from.saturating_add(self.lookahead).min(end);
            let due = |node: &NodeContext<N>| node.next_event().is_some_and(|next| next < until);
            let run = |node: &mut NodeContext<N>| {
                if due(node) {
                    node.run(from, until);
                }
            };
            let cost = || {
                self.nodes
                    .iter()
                    .filter(|node| due(node))
                    .map(NodeContext::cost)
            };
            if threads > 1 && cost().sum::<u32>() >= self.parallel_from {
                self.nodes.par_iter_mut().for_each(run);
            } else {
                self.nodes.iter_mut().for_each(run);
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
        for sender in 0..self.nodes.len() {
            records.append(&mut self.nodes[sender].records);
            let mut outbox = std::mem::take(&mut self.nodes[sender].outbox);
            for (to, arrival) in outbox.drain(..) {
                self.nodes[to.0 as usize].deliver(arrival);
            }
            // Keeps the room it has got.
            self.nodes[sender].outbox = outbox;
        }
    }

    /// Lets the ports of a capture be seen by `run_until`'s observer, or no more. Panics when there is no such port.
    pub fn tap(&mut self, node: NodeId, port: PortId, on: bool) {
        self.nodes[node.0 as usize].ports[usize::from(port.0)].tapped = on;
    }

    /// What happened so far: every frame at every port.
    pub fn digest(&self) -> Digest {
        let mut all = Digest::default();
        for port in self.nodes.iter().flat_map(|node| &node.ports) {
            all.part(port.received);
            all.part(port.sent);
        }
        all
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A node. Panics when there is none of that number, as all of these do.
    pub fn node(&self, node: NodeId) -> &N {
        &self.nodes[node.0 as usize].node
    }

    /// Changes a node from outside, between two runs. What it is told to do must not lie before [`now`](Self::now).
    pub fn update<R>(&mut self, node: NodeId, change: impl FnOnce(&mut N) -> R) -> R {
        let node = &mut self.nodes[node.0 as usize];
        let result = change(&mut node.node);
        node.ask_again();
        result
    }

    /// What went through a port.
    pub fn counters(&self, node: NodeId, port: PortId) -> PortCounters {
        self.nodes[node.0 as usize].ports[usize::from(port.0)].counters
    }

    /// For how long before [`now`](Self::now) frames held the line that leaves a port, with their preambles and gaps.
    /// Of a frame, or a gap, that is not over, the part until now.
    pub fn wire_time(&self, node: NodeId, port: PortId) -> Duration {
        let context = &self.nodes[node.0 as usize];
        let since = context.node.sending_since(port);
        let begun = since.map_or(Duration::ZERO, |start| self.now.saturating_since(start));
        context.ports[usize::from(port.0)].wire_time(self.now) + begun
    }

    /// The faults of the link that starts at a port, with their counters. `None` when the port is not connected.
    pub fn faults(&self, node: NodeId, port: PortId) -> Option<&FaultInjector> {
        let port = &self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.faults)
    }

    /// The same, to state first PSNs.
    pub fn faults_mut(&mut self, node: NodeId, port: PortId) -> Option<&mut FaultInjector> {
        let port = &mut self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_mut().map(|out| &mut out.faults)
    }

    /// Puts frames on the wire that starts at a port, as [`Injection`] says: they arrive at the other end, and the port
    /// does not know of them. Their times are those at which they pass a free wire at this end; none is before
    /// [`now`](Self::now). Panics when the port is not connected or a frame is too early.
    pub fn inject(&mut self, node: NodeId, port: PortId, frames: impl IntoIterator<Item = Frame>) {
        let now = self.now;
        let context = &mut self.nodes[node.0 as usize];
        let out = context.ports[usize::from(port.0)].out.as_mut();
        let out =
            out.unwrap_or_else(|| panic!("node {}, port {} is not connected", node.0, port.0));
        out.injection.add(frames);
        let first = out.injection.next();
        assert!(
            first.is_none_or(|first| first >= now),
            "a frame injected for {first:?}, before {now}"
        );
        context.injection_changed();
    }

    /// The injection into the wire that starts at a port. `None` when the port is not connected.
    pub fn injection(&self, node: NodeId, port: PortId) -> Option<&Injection> {
        let port = &self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.injection)
    }

    /// Where the wire that starts at a port leads. `None` when the port is not connected.
    pub fn peer(&self, node: NodeId, port: PortId) -> Option<(NodeId, PortId)> {
        let port = &self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| (out.to, out.to_port))
    }

    /// Frames on their way to a node.
    pub fn in_flight(&self, to: NodeId) -> usize {
        self.nodes[to.0 as usize].frames_on_their_way()
    }
}
