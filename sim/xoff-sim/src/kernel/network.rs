//! A network of nodes, and its run in simulated time.

use serde::{Deserialize, Serialize};

use super::context::NodeContext;
use super::wakes::Wakes;
use super::{Digest, Frame, Injection, Node, NodeId, PortCounters, PortId, Record};
use crate::link::FaultInjector;
use crate::time::{Duration, Time};

/// Nodes, links, and frames on their way. A network is plain data; in serialized form it is a checkpoint.
///
/// Windows run on rayon's current thread pool; inside `pool.install(|| network.run_until(…))` they run on that pool.
/// With a single thread, or with little to do in a window, they run on the calling thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network<N> {
    nodes: Vec<NodeContext<N>>,
    now: Time,
    lookahead: Duration,
    /// The cost of a window from which on it runs on several threads.
    parallel_from: u32,
    /// When each node has something to do. Empty until the first run, and after a checkpoint.
    #[serde(skip)]
    wakes: Wakes,
    /// The [`cost`](Node::cost) of each node; filled with `wakes`.
    #[serde(skip)]
    costs: Vec<u32>,
}

/// How many pieces a window has for each thread: more than one, since what nodes have to do is known only roughly.
const PIECES: u32 = 16;

/// How many steps [`NodeContext::prefetch`] has.
const PREFETCHES: usize = 6;

/// Default of `parallel_from`. Using threads costs some microseconds a window, so below this cost it would be slower.
const PARALLEL_FROM: u32 = 32;

impl<N: Node> Network<N> {
    pub(super) fn new(nodes: Vec<NodeContext<N>>, lookahead: Duration) -> Self {
        Self {
            nodes,
            now: Time::ZERO,
            lookahead,
            parallel_from: PARALLEL_FROM,
            wakes: Wakes::default(),
            costs: Vec::new(),
        }
    }

    /// The current simulated time: everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The length of the longest window: the least link latency.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Limits windows to be shorter than the links allow. The result is the same, which tests verify.
    pub fn limit_lookahead(&mut self, at_most: Duration) {
        self.lookahead = self.lookahead.min(at_most).max(Duration::from_ps(1));
    }

    /// Sets the total [`cost`](Node::cost) of a window's nodes from which on it runs on several threads; 0: always.
    /// Affects nothing but speed.
    pub fn set_parallel_from(&mut self, cost: u32) {
        self.parallel_from = cost;
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        let next = match self.wakes.nodes() == self.nodes.len() {
            true => self.wakes.first(),
            false => self.nodes.iter().filter_map(NodeContext::next_event).min(),
        };
        next.map(|next| next.max(self.now))
    }

    /// Notes that a node was changed from outside.
    fn changed(&mut self, node: NodeId) {
        if self.wakes.nodes() == self.nodes.len() {
            let nodes = &self.nodes;
            self.wakes
                .set(&[node.0], |node| nodes[node as usize].next_event());
        }
    }

    /// Runs until `end` (exclusive). `observe` receives the records of tapped ports, window by window, in the order
    /// of time.
    pub fn run_until(&mut self, end: Time, mut observe: impl FnMut(&[Record])) {
        let threads = rayon::current_num_threads();
        let mut records = Vec::new();
        let mut due = Vec::new();
        if self.wakes.nodes() != self.nodes.len() {
            self.wakes = Wakes::new(self.nodes.iter().map(NodeContext::next_event));
            self.costs = self.nodes.iter().map(NodeContext::cost).collect();
        }
        let mut costs = Vec::new();
        while let Some(from) = self.next_event().filter(|from| *from < end) {
            let until = from.saturating_add(self.lookahead).min(end);
            due.clear();
            self.wakes.due(until, &mut due);
            if threads > 1 && self.cost(&due, &mut costs) >= self.parallel_from {
                let window = Window {
                    from,
                    until,
                    piece: costs.last().copied().unwrap_or(0) / (threads as u32 * PIECES),
                };
                window.run(&mut self.nodes, 0, &due, &costs);
            } else {
                run_all(&mut self.nodes, 0, &due, from, until);
            }
            self.hand_over(&due, &mut records);
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

    /// The cost of a window in which these nodes have something to do. `costs` gets the sum up to each of them.
    fn cost(&self, due: &[u32], costs: &mut Vec<u32>) -> u32 {
        let mut sum = 0u32;
        costs.clear();
        costs.extend(due.iter().map(|node| {
            sum = sum.saturating_add(self.costs[*node as usize]);
            sum
        }));
        sum
    }

    /// Delivers the frames that the nodes of a window sent to their destinations, and collects records.
    fn hand_over(&mut self, due: &[u32], records: &mut Vec<Record>) {
        let nodes = &self.nodes;
        self.wakes
            .set(due, |node| nodes[node as usize].next_event());
        for sender in due {
            let sender = &mut self.nodes[*sender as usize];
            records.append(&mut sender.records);
            let mut outbox = std::mem::take(&mut sender.outbox);
            let id = sender.id;
            for (to, _) in &outbox {
                self.nodes[to.0 as usize].prefetch_inbox();
            }
            for (to, arrival) in outbox.drain(..) {
                self.wakes.sooner(to.0, arrival.frame.end);
                self.nodes[to.0 as usize].deliver(arrival);
            }
            // Put back so that its allocation is reused.
            self.nodes[id.0 as usize].outbox = outbox;
        }
    }

    /// Sets whether the frames of a port are passed to the observer of `run_until`, for captures. Panics when there
    /// is no such port.
    pub fn tap(&mut self, node: NodeId, port: PortId, on: bool) {
        self.nodes[node.0 as usize].ports[usize::from(port.0)].tapped = on;
    }

    /// The digest over every frame at every port so far.
    pub fn digest(&self) -> Digest {
        let mut all = Digest::default();
        for port in self.nodes.iter().flat_map(|node| &node.ports) {
            all.part(port.received);
            all.part(port.sent);
        }
        all
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node with this number. Like the following methods, panics when there is none.
    pub fn node(&self, node: NodeId) -> &N {
        &self.nodes[node.0 as usize].node
    }

    /// Changes a node from outside, between two runs. Nothing that it is told to do may lie before
    /// [`now`](Self::now).
    pub fn update<R>(&mut self, node: NodeId, change: impl FnOnce(&mut N) -> R) -> R {
        // A node that had nothing to do was not run until now, and the change would take effect before now.
        self.nodes[node.0 as usize].run(self.now, self.now);
        self.exchange(node, change)
    }

    /// Exchanges a node for one in the same state, such as one that was read from a checkpoint. The node is not run
    /// until [`now`](Self::now) first, as it is by [`update`](Self::update).
    pub fn exchange<R>(&mut self, node: NodeId, with: impl FnOnce(&mut N) -> R) -> R {
        let context = &mut self.nodes[node.0 as usize];
        let result = with(&mut context.node);
        context.ask_again();
        self.changed(node);
        result
    }

    /// The counters of a port.
    pub fn counters(&self, node: NodeId, port: PortId) -> PortCounters {
        self.nodes[node.0 as usize].ports[usize::from(port.0)].counters
    }

    /// How long frames have held the line that leaves a port until [`now`](Self::now), with their preambles and gaps.
    /// Of a frame or a gap that has not ended, the part until now counts.
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

    /// Mutable access to the faults of the link that starts at a port, for stating first PSNs.
    pub fn faults_mut(&mut self, node: NodeId, port: PortId) -> Option<&mut FaultInjector> {
        let port = &mut self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_mut().map(|out| &mut out.faults)
    }

    /// Injects frames into the wire that starts at a port, as [`Injection`] describes. They arrive at the other end,
    /// and the port itself does not count them.
    ///
    /// The frames' times are those at which they would pass a free wire at this end; none may be before
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
        self.changed(node);
    }

    /// The injection into the wire that starts at a port. `None` when the port is not connected.
    pub fn injection(&self, node: NodeId, port: PortId) -> Option<&Injection> {
        let port = &self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.injection)
    }

    /// The port to which the wire that starts at a port leads. `None` when the port is not connected.
    pub fn peer(&self, node: NodeId, port: PortId) -> Option<(NodeId, PortId)> {
        let port = &self.nodes[node.0 as usize].ports[usize::from(port.0)];
        port.out.as_ref().map(|out| (out.to, out.to_port))
    }

    /// Number of frames on their way to a node.
    pub fn in_flight(&self, to: NodeId) -> usize {
        self.nodes[to.0 as usize].frames_on_their_way()
    }
}

/// Runs the nodes `due` through a window, one after the other. `nodes` are those from number `first` on.
///
/// While a node runs, the memory of the next ones is asked for.
fn run_all<N: Node>(
    nodes: &mut [NodeContext<N>],
    first: usize,
    due: &[u32],
    from: Time,
    until: Time,
) {
    let ahead = |place: usize| due.get(place).map(|node| *node as usize - first);
    for place in 0..due.len() + PREFETCHES {
        for step in 0..PREFETCHES {
            // The node that is to run `PREFETCHES - step` nodes later.
            let of = place.checked_sub(step);
            if let Some(node) = of.and_then(ahead) {
                nodes[node].prefetch(step as u8, until);
            }
        }
        if let Some(node) = place.checked_sub(PREFETCHES).and_then(ahead) {
            nodes[node].run(from, until);
        }
    }
}

/// A window that runs on several threads.
struct Window {
    from: Time,
    until: Time,
    /// Cost of a piece that is not divided further.
    piece: u32,
}

impl Window {
    /// Runs the nodes `due`, which are sorted, in pieces that may run at the same time. `nodes` are those from number
    /// `first` on, and `costs` has the sum of costs up to each of those that are due.
    fn run<N: Node>(&self, nodes: &mut [NodeContext<N>], first: usize, due: &[u32], costs: &[u32]) {
        let (Some(start), Some(end)) = (costs.first(), costs.last()) else {
            return;
        };
        if due.len() == 1 || end - start <= self.piece {
            return run_all(nodes, first, due, self.from, self.until);
        }
        // Half of the cost on each side, at least one node.
        let half = start + (end - start) / 2;
        let place = costs.partition_point(|cost| *cost <= half);
        let place = place.clamp(1, due.len() - 1);
        let (left, right) = due.split_at(place);
        let (left_costs, right_costs) = costs.split_at(place);
        let middle = right[0] as usize;
        let (before, behind) = nodes.split_at_mut(middle - first);
        rayon::join(
            || self.run(before, first, left, left_costs),
            || self.run(behind, middle, right, right_costs),
        );
    }
}
