//! ARP and MAC tables: entries that expire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// A table whose entries expire. Time-outs differ between tables: the paper's switches have 4 h for ARP and 5 min for
/// MAC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgingTable<K: Ord, V> {
    /// Time after which an entry expires; `None`: never.
    timeout: Option<Duration>,
    entries: BTreeMap<K, (V, Time)>,
}

impl<K: Ord, V: Copy> AgingTable<K, V> {
    /// Creates an empty table.
    pub const fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            entries: BTreeMap::new(),
        }
    }

    /// Learns an entry at `now`; the time of an existing entry starts again.
    pub fn learn(&mut self, now: Time, key: K, value: V) {
        let ends = self
            .timeout
            .map_or(Time::MAX, |timeout| now.saturating_add(timeout));
        self.entries.insert(key, (value, ends));
    }

    /// The entry of a key, if it has not expired. It expires at the instant of its time-out.
    pub fn lookup(&self, now: Time, key: &K) -> Option<V> {
        self.entries
            .get(key)
            .filter(|(_, ends)| now < *ends)
            .map(|(value, _)| *value)
    }

    /// Removes an entry.
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
