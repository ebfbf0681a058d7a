//! GOAL files: the textual schedules of LogGOPSim and ATLAHS.
//!
//! The format is that of `txt2bin` of LogGOPSim (`spcl/LogGOPSim`) and of what generates files for it, Schedgen and the
//! tools of ATLAHS (`spcl/atlahs`): `num_ranks N`, then for each rank a block `rank R { … }` with an operation or a
//! requirement a line.
//!
//! | module | what is in it |
//! |---|---|
//! | `read` | lines to operations |
//! | `order` | which message each `recv` takes, and the order of messages with the same ends |

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_sim::host::ScheduleConfig;
use xoff_sim::host::schedule::{self, Point, Step};
use xoff_sim::time::{ByteCount, Duration, Time};

use super::check::{Issue, Issues, issue};
use super::connection::Connection;
use super::depend::Job;
use super::names::Names;
pub use super::ns3::MOST_BYTES;
use super::{FlowSettings, Scenario};

mod order;
mod read;

/// Longest time of a `calc`, in nanoseconds: 11 days.
pub const MOST_CALC_NS: u64 = 1_000_000_000_000_000;

/// A schedule: what each rank does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Name of the file, for messages.
    pub file: String,
    /// The operations of each rank, in the order of the file.
    pub ranks: Vec<Vec<Operation>>,
    /// The messages, in an order in which they can be sent one after another.
    pub messages: Vec<Message>,
}

/// An operation of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Line of the file, from 1.
    pub line: usize,
    /// What it does.
    pub action: Action,
    /// What it requires of others of the rank, by their numbers from 0.
    pub requires: Vec<(u32, Point)>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A message to another rank.
    Send(Envelope),
    /// A message from another rank.
    Receive(Envelope),
    /// Computing.
    Calc {
        /// The processor of the rank.
        cpu: u8,
        /// For how long.
        time: Duration,
    },
}

/// What a message has on it at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The rank at the other end.
    pub peer: u32,
    /// The tag.
    pub tag: u32,
    /// The bytes.
    pub bytes: ByteCount,
}

/// A message with its two operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The ranks that send and receive it.
    pub ends: [u32; 2],
    /// The operations of these ranks, by their numbers.
    pub operations: [u32; 2],
    /// The tag.
    pub tag: u32,
    /// The bytes.
    pub bytes: ByteCount,
}

/// The messages that one QP carries.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lane {
    ends: [u32; 2],
    /// Which of the QPs of these ends, from 0.
    qp: u32,
    /// Places in the list of messages.
    messages: Vec<usize>,
}

impl Goal {
    /// Reads a schedule. `file` is its name, for messages.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Issues> {
        let draft = read::read(file, text)?;
        let messages = order::matched(file, &draft)?;
        Ok(Self {
            file: file.into(),
            ranks: draft.ranks,
            messages,
        })
    }

    /// The QPs with their messages: so many for each two ends as there are tags, but not more than `qps`. Tags take
    /// turns, in the order in which they come first.
    fn lanes(&self, qps: u32) -> Vec<Lane> {
        let mut tags = BTreeMap::<([u32; 2], u32), u32>::new();
        let mut count = BTreeMap::<[u32; 2], u32>::new();
        let mut lanes = BTreeMap::<([u32; 2], u32), Vec<usize>>::new();
        for (place, message) in self.messages.iter().enumerate() {
            let qp = *tags.entry((message.ends, message.tag)).or_insert_with(|| {
                let count = count.entry(message.ends).or_default();
                *count += 1;
                (*count - 1) % qps.max(1)
            });
            lanes.entry((message.ends, qp)).or_default().push(place);
        }
        let lane = |((ends, qp), messages)| Lane { ends, qp, messages };
        lanes.into_iter().map(lane).collect()
    }
}

impl FlowSettings {
    /// The schedule of its file, if it has one that could be read.
    pub(super) fn read_schedule(&self) -> Option<&Arc<Goal>> {
        self.schedule.as_ref()?.as_ref().ok()
    }

    /// The host of each of so many ranks: those of `from`, or those of the same numbers.
    pub(super) fn rank_hosts(&self, ranks: usize, names: &Names) -> Vec<String> {
        match self.from.is_empty() {
            true => (0..ranks).map(|rank| format!("h{rank}")).collect(),
            false => names.hosts_of(&self.from).unwrap_or_default(),
        }
    }

    /// The flows of a schedule.
    pub(super) fn scheduled(&self, goal: &Goal, names: &Names) -> Vec<Connection<'_>> {
        let hosts = self.rank_hosts(goal.ranks.len(), names);
        let lane = |lane: Lane| {
            let [from, to] = lane.ends.map(|rank| hosts[rank as usize].clone());
            let places = lane.messages.iter();
            let messages = places.map(|place| (self.operation, goal.messages[*place].bytes));
            let name = match self.qps {
                1 => format!("{}.{from}.{to}", self.name),
                _ => format!("{}.{from}.{to}.{}", self.name, lane.qp),
            };
            Connection {
                settings: self,
                name,
                from,
                to,
                messages: messages.collect(),
                count: Some(lane.messages.len() as u64),
                start: self.start,
                dscp: self.dscp,
            }
        };
        goal.lanes(self.qps).into_iter().map(lane).collect()
    }

    /// What is measured of a schedule; `place` is that of the entry.
    pub(super) fn scheduled_job(&self, goal: &Goal, place: usize) -> Job {
        Job {
            name: self.name.clone(),
            pattern: None,
            schedule: Some(place as u32),
            hosts: goal.ranks.len(),
            bus_bytes: 0.0,
            units: Vec::new(),
        }
    }

    /// The schedule of each host, whose flows come behind `first` others.
    fn schedules(
        &self,
        goal: &Goal,
        place: usize,
        names: &Names,
        first: usize,
    ) -> Vec<(String, ScheduleConfig)> {
        // For each message its flow and its number there.
        let mut places = vec![(0, 0); goal.messages.len()];
        for (flow, lane) in (first..).zip(goal.lanes(self.qps)) {
            for (number, message) in (0..).zip(lane.messages) {
                places[message] = (flow, number);
            }
        }
        let mut carried = vec![BTreeMap::<u32, (usize, u64)>::new(); goal.ranks.len()];
        for (message, at) in goal.messages.iter().zip(places) {
            for (rank, operation) in message.ends.into_iter().zip(message.operations) {
                carried[rank as usize].insert(operation, at);
            }
        }
        let hosts = self.rank_hosts(goal.ranks.len(), names);
        let ranks = goal.ranks.iter().zip(carried).zip(hosts);
        let busy = ranks.filter(|((operations, _), _)| !operations.is_empty());
        busy.map(|((operations, carried), host)| {
            let operations = (0..).zip(operations).map(|(number, operation)| {
                let step = match operation.action {
                    Action::Calc { cpu, time } => Step::Calc {
                        cpu: cpu.into(),
                        time,
                    },
                    Action::Send(_) => {
                        let (sender, message) = carried[&number];
                        Step::Send { sender, message }
                    }
                    Action::Receive(_) => {
                        let (receiver, message) = carried[&number];
                        Step::Receive { receiver, message }
                    }
                };
                schedule::Operation {
                    step,
                    requires: operation.requires.clone(),
                }
            });
            let config = ScheduleConfig {
                job: place as u32,
                start: Time::ZERO + self.start,
                operations: operations.collect(),
            };
            (host, config)
        })
        .collect()
    }
}

impl Scenario {
    /// The schedules of [flows](Self::connections), each with its host. They name senders and receivers by the places
    /// of their flows.
    pub fn schedules(&self, flows: &[Connection<'_>]) -> Vec<(String, ScheduleConfig)> {
        if self.flows.iter().all(|entry| entry.goal.is_none()) {
            return Vec::new();
        }
        let names = Names::of(self);
        let ranges = self.ranges(flows);
        let entries = self.flows.iter().zip(ranges).enumerate();
        entries
            .filter_map(|(place, (entry, range))| {
                let goal = entry.read_schedule()?;
                Some(entry.schedules(goal, place, &names, range.start))
            })
            .flatten()
            .collect()
    }

    /// Checks an entry with a schedule.
    pub(super) fn check_goal(
        &self,
        flow: &FlowSettings,
        names: &Names,
        groups: Option<&BTreeMap<String, usize>>,
    ) -> Vec<Issue> {
        let Some(path) = &flow.goal else {
            return Vec::new();
        };
        let mut found = flow.beside_goal();
        let mut wrong = |key: &str, problem: String| {
            found.push(issue(format!("flows.{}.{key}", flow.name), problem));
        };
        let goal = match &flow.schedule {
            None => {
                wrong("goal", format!("{path} has not been read"));
                return found;
            }
            Some(Err(issues)) => {
                found.extend(issues.0.iter().cloned());
                return found;
            }
            Some(Ok(goal)) => goal,
        };
        let ranks = goal.ranks.len();
        if !flow.from.is_empty() {
            let Some(hosts) = names.hosts_of(&flow.from) else {
                let known = names.list_hosts();
                wrong(
                    "from",
                    format!("'{}' is no host: hosts are {known}", flow.from),
                );
                return found;
            };
            if hosts.len() < ranks {
                let problem = format!(
                    "{path} has {ranks} ranks, and '{}' is {}: a host for each rank",
                    flow.from,
                    match hosts.len() {
                        1 => "1 host".into(),
                        several => format!("{several} hosts"),
                    }
                );
                wrong("from", problem);
                return found;
            }
        }
        let hosts = flow.rank_hosts(ranks, names);
        if let Some(missing) = hosts.iter().find(|host| !names.hosts().contains(*host)) {
            let problem = format!(
                "{path} has {ranks} ranks, and there is no host {missing}: a host h0, h1, … for each rank, or `from`, \
                 which names them; hosts are {}",
                names.list_hosts()
            );
            wrong("goal", problem);
            return found;
        }
        if let Some(groups) = groups {
            let mut ends = goal
                .messages
                .iter()
                .map(|message| message.ends.map(|rank| &hosts[rank as usize]));
            if let Some([from, to]) = ends.find(|[from, to]| groups.get(*from) != groups.get(*to)) {
                wrong("goal", format!("no path leads from {from} to {to}"));
            }
        }
        found
    }
}

impl FlowSettings {
    /// Keys that do not go with a schedule.
    fn beside_goal(&self) -> Vec<Issue> {
        let plain = Self::new("", "", "");
        let said = "the file says it";
        let starts = "operations start when what they require is there";
        let given = [
            ("to", !self.to.is_empty(), said),
            ("pairs", self.pairs != plain.pairs, said),
            ("message", self.message != plain.message, said),
            ("count", self.count.is_some(), said),
            (
                "think",
                self.think.is_some(),
                "a `calc` of the file is compute time",
            ),
            ("interval", self.interval.is_some(), starts),
            ("after", !self.after.is_empty(), starts),
            ("lockstep", self.lockstep, starts),
            ("lockstep_qps", self.lockstep_qps, starts),
            ("ns3", self.ns3.is_some(), "an entry has one file"),
            ("sizes", self.sizes.is_some(), "an entry has one file"),
            ("pattern", self.pattern.is_some(), said),
            (
                "answers",
                self.answers.is_some(),
                "the file has its own answers",
            ),
            (
                "operation",
                self.operation.returns(),
                "its messages arrive at another host, and those of READs and atomics do not",
            ),
        ];
        self.not_with("goal", given)
    }
}

#[cfg(test)]
mod tests;
