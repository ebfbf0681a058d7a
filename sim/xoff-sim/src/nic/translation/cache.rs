//! The cache of translations.

use serde::{Deserialize, Serialize};

/// What is in a place that is free.
const FREE: u64 = u64::MAX;

/// Numbers of page table entries whose translations the NIC has. An entry belongs to the set of its number modulo the
/// sets, so that the tables of many regions, one behind the other, fill all sets alike. In a full set the entry gives
/// way that was used longest ago (LRU).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    ways: usize,
    sets: u64,
    /// Set by set; of each the one first that was used last.
    entries: Vec<u64>,
}

impl Cache {
    /// An empty cache of so many sets, 1 or more, with `ways` entries each.
    pub fn new(sets: u32, ways: u32) -> Self {
        Self {
            ways: ways as usize,
            sets: sets.into(),
            entries: vec![FREE; sets as usize * ways as usize],
        }
    }

    fn set(&mut self, number: u64) -> &mut [u64] {
        let first = (number % self.sets) as usize * self.ways;
        &mut self.entries[first..first + self.ways]
    }

    /// Uses an entry. Returns whether it is there.
    pub fn uses(&mut self, number: u64) -> bool {
        let set = self.set(number);
        let place = set.iter().position(|entry| *entry == number);
        if let Some(place) = place {
            set[..=place].rotate_right(1);
        }
        place.is_some()
    }

    /// Takes an entry in, as if it had been used.
    pub fn insert(&mut self, number: u64) {
        if !self.uses(number) {
            let set = self.set(number);
            set.rotate_right(1);
            set[0] = number;
        }
    }

    /// Drops those of some numbers.
    pub fn forget(&mut self, numbers: &std::ops::Range<u64>) {
        for set in self.entries.chunks_mut(self.ways) {
            let mut kept = 0;
            for place in 0..set.len() {
                if !numbers.contains(&set[place]) {
                    set[kept] = set[place];
                    kept += 1;
                }
            }
            set[kept..].fill(FREE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_used_longest_ago_gives_way() {
        let mut cache = Cache::new(2, 2);
        [0, 2, 1]
            .into_iter()
            .for_each(|number| cache.insert(number));
        assert!(cache.uses(0) && cache.uses(2) && cache.uses(1));
        assert!(cache.uses(0));
        cache.insert(4);
        assert!(
            !cache.uses(2) && cache.uses(0) && cache.uses(4),
            "2 gave way"
        );
        assert!(cache.uses(1), "it is in the other set");
    }

    #[test]
    fn what_is_forgotten_leaves_room() {
        let mut cache = Cache::new(1, 4);
        (0..4).for_each(|number| cache.insert(number));
        cache.forget(&(1..3));
        assert!(cache.uses(0) && !cache.uses(1) && !cache.uses(2) && cache.uses(3));
        cache.insert(7);
        cache.insert(8);
        assert!(cache.uses(0) && cache.uses(3), "there was room for two");
    }

    /// Tables one behind the other that fit together never push each other out.
    #[test]
    fn as_many_entries_as_fit_stay() {
        let mut cache = Cache::new(512, 4);
        (5..5 + 2_048).for_each(|number| cache.insert(number));
        assert!((5..5 + 2_048).all(|number| cache.uses(number)));
        cache.insert(5 + 2_048);
        assert!(!cache.uses(5), "it was used longest ago in its set");
    }
}
