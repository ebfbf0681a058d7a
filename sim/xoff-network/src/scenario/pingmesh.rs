//! Pingmesh: small messages between all hosts, of which the time until their completion is measured, by scope
//! (SIGCOMM 2016 §5.3, after 'Pingmesh', SIGCOMM 2015).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::{ByteCount, Duration};

use super::names::Names;
use super::{FlowSettings, Operation, Pairs, Scenario};

/// Name of the flows of probes.
pub const NAME: &str = "pingmesh";
/// Timeout of the QPs of probes, 4.096 µs · 2⁸: one that is lost takes at least a millisecond.
pub const TIMEOUT: u8 = 8;
/// Probes that are under way between two hosts at the same time.
const OUTSTANDING: u32 = 4;
/// Most switches between two hosts of a podset: ToR, leaf, ToR.
const PODSET: u32 = 3;

/// Probes between hosts: each host sends to one in its rack, one in its podset and one elsewhere, in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pingmesh {
    /// Time from one probe of a pair to the next.
    pub interval: Duration,
    /// Bytes of a probe.
    pub message: ByteCount,
    /// DSCP of its packets.
    pub dscp: u8,
    /// When the first probes are sent.
    pub start: Duration,
}

impl Default for Pingmesh {
    /// 512 bytes (SIGCOMM 2016 §5.3), every 100 µs where production has seconds, so that a run of some milliseconds has as
    /// many as are needed to judge.
    fn default() -> Self {
        Self {
            interval: Duration::from_us(100),
            message: ByteCount::new(512),
            dscp: FlowSettings::new("", "", "").dscp,
            start: Duration::ZERO,
        }
    }
}

/// How far apart two hosts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Behind the same switch.
    Tor,
    /// With at most three switches on the way.
    Podset,
    /// Farther.
    Dc,
}

impl Reach {
    /// All, from the nearest on.
    pub const ALL: [Self; 3] = [Self::Tor, Self::Podset, Self::Dc];

    /// The name, as in the names of metrics: `message_latency_ns.pingmesh.tor.p99`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tor => "tor",
            Self::Podset => "podset",
            Self::Dc => "dc",
        }
    }

    const fn of(switches: u32) -> Self {
        match switches {
            0..=1 => Self::Tor,
            2..=PODSET => Self::Podset,
            _ => Self::Dc,
        }
    }
}

impl Pingmesh {
    /// The flows of the probes, as an entry of `flows`.
    pub(super) fn flow(&self) -> FlowSettings {
        FlowSettings {
            pairs: Pairs::Reaches,
            operation: Operation::Send,
            message: self.message,
            interval: Some(self.interval),
            outstanding: OUTSTANDING,
            dscp: self.dscp,
            start: self.start,
            timeout: TIMEOUT,
            ..FlowSettings::new(NAME, "", "")
        }
    }
}

impl Scenario {
    /// The pairs of hosts between which probes go, from the nearest on. Of those that share a rack, or a podset, the k-th
    /// sends to the k-th of those in reach, so that each is asked by about as many.
    pub(super) fn probed(&self, names: &Names) -> Vec<(Reach, String, String)> {
        let mut neighbours = BTreeMap::<String, BTreeSet<String>>::new();
        for (a, b, _) in self.cables_of(names) {
            neighbours.entry(a.clone()).or_default().insert(b.clone());
            neighbours.entry(b).or_default().insert(a);
        }
        // In the scenario's order, in which h10 comes behind h9.
        let hosts: Vec<String> = (self.hosts.iter())
            .flat_map(super::HostEntry::names)
            .collect();
        let switch_of = |host: &String| neighbours.get(host)?.first();
        let switches: BTreeSet<&String> = hosts.iter().filter_map(switch_of).collect();
        let switches: Vec<&String> = switches.into_iter().collect();
        // For each host its rack, and for each rack how far the others are.
        let rack = |host: &String| switches.binary_search(&switch_of(host)?).ok();
        let racks: Vec<Option<usize>> = hosts.iter().map(rack).collect();
        let reaches: Vec<Vec<Option<Reach>>> = (switches.iter())
            .map(|from| {
                let between = switches_between(from, &neighbours, names);
                let reach = |to: &&String| between.get(*to).map(|count| Reach::of(*count));
                switches.iter().map(reach).collect()
            })
            .collect();
        let mut found = Vec::new();
        for (at, host) in hosts.iter().enumerate() {
            let Some(rack) = racks[at] else { continue };
            let reach_of = |other: usize| reaches[rack][racks[other]?];
            for reach in Reach::ALL {
                // From the next host on, around.
                let around = (1..hosts.len()).map(|step| (at + step) % hosts.len());
                let others: Vec<usize> = around.filter(|to| reach_of(*to) == Some(reach)).collect();
                let nearer = (0..at).filter(|other| reach_of(*other).is_some_and(|of| of < reach));
                let place = nearer.count();
                if let Some(to) = others.get(place % others.len().max(1)) {
                    found.push((reach, host.clone(), hosts[*to].clone()));
                }
            }
        }
        found.sort_by_key(|(reach, ..)| *reach);
        found
    }
}

/// For each switch, how many switches are on the way from one to it, both included. Hosts forward nothing.
fn switches_between(
    from: &str,
    neighbours: &BTreeMap<String, BTreeSet<String>>,
    names: &Names,
) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::from([(from.to_owned(), 1)]);
    let mut next = VecDeque::from([from.to_owned()]);
    while let Some(switch) = next.pop_front() {
        let count = found[&switch] + 1;
        for other in neighbours.get(&switch).into_iter().flatten() {
            if names.switches().contains(other) && !found.contains_key(other) {
                found.insert(other.clone(), count);
                next.push_back(other.clone());
            }
        }
    }
    found
}
