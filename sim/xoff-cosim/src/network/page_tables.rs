//! Page tables in the memory of a host whose NIC translates addresses, and reads of their entries.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use xoff_sim::host::Host;
use xoff_sim::nic::Region;
use xoff_sim::nic::registers::Write;
use xoff_sim::nic::translation::{PageSize, PageTable, StallScope, TranslationConfig};
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::{Clock, Cycles};

/// The tables that a driver of `nic` has written, and the reads of them that the NIC waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageTables {
    config: TranslationConfig,
    /// The most that a read takes longer than the bus, in cycles.
    jitter: u64,
    draws: Draws,
    /// The number of the next table's first entry.
    next: u64,
    /// By index of the region.
    tables: BTreeMap<u16, PageTable>,
    /// Pages of regions that do not have the settings' size, by index.
    sizes: BTreeMap<u16, PageSize>,
    /// When reads come, in the order in which they were asked for, and whether the entry names a page.
    reading: VecDeque<(Cycles, bool)>,
}

impl PageTables {
    /// Without tables, in a NIC with this clock. Lengths of reads are drawn from `seed`.
    ///
    /// # Errors
    ///
    /// A cache that `rtl/nic` cannot be set to.
    pub fn new(config: TranslationConfig, clock: &Clock, seed: Seed) -> Result<Self, String> {
        (config.check_rtl()).map_err(|wrong| format!("{}: {}", wrong.key, wrong.message))?;
        Ok(Self {
            jitter: clock.cycles_in(config.jitter).0,
            draws: seed.draws(),
            next: 0,
            tables: BTreeMap::new(),
            sizes: BTreeMap::new(),
            reading: VecDeque::new(),
            config,
        })
    }

    /// The write that turns translation on.
    pub fn on(&self) -> Write {
        let sets = self.config.sets.trailing_zeros();
        let stall = match self.config.stall {
            StallScope::Part => 1 << reg::TRANSLATION_PARTS_LOW,
            StallScope::Receive => 0,
            StallScope::Behind => 1 << reg::TRANSLATION_AHEAD_LOW,
        };
        let word = 1 | stall | sets << reg::TRANSLATION_SETS_LOW;
        (reg::TRANSLATION, word)
    }

    /// Has regions that are registered at an index from now on pages of a size of their own.
    pub fn set_page(&mut self, index: u16, size: PageSize) {
        self.sizes.insert(index, size);
    }

    /// Writes the table of a region that is registered at an index, with pages of the index's size, or of the settings'. A
    /// region that is registered again keeps its table.
    pub fn map(&mut self, index: u16, region: &Region) {
        let size = self.sizes.get(&index).copied().unwrap_or(self.config.page);
        let kept = |table: &&PageTable| {
            let page = table.of(region.base, 1).next();
            page == Some(table.numbers().start)
                && table.entries() == size.touched(region.base, region.length)
        };
        let table = match self.tables.get(&index).filter(kept) {
            Some(table) => table.clone(),
            None => PageTable::new(region, size, self.next),
        };
        self.next = self.next.max(table.numbers().end);
        self.tables.insert(index, table);
    }

    /// The register writes that name the table of the region at an index; none without a table.
    pub fn writes(&self, index: u16) -> Vec<Write> {
        let Some(table) = self.tables.get(&index) else {
            return vec![];
        };
        let first = table.numbers().start;
        let pages = (table.size().bytes() / PageSize::LEAST.bytes()).trailing_zeros();
        let table =
            (first >> 32) as u32 | pages << reg::REGION_PAGE_LOW | 1 << reg::REGION_TRANSLATED_LOW;
        vec![
            (reg::REGION_TABLE_LOW, first as u32),
            (reg::REGION_TABLE, table),
        ]
    }

    /// Frees the pages that have the `bytes` from an address of the region at an index on. Returns whether one of them was
    /// there.
    pub fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        let table = self.tables.get_mut(&index);
        table.is_some_and(|table| table.free(va, bytes).is_some())
    }

    /// Of the pages of the regions at some indices, those that the cache still has when all were used one after the other,
    /// in this order: by the index of their region, and an address in them.
    pub fn used_last(&self, indices: &[u16]) -> Vec<(u16, u64)> {
        let mut room = vec![self.config.ways(); self.config.sets as usize];
        let mut left = self.config.entries;
        let mut uses = Vec::new();
        for index in indices.iter().rev() {
            let Some(table) = self.tables.get(index) else {
                continue;
            };
            for number in table.numbers().rev() {
                if left == 0 {
                    break;
                }
                let room = &mut room[(number % u64::from(self.config.sets)) as usize];
                if *room > 0 {
                    (*room, left) = (*room - 1, left - 1);
                    uses.push((*index, table.va(number)));
                }
            }
        }
        uses.reverse();
        uses
    }

    /// Whether the entry of a number names a page.
    ///
    /// # Errors
    ///
    /// No table has an entry of that number.
    pub fn entry(&self, number: u64) -> Result<bool, String> {
        let table = (self.tables.values()).find(|table| table.numbers().contains(&number));
        let table = table.ok_or_else(|| {
            format!("a read of page table entry {number}: no region has a table with that entry")
        })?;
        Ok(table.has(number))
    }

    /// Takes the NIC's read of an entry.
    ///
    /// # Errors
    ///
    /// No table has an entry of that number.
    pub fn read(&mut self, now: Cycles, number: u64, host: &mut Host) -> Result<(), String> {
        let there = self.entry(number)?;
        let later = self.draws.below(self.jitter + 1);
        let at = (host.read_entry(now).0 + later).max(now.0 + 1);
        // They come in order, one a cycle.
        let behind = self.reading.back().map_or(0, |(at, _)| at.0 + 1);
        let read = (Cycles(at.max(behind)), there);
        self.reading.push_back(read);
        Ok(())
    }

    /// The entry that comes in this cycle, if one does: whether it names a page.
    pub fn come(&mut self, now: Cycles) -> Option<bool> {
        let (at, there) = *self.reading.front()?;
        (at <= now).then(|| {
            self.reading.pop_front();
            there
        })
    }

    /// When the next entry comes.
    pub fn next_event(&self) -> Option<Cycles> {
        Some(self.reading.front()?.0)
    }

    /// Forgets what the NIC has asked for, which was reset.
    pub fn was_reset(&mut self) {
        self.reading.clear();
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::nic::translation::Cache;
    use xoff_sim::time::{ByteCount, Duration};

    use super::*;

    /// With the regions 0 to 3, of so many pages, of which 2 has pages of 2 MiB.
    fn tables(sets: u32, pages: [u64; 4]) -> PageTables {
        let config = TranslationConfig {
            entries: 4 * sets,
            sets,
            ..TranslationConfig::default()
        };
        let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
        let mut tables = PageTables::new(config, &clock, Seed(1)).unwrap();
        tables.set_page(2, PageSize::new(ByteCount::new(2 << 20)).unwrap());
        for (index, pages) in (0..).zip(pages) {
            let size = if index == 2 { 2 << 20 } else { 4 << 10 };
            let region = Region {
                base: u64::from(index) << 30 | 0x800,
                length: pages * size - 0x800,
                tag: 0,
                pd: 0,
                local_write: true,
                remote_write: true,
            };
            tables.map(index, &region);
        }
        tables
    }

    /// What is used last is in a cache that holds all uses one after the other, in the same order.
    #[test]
    fn what_is_used_last_leaves_the_cache_as_all_uses_do() {
        for (sets, pages, indices) in [
            (1, [16, 1, 1, 1], &[0][..]),
            (8, [3, 20, 9, 50], &[0, 2]),
            (8, [3, 20, 9, 50], &[3, 1, 2]),
            (8, [3, 20, 9, 50], &[1, 3]),
            (64, [3, 20, 9, 50], &[0, 1, 2, 3]),
        ] {
            let tables = tables(sets, pages);
            let [mut all, mut last] = [(); 2].map(|()| Cache::new(sets, 4));
            for index in indices {
                (tables.tables[index].numbers()).for_each(|number| all.insert(number));
            }
            let uses = tables.used_last(indices);
            assert!(uses.len() <= 4 * sets as usize);
            for (index, va) in uses {
                let table = &tables.tables[&index];
                assert!(va >= u64::from(index) << 30 | 0x800 && va >> 30 == u64::from(index));
                last.insert(table.of(va, 1).next().unwrap());
            }
            assert_eq!(last, all, "{sets} sets, {indices:?}");
        }
    }
}
