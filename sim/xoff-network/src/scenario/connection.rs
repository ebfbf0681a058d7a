//! What entries of `flows` stand for: each flow with its two hosts.

use std::collections::BTreeMap;

use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::mix::Message;
use super::names::Names;
use super::ns3::{FlowList, Sizes};
use super::pattern::Layout;
use super::pingmesh::Reach;
use super::{FlowSettings, Operation, Pairs, Pattern, Scenario};

/// Largest number of flows: their memory is addressed by 20 bits of number.
pub const MOST_FLOWS: usize = (1 << 20) - 1;
/// Attempts at a permutation in which no host is its own receiver. Of the permutations of a group 1 in e is one.
const ATTEMPTS: u32 = 200;
/// Places of the seed: arrivals and permutations.
const ARRIVALS: u64 = 21;
const PERMUTATION: u64 = 22;

/// When a flow that is drawn begins in picoseconds, the place of its sender, its bytes and its receiver.
type Arrival = (u64, usize, ByteCount, String);

/// A flow from one host to another, on a QP of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection<'a> {
    /// The entry of `flows` that it belongs to.
    pub settings: &'a FlowSettings,
    /// Name of the flow; flows of a workload all have that of their entry.
    pub name: String,
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// Its messages: these one after the other, and round again.
    pub messages: Vec<Message>,
    /// Number of messages; without it the flow does not end.
    pub count: Option<u64>,
    /// When the first message is posted.
    pub start: Duration,
    /// DSCP of its packets.
    pub dscp: u8,
}

/// Flows that are measured together, under one name: those of a workload, probes of one reach, or a single flow.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Series {
    /// The name, in metrics and charts.
    pub name: String,
    /// Their places in the list of flows.
    pub flows: std::ops::Range<usize>,
    /// Whether they are a workload, a schedule, a pattern or a ring in lockstep, of which flow completion times are measured.
    pub workload: bool,
    /// Whether they are probes of Pingmesh, which are in no sum and no index.
    pub probes: bool,
}

/// The name of the entry of `flows` that a flow or series belongs to: `f` of `f.s0`.
pub fn entry_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(entry, _)| entry)
}

impl Connection<'_> {
    /// The operations that its messages have.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation> {
        self.messages.iter().map(|(operation, _)| *operation)
    }
}

impl FlowSettings {
    /// Whether the entry is a workload: flows of a file, or flows that are drawn.
    pub const fn is_workload(&self) -> bool {
        self.ns3.is_some() || self.sizes.is_some()
    }
}

impl Scenario {
    /// The flows of a scenario written out that has passed its check, in the order of the entries, and how they are
    /// measured.
    pub fn connections(&self) -> (Vec<Connection<'_>>, Vec<Series>) {
        let names = Names::of(self);
        let rates = match self.flows.iter().any(|flow| flow.sizes.is_some()) {
            true => self.host_rates(&names),
            false => BTreeMap::new(),
        };
        let (mut flows, mut series) = (Vec::new(), Vec::new());
        for (place, entry) in self.flows.iter().enumerate() {
            let first = flows.len();
            if let Some(Ok(list)) = &entry.listed {
                flows.extend(listed(entry, list));
            } else if let Some(Ok(sizes)) = &entry.distribution {
                let seed = Seed(self.seed).derive(&[ARRIVALS, place as u64]);
                flows.extend(self.drawn(entry, sizes, &names, &rates, seed));
            } else if let Some(goal) = entry.read_schedule() {
                flows.extend(entry.scheduled(goal, &names));
            } else if let Some(layout) = self.layout(place, entry, &names) {
                flows.extend(patterned(entry, layout));
            } else if let Some((asked, of)) = self.asked(entry) {
                let asked = self.paired(asked, of, &names);
                flows.extend(asked.into_iter().map(|asked| answer(entry, asked)));
            } else {
                match entry.pairs {
                    Pairs::Reaches => flows.extend(self.probes(entry, &names)),
                    _ => flows.extend(self.paired(place, entry, &names)),
                }
            }
            let whole = first..flows.len();
            let together = entry.pattern.is_some() || entry.goal.is_some() || entry.lockstep;
            if entry.is_workload() || together {
                series.push(Series {
                    name: entry.name.clone(),
                    flows: whole,
                    workload: true,
                    probes: false,
                });
            } else if entry.pairs == Pairs::Reaches {
                let mut first = whole.start;
                for same in flows[whole].chunk_by(|one, next| one.name == next.name) {
                    series.push(Series {
                        name: same[0].name.clone(),
                        flows: first..first + same.len(),
                        workload: false,
                        probes: true,
                    });
                    first += same.len();
                }
            } else {
                series.extend(whole.map(|flow| Series {
                    name: flows[flow].name.clone(),
                    flows: flow..flow + 1,
                    workload: false,
                    probes: false,
                }));
            }
        }
        (flows, series)
    }

    /// The rate of each host's port.
    pub(super) fn host_rates(&self, names: &Names) -> BTreeMap<String, LineRate> {
        let mut rates = BTreeMap::new();
        for (a, b, entry) in self.cables_of(names) {
            let rate = self.rate_of(&self.links[entry]);
            for end in [a, b] {
                if names.hosts().contains(&end) {
                    rates.insert(end, rate);
                }
            }
        }
        rates
    }

    /// The pairs of hosts of an entry that is no workload. Empty when a name is no host's.
    pub(super) fn pairs(
        &self,
        place: usize,
        entry: &FlowSettings,
        names: &Names,
    ) -> Vec<(String, String)> {
        let ends = match entry.pairs {
            Pairs::Reaches => (Some(Vec::new()), Some(Vec::new())),
            _ => (names.hosts_of(&entry.from), names.hosts_of(&entry.to)),
        };
        let (Some(from), Some(to)) = ends else {
            return Vec::new();
        };
        let pair = |a: usize, b: usize| (from[a % from.len()].clone(), to[b % to.len()].clone());
        let most = from.len().max(to.len());
        match entry.pairs {
            Pairs::InOrder => {
                // Within one group each sends to the next, for none sends to itself.
                let next = usize::from(from == to && from.len() > 1);
                (0..most).map(|i| pair(i, i + next)).collect()
            }
            Pairs::Reaches => {
                let probed = self.probed(names).into_iter();
                probed.map(|(_, from, to)| (from, to)).collect()
            }
            Pairs::Each => {
                let all = (0..from.len()).flat_map(|a| (0..to.len()).map(move |b| (a, b)));
                let all = all.map(|(a, b)| pair(a, b));
                let single = from.len() == 1 && to.len() == 1;
                all.filter(|(a, b)| single || a != b).collect()
            }
            Pairs::Permutation => {
                let seed = Seed(self.seed).derive(&[PERMUTATION, place as u64]);
                let mut draws = seed.draws();
                let mut order: Vec<usize> = (0..to.len()).collect();
                let mut all = Vec::new();
                for _ in 0..ATTEMPTS {
                    shuffle(&mut order, &mut draws);
                    let of = |i: usize| pair(i, order[i % order.len()]);
                    all = (0..most).map(of).collect();
                    if all.iter().all(|(a, b)| a != b) {
                        break;
                    }
                }
                all
            }
        }
    }

    /// Probes, each with the name of its reach.
    fn probes<'a>(&self, entry: &'a FlowSettings, names: &Names) -> Vec<Connection<'a>> {
        let probe = |(reach, from, to): (Reach, String, String)| Connection {
            settings: entry,
            name: format!("{}.{}", entry.name, reach.name()),
            from,
            to,
            messages: entry.turns(0, entry.message),
            count: None,
            start: entry.start,
            dscp: entry.dscp,
        };
        self.probed(names).into_iter().map(probe).collect()
    }

    fn paired<'a>(
        &self,
        place: usize,
        entry: &'a FlowSettings,
        names: &Names,
    ) -> Vec<Connection<'a>> {
        let groups = (names.is_group(&entry.from), names.is_group(&entry.to));
        let mut flows = Vec::new();
        for (from, to) in self.pairs(place, entry, names) {
            let name = match groups {
                (false, false) => entry.name.clone(),
                (true, false) => format!("{}.{from}", entry.name),
                (false, true) => format!("{}.{to}", entry.name),
                (true, true) => format!("{}.{from}.{to}", entry.name),
            };
            for qp in 0..entry.qps {
                let name = match entry.qps {
                    1 => name.clone(),
                    _ => format!("{name}.{qp}"),
                };
                flows.push(Connection {
                    settings: entry,
                    name,
                    from: from.clone(),
                    to: to.clone(),
                    messages: entry.turns(flows.len(), entry.message),
                    count: entry.count,
                    start: entry.start,
                    dscp: entry.dscp,
                });
            }
        }
        flows
    }

    /// Poisson arrivals at each sender, with sizes of the distribution and receivers at random.
    fn drawn<'a>(
        &self,
        entry: &'a FlowSettings,
        sizes: &Sizes,
        names: &Names,
        rates: &BTreeMap<String, LineRate>,
        seed: Seed,
    ) -> Vec<Connection<'a>> {
        let (from, to) = self.workload_ends(entry, names);
        let until = entry.until.unwrap_or(self.duration);
        let mut arrivals = Vec::new();
        for (place, sender) in from.iter().enumerate() {
            let others: Vec<&String> = to.iter().filter(|host| *host != sender).collect();
            let load = entry.load.filter(|load| *load > 0.0);
            let (Some(rate), Some(load), false) = (rates.get(sender), load, others.is_empty())
            else {
                continue;
            };
            let mut draws = seed.derive(&[place as u64]).draws();
            let every = interval_ps(sizes, load, *rate);
            let mut at = entry.start.as_ps() as f64;
            loop {
                at += exponential(&mut draws) * every;
                if at >= until.as_ps() as f64 || arrivals.len() > MOST_FLOWS {
                    break;
                }
                let size = sizes.at(uniform(&mut draws));
                let to = others[draws.below(others.len() as u64) as usize];
                arrivals.push((at as u64, place, size, to.clone()));
            }
        }
        arrivals.sort_by_key(|(at, place, ..)| (*at, *place));
        let flow = |(number, (at, place, size, to)): (usize, Arrival)| Connection {
            settings: entry,
            name: entry.name.clone(),
            from: from[place].clone(),
            to,
            messages: entry.turns(number, size),
            count: Some(1),
            start: Duration::from_ps(at),
            dscp: entry.dscp,
        };
        arrivals.into_iter().enumerate().map(flow).collect()
    }

    /// Senders and receivers of flows that are drawn: all hosts, unless the entry names others.
    pub(super) fn workload_ends(
        &self,
        entry: &FlowSettings,
        names: &Names,
    ) -> (Vec<String>, Vec<String>) {
        let of = |name: &String| match name.is_empty() {
            true => names.hosts().iter().cloned().collect(),
            false => names.hosts_of(name).unwrap_or_default(),
        };
        (of(&entry.from), of(&entry.to))
    }
}

/// The mean time between two flows of a host, in picoseconds: their mean size over its part of the line.
pub(super) fn interval_ps(sizes: &Sizes, load: f64, rate: LineRate) -> f64 {
    sizes.mean() * 8e12 / (load * Rate::from(rate).as_bits_per_second() as f64)
}

/// The flows of a list. The first starts when the entry says, the others as much later as in the list.
fn listed<'a>(entry: &'a FlowSettings, list: &'a FlowList) -> impl Iterator<Item = Connection<'a>> {
    let first = list.flows.iter().map(|flow| flow.start).min();
    let first = first.unwrap_or(Duration::ZERO);
    list.flows.iter().enumerate().map(move |(number, flow)| {
        let (count, message) = flow.messages();
        Connection {
            settings: entry,
            name: entry.name.clone(),
            from: format!("h{}", flow.src),
            to: format!("h{}", flow.dst),
            messages: entry.turns(number, message),
            count: Some(count),
            start: entry.start + flow.start.saturating_sub(first),
            // The class selector of the priority (RFC 2474 §4.2.2).
            dscp: flow.priority << 3,
        }
    })
}

/// The flows of a pattern.
fn patterned(entry: &FlowSettings, layout: Layout) -> impl Iterator<Item = Connection<'_>> {
    layout.flows.into_iter().map(|flow| Connection {
        settings: entry,
        name: format!("{}.{}.{}", entry.name, flow.from, flow.to),
        from: flow.from,
        to: flow.to,
        messages: (flow.messages).unwrap_or_else(|| entry.turns(0, flow.message)),
        count: match entry.pattern {
            Some(Pattern::Incast) => Some(1),
            _ => entry.count.map(|count| count.saturating_mul(flow.per)),
        },
        start: flow.start,
        dscp: entry.dscp,
    })
}

/// The flow that answers another.
fn answer<'a>(entry: &'a FlowSettings, asked: Connection<'_>) -> Connection<'a> {
    let rest = asked.name.strip_prefix(&*asked.settings.name);
    Connection {
        settings: entry,
        name: format!("{}{}", entry.name, rest.unwrap_or_default()),
        from: asked.to,
        to: asked.from,
        messages: entry.turns(0, entry.message),
        count: asked.count,
        start: entry.start,
        dscp: entry.dscp,
    }
}

/// Puts a list into a random order (Fisher and Yates).
fn shuffle(list: &mut [usize], draws: &mut Draws) {
    for i in (1..list.len()).rev() {
        list.swap(i, draws.below(i as u64 + 1) as usize);
    }
}

/// Steps of a random number from 0 to 1: those of a double's mantissa.
const STEPS: u64 = 1 << 53;

/// 0 to below 1.
fn uniform(draws: &mut Draws) -> f64 {
    draws.below(STEPS) as f64 / STEPS as f64
}

/// A number with exponential distribution and mean 1. The logarithm is a library's, for that of the platform may differ
/// in the last bit.
pub(super) fn exponential(draws: &mut Draws) -> f64 {
    -libm::log((draws.below(STEPS) + 1) as f64 / STEPS as f64)
}

#[cfg(test)]
mod tests;
