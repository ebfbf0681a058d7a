//! Samples for charts.

use std::collections::BTreeMap;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};

use super::metrics::{Counts, counts, part, wire_time};
use xoff_cosim::network::Simulation;

/// A value over time: ns, value.
pub type Points = Vec<(u64, f64)>;

/// What was sampled.
#[derive(Debug, Default)]
pub struct Samples {
    /// New payload at the receiver of each flow, b/s, over the time since the sample before.
    pub goodput: BTreeMap<String, Points>,
    /// Part of the line's time in use at each host's port, per cent.
    pub wire: BTreeMap<String, Points>,
    /// Bytes that wait in a switch's egress queues, the longest port.
    pub queue: BTreeMap<String, Points>,
    /// What DCQCN lets a flow send, b/s.
    pub rate: BTreeMap<String, Points>,
    /// DCQCN's α of a flow.
    pub alpha: BTreeMap<String, Points>,
}

/// Takes samples while time goes on.
#[derive(Debug)]
pub struct Recorder {
    /// What was sampled.
    pub samples: Samples,
    /// Counters when measuring began.
    pub before: Counts,
    last: Time,
    fresh: Vec<u64>,
    wire: BTreeMap<NodeId, Duration>,
}

impl Recorder {
    /// At the start.
    pub fn new(simulation: &Simulation) -> Self {
        Self {
            samples: Samples::default(),
            before: counts(simulation),
            last: simulation.now(),
            fresh: vec![0; simulation.flows().len()],
            wire: BTreeMap::new(),
        }
    }

    /// Measuring begins.
    pub fn begin(&mut self, simulation: &Simulation) {
        self.before = counts(simulation);
    }

    /// A sample of now.
    pub fn sample(&mut self, simulation: &Simulation) {
        let now = simulation.now();
        let elapsed = now.saturating_since(self.last);
        if elapsed == Duration::ZERO {
            return;
        }
        let ps = elapsed.as_ps() as f64;
        let ns = now.as_ps() / 1_000;
        self.last = now;
        for (flow, fresh) in simulation.flows().iter().zip(&mut self.fresh) {
            let bytes = simulation.receiver(flow).fresh_bytes();
            let rate = (bytes - *fresh) as f64 * 8e12 / ps;
            *fresh = bytes;
            self.samples
                .goodput
                .entry(flow.name.clone())
                .or_default()
                .push((ns, rate));
            let sender = simulation.sender(flow);
            if let Some((rate, alpha)) = simulation.network().node(flow.from).dcqcn(sender.qp) {
                self.samples
                    .rate
                    .entry(flow.name.clone())
                    .or_default()
                    .push((ns, rate));
                self.samples
                    .alpha
                    .entry(flow.name.clone())
                    .or_default()
                    .push((ns, alpha));
            }
        }
        for (node, station) in simulation.stations() {
            let name = simulation.names()[node.0 as usize].clone();
            if let Some(switch) = station.switch() {
                let waiting = |port| {
                    (0..8)
                        .map(|class| switch.egress_waiting(port, class))
                        .sum::<u64>()
                };
                let longest = simulation.ports(node).map(waiting).max().unwrap_or(0);
                self.samples
                    .queue
                    .entry(name)
                    .or_default()
                    .push((ns, longest as f64));
            } else {
                let held = wire_time(simulation, node, PortId(0));
                let before = self.wire.insert(node, held).unwrap_or_default();
                let percent = 100.0 * part(held - before, elapsed);
                let points = self.samples.wire.entry(name).or_default();
                points.push((ns, percent));
            }
        }
    }
}
