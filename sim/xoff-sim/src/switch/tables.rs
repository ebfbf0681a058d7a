//! ARP and MAC tables: entries that end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// Entries by key, each until its time is over. Time-outs differ between tables: of the paper's switches, ARP 4 h and MAC 5 min.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgingTable<K: Ord, V> {
    /// `None`: entries stay.
    timeout: Option<Duration>,
    entries: BTreeMap<K, (V, Time)>,
}

impl<K: Ord, V: Copy> AgingTable<K, V> {
    /// An empty table.
    pub const fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            entries: BTreeMap::new(),
        }
    }

    /// Learns at `now`; an entry that is there starts anew.
    pub fn learn(&mut self, now: Time, key: K, value: V) {
        let ends = self
            .timeout
            .map_or(Time::MAX, |timeout| now.saturating_add(timeout));
        self.entries.insert(key, (value, ends));
    }

    /// The entry, if it has not ended. It ends at the instant of its time-out.
    pub fn lookup(&self, now: Time, key: &K) -> Option<V> {
        self.entries
            .get(key)
            .filter(|(_, ends)| now < *ends)
            .map(|(value, _)| *value)
    }

    /// Takes an entry out.
    pub fn forget(&mut self, key: &K) {
        self.entries.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_and_start_anew() {
        let mut table = AgingTable::new(Some(Duration::from_s(300)));
        let at = |s| Time::ZERO + Duration::from_s(s);
        table.learn(at(0), 1, 'a');
        table.learn(at(0), 2, 'b');
        table.learn(at(100), 2, 'c');
        assert_eq!(table.lookup(at(299), &1), Some('a'));
        assert_eq!(table.lookup(at(300), &1), None);
        assert_eq!(table.lookup(at(399), &2), Some('c'));
        table.forget(&2);
        assert_eq!(table.lookup(at(399), &2), None);
        let mut forever = AgingTable::new(None);
        forever.learn(at(0), 1, 'a');
        assert_eq!(forever.lookup(at(18_000_000), &1), Some('a'));
    }
}
