//! Cases: asks, regions that are written, and pages that come and go.

use serde::{Deserialize, Serialize};
use xoff_sim::seeded::SplitMix;

use crate::property::history::{History, Part, fewer_bits, less_than};
use crate::units::translation::{
    ASKERS, Ask, ENTRY_BITS, Mapping, RINGS, TRANSMIT, Table, TranslationSetup,
};

/// Number of regions of a case.
const REGIONS: usize = 4;
/// Page table entries of a region: those of four fill no set of a whole cache.
const ENTRIES: u64 = 64;
/// Maximum number of bytes of an ask.
const BYTES: u16 = 4_096;
/// Maximum number of events of a history, beside those of its beginning.
const EVENTS: u32 = 160;

/// Settings of a whole case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Settings of the unit.
    pub setup: TranslationSetup,
    /// Seed of the host's times.
    pub seed: u64,
    /// The least and the most cycles from the read of an entry until it comes.
    pub latency: (u16, u16),
    /// Bit c mod 32: whether the host takes the read of an entry in cycle c. Not 0.
    pub host: u32,
    /// Askers that take verdicts only in some cycles, one bit each.
    pub slow: u16,
    /// Bit c mod 32: whether these take verdicts in cycle c. Not 0.
    pub takes: u32,
}

impl Part for Head {
    fn simpler(&self) -> Vec<Self> {
        let with = |change: &dyn Fn(&mut Self)| {
            let mut head = self.clone();
            change(&mut head);
            (head != *self).then_some(head)
        };
        let all: [&dyn Fn(&mut Self); 5] = [
            &|head| head.latency.1 = head.latency.0,
            &|head| head.slow = 0,
            &|head| head.host = u32::MAX,
            &|head| head.setup.log_sets = 9,
            &|head| head.setup.ahead = true,
        ];
        all.into_iter().filter_map(with).collect()
    }

    fn valid(&self) -> Result<(), String> {
        match self {
            Self {
                latency: (least, most),
                ..
            } if least > most || *least == 0 => Err(format!(
                "latency [{least}, {most}]; expected 1 or more, and the least first"
            )),
            Self { host: 0, .. } | Self { takes: 0, .. } => {
                Err("a side that is never willing; expected a 1 in host and in takes".into())
            }
            Self { setup, .. } if setup.log_sets > 9 => {
                Err(format!("log_sets {}; expected at most 9", setup.log_sets))
            }
            _ => Ok(()),
        }
    }
}

/// An event. Events for different ports come in one cycle, unless there is a wait between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Wait this many cycles.
    Wait(u16),
    /// A ring of receive asks.
    Receive {
        /// The ring.
        ring: u8,
        /// What for.
        ask: Ask,
    },
    /// Transmit asks.
    Transmit(Ask),
    /// A region is written; without a mapping it is no more.
    Write {
        /// Its index.
        index: u8,
        /// What it is.
        mapping: Option<Mapping>,
    },
    /// The host changes its page tables: from now on these entries name pages, or do not. At first all do.
    Pages {
        /// Number of the first entry.
        first: u64,
        /// Number of entries.
        count: u16,
        /// Whether they name pages.
        there: bool,
    },
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        match *self {
            Self::Wait(0 | 1) => vec![],
            Self::Wait(n) => (less_than((n - 1).into()))
                .map(|n| Self::Wait(n as u16 + 1))
                .collect(),
            Self::Receive { ring, ask } => (fewer_bits(ring.into()))
                .map(|ring| Self::Receive {
                    ring: ring as u8,
                    ask,
                })
                .collect(),
            _ => vec![],
        }
    }

    fn valid(&self) -> Result<(), String> {
        let ask = match *self {
            Self::Receive { ring, .. } if usize::from(ring) >= RINGS => {
                return Err(format!("ring {ring}; expected at most {}", RINGS - 1));
            }
            Self::Receive { ask, .. } | Self::Transmit(ask) => ask,
            Self::Write {
                mapping: Some(mapping),
                ..
            } => return valid(&mapping),
            _ => return Ok(()),
        };
        match ask.bytes <= BYTES {
            true => Ok(()),
            false => Err(format!("{} bytes; expected at most {BYTES}", ask.bytes)),
        }
    }
}

fn valid(mapping: &Mapping) -> Result<(), String> {
    if mapping.length >= 1 << 48 {
        return Err(format!(
            "length {}; expected less than 2^48",
            mapping.length
        ));
    }
    if u128::from(mapping.base) + u128::from(mapping.length) > 1 << 64 {
        return Err(format!(
            "base {}, length {}; expected memory below 2^64",
            mapping.base, mapping.length
        ));
    }
    match mapping.table {
        Some(table) if table.page > 9 || table.first >= 1 << ENTRY_BITS => Err(format!(
            "page {}, first {}; expected at most 9, and less than 2^{ENTRY_BITS}",
            table.page, table.first
        )),
        Some(table) if mapping.entries().end > 1 << ENTRY_BITS => Err(format!(
            "first {} and {} pages; expected entries below 2^{ENTRY_BITS}",
            table.first,
            mapping.entries().end - table.first
        )),
        _ => Ok(()),
    }
}

/// Draws a history.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let pattern = |draw: &mut SplitMix| match draw.below(3) {
        0 => u32::MAX,
        1 => draw.bits() as u32 | 1,
        _ => 1 << draw.below(32),
    };
    let least = 1 + draw.up_to_bits(8) as u16;
    let head = Head {
        setup: TranslationSetup {
            ahead: draw.once_in(2),
            log_sets: (draw.below(19) as u8).min(9),
        },
        seed: draw.bits(),
        latency: (least, least + draw.up_to_bits(8) as u16),
        host: pattern(draw),
        slow: draw.bits() as u16 & ((1 << ASKERS) - 1),
        takes: pattern(draw),
    };
    let mut drawn = Drawn {
        askers: match draw.below(4) {
            0 => (0..ASKERS).collect(),
            _ => (0..1 + draw.below(4))
                .map(|_| draw.below(ASKERS as u32) as usize)
                .collect(),
        },
        about: match draw.below(8) {
            0 | 1 => About::TwoPages,
            2 => About::OnePage,
            _ => About::Any,
        },
        first_index: draw.bits() as u8,
        regions: [None; REGIONS],
        events: vec![],
    };
    for region in 0..REGIONS {
        drawn.write(draw, region);
    }
    if draw.once_in(2) {
        drawn.pages(draw, false);
    }
    for _ in 0..1 + draw.below(EVENTS) {
        match draw.below(40) {
            0 => {
                let region = draw.below(REGIONS as u32) as usize;
                drawn.write(draw, region);
            }
            1 | 2 => {
                let there = draw.once_in(2);
                drawn.pages(draw, there);
            }
            3..10 => (drawn.events).push(Event::Wait(draw.up_to_bits(9) as u16)),
            _ => drawn.ask(draw),
        }
    }
    History {
        head,
        events: drawn.events,
    }
}

/// What most asks of a history are about.
#[derive(Debug, Clone, Copy)]
enum About {
    /// A page or two, mostly near the beginning of a region.
    Any,
    /// Two pages, anywhere.
    TwoPages,
    /// The first page of one region.
    OnePage,
}

/// A history that is drawn.
struct Drawn {
    /// Who asks.
    askers: Vec<usize>,
    about: About,
    /// Index of the first region; those of the others are behind it, at equal distances.
    first_index: u8,
    /// What the regions are.
    regions: [Option<Mapping>; REGIONS],
    events: Vec<Event>,
}

impl Drawn {
    fn index(&self, region: usize) -> u8 {
        self.first_index.wrapping_add(region as u8 * 85)
    }

    /// A region is written: mostly with a table of up to [`ENTRIES`] pages.
    fn write(&mut self, draw: &mut SplitMix, region: usize) {
        let page = match draw.once_in(2) {
            true => 0,
            false => draw.below(10) as u8,
        };
        let size = 4096 << page;
        let pages = draw.within(1, ENTRIES - 1);
        // Not at the beginning of a page, unless the first one is whole.
        let begins = draw.one_of(&[0, 1, size / 2, size - 1]);
        let number = match draw.below(8) {
            // The last bytes of all
            0 => (u64::MAX / size) - (pages - 1),
            _ => draw.up_to_bits(63 - size.ilog2()),
        };
        let base = number * size + begins;
        // The last entry is used by one byte at least.
        let length = ((pages - 1) * size + 1 + draw.below(size as u32) as u64)
            .saturating_sub(begins)
            .max(1)
            .min((u64::MAX - base).saturating_add(1));
        let table_at = match draw.below(4) {
            0 => (1 << ENTRY_BITS) - ENTRIES * (1 + region as u64),
            1 => draw.up_to_bits(ENTRY_BITS - 1) / 512 * 512 + ENTRIES * region as u64,
            _ => ENTRIES * region as u64,
        };
        let first = table_at + draw.within(0, ENTRIES - pages);
        let table = (!draw.once_in(8)).then_some(Table { page, first });
        let mapping = Mapping {
            tag: draw.bits() as u8,
            base,
            length: match table {
                Some(_) => length,
                None => draw.any_length(48).min((u64::MAX - base).saturating_add(1)),
            },
            table,
        };
        let mapping = (!draw.once_in(8)).then_some(mapping);
        self.regions[region] = mapping;
        (self.events).push(Event::Write {
            index: self.index(region),
            mapping,
        });
    }

    /// Some entries of a region come or go.
    fn pages(&mut self, draw: &mut SplitMix, there: bool) {
        let region = draw.below(REGIONS as u32) as usize;
        if let Some(table) = self.regions[region].and_then(|mapping| mapping.table) {
            self.events.push(Event::Pages {
                first: table.first + draw.up_to_bits(6),
                count: 1 + draw.up_to_bits(5) as u16,
                there,
            });
        }
    }

    /// Somebody asks.
    fn ask(&mut self, draw: &mut SplitMix) {
        let region = match self.about {
            About::OnePage => 0,
            _ => draw.below(REGIONS as u32) as usize,
        };
        let mapping = self.regions[region].unwrap_or(Mapping {
            length: 1 << 20,
            ..Mapping::default()
        });
        let size = 4096 << mapping.table.map_or(0, |table| table.page);
        let (page, at) = match self.about {
            About::Any => (
                draw.up_to_bits(6),
                draw.one_of(&[0, 1, 2_048, size - 1, size - 2_048]),
            ),
            About::TwoPages => (draw.below(ENTRIES as u32).into(), size - 1),
            About::OnePage => (0, 0),
        };
        let va = mapping
            .base
            .wrapping_add((page * size + at) % mapping.length);
        let behind = mapping.length - va.wrapping_sub(mapping.base);
        let bytes = match draw.below(16) {
            0 => 0,
            // May be more than the region has
            1 => draw.within(1, BYTES.into()),
            _ => match self.about {
                About::TwoPages => u64::from(BYTES).min(behind),
                _ => draw.one_of(&[1, 64, 2_048, BYTES.into()]).min(behind),
            },
        };
        let key = u32::from(self.index(region)) << 8 | u32::from(mapping.tag);
        let ask = Ask {
            key: match draw.once_in(16) {
                true => key ^ 1 << draw.below(32),
                false => key,
            },
            va: match draw.once_in(32) {
                true => va.wrapping_sub(draw.up_to_bits(13)),
                false => va,
            },
            bytes: bytes as u16,
        };
        let asker = draw.one_of(&self.askers);
        self.events.push(match asker {
            TRANSMIT => Event::Transmit(ask),
            _ => Event::Receive {
                ring: asker as u8,
                ask,
            },
        });
    }
}
