//! Reads metrics from a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::link::FaultInjector;
use xoff_sim::nic_registers::{self as reg, COUNTERS};
use xoff_sim::switch::{DropReason, PortCounters};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::PRIORITIES;

use super::jobs;
use super::key::{Metric, Quantile, Quantity, Scope, Subject};
use crate::detect::Detector;
use crate::plan::{Plan, bits_per_second};
use crate::scenario::{Checked, Job, Series};
use crate::{Endpoint, Simulation, Station};

/// Values of metrics. A value that is undefined, such as the latency when no message completed, is NaN.
pub type Metrics = BTreeMap<Metric, f64>;

/// Frames that a node dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The node.
    pub node: NodeId,
    /// The reason, as in [`Subject::Reason`].
    pub reason: Arc<str>,
    /// Number of frames dropped since the start.
    pub frames: u64,
}

/// The reasons for which a NIC's receive MAC drops frames.
const MAC_REASONS: [&str; 4] = ["bad_fcs", "runt", "giant", "mac_overflow"];
/// Prefix of the names in [`COUNTERS`] that count dropped frames.
const DROP_PREFIX: &str = "drop_";

/// The reasons for which a host or a switch drops frames.
fn reasons(host: bool) -> Vec<Arc<str>> {
    if host {
        let nic = COUNTERS
            .iter()
            .filter_map(|counter| counter.name.strip_prefix(DROP_PREFIX));
        MAC_REASONS.into_iter().chain(nic).map(Arc::from).collect()
    } else {
        DropReason::ALL
            .map(|reason| Arc::from(reason.name()))
            .into()
    }
}

/// Frames that a station dropped, one count per reason, in the order of [`reasons`].
fn drop_counts(simulation: &Simulation, node: NodeId, station: &Station) -> Vec<u64> {
    if let Some(switch) = station.switch() {
        let count = |reason| {
            let ports = simulation.ports(node);
            ports
                .map(|port| switch.counters(port).dropped_for(reason))
                .sum()
        };
        return DropReason::ALL.map(count).into();
    }
    let mac = station.mac_counters().unwrap_or_default();
    let nic = COUNTERS
        .iter()
        .filter(|counter| counter.name.starts_with(DROP_PREFIX))
        .map(|counter| (station.nic_counters()).map_or(0, |nic| nic.get(counter.address)));
    [mac.bad_fcs, mac.runts, mac.giants, mac.overflows]
        .into_iter()
        .chain(nic)
        .collect()
}

/// Drops of all nodes, with one entry per node for each reason that it can have.
pub fn dropped(simulation: &Simulation) -> Vec<Dropped> {
    let [switch, host] = [false, true].map(reasons);
    let of = |(node, station): (NodeId, &Station)| {
        let reasons = if station.host().is_some() {
            &host
        } else {
            &switch
        };
        let counts = drop_counts(simulation, node, station);
        let drop = move |(reason, frames): (&Arc<str>, u64)| Dropped {
            node,
            reason: reason.clone(),
            frames,
        };
        reasons.iter().zip(counts).map(drop).collect::<Vec<_>>()
    };
    simulation.stations().flat_map(of).collect()
}

/// Frames that links lost since the start, for each port that sends into one: by fault rules, and because the link was
/// down or the host at its end dead.
pub fn lost_on_links(
    simulation: &Simulation,
) -> impl Iterator<Item = ((NodeId, PortId), u64)> + '_ {
    let ports = simulation.all_ports().into_iter();
    ports.map(|(node, port)| {
        let faults = simulation.network().faults(node, port);
        ((node, port), faults.map_or(0, FaultInjector::lost))
    })
}

/// The names of all metrics of a scenario. Does not build the network.
pub fn names(scenario: &Checked) -> BTreeSet<Metric> {
    let plan = Plan::new(scenario);
    let (flows, series) = scenario.connections();
    let (_, jobs) = scenario.gates(&flows);
    names_of(
        &plan,
        [&scenario.tcp_hosts(), &scenario.translating_hosts()],
        &series,
        &jobs,
    )
}

/// `own` are the hosts with TCP, and those that translate addresses.
fn names_of(
    plan: &Plan,
    own: [&BTreeSet<String>; 2],
    series: &[Series],
    jobs: &[Job],
) -> BTreeSet<Metric> {
    let each = |names: &[Arc<str>], subject: fn(Arc<str>) -> Subject| -> Vec<Subject> {
        names.iter().cloned().map(subject).collect()
    };
    let quantiles = |names: &[Arc<str>]| -> Vec<Subject> {
        let of = |name: &Arc<str>| Quantile::ALL.map(|it| Subject::Quantile(name.clone(), it));
        names.iter().flat_map(of).collect()
    };
    let classes = |names: &[Arc<str>]| -> Vec<Subject> {
        let of = |name: &Arc<str>| {
            std::array::from_fn::<_, 8, _>(|class| Subject::Class(name.clone(), class as u8))
        };
        names.iter().flat_map(of).collect()
    };
    let nodes: Vec<Arc<str>> = plan.names.iter().map(|name| Arc::from(&**name)).collect();
    let (hosts, switches) = nodes.split_at(plan.hosts);
    let [tcp, translating] =
        own.map(|names| -> Vec<Arc<str>> { names.iter().map(|name| Arc::from(&**name)).collect() });
    let named = |series: &Series| Arc::from(&*series.name);
    let flows: Vec<Arc<str>> = series.iter().map(named).collect();
    let workloads = series.iter().filter(|series| series.workload);
    let workloads: Vec<Arc<str>> = workloads.map(named).collect();
    let jobs: Vec<Arc<str>> = jobs.iter().map(|job| Arc::from(&*job.name)).collect();
    let [switch_reasons, host_reasons] = [false, true].map(reasons);
    let subjects = |scope| match scope {
        Scope::Network => vec![Subject::Network],
        Scope::Flow => each(&flows, Subject::Flow),
        Scope::Workload => each(&workloads, Subject::Flow),
        Scope::Job => each(&jobs, Subject::Flow),
        Scope::Quantile => quantiles(&flows),
        Scope::WorkloadQuantile => quantiles(&workloads),
        Scope::JobQuantile => quantiles(&jobs),
        Scope::TcpHost => each(&tcp, Subject::Node),
        Scope::TranslatingHost => each(&translating, Subject::Node),
        Scope::TranslatingClass => classes(&translating),
        Scope::Host => each(hosts, Subject::Node),
        Scope::Switch => each(switches, Subject::Node),
        Scope::Node => each(&nodes, Subject::Node),
        Scope::Class => classes(&nodes),
        Scope::SwitchClass => classes(switches),
        Scope::SwitchClassQuantile => (switches.iter())
            .flat_map(|node| (0..8).map(move |class| (node, class)))
            .flat_map(|(node, class)| {
                Quantile::ALL.map(|it| Subject::ClassQuantile(node.clone(), class, it))
            })
            .collect(),
        Scope::Port => (nodes.iter().zip(&plan.ports))
            .flat_map(|(node, ports)| (0..*ports).map(|port| Subject::Port(node.clone(), port)))
            .collect(),
        Scope::Tier => {
            let group = |node: NodeId| plan.groups[node.0 as usize].as_deref();
            (plan.cables.iter())
                .filter_map(|[(a, _), (b, _)]| Some((group(*a)?, group(*b)?)))
                .flat_map(|(a, b)| [(a, b), (b, a)])
                .map(|(from, to)| Subject::Tier(from.into(), to.into()))
                .collect()
        }
        Scope::Reason => {
            let of_hosts = hosts.iter().map(|host| (host, &host_reasons));
            let of_switches = switches.iter().map(|switch| (switch, &switch_reasons));
            (of_hosts.chain(of_switches))
                .flat_map(|(node, reasons)| {
                    (reasons.iter()).map(|reason| Subject::Reason(node.clone(), reason.clone()))
                })
                .collect()
        }
    };
    let mut names = BTreeSet::new();
    for &quantity in Quantity::ALL {
        let total = quantity.has_total().then_some(Subject::Total);
        let subjects = subjects(quantity.scope()).into_iter().chain(total);
        names.extend(subjects.map(|subject| Metric { quantity, subject }));
    }
    names
}

/// The NIC register that counts a quantity, if there is one.
const fn register(quantity: Quantity) -> Option<u16> {
    Some(match quantity {
        Quantity::CnpsTx => reg::CNPS_OUT,
        Quantity::CnpsRx => reg::CNPS_IN,
        Quantity::NaksTx => reg::NAKS_OUT,
        Quantity::NaksRx => reg::NAKS_IN,
        Quantity::RnrNaksTx => reg::RNR_NAKS_OUT,
        Quantity::Timeouts => reg::TIMEOUTS,
        _ => return None,
    })
}

/// Cycles of all RTL NICs until now, and how many of them were evaluated.
pub fn nic_cycles(simulation: &Simulation) -> (u64, u64) {
    let rtl = simulation
        .stations()
        .filter_map(|(_, station)| station.clocked());
    let now = simulation.now();
    let both = rtl.map(|nic| (nic.cycles(now), nic.cycles_evaluated()));
    both.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// The current values of all counters that grow with time. The count of a window is the difference of two such
/// readings.
pub(crate) fn counts(simulation: &Simulation) -> Metrics {
    let mut counts = Metrics::new();
    for (node, station) in simulation.stations() {
        let name: Arc<str> = Arc::from(&*simulation.names()[node.0 as usize]);
        let mut add = |quantity, subject, value: f64| {
            counts.insert(Metric { quantity, subject }, value);
        };
        for port in simulation.ports(node) {
            let held = simulation.network().wire_time(node, port);
            let subject = Subject::Port(name.clone(), port.0);
            add(Quantity::WireUtilization, subject, held.as_ps() as f64);
        }
        for port in simulation.ports(node) {
            let time = station.port_pause_time(port, simulation.now());
            let subject = Subject::Port(name.clone(), port.0);
            add(
                Quantity::PortPauseTimeNs,
                subject,
                time.as_ps() as f64 / 1e3,
            );
        }
        for (class, time) in (0..).zip(station.pause_times(simulation.now())) {
            let ns = time.as_ps() as f64 / 1e3;
            add(
                Quantity::PauseTimeNs,
                Subject::Class(name.clone(), class),
                ns,
            );
        }
        if let Some(nic) = station.nic_counters() {
            let mut host = |quantity, count| add(quantity, Subject::Node(name.clone()), count);
            for &quantity in Quantity::ALL {
                if let Some(register) = register(quantity) {
                    host(quantity, nic.get(register) as f64);
                }
            }
            let storm = simulation.network().injection(node, PortId(0));
            let storm = storm.map_or(0, |injection| injection.counters().of_port);
            let pauses = nic.get(reg::PFC_OUT) + storm;
            host(Quantity::PauseFramesTx, pauses as f64);
            // The NIC counts packets when it grants them. One that was withdrawn before it left, and granted again, was
            // sent once.
            let count = |register| nic.get(register) as f64;
            let sent = count(reg::REQUESTS_OUT) - count(reg::WITHDRAWN);
            host(Quantity::RequestPackets, sent);
            let again = count(reg::RESENT_OUT) - count(reg::WITHDRAWN);
            host(Quantity::RetransmittedPackets, again);
            let pauses = count(reg::PFC_IN) + count(reg::PAUSE_IN);
            host(Quantity::PauseFramesRx, pauses);
        }
        let cpu = station.endpoint().and_then(Endpoint::processor_time);
        if let Some(cpu) = cpu {
            let each = cpu.busy.as_ps() as f64 / f64::from(cpu.cores);
            add(Quantity::TcpCpuShare, Subject::Node(name.clone()), each);
        }
        if let Some(cost) = station.endpoint().and_then(Endpoint::translation) {
            let host = || Subject::Node(name.clone());
            add(Quantity::TranslationHits, host(), cost.hits as f64);
            add(Quantity::TranslationMisses, host(), cost.misses as f64);
            for (class, time) in (0..).zip(cost.stalled) {
                let subject = Subject::Class(name.clone(), class);
                add(
                    Quantity::TranslationStallNs,
                    subject,
                    time.as_ps() as f64 / 1e3,
                );
            }
        }
        if let Some(switch) = station.switch() {
            let ports = || simulation.ports(node).map(|port| switch.counters(port));
            let pauses: u64 = ports().map(|port| port.pauses_sent).sum();
            let marked: u64 = ports().map(|port| port.marked.iter().sum::<u64>()).sum();
            let received: u64 = ports().map(|port| port.pauses_received).sum();
            let xoff: u64 = ports().map(|port| port.xoff.iter().sum::<u64>()).sum();
            for (quantity, count) in [
                (Quantity::PauseFramesTx, pauses),
                (Quantity::PauseFramesRx, received),
                (Quantity::XoffTransitions, xoff),
                (Quantity::EcnMarked, marked),
            ] {
                add(quantity, Subject::Node(name.clone()), count as f64);
            }
        }
    }
    counts
}

/// The longest pause of each class of each node from `from` until now. Of one that began before, the part since then.
pub(crate) fn longest_pauses(simulation: &Simulation, from: Time) -> Metrics {
    let quantity = Quantity::LongestPauseNs;
    let mut metrics = Metrics::new();
    for (node, station) in simulation.stations() {
        let name: Arc<str> = Arc::from(&*simulation.names()[node.0 as usize]);
        for (class, time) in (0..).zip(station.longest_pauses(from, simulation.now())) {
            let subject = Subject::Class(name.clone(), class);
            metrics.insert(Metric { quantity, subject }, time.as_ps() as f64 / 1e3);
        }
    }
    metrics
}

/// For each pair of groups of switches with links from one to the other, the part of what these links could carry that
/// was on them, given the utilization of each port.
fn tiers(simulation: &Simulation, ports: &Metrics) -> Metrics {
    // Wire bytes a second, and those that the lines carry.
    let mut sums = BTreeMap::<(&str, &str), (f64, f64)>::new();
    for (node, _) in simulation.stations() {
        let Some(from) = simulation.group(node) else {
            continue;
        };
        let name: Arc<str> = Arc::from(&*simulation.names()[node.0 as usize]);
        for port in simulation.ports(node) {
            let peer = simulation.network().peer(node, port);
            let Some(to) = peer.and_then(|(peer, _)| simulation.group(peer)) else {
                continue;
            };
            let used = &ports[&Metric {
                quantity: Quantity::WireUtilization,
                subject: Subject::Port(name.clone(), port.0),
            }];
            let line = bits_per_second(simulation.line_rate(node, port));
            let sum = sums.entry((from, to)).or_default();
            *sum = (sum.0 + used * line, sum.1 + line);
        }
    }
    let tier = |((from, to), (used, line)): ((&str, &str), (f64, f64))| {
        let metric = Metric {
            quantity: Quantity::TierUtilization,
            subject: Subject::Tier(from.into(), to.into()),
        };
        (metric, used / line)
    };
    sums.into_iter().map(tier).collect()
}

/// What is counted since the start, and levels: peaks, and what is there now.
fn since_start(simulation: &Simulation) -> Metrics {
    let mut metrics = Metrics::new();
    for (node, station) in simulation.stations() {
        let name: Arc<str> = Arc::from(&*simulation.names()[node.0 as usize]);
        let mut add = |quantity, subject, value: u64| {
            metrics.insert(Metric { quantity, subject }, value as f64);
        };
        if let Some(nic) = station.nic_counters() {
            let bites = nic.get(reg::BITES);
            add(
                Quantity::NicWatchdogBites,
                Subject::Node(name.clone()),
                bites,
            );
        }
        let Some(switch) = station.switch() else {
            continue;
        };
        let ports = || simulation.ports(node).map(|port| switch.counters(port));
        let acts: u64 = ports().map(|port| port.watchdog.iter().sum::<u64>()).sum();
        add(Quantity::WatchdogActs, Subject::Node(name.clone()), acts);
        add(
            Quantity::HeldBytes,
            Subject::Node(name.clone()),
            switch.occupancy(),
        );
        for class in 0..PRIORITIES {
            let peak = |of: fn(&PortCounters) -> &[u64; PRIORITIES]| {
                ports().map(|port| of(port)[class]).max().unwrap_or(0)
            };
            for (quantity, peak) in [
                (Quantity::IngressPeakBytes, peak(|port| &port.ingress_peak)),
                (
                    Quantity::HeadroomPeakBytes,
                    peak(|port| &port.headroom_peak),
                ),
                (Quantity::EgressPeakBytes, peak(|port| &port.egress_peak)),
            ] {
                add(quantity, Subject::Class(name.clone(), class as u8), peak);
            }
        }
    }
    let lost: u64 = lost_on_links(simulation).map(|(_, lost)| lost).sum();
    metrics.insert(Metric::network(Quantity::LinkLosses), lost as f64);
    metrics
}

/// What a detector has found, in numbers.
pub(super) fn detected(detector: &Detector) -> Metrics {
    let storms = detector.storms();
    let stood = storms.iter().flat_map(|storm| storm.stopped.keys());
    let stood: BTreeSet<_> = stood.collect();
    let closed = detector.deadlocks().map(|cycle| cycle.closed).min();
    let us = closed.map_or(f64::NAN, |closed| closed.as_ps() as f64 / 1e6);
    [
        (Quantity::Deadlocks, detector.deadlocks().count() as f64),
        (Quantity::DeadlockUs, us),
        (Quantity::CyclicWaits, detector.cycles().len() as f64),
        (Quantity::Storms, storms.len() as f64),
        (Quantity::StormLinks, stood.len() as f64),
        (Quantity::PauseAlarms, detector.alarms().len() as f64),
        (Quantity::Victims, detector.victims().len() as f64),
        (
            Quantity::MeasuredDeadlocks,
            detector.measured_deadlocks() as f64,
        ),
        (Quantity::MeasuredStorms, detector.measured_storms() as f64),
        (
            Quantity::MeasuredVictims,
            detector.measured_victims() as f64,
        ),
    ]
    .map(|(quantity, value)| (Metric::network(quantity), value))
    .into()
}

/// A quantile of sorted values, by nearest rank.
fn quantile(sorted: &[u64], part: f64) -> u64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Quantiles of values, by their names; NaN when there is no value.
pub(crate) fn quantiles(
    quantity: Quantity,
    name: &Arc<str>,
    mut values: Vec<u64>,
    scale: f64,
) -> impl Iterator<Item = (Metric, f64)> {
    values.sort_unstable();
    let name = name.clone();
    Quantile::ALL.into_iter().map(move |part| {
        let subject = Subject::Quantile(name.clone(), part);
        (
            Metric { quantity, subject },
            of_sorted(&values, part, scale),
        )
    })
}

fn of_sorted(sorted: &[u64], part: Quantile, scale: f64) -> f64 {
    match sorted.is_empty() {
        true => f64::NAN,
        false => quantile(sorted, part.part()) as f64 / scale,
    }
}

/// Quantiles of the longest egress queue of each class of a switch; NaN without a sample.
pub(super) fn queues(switch: &str, samples: &[Vec<u64>; PRIORITIES]) -> Metrics {
    let switch: Arc<str> = Arc::from(switch);
    let mut metrics = Metrics::new();
    for (class, lengths) in (0..).zip(samples) {
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        for part in Quantile::ALL {
            let subject = Subject::ClassQuantile(switch.clone(), class, part);
            let quantity = Quantity::QueueBytes;
            metrics.insert(Metric { quantity, subject }, of_sorted(&sorted, part, 1.0));
        }
    }
    metrics
}

/// Slowdowns are compared as whole millionths.
const SLOWDOWN_PARTS: u128 = 1_000_000;

/// Metrics of the flows that are measured under one name, goodput excepted.
fn of_series(simulation: &Simulation, series: &Series, from: Time) -> Metrics {
    let mut metrics = Metrics::new();
    let name: Arc<str> = Arc::from(&*series.name);
    let (mut messages, mut unfinished) = (0, 0);
    let (mut latencies, mut completions, mut slowdowns) = (Vec::new(), Vec::new(), Vec::new());
    for flow in &simulation.flows()[series.flows.clone()] {
        let sender = simulation.sender(flow);
        let delivered = sender.delivered();
        messages += delivered.len();
        let measured = delivered.iter().filter(|message| message.at >= from);
        latencies.extend(measured.map(|message| message.latency.as_ps()));
        if series.workload {
            let finished = sender.finished();
            unfinished += u64::from(flow.start < simulation.now() && !finished);
            let end = delivered.last().map(|message| message.at);
            let whole = finished && sender.failed().is_none();
            if let Some(end) = end.filter(|end| whole && *end >= from) {
                // A flow that waits for others begins with its first message.
                let begin = match flow.waits {
                    true => sender
                        .due_at(0)
                        .map_or(flow.start, |due| due.max(flow.start)),
                    false => flow.start,
                };
                let time = end.saturating_since(begin).as_ps();
                completions.push(time);
                // The steps of a ring are never alone.
                slowdowns.extend(flow.workload.then(|| {
                    let parts = u128::from(time) * SLOWDOWN_PARTS;
                    let alone = flow.ideal(0).as_ps().max(1);
                    u64::try_from(parts / u128::from(alone)).unwrap_or(u64::MAX)
                }));
            }
        }
    }
    metrics.insert(Metric::flow(Quantity::Messages, &name), messages as f64);
    metrics.extend(quantiles(Quantity::MessageLatencyNs, &name, latencies, 1e3));
    if series.workload {
        let metric = Metric::flow(Quantity::FlowsUnfinished, &name);
        metrics.insert(metric, unfinished as f64);
        metrics.extend(quantiles(
            Quantity::FlowCompletionNs,
            &name,
            completions,
            1e3,
        ));
        let parts = SLOWDOWN_PARTS as f64;
        metrics.extend(quantiles(Quantity::Slowdown, &name, slowdowns, parts));
    }
    metrics
}

/// All metrics of a window that began at `from`, when [`counts`] returned `before`. `goodput` is that of each
/// series in Gb/s.
pub(super) fn metrics(
    simulation: &Simulation,
    before: &Metrics,
    from: Time,
    goodput: &[f64],
) -> Metrics {
    let elapsed = simulation.now().saturating_since(from);
    let mut metrics = counts(simulation);
    since(&mut metrics, before, elapsed);
    metrics.extend(tiers(simulation, &metrics));
    metrics.extend(longest_pauses(simulation, from));
    metrics.extend(since_start(simulation));
    let mut errors = [0; 3];
    for (node, station) in simulation.stations() {
        let Some(host) = station.host() else { continue };
        let found = host.errors();
        for (sum, one) in
            errors
                .iter_mut()
                .zip([found.payload_bytes, found.completions, found.failed_qps])
        {
            *sum += one;
        }
        let name = &simulation.names()[node.0 as usize];
        let count = |quantity| metrics[&Metric::node(quantity, name)];
        // Below zero as long as withdrawn packets wait to be granted again.
        let resent = count(Quantity::RetransmittedPackets).max(0.0);
        let (naks, requests) = (count(Quantity::NaksRx), count(Quantity::RequestPackets));
        // A lost packet is itself sent again, so it is subtracted.
        let behind = if naks > 0.0 {
            resent / naks - 1.0
        } else {
            f64::NAN
        };
        let first = if requests > 0.0 {
            1.0 - resent / requests
        } else {
            f64::NAN
        };
        metrics.insert(Metric::node(Quantity::RetransmittedPackets, name), resent);
        metrics.insert(Metric::node(Quantity::PacketsBehindALoss, name), behind);
        metrics.insert(Metric::node(Quantity::FirstSentFraction, name), first);
    }
    let wrong = [
        Quantity::PayloadErrors,
        Quantity::CompletionErrors,
        Quantity::FailedQps,
    ];
    for (quantity, count) in wrong.into_iter().zip(errors) {
        metrics.insert(Metric::network(quantity), count as f64);
    }
    let mut alone = Vec::new();
    for (series, rate) in simulation.series().iter().zip(goodput) {
        metrics.extend(of_series(simulation, series, from));
        metrics.insert(Metric::flow(Quantity::GoodputGbps, &series.name), *rate);
        if !series.workload && !series.probes {
            alone.push(*rate);
        }
    }
    let (sum, squares) = (alone.iter()).fold((0.0, 0.0), |all, x| (all.0 + x, all.1 + x * x));
    for job in simulation.jobs() {
        metrics.extend(jobs::of_job(simulation, job, from));
    }
    let jain = sum * sum / (alone.len() as f64 * squares);
    metrics.insert(Metric::network(Quantity::JainIndex), jain);
    for drop in dropped(simulation) {
        let node = Arc::from(&*simulation.names()[drop.node.0 as usize]);
        let metric = Metric {
            quantity: Quantity::Drops,
            subject: Subject::Reason(node, drop.reason),
        };
        metrics.insert(metric, drop.frames as f64);
    }
    let probes: BTreeSet<&str> = (simulation.series().iter())
        .filter(|series| series.probes)
        .map(|series| &*series.name)
        .collect();
    // Probes are in no sum.
    let is_probe = |metric: &Metric| matches!(&metric.subject, Subject::Flow(name) if probes.contains(&**name));
    add_totals(&mut metrics, is_probe);
    metrics
}

/// What was counted in a time that ended when the counts had these values, and began when they had those `before`.
pub(crate) fn since(counts: &mut Metrics, before: &Metrics, elapsed: Duration) {
    for (metric, value) in counts {
        *value -= before.get(metric).copied().unwrap_or(0.0);
        if matches!(
            metric.quantity,
            Quantity::WireUtilization | Quantity::TcpCpuShare
        ) {
            *value /= elapsed.as_ps() as f64;
        }
    }
}

/// Adds the sums of the quantities that have one, without those of probes.
pub(crate) fn add_totals(metrics: &mut Metrics, is_probe: impl Fn(&Metric) -> bool) {
    for &quantity in Quantity::ALL.iter().filter(|quantity| quantity.has_total()) {
        let all = metrics.range(Metric::network(quantity)..);
        let total = all.take_while(|(metric, _)| metric.quantity == quantity);
        let total = total.filter(|(metric, _)| !is_probe(metric));
        let total = total.map(|(_, value)| value).sum();
        metrics.insert(Metric::total(quantity), total);
    }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_came() {
        let values: Vec<u64> = (1..=1000).collect();
        assert_eq!(
            [0.5, 0.99, 0.999].map(|part| quantile(&values, part)),
            [500, 990, 999]
        );
        assert_eq!([0.5, 0.999].map(|part| quantile(&[7], part)), [7, 7]);
    }
}
