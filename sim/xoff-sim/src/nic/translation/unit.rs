//! The NIC's unit that translates: it looks up the pages of packets, and reads what the cache does not have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Cache, PageSize, PageTable, StallScope, TranslationConfig};
use crate::nic::Region;
use crate::protocol::gbn::Place;
use crate::seeded::{Draws, Seed};
use crate::time::Clock;
use crate::wire::PRIORITIES;

/// What translation has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TranslationCounters {
    /// Pages of packets whose translation was there.
    pub hits: u64,
    /// Pages of packets that had to wait for it.
    pub misses: u64,
    /// By class, cycles for which packets waited that were next in their part of the receive buffer, or whose payload
    /// was next to be read for their class.
    pub stalled: [u64; PRIORITIES],
}

/// A read of a page table that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Miss {
    /// The entry's number.
    number: u64,
    /// When it comes.
    at: u64,
    /// Whether it is of use when it comes; not if its region or its page is gone.
    wanted: bool,
}

/// How far the translation of a packet's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolving {
    place: Place,
    /// Pages, from the first one on, that were looked up.
    pages: u64,
    /// When all of these are there.
    at: u64,
    /// When the first one was looked up.
    since: u64,
}

impl Resolving {
    /// Of a place of which nothing was looked up yet.
    const fn new(now: u64, place: Place) -> Self {
        Self {
            place,
            pages: 0,
            at: now,
            since: now,
        }
    }
}

/// Translation in a NIC: the tables of its regions, and its cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Translation {
    config: TranslationConfig,
    /// The most that a miss takes longer than the bus, in cycles.
    jitter: u64,
    cache: Cache,
    /// By index of the region.
    tables: Vec<Option<PageTable>>,
    /// Pages of regions that do not have the settings' size, by index.
    sizes: BTreeMap<u16, PageSize>,
    /// The number of the next table's first entry.
    next: u64,
    /// In the order of their ends.
    missing: Vec<Miss>,
    draws: Draws,
    counters: TranslationCounters,
    /// Reads of payload that have been looked up and not requested, by number.
    sending: Vec<(u64, Resolving)>,
}

impl Translation {
    /// A cache that is empty, in a NIC with this clock. Lengths of misses are drawn from `seed`.
    ///
    /// # Panics
    ///
    /// When the settings do not pass their [check](TranslationConfig::check).
    pub fn new(config: TranslationConfig, clock: &Clock, seed: Seed) -> Self {
        assert_eq!(config.check(), Ok(()), "settings of translation");
        Self {
            jitter: clock.cycles_in(config.jitter).0,
            cache: Cache::new(config.sets, config.ways()),
            tables: Vec::new(),
            sizes: BTreeMap::new(),
            next: 0,
            missing: Vec::new(),
            draws: seed.draws(),
            counters: TranslationCounters::default(),
            sending: Vec::new(),
            config,
        }
    }

    /// The settings.
    pub const fn config(&self) -> &TranslationConfig {
        &self.config
    }

    /// What was counted.
    pub const fn counters(&self) -> &TranslationCounters {
        &self.counters
    }

    /// Whether a miss stops all of receive.
    pub fn stops_receive(&self) -> bool {
        self.config.stall == StallScope::Receive
    }

    /// Has regions that are registered at an index from now on pages of a size of their own.
    pub fn set_page(&mut self, index: u16, size: PageSize) {
        self.sizes.insert(index, size);
    }

    /// The size of the pages of a region that is registered at an index: its own, or that of the settings.
    pub fn page(&self, index: u16) -> PageSize {
        self.sizes.get(&index).copied().unwrap_or(self.config.page)
    }

    /// The table that a driver writes for a region with pages of a size.
    pub fn table(&self, region: &Region, size: PageSize) -> PageTable {
        PageTable::new(region, size, self.next)
    }

    /// Registers the table of the region at an index. What is known of the one before is dropped.
    pub fn map(&mut self, index: u16, table: PageTable) {
        self.unmap(index);
        let place = usize::from(index);
        if self.tables.len() <= place {
            self.tables.resize(place + 1, None);
        }
        self.next = self.next.max(table.numbers().end);
        self.tables[place] = Some(table);
    }

    /// Drops the table of the region at an index, and its translations.
    pub fn unmap(&mut self, index: u16) {
        let table = self.tables.get_mut(usize::from(index));
        if let Some(table) = table.and_then(Option::take) {
            self.forget(table.numbers());
        }
        let own = |(_, looking): &&mut (u64, Resolving)| looking.place.key >> 8 == u32::from(index);
        for (_, looking) in self.sending.iter_mut().filter(own) {
            (looking.pages, looking.at) = (0, looking.since);
        }
    }

    /// Frees the pages that have the `bytes` from `va` on: they are gone from the table of the region at an index and from
    /// the cache. Returns whether one of them was there.
    pub fn free(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        let table = self.tables.get_mut(usize::from(index));
        let freed = table.and_then(|table| table.as_mut()?.free(va, bytes));
        if let Some(numbers) = &freed {
            self.forget(numbers.clone());
        }
        freed.is_some()
    }

    fn forget(&mut self, numbers: std::ops::Range<u64>) {
        self.cache.forget(&numbers);
        let unwanted = self.missing.iter_mut();
        for miss in unwanted.filter(|miss| numbers.contains(&miss.number)) {
            miss.wanted = false;
        }
    }

    /// Has the pages of a region used, one after the other, before anything else.
    pub fn touch(&mut self, index: u16) {
        let Some(Some(table)) = self.tables.get(usize::from(index)) else {
            return;
        };
        let std::ops::Range { start, end } = table.numbers();
        // Those before the last ones would be gone again.
        let last = end.saturating_sub(self.config.entries.into()).max(start);
        (last..end).for_each(|number| self.cache.insert(number));
    }

    /// Takes in what has come by `now`.
    fn settle(&mut self, now: u64) {
        let come = self.missing.partition_point(|miss| miss.at <= now);
        for miss in self.missing.drain(..come).filter(|miss| miss.wanted) {
            self.cache.insert(miss.number);
        }
    }

    fn table_of(&self, key: u32) -> Option<&PageTable> {
        self.tables.get((key >> 8) as usize)?.as_ref()
    }

    /// Whether a page of a place is gone: its table has no entry for it, or one that names nothing. False where no
    /// table is known.
    pub fn is_gone(&self, place: &Place) -> bool {
        self.table_of(place.key).is_some_and(|table| {
            let mut numbers = table.of(place.va, place.bytes.into());
            !numbers.all(|number| table.has(number))
        })
    }

    /// Looks up pages of a place at `now`, from where it was left. Each miss is read over the bus by `read`, which says
    /// when the entry comes. Returns when to look again; `None` when all translations are there.
    fn look(
        &mut self,
        now: u64,
        looking: &mut Resolving,
        read: &mut impl FnMut(u64) -> u64,
    ) -> Option<u64> {
        self.settle(now);
        let table = self
            .tables
            .get((looking.place.key >> 8) as usize)?
            .as_ref()?;
        let numbers = table.of(looking.place.va, looking.place.bytes.into());
        for number in numbers.skip(looking.pages as usize) {
            let under_way = self
                .missing
                .iter()
                .find(|it| it.wanted && it.number == number);
            if let Some(miss) = under_way {
                looking.at = looking.at.max(miss.at);
                self.counters.misses += 1;
            } else if !table.numbers().contains(&number) {
                // The NIC knows the table's length, and need not read past it.
            } else if self.cache.uses(number) {
                self.counters.hits += 1;
            } else if self.missing.len() < self.config.misses as usize {
                let later = self.draws.below(self.jitter + 1);
                let at = (read(now) + later).max(now + 1);
                let place = self.missing.partition_point(|it| it.at <= at);
                let wanted = table.has(number);
                self.missing.insert(place, Miss { number, at, wanted });
                looking.at = looking.at.max(at);
                self.counters.misses += 1;
            } else {
                // One more is read when one has come.
                return self.missing.first().map(|miss| miss.at);
            }
            looking.pages += 1;
        }
        Some(looking.at).filter(|at| *at > now)
    }

    /// Translates the memory of a packet of a class that is next in its part of the receive buffer; `state` is kept for
    /// the part. Returns when to look again; `None` when the packet may go on.
    pub fn resolve(
        &mut self,
        now: u64,
        class: u8,
        place: Option<Place>,
        state: &mut Option<Box<Resolving>>,
        read: &mut impl FnMut(u64) -> u64,
    ) -> Option<u64> {
        let Some(place) = place else {
            *state = None;
            return None;
        };
        let begun = state.as_deref().filter(|state| state.place == place);
        let mut looking = begun.copied().unwrap_or(Resolving::new(now, place));
        let until = self.look(now, &mut looking, read);
        *state = until.map(|_| Box::new(looking));
        if until.is_none() {
            self.counters.stalled[usize::from(class)] += now - looking.since;
        }
        until
    }

    /// Looks up the memory of a read of payload when it is granted, so that misses are under way while it waits.
    pub fn ask(&mut self, now: u64, number: u64, place: Place, read: &mut impl FnMut(u64) -> u64) {
        if self.table_of(place.key).is_none() {
            return;
        }
        let mut looking = Resolving::new(now, place);
        self.look(now, &mut looking, read);
        self.sending.push((number, looking));
    }

    /// Forgets reads of payload but for those that are `wanted`.
    pub fn keep(&mut self, wanted: impl Fn(u64) -> bool) {
        self.sending.retain(|(number, _)| wanted(*number));
    }

    /// Goes on with a read of payload of a class that is next, in cycle `now`. Returns when to look again, or in `Ok`
    /// whether its memory is there.
    pub fn send(
        &mut self,
        now: u64,
        class: u8,
        number: u64,
        read: &mut impl FnMut(u64) -> u64,
    ) -> Result<bool, u64> {
        let known = self.sending.iter().position(|(known, _)| *known == number);
        let Some(known) = known else { return Ok(true) };
        let mut looking = self.sending[known].1;
        let until = self.look(now, &mut looking, read);
        match until {
            Some(at) => {
                self.counters.stalled[usize::from(class)] += at - now;
                self.sending[known].1 = looking;
                Err(at)
            }
            None => {
                self.sending.swap_remove(known);
                Ok(!self.is_gone(&looking.place))
            }
        }
    }
}

#[cfg(test)]
mod tests;
