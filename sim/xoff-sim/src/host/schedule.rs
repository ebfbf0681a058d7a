//! Schedules: operations of a host that require each other, such as those of a rank of a GOAL file.
//!
//! Between two calls of the NIC nothing here moves. What the host sees, and what a processor ends, are events with
//! their times, and [`Schedules::advance`] has happen what is due, in order of time. So the result does not depend on
//! how often it is called.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::gate::End;
use crate::time::{Duration, Time};

/// A time that has not come.
const NOT_YET: Time = Time::MAX;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// A processor of the schedule is busy for so long. Those of one processor go one after another, in the order in
    /// which all that they require is there.
    Calc {
        /// The processor.
        cpu: u32,
        /// For how long.
        time: Duration,
    },
    /// A message of a flow is posted. It ends when the message is complete.
    Send {
        /// The flow's sender, by its place.
        sender: usize,
        /// Which of its messages. A flow has its messages posted in their order, each with the ones before it.
        message: u64,
    },
    /// The application waits for a message of a flow. It ends when the message has arrived.
    Receive {
        /// The flow's receiver, by its place.
        receiver: usize,
        /// Which of its messages.
        message: u64,
    },
}

/// What of another operation is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Point {
    /// That it has started.
    Start,
    /// That it has ended.
    End,
}

/// An operation of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// What it does.
    pub step: Step,
    /// What it requires of others of the schedule, by their numbers.
    pub requires: Vec<(u32, Point)>,
}

/// Operations of a host, which start as soon as what they require is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleConfig {
    /// A number by which the schedule is found again: ranks of one job have the same.
    pub job: u32,
    /// When operations that require nothing start.
    pub start: Time,
    /// The operations.
    pub operations: Vec<Operation>,
}

impl ScheduleConfig {
    /// The same schedule with other names of senders and receivers.
    #[must_use]
    pub fn map(
        mut self,
        of_sender: impl Fn(usize) -> usize,
        of_receiver: impl Fn(usize) -> usize,
    ) -> Self {
        for operation in &mut self.operations {
            match &mut operation.step {
                Step::Calc { .. } => {}
                Step::Send { sender, .. } => *sender = of_sender(*sender),
                Step::Receive { receiver, .. } => *receiver = of_receiver(*receiver),
            }
        }
        self
    }
}

/// How far a schedule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of its job.
    pub job: u32,
    /// When it starts.
    pub start: Time,
    /// Operations that have not ended.
    pub left: usize,
    /// When the last one so far ended.
    pub ended: Time,
}

/// What happens at a time. Of several at one time, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Event {
    /// A schedule starts.
    Begin(usize),
    /// The host has seen so many messages of a receiver, or completions of a sender.
    Seen(End, u64),
    /// A processor is through with an operation.
    Over(u32),
}

/// An operation and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Running {
    step: Step,
    schedule: usize,
    /// How many of its requirements are not there.
    missing: u32,
    /// Whether its message has arrived, of those that wait for one.
    arrived: bool,
    /// When it started, and when it ended.
    times: [Time; 2],
    /// Where in the list of followers those of its start begin, those of its end, and those of the next operation.
    followers: [u32; 3],
}

/// A processor.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Cpu {
    busy: bool,
    waiting: VecDeque<u32>,
}

/// The operations that have the messages of a sender or receiver, in the order of the messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lane {
    operations: Vec<u32>,
    /// How many of the messages may be posted.
    let_through: usize,
    /// How many of them the host has seen.
    seen: usize,
}

/// A sender may post so many messages, the last of them from this time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) sender: usize,
    pub(super) messages: u64,
    pub(super) from: Time,
}

/// The schedules of a host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Schedules {
    operations: Vec<Running>,
    /// Operations that require something of others.
    followers: Vec<u32>,
    lanes: BTreeMap<End, Lane>,
    cpus: BTreeMap<(usize, u32), Cpu>,
    events: BTreeSet<(Time, Event)>,
    progress: Vec<Progress>,
}

impl Schedules {
    /// Adds a schedule.
    ///
    /// # Panics
    ///
    /// If an operation requires one that there is not, or two have the same message.
    pub(super) fn add(&mut self, config: ScheduleConfig) {
        let first = self.operations.len();
        let schedule = self.progress.len();
        let count = config.operations.len();
        self.progress.push(Progress {
            job: config.job,
            start: config.start,
            left: count,
            ended: config.start,
        });
        let mut edges: Vec<(u32, Point, u32)> = Vec::new();
        let mut lanes = BTreeMap::<End, Vec<(u64, u32)>>::new();
        for (number, operation) in config.operations.iter().enumerate() {
            let own = (first + number) as u32;
            for (other, point) in &operation.requires {
                assert!((*other as usize) < count, "an operation that there is not");
                edges.push((first as u32 + other, *point, own));
            }
            let lane = match operation.step {
                Step::Calc { .. } => continue,
                Step::Send { sender, message } => (End::Sender(sender), message),
                Step::Receive { receiver, message } => (End::Receiver(receiver), message),
            };
            lanes.entry(lane.0).or_default().push((lane.1, own));
        }
        edges.sort_unstable();
        let mut edges = edges.into_iter().peekable();
        for (number, operation) in config.operations.into_iter().enumerate() {
            let own = (first + number) as u32;
            let mut followers = [self.followers.len() as u32; 3];
            for (place, point) in [(1, Point::Start), (2, Point::End)] {
                while let Some((.., follower)) =
                    edges.next_if(|edge| (edge.0, edge.1) == (own, point))
                {
                    self.followers.push(follower);
                }
                followers[place] = self.followers.len() as u32;
            }
            self.operations.push(Running {
                step: operation.step,
                schedule,
                missing: operation.requires.len() as u32,
                arrived: false,
                times: [NOT_YET; 2],
                followers,
            });
        }
        for (end, mut messages) in lanes {
            messages.sort_unstable();
            let whole = (0..)
                .zip(&messages)
                .all(|(place, message)| message.0 == place);
            assert!(whole, "each message of a flow has one operation");
            let operations = messages.into_iter().map(|(_, own)| own).collect();
            let lane = Lane {
                operations,
                ..Lane::default()
            };
            let taken = self.lanes.insert(end, lane);
            assert!(taken.is_none(), "a flow of two schedules");
        }
        self.events.insert((config.start, Event::Begin(schedule)));
    }

    /// Notes that the host sees at `at` that an end has come to a number of messages.
    pub(super) fn notice(&mut self, end: End, messages: u64, at: Time) {
        if self.lanes.contains_key(&end) {
            self.events.insert((at, Event::Seen(end, messages)));
        }
    }

    /// When something happens next.
    pub(super) fn next(&self) -> Option<Time> {
        self.events.first().map(|(at, _)| *at)
    }

    /// Has happen what is due until `now`. Returns what senders may post.
    pub(super) fn advance(&mut self, now: Time) -> Vec<Opening> {
        let mut openings = Vec::new();
        while let Some((at, event)) = self.events.pop_first() {
            if at > now {
                self.events.insert((at, event));
                break;
            }
            let mut moved = Moved {
                schedules: self,
                at,
                ready: VecDeque::new(),
                openings: &mut openings,
            };
            moved.happen(event);
        }
        openings
    }

    /// How far the schedules are.
    pub(super) fn progress(&self) -> &[Progress] {
        &self.progress
    }

    /// When each operation of a job's schedules started and ended; [`Time::MAX`]: not yet.
    pub(super) fn times(&self, job: u32) -> impl Iterator<Item = [Time; 2]> + '_ {
        let own = move |running: &&Running| self.progress[running.schedule].job == job;
        (self.operations.iter().filter(own)).map(|running| running.times)
    }

    /// What others are shown: how far the schedules are.
    pub(super) fn shown(&self) -> Self {
        Self {
            progress: self.progress.clone(),
            ..Self::default()
        }
    }
}

/// Schedules while something happens at a time.
struct Moved<'a> {
    schedules: &'a mut Schedules,
    at: Time,
    /// Operations whose requirements are all there.
    ready: VecDeque<u32>,
    openings: &'a mut Vec<Opening>,
}

impl Moved<'_> {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin(schedule) => {
                let all = (0..).zip(&self.schedules.operations);
                let free = all.filter(|(_, it)| it.schedule == schedule && it.missing == 0);
                self.ready = free.map(|(own, _)| own).collect();
            }
            Event::Seen(end, messages) => {
                let lane = self.schedules.lanes.get_mut(&end);
                let Some(lane) = lane.filter(|lane| lane.seen < messages as usize) else {
                    return;
                };
                let new = lane.operations[lane.seen..messages as usize].to_vec();
                lane.seen = messages as usize;
                for own in new {
                    let running = &mut self.schedules.operations[own as usize];
                    running.arrived = true;
                    if running.times[0] != NOT_YET {
                        self.end(own);
                    }
                }
            }
            Event::Over(own) => {
                let Running { step, schedule, .. } = self.schedules.operations[own as usize];
                if let Step::Calc { cpu, .. } = step {
                    let cpu = self.schedules.cpus.entry((schedule, cpu)).or_default();
                    cpu.busy = false;
                    if let Some(next) = cpu.waiting.pop_front() {
                        cpu.busy = true;
                        self.calculate(next);
                    }
                }
                self.end(own);
            }
        }
        while let Some(own) = self.ready.pop_front() {
            self.begin(own);
        }
    }

    /// Begins an operation that requires nothing more.
    fn begin(&mut self, own: u32) {
        let Running {
            step,
            schedule,
            arrived,
            ..
        } = self.schedules.operations[own as usize];
        match step {
            Step::Calc { cpu, .. } => {
                let cpu = self.schedules.cpus.entry((schedule, cpu)).or_default();
                match std::mem::replace(&mut cpu.busy, true) {
                    true => cpu.waiting.push_back(own),
                    false => self.calculate(own),
                }
            }
            Step::Receive { .. } => {
                self.start(own);
                if arrived {
                    self.end(own);
                }
            }
            Step::Send { sender, .. } => self.let_through(sender),
        }
    }

    /// Has a processor take up an operation.
    fn calculate(&mut self, own: u32) {
        if let Step::Calc { time, .. } = self.schedules.operations[own as usize].step {
            let over = self.at.saturating_add(time);
            self.schedules.events.insert((over, Event::Over(own)));
        }
        self.start(own);
    }

    /// Lets a sender post the messages whose turn it is, as far as they require nothing more.
    fn let_through(&mut self, sender: usize) {
        let lane = &self.schedules.lanes[&End::Sender(sender)];
        let waiting = &lane.operations[lane.let_through..];
        let free = |own: &&u32| self.schedules.operations[**own as usize].missing == 0;
        let free: Vec<u32> = waiting.iter().take_while(free).copied().collect();
        if free.is_empty() {
            return;
        }
        let lane = self.schedules.lanes.entry(End::Sender(sender));
        let lane = lane.or_default();
        lane.let_through += free.len();
        self.openings.push(Opening {
            sender,
            messages: lane.let_through as u64,
            from: self.at,
        });
        for own in free {
            self.start(own);
        }
    }

    fn start(&mut self, own: u32) {
        let running = &mut self.schedules.operations[own as usize];
        running.times[0] = self.at;
        let [first, behind, _] = running.followers;
        self.follow(first, behind);
    }

    fn end(&mut self, own: u32) {
        let running = &mut self.schedules.operations[own as usize];
        running.times[1] = self.at;
        let [_, first, behind] = running.followers;
        let progress = &mut self.schedules.progress[running.schedule];
        progress.left -= 1;
        progress.ended = self.at;
        self.follow(first, behind);
    }

    /// Something that these followers required is there.
    fn follow(&mut self, first: u32, behind: u32) {
        for place in first..behind {
            let own = self.schedules.followers[place as usize];
            let running = &mut self.schedules.operations[own as usize];
            running.missing -= 1;
            if running.missing == 0 {
                self.ready.push_back(own);
            }
        }
    }
}

#[cfg(test)]
mod tests;
