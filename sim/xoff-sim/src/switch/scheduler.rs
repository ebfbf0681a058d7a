//! Which queue of a port sends next.

use serde::{Deserialize, Serialize};

use crate::wire::PRIORITIES;

/// How a priority is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Strict priority: before all weighted ones. Among strict ones, the higher number goes first.
    Strict,
    /// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) with this many bytes a round, at least 1. With more
    /// bytes than a frame has, no turn passes without sending.
    Weighted(u32),
}

/// The scheduler's state: deficits, and whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scheduler {
    deficit: [u64; PRIORITIES],
    turn: usize,
    /// Whether the queue whose turn it is has already got its bytes for this turn.
    credited: bool,
}

impl Scheduler {
    /// Picks the next queue. `head` has the size of the first frame of each queue that may send. A queue that is
    /// empty (`waiting` is false) loses its deficit; one that is paused keeps it.
    pub fn pick(
        &mut self,
        services: &[Service; PRIORITIES],
        head: &[Option<u64>; PRIORITIES],
        waiting: &[bool; PRIORITIES],
    ) -> Option<usize> {
        let strict = |i: &usize| services[*i] == Service::Strict && head[*i].is_some();
        if let Some(first) = (0..PRIORITIES).rev().find(strict) {
            return Some(first);
        }
        if head.iter().all(Option::is_none) {
            return None;
        }
        loop {
            let turn = self.turn;
            if let (Service::Weighted(quantum), Some(size)) = (services[turn], head[turn]) {
                if !self.credited {
                    self.deficit[turn] += u64::from(quantum.max(1));
                    self.credited = true;
                }
                if size <= self.deficit[turn] {
                    self.deficit[turn] -= size;
                    return Some(turn);
                }
            } else if !waiting[turn] {
                self.deficit[turn] = 0;
            }
            self.turn = (turn + 1) % PRIORITIES;
            self.credited = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; PRIORITIES] = [1086, 64, 1518, 300, 700, 999, 128, 64];

    /// Bytes that each queue sends among `n` frames, when the queues of `mask` always have frames waiting.
    fn shares(services: [Service; PRIORITIES], mask: u8, n: usize) -> [u64; PRIORITIES] {
        let waiting = std::array::from_fn(|i| mask & 1 << i != 0);
        let head = std::array::from_fn(|i| waiting[i].then_some(SIZES[i]));
        let mut scheduler = Scheduler::default();
        let mut bytes = [0; PRIORITIES];
        for _ in 0..n {
            let picked = scheduler.pick(&services, &head, &waiting).unwrap();
            bytes[picked] += SIZES[picked];
        }
        bytes
    }

    #[test]
    fn strict_ones_first_the_highest_of_them_before_all() {
        let mut services = [Service::Weighted(1500); PRIORITIES];
        services[5] = Service::Strict;
        services[6] = Service::Strict;
        assert_eq!(shares(services, 0b0110_0001, 10)[6], 1280);
        assert_eq!(shares(services, 0b0010_0001, 10)[5], 9990);
        assert_eq!(shares(services, 0b0000_0001, 10)[0], 10860);
    }

    #[test]
    fn weights_are_shares_whatever_the_sizes() {
        let mut services = [Service::Weighted(1000); PRIORITIES];
        services[2] = Service::Weighted(3000);
        services[4] = Service::Weighted(100);
        let bytes = shares(services, 0b1_0111, 100_000);
        let total: u64 = bytes.iter().sum();
        for (queue, weight) in [(0, 1000), (1, 1000), (2, 3000), (4, 100)] {
            let expected = total * weight / 5100;
            assert!(bytes[queue].abs_diff(expected) < 5000, "{queue}: {bytes:?}");
        }
    }

    #[test]
    fn nothing_that_may_send_is_nothing() {
        let services = [Service::Weighted(1); PRIORITIES];
        let mut scheduler = Scheduler::default();
        let picked = scheduler.pick(&services, &[None; 8], &[true; 8]);
        assert_eq!(picked, None);
    }
}
