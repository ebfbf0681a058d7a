//! Gates: messages that wait until the host has seen others.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::time::{Cycles, Duration};

/// The end of a flow whose messages a gate counts. The numbers are places in the lists of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum End {
    /// Messages of a sender that are complete.
    Sender(usize),
    /// Messages of a receiver that the application has seen: with a completion if they take a receive buffer, else in
    /// memory.
    Receiver(usize),
}

/// Messages of some senders that wait for messages of other flows, round by round. All flows end at one host, so
/// nothing but what that host has seen opens a gate. `E` names an end of a flow: at a host, [`End`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateConfig<E = End> {
    /// The senders that wait, by their places.
    pub senders: Vec<usize>,
    /// How many messages each sender may post in a round; `u64::MAX`: all.
    pub batch: u64,
    /// Rounds that are open from the start. Round r opens when r − `lead` + 1 rounds of all `ends` are over.
    pub lead: u64,
    /// What the gate waits for, each with its number of messages in a round.
    pub ends: Vec<(E, u64)>,
    /// Time from the last of these messages to the opening.
    pub think: Duration,
    /// Only every so many rounds, counted from the first, have to wait for `think`; 1 or more.
    pub think_every: u64,
}

impl<E> GateConfig<E> {
    /// The same gate with other names of its senders and ends.
    #[must_use]
    pub fn map<F>(self, sender: impl Fn(usize) -> usize, end: impl Fn(E) -> F) -> GateConfig<F> {
        let ends = self.ends.into_iter();
        GateConfig {
            senders: self.senders.into_iter().map(sender).collect(),
            batch: self.batch,
            lead: self.lead,
            ends: ends.map(|(of, per)| (end(of), per)).collect(),
            think: self.think,
            think_every: self.think_every,
        }
    }
}

/// A gate and how far its ends are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Gate {
    pub(super) config: GateConfig,
    /// For each end, its messages so far.
    seen: Vec<u64>,
    /// Rounds that all ends have behind them.
    over: u64,
    /// Number of ends that have not reached the end of the next round.
    missing: usize,
}

impl Gate {
    pub(super) fn new(config: GateConfig) -> Self {
        Self {
            seen: vec![0; config.ends.len()],
            over: 0,
            missing: config.ends.len(),
            config,
        }
    }

    /// Notes that an end has come to a number of messages. Returns how many rounds are open if that opens one.
    fn advance(&mut self, end: usize, messages: u64) -> Option<u64> {
        let needs = |over: u64, per: u64| (over + 1).saturating_mul(per);
        let per = self.config.ends[end].1;
        let before = std::mem::replace(&mut self.seen[end], messages);
        let need = needs(self.over, per);
        if before >= need || messages < need {
            return None;
        }
        self.missing -= 1;
        if self.missing > 0 {
            return None;
        }
        while self.missing == 0 {
            self.over += 1;
            let ends = self.config.ends.iter().zip(&self.seen);
            let behind = ends.filter(|((_, per), seen)| **seen < needs(self.over, *per));
            self.missing = behind.count();
        }
        Some(self.config.lead + self.over)
    }

    /// Whether the last round that is open has to wait for `think`.
    fn thinks(&self, open: u64) -> bool {
        (open - 1).is_multiple_of(self.config.think_every)
    }
}

/// Up to which message a gate lets a sender post, and from which cycles on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Allowance(VecDeque<(u64, Cycles)>);

impl Allowance {
    pub(super) fn add(&mut self, messages: u64, from: Cycles) {
        self.0.push_back((messages, from));
    }

    /// From which cycle on the message behind `posted` ones may be posted. `None`: not yet.
    pub(super) fn from(&self, posted: u64) -> Option<Cycles> {
        let first = self.0.iter().find(|(messages, _)| *messages > posted)?;
        Some(first.1)
    }

    /// Forgets what was used.
    pub(super) fn posted(&mut self, posted: u64) {
        while self
            .0
            .front()
            .is_some_and(|(messages, _)| *messages <= posted)
        {
            self.0.pop_front();
        }
    }
}

/// An opening: a gate lets its senders post up to a message, after `think` or at once.
pub(super) struct Opening {
    pub(super) gate: usize,
    pub(super) messages: u64,
    pub(super) think: Duration,
}

/// The gates of a host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Gates {
    list: Vec<Gate>,
    /// The gates that count an end, each with the end's place there.
    of_end: BTreeMap<End, Vec<(usize, usize)>>,
}

impl Gates {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, gate: usize) -> &GateConfig {
        &self.list[gate].config
    }

    /// Adds a gate, and returns how many messages its senders may post at once.
    pub(super) fn add(&mut self, config: GateConfig) -> u64 {
        let gate = self.list.len();
        for (place, (end, _)) in config.ends.iter().enumerate() {
            self.of_end.entry(*end).or_default().push((gate, place));
        }
        let first = config.lead.saturating_mul(config.batch);
        self.list.push(Gate::new(config));
        first
    }

    /// Notes that an end has come to a number of messages. Returns the gates that this opens.
    pub(super) fn advance(&mut self, end: End, messages: u64) -> Vec<Opening> {
        let mut opened = Vec::new();
        if self.list.is_empty() {
            return opened;
        }
        for &(number, place) in self.of_end.get(&end).into_iter().flatten() {
            let gate = &mut self.list[number];
            if let Some(open) = gate.advance(place, messages) {
                let thinks = gate.thinks(open);
                opened.push(Opening {
                    gate: number,
                    messages: open.saturating_mul(gate.config.batch),
                    think: if thinks {
                        gate.config.think
                    } else {
                        Duration::ZERO
                    },
                });
            }
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(lead: u64, ends: &[u64]) -> Gate {
        let end = |(place, per): (usize, &u64)| (End::Receiver(place), *per);
        Gate::new(GateConfig {
            senders: vec![0],
            batch: 1,
            lead,
            ends: ends.iter().enumerate().map(end).collect(),
            think: Duration::ZERO,
            think_every: 1,
        })
    }

    #[test]
    fn a_round_opens_with_the_last_of_its_ends() {
        let mut gate = gate(1, &[1, 2]);
        assert_eq!(gate.advance(1, 1), None);
        assert_eq!(gate.advance(0, 1), None);
        assert_eq!(gate.advance(1, 2), Some(2));
        // One end is rounds ahead: each message of the other opens one.
        for ahead in 3..=8 {
            assert_eq!(gate.advance(1, ahead), None);
        }
        assert_eq!(gate.advance(0, 2), Some(3));
        assert_eq!(gate.advance(0, 4), Some(5));
        assert_eq!(gate.advance(0, 5), None);
    }

    #[test]
    fn only_every_so_many_rounds_wait_for_think() {
        let mut gate = gate(1, &[1]);
        gate.config.think_every = 3;
        let thinks: Vec<bool> = (1..=6).map(|open| gate.thinks(open)).collect();
        assert_eq!(thinks, [true, false, false, true, false, false]);
    }

    #[test]
    fn an_allowance_keeps_the_cycle_of_each_message() {
        let mut allowance = Allowance::default();
        assert_eq!(allowance.from(0), None);
        allowance.add(2, Cycles(10));
        allowance.add(3, Cycles(70));
        assert_eq!(allowance.from(1), Some(Cycles(10)));
        assert_eq!(allowance.from(2), Some(Cycles(70)));
        allowance.posted(2);
        assert_eq!(allowance.from(2), Some(Cycles(70)));
        assert_eq!(allowance.from(3), None);
    }
}
