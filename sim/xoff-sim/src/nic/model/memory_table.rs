//! Registered memory: which keys permit writes to which addresses.

use serde::{Deserialize, Serialize};

use crate::nic::Region;

/// Regions by index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MemoryTable(Vec<Option<Region>>);

impl MemoryTable {
    /// Registers a region at an index of the table and returns its key.
    pub(super) fn register(&mut self, index: u16, region: Region) -> u32 {
        let place = usize::from(index);
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(region);
        region.key(index)
    }

    /// Whether a key permits a write of `bytes` from `va` on: by the peer (`remote`), or into a receive buffer.
    pub(super) fn allows(&self, key: u32, va: u64, bytes: u64, remote: bool) -> bool {
        let region = self.0.get((key >> 8) as usize).copied().flatten();
        region.is_some_and(|region| {
            let right = if remote {
                region.remote_write
            } else {
                region.local_write
            };
            right && region.tag == key as u8 && region.holds(va, bytes)
        })
    }

    /// Removes the region that a peer's key names. Returns whether there was one that the peer may access.
    pub(super) fn invalidate(&mut self, key: u32) -> bool {
        let region = self.0.get_mut((key >> 8) as usize);
        let named = |region: &mut Region| region.tag == key as u8 && region.remote_write;
        region.is_some_and(|region| region.take_if(named).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_tag_right_and_range_have_to_agree() {
        let mut table = MemoryTable::default();
        let region = Region {
            base: 0x1000,
            length: 0x100,
            tag: 7,
            local_write: false,
            remote_write: true,
        };
        let key = table.register(2, region);
        assert_eq!(key, 0x207);
        assert!(table.allows(key, 0x1000, 0x100, true));
        assert!(!table.allows(key, 0x1000, 0x101, true));
        assert!(!table.allows(key, 0x1000, 0x100, false), "no local right");
        assert!(!table.allows(key ^ 1, 0x1000, 1, true), "tag");
        assert!(!table.allows(key + 256, 0x1000, 1, true), "index");
        assert!(!table.allows(u32::MAX, 0x1000, 1, true), "no such index");
        assert!(!table.invalidate(key ^ 1), "tag");
        assert!(!table.invalidate(u32::MAX), "no such index");
        assert!(table.allows(key, 0x1000, 0x100, true));
        assert!(table.invalidate(key));
        assert!(!table.allows(key, 0x1000, 0x100, true), "invalidated");
        assert!(!table.invalidate(key), "invalidated");
        let own = Region {
            remote_write: false,
            local_write: true,
            ..region
        };
        let key = table.register(2, own);
        assert!(!table.invalidate(key), "no remote right");
        assert!(table.allows(key, 0x1000, 0x100, false));
    }
}
