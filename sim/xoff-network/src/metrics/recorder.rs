//! Measurement while a simulation runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::NodeId;
use xoff_sim::link::FaultInjector;
use xoff_sim::nic_registers as reg;
use xoff_sim::switch::Level;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::PRIORITIES;

use super::credit::Credits;
use super::fills::Fills;
use super::measure::{self, Metrics};
use super::windows::{Windows, wire_times};
use super::{Metric, Quantity};
use crate::audit::Auditor;
use crate::detect::{Detector, LinkClass, Thresholds};
use crate::onboarding::Gatekeeper;
use crate::scenario::{Checked, Onboarding, Series, Watch};
use crate::watch::ServerWatch;
use crate::{FlowEnds, Simulation, Station};

/// What a value was in the interval that ends at a sample. Least and greatest of a rate are those of windows of a fixed
/// length that ended in the interval: not numbers if none did.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The least.
    pub least: f64,
    /// The mean over time.
    pub mean: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Interval {
    fn of_rate(mean: f64, (least, greatest): (f64, f64)) -> Self {
        Self {
            least,
            mean,
            greatest,
        }
    }
}

impl From<Level> for Interval {
    fn from(level: Level) -> Self {
        Self {
            least: level.least as f64,
            mean: level.mean,
            greatest: level.greatest as f64,
        }
    }
}

/// Packets of the whole network: since the start, or since the previous sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Frames that nodes dropped or that links lost.
    pub drops: u64,
    /// Request packets that NICs sent again.
    pub resent: u64,
    /// Packets that switches marked "congestion experienced".
    pub marked: u64,
    /// CNPs that NICs sent.
    pub cnps: u64,
}

impl Tally {
    /// What was counted until now.
    fn of(simulation: &Simulation) -> Self {
        let mut tally = Self {
            drops: dropped(simulation).iter().sum(),
            ..Self::default()
        };
        for (node, station) in simulation.stations() {
            if let Some(nic) = station.nic_counters() {
                // What was withdrawn before it left is granted again.
                tally.resent += nic
                    .get(reg::RESENT_OUT)
                    .saturating_sub(nic.get(reg::WITHDRAWN));
                tally.cnps += nic.get(reg::CNPS_OUT);
            }
            if let Some(switch) = station.switch() {
                let marked = simulation
                    .ports(node)
                    .map(|port| switch.counters(port).marked);
                tally.marked += marked.map(|marked| marked.iter().sum::<u64>()).sum::<u64>();
            }
        }
        tally
    }

    fn since(self, before: Self) -> Self {
        Self {
            drops: self.drops - before.drops,
            resent: self.resent.saturating_sub(before.resent),
            marked: self.marked - before.marked,
            cnps: self.cnps - before.cnps,
        }
    }
}

/// Values over time: each series has one value for each instant in [`at_ns`](Self::at_ns).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// When the samples were taken, in nanoseconds.
    pub at_ns: Vec<u64>,
    /// Goodput of each [series](Simulation::series) since the previous sample, in bits a second; never above the line
    /// rate.
    pub goodput: Vec<Vec<Interval>>,
    /// For each node, the part of the time since the previous sample in which frames held the line of its port 0, in
    /// per cent. A frame that spans two samples counts in both, split exactly. Empty for switches.
    pub wire: Vec<Vec<Interval>>,
    /// For each node, bytes waiting in the egress queues of its fullest port since the previous sample. Empty for
    /// hosts.
    pub queue: Vec<Vec<Interval>>,
    /// For each node, bytes that the fullest ingress queue of a lossless class held since the previous sample. Empty
    /// for hosts.
    pub ingress: Vec<Vec<Interval>>,
    /// For each node, the least fill at which such a queue would pause its peer. Empty for hosts, and for switches
    /// without lossless classes.
    pub xoff: Vec<Vec<f64>>,
    /// For each series, the rate that DCQCN allows, in bits a second; NaN while there is none, and of a workload.
    pub rate: Vec<Vec<f64>>,
    /// For each series, DCQCN's α, 0 to 1; NaN while there is none, and of a workload.
    pub alpha: Vec<Vec<f64>>,
    /// For each node, frames that it dropped since the previous sample, and that were lost on links that it sends to.
    pub drops: Vec<Vec<u64>>,
    /// What happened in the whole network since the previous sample: see [`Tally`].
    pub tallies: Vec<Tally>,
    /// For each link and class that pauses have stopped, the part of the time since the previous sample for which they
    /// did, in per cent.
    pub paused: BTreeMap<LinkClass, Vec<Interval>>,
}

/// Measures a simulation: metrics of a window, and samples over time.
///
/// The window starts when the recorder is created by [`new`](Self::new); [`begin`](Self::begin) restarts it. In
/// serialized form it is a checkpoint, together with that of its simulation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorder {
    samples: Samples,
    /// Counters at the start of the window (`before`), and the time of that start (`from`).
    before: Metrics,
    from: Time,
    /// Bytes credited to each flow: until now, until the start of the window (`credited_before`), and until the last
    /// sample (`credited_last`).
    credits: Credits,
    credited_before: Vec<u64>,
    credited_last: Vec<u64>,
    windows: Windows,
    sampled_at: Time,
    /// Until when switches have said how full they were, and for whom that is kept.
    filled_at: Time,
    fills: Fills,
    steered: Option<Fills>,
    wire: Vec<Duration>,
    /// For each switch and class, the bytes in the longest egress queue at each sample of the window.
    queues: BTreeMap<NodeId, [Vec<u64>; PRIORITIES]>,
    detector: Detector,
    /// Frames that each node dropped, as in [`Samples::drops`], until the last sample.
    dropped: Vec<u64>,
    /// What was counted until the last sample.
    tallied: Tally,
    /// Pause time of each link until the last sample.
    paused: BTreeMap<LinkClass, Duration>,
    watch: Option<ServerWatch>,
    auditor: Option<Auditor>,
    gatekeeper: Option<Gatekeeper>,
}

impl Recorder {
    /// Creates a recorder whose window starts now, with the default thresholds of detectors.
    pub fn new(simulation: &Simulation) -> Self {
        Self::with(simulation, Thresholds::default())
    }

    /// When the measured window began.
    pub const fn from(&self) -> Time {
        self.from
    }

    /// Creates a recorder whose window starts now. From the `thresholds` on pauses are reported.
    pub fn with(simulation: &Simulation, thresholds: Thresholds) -> Self {
        let nodes = simulation.names().len();
        let series = simulation.series().len();
        let credits = Credits::new(simulation);
        Self {
            samples: Samples {
                at_ns: Vec::new(),
                goodput: vec![Vec::new(); series],
                wire: vec![Vec::new(); nodes],
                queue: vec![Vec::new(); nodes],
                ingress: vec![Vec::new(); nodes],
                xoff: vec![Vec::new(); nodes],
                rate: vec![Vec::new(); series],
                alpha: vec![Vec::new(); series],
                drops: vec![Vec::new(); nodes],
                tallies: Vec::new(),
                paused: BTreeMap::new(),
            },
            before: measure::counts(simulation),
            from: simulation.now(),
            credited_before: credits.bytes.clone(),
            credited_last: credits.bytes.clone(),
            credits,
            windows: Windows::new(simulation),
            sampled_at: simulation.now(),
            filled_at: simulation.now(),
            fills: Fills::default(),
            steered: None,
            wire: wire_times(simulation),
            queues: BTreeMap::new(),
            detector: Detector::new(simulation, thresholds),
            dropped: dropped(simulation),
            tallied: Tally::of(simulation),
            paused: BTreeMap::new(),
            watch: None,
            auditor: None,
            gatekeeper: None,
        }
    }

    /// Watches the servers from now on.
    #[must_use]
    pub fn watching(mut self, simulation: &Simulation, settings: Option<Watch>) -> Self {
        self.watch = settings.map(|settings| ServerWatch::new(simulation, settings));
        self
    }

    /// Audits the configuration of a scenario from now on, at every sample.
    #[must_use]
    pub fn auditing(mut self, simulation: &Simulation, scenario: &Checked) -> Self {
        let wanted = scenario.audit.clone();
        self.auditor = wanted.map(|wanted| Auditor::new(simulation, scenario, wanted));
        self
    }

    /// The audit, if there is one.
    pub const fn auditor(&self) -> Option<&Auditor> {
        self.auditor.as_ref()
    }

    /// Lets flows in stage by stage from now on. The audit and the watch have begun before.
    pub fn onboard(&mut self, simulation: &mut Simulation, settings: Onboarding) {
        self.gatekeeper = Some(Gatekeeper::new(simulation, self, settings));
    }

    /// The stages in which flows are let in, if there are any.
    pub const fn gatekeeper(&self) -> Option<&Gatekeeper> {
        self.gatekeeper.as_ref()
    }

    /// Judges the stage that runs now.
    pub fn judge_stage(&mut self, simulation: &mut Simulation) {
        if let Some(mut gatekeeper) = self.gatekeeper.take() {
            gatekeeper.judge(simulation, self);
            self.gatekeeper = Some(gatekeeper);
        }
    }

    /// The watch over servers, if there is one.
    pub const fn watch(&self) -> Option<&ServerWatch> {
        self.watch.as_ref()
    }

    /// Ends the interval of the watch over servers now.
    pub fn end_interval(&mut self, simulation: &Simulation) {
        if let Some(watch) = &mut self.watch {
            watch.end_interval(simulation);
        }
    }

    /// From now on also keeps how full switches are for a policy.
    pub(crate) fn keep_for_policy(&mut self) {
        self.steered = Some(Fills::default());
    }

    /// For each node the fills of its egress and ingress queues, as in [`Samples::queue`] and [`Samples::ingress`],
    /// since the last call.
    pub(crate) fn take_fills(&mut self, simulation: &mut Simulation) -> Vec<[Interval; 2]> {
        self.fill(simulation);
        let fills = self.steered.as_mut().map_or(Vec::new(), Fills::take);
        fills.into_iter().map(|it| it.map(Interval::from)).collect()
    }

    /// Has switches say how full they were until now.
    fn fill(&mut self, simulation: &mut Simulation) {
        let now = simulation.now();
        let time = now.saturating_since(self.filled_at);
        if time == Duration::ZERO {
            return;
        }
        self.filled_at = now;
        let levels = simulation.take_levels();
        self.fills.add(&levels, time);
        if let Some(steered) = &mut self.steered {
            steered.add(&levels, time);
        }
    }

    /// Restarts the measured window now.
    pub fn begin(&mut self, simulation: &Simulation) {
        self.credits.credit(simulation);
        self.before = measure::counts(simulation);
        self.from = simulation.now();
        self.queues.clear();
        self.detector.begin(simulation);
        self.credited_before.clone_from(&self.credits.bytes);
    }

    /// Ends a window of rates now: the least and the greatest of a sample's goodput and pauses are those of the windows
    /// that ended since the sample before.
    pub fn end_window(&mut self, simulation: &Simulation) {
        self.windows.end(simulation);
    }

    /// Takes a sample now. Does nothing when no time has passed since the last sample.
    pub fn sample(&mut self, simulation: &mut Simulation) {
        let now = simulation.now();
        let elapsed = now.saturating_since(self.sampled_at);
        if elapsed == Duration::ZERO {
            return;
        }
        self.fill(simulation);
        let levels = self.fills.take();
        let simulation = &*simulation;
        self.credits.credit(simulation);
        self.detector.observe(simulation);
        if let Some(auditor) = &mut self.auditor {
            auditor.look(simulation);
        }
        self.sampled_at = now;
        let ps = elapsed.as_ps() as f64;
        let samples = &mut self.samples;
        samples.at_ns.push(now.as_ps() / 1_000);
        let [goodput, held] = self.windows.take();
        for (place, series) in simulation.series().iter().enumerate() {
            let bytes = |flow: usize| self.credits.bytes[flow] - self.credited_last[flow];
            let bytes: u64 = series.flows.clone().map(bytes).sum();
            let goodput = Interval::of_rate(bytes as f64 * 8e12 / ps, goodput[place]);
            samples.goodput[place].push(goodput);
            let flow = (simulation.flows().get(series.flows.start)).filter(|_| !series.workload);
            let dcqcn = flow.and_then(|flow| {
                let station = simulation.network().node(flow.source);
                station.dcqcn(flow.source_qp())
            });
            let (rate, alpha) = dcqcn.unwrap_or((f64::NAN, f64::NAN));
            samples.rate[place].push(rate);
            samples.alpha[place].push(alpha);
        }
        self.credited_last.clone_from(&self.credits.bytes);
        let wire = wire_times(simulation);
        for (node, station) in simulation.stations() {
            let place = node.0 as usize;
            if let Some(switch) = station.switch() {
                let mut longest = [0; PRIORITIES];
                let lossless = || (0..8).filter(|class| switch.buffer().lossless(*class));
                for port in simulation.ports(node) {
                    let waiting = |class| switch.egress_waiting(port, class as u8);
                    let waiting: [u64; PRIORITIES] = std::array::from_fn(waiting);
                    for (longest, waiting) in longest.iter_mut().zip(waiting) {
                        *longest = waiting.max(*longest);
                    }
                }
                let [waiting, ingress] = levels[place].map(Interval::from);
                samples.queue[place].push(waiting);
                samples.ingress[place].push(ingress);
                let limits = lossless().map(|class| switch.buffer().xoff_at(class));
                samples.xoff[place].extend(limits.min().map(|limit| limit as f64));
                let queues = self.queues.entry(node).or_default();
                for (lengths, longest) in queues.iter_mut().zip(longest) {
                    lengths.push(longest);
                }
            } else {
                // A frame that waits behind one from outside is counted before it is on the wire.
                let part = (wire[place].as_ps()).saturating_sub(self.wire[place].as_ps());
                let part = 100.0 * part as f64 / ps;
                samples.wire[place].push(Interval::of_rate(part, held[place]));
            }
        }
        self.wire = wire;
        let dropped = dropped(simulation);
        for ((series, now), before) in samples.drops.iter_mut().zip(&dropped).zip(&self.dropped) {
            series.push(now - before);
        }
        self.dropped = dropped;
        let tally = Tally::of(simulation);
        samples.tallies.push(tally.since(self.tallied));
        self.tallied = tally;
        for (link, pauses) in self.detector.pauses() {
            let before = self.paused.insert(link, pauses.total);
            let paused = pauses.total.as_ps() - before.unwrap_or(Duration::ZERO).as_ps();
            let series = samples.paused.entry(link).or_default();
            // The link was not stopped before.
            series.resize(samples.at_ns.len() - 1, Interval::default());
            let range = self.windows.take_paused(link);
            series.push(Interval::of_rate(100.0 * paused as f64 / ps, range));
        }
    }

    /// All metrics of the window from its start until now.
    pub fn metrics(&mut self, simulation: &Simulation) -> Metrics {
        self.credits.credit(simulation);
        let elapsed = simulation.now().saturating_since(self.from);
        let bytes = |flow: usize| self.credits.bytes[flow] - self.credited_before[flow];
        let gbps = |series: &Series| {
            let bytes: u64 = series.flows.clone().map(bytes).sum();
            bytes as f64 * 8.0 * 1e3 / elapsed.as_ps() as f64
        };
        let goodput: Vec<f64> = simulation.series().iter().map(gbps).collect();
        let mut metrics = measure::metrics(simulation, &self.before, self.from, &goodput);
        metrics.extend(measure::detected(&self.detector));
        let faults = self.detector.probed(simulation).len();
        metrics.insert(Metric::network(Quantity::PingmeshFaults), faults as f64);
        let (alarms, unavailable) = self.watch.as_ref().map_or((0, 0), ServerWatch::worst);
        metrics.insert(Metric::network(Quantity::ServerAlarms), alarms as f64);
        metrics.insert(
            Metric::network(Quantity::ServersUnavailable),
            unavailable as f64,
        );
        let differences = self
            .auditor
            .as_ref()
            .map_or(0, |auditor| auditor.differences().count());
        let stages = self.gatekeeper.as_ref().map_or(0, Gatekeeper::begun);
        for (quantity, count) in [
            (Quantity::AuditDifferences, differences),
            (Quantity::StagesBegun, stages),
        ] {
            metrics.insert(Metric::network(quantity), count as f64);
        }
        let none = Default::default();
        let switches = (simulation.stations()).filter(|(_, station)| station.switch().is_some());
        for (node, _) in switches {
            let lengths = self.queues.get(&node).unwrap_or(&none);
            metrics.extend(measure::queues(
                &simulation.names()[node.0 as usize],
                lengths,
            ));
        }
        metrics
    }

    /// The flows that have messages under way and to which nothing was delivered in the window.
    pub fn standing(&self, simulation: &Simulation) -> Vec<usize> {
        let flows = simulation.flows().iter().enumerate();
        let stands = |(place, flow): &(usize, &FlowEnds)| {
            let delivered = self.credits.bytes[*place] > self.credited_before[*place];
            !delivered && simulation.sender(flow).open() > 0
        };
        flows.filter(stands).map(|(place, _)| place).collect()
    }

    /// When a node began to drop frames: the start of the sampled interval in which it did first, in nanoseconds.
    pub fn drops_from(&self, node: NodeId) -> Option<u64> {
        let first = (self.samples.drops[node.0 as usize].iter()).position(|frames| *frames > 0)?;
        Some(
            first
                .checked_sub(1)
                .map_or(0, |before| self.samples.at_ns[before]),
        )
    }

    /// What the detectors have seen, until the last sample.
    pub const fn detector(&self) -> &Detector {
        &self.detector
    }

    /// The samples taken so far.
    pub const fn samples(&self) -> &Samples {
        &self.samples
    }
}

/// Frames that each node dropped, and that were lost on links that it sends to.
fn dropped(simulation: &Simulation) -> Vec<u64> {
    let network = simulation.network();
    let of = |(node, station): (NodeId, &Station)| {
        let lost = simulation.ports(node).map(|port| {
            let on_link = network.faults(node, port).map_or(0, FaultInjector::lost);
            let here = station
                .switch()
                .map(|switch| switch.counters(port).dropped_in_all());
            on_link + here.unwrap_or(0)
        });
        lost.sum()
    };
    simulation.stations().map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metrics::{Metric, Quantity, names};
    use crate::scenario::{Clos, FlowSettings, NicKind, Scenario};
    use crate::testing::to_the_end;
    use xoff_sim::kernel::PortId;
    use xoff_sim::time::{ByteCount, Length};

    /// Two senders and a receiver at a switch.
    fn scenario(message: u64) -> Scenario {
        let cable = Length::from_m(2);
        let mut scenario = Scenario::new("two to one", Duration::from_us(100));
        for host in ["a", "b", "r"] {
            scenario = scenario.host(host).link(host, "s", cable);
        }
        scenario.host.nic = NicKind::Model;
        for from in ["a", "b"] {
            let mut flow = FlowSettings::new(from, from, "r");
            flow.message = ByteCount::new(message);
            scenario = scenario.flow(flow);
        }
        scenario.switch("s")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// For any window and any sampling: no receiver gets more than its line carries, no port is busy for longer
        /// than the time that passes, and the samples add up to the whole.
        #[test]
        fn no_figure_is_above_the_line(
            message in 1_u64..200_000,
            steps in prop::collection::vec(1_u64..3_000_000, 1..60),
            begin in 0_usize..20,
        ) {
            let mut simulation = Simulation::new(&scenario(message).checked().unwrap()).unwrap();
            let mut recorder = Recorder::new(&simulation);
            for (place, step) in steps.iter().enumerate() {
                let until = simulation.now() + Duration::from_ps(*step);
                simulation.run_until(until).unwrap();
                if place == begin {
                    recorder.begin(&simulation);
                }
                recorder.sample(&mut simulation);
            }
            let samples = recorder.samples().clone();
            let total: Vec<f64> = (0..steps.len()).map(|i| samples.goodput.iter().map(|flow| flow[i].mean).sum()).collect();
            prop_assert!(total.iter().all(|rate| *rate <= 40e9), "{:?}", total);
            let busy: Vec<f64> = samples.wire.iter().flatten().map(|busy| busy.mean).collect();
            prop_assert!(busy.iter().all(|part| (0.0..=100.0).contains(part)), "{:?}", busy);
            for (node, wire) in samples.wire.iter().enumerate().take(3) {
                let parts = wire.iter().zip(&steps).map(|(busy, step)| busy.mean / 100.0 * *step as f64);
                let held = simulation.network().wire_time(NodeId(node as u32), PortId(0)).as_ps() as f64;
                let sum: f64 = parts.sum();
                prop_assert!((sum - held).abs() < 1.0, "{} {}", sum, held);
            }
            let metrics = recorder.metrics(&simulation);
            if begin + 1 < steps.len() {
                prop_assert!(metrics[&Metric::total(Quantity::GoodputGbps)] <= 40.0);
            }
            for (metric, value) in &metrics {
                if metric.quantity == Quantity::WireUtilization && value.is_finite() {
                    prop_assert!((0.0..=1.0).contains(value), "{} {}", metric, value);
                }
            }
        }
    }

    /// Regression test with two messages that complete at the same instant: when the rate was taken over the time
    /// between completions, it was 1,034 Gb/s.
    #[test]
    fn goodput_is_over_the_window() {
        let mut scenario = scenario(4096);
        for flow in &mut scenario.flows {
            flow.count = Some(1);
        }
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        to_the_end(&mut simulation, &scenario);
        let metrics = recorder.metrics(&simulation);
        let bits = 2.0 * 4096.0 * 8.0;
        assert_eq!(metrics[&Metric::total(Quantity::GoodputGbps)], bits / 1e5);
        assert_eq!(metrics[&Metric::total(Quantity::Messages)], 2.0);
    }

    #[test]
    fn names_are_those_of_what_is_measured() {
        let clos = Clos {
            podsets: 2,
            tors: 2,
            hosts: 2,
            leafs: 2,
            spines: 4,
            ..Clos::PAPER
        };
        for scenario in [scenario(100), clos.scenario(1, Duration::from_us(20))] {
            let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
            let mut recorder = Recorder::new(&simulation);
            for _ in 0..2 {
                let measured: Vec<Metric> = recorder.metrics(&simulation).into_keys().collect();
                let known: Vec<Metric> = names(&scenario.checked().unwrap()).into_iter().collect();
                assert_eq!(measured, known);
                to_the_end(&mut simulation, &scenario);
            }
        }
    }

    /// 384 hosts, 120 switches and 3,072 flows: the network is built in a fraction of a second, and data of every
    /// flow arrives.
    #[test]
    fn a_large_network_is_built_at_once() {
        let scenario = Clos::PAPER.scenario(8, Duration::from_us(15));
        let started = std::time::Instant::now();
        let names = names(&scenario.checked().unwrap()).len();
        let named = started.elapsed();
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        let built = started.elapsed();
        println!("{names} names in {named:?}, built in {built:?}");
        assert_eq!(
            (simulation.names().len(), simulation.flows().len()),
            (504, 3_072)
        );
        // Takes half a second with optimized code on a machine that is not loaded; computing routes alone once took
        // 22 s.
        assert!(built.as_secs() < 5, "{built:?}");
        to_the_end(&mut simulation, &scenario);
        let arrived = (simulation.flows().iter()).filter(|flow| simulation.fresh_bytes(flow) > 0);
        assert!(arrived.count() > 300);
    }
}
