//! Page tables, which the host's driver writes when it registers memory.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::PageSize;
use crate::nic::Region;

/// The page table of a region: an entry for each page that the region touches, one behind the other in the host's
/// memory. An entry names the page's address, which models do not keep, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTable {
    /// The number of its first entry among those of all tables of the host.
    first: u64,
    /// The region's first address.
    base: u64,
    size: PageSize,
    entries: u64,
    /// Numbers of entries that name nothing: of pages that were freed.
    freed: Vec<Range<u64>>,
}

impl PageTable {
    /// The table of a region, whose first entry is that of this number.
    pub fn new(region: &Region, size: PageSize, first: u64) -> Self {
        Self {
            first,
            base: region.base,
            size,
            entries: size.touched(region.base, region.length),
            freed: Vec::new(),
        }
    }

    /// The table with so many entries, if that is enough.
    ///
    /// # Errors
    ///
    /// A table that is shorter than the region.
    pub fn of_entries(self, entries: u64) -> Result<Self, String> {
        match entries >= self.entries {
            true => Ok(Self { entries, ..self }),
            false => Err(format!(
                "a page table of {entries} entries: the region has {} pages of {}",
                self.entries, self.size
            )),
        }
    }

    /// The size of its pages.
    pub const fn size(&self) -> PageSize {
        self.size
    }

    /// How many entries it has.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The numbers of its entries among those of all tables.
    pub const fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.entries
    }

    /// The numbers of the entries for the `bytes` from `va` on, in order.
    pub fn of(&self, va: u64, bytes: u64) -> impl Iterator<Item = u64> + use<> {
        let page = (self.size.number(va)).wrapping_sub(self.size.number(self.base));
        let first = self.first.wrapping_add(page);
        (0..self.size.touched(va, bytes)).map(move |behind| first.wrapping_add(behind))
    }

    /// The first address of the region that is in the page of an entry.
    pub const fn va(&self, number: u64) -> u64 {
        match number - self.first {
            0 => self.base,
            behind => (self.size.number(self.base) + behind) * self.size.bytes(),
        }
    }

    /// Whether the entry of a number is there and names a page.
    pub fn has(&self, number: u64) -> bool {
        self.numbers().contains(&number) && !self.freed.iter().any(|freed| freed.contains(&number))
    }

    /// Frees the pages that have the `bytes` from `va` on: their entries name nothing from now on. Returns the numbers of
    /// these entries if one of them named a page.
    pub fn free(&mut self, va: u64, bytes: u64) -> Option<Range<u64>> {
        let mut numbers = self.of(va, bytes).filter(|number| self.has(*number));
        let first = numbers.next()?;
        let freed = first..numbers.last().unwrap_or(first) + 1;
        self.freed.push(freed.clone());
        Some(freed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(base: u64, length: u64) -> Region {
        Region {
            base,
            length,
            tag: 0,
            pd: 0,
            local_write: true,
            remote_write: true,
        }
    }

    #[test]
    fn entries_follow_each_other() {
        let mut table = PageTable::new(&region(0x1_0800, 0x2000), PageSize::LEAST, 100);
        assert_eq!((table.entries(), table.numbers()), (3, 100..103));
        assert_eq!(table.of(0x1_0FFF, 2).collect::<Vec<_>>(), [100, 101]);
        assert_eq!(table.of(0x1_2000, 4).collect::<Vec<_>>(), [102]);
        assert_eq!(
            [100, 101, 102].map(|number| table.va(number)),
            [0x1_0800, 0x1_1000, 0x1_2000]
        );
        assert!(table.has(102) && !table.has(103) && !table.has(99));
        assert_eq!(table.free(0x1_1000, 1), Some(101..102));
        assert!(!table.has(101) && table.has(100));
        assert_eq!(table.free(0x1_1FFF, 1), None, "it is freed already");
        assert_eq!(table.free(0x1_3000, 1), None, "it has no such page");
        assert_eq!(table.free(0x1_0800, 0x2000), Some(100..103));
        assert!(!(100..103).any(|number| table.has(number)));
    }

    #[test]
    fn a_table_that_is_too_short_is_refused() {
        let table = || PageTable::new(&region(0, 1 << 20), PageSize::LEAST, 0);
        assert_eq!(table().of_entries(256).unwrap().entries(), 256);
        let said = table().of_entries(255).unwrap_err();
        assert!(
            said.contains("255") && said.contains("256 pages of 4 KiB"),
            "{said}"
        );
    }
}
