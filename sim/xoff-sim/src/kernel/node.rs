//! The interface between the kernel and a node.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::frame::Frame;
use crate::time::{LineRate, Time};

/// A node's number: its index in the network's list.
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

/// A node: a NIC with its host, a switch, or a stand-in for another machine's part of the network.
///
/// All of a node's state is inside it; nothing is shared. What a node does depends only on its state and on the
/// frames that arrive, not on where windows end: `advance` to 3 and then to 5 is the same as `advance` to 5.
pub trait Node: Send {
    /// The rate of each port, in port order. Called once, when the network is built.
    fn line_rates(&self) -> Vec<LineRate>;

    /// A rough estimate of what a window in which the node has something to do costs, in units of a source or a small
    /// switch (about a microsecond). It only decides whether threads are used. An RTL NIC returns some tens.
    fn cost(&self) -> u32 {
        1
    }

    /// What the node costs over a whole run, in units of a model NIC: 1 or more. It decides which nodes are in which
    /// [part](super::Network::divided) of a network. A switch returns the number of its ports, an RTL NIC a thousand.
    fn weight(&self) -> u32 {
        1
    }

    /// The earliest instant at which the node does something unless a frame arrives before. `None`: only a frame can
    /// wake it.
    ///
    /// An instant that is too early is allowed but costs time; one that is too late is a bug. After `advance(until)`
    /// the result is not before `until`.
    fn next_event(&self) -> Option<Time>;

    /// The start of the preamble of the frame that `port` is sending and has not handed over; `None` when there is
    /// none.
    ///
    /// Used only for measurements. For nodes that do not implement it, a frame counts only once it has been handed
    /// over.
    fn sending_since(&self, port: PortId) -> Option<Time> {
        let _ = port;
        None
    }

    /// Runs until `until` (exclusive).
    ///
    /// Takes every arrival (all are before `until`), and hands over every frame whose last bit leaves before `until`,
    /// each port's in the order of time. A frame whose last bit leaves at `until` or later stays in the node until
    /// then.
    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures);
}

/// A frame whose last bit has arrived at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The port.
    pub port: PortId,
    /// The frame, with its times at this port.
    pub frame: Frame,
    /// The digest of everything that the port has received up to this frame, if it is known already.
    #[serde(default)]
    pub(super) received: Option<Digest>,
}

impl Arrival {
    /// A frame that arrives at a port.
    pub const fn new(port: PortId, frame: Frame) -> Self {
        Self {
            port,
            frame,
            received: None,
        }
    }
}

/// The arrivals of a window, sorted by time, then port.
#[derive(Debug)]
pub struct Arrivals<'a> {
    inbox: &'a mut VecDeque<Arrival>,
    until: Time,
}

impl<'a> Arrivals<'a> {
    /// The arrivals in `inbox`, which is sorted by time and port, that are before `until`.
    pub fn new(inbox: &'a mut VecDeque<Arrival>, until: Time) -> Self {
        Self { inbox, until }
    }

    /// When the next frame arrives.
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

/// The departures of a window, those of each port in the order of time.
#[derive(Debug, Clone, Default)]
pub struct Departures {
    pub(super) list: Vec<Arrival>,
}

impl Departures {
    /// Hands over a frame whose last bit left `port` at the frame's `end`.
    pub fn push(&mut self, port: PortId, frame: Frame) {
        self.list.push(Arrival::new(port, frame));
    }

    /// Takes all departures; for tests of a single node.
    pub fn take(&mut self) -> Vec<(PortId, Frame)> {
        self.list
            .drain(..)
            .map(|departure| (departure.port, departure.frame))
            .collect()
    }
}

/// Inserts `arrival` in the order of time and port, after equal ones.
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
