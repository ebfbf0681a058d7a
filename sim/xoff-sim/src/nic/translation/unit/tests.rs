//! Tests of the unit.

use super::*;
use crate::nic::translation::TranslationConfig;
use crate::time::{ByteCount, Duration};

fn unit(change: impl FnOnce(&mut TranslationConfig)) -> Translation {
    let mut config = TranslationConfig {
        entries: 4,
        sets: 1,
        ..TranslationConfig::default()
    };
    change(&mut config);
    let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
    let mut unit = Translation::new(config, &clock, Seed(1));
    map(&mut unit, 0, 16);
    unit
}

/// Registers a region of so many pages at an index. The key is index · 256.
fn map(unit: &mut Translation, index: u16, pages: u64) {
    let region = Region {
        base: 0x10_0000,
        length: pages << 12,
        tag: 0,
        pd: 0,
        local_write: true,
        remote_write: true,
    };
    let table = unit.table(&region, unit.page(index));
    unit.map(index, table);
}

fn place(index: u32, page: u64, bytes: u16) -> Place {
    Place {
        va: 0x10_0000 + (page << 12) + 0x800,
        key: index << 8,
        remote: true,
        bytes,
    }
}

/// A bus that answers after 100 cycles.
fn bus(now: u64) -> u64 {
    now + 100
}

fn resolve(unit: &mut Translation, now: u64, place: Place) -> Option<u64> {
    unit.resolve(now, 3, Some(place), &mut None, &mut bus)
}

#[test]
fn a_miss_comes_over_the_bus_once() {
    let mut unit = unit(|_| ());
    let mut state = None;
    let wanted = Some(place(0, 0, 100));
    assert_eq!(unit.resolve(10, 3, wanted, &mut state, &mut bus), Some(110));
    // Another part waits for the same page: it is not read again.
    let again = &mut |_| panic!("it is under way");
    let other = unit.resolve(20, 4, wanted, &mut None, again);
    assert_eq!(other, Some(110));
    assert_eq!(unit.resolve(110, 3, wanted, &mut state, again), None);
    assert_eq!(unit.resolve(111, 3, wanted, &mut state, again), None);
    let counters = unit.counters();
    assert_eq!((counters.hits, counters.misses), (1, 2));
    assert_eq!(counters.stalled[3], 100);
}

#[test]
fn two_pages_are_read_at_once_if_that_is_allowed() {
    for (misses, at) in [(8, 101), (1, 200)] {
        let mut unit = unit(|config| config.misses = misses);
        let mut turn = 0;
        let mut read = |now| {
            turn += 1;
            now + 99 + turn
        };
        let mut state = None;
        let across = Some(place(0, 0, 4_096));
        let mut now = 0;
        while let Some(until) = unit.resolve(now, 3, across, &mut state, &mut read) {
            assert!(until > now);
            now = until;
        }
        // One behind the other: 100 and 101 cycles.
        let expected = if misses == 1 { 201 } else { at };
        assert_eq!(now, expected, "{misses}");
        assert_eq!(unit.counters().misses, 2);
    }
}

#[test]
fn what_is_dropped_is_read_again() {
    let mut unit = unit(|_| ());
    unit.touch(0);
    assert_eq!(resolve(&mut unit, 0, place(0, 13, 1)), None);
    unit.unmap(0);
    map(&mut unit, 0, 16);
    assert_eq!(resolve(&mut unit, 0, place(0, 13, 1)), Some(100));
    // What is under way when the region goes is of no use when it comes.
    unit.unmap(0);
    map(&mut unit, 0, 16);
    assert_eq!(resolve(&mut unit, 200, place(0, 13, 1)), Some(300));
    assert_eq!(resolve(&mut unit, 301, place(0, 13, 1)), None);
}

#[test]
fn touched_pages_are_there_as_far_as_they_fit() {
    let mut unit = unit(|_| ());
    unit.touch(0);
    for page in 0..16 {
        let there = resolve(&mut unit.clone(), 0, place(0, page, 1)).is_none();
        assert_eq!(there, page >= 12, "{page}");
    }
}

#[test]
fn pages_that_are_gone_are_known_when_the_entry_has_come() {
    let mut unit = unit(|_| ());
    assert!(unit.free(0, 0x10_1000, 1));
    assert!(!unit.free(0, 0x10_1000, 1), "it is gone");
    let gone = place(0, 1, 100);
    assert_eq!(resolve(&mut unit, 0, gone), Some(100));
    assert!(unit.is_gone(&gone) && unit.is_gone(&place(0, 0, 4_096)));
    assert!(!unit.is_gone(&place(0, 0, 100)));
    assert_eq!(resolve(&mut unit, 101, gone), Some(201), "it is not kept");
    // What was kept of a page is dropped with it.
    let kept = place(0, 5, 100);
    assert_eq!(resolve(&mut unit, 300, kept), Some(400));
    assert_eq!(resolve(&mut unit, 401, kept), None);
    assert!(unit.free(0, kept.va, 1));
    assert_eq!(resolve(&mut unit, 402, kept), Some(502));
    // The table has 16 entries.
    assert!(unit.is_gone(&place(0, 15, 4_096)));
    // A key without a table is not the unit's.
    assert!(!unit.is_gone(&place(7, 0, 1)));
    assert_eq!(resolve(&mut unit, 0, place(7, 0, 1)), None);
}

#[test]
fn misses_are_as_long_as_drawn() {
    let mut unit = unit(|config| config.jitter = Duration::from_ns(512));
    map(&mut unit, 1, 1_000);
    let mut times: Vec<u64> = (0..200)
        .map(|page| {
            let now = page * 1_000;
            resolve(&mut unit, now, place(1, page, 1)).unwrap() - now
        })
        .collect();
    times.sort_unstable();
    // 512 ns are 100 cycles.
    assert!(
        times[0] < 110 && times[199] > 190 && times[199] <= 200,
        "{times:?}"
    );
}

#[test]
#[should_panic(expected = "settings of translation")]
fn settings_that_were_not_checked_are_no_unit() {
    let config = TranslationConfig {
        sets: 3,
        ..TranslationConfig::default()
    };
    let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
    Translation::new(config, &clock, Seed(1));
}

#[test]
fn page_sizes_are_those_of_regions() {
    let mut unit = unit(|_| ());
    let large = PageSize::new(ByteCount::new(2 << 20)).unwrap();
    let region = Region {
        base: 2 << 20,
        length: 4 << 20,
        tag: 0,
        pd: 0,
        local_write: true,
        remote_write: true,
    };
    let table = unit.table(&region, large);
    assert_eq!(table.entries(), 2);
    unit.map(3, table);
    let at = |va| Place {
        va,
        key: 3 << 8,
        remote: true,
        bytes: 1,
    };
    assert_eq!(resolve(&mut unit, 0, at(2 << 20)), Some(100));
    assert_eq!(
        resolve(&mut unit, 200, at((4 << 20) - 1)),
        None,
        "the same page"
    );
}
