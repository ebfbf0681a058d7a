//! A part of a network: the nodes that run here, while the others run in other threads or processes.
//!
//! Every part has the whole network and runs the nodes that it has. A frame for another part's node leaves the group
//! of all own nodes like one for a node of another group; after each window the parts [exchange](Exchange) these
//! frames. With them each says when it has something to do next, so that all know where the next window begins, and
//! all have the same windows: as long as the least latency of a link between two parts. Frames seen at ports that are
//! tapped go to part 0.
//!
//! What a node does depends on nothing but its state and what arrives, so the result is that of one part.

use serde::{Deserialize, Serialize};

use super::arrange::{LONGEST, Span};
use super::awake::Awake;
use super::exchange::{Exchange, ExchangeError};
use super::group::Group;
use super::partition::partition;
use super::{Arrival, Network, Node, NodeId, Record};
use crate::time::{Duration, Time};

/// What a part has exchanged so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExchangeCounters {
    /// Windows that all parts ran together.
    pub windows: u64,
    /// Frames for nodes of other parts.
    pub frames: u64,
    /// Bytes of all messages to other parts.
    pub bytes: u64,
    /// Real time from giving messages away to having those of all others: it has the time in which slower parts still
    /// run.
    pub waited: std::time::Duration,
}

/// Which nodes run here.
#[derive(Debug, Clone)]
pub(super) struct Part {
    number: u32,
    /// The part of each node.
    owners: Vec<u32>,
    /// The length of a window: the least latency of a link between two parts.
    lookahead: Duration,
    pub(super) counters: ExchangeCounters,
}

impl Part {
    pub(super) fn has(&self, node: NodeId) -> bool {
        self.owners[node.0 as usize] == self.number
    }
}

/// What a part says to another one after a window.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// When it has something to do next, or a frame that it sent arrives somewhere.
    next: Option<Time>,
    frames: Vec<(NodeId, Arrival)>,
    /// Frames seen at its ports; for part 0 alone.
    records: Vec<Record>,
}

/// Gives each part its message and returns the others' messages, in the order of parts. Counts what that takes.
///
/// # Errors
///
/// A part that is gone, or a message of another kind.
pub fn exchange<M: Serialize, R: for<'de> Deserialize<'de>>(
    way: &mut dyn Exchange,
    counters: &mut ExchangeCounters,
    message: impl Fn(u32) -> M,
) -> Result<Vec<(u32, R)>, ExchangeError> {
    let (own, parts) = (way.part(), way.parts());
    let bytes = |part: u32| match part == own {
        true => Vec::new(),
        false => postcard::to_stdvec(&message(part)).expect("messages are plain data"),
    };
    let messages: Vec<Vec<u8>> = (0..parts).map(bytes).collect();
    counters.bytes += messages
        .iter()
        .map(|message| message.len() as u64)
        .sum::<u64>();
    let began = std::time::Instant::now();
    let got = way.exchange(messages);
    counters.waited += began.elapsed();
    let read = |(part, bytes): (u32, Vec<u8>)| match postcard::from_bytes(&bytes) {
        Ok(message) => Ok((part, message)),
        Err(error) => Err(ExchangeError::Unreadable {
            part,
            parts,
            why: error.to_string(),
        }),
    };
    let others = (0..).zip(got?).filter(|(part, _)| *part != own);
    others.map(read).collect()
}

impl<N: Node> Network<N> {
    /// The part of each node if the network is divided into `parts`: in order of the nodes, 0 to `parts - 1`.
    pub fn divided(&self, parts: u32) -> Vec<u32> {
        let weight = |node: u32| self.node(NodeId(node)).weight();
        let weights: Vec<u32> = (0..self.nodes() as u32).map(weight).collect();
        let links: Vec<Span> = self.links().collect();
        partition(&weights, &links, parts)
    }

    /// Runs only the nodes of part `number` from now on, by [`run_part_until`](Self::run_part_until). `owners` has the
    /// part of each node, the same in all parts, whose networks are in the same state now.
    pub fn take_part(&mut self, number: u32, owners: Vec<u32>) {
        assert_eq!(owners.len(), self.nodes(), "each node has a part");
        let between = |link: &Span| owners[link.ends[0] as usize] != owners[link.ends[1] as usize];
        let latencies = self.links().filter(between).map(|link| link.latency);
        let lookahead = latencies.min().unwrap_or(LONGEST).min(LONGEST);
        self.set_part(Part {
            number,
            owners,
            lookahead,
            counters: ExchangeCounters::default(),
        });
    }

    /// What this part has exchanged so far; zeros for a network in one part.
    pub fn exchanged(&self) -> ExchangeCounters {
        self.part
            .as_ref()
            .map_or_else(Default::default, |part| part.counters)
    }

    /// Counts an exchange of this part that is not one of frames.
    pub fn count_exchange(&mut self, counters: ExchangeCounters) {
        if let Some(part) = &mut self.part {
            part.counters.bytes += counters.bytes;
            part.counters.waited += counters.waited;
        }
    }

    /// Runs this part until `end` (exclusive), while all other parts do the same. Without
    /// [`take_part`](Self::take_part) it is [`run_until`](Self::run_until). In part 0, `observe` receives the records
    /// of all tapped ports.
    ///
    /// # Errors
    ///
    /// A part that is gone. The network is of no use then.
    pub fn run_part_until(
        &mut self,
        end: Time,
        way: &mut dyn Exchange,
        mut observe: impl FnMut(&[Record]),
    ) -> Result<(), ExchangeError> {
        let Some(mut part) = self.part.take() else {
            self.run_until(end, observe);
            return Ok(());
        };
        let mut groups = self
            .groups
            .take()
            .unwrap_or_else(|| self.arrange(Some(&part)));
        let awake = Awake::new();
        let (own, mut result) = (self.own, Ok(()));
        loop {
            let next = self.hand_over(&mut part, &mut groups, way, &mut observe);
            let from = match next {
                Ok(next) => next.filter(|from| *from < end),
                Err(error) => {
                    result = Err(error);
                    None
                }
            };
            let Some(from) = from else { break };
            let until = from.saturating_add(part.lookahead).min(end);
            let threads = self.threads(&awake);
            while groups
                .window(&mut self.nodes[..own], until, threads)
                .is_some()
            {}
            self.now = until;
            part.counters.windows += 1;
        }
        self.groups = Some(groups);
        self.part = Some(part);
        self.now = self.now.max(end);
        result
    }

    /// Exchanges frames with the other parts. Returns when the first of all parts has something to do.
    fn hand_over(
        &mut self,
        part: &mut Part,
        groups: &mut Group,
        way: &mut dyn Exchange,
        observe: &mut impl FnMut(&[Record]),
    ) -> Result<Option<Time>, ExchangeError> {
        let mut frames = vec![Vec::new(); way.parts() as usize];
        let mut next = groups.next_event();
        for (place, arrival) in groups.outbox.drain(..) {
            let to = self.nodes[place as usize].id;
            next = Some(next.map_or(arrival.frame.end, |next| next.min(arrival.frame.end)));
            frames[part.owners[to.0 as usize] as usize].push((to, arrival));
        }
        part.counters.frames += frames.iter().map(|frames| frames.len() as u64).sum::<u64>();
        let mut records = std::mem::take(&mut groups.records);
        let message = |to: u32| {
            let records = match to {
                0 => &records[..],
                _ => &[],
            };
            (next, &frames[to as usize], records)
        };
        let got = exchange::<_, Message>(way, &mut part.counters, message)?;
        for (_, message) in got {
            next = [next, message.next].into_iter().flatten().min();
            for (to, arrival) in message.frames {
                let place = self.places[to.0 as usize];
                groups.deliver(&mut self.nodes[..self.own], place, arrival);
            }
            records.extend(message.records);
        }
        if part.number == 0 {
            super::network::show(&mut records, observe);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests;
