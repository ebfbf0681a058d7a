//! DMA reads of payload, in the order of grants (`transmit_slots`).
//!
//! Reads are answered one behind the other. Were all requested at once, that of a packet to be sent again would wait
//! for the data of all packets in front that nobody wants any more. So a read waits while more data is still to come
//! than the bus needs to be busy.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::NEVER;

/// Beats of a unit of [`NicSettings::read_ahead`](crate::nic::NicSettings::read_ahead), of 32 bytes each.
const UNIT_BEATS: u64 = 8;

/// A read that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// Counts up.
    pub(super) number: u64,
    pub(super) class: u8,
    pub(super) bytes: usize,
    /// The earliest cycle.
    from: u64,
}

/// The cycles of the first and the last beat of a read whose data is to come. There is a beat in each cycle between.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Coming {
    first: u64,
    last: u64,
}

impl Coming {
    fn units(self) -> u64 {
        (self.last - self.first + 1).div_ceil(UNIT_BEATS)
    }

    /// The cycle in which `units` of it have come, 1 or more.
    fn come(self, units: u64) -> u64 {
        (self.first + units * UNIT_BEATS - 1).min(self.last)
    }
}

/// The reads of a NIC.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Reads {
    /// Units to come with which no read is requested.
    limit: u64,
    waiting: VecDeque<Read>,
    coming: VecDeque<Coming>,
    /// Units of all that are in `coming`.
    units: u64,
    /// The cycle in which the first one that waits is requested.
    due: u64,
    next_number: u64,
    /// Whether reads of a class may pass those of others, which wait for translations.
    passing: bool,
}

impl Reads {
    /// `limit` in units; 0: none.
    pub(super) fn new(limit: u16) -> Self {
        Self {
            limit: match limit {
                0 => u64::MAX,
                limit => limit.into(),
            },
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
            units: 0,
            due: NEVER,
            next_number: 0,
            passing: false,
        }
    }

    /// Lets reads of a class pass those of others that wait longer.
    pub(super) const fn let_classes_pass(&mut self) {
        self.passing = true;
    }

    /// Whether a read waits.
    pub(super) fn waits(&self, number: u64) -> bool {
        self.waiting.iter().any(|read| read.number == number)
    }

    /// The place of the read that is next: the first one, or of the first ones of all classes the earliest.
    fn first(&self) -> Option<usize> {
        if !self.passing {
            return (!self.waiting.is_empty()).then_some(0);
        }
        let mut classes = 0u8;
        let mut firsts = (0..self.waiting.len()).filter(|place| {
            let class = 1 << self.waiting[*place].class;
            let is_first = classes & class == 0;
            classes |= class;
            is_first
        });
        let earliest = firsts.next()?;
        Some(firsts.fold(earliest, |earliest, place| {
            match self.waiting[place].from < self.waiting[earliest].from {
                true => place,
                false => earliest,
            }
        }))
    }

    /// When the next read is requested.
    pub(super) const fn due(&self) -> u64 {
        self.due
    }

    /// Takes a read, from a cycle on. Returns its number.
    pub(super) fn ask(&mut self, class: u8, bytes: usize, from: u64) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.push_back(Read {
            number,
            class,
            bytes,
            from,
        });
        if self.waiting.len() == 1 || self.passing {
            self.find_due();
        }
        number
    }

    /// Takes the read that is due by `now`, with the cycle in which it is.
    pub(super) fn take(&mut self, now: u64) -> Option<(u64, Read)> {
        if self.due > now {
            return None;
        }
        let at = std::mem::replace(&mut self.due, NEVER);
        let first = self.first()?;
        self.waiting.remove(first).map(|read| (at, read))
    }

    /// Puts the read back that was taken last: it waits until a cycle.
    pub(super) fn put_back(&mut self, read: Read, until: u64) {
        let behind = |other: &Read| other.number < read.number;
        let place = self.waiting.partition_point(behind);
        self.waiting.insert(
            place,
            Read {
                from: until,
                ..read
            },
        );
        self.find_due();
    }

    /// Notes when the first and the last beat of the read come that was taken.
    pub(super) fn requested(&mut self, first: u64, last: u64) {
        let coming = Coming { first, last };
        self.units += coming.units();
        self.coming.push_back(coming);
        self.find_due();
    }

    /// Leaves out a read that waits.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.waiting.retain(|read| read.number != number);
        self.find_due();
    }

    /// Finds out when there is room for the first read.
    fn find_due(&mut self) {
        let Some(read) = self.first().map(|place| self.waiting[place]) else {
            self.due = NEVER;
            return;
        };
        while let Some(first) = self.coming.front().filter(|first| first.last < read.from) {
            self.units -= first.units();
            self.coming.pop_front();
        }
        // So many units have to come first.
        let mut more = (self.units + 1).saturating_sub(self.limit);
        let mut room = read.from;
        for coming in &self.coming {
            if more == 0 {
                break;
            }
            let units = coming.units().min(more);
            room = room.max(coming.come(units) + 1);
            more -= units;
        }
        self.due = room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(reads: &mut Reads, now: u64, last: u64) -> u64 {
        let (at, read) = reads.take(now).unwrap();
        assert!(at <= now);
        reads.requested(last + 1 - read.bytes.div_ceil(32) as u64, last);
        read.number
    }

    #[test]
    fn reads_wait_until_units_have_come() {
        let mut reads = Reads::new(5);
        // 4 units each.
        for from in [10, 11, 12] {
            reads.ask(3, 1024, from);
        }
        assert_eq!(reads.due(), 10);
        assert_eq!(taken(&mut reads, 10, 131), 0);
        assert_eq!(reads.due(), 11);
        assert_eq!(taken(&mut reads, 11, 163), 1);
        // Eight units are to come, and the fourth comes with the last beat of the first read.
        assert_eq!(reads.due(), 132);
        assert_eq!(reads.take(131), None);
        assert_eq!(taken(&mut reads, 132, 332), 2);
        assert_eq!(reads.due(), NEVER);
        // All have come.
        reads.ask(3, 1, 400);
        assert_eq!(reads.due(), 400);
    }

    #[test]
    fn a_part_of_a_unit_is_a_unit() {
        let mut reads = Reads::new(2);
        // 41 beats of which eight are a unit: six units.
        reads.ask(3, 1_300, 0);
        reads.ask(3, 1, 0);
        taken(&mut reads, 0, 140);
        // Of its six units one may be left. The last one has the last beat, 41, and the fifth the one before it.
        assert_eq!(reads.due(), 139 + 1);
    }

    #[test]
    fn what_is_left_out_makes_room_for_the_next_one() {
        let mut reads = Reads::new(1);
        reads.ask(3, 4_096, 0);
        let second = reads.ask(3, 4_096, 0);
        let third = reads.ask(4, 100, 0);
        taken(&mut reads, 0, 300);
        assert_eq!(reads.due(), 301);
        reads.leave_out(second);
        assert_eq!(taken(&mut reads, 301, 500), third);
        reads.leave_out(7);
        assert_eq!(reads.due(), NEVER);
    }

    #[test]
    fn without_a_limit_none_waits() {
        let mut reads = Reads::new(0);
        for from in 0..16 {
            reads.ask(0, 4_096, from);
            assert_eq!(reads.due(), from);
            taken(&mut reads, from, 1_000 + 128 * from);
        }
    }
}
