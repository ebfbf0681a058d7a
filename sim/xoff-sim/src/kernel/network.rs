//! A network of nodes, and its run in simulated time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

use super::arrange::{Span, arrange};
use super::awake::Awake;
use super::context::NodeContext;
use super::group::{Group, Threads};
use super::injection::Origin;
use super::part::Part;
use super::{Digest, Injection, Node, NodeId, PortCounters, PortId, Record};
use crate::frame::Frame;
use crate::link::FaultInjector;
use crate::time::{Duration, Time};

/// Nodes, links, and frames on their way. A network is plain data; in serialized form it is a checkpoint
/// ([`saved`](super::saved) if it runs in parts).
///
/// Windows run on rayon's current thread pool; inside `pool.install(|| network.run_until(…))` they run on that pool.
/// With a single thread, or with little to do in a window, they run on the calling thread.
#[derive(Debug, Clone, Deserialize)]
pub struct Network<N> {
    /// In the order that `groups` need.
    pub(super) nodes: Vec<NodeContext<N>>,
    /// Where each node is in `nodes`.
    pub(super) places: Vec<u32>,
    pub(super) now: Time,
    /// No window is longer.
    pub(super) limit: Duration,
    /// The cost of a window from which on it runs on several threads.
    pub(super) parallel_from: u32,
    /// How many threads of the pool a window may use; absent: all.
    #[serde(skip)]
    threads: Option<Arc<AtomicU32>>,
    /// Absent until the first run, and after a checkpoint.
    #[serde(skip)]
    pub(super) groups: Option<Group>,
    /// Absent: all nodes run here.
    #[serde(skip)]
    pub(super) part: Option<Part>,
    /// How many nodes run here, once they are grouped: they are the first in `nodes`.
    #[serde(skip)]
    pub(super) own: usize,
}

/// Default of `parallel_from`. Using threads costs some microseconds a window, so below this cost it would be slower.
const PARALLEL_FROM: u32 = 32;

impl<N: Node> Network<N> {
    pub(super) fn new(nodes: Vec<NodeContext<N>>) -> Self {
        Self {
            places: (0..nodes.len() as u32).collect(),
            nodes,
            now: Time::ZERO,
            limit: Duration::MAX,
            parallel_from: PARALLEL_FROM,
            threads: None,
            groups: None,
            part: None,
            own: 0,
        }
    }

    /// Groups the nodes that run here, and moves them so that those of a group are neighbours, before all others.
    pub(super) fn arrange(&mut self, part: Option<&Part>) -> Group {
        let has = |node: u32| part.is_none_or(|part| part.has(NodeId(node)));
        let (own, others): (Vec<u32>, Vec<u32>) =
            (0..self.nodes.len() as u32).partition(|node| has(*node));
        let links = self.links();
        let links: Vec<Span> = links
            .filter(|link| link.ends.into_iter().all(has))
            .collect();
        let (mut groups, mut order) = arrange(&own, &links);
        self.own = own.len();
        order.extend(others);
        for (place, node) in (0..).zip(order) {
            self.places[node as usize] = place;
        }
        let places = &self.places;
        self.nodes
            .sort_by_cached_key(|node| places[node.id.0 as usize]);
        for port in self.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            if let Some(out) = &mut port.out {
                out.place = places[out.to.0 as usize];
            }
        }
        groups.ask(&self.nodes[..self.own]);
        groups
    }

    /// Runs only what `part` has from now on. Frames on their way to other nodes are those nodes' parts' matter.
    pub(super) fn set_part(&mut self, part: Part) {
        for context in &mut self.nodes {
            if !part.has(context.id) {
                context.forget_arrivals();
            }
        }
        self.part = Some(part);
        self.groups = None;
    }

    /// Whether a node runs here. If not, only what was [shown](super::ShownPorts) of it is known.
    pub fn has(&self, node: NodeId) -> bool {
        self.part.as_ref().is_none_or(|part| part.has(node))
    }

    /// Panics unless a node runs here: a change of another one would be lost.
    fn own(&self, node: NodeId) {
        assert!(self.has(node), "node {} runs in another part", node.0);
    }

    /// The links, each in both directions, with the latencies that windows go by.
    pub(super) fn links(&self) -> impl Iterator<Item = Span> {
        self.nodes.iter().flat_map(|node| {
            let outgoing = node.ports.iter().filter_map(|port| port.out.as_ref());
            outgoing.map(|out| Span {
                ends: [node.id.0, out.to.0],
                latency: out.latency.min(self.limit),
            })
        })
    }

    pub(super) fn at(&self, node: NodeId) -> &NodeContext<N> {
        &self.nodes[self.places[node.0 as usize] as usize]
    }

    pub(super) fn at_mut(&mut self, node: NodeId) -> &mut NodeContext<N> {
        &mut self.nodes[self.places[node.0 as usize] as usize]
    }

    /// The current simulated time: everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The least latency of a link. In a window of this length, no node can be affected by what another one does.
    pub fn lookahead(&self) -> Option<Duration> {
        self.links().map(|link| link.latency).min()
    }

    /// Limits windows to be shorter than the links allow. The result is the same, which tests verify.
    pub fn limit_lookahead(&mut self, at_most: Duration) {
        self.limit = self.limit.min(at_most).max(Duration::from_ps(1));
        self.groups = None;
    }

    /// Sets the total [`cost`](Node::cost) of a window's nodes from which on it runs on several threads; 0: always.
    /// Affects nothing but speed.
    pub fn set_parallel_from(&mut self, cost: u32) {
        self.parallel_from = cost;
    }

    /// Limits the threads of the pool that a window may use. Whoever runs several networks at a time can change the
    /// number while they run, such as when one of them has ended. Affects nothing but speed.
    pub fn share_threads(&mut self, at_most: Arc<AtomicU32>) {
        self.threads = Some(at_most);
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        let next = match &self.groups {
            Some(groups) => groups.next_event(),
            None => self.nodes.iter().filter_map(NodeContext::next_event).min(),
        };
        next.map(|next| next.max(self.now))
    }

    /// Notes that a node was changed from outside.
    fn changed(&mut self, node: NodeId) {
        if let Some(groups) = &mut self.groups {
            groups.changed(self.places[node.0 as usize], &self.nodes[..self.own]);
        }
    }

    /// Runs until `end` (exclusive). `observe` receives the records of tapped ports, window by window, in the order
    /// of time.
    ///
    /// Panics when it is a part of a network: that runs by [`run_part_until`](Self::run_part_until).
    pub fn run_until(&mut self, end: Time, mut observe: impl FnMut(&[Record])) {
        assert!(self.part.is_none(), "a part runs by run_part_until");
        let awake = Awake::new();
        let mut groups = self.groups.take().unwrap_or_else(|| self.arrange(None));
        loop {
            let threads = self.threads(&awake);
            let Some(until) = groups.window(&mut self.nodes, end, threads) else {
                break;
            };
            self.now = until;
            show(&mut groups.records, &mut observe);
        }
        self.groups = Some(groups);
        self.now = self.now.max(end);
    }

    /// The threads that a window may use now.
    pub(super) fn threads<'a>(&self, awake: &'a Awake) -> Threads<'a> {
        let pool = rayon::current_num_threads() as u32;
        let at_most = self.threads.as_ref();
        Threads {
            awake,
            number: at_most.map_or(pool, |most| most.load(Ordering::Relaxed).clamp(1, pool)),
            parallel_from: self.parallel_from,
        }
    }

    /// Sets whether the frames of a port are passed to the observer of `run_until`, for captures. Panics when there
    /// is no such port.
    pub fn tap(&mut self, node: NodeId, port: PortId, on: bool) {
        self.at_mut(node).ports[usize::from(port.0)].tapped = on;
    }

    /// The digest over every frame at every port so far.
    pub fn digest(&self) -> Digest {
        let mut all = Digest::default();
        let nodes = (0..self.nodes() as u32).map(|node| self.at(NodeId(node)));
        for port in nodes.flat_map(|node| &node.ports) {
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
        &self.at(node).node
    }

    /// Changes a node from outside, between two runs. Nothing that it is told to do may lie before
    /// [`now`](Self::now). The node has to run here, as for `exchange`, `faults_mut` and injections.
    pub fn update<R>(&mut self, node: NodeId, change: impl FnOnce(&mut N) -> R) -> R {
        // A node that had nothing to do was not run until now, and the change would take effect before now.
        self.own(node);
        let now = self.now;
        self.at_mut(node).run(now, now);
        self.exchange(node, change)
    }

    /// Exchanges a node for one in the same state, such as one that was read from a checkpoint. The node is not run
    /// until [`now`](Self::now) first, as it is by [`update`](Self::update).
    pub fn exchange<R>(&mut self, node: NodeId, with: impl FnOnce(&mut N) -> R) -> R {
        self.own(node);
        let context = self.at_mut(node);
        let result = with(&mut context.node);
        context.reschedule();
        self.changed(node);
        result
    }

    /// The counters of a port.
    pub fn counters(&self, node: NodeId, port: PortId) -> PortCounters {
        self.at(node).ports[usize::from(port.0)].counters
    }

    /// How long frames have held the line that leaves a port until [`now`](Self::now), with their preambles and gaps.
    /// Of a frame or a gap that has not ended, the part until now counts.
    pub fn wire_time(&self, node: NodeId, port: PortId) -> Duration {
        let context = self.at(node);
        let since = context.node.sending_since(port);
        let begun = since.map_or(Duration::ZERO, |start| self.now.saturating_since(start));
        context.ports[usize::from(port.0)].wire_time(self.now) + begun
    }

    /// The faults of the link that starts at a port, with their counters. `None` when the port is not connected.
    pub fn faults(&self, node: NodeId, port: PortId) -> Option<&FaultInjector> {
        let port = &self.at(node).ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.faults)
    }

    /// Mutable access to the faults of the link that starts at a port, for stating first PSNs.
    pub fn faults_mut(&mut self, node: NodeId, port: PortId) -> Option<&mut FaultInjector> {
        self.own(node);
        let port = &mut self.at_mut(node).ports[usize::from(port.0)];
        port.out.as_mut().map(|out| &mut out.faults)
    }

    /// Injects frames into the wire that starts at a port, as [`Injection`] describes. They arrive at the other end,
    /// and the port itself does not count them.
    ///
    /// The frames' times are those at which they would pass a free wire at this end; none may be before
    /// [`now`](Self::now). Panics when the port is not connected or a frame is too early.
    pub fn inject(&mut self, node: NodeId, port: PortId, frames: impl IntoIterator<Item = Frame>) {
        self.inject_of(Origin::Wire, node, port, frames);
    }

    /// Like [`inject`](Self::inject), for frames that are the port's own: it counts them, and captures of the port show
    /// them.
    pub fn send_as(&mut self, node: NodeId, port: PortId, frames: impl IntoIterator<Item = Frame>) {
        self.inject_of(Origin::Port, node, port, frames);
    }

    fn inject_of(
        &mut self,
        origin: Origin,
        node: NodeId,
        port: PortId,
        frames: impl IntoIterator<Item = Frame>,
    ) {
        self.own(node);
        let now = self.now;
        let context = self.at_mut(node);
        let out = context.ports[usize::from(port.0)].out.as_mut();
        let out =
            out.unwrap_or_else(|| panic!("node {}, port {} is not connected", node.0, port.0));
        out.injection.add(origin, frames);
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
        let port = &self.at(node).ports[usize::from(port.0)];
        port.out.as_ref().map(|out| &out.injection)
    }

    /// The port to which the wire that starts at a port leads. `None` when the port is not connected.
    pub fn peer(&self, node: NodeId, port: PortId) -> Option<(NodeId, PortId)> {
        let port = &self.at(node).ports[usize::from(port.0)];
        port.out.as_ref().map(|out| (out.to, out.to_port))
    }

    /// Number of frames on their way to a node.
    pub fn in_flight(&self, to: NodeId) -> usize {
        self.at(to).frames_on_their_way()
    }
}

/// Shows records in the order of time, and removes them.
pub(super) fn show(records: &mut Vec<Record>, observe: &mut impl FnMut(&[Record])) {
    if !records.is_empty() {
        records
            .sort_by_key(|record| (record.frame.end, record.node, record.port, record.direction));
        observe(records);
        records.clear();
    }
}
