//! Slots for packets whose payload is being fetched (`transmit_slots`): requests and READ responses.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::NEVER;
use super::path::Draft;
use super::reads::Reads;
use crate::wire::{PRIORITIES, Psn, set_bits};

/// What a packet that was granted is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Granted {
    Request {
        /// Whether it asks for an ACK.
        asks: bool,
        /// Whether it is sent again.
        again: bool,
    },
    /// A READ response, or that of an atomic.
    Response,
}

/// A packet that was granted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) qp: u16,
    /// When its payload has been fetched; [`NEVER`] while its read waits.
    pub(super) ready: u64,
    /// The number of its read.
    pub(super) read: u64,
    pub(super) draft: Draft,
    pub(super) psn: Psn,
    pub(super) granted: Granted,
}

impl Slot {
    /// Whether it is a request that asks for an ACK.
    pub(super) const fn asks(&self) -> bool {
        matches!(self.granted, Granted::Request { asks: true, .. })
    }
}

/// All slots, by class and in the order of grants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Slots {
    slots: usize,
    used: usize,
    used_by: [usize; PRIORITIES],
    /// Whether the last packet of a class had more than 2 KiB of payload.
    long: [bool; PRIORITIES],
    queues: [VecDeque<Slot>; PRIORITIES],
    /// The reads of their payload.
    pub(super) reads: Reads,
    /// The slot whose last word is being read: the cycle in which that is done, and its class.
    leaving: Option<(u64, u8)>,
    /// Slots of packets that were withdrawn: when their data has been fetched, and their class.
    draining: Vec<(u64, u8)>,
}

impl Slots {
    /// `read_ahead` is that of the settings.
    pub(super) fn new(slots: usize, read_ahead: u16) -> Self {
        Self {
            slots,
            used: 0,
            used_by: [0; PRIORITIES],
            long: [false; PRIORITIES],
            queues: Default::default(),
            reads: Reads::new(read_ahead),
            leaving: None,
            draining: Vec::new(),
        }
    }

    /// Those classes of open QPs, one bit each, for which a slot is free: one slot is kept for each that holds none,
    /// and a class takes another one while it holds fewer than are left then. Slots of a class with packets above 2 KiB
    /// count as three.
    pub(super) fn free(&self, of_qps: u8) -> u8 {
        if self.used == self.slots {
            return 0;
        }
        let of_class = |class: u8| self.used_by[usize::from(class)];
        let kept = set_bits(of_qps).filter(|class| of_class(*class) == 0);
        let used = self.used + kept.count();
        let share = |class: u8| match self.long[usize::from(class)] {
            true => 3 * of_class(class),
            false => of_class(class),
        };
        let free = set_bits(of_qps)
            .filter(|class| of_class(*class) == 0 || share(*class) + used < self.slots);
        free.fold(0, |set, class| set | 1 << class)
    }

    /// The classes that hold a slot, one bit each.
    pub(super) fn held(&self) -> u8 {
        let held = (0..).zip(self.used_by).filter(|(_, used)| *used > 0);
        held.fold(0, |set, (class, _)| set | 1 << class)
    }

    /// Puts a packet into a slot.
    pub(super) fn put(&mut self, class: u8, slot: Slot) {
        self.used += 1;
        self.used_by[usize::from(class)] += 1;
        self.long[usize::from(class)] = slot.draft.payload > 2_048;
        self.queues[usize::from(class)].push_back(slot);
    }

    /// Notes when the payload of a packet will have been fetched.
    pub(super) fn fetched(&mut self, class: u8, read: u64, ready: u64) {
        let mut waiting = self.queues[usize::from(class)].iter_mut();
        let slot = waiting.find(|slot| slot.ready == NEVER && slot.read == read);
        slot.expect("reads of packets that are withdrawn are left out")
            .ready = ready;
    }

    /// The packet of a class whose payload a read is for that waits.
    pub(super) fn reading(&self, class: u8, read: u64) -> Option<&Slot> {
        let mut waiting = self.queues[usize::from(class)].iter();
        waiting.find(|slot| slot.ready == NEVER && slot.read == read)
    }

    /// The first packet of a class.
    pub(super) fn first(&self, class: u8) -> Option<&Slot> {
        self.queues[usize::from(class)].front()
    }

    /// When the first packet of a class may be selected.
    pub(super) fn ready(&self, class: u8) -> u64 {
        self.first(class).map_or(NEVER, |slot| slot.ready)
    }

    /// Takes the first packet of a class, which is selected.
    pub(super) fn pop(&mut self, class: u8) -> Option<Slot> {
        self.queues[usize::from(class)].pop_front()
    }

    /// Notes that the packet taken last has been read at `at`, when its slot becomes free.
    pub(super) fn read(&mut self, class: u8, at: u64) {
        debug_assert!(self.leaving.is_none(), "two packets are read at once");
        self.leaving = Some((at, class));
    }

    /// Withdraws the packets of a QP that are not `wanted` any more, in cycle `now`. Returns their number.
    pub(super) fn withdraw(&mut self, qp: u16, now: u64, wanted: impl Fn(&Slot) -> bool) -> u64 {
        let before = self.draining.len();
        let keeps = |slot: &Slot| slot.qp != qp || wanted(slot);
        for (class, queue) in (0..).zip(&mut self.queues) {
            // Nearly always, since only a lost packet makes others unwanted.
            if queue.iter().all(keeps) {
                continue;
            }
            let (draining, reads) = (&mut self.draining, &mut self.reads);
            queue.retain(|slot| {
                let keep = keeps(slot);
                if !keep {
                    let waits = slot.ready == NEVER;
                    if waits {
                        reads.leave_out(slot.read);
                    }
                    draining.push((if waits { now + 1 } else { slot.ready }, class));
                }
                keep
            });
        }
        (self.draining.len() - before) as u64
    }

    /// Whether a packet of a QP that asks for an ACK is waiting.
    pub(super) fn asks(&self, qp: u16) -> bool {
        let mut waiting = self.queues.iter().flatten();
        waiting.any(|slot| slot.qp == qp && slot.asks())
    }

    /// Whether a response of a QP is waiting that has this PSN or one behind it.
    pub(super) fn has_response(&self, qp: u16, psn: Psn) -> bool {
        let mut waiting = self.queues.iter().flatten().filter(|slot| slot.qp == qp);
        waiting.any(|slot| slot.granted == Granted::Response && slot.psn.ahead_of(psn) >= 0)
    }

    /// When the next slot becomes free or the next read is requested.
    pub(super) fn next(&self) -> u64 {
        let draining = self.draining.iter().map(|(at, _)| *at).min();
        let leaving = self.leaving.map(|(at, _)| at);
        let next = leaving.into_iter().chain(draining).min();
        next.unwrap_or(NEVER).min(self.reads.due())
    }

    /// Frees the slots that are due by `now`. Returns whether there were any.
    pub(super) fn release(&mut self, now: u64) -> bool {
        let Self {
            used,
            used_by,
            leaving,
            draining,
            ..
        } = self;
        let before = *used;
        let mut free = |class: u8| {
            *used -= 1;
            used_by[usize::from(class)] -= 1;
        };
        if let Some((_, class)) = leaving.take_if(|(at, _)| *at <= now) {
            free(class);
        }
        draining.retain(|(at, class)| {
            if *at <= now {
                free(*class);
            }
            *at > now
        });
        *used < before
    }
}
