//! Rounds of jobs: how long each took, and who was last.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_sim::kernel::NodeId;
use xoff_sim::time::{Duration, Time};

use super::key::{Metric, Quantity, Subject};
use super::measure::{Metrics, quantiles};
use crate::Simulation;
use crate::scenario::{Job, Unit};

/// A round of a job that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// When the first of its messages was posted.
    pub begin: Time,
    /// When the last host had seen all of its messages.
    pub end: Time,
    /// That host.
    pub last: NodeId,
    /// How much later it was than the median host.
    pub late: Duration,
}

/// The rounds of a job that ended at `from` or later, unit by unit.
pub fn rounds(simulation: &Simulation, job: &Job, from: Time) -> Vec<Round> {
    let each = |unit: &Unit| {
        let arrived = |(flow, per): &(usize, u64)| {
            let receiver = simulation.receiver(&simulation.flows()[*flow]);
            receiver.arrivals().len() as u64 / per
        };
        let over = unit.flows.iter().map(arrived).min().unwrap_or(0);
        let rounds: Vec<Round> = (0..over)
            .map(|number| round(simulation, unit, number))
            .collect();
        rounds
    };
    let rounds = job.units.iter().flat_map(each);
    let whole = job.schedule.and_then(|job| schedule(simulation, job));
    let rounds = rounds.chain(whole);
    rounds.filter(|round| round.end >= from).collect()
}

/// The round of schedules, from their start to the end of all operations.
fn schedule(simulation: &Simulation, job: u32) -> Option<Round> {
    let hosts = simulation.stations().filter_map(|(node, station)| {
        let mut schedules = station.host()?.progress().iter();
        Some((node, schedules.find(|schedule| schedule.job == job)?))
    });
    let mut begin = Time::MAX;
    let mut ends = Vec::new();
    for (node, schedule) in hosts {
        if schedule.left > 0 {
            return None;
        }
        begin = begin.min(schedule.start);
        ends.push((schedule.ended, node));
    }
    (!ends.is_empty()).then(|| of_ends(begin, ends))
}

fn round(simulation: &Simulation, unit: &Unit, number: u64) -> Round {
    let mut ends = BTreeMap::<NodeId, Time>::new();
    let mut begin = Time::MAX;
    for (flow, per) in &unit.begin {
        let flow = &simulation.flows()[*flow];
        let first = simulation.sender(flow).due_at(number * per);
        begin = begin.min(first.unwrap_or(Time::MAX));
    }
    for (flow, per) in &unit.flows {
        let flow = &simulation.flows()[*flow];
        let last = (number + 1) * per - 1;
        let arrived = simulation.receiver(flow).arrivals()[last as usize];
        let end = ends.entry(flow.target).or_default();
        *end = arrived.max(*end);
    }
    let ends = ends.into_iter().map(|(node, end)| (end, node));
    of_ends(begin, ends.collect())
}

/// The round that began at a time, with the ends of its hosts.
fn of_ends(begin: Time, mut ends: Vec<(Time, NodeId)>) -> Round {
    ends.sort_unstable();
    let (end, last) = ends.last().copied().unwrap_or_default();
    let median = ends
        .get(ends.len().saturating_sub(1) / 2)
        .map_or(end, |(end, _)| *end);
    Round {
        begin,
        end,
        last,
        late: end.saturating_since(median),
    }
}

/// The metrics of a job, over the rounds that ended at `from` or later.
pub(super) fn of_job(simulation: &Simulation, job: &Job, from: Time) -> Metrics {
    let mut metrics = Metrics::new();
    let name: Arc<str> = Arc::from(&*job.name);
    let rounds = rounds(simulation, job, from);
    let time = |round: &Round| round.end.saturating_since(round.begin).as_ps();
    let times: Vec<u64> = rounds.iter().map(time).collect();
    let late = rounds.iter().map(|round| round.late.as_ps()).collect();
    metrics.insert(
        Metric::flow(Quantity::JobRounds, &name),
        rounds.len() as f64,
    );
    let elapsed = simulation.now().saturating_since(from).as_ps() as f64;
    let per_second = rounds.len() as f64 * 1e12 / elapsed;
    metrics.insert(Metric::flow(Quantity::Iops, &name), per_second);
    metrics.extend(quantiles(Quantity::JobCompletionNs, &name, times, 1e3));
    metrics.extend(quantiles(Quantity::StragglerNs, &name, late, 1e3));
    let median = Metric {
        quantity: Quantity::JobCompletionNs,
        subject: Subject::Quantile(name.clone(), super::Quantile::P50),
    };
    let bandwidth = match job.bus_bytes > 0.0 {
        true => job.bus_bytes * 8.0 / metrics[&median],
        false => f64::NAN,
    };
    metrics.insert(Metric::flow(Quantity::BusBandwidthGbps, &name), bandwidth);
    metrics
}
