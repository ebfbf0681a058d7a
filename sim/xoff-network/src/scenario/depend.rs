//! What flows wait for: gates at hosts, made from `pattern`, `lockstep`, `answers` and `after`; and the jobs whose
//! rounds are measured.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use xoff_sim::host::GateConfig;
use xoff_sim::protocol::gbn::WorkKind;
use xoff_sim::seeded::Seed;
use xoff_sim::time::{ByteCount, Duration, LineRate};

use super::connection::Connection;
use super::names::Names;
use super::pattern::{Arrivals, Layout, Request};
use super::{FlowSettings, Pattern, Scenario, shapes};

/// Place of the seed: incasts.
const INCASTS: u64 = 23;

/// What a host sees of a flow's messages: as its receiver, that they have arrived; as its sender, that they are
/// complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Messages of a flow that ends at the host, by the flow's place.
    Arrived(usize),
    /// Messages of a flow that starts at the host.
    Sent(usize),
}

/// Flows that wait for what their host sees of others, all named by their places. All have an end at the host at which
/// the `senders` start.
pub type Gate = GateConfig<End>;

/// The same gate of flows that come behind `first` others.
fn behind(gate: Gate, first: usize) -> Gate {
    gate.map(
        |flow| flow + first,
        |end| match end {
            End::Arrived(flow) => End::Arrived(flow + first),
            End::Sent(flow) => End::Sent(flow + first),
        },
    )
}

/// Flows whose rounds are measured together: a round begins with the first post of one of its messages, and is over
/// when the last of them has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The flows whose first post begins a round, by their places, each with its messages in a round.
    pub begin: Vec<(usize, u64)>,
    /// The flows with which it is over, each with the messages that its receiver sees in a round.
    pub flows: Vec<(usize, u64)>,
}

impl Unit {
    /// Rounds that any of the flows begins and all of them end.
    pub(super) fn whole(flows: impl Iterator<Item = (usize, u64)>) -> Self {
        let flows: Vec<_> = flows.collect();
        Self {
            begin: flows.clone(),
            flows,
        }
    }

    /// The same unit of flows that come behind `first` others.
    fn behind(&self, first: usize) -> Self {
        let behind = |flows: &[(usize, u64)]| {
            let behind = flows.iter().map(|(flow, per)| (flow + first, *per));
            behind.collect()
        };
        Self {
            begin: behind(&self.begin),
            flows: behind(&self.flows),
        }
    }
}

/// Something that flows do together, round by round: a pattern, or requests with their answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name of its entry of `flows`.
    pub name: String,
    /// What it is; `None`: requests and answers, or a schedule.
    pub pattern: Option<Pattern>,
    /// The number of its hosts' schedules, if it has such. All operations of them are its only round.
    pub schedule: Option<u32>,
    /// Hosts that take part in a round.
    pub hosts: usize,
    /// Bytes that a host has to send in a round at least, or to receive: what bandwidth is counted of.
    pub bus_bytes: f64,
    /// Flows that do it independently of each other.
    pub units: Vec<Unit>,
}

impl Job {
    /// What it is, in a word.
    pub const fn kind(&self) -> &'static str {
        match (self.pattern, self.schedule) {
            (Some(pattern), _) => pattern.name(),
            (None, Some(_)) => "goal",
            (None, None) => "requests",
        }
    }
}

impl FlowSettings {
    /// What the layout of a pattern is made from; `None` without one.
    pub(super) fn request<'a>(
        &self,
        scenario: &Scenario,
        (from, to): (&'a [String], &'a [String]),
        (place, rates): (usize, &'a [LineRate]),
    ) -> Option<Request<'a>> {
        Some(Request {
            pattern: self.pattern?,
            from,
            to,
            message: self.message,
            chunk: self.chunk.unwrap_or(self.message),
            response: self.response.unwrap_or(self.message),
            start: self.start,
            think: self.think.unwrap_or(Duration::ZERO),
            depth: self.depth.unwrap_or(1),
            incast: Arrivals {
                senders: self.senders.unwrap_or(1),
                load: self.load.unwrap_or(0.0),
                rates,
                until: self.until.unwrap_or(scenario.duration),
                seed: Seed(scenario.seed).derive(&[INCASTS, place as u64]),
            },
        })
    }
}

impl Scenario {
    /// The layout of an entry with a pattern; `None` without one.
    pub(super) fn layout(
        &self,
        place: usize,
        entry: &FlowSettings,
        names: &Names,
    ) -> Option<Layout> {
        entry.pattern?;
        let of = |name: &str| names.hosts_of(name).unwrap_or_default();
        let (from, to) = (of(&entry.from), of(&entry.to));
        let rates: Vec<LineRate> = match entry.pattern {
            Some(Pattern::Incast) => {
                let rates = self.host_rates(names);
                to.iter()
                    .filter_map(|host| rates.get(host).copied())
                    .collect()
            }
            _ => Vec::new(),
        };
        let request = entry.request(self, (&from, &to), (place, &rates))?;
        Some(request.layout())
    }

    /// The entry that an entry answers.
    pub(super) fn asked(&self, entry: &FlowSettings) -> Option<(usize, &FlowSettings)> {
        let name = entry.answers.as_ref()?;
        let mut entries = self.flows.iter().enumerate();
        entries.find(|(_, asked)| asked.name == *name)
    }

    /// The gates of [flows](Self::connections), and the jobs.
    pub fn gates(&self, flows: &[Connection<'_>]) -> (Vec<Gate>, Vec<Job>) {
        let names = Names::of(self);
        let ranges = self.ranges(flows);
        let (mut gates, mut jobs) = (Vec::new(), Vec::new());
        for (place, entry) in self.flows.iter().enumerate() {
            let range = ranges[place].clone();
            if let Some(layout) = self.layout(place, entry, &names) {
                jobs.extend(job(entry, &layout, &names, range.start));
                let own = layout.gates.into_iter();
                gates.extend(own.map(|gate| behind(gate, range.start)));
            }
            if let Some(goal) = entry.read_schedule() {
                jobs.push(entry.scheduled_job(goal, place));
            }
            if entry.lockstep {
                gates.extend(ring(flows, range.clone()));
            }
            if entry.lockstep_qps {
                gates.extend(qps_in_step(flows, range.clone()));
            }
            if let Some((asked, of)) = self.asked(entry) {
                let pairs = ranges[asked].clone().zip(range.clone());
                gates.extend(
                    pairs
                        .clone()
                        .map(|(ask, answer)| answering(entry, ask, answer)),
                );
                if let Some(depth) = of.depth {
                    let closed = pairs
                        .clone()
                        .map(|(ask, answer)| asking(of, depth, ask, answer));
                    gates.extend(closed);
                }
                jobs.push(Job {
                    name: of.name.clone(),
                    pattern: None,
                    schedule: None,
                    hosts: 2,
                    bus_bytes: of.message.get().max(entry.message.get()) as f64,
                    units: pairs
                        .map(|(ask, answer)| Unit {
                            begin: vec![(ask, 1)],
                            flows: vec![(answer, 1)],
                        })
                        .collect(),
                });
            }
            if !entry.after.is_empty() {
                gates.extend(self.behind(entry, flows, range, &ranges));
            }
        }
        (gates, jobs)
    }

    /// The flows of each entry.
    pub(super) fn ranges(&self, flows: &[Connection<'_>]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut first = 0;
        for entry in &self.flows {
            let own = |flow: &&Connection<'_>| std::ptr::eq(flow.settings, entry);
            let count = flows[first..].iter().take_while(own).count();
            ranges.push(first..first + count);
            first += count;
        }
        ranges
    }

    /// The gates of an entry that begins when its hosts have seen others end.
    fn behind(
        &self,
        entry: &FlowSettings,
        flows: &[Connection<'_>],
        range: Range<usize>,
        ranges: &[Range<usize>],
    ) -> Vec<Gate> {
        let entries = self.flows.iter().zip(ranges);
        let before = entries.filter(|(other, _)| entry.after.contains(&other.name));
        let mut ends = BTreeMap::<&str, Vec<(End, u64)>>::new();
        for place in before.flat_map(|(_, range)| range.clone()) {
            let flow = &flows[place];
            // An entry without end is refused.
            let count = flow.count.unwrap_or(u64::MAX);
            // The receiver sees those that take a receive buffer, if there are such, and nothing of what is read.
            let shapes = shapes(&flow.messages);
            let seen = match shapes.any(WorkKind::takes_buffer) {
                true => shapes.before(count, WorkKind::takes_buffer),
                false => shapes.before(count, |kind| !kind.returns()),
            };
            if seen > 0 {
                let arrived = (End::Arrived(place), seen);
                ends.entry(&flow.to).or_default().push(arrived);
            }
            ends.entry(&flow.from)
                .or_default()
                .push((End::Sent(place), count));
        }
        let gates = by_sender(flows, range).into_iter();
        let gate = |(host, senders): (&str, Vec<usize>)| {
            Some(Gate {
                senders,
                batch: u64::MAX,
                lead: 0,
                ends: ends.get(host)?.clone(),
                think: entry.think.unwrap_or(Duration::ZERO),
                think_every: 1,
            })
        };
        gates.filter_map(gate).collect()
    }
}

fn job(entry: &FlowSettings, layout: &Layout, names: &Names, first: usize) -> Option<Job> {
    let pattern = entry.pattern?;
    let of = |name: &str| names.hosts_of(name).map_or(0, |hosts| hosts.len());
    let (hosts, bytes) = match pattern {
        Pattern::Incast => {
            let senders = entry.senders.unwrap_or(1);
            (senders as usize + 1, entry.message * u64::from(senders))
        }
        Pattern::Queries => {
            let servers = layout.units.first().map_or(0, |unit| unit.flows.len() / 2);
            let response = entry.response.unwrap_or(entry.message);
            (servers + 1, response * servers as u64)
        }
        _ if pattern.is_storage() => (2, entry.message),
        _ => (of(&entry.from), entry.message),
    };
    Some(Job {
        name: entry.name.clone(),
        pattern: Some(pattern),
        schedule: None,
        hosts,
        bus_bytes: pattern.bus_factor(hosts) * ByteCount::get(bytes) as f64,
        units: layout.units.iter().map(|unit| unit.behind(first)).collect(),
    })
}

fn by_sender<'f>(
    flows: &'f [Connection<'_>],
    range: Range<usize>,
) -> BTreeMap<&'f str, Vec<usize>> {
    let mut senders = BTreeMap::<&str, Vec<usize>>::new();
    for place in range {
        senders.entry(&flows[place].from).or_default().push(place);
    }
    senders
}

/// Message k of a flow goes when message k − 1 of the flow that ends at its sender has arrived.
fn ring(flows: &[Connection<'_>], range: Range<usize>) -> Vec<Gate> {
    let ends: BTreeMap<&str, usize> = range
        .clone()
        .map(|place| (&*flows[place].to, place))
        .collect();
    let gate = |place: usize| {
        Some(Gate {
            senders: vec![place],
            batch: 1,
            lead: 1,
            ends: vec![(End::Arrived(*ends.get(&*flows[place].from)?), 1)],
            think: flows[place].settings.think.unwrap_or(Duration::ZERO),
            think_every: 1,
        })
    };
    range.filter_map(gate).collect()
}

/// Message k of each flow goes when message k − 1 of all flows of its sender is complete.
fn qps_in_step(flows: &[Connection<'_>], range: Range<usize>) -> Vec<Gate> {
    let gate = |senders: Vec<usize>| Gate {
        batch: 1,
        lead: 1,
        ends: senders.iter().map(|place| (End::Sent(*place), 1)).collect(),
        think: flows[senders[0]].settings.think.unwrap_or(Duration::ZERO),
        think_every: 1,
        senders,
    };
    by_sender(flows, range).into_values().map(gate).collect()
}

/// Answer k goes when request k has arrived.
fn answering(entry: &FlowSettings, ask: usize, answer: usize) -> Gate {
    Gate {
        senders: vec![answer],
        batch: 1,
        lead: 0,
        ends: vec![(End::Arrived(ask), 1)],
        think: entry.think.unwrap_or(Duration::ZERO),
        think_every: 1,
    }
}

/// Request k goes when answer k − `depth` has arrived.
fn asking(entry: &FlowSettings, depth: u32, ask: usize, answer: usize) -> Gate {
    Gate {
        senders: vec![ask],
        batch: 1,
        lead: depth.into(),
        ends: vec![(End::Arrived(answer), 1)],
        think: entry.think.unwrap_or(Duration::ZERO),
        think_every: 1,
    }
}

#[cfg(test)]
mod tests;
