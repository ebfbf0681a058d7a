//! Shares of the port by the weights of classes (`class_scheduler` of the RTL).

use serde::{Deserialize, Serialize};

use crate::nic::ClassCosts;
use crate::wire::PRIORITIES;

/// Bytes of the dearest class that a class may save up: two packets of 4 KiB.
const SAVED: i64 = 8_192;

/// Start-time fair queueing: what each class has paid more than the class that is served. A class that waits for its
/// packets may have saved up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClassScheduler {
    costs: ClassCosts,
    /// The least debt of a class that waits for its packets.
    saved: i64,
    debts: [i64; PRIORITIES],
}

impl ClassScheduler {
    /// A scheduler of classes none of which has paid.
    pub(super) fn new(costs: ClassCosts) -> Self {
        let dearest = costs.0.into_iter().max().unwrap_or(0);
        Self {
            costs,
            saved: -i64::from(dearest) * SAVED,
            debts: [0; PRIORITIES],
        }
    }

    /// The class that is served next, of those that offer a packet: the highest strict one, or the one with the least
    /// debt.
    pub(super) fn next(&self, offers: impl Iterator<Item = u8> + Clone) -> Option<u8> {
        let strict = |class: &u8| self.costs.0[usize::from(*class)] == 0;
        let first = offers.clone().filter(strict).max();
        first.or_else(|| offers.min_by_key(|class| (self.debts[usize::from(*class)], *class)))
    }

    /// Has a class pay for a packet of `bytes` on the wire. Those in `wants`, one bit each, have packets that they may
    /// send, or that are about to come.
    pub(super) fn charge(&mut self, class: u8, bytes: u64, wants: u8) {
        let class = usize::from(class);
        let cost = self.costs.0[class];
        let served = if cost == 0 { 0 } else { self.debts[class] };
        for (place, debt) in self.debts.iter_mut().enumerate() {
            let least = if wants >> place & 1 != 0 {
                self.saved
            } else {
                0
            };
            *debt = (*debt - served).max(least);
        }
        self.debts[class] = bytes as i64 * i64::from(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that each class is sent of packets of its length, while classes with a length other than 0 offer one.
    fn shares(weights: [u32; PRIORITIES], lengths: [u64; PRIORITIES]) -> [u64; PRIORITIES] {
        let mut scheduler = ClassScheduler::new(ClassCosts::of_weights(weights).unwrap());
        let mut sent = [0; PRIORITIES];
        for _ in 0..100_000 {
            let offers = (0..8).filter(|class| lengths[usize::from(*class)] > 0);
            let class = scheduler.next(offers).unwrap();
            let bytes = lengths[usize::from(class)];
            sent[usize::from(class)] += bytes;
            scheduler.charge(class, bytes, 0);
        }
        sent
    }

    #[test]
    fn bytes_are_shared_by_weight_whatever_the_lengths() {
        let weights = [1, 2, 4, 10, 1, 1, 1, 1];
        let sent = shares(weights, [84, 1_110, 4_182, 338, 0, 0, 0, 0]);
        let each = sent.iter().sum::<u64>() as f64 / 17.0;
        for (class, weight) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 10.0)] {
            let share = sent[class] as f64 / each / weight;
            assert!((share - 1.0).abs() < 0.005, "class {class}: {share}");
        }
    }

    #[test]
    fn a_strict_class_goes_before_all_and_the_highest_of_several_first() {
        let weights = [1, 0, 1, 1, 0, 1, 1, 1];
        let sent = shares(weights, [84, 84, 84, 0, 84, 0, 0, 0]);
        assert_eq!(sent, [0, 0, 0, 0, 8_400_000, 0, 0, 0]);
        let sent = shares(weights, [84, 84, 84, 0, 0, 0, 0, 0]);
        assert_eq!(sent, [0, 8_400_000, 0, 0, 0, 0, 0, 0]);
    }

    /// A class that had nothing to send for long has no more than its share afterwards.
    #[test]
    fn nothing_is_saved_up() {
        let mut scheduler = ClassScheduler::new(ClassCosts::default());
        for _ in 0..1_000 {
            scheduler.charge(0, 1_000, 0b01);
        }
        let mut sent = [0; 2];
        for _ in 0..100 {
            let class = scheduler.next(0..2).unwrap();
            sent[usize::from(class)] += 1;
            scheduler.charge(class, 1_000, 0b11);
        }
        assert_eq!(sent, [50, 50]);
    }

    /// A class whose packets come late every other time has its share all the same.
    #[test]
    fn late_packets_cost_no_share() {
        let mut scheduler = ClassScheduler::new(ClassCosts::default());
        let mut sent = [0; 2];
        for turn in 0..10_000 {
            let offers = (0..2).filter(|class| *class == 0 || turn % 8 < 5);
            let class = scheduler.next(offers).unwrap();
            let bytes = [4_182, 1_110][usize::from(class)];
            sent[usize::from(class)] += bytes;
            scheduler.charge(class, bytes, 0b11);
        }
        // In five of eight turns it may send 1,110 bytes: less than its share, so it has every one of them.
        // The first tie goes to class 0.
        assert_eq!(sent[1], 6_249 * 1_110);
    }
}
