//! Settings of translation.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::{ByteCount, Duration};

/// The size of a page: a power of two, 4 KiB to 2 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PageSize {
    bits: u8,
}

impl PageSize {
    /// 4 KiB.
    pub const LEAST: Self = Self { bits: 12 };
    /// 2 MiB.
    pub const MOST: Self = Self { bits: 21 };

    /// A page of so many bytes.
    ///
    /// # Errors
    ///
    /// A size that is no power of two, or not 4 KiB to 2 MiB; with what would be right.
    pub fn new(bytes: ByteCount) -> Result<Self, String> {
        let size = bytes.get();
        let right = (Self::LEAST.bytes()..=Self::MOST.bytes()).contains(&size);
        match size.is_power_of_two() && right {
            true => Ok(Self {
                bits: size.trailing_zeros() as u8,
            }),
            false => Err(format!(
                "{bytes}: a page has 4 KiB to 2 MiB, a power of two of bytes"
            )),
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.bits
    }

    /// The number of the page that has an address.
    pub const fn number(self, va: u64) -> u64 {
        va >> self.bits
    }

    /// How many pages the `bytes` from `va` on touch.
    pub const fn touched(self, va: u64, bytes: u64) -> u64 {
        match bytes {
            0 => 0,
            _ => self.number(va.wrapping_add(bytes - 1)) - self.number(va) + 1,
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits {
            20.. => write!(f, "{} MiB", self.bytes() >> 20),
            _ => write!(f, "{} KiB", self.bytes() >> 10),
        }
    }
}

/// What of receive a miss stops. A part is one of the receive buffer, with the classes that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallScope {
    /// The part of the packet that waits.
    Part,
    /// All of receive, as in the NIC of SIGCOMM 2016, section 4.4.
    #[default]
    Receive,
    /// What comes behind it, in the order of arrival; the entries for that are looked up meanwhile. RTL NICs only.
    Behind,
}

/// Settings of translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranslationConfig {
    /// Entries of the cache, 1 to [`MOST_ENTRIES`](Self::MOST_ENTRIES).
    pub entries: u32,
    /// Sets of the cache, which divide the entries.
    pub sets: u32,
    /// The page size of regions that have no other.
    pub page: PageSize,
    /// Most entries that are read over the bus at the same time, 1 to [`MOST_MISSES`](Self::MOST_MISSES).
    pub misses: u32,
    /// What of receive a miss stops. Of transmit it is always the class of the packet.
    pub stall: StallScope,
    /// A miss takes up to so much longer than the bus, drawn for each: memory that others use, too.
    pub jitter: Duration,
}

impl Default for TranslationConfig {
    /// The NIC of SIGCOMM 2016, section 4.4: 2,048 entries of 4 KiB pages, and a miss stops all of receive. They are in
    /// 512 sets of 4; 8 are read at the same time.
    fn default() -> Self {
        Self {
            entries: 2_048,
            sets: 512,
            page: PageSize::LEAST,
            misses: 8,
            stall: StallScope::Receive,
            jitter: Duration::ZERO,
        }
    }
}

/// A setting that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The name of the setting.
    pub key: &'static str,
    /// What was read, and what would be right.
    pub message: String,
}

impl TranslationConfig {
    /// Largest cache: 16 Mi entries, of which each takes 8 bytes.
    pub const MOST_ENTRIES: u32 = 1 << 24;
    /// Most reads of tables at the same time.
    pub const MOST_MISSES: u32 = 256;
    /// Most entries of a set: a search through more would not be a cache's.
    pub const MOST_WAYS: u32 = 64;

    /// Checks that the settings fit together.
    ///
    /// # Errors
    ///
    /// The first one that does not.
    pub fn check(&self) -> Result<(), Wrong> {
        let Self {
            entries,
            sets,
            misses,
            ..
        } = *self;
        let wrong = |key, message| Err(Wrong { key, message });
        if !(1..=Self::MOST_ENTRIES).contains(&entries) {
            return wrong("entries", format!("{entries}: 1 to {}", Self::MOST_ENTRIES));
        }
        if !(1..=entries).contains(&sets) || !entries.is_multiple_of(sets) {
            let message = format!(
                "{sets}: a number that divides the {entries} entries, such as {}",
                Self::sets_of(entries)
            );
            return wrong("sets", message);
        }
        if entries / sets > Self::MOST_WAYS {
            let message = format!(
                "{sets}: {} entries a set, and a set has {} at most; such as {}",
                entries / sets,
                Self::MOST_WAYS,
                Self::sets_of(entries)
            );
            return wrong("sets", message);
        }
        if !(1..=Self::MOST_MISSES).contains(&misses) {
            return wrong("misses", format!("{misses}: 1 to {}", Self::MOST_MISSES));
        }
        Ok(())
    }

    /// Sets of the cache of `rtl/nic`, of [`RTL_WAYS`](Self::RTL_WAYS) entries each. It uses all of them or fewer, a power
    /// of two.
    pub const RTL_SETS: u32 = 512;
    /// Entries of a set of `rtl/nic`.
    pub const RTL_WAYS: u32 = 4;
    /// Most reads of tables that `rtl/nic` has under way.
    pub const RTL_MISSES: u32 = 8;

    /// Checks that `rtl/nic` can be set to it.
    ///
    /// # Errors
    ///
    /// The first setting that it has not.
    pub fn check_rtl(&self) -> Result<(), Wrong> {
        self.check()?;
        let wrong = |key, message| Err(Wrong { key, message });
        let (most, ways) = (Self::RTL_SETS, Self::RTL_WAYS);
        if !self.sets.is_power_of_two() || self.sets > most || self.ways() != ways {
            let message = format!(
                "{} in {} sets: the RTL NIC has sets of {ways} and uses 1 to {most} of them, a power of two, such as {} \
                 entries in {most} sets",
                self.entries,
                self.sets,
                most * ways
            );
            return wrong("entries", message);
        }
        if self.misses != Self::RTL_MISSES {
            return wrong(
                "misses",
                format!("{}: the RTL NIC has {}", self.misses, Self::RTL_MISSES),
            );
        }
        Ok(())
    }

    /// A number of sets that fits so many entries: with 4 entries a set if that is possible, else with one.
    pub const fn sets_of(entries: u32) -> u32 {
        match entries.is_multiple_of(4) {
            true => entries / 4,
            false => entries,
        }
    }

    /// Entries of a set.
    pub const fn ways(&self) -> u32 {
        self.entries / self.sets
    }

    /// The bytes whose translations the cache holds.
    pub const fn coverage(&self) -> u64 {
        self.entries as u64 * self.page.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_powers_of_two_in_a_range() {
        for (bytes, right) in [
            (4 << 10, true),
            (64 << 10, true),
            (2 << 20, true),
            (2 << 10, false),
            (4 << 20, false),
            (5_000, false),
            (0, false),
        ] {
            assert_eq!(
                PageSize::new(ByteCount::new(bytes)).is_ok(),
                right,
                "{bytes}"
            );
        }
        let page = PageSize::LEAST;
        assert_eq!((page.touched(0, 0), page.touched(4_095, 1)), (0, 1));
        assert_eq!((page.touched(4_095, 2), page.touched(0, 4_096)), (2, 1));
        assert_eq!(page.to_string(), "4 KiB");
        assert_eq!(PageSize::MOST.to_string(), "2 MiB");
    }

    #[test]
    fn settings_that_do_not_fit_are_named() {
        let good = TranslationConfig::default();
        assert_eq!((good.check(), good.coverage()), (Ok(()), 8 << 20));
        for (config, key) in [
            (TranslationConfig { entries: 0, ..good }, "entries"),
            (TranslationConfig { sets: 0, ..good }, "sets"),
            (TranslationConfig { sets: 600, ..good }, "sets"),
            (TranslationConfig { sets: 1, ..good }, "sets"),
            (TranslationConfig { misses: 0, ..good }, "misses"),
        ] {
            let wrong = config.check().unwrap_err();
            assert_eq!(wrong.key, key);
            assert!(wrong.message.contains(':'), "{}", wrong.message);
        }
    }
}
