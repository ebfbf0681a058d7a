//! Request packets whose payload is being fetched (`transmit_slots`).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::NEVER;
use super::path::Draft;
use crate::wire::PRIORITIES;

/// A packet that was granted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) qp: u16,
    /// When its payload is here.
    pub(super) ready: u64,
    pub(super) draft: Draft,
}

/// All slots, by class in the order of grants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Slots {
    slots: usize,
    used: usize,
    used_by: [usize; PRIORITIES],
    queues: [VecDeque<Slot>; PRIORITIES],
    /// A slot of which the last word is read in this cycle, and its class.
    leaving: Option<(u64, u8)>,
}

impl Slots {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            used: 0,
            used_by: [0; PRIORITIES],
            queues: Default::default(),
            leaving: None,
        }
    }

    /// Classes that have a slot left. `of_qps`: classes of open QPs; a class may hold all slots when there is no other, else half.
    pub(super) fn free(&self, of_qps: u8) -> u8 {
        if self.used == self.slots {
            return 0;
        }
        let free = |class: &u8| {
            let alone = of_qps & !(1 << class) == 0;
            alone || self.used_by[usize::from(*class)] < self.slots / 2
        };
        (0..8).filter(free).fold(0, |set, class| set | 1 << class)
    }

    /// A packet takes a slot.
    pub(super) fn put(&mut self, class: u8, slot: Slot) {
        self.used += 1;
        self.used_by[usize::from(class)] += 1;
        self.queues[usize::from(class)].push_back(slot);
    }

    /// When the first packet of a class may be selected.
    pub(super) fn ready(&self, class: u8) -> u64 {
        let first = self.queues[usize::from(class)].front();
        first.map_or(NEVER, |slot| slot.ready)
    }

    /// The first packet of a class is selected.
    pub(super) fn pop(&mut self, class: u8) -> Option<Slot> {
        self.queues[usize::from(class)].pop_front()
    }

    /// It has been read at `at`: its slot is free then.
    pub(super) fn read(&mut self, class: u8, at: u64) {
        debug_assert!(self.leaving.is_none(), "two packets are read at once");
        self.leaving = Some((at, class));
    }

    /// When a slot falls free.
    pub(super) fn next(&self) -> u64 {
        self.leaving.map_or(NEVER, |(at, _)| at)
    }

    /// Whether a slot fell free by `now`.
    pub(super) fn release(&mut self, now: u64) -> bool {
        let Some((_, class)) = self.leaving.take_if(|(at, _)| *at <= now) else {
            return false;
        };
        self.used -= 1;
        self.used_by[usize::from(class)] -= 1;
        true
    }
}
