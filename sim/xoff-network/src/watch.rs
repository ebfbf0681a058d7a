//! The watch over servers: for each interval and server how many pauses it sent and received, for how long it stopped
//! its switch and stood itself, and whether it was available; and which of them were in alarm.
//!
//! A server is *available* in an interval unless most of its flows that were asked for something stood: they had a
//! message open for all of the interval, or their QP had ended, and nothing of it arrived. Where probes go, these alone
//! are asked. So one dead server makes those that ask it no less available.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic_registers as reg;
use xoff_sim::time::{Duration, Time};

use crate::detect::{LinkClass, Totals};
use crate::results::{Finding, FindingKind, ns};
use crate::scenario::Watch;
use crate::words::{at, count, digits, part};
use crate::{FlowEnds, Simulation};

/// A server in an interval in which it was not quiet: it paused, stood, or was not available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerRow {
    /// The server's name.
    pub server: String,
    /// When the interval began, in nanoseconds.
    pub from_ns: u64,
    /// When it ended, in nanoseconds.
    pub to_ns: u64,
    /// Pause frames that the server sent, XON among them.
    pub pauses_sent: u64,
    /// Pause frames that it received.
    pub pauses_received: u64,
    /// How long it stopped its switch, or whatever is at its port, in nanoseconds: the class that it stopped longest.
    pub stopped_ns: u64,
    /// How long it was stopped itself, likewise.
    pub stood_ns: u64,
    /// Whether it was available.
    pub available: bool,
    /// Whether its pauses were above the alarm.
    pub alarm: bool,
}

/// What the watch saw, over all servers, in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AllServers {
    /// When the interval ended, in nanoseconds.
    pub to_ns: u64,
    /// Pause frames that servers sent.
    pub pauses_sent: u64,
    /// Pause frames that servers received.
    pub pauses_received: u64,
    /// Servers in alarm.
    pub alarms: u64,
    /// Servers that were available.
    pub available: u64,
}

/// A server over all intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The server's name.
    pub name: String,
    /// Intervals in which its pauses were above the alarm.
    pub alarms: usize,
    /// Intervals in which it was not available.
    pub unavailable: usize,
    /// Pause frames that it sent.
    pub pauses_sent: u64,
    /// Pause frames that it received.
    pub pauses_received: u64,
    /// The most pause frames a second that it sent in an interval.
    pub most_pauses_per_s: f64,
    /// The greatest part of an interval for which it stopped its switch, 0 to 1.
    pub most_stopped: f64,
    /// The greatest part of an interval for which it was stopped itself, 0 to 1.
    pub most_stood: f64,
}

/// What the watch over servers saw: `servers` of `summary.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Servers {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Number of servers.
    pub number: usize,
    /// All servers together, interval by interval.
    pub intervals: Vec<AllServers>,
    /// Servers that were not quiet in every interval: first those in alarm most often, then those that were unavailable
    /// most often.
    pub noted: Vec<Server>,
    /// Every interval of a server in which it was not quiet, by time: rows of `servers.csv`.
    #[serde(skip)]
    pub rows: Vec<ServerRow>,
}

impl Servers {
    /// The part of servers and intervals in which a server was available, 0 to 1; 1 without an interval.
    pub fn availability(&self) -> f64 {
        let available: u64 = self.intervals.iter().map(|all| all.available).sum();
        match self.number * self.intervals.len() {
            0 => 1.0,
            all => available as f64 / all as f64,
        }
    }

    /// The same in words, rounded down to a thousandth of a per cent: 100 % is all servers at all times.
    pub fn availability_text(&self) -> String {
        match self.availability() {
            1.0 => "100 %".into(),
            part => format!("{:.3} %", (part * 1e5).floor() / 1e3),
        }
    }
}

/// A server's counters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Counted {
    sent: u64,
    received: u64,
    /// How long each class of its link was stopped by it, and it was stopped.
    stopped: [Duration; 8],
    stood: [Duration; 8],
}

impl Counted {
    /// The longest time of a class since `before`.
    fn longest(now: &[Duration; 8], before: &[Duration; 8]) -> Duration {
        let since = now.iter().zip(before).map(|(now, before)| *now - *before);
        since.max().unwrap_or(Duration::ZERO)
    }
}

/// Watches the servers of a simulation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerWatch {
    settings: Watch,
    from: Time,
    /// Servers, and the link that each stops.
    servers: Vec<(NodeId, Option<(NodeId, PortId)>)>,
    /// The flows that are asked, and what of each was done when the interval began.
    asked: Vec<(usize, u64)>,
    before: Vec<Counted>,
    totals: Totals,
    intervals: Vec<AllServers>,
    rows: Vec<ServerRow>,
}

impl ServerWatch {
    /// Watches from now on.
    pub fn new(simulation: &Simulation, settings: Watch) -> Self {
        let hosts = simulation
            .stations()
            .filter(|(_, station)| station.host().is_some());
        let servers = hosts.map(|(node, _)| (node, simulation.network().peer(node, PortId(0))));
        let probed = simulation.series().iter().any(|series| series.probes);
        let asked = simulation
            .series()
            .iter()
            .filter(|series| series.probes || !probed);
        let asked = asked.flat_map(|series| series.flows.clone());
        let mut this = Self {
            settings,
            from: simulation.now(),
            servers: servers.collect(),
            asked: asked
                .map(|flow| (flow, done(simulation, &simulation.flows()[flow])))
                .collect(),
            before: Vec::new(),
            totals: Totals::default(),
            intervals: Vec::new(),
            rows: Vec::new(),
        };
        this.before = this.counted(simulation);
        this
    }

    /// When the interval ends.
    pub fn due(&self) -> Time {
        self.from + self.settings.interval
    }

    /// Ends the interval now.
    pub fn end_interval(&mut self, simulation: &Simulation) {
        let (from, to) = (self.from, simulation.now());
        let length = to.saturating_since(from);
        let counted = self.counted(simulation);
        let unavailable = self.unavailable(simulation);
        let mut all = AllServers {
            to_ns: ns(to),
            ..AllServers::default()
        };
        for ((node, _), (now, before)) in self.servers.iter().zip(counted.iter().zip(&self.before))
        {
            let (sent, received) = (now.sent - before.sent, now.received - before.received);
            let stopped = Counted::longest(&now.stopped, &before.stopped);
            let stood = Counted::longest(&now.stood, &before.stood);
            let available = !unavailable.contains_key(node);
            let alarm = sent as f64 > self.settings.pauses * seconds(length)
                || stopped.as_ps() as f64 > self.settings.stopped * length.as_ps() as f64;
            all.pauses_sent += sent;
            all.pauses_received += received;
            all.alarms += u64::from(alarm);
            all.available += u64::from(available);
            let quiet = sent + received == 0 && (stopped + stood).as_ps() == 0 && available;
            if !quiet {
                self.rows.push(ServerRow {
                    server: simulation.names()[node.0 as usize].clone(),
                    from_ns: ns(from),
                    to_ns: ns(to),
                    pauses_sent: sent,
                    pauses_received: received,
                    stopped_ns: stopped.as_ps() / 1_000,
                    stood_ns: stood.as_ps() / 1_000,
                    available,
                    alarm,
                });
            }
        }
        self.intervals.push(all);
        self.before = counted;
        self.from = to;
    }

    fn counted(&mut self, simulation: &Simulation) -> Vec<Counted> {
        let mut stops = BTreeMap::<(NodeId, PortId), [Duration; 8]>::new();
        self.totals
            .each(simulation, |LinkClass { node, port, class }, _, total| {
                stops.entry((node, port)).or_default()[class as usize] = total;
            });
        let stops_of = |end: (NodeId, PortId)| stops.get(&end).copied().unwrap_or_default();
        let counted = |&(node, peer): &(NodeId, Option<(NodeId, PortId)>)| {
            let station = simulation.network().node(node);
            let nic = |register| station.nic_counters().map_or(0, |nic| nic.get(register));
            let storm = simulation.network().injection(node, PortId(0));
            let storm = storm.map_or(0, |injection| injection.counters().of_port);
            Counted {
                sent: nic(reg::PFC_OUT) + storm,
                received: nic(reg::PFC_IN) + nic(reg::PAUSE_IN),
                stopped: peer.map(stops_of).unwrap_or_default(),
                stood: stops_of((node, PortId(0))),
            }
        };
        self.servers.iter().map(counted).collect()
    }

    /// The servers most of whose flows stood since the interval began.
    fn unavailable(&mut self, simulation: &Simulation) -> BTreeMap<NodeId, [usize; 2]> {
        let mut flows = BTreeMap::<NodeId, [usize; 2]>::new();
        for (place, before) in &mut self.asked {
            let flow = &simulation.flows()[*place];
            let sender = simulation.sender(flow);
            let now = done(simulation, flow);
            let moved = now > std::mem::replace(before, now);
            let waits = sender.due_at(sender.delivered().len() as u64);
            let waits = waits.is_some_and(|since| since <= self.from) || sender.failed().is_some();
            if moved || waits {
                for end in [flow.from, flow.to] {
                    let [asked, stood] = flows.entry(end).or_default();
                    *asked += 1;
                    *stood += usize::from(!moved);
                }
            }
        }
        flows.retain(|_, [asked, stood]| *stood * 2 > *asked);
        flows
    }

    /// The number of servers that were ever in alarm, and the most that were unavailable in an interval.
    pub fn worst(&self) -> (usize, usize) {
        let alarms = self.rows.iter().filter(|row| row.alarm);
        let servers: std::collections::BTreeSet<&str> = alarms.map(|row| &*row.server).collect();
        let unavailable = |all: &AllServers| self.servers.len() - all.available as usize;
        (
            servers.len(),
            self.intervals.iter().map(unavailable).max().unwrap_or(0),
        )
    }

    /// What it saw until the end of the last interval.
    pub fn servers(&self) -> Servers {
        let interval = self.settings.interval;
        let part_of = |ns: u64| ns as f64 * 1e3 / interval.as_ps() as f64;
        let mut noted = BTreeMap::<&str, Server>::new();
        for row in &self.rows {
            let server = noted.entry(&row.server).or_insert_with(|| Server {
                name: row.server.clone(),
                alarms: 0,
                unavailable: 0,
                pauses_sent: 0,
                pauses_received: 0,
                most_pauses_per_s: 0.0,
                most_stopped: 0.0,
                most_stood: 0.0,
            });
            server.alarms += usize::from(row.alarm);
            server.unavailable += usize::from(!row.available);
            server.pauses_sent += row.pauses_sent;
            server.pauses_received += row.pauses_received;
            let per_s = row.pauses_sent as f64 / seconds(interval);
            server.most_pauses_per_s = server.most_pauses_per_s.max(per_s);
            server.most_stopped = server.most_stopped.max(part_of(row.stopped_ns));
            server.most_stood = server.most_stood.max(part_of(row.stood_ns));
        }
        let mut noted: Vec<Server> = noted.into_values().collect();
        // The sort is stable: what is equal stays in the order of names.
        noted.sort_by_key(|server| {
            let counts = (server.alarms, server.unavailable, server.pauses_sent);
            std::cmp::Reverse((counts, server.pauses_received))
        });
        Servers {
            interval_ns: interval.as_ps() / 1_000,
            number: self.servers.len(),
            intervals: self.intervals.clone(),
            noted,
            rows: self.rows.clone(),
        }
    }

    /// Alarms, one for each server, and when fewest servers were available, if ever any was not.
    pub fn findings(&self) -> Vec<Finding> {
        let mut alarms = BTreeMap::<&str, Vec<&ServerRow>>::new();
        for row in self.rows.iter().filter(|row| row.alarm) {
            alarms.entry(&row.server).or_default().push(row);
        }
        let mut alarms: Vec<(&str, Vec<&ServerRow>)> = alarms.into_iter().collect();
        alarms.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        let interval = self.settings.interval;
        let mut found: Vec<Finding> = alarms
            .iter()
            .map(|(server, rows)| {
                let pauses = rows.iter().map(|row| row.pauses_sent).max().unwrap_or(0);
                let stopped = rows.iter().map(|row| row.stopped_ns).max().unwrap_or(0);
                let intervals = count(self.intervals.len() as u64, "interval", "intervals");
                Finding {
                    kind: FindingKind::Servers,
                    text: format!(
                        "{server} is in alarm in {} of {intervals} of {interval}: at most {} pauses a second, its switch stopped \
                         for {} of the time",
                        rows.len(),
                        digits(pauses as f64 / seconds(interval)),
                        part(stopped as f64 * 1e3 / interval.as_ps() as f64),
                    ),
                    details: Vec::new(),
                    from_ns: rows[0].from_ns,
                    to_ns: rows.last().map(|row| row.to_ns),
                }
            })
            .collect();
        let worst = self.intervals.iter().min_by_key(|all| all.available);
        let number = self.servers.len() as u64;
        if let Some(worst) = worst.filter(|worst| worst.available < number) {
            let first = self.intervals.iter().find(|all| all.available < number);
            let last = self.intervals.iter().rfind(|all| all.available < number);
            let start = |all: &AllServers| all.to_ns.saturating_sub(interval.as_ps() / 1_000);
            found.push(Finding {
                kind: FindingKind::Servers,
                text: format!(
                    "{} of {number} servers were available at worst, in the {interval} before {}",
                    worst.available,
                    at(Time::from_ps(worst.to_ns * 1_000)),
                ),
                details: Vec::new(),
                from_ns: first.map_or(0, start),
                to_ns: last.map(|all| all.to_ns),
            });
        }
        found
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_ps() as f64 / 1e12
}

/// What of a flow was done: bytes that arrived and messages that were completed, each once.
fn done(simulation: &Simulation, flow: &FlowEnds) -> u64 {
    simulation.fresh_bytes(flow) + simulation.sender(flow).delivered().len() as u64
}

#[cfg(test)]
mod tests;
