//! What is right, without looking into the unit:
//!
//! - The entries of an access are those of the pages from its first to its last byte, counted from the page in which
//!   its region begins. An access that its region does not hold has none.
//! - An asker has a verdict for each ask, in order. Memory is there if the host has said so of each of its entries,
//!   since its region was written; it is not there if the host has said so of one since the ask.
//! - An entry is read when an ask needs it, not while it is read already, and not while it is on chip: that is known if
//!   the cache holds all entries of the case.
//! - A ring that does not look ahead reads nothing behind an entry that has not come.
//! - A verdict waits for the entries of its ask alone, for verdicts of its asker that are not taken, and for regions
//!   that are written; it is there [`AT_ONCE`] cycles later, and a few for each ask in front of it.
//! - Each entry of each ask is one hit or one miss.
//! - The unit rests when nothing is asked, and not before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::bins::{Beside, Entries, FORGOTTEN, For, Found, From, Open, READS, Under, VERDICTS};
use super::events::Head;
use crate::property::Disagreement;
use crate::property::bins::Bins;
use crate::units::translation::{
    ASKERS, ASKS, Ask, Mapping, READS as READS_MOST, RINGS, TRANSMIT, TranslationIn, TranslationOut,
};

/// Cycles from when all is there that a verdict waits for until it is there, beside those of asks in front of it.
const AT_ONCE: u64 = 60;
/// Cycles of an ask in front, of any asker: lookups of two entries, in turn with those of what was put off.
const IN_FRONT: u64 = 4;
/// Maximum number of asks in front: half of what receive may have, one that is under way, and as many of transmit.
const IN_FRONT_MOST: usize = 2 * (ASKS / 2 + 1);
/// Cycles in which what has come is handed on within the unit.
const HANDED_ON: u64 = 40;

/// The judge of a case.
pub struct Judge {
    /// Whether the cache holds all entries of the case.
    holds_all: bool,
    /// Whether rings look up what is behind a miss meanwhile.
    ahead: bool,
    /// By index.
    regions: HashMap<u32, Mapping>,
    /// Entries that name no page now.
    absent: HashSet<u64>,
    /// What each asker asked, and has not taken the verdict of.
    asks: [VecDeque<Asked>; ASKERS],
    /// When each asker took its last verdict.
    taken: [u64; ASKERS],
    entries: HashMap<u64, Entry>,
    reading: VecDeque<Read>,
    /// Entries of a region that is written are forgotten until the unit is no longer busy: their numbers, and since
    /// when.
    forgets: Option<(Range<u64>, u64)>,
    /// The last cycle in which the unit was busy.
    busy: u64,
    idle: bool,
    asked: u64,
    /// Hits and misses; how many there are at least and at most; and reads.
    counted: u64,
    misses: u64,
    entries_asked: (u64, u64),
    reads: u64,
}

/// An ask.
struct Asked {
    ask: Ask,
    at: u64,
    /// Entries that it may have: several possibilities if its region is written meanwhile.
    entries: Vec<Vec<u64>>,
    /// Cycles from when all is there that its verdict waits for until it is there, at most.
    at_once: u64,
    /// Whether its verdict is there.
    known: bool,
}

impl Asked {
    /// Whether it may have this entry.
    fn has(&self, number: u64) -> bool {
        self.entries.iter().flatten().any(|&entry| entry == number)
    }
}

/// What is known of an entry.
#[derive(Default)]
struct Entry {
    /// When the host was asked for it, and when it has said last that there is a page.
    there: Option<(u64, u64)>,
    /// When the host has said last that there is none.
    gone: Option<u64>,
    /// When it came last.
    came: Option<u64>,
    /// When a region began to be written that had it, and when that was done.
    forgotten: Option<(u64, u64)>,
}

/// An entry that is read.
struct Read {
    number: u64,
    asked: u64,
}

impl Judge {
    /// Creates it for a case.
    pub fn new(head: &Head) -> Self {
        Self {
            holds_all: head.setup.log_sets == 9,
            ahead: head.setup.ahead,
            regions: HashMap::new(),
            absent: HashSet::new(),
            asks: Default::default(),
            taken: [0; ASKERS],
            entries: HashMap::new(),
            reading: VecDeque::new(),
            forgets: None,
            busy: 0,
            idle: false,
            asked: 0,
            counted: 0,
            misses: 0,
            entries_asked: (0, 0),
            reads: 0,
        }
    }

    /// The host changes its page tables.
    pub fn pages(&mut self, first: u64, count: u16, there: bool) {
        for number in first..first + u64::from(count) {
            match there {
                true => self.absent.remove(&number),
                false => self.absent.insert(number),
            };
        }
    }

    /// What the host says of the entry that comes next: whether it names a page now.
    pub fn next_there(&self) -> bool {
        let next = self.reading.front();
        next.is_some_and(|read| !self.absent.contains(&read.number))
    }

    /// Asks of an asker whose verdict was not taken.
    pub fn outstanding(&self, asker: usize) -> usize {
        self.asks[asker].len()
    }

    /// Number of asks.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Whether somebody waits for a verdict.
    pub fn waits(&self) -> bool {
        self.asks.iter().any(|asks| !asks.is_empty())
    }

    /// Whether the unit rests.
    pub fn rests(&self) -> bool {
        self.idle
    }

    /// Judges a cycle.
    ///
    /// # Errors
    ///
    /// Returns what the unit did wrong.
    pub fn see(
        &mut self,
        now: u64,
        inputs: &TranslationIn,
        out: &TranslationOut,
        bins: &mut Bins,
    ) -> Result<(), Disagreement> {
        if out.busy {
            self.busy = now;
        } else if let Some((numbers, since)) = self.forgets.take() {
            for number in numbers {
                self.entries.entry(number).or_default().forgotten = Some((since, now));
            }
        }
        self.verdicts(now, inputs, out, bins)?;
        self.host(now, inputs, out, bins)?;
        if let Some((index, mapping)) = inputs.write {
            self.write(now, index, mapping, bins);
        }
        let asks = [
            inputs.receive.map(|(ring, ask)| (usize::from(ring), ask)),
            inputs.transmit.map(|ask| (TRANSMIT, ask)),
        ];
        for (asker, ask) in asks.into_iter().flatten() {
            self.asked += 1;
            let in_front = self.asks.iter().map(VecDeque::len).sum::<usize>();
            self.asks[asker].push_back(Asked {
                ask,
                at: now,
                entries: vec![entries_of(self.regions.get(&(ask.key >> 8)), ask)],
                at_once: AT_ONCE + IN_FRONT * in_front.min(IN_FRONT_MOST) as u64,
                known: false,
            });
        }
        self.counted += u64::from(out.hit) + u64::from(out.miss);
        self.misses += u64::from(out.miss);
        self.idle = out.idle;
        match out.idle && (self.waits() || !self.reading.is_empty() || out.busy) {
            true => Err("it rests, and there is something to do".into()),
            false => Ok(()),
        }
    }

    fn write(&mut self, now: u64, index: u8, mapping: Option<Mapping>, bins: &mut Bins) {
        let old = self.regions.remove(&u32::from(index));
        let numbers = old.map_or(0..0, |old| old.entries());
        if !numbers.is_empty() {
            let its = |read: &Read| numbers.contains(&read.number);
            let under = match &self.reading {
                reading if reading.is_empty() => Under::Nothing,
                reading if reading.iter().any(its) => Under::Its,
                _ => Under::Others,
            };
            let open = match self.waits() {
                true => Open::Something,
                false => Open::Nothing,
            };
            bins.hit(&FORGOTTEN, (under, open));
            self.forgets = Some((numbers, now));
        }
        if let Some(mapping) = mapping {
            self.regions.insert(index.into(), mapping);
        }
        // What was asked before may still be in front of the tables.
        let asked = self.asks.iter_mut().flatten();
        for asked in asked.filter(|asked| asked.ask.key >> 8 == u32::from(index)) {
            asked.entries.push(entries_of(mapping.as_ref(), asked.ask));
        }
    }

    /// Reads of entries.
    fn host(
        &mut self,
        now: u64,
        inputs: &TranslationIn,
        out: &TranslationOut,
        bins: &mut Bins,
    ) -> Result<(), Disagreement> {
        if let Some(there) = inputs.come
            && let Some(Read { number, asked }) = self.reading.pop_front()
        {
            let entry = self.entries.entry(number).or_default();
            entry.came = Some(now);
            match there {
                true => entry.there = Some((asked, now)),
                false => entry.gone = Some(now),
            }
        }
        let Some(number) = out.entry.filter(|_| inputs.entry_ready) else {
            return Ok(());
        };
        let needs = |asks: &&VecDeque<Asked>| asks.iter().any(|ask| ask.has(number));
        let askers = self.asks.iter().filter(needs).count();
        if askers == 0 {
            return Err(format!("entry {number} is read, and nobody asks for it"));
        }
        let entry = self.entries.entry(number).or_default();
        // A read that was wanted before a region was written may have waited for the host until now.
        let since = entry.forgotten.map_or(0, |(_, done)| done + HANDED_ON);
        let forgets = (self.forgets.as_ref()).is_some_and(|(numbers, _)| numbers.contains(&number));
        let under_way = |read: &Read| read.number == number && read.asked >= since;
        if !forgets && self.reading.iter().any(under_way) {
            return Err(format!("entry {number} is read twice at a time"));
        }
        let on_chip = |(asked, came): (u64, u64)| asked >= since && entry.gone < Some(came);
        if self.holds_all && !forgets && entry.there.is_some_and(on_chip) {
            return Err(format!("entry {number} is read, and is on chip"));
        }
        if let Some(ring) = self.too_early(number) {
            return Err(format!(
                "ring {ring}: entry {number} is read behind one that has not come"
            ));
        }
        let beside = match self.reading.len() {
            0 => Beside::Nothing,
            others if others < READS_MOST - 1 => Beside::Others,
            others if others < READS_MOST => Beside::Most,
            others => return Err(format!("a read beside {others}")),
        };
        let for_whom = match askers {
            1 => For::One,
            _ => For::Several,
        };
        bins.hit(&READS, (beside, for_whom));
        self.reads += 1;
        self.reading.push_back(Read { number, asked: now });
        Ok(())
    }

    /// The ring that alone needs an entry, for an ask behind one whose entry is read, although it looks up nothing
    /// behind a miss.
    fn too_early(&self, number: u64) -> Option<usize> {
        let mut askers =
            (0..ASKERS).filter(|&asker| self.asks[asker].iter().any(|ask| ask.has(number)));
        let (ring, None) = (askers.next()?, askers.next()) else {
            return None;
        };
        // One that names no page may be read once more, for others.
        let missing = |ask: &Asked| {
            let came = |number: &u64| self.entries.get(number).and_then(|entry| entry.came);
            let mut of = (self.reading.iter()).filter(|read| ask.entries[0].contains(&read.number));
            ask.entries.len() == 1
                && of.any(|read| read.asked >= ask.at && came(&read.number) < Some(ask.at))
        };
        let mut before = self.asks[ring].iter().take_while(|ask| !ask.has(number));
        (ring != TRANSMIT && !self.ahead && self.holds_all && before.any(missing)).then_some(ring)
    }

    fn verdicts(
        &mut self,
        now: u64,
        inputs: &TranslationIn,
        out: &TranslationOut,
        bins: &mut Bins,
    ) -> Result<(), Disagreement> {
        for asker in 0..ASKERS {
            let has = |set: u16| set >> asker & 1 != 0;
            let who = || match asker {
                TRANSMIT => "transmit".to_owned(),
                ring => format!("ring {ring}"),
            };
            let taken = self.taken[asker];
            let Some(oldest) = self.asks[asker].front_mut() else {
                match has(out.valid) || has(out.waits) {
                    true => return Err(format!("{}: a verdict on nothing", who())),
                    false => continue,
                }
            };
            let came = |number: &u64| {
                let came = self.entries.get(number).and_then(|entry| entry.came);
                came.filter(|&came| came >= oldest.at).unwrap_or(0)
            };
            let last = oldest.entries.iter().flatten().map(came).max();
            let read = self.reading.iter().find(|read| oldest.has(read.number));
            let since = (oldest.at).max(taken).max(self.busy).max(last.unwrap_or(0));
            if !has(out.valid) {
                let under_way = read.is_some_and(|read| read.asked + oldest.at_once < now);
                let known = since + oldest.at_once < now;
                let wanted = read.is_some() || out.entry.is_some_and(|number| oldest.has(number));
                if has(out.waits) && since + HANDED_ON < now && !wanted {
                    return Err(format!("{}: it waits, and nothing is read for it", who()));
                }
                let alone = oldest.entries.len() == 1 && oldest.entries[0].len() == 1;
                if alone && known && under_way && !has(out.waits) {
                    return Err(format!("{}: it waits, and does not say so", who()));
                }
                continue;
            }
            if has(out.waits) {
                return Err(format!("{}: a verdict, and it waits", who()));
            }
            let known = std::mem::replace(&mut oldest.known, true);
            if !known && now > since + oldest.at_once {
                return Err(format!(
                    "{}: the verdict on {:?} is there {} cycles after all that it waits for",
                    who(),
                    oldest.ask,
                    now - since
                ));
            }
            if !has(inputs.ready) {
                continue;
            }
            let Some(done) = self.asks[asker].pop_front() else {
                continue;
            };
            self.taken[asker] = now;
            let right = |entries: &&Vec<u64>| match has(out.gone) {
                true => entries.iter().any(|number| self.was_gone(*number, &done)),
                false => entries.iter().all(|number| self.was_there(*number, &done)),
            };
            let Some(entries) = done.entries.iter().find(right) else {
                let what = match has(out.gone) {
                    true => "there is no page",
                    false => "all is there",
                };
                return Err(format!(
                    "{}: {what}, of {:?}, asked in cycle {}; the host has said otherwise",
                    who(),
                    done.ask,
                    done.at
                ));
            };
            self.count(asker, &done, entries, has(out.gone), bins);
        }
        Ok(())
    }

    /// Whether the host has said that an entry names a page, since its region was written.
    fn was_there(&self, number: u64, ask: &Asked) -> bool {
        let entry = self.entries.get(&number);
        entry.is_some_and(|entry| {
            let since = entry.forgotten.filter(|(_, done)| *done < ask.at);
            let since = since.map_or(0, |(began, _)| began);
            entry.there.is_some_and(|(asked, _)| asked >= since)
        })
    }

    /// Whether the host has said since an ask that an entry names no page, or just before.
    fn was_gone(&self, number: u64, ask: &Asked) -> bool {
        let entry = self.entries.get(&number);
        let gone = entry.and_then(|entry| entry.gone);
        gone.is_some_and(|gone| gone + HANDED_ON >= ask.at)
    }

    /// Counts a verdict that was taken.
    fn count(&mut self, asker: usize, ask: &Asked, entries: &[u64], gone: bool, bins: &mut Bins) {
        let numbers = || ask.entries.iter().map(|entries| entries.len() as u64);
        self.entries_asked.0 += numbers().min().unwrap_or(0);
        self.entries_asked.1 += numbers().max().unwrap_or(0);
        let from = match asker {
            0..RINGS => From::Ring,
            _ => From::Transmit,
        };
        let of = match entries.len() {
            0 => Entries::None,
            1 => Entries::One,
            _ => Entries::Two,
        };
        let came = |number: &u64| {
            let entry = self.entries.get(number);
            entry.is_some_and(|entry| entry.came >= Some(ask.at))
        };
        let found = match gone {
            true => Found::Gone,
            false if entries.iter().any(came) => Found::Read,
            false => Found::There,
        };
        bins.hit(&VERDICTS, (from, of, found));
    }

    /// Judges the whole case.
    ///
    /// # Errors
    ///
    /// Returns what is missing.
    pub fn end(&self) -> Result<(), Disagreement> {
        for (asker, asks) in self.asks.iter().enumerate() {
            if let Some(oldest) = asks.front() {
                return Err(format!(
                    "asker {asker} waits for ever, for {} verdicts: the first is on {:?}, asked in cycle {}",
                    asks.len(),
                    oldest.ask,
                    oldest.at
                ));
            }
        }
        if !self.idle {
            return Err("it does not rest, and there is nothing to do".into());
        }
        let (least, most) = self.entries_asked;
        if !(least..=most).contains(&self.counted) || self.misses < self.reads {
            return Err(format!(
                "{} hits and misses, {} misses, {} reads; asked was for {least} to {most} entries",
                self.counted, self.misses, self.reads
            ));
        }
        Ok(())
    }
}

/// The entries of an access to a region.
fn entries_of(region: Option<&Mapping>, ask: Ask) -> Vec<u64> {
    let Some((mapping, table)) = region.and_then(|mapping| Some((mapping, mapping.table?))) else {
        return vec![];
    };
    let [base, first] = [mapping.base, ask.va].map(u128::from);
    let behind = first + u128::from(ask.bytes);
    let held = first >= base && behind <= base + u128::from(mapping.length);
    if ask.bytes == 0 || u32::from(mapping.tag) != ask.key & 0xff || !held {
        return vec![];
    }
    let size = 4096u128 << table.page;
    let pages = first / size - base / size..=(behind - 1) / size - base / size;
    pages.map(|page| table.first + page as u64).collect()
}
