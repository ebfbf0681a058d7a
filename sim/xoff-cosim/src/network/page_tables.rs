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
            reading: VecDeque::new(),
            config,
        })
    }

    /// The write that turns translation on.
    pub fn on(&self) -> Write {
        let sets = self.config.sets.trailing_zeros();
        let ahead = self.config.stall != StallScope::Receive;
        let word =
            1 | u32::from(ahead) << reg::TRANSLATION_AHEAD_LOW | sets << reg::TRANSLATION_SETS_LOW;
        (reg::TRANSLATION, word)
    }

    /// Writes the table of a region that is registered at an index, with pages of the settings' size. A region that is
    /// registered again keeps its table.
    pub fn map(&mut self, index: u16, region: &Region) {
        let size = self.config.page;
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

    /// Frees the page that has an address of the region at an index. Returns whether it was there.
    pub fn free(&mut self, index: u16, va: u64) -> bool {
        let table = self.tables.get_mut(&index);
        table.is_some_and(|table| table.free(va).is_some())
    }

    /// Takes the NIC's read of an entry.
    ///
    /// # Errors
    ///
    /// No table has an entry of that number.
    pub fn read(&mut self, now: Cycles, number: u64, host: &mut Host) -> Result<(), String> {
        let table = (self.tables.values()).find(|table| table.numbers().contains(&number));
        let table = table.ok_or_else(|| {
            format!("a read of page table entry {number}: no region has a table with that entry")
        })?;
        let later = self.draws.below(self.jitter + 1);
        let at = (host.read_entry(now).0 + later).max(now.0 + 1);
        // They come in order, one a cycle.
        let behind = self.reading.back().map_or(0, |(at, _)| at.0 + 1);
        let read = (Cycles(at.max(behind)), table.has(number));
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
