//! What a host that runs in another part of a network shows of itself: its state without its memory, and of what grows
//! only what is new.

use super::{Host, Receiver, Sender};

/// How much of what grows was shown before: messages of senders and arrivals at receivers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostKnown {
    delivered: Vec<usize>,
    arrivals: Vec<usize>,
}

impl HostKnown {
    /// What somebody knows who has seen nothing of the host.
    pub fn nothing(host: &Host) -> Self {
        Self {
            delivered: vec![0; host.senders.len()],
            arrivals: vec![0; host.receivers.len()],
        }
    }

    /// What somebody knows who has a copy of the host.
    pub fn of(host: &Host) -> Self {
        let delivered = host.senders.iter().map(|sender| sender.delivered().len());
        let arrivals = host.receivers.iter();
        Self {
            delivered: delivered.collect(),
            arrivals: arrivals.map(|receiver| receiver.arrivals().len()).collect(),
        }
    }
}

impl Host {
    /// The host's state with only what came since `known`, which is all of it from then on. Memory, what a test posts
    /// by hand, and operations of schedules are not in it. Panics when the host has other flows than when `known` was
    /// made.
    pub fn tail(&self, known: &mut HostKnown) -> Self {
        let before = std::mem::replace(known, HostKnown::of(self));
        let senders = self.senders.iter().zip(before.delivered);
        let receivers = self.receivers.iter().zip(before.arrivals);
        let senders: Vec<Sender> = senders.map(|(sender, known)| sender.tail(known)).collect();
        let receivers: Vec<Receiver> = receivers
            .map(|(receiver, known)| receiver.tail(known))
            .collect();
        assert_eq!(
            [senders.len(), receivers.len()],
            [self.senders.len(), self.receivers.len()],
            "the host has other flows than before"
        );
        Self {
            pcie: self.pcie.clone(),
            senders,
            receivers,
            places: self.places.clone(),
            gates: self.gates.clone(),
            schedules: (self.schedules.as_ref()).map(|all| Box::new(all.shown())),
            fetches: self.fetches.clone(),
            originals: self.originals.clone(),
            stalls: self.stalls.clone(),
            manual: None,
            overlay: None,
            unreadable: self.unreadable.clone(),
            ..*self
        }
    }

    /// Takes the state of [`tail`](Self::tail), behind all that was shown before.
    pub fn follow(&mut self, tail: Self) {
        let mut senders = std::mem::take(&mut self.senders);
        let mut receivers = std::mem::take(&mut self.receivers);
        for (sender, tail) in senders.iter_mut().zip(tail.senders) {
            sender.follow(tail);
        }
        for (receiver, tail) in receivers.iter_mut().zip(tail.receivers) {
            receiver.follow(tail);
        }
        *self = Self {
            senders,
            receivers,
            ..tail
        };
    }
}
