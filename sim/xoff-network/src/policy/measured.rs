//! What a policy sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xoff_sim::time::{Duration, Time};

use crate::Simulation;
use crate::metrics::measure::{add_totals, counts, longest_pauses, quantiles, since};
use crate::metrics::{
    Credits, Interval, Metric, Metrics, Quantity, Subject, dropped, lost_on_links,
};

/// What was measured from one look to the next. All figures are of that time, also those that results have since the
/// start.
///
/// | field | |
/// |---|---|
/// | `metrics` | figures under the names that results have: the table below |
/// | `queue` | of each switch, bytes that waited in the egress queues of its fullest port: least, mean over time, greatest |
/// | `ingress` | of each switch, bytes in its fullest ingress queue of a lossless class, as these |
/// | `rate` | of each flow, the rate that its congestion control allows now, in Gb/s; none of a flow that is not connected or a workload |
///
/// | metric | unit, range |
/// |---|---|
/// | `goodput_gbps.FLOW`, `.total` | Gb/s, 0 to that of the line |
/// | `messages.FLOW`, `.total` | messages that were completed |
/// | `message_latency_ns.FLOW.QUANTILE` | ns; none without a message that was completed |
/// | `wire_utilization.NODE.PORT` | part of the line's time, 0 to 1 |
/// | `pause_time_ns.NODE.CLASS`, `port_pause_time_ns.NODE.PORT` | ns in which a class, or a port summed over classes, could not be sent |
/// | `longest_pause_ns.NODE.CLASS` | ns of the longest pause; of one that began before the last look, what came since |
/// | `pause_frames_tx.NODE`, `pause_frames_rx.NODE`, `xoff_transitions.SWITCH`, `ecn_marked.SWITCH`, each with `.total` | frames and packets |
/// | `cnps_tx.HOST`, `cnps_rx`, `naks_tx`, `naks_rx`, `rnr_naks_tx`, `timeouts`, `request_packets`, `retransmitted_packets`, each with `.total` | packets; `timeouts` are expiries |
/// | `drops.NODE.REASON`, `.total`; `link_losses` | frames |
/// | `tcp_cpu_share.HOST`; `translation_hits.HOST`, `translation_misses.HOST`, `translation_stall_ns.HOST.CLASS` | of hosts that have it, as in results |
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The last look, or the start.
    pub from: Time,
    /// This look.
    pub until: Time,
    /// Figures by name.
    pub metrics: Metrics,
    /// Bytes that waited in the egress queues of each switch's fullest port.
    pub queue: BTreeMap<String, Interval>,
    /// Bytes in each switch's fullest ingress queue of a lossless class.
    pub ingress: BTreeMap<String, Interval>,
    /// The rate of each flow in Gb/s.
    pub rate: BTreeMap<String, f64>,
}

impl Measured {
    /// The length of the time that is measured.
    pub fn time(&self) -> Duration {
        self.until.saturating_since(self.from)
    }

    /// The value of a metric by its name, such as `pause_frames_tx.t0`. `None` if there is none.
    pub fn get(&self, name: &str) -> Option<f64> {
        let metric: Metric = name.parse().ok()?;
        self.metrics.get(&metric).copied()
    }

    /// The value of a metric of a node, 0 if there is none.
    pub fn of_node(&self, quantity: Quantity, node: &str) -> f64 {
        let metric = Metric::node(quantity, node);
        self.metrics.get(&metric).copied().unwrap_or(0.0)
    }

    /// The value of a metric of a port, 0 if there is none.
    pub fn of_port(&self, quantity: Quantity, node: &str, port: u16) -> f64 {
        let subject = Subject::Port(node.into(), port);
        let metric = Metric { quantity, subject };
        self.metrics.get(&metric).copied().unwrap_or(0.0)
    }
}

/// Measures from look to look. What it knows does not depend on when samples are taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Meter {
    from: Time,
    counts: Metrics,
    drops: Vec<u64>,
    lost: u64,
    credits: Credits,
    credited: Vec<u64>,
    /// For each flow, how many of its messages were completed.
    delivered: Vec<usize>,
}

impl Meter {
    /// Begins now.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let credits = Credits::new(simulation);
        let delivered = |flow| simulation.sender(flow).delivered().len();
        Self {
            from: simulation.now(),
            counts: counts(simulation),
            drops: dropped(simulation).iter().map(|drop| drop.frames).collect(),
            lost: lost_on_links(simulation).map(|(_, lost)| lost).sum(),
            credited: credits.bytes.clone(),
            credits,
            delivered: simulation.flows().iter().map(delivered).collect(),
        }
    }

    /// What was measured since the last call, with the fills of queues since then.
    pub(super) fn measure(&mut self, simulation: &Simulation, fills: &[[Interval; 2]]) -> Measured {
        let from = std::mem::replace(&mut self.from, simulation.now());
        let elapsed = simulation.now().saturating_since(from);
        let counted = counts(simulation);
        let mut metrics = counted.clone();
        since(&mut metrics, &self.counts, elapsed);
        self.counts = counted;
        metrics.extend(longest_pauses(simulation, from));
        self.flows(simulation, elapsed, &mut metrics);
        self.losses(simulation, &mut metrics);
        // No sum stands for what is not measured here.
        let known: BTreeSet<Quantity> = metrics.keys().map(|metric| metric.quantity).collect();
        let series = simulation.series().iter().filter(|series| series.probes);
        let probes: BTreeSet<&str> = series.map(|series| &*series.name).collect();
        add_totals(
            &mut metrics,
            |metric| matches!(&metric.subject, Subject::Flow(name) if probes.contains(&**name)),
        );
        metrics.retain(|metric, value| known.contains(&metric.quantity) && value.is_finite());
        let of = |which: usize| {
            let names = simulation.names().iter().zip(fills);
            let switches = names.zip(simulation.stations());
            let switches = switches.filter(|(_, (_, station))| station.switch().is_some());
            let fill =
                |((name, fill), _): ((&String, &[Interval; 2]), _)| (name.clone(), fill[which]);
            switches.map(fill).collect()
        };
        Measured {
            from,
            until: simulation.now(),
            metrics,
            queue: of(0),
            ingress: of(1),
            rate: rates(simulation),
        }
    }

    fn flows(&mut self, simulation: &Simulation, elapsed: Duration, metrics: &mut Metrics) {
        self.credits.credit(simulation);
        for series in simulation.series() {
            let name: Arc<str> = Arc::from(&*series.name);
            let (mut bytes, mut messages, mut latencies) = (0, 0, Vec::new());
            for flow in series.flows.clone() {
                bytes += self.credits.bytes[flow] - self.credited[flow];
                let delivered = simulation.sender(&simulation.flows()[flow]).delivered();
                let later = &delivered[self.delivered[flow]..];
                self.delivered[flow] = delivered.len();
                messages += later.len();
                latencies.extend(later.iter().map(|message| message.latency.as_ps()));
            }
            let gbps = bytes as f64 * 8e3 / elapsed.as_ps() as f64;
            for (quantity, value) in [
                (Quantity::GoodputGbps, gbps),
                (Quantity::Messages, messages as f64),
            ] {
                let subject = Subject::Flow(name.clone());
                metrics.insert(Metric { quantity, subject }, value);
            }
            metrics.extend(quantiles(Quantity::MessageLatencyNs, &name, latencies, 1e3));
        }
        self.credited.clone_from(&self.credits.bytes);
    }

    fn losses(&mut self, simulation: &Simulation, metrics: &mut Metrics) {
        for (drop, before) in dropped(simulation).into_iter().zip(&mut self.drops) {
            let node = Arc::from(&*simulation.names()[drop.node.0 as usize]);
            let metric = Metric {
                quantity: Quantity::Drops,
                subject: Subject::Reason(node, drop.reason),
            };
            metrics.insert(metric, (drop.frames - *before) as f64);
            *before = drop.frames;
        }
        let lost: u64 = lost_on_links(simulation).map(|(_, lost)| lost).sum();
        let later = lost - std::mem::replace(&mut self.lost, lost);
        metrics.insert(Metric::network(Quantity::LinkLosses), later as f64);
    }
}

/// The rate of each flow, in Gb/s.
fn rates(simulation: &Simulation) -> BTreeMap<String, f64> {
    let series = simulation.series().iter().filter(|series| !series.workload);
    let rate = |series: &crate::scenario::Series| {
        let flow = simulation.flows().get(series.flows.start)?;
        let station = simulation.network().node(flow.source);
        let (rate, _) = station.dcqcn(flow.source_qp())?;
        Some((series.name.clone(), rate / 1e9))
    };
    series.filter_map(rate).collect()
}
