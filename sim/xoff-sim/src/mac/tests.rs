//! A node at the level of beats, as an RTL NIC is: skipping idle edges changes nothing.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::*;
use crate::kernel::{Arrivals, Departures, Digest, Network, NetworkBuilder, Node, NodeId, PortId};
use crate::link::Link;
use crate::seeded::Seed;
use crate::testing::{Source, checkpointed, roce_frame};
use crate::time::{ByteCount, Clock, Cycles, Duration, Length, LineRate, Time};

/// Sends back what it receives, beat by beat.
#[derive(Clone, Serialize, Deserialize)]
struct Echo {
    clock: Clock,
    receive: ReceiveMac,
    transmit: TransmitMac,
    waiting: VecDeque<Beat>,
    /// The first edge that was neither evaluated nor skipped.
    cycle: Cycles,
    skips: bool,
    evaluated: u64,
}

impl Echo {
    fn new(skips: bool) -> Self {
        let clock = Clock::new(Clock::PERIOD_40G, Duration::from_ps(777));
        Self {
            clock,
            receive: ReceiveMac::new(clock, 32, ByteCount::new(9216)),
            transmit: TransmitMac::new(LineRate::G40, 64),
            waiting: VecDeque::new(),
            cycle: Cycles(0),
            skips,
            evaluated: 0,
        }
    }

    /// The next edge that has to be evaluated.
    fn next_edge(&self) -> Option<Cycles> {
        if !self.skips || !self.waiting.is_empty() || self.transmit.in_frame() {
            return Some(self.cycle);
        }
        self.receive.next_beat().map(|next| next.max(self.cycle))
    }

    fn evaluate(&mut self, edge: Cycles) {
        let offered = self.waiting.front();
        if self
            .transmit
            .cycle(self.clock.edge(edge), offered)
            .expect("beats wait for the line")
        {
            self.waiting.pop_front();
        }
        self.waiting.extend(self.receive.cycle(edge));
        self.cycle = Cycles(edge.0 + 1);
        self.evaluated += 1;
    }
}

impl Node for Echo {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![LineRate::G40]
    }

    fn next_event(&self) -> Option<Time> {
        let edge = self.next_edge().map(|edge| self.clock.edge(edge));
        let departure = self.transmit.next_departure();
        [edge, departure].into_iter().flatten().min()
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        loop {
            let edge = self.next_edge();
            let at = edge
                .map_or(Time::MAX, |edge| self.clock.edge(edge))
                .min(until);
            if arrivals.next_time().is_some_and(|arrival| arrival <= at) {
                if let Some(arrival) = arrivals.next() {
                    self.receive.arrive(arrival.frame);
                }
                continue;
            }
            match edge {
                Some(edge) if at < until => self.evaluate(edge),
                _ => break,
            }
        }
        while let Some(frame) = self.transmit.depart(until) {
            departures.push(PortId(0), frame);
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
enum Either {
    Source(Box<Source>),
    Echo(Box<Echo>),
}

impl Node for Either {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![LineRate::G40]
    }

    fn next_event(&self) -> Option<Time> {
        match self {
            Self::Source(source) => source.next_event(),
            Self::Echo(echo) => echo.next_event(),
        }
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, departures: &mut Departures) {
        match self {
            Self::Source(source) => source.advance(until, arrivals, departures),
            Self::Echo(echo) => echo.advance(until, arrivals, departures),
        }
    }
}

/// Returns the digest, the number of frames that came back, and the number of edges evaluated.
fn run(skips: bool, checkpoint: bool) -> (Digest, usize, u64) {
    let mut draws = Seed(11).draws();
    let mut at = Time::ZERO;
    let mut sender = Source::new(LineRate::G40, Duration::ZERO);
    for psn in 0..100 {
        at += Duration::from_ps(draws.below(2) * draws.below(4_000_000));
        let size = 64 + draws.below(1500) as usize;
        sender = sender.then(at, 0, roce_frame(1, 2).psn(psn).bytes(size));
    }
    let mut builder = NetworkBuilder::new(Seed(0));
    let host = builder.node(Either::Source(Box::new(sender)));
    let echo = builder.node(Either::Echo(Box::new(Echo::new(skips))));
    let link = Link::new(Length::from_m(2), Duration::from_ns(100));
    builder
        .connect((host, PortId(0)), (echo, PortId(0)), &link)
        .unwrap();
    let mut network: Network<Either> = builder.build();
    if checkpoint {
        network.run_until(Time::from_ps(50_000_001), |_| ());
        network = checkpointed(&network);
    }
    network.run_until(Time::from_ps(400_000_000), |_| ());
    match (network.node(NodeId(0)), network.node(NodeId(1))) {
        (Either::Source(source), Either::Echo(echo)) => {
            (network.digest(), source.received.len(), echo.evaluated)
        }
        _ => unreachable!("node 0 is the source"),
    }
}

#[test]
fn idle_edges_left_out_change_nothing() {
    let (digest, back, edges) = run(false, false);
    assert_eq!((back, edges), (100, 78_125));
    let (skipping, _, fewer) = run(true, false);
    assert_eq!(digest, skipping);
    assert!(fewer < 10_000, "{fewer}");
    assert_eq!(run(true, true), (digest, 100, fewer));
}
