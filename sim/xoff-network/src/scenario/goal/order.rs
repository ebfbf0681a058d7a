//! Which message each `recv` takes, and in which order messages with the same ends go.
//!
//! Messages with the same source, destination and tag are matched in the order in which they are posted, as in MPI. A
//! QP, too, carries messages in a fixed order. Where what is required leaves the order open, it is that of a run over
//! [a network that is always the same](NOMINAL): calcs take their time, and messages that of an idle line. An order
//! that some run had can never have messages wait for each other in a circle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use xoff_sim::host::schedule::Point;

use super::read::{Draft, Said};
use super::{Action, Envelope, Message, Operation};
use crate::scenario::check::Issues;

/// Time that a message takes where only the order counts, in picoseconds: 1 µs, and the time of its bytes at 100 Gb/s.
const NOMINAL: (u64, u64) = (1_000_000, 80);

/// Source, destination and tag.
type Key = (u32, u32, u32);

/// Messages with the same source, destination and tag.
#[derive(Debug, Default)]
struct Channel {
    /// The operations that send, and that receive, as far as they have started: in that order they belong together.
    started: [Vec<usize>; 2],
    /// How many receives have what they wait for.
    arrived: Vec<bool>,
    /// All of them in the order of the file.
    all: [Vec<usize>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    End(usize),
    /// A message of a channel, by its number there.
    Arrive(usize, usize),
}

/// The messages with their two ends, in the order in which they are sent.
///
/// # Errors
///
/// A `recv` without its `send` and the other way round, sizes that differ, operations that wait for each other.
pub(super) fn matched(file: &str, draft: &Draft<'_>) -> Result<Vec<Message>, Issues> {
    let mut said = Said::new(file);
    let mut run = Run::new(draft);
    run.unpaired(&mut said);
    said.done(())?;
    run.go();
    let mut said = Said::new(file);
    if let Some((line, problem)) = run.circle(draft) {
        said.wrong(line, problem);
        return said.done(Vec::new());
    }
    let messages = run.messages(&mut said);
    said.done(messages)
}

/// An operation of any rank.
struct Node<'a> {
    rank: usize,
    operation: &'a Operation,
    missing: usize,
    times: [bool; 2],
    /// Its channel, and whether it is its `recv`.
    channel: Option<(usize, bool)>,
}

/// A run in which only the order counts.
struct Run<'a> {
    nodes: Vec<Node<'a>>,
    /// The first node of each rank.
    first: Vec<usize>,
    followers: Vec<Vec<(Point, usize)>>,
    channels: Vec<Channel>,
    keys: Vec<Key>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Number of the next event: of those at one time the first that was known comes first.
    number: u64,
    free: HashMap<(usize, u8), u64>,
    /// The operations that send, in the order in which they start.
    sent: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(draft: &'a Draft<'_>) -> Self {
        let mut run = Self {
            nodes: Vec::new(),
            first: Vec::new(),
            followers: Vec::new(),
            channels: Vec::new(),
            keys: Vec::new(),
            events: BinaryHeap::new(),
            number: 0,
            free: HashMap::new(),
            sent: Vec::new(),
        };
        let mut known = HashMap::<Key, usize>::new();
        for (rank, operations) in draft.ranks.iter().enumerate() {
            run.first.push(run.nodes.len());
            for operation in operations {
                let node = run.nodes.len();
                let own = rank as u32;
                let channel = match operation.action {
                    Action::Calc { .. } => None,
                    Action::Send(Envelope { peer, tag, .. }) => Some(((own, peer, tag), false)),
                    Action::Receive(Envelope { peer, tag, .. }) => Some(((peer, own, tag), true)),
                };
                let channel = channel.map(|(key, receives)| {
                    let channel = *known.entry(key).or_insert_with(|| {
                        run.channels.push(Channel::default());
                        run.keys.push(key);
                        run.keys.len() - 1
                    });
                    run.channels[channel].all[usize::from(receives)].push(node);
                    (channel, receives)
                });
                run.nodes.push(Node {
                    rank,
                    operation,
                    missing: operation.requires.len(),
                    times: [false; 2],
                    channel,
                });
            }
        }
        run.followers.resize_with(run.nodes.len(), Vec::new);
        for node in 0..run.nodes.len() {
            let Node {
                rank, operation, ..
            } = run.nodes[node];
            for (other, point) in &operation.requires {
                let other = run.first[rank] + *other as usize;
                run.followers[other].push((*point, node));
            }
        }
        run
    }

    fn line(&self, node: usize) -> usize {
        self.nodes[node].operation.line
    }

    /// Says which channels have more messages at one end than at the other.
    fn unpaired(&self, said: &mut Said<'_>) {
        let mut wrong = Vec::new();
        for (channel, (from, to, tag)) in self.channels.iter().zip(&self.keys) {
            let [sends, receives] = [0, 1].map(|end| channel.all[end].len());
            let (end, what) = match sends.cmp(&receives) {
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Greater => (0, "send"),
                std::cmp::Ordering::Less => (1, "recv"),
            };
            let line = self.line(channel.all[end][sends.min(receives)]);
            let other = ["recv", "send"][end];
            let problem = format!(
                "{what} without its {other}: rank {from} sends {sends} to rank {to} with tag {tag}, which receives \
                 {receives}"
            );
            wrong.push((line, problem));
        }
        wrong.sort_unstable();
        for (line, problem) in wrong {
            said.wrong(line, problem);
        }
    }

    fn later(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.number, event)));
        self.number += 1;
    }

    fn go(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].missing == 0 {
                self.begin(node, 0);
            }
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            match event {
                Event::Start(node) => self.start(node, at),
                Event::End(node) => self.end(node, at),
                Event::Arrive(channel, number) => {
                    let channel = &mut self.channels[channel];
                    channel.arrived[number] = true;
                    if let Some(receive) = channel.started[1].get(number).copied() {
                        self.end(receive, at);
                    }
                }
            }
        }
    }

    /// What a node requires is there.
    fn begin(&mut self, node: usize, at: u64) {
        let Node {
            rank, operation, ..
        } = self.nodes[node];
        match operation.action {
            Action::Calc { cpu, time } => {
                let free = self.free.entry((rank, cpu)).or_default();
                let start = at.max(*free);
                let end = start.saturating_add(time.as_ps());
                *free = end;
                self.later(start, Event::Start(node));
                self.later(end, Event::End(node));
            }
            _ => self.later(at, Event::Start(node)),
        }
    }

    fn start(&mut self, node: usize, at: u64) {
        let action = self.nodes[node].operation.action;
        self.passed(node, Point::Start, at);
        let Some((channel, _)) = self.nodes[node].channel else {
            return;
        };
        let place = &mut self.channels[channel];
        match action {
            Action::Send(envelope) => {
                let number = place.started[0].len();
                place.started[0].push(node);
                if place.arrived.len() <= number {
                    place.arrived.push(false);
                }
                self.sent.push(node);
                let (least, byte) = NOMINAL;
                let time = envelope.bytes.get().saturating_mul(byte);
                let there = at.saturating_add(least).saturating_add(time);
                self.later(there, Event::Arrive(channel, number));
                self.later(there, Event::End(node));
            }
            _ => {
                let number = place.started[1].len();
                place.started[1].push(node);
                if place.arrived.get(number).is_some_and(|arrived| *arrived) {
                    self.end(node, at);
                }
            }
        }
    }

    fn end(&mut self, node: usize, at: u64) {
        self.passed(node, Point::End, at);
    }

    fn passed(&mut self, node: usize, point: Point, at: u64) {
        self.nodes[node].times[usize::from(point == Point::End)] = true;
        for follower in 0..self.followers[node].len() {
            let (of, follower) = self.followers[node][follower];
            if of == point {
                self.nodes[follower].missing -= 1;
                if self.nodes[follower].missing == 0 {
                    self.begin(follower, at);
                }
            }
        }
    }

    /// What a node that has not ended waits for: another such node.
    fn waits_for(&self, node: usize) -> Option<usize> {
        let Node {
            rank,
            operation,
            times,
            channel,
            ..
        } = &self.nodes[node];
        if times[0] {
            // A receive has started, and waits for a send that has not.
            let (channel, _) = (*channel)?;
            let sends = self.channels[channel].all[0].iter().copied();
            return sends.into_iter().find(|send| !self.nodes[*send].times[0]);
        }
        let mut requires = operation.requires.iter();
        requires.find_map(|(other, point)| {
            let other = self.first[*rank] + *other as usize;
            (!self.nodes[other].times[usize::from(*point == Point::End)]).then_some(other)
        })
    }

    /// Operations that wait for each other, with the line of the first.
    fn circle(&self, draft: &Draft<'_>) -> Option<(usize, String)> {
        let stuck = self.nodes.iter().position(|node| !node.times[1])?;
        let (mut seen, mut path) = (HashMap::new(), Vec::new());
        let mut next = Some(stuck);
        while let Some(node) = next {
            if let Some(first) = seen.insert(node, path.len()) {
                path.drain(..first);
                break;
            }
            path.push(node);
            next = self.waits_for(node);
        }
        let name = |node: &usize| {
            let Node {
                rank, operation, ..
            } = &self.nodes[*node];
            match draft.labels[*rank][*node - self.first[*rank]] {
                "" => format!("line {} of rank {rank}", operation.line),
                label => format!("{label} of rank {rank} (line {})", operation.line),
            }
        };
        let first = path.iter().map(|node| self.line(*node)).min()?;
        let names: Vec<String> = path.iter().map(name).collect();
        Some((
            first,
            format!("{} wait for each other, so none begins", names.join(", ")),
        ))
    }

    fn messages(&self, said: &mut Said<'_>) -> Vec<Message> {
        let mut next = vec![0; self.channels.len()];
        let mut messages = Vec::with_capacity(self.sent.len());
        for &send in &self.sent {
            let (Some((channel, _)), Action::Send(envelope)) =
                (self.nodes[send].channel, self.nodes[send].operation.action)
            else {
                continue;
            };
            let receive = self.channels[channel].started[1][next[channel]];
            next[channel] += 1;
            let (from, to, tag) = self.keys[channel];
            if let Action::Receive(other) = self.nodes[receive].operation.action
                && other.bytes != envelope.bytes
            {
                let problem = format!(
                    "recv of {} bytes from rank {from} with tag {tag}: the send in line {} has {}, and the same is \
                     right",
                    other.bytes.get(),
                    self.line(send),
                    envelope.bytes.get()
                );
                said.wrong(self.line(receive), problem);
            }
            messages.push(Message {
                ends: [from, to],
                operations: [(from, send), (to, receive)]
                    .map(|(rank, node)| (node - self.first[rank as usize]) as u32),
                tag,
                bytes: envelope.bytes,
            });
        }
        messages
    }
}
