//! What probes met, by how far they go: how many were answered and when, and why the others failed.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use xoff_sim::protocol::gbn::Status;

use super::{SILENT, Usual, pairs};
use crate::Simulation;
use crate::scenario::pingmesh::Reach;

/// The longest latency that is told apart, in nanoseconds: a minute. A QP's retries are used up far earlier.
const LONGEST_NS: u64 = 60_000_000_000;
/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;

/// Probes of one reach since the start of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// How far they go: `tor`, `podset` or `dc`.
    pub reach: String,
    /// Pairs of hosts, each with probes from the first to the second.
    pub pairs: usize,
    /// Probes that were answered, those that were sent again among them.
    pub answered: u64,
    /// Latencies of the answered ones, in nanoseconds, within a thousandth: the median, the 99th and the 99.9th
    /// percentile, and the longest; absent if none was answered.
    pub latency_ns: Option<[u64; 4]>,
    /// Probes that failed, by reason.
    pub failed: BTreeMap<Failure, u64>,
}

/// Why a probe failed, as its sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// It, or its answer, was lost, and it was sent again: it took four times as long as nearly all others.
    SentAgain,
    /// It has no answer yet, for two timeouts and longer.
    NoAnswer,
    /// Its QP gave up: retries were used up.
    RetryExceeded,
    /// Its QP gave up: the other host had no receive buffer.
    RnrExceeded,
    /// The other host refused it.
    Refused,
    /// It was sent behind one that failed.
    Flushed,
}

impl Failure {
    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SentAgain => "sent again",
            Self::NoAnswer => "no answer",
            Self::RetryExceeded => "retries used up",
            Self::RnrExceeded => "no receive buffer",
            Self::Refused => "refused",
            Self::Flushed => "behind a failed one",
        }
    }

    const fn of(status: Status) -> Option<Self> {
        match status {
            Status::Success => None,
            Status::RetryExceeded => Some(Self::RetryExceeded),
            Status::RnrExceeded => Some(Self::RnrExceeded),
            Status::Flushed => Some(Self::Flushed),
            Status::LocalLength
            | Status::LocalAccess
            | Status::RemoteInvalid
            | Status::RemoteAccess
            | Status::RemoteOperate
            | Status::BadResponse => Some(Self::Refused),
        }
    }
}

impl Probes {
    fn of<'p>(simulation: &Simulation, reach: Reach, of_reach: &[&'p super::Pair<'p>]) -> Self {
        let usual = Usual::of(of_reach.iter().copied());
        let mut latencies = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, DIGITS)
            .expect("the bounds and the digits are right");
        let mut failed = BTreeMap::new();
        let mut fail = |reason, probes: u64| {
            if probes > 0 {
                *failed.entry(reason).or_default() += probes;
            }
        };
        for pair in of_reach {
            for latency in &pair.latencies {
                latencies.saturating_record(latency.as_ps() / 1_000);
            }
            fail(Failure::SentAgain, pair.lost(&usual) as u64);
            let sender = simulation.sender(pair.flow);
            let answered = sender.delivered().len() as u64;
            let open = (0..sender.open() as u64).filter_map(|nth| sender.due_at(answered + nth));
            let silent = open.filter(|due| simulation.now().saturating_since(*due) > SILENT);
            fail(Failure::NoAnswer, silent.count() as u64);
            if let Some(reason) = sender.failed().and_then(Failure::of) {
                fail(reason, 1);
                fail(Failure::Flushed, sender.unsuccessful().saturating_sub(1));
            }
        }
        let at = |quantile| latencies.value_at_quantile(quantile);
        Self {
            reach: reach.name().into(),
            pairs: of_reach.len(),
            answered: latencies.len(),
            latency_ns: (!latencies.is_empty())
                .then(|| [at(0.5), at(0.99), at(0.999), latencies.max()]),
            failed,
        }
    }
}

/// The probes of a run by reach, from the nearest on; empty without probes.
pub fn probes(simulation: &Simulation) -> Vec<Probes> {
    let pairs = pairs(simulation);
    let of_reach = |reach: Reach| {
        let of: Vec<_> = pairs.iter().filter(|pair| pair.reach == reach).collect();
        (!of.is_empty()).then(|| Probes::of(simulation, reach, &of))
    };
    Reach::ALL.into_iter().filter_map(of_reach).collect()
}
