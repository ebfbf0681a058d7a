//! What the kernel asks of a node.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Frame;
use crate::time::{LineRate, Time};

/// A node's number: its place in the network's list.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A port's number within its node.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PortId(pub u16);

/// A NIC with its host, a switch, a stand-in for another machine's part of the network.
///
/// All state is inside, nothing is shared. What a node does depends on its state and on the frames that arrive, and not on where windows end:
/// `advance` to 3 and then to 5 is the same as `advance` to 5.
pub trait Node: Send {
    /// The rate of each port, in port order. Asked once, when the network is built.
    fn line_rates(&self) -> Vec<LineRate>;

    /// Roughly what a window costs in which the node has something to do, a source or a small switch being 1 (about a microsecond). Only says when threads are worth their while;
    /// an RTL NIC says some tens.
    fn cost(&self) -> u32 {
        1
    }

    /// The earliest instant at which the node does something unless a frame arrives before. `None`: only a frame can wake it. Early is safe and costs time; late is a bug.
    /// After `advance(until)` it is not before `until`.
    fn next_event(&self) -> Option<Time>;

    /// When the preamble of the frame began that `port` is sending and has not handed over; `None` when there is none.
    /// Only measured by, never acted upon: nodes that do not say it are measured frame by frame.
    fn sending_since(&self, port: PortId) -> Option<Time> {
        let _ = port;
        None
    }

    /// Runs until `until` (exclusive): takes every arrival (all are before `until`), and hands over every frame whose last bit leaves before `until`, each port's in the order
    /// of time. A frame whose last bit leaves at `until` or later stays in the node until then.
    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures);
}

/// A frame whose last bit has come in at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Where.
    pub port: PortId,
    /// The frame; its times are those at this port.
    pub frame: Frame,
}

/// A window's arrivals, sorted by time, then port.
#[derive(Debug)]
pub struct Arrivals<'a> {
    inbox: &'a mut VecDeque<Arrival>,
    until: Time,
}

impl<'a> Arrivals<'a> {
    /// Those of `inbox`, sorted by time and port, that are before `until`.
    pub fn new(inbox: &'a mut VecDeque<Arrival>, until: Time) -> Self {
        Self { inbox, until }
    }

    /// When the next one arrives.
    pub fn next_time(&self) -> Option<Time> {
        self.inbox
            .front()
            .map(|arrival| arrival.frame.end)
            .filter(|end| *end < self.until)
    }
}

impl Iterator for Arrivals<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.next_time()?;
        self.inbox.pop_front()
    }
}

/// A window's departures, each port's in the order of time.
#[derive(Debug, Default)]
pub struct Departures {
    pub(super) list: Vec<Arrival>,
}

impl Departures {
    /// The frame's last bit left `port` at its `end`.
    pub fn push(&mut self, port: PortId, frame: Frame) {
        self.list.push(Arrival { port, frame });
    }

    /// Takes what is there: for tests of a node alone.
    pub fn take(&mut self) -> Vec<(PortId, Frame)> {
        self.list
            .drain(..)
            .map(|departure| (departure.port, departure.frame))
            .collect()
    }
}

/// Puts `arrival` where time and port say, behind its equals.
pub(crate) fn sort_in(inbox: &mut VecDeque<Arrival>, arrival: Arrival) {
    let key = |arrival: &Arrival| (arrival.frame.end, arrival.port);
    let place = match inbox.back() {
        Some(last) if key(last) > key(&arrival) => {
            inbox.partition_point(|other| key(other) <= key(&arrival))
        }
        _ => inbox.len(),
    };
    inbox.insert(place, arrival);
}
