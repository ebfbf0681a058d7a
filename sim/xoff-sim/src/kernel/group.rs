//! Groups of nodes, each of which runs in windows of its own.

use std::ops::Range;

use super::awake::{Awake, both};
use super::context::NodeContext;
use super::wakes::Wakes;
use super::{Arrival, Node, Record};
use crate::time::{Duration, Time};

/// How many pieces a window has for each thread: more than one, since what nodes have to do is known only roughly.
const PIECES: u32 = 16;

/// What is said of a whole run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threads<'a> {
    /// The number of threads.
    pub(super) number: u32,
    /// The cost of a window from which on it runs on several threads.
    pub(super) parallel_from: u32,
    pub(super) awake: &'a Awake,
}

/// A part of a group.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Node,
    Group(Box<Group>),
}

/// Where in memory the nodes of each part of a group begin, and where those of the last part end.
#[derive(Debug, Clone)]
struct Starts(Vec<u32>);

impl Starts {
    /// Where a part's nodes are among those from part `first` on.
    fn nodes(&self, part: u32, first: u32) -> Range<usize> {
        let [first, from, to] = [first, part, part + 1].map(|part| self.0[part as usize]);
        (from - first) as usize..(to - first) as usize
    }

    /// The part that has the node at a place. `None`: it is in another group.
    fn part(&self, place: u32) -> Option<u32> {
        let behind = self.0.partition_point(|start| *start <= place);
        (1..self.0.len())
            .contains(&behind)
            .then(|| behind as u32 - 1)
    }
}

/// Nodes that are neighbours in memory, in parts that run independently for a window.
#[derive(Debug, Clone)]
pub(super) struct Group {
    starts: Starts,
    parts: Vec<Part>,
    /// The length of a window: the least latency of a link between two parts.
    lookahead: Duration,
    /// When each part has something to do.
    wakes: Wakes,
    /// What it costs to run each part through a window.
    costs: Vec<u32>,
    /// Frames to nodes outside of the group, with the places of these.
    pub(super) outbox: Vec<(u32, Arrival)>,
    /// Records of the group's nodes.
    pub(super) records: Vec<Record>,
    /// The parts that are due in a window, and the sums of their costs. Kept so that their allocations are.
    due: Vec<u32>,
    sums: Vec<u32>,
}

impl Group {
    /// `starts` has the place of the first node of each part, and the place behind the last part's last node.
    pub(super) fn new(starts: Vec<u32>, parts: Vec<Part>, lookahead: Duration) -> Self {
        Self {
            costs: vec![0; parts.len()],
            starts: Starts(starts),
            parts,
            lookahead,
            wakes: Wakes::default(),
            outbox: Vec::new(),
            records: Vec::new(),
            due: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Asks all nodes when they have something to do and what that costs. `nodes` are those of the group, here and in
    /// the following methods. Returns the cost of all.
    pub(super) fn ask<N: Node>(&mut self, nodes: &[NodeContext<N>]) -> u32 {
        let mut next = Vec::with_capacity(self.parts.len());
        for (number, part) in (0..).zip(&mut self.parts) {
            let nodes = &nodes[self.starts.nodes(number, 0)];
            self.costs[number as usize] = match part {
                Part::Node => nodes[0].cost(),
                Part::Group(group) => group.ask(nodes),
            };
            next.push(part.next_event(nodes));
        }
        self.wakes = Wakes::new(next.into_iter());
        let sum = |sum: u32, cost: &u32| sum.saturating_add(*cost);
        self.costs.iter().fold(0, sum)
    }

    /// The time of the next event of any node.
    pub(super) fn next_event(&self) -> Option<Time> {
        self.wakes.first()
    }

    /// Notes that the node at a place was changed from outside.
    pub(super) fn changed<N: Node>(&mut self, place: u32, nodes: &[NodeContext<N>]) {
        let Some(number) = self.starts.part(place) else {
            return;
        };
        let nodes = &nodes[self.starts.nodes(number, 0)];
        let part = &mut self.parts[number as usize];
        if let Part::Group(group) = part {
            group.changed(place, nodes);
        }
        self.wakes.set(&[number], |_| part.next_event(nodes));
    }

    /// Runs until `end` (exclusive).
    fn run<N: Node>(&mut self, nodes: &mut [NodeContext<N>], end: Time, threads: Threads<'_>) {
        while self.window(nodes, end, threads).is_some() {}
    }

    /// Runs one window, at most until `end`, and returns where it ended. `None`: there is nothing to do before `end`.
    pub(super) fn window<N: Node>(
        &mut self,
        nodes: &mut [NodeContext<N>],
        end: Time,
        threads: Threads<'_>,
    ) -> Option<Time> {
        let from = self.next_event().filter(|from| *from < end)?;
        let until = from.saturating_add(self.lookahead).min(end);
        let mut due = std::mem::take(&mut self.due);
        let mut sums = std::mem::take(&mut self.sums);
        due.clear();
        self.wakes.due(until, &mut due);
        sums.clear();
        let mut sum = 0u32;
        sums.extend(due.iter().map(|part| {
            sum = sum.saturating_add(self.costs[*part as usize]);
            sum
        }));
        let window = Window {
            from,
            until,
            starts: &self.starts,
            threads,
            piece: sum / (threads.number * PIECES),
        };
        if threads.number > 1 && sum >= threads.parallel_from {
            threads.awake.call();
            window.run(0, &mut self.parts, nodes, &due, &sums);
        } else {
            window.run_all(0, &mut self.parts, nodes, &due);
        }
        self.hand_over(nodes, &due);
        // Put back so that their allocations are reused.
        (self.due, self.sums) = (due, sums);
        Some(until)
    }

    /// Delivers the frames that the parts of a window sent to each other. Collects those to other groups, and records.
    fn hand_over<N: Node>(&mut self, nodes: &mut [NodeContext<N>], due: &[u32]) {
        let (parts, starts) = (&self.parts, &self.starts);
        self.wakes.set(due, |part| {
            parts[part as usize].next_event(&nodes[starts.nodes(part, 0)])
        });
        for part in due {
            let first = self.starts.nodes(*part, 0).start;
            let (outbox, records) = self.parts[*part as usize].sent(&mut nodes[first]);
            self.records.append(records);
            let mut frames = std::mem::take(outbox);
            for (to, arrival) in frames.drain(..) {
                self.deliver(nodes, to, arrival);
            }
            // Put back so that its allocation is reused.
            *self.parts[*part as usize].sent(&mut nodes[first]).0 = frames;
        }
    }

    /// Delivers a frame to the node at a place, or puts it in the outbox if that node is not in this group.
    #[inline]
    pub(super) fn deliver<N: Node>(
        &mut self,
        nodes: &mut [NodeContext<N>],
        to: u32,
        arrival: Arrival,
    ) {
        let Some(part) = self.starts.part(to) else {
            return self.outbox.push((to, arrival));
        };
        self.wakes.sooner(part, arrival.frame.end);
        let nodes = &mut nodes[self.starts.nodes(part, 0)];
        match &mut self.parts[part as usize] {
            Part::Node => nodes[0].deliver(arrival),
            Part::Group(group) => group.deliver(nodes, to, arrival),
        }
    }
}

/// Its windows and its parts: `1.7 us (210 ns (7 nodes), 2 nodes)`.
#[cfg(test)]
impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let groups = self.parts.iter().filter_map(|part| match part {
            Part::Node => None,
            Part::Group(group) => Some(group.to_string()),
        });
        let mut parts: Vec<String> = groups.collect();
        match self.parts.len() - parts.len() {
            0 => {}
            1 => parts.push("1 node".into()),
            nodes => parts.push(format!("{nodes} nodes")),
        }
        write!(f, "{} ({})", self.lookahead, parts.join(", "))
    }
}

impl Part {
    fn next_event<N: Node>(&self, nodes: &[NodeContext<N>]) -> Option<Time> {
        match self {
            Self::Node => nodes[0].next_event(),
            Self::Group(group) => group.next_event(),
        }
    }

    /// What the part has sent, with the places of the destinations, and its records. `node` is the part's first.
    fn sent<'a, N: Node>(
        &'a mut self,
        node: &'a mut NodeContext<N>,
    ) -> (&'a mut Vec<(u32, Arrival)>, &'a mut Vec<Record>) {
        match self {
            Self::Node => (&mut node.outbox, &mut node.records),
            Self::Group(group) => (&mut group.outbox, &mut group.records),
        }
    }
}

/// A window of a group.
struct Window<'a> {
    from: Time,
    until: Time,
    starts: &'a Starts,
    threads: Threads<'a>,
    /// Cost of a piece that is not divided further.
    piece: u32,
}

impl Window<'_> {
    /// Runs the parts `due`, which are sorted, in pieces that may run at the same time. `parts` are those from number
    /// `first` on and `nodes` are theirs; `sums` has the sum of costs up to each of those that are due.
    fn run<N: Node>(
        &self,
        first: u32,
        parts: &mut [Part],
        nodes: &mut [NodeContext<N>],
        due: &[u32],
        sums: &[u32],
    ) {
        let (Some(start), Some(end)) = (sums.first(), sums.last()) else {
            return;
        };
        if due.len() == 1 || end - start <= self.piece {
            return self.run_all(first, parts, nodes, due);
        }
        // Half of the cost on each side, at least one part.
        let half = start + (end - start) / 2;
        let place = sums.partition_point(|cost| *cost <= half);
        let place = place.clamp(1, due.len() - 1);
        let (left, right) = due.split_at(place);
        let (left_sums, right_sums) = sums.split_at(place);
        let middle = right[0];
        let (nodes_before, nodes_behind) =
            nodes.split_at_mut(self.starts.nodes(middle, first).start);
        let (before, behind) = parts.split_at_mut((middle - first) as usize);
        both(
            || self.run(first, before, nodes_before, left, left_sums),
            || self.run(middle, behind, nodes_behind, right, right_sums),
        );
    }

    /// Runs the parts `due` one after the other.
    fn run_all<N: Node>(
        &self,
        first: u32,
        parts: &mut [Part],
        nodes: &mut [NodeContext<N>],
        due: &[u32],
    ) {
        for part in due {
            let nodes = &mut nodes[self.starts.nodes(*part, first)];
            match &mut parts[(*part - first) as usize] {
                Part::Node => nodes[0].run(self.from, self.until),
                Part::Group(group) => group.run(nodes, self.until, self.threads),
            }
        }
    }
}
