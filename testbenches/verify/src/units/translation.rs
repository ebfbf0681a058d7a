//! Driver for `nic_translation`, one cycle per call.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use verilated::Settings;
use xoff_rtl_units::NicTranslation;
use xoff_rtl_units::gbn_pkg::Place;
use xoff_rtl_units::nic_pkg;
use xoff_rtl_units::nic_registers_pkg::{Counter, NicSettings};

use xoff_cosim::units::driven::Driven;
use xoff_cosim::units::{PERIOD_256_PS, UnitError};

/// Rings of receive, which are askers 0 to 7.
pub const RINGS: usize = nic_pkg::BUFFERS as usize;
/// Transmit, the last asker.
pub const TRANSMIT: usize = nic_pkg::ASK_TRANSMIT as usize;
/// Number of askers.
pub const ASKERS: usize = nic_pkg::ASKERS as usize;
/// Maximum number of asks of an asker whose verdict was not taken.
pub const ASKS: usize = 32;
/// Maximum number of page table entries that are read at a time.
pub const READS: usize = nic_pkg::ENTRY_READS as usize;
/// Bits of the number of a page table entry.
pub const ENTRY_BITS: u32 = 40;

/// Settings of the whole unit; they change at a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranslationSetup {
    /// Whether rings look up what is behind a miss meanwhile.
    pub ahead: bool,
    /// Binary logarithm of the cache's sets, 0 to 9. A set has four entries.
    pub log_sets: u8,
}

/// Memory of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Key of its region: the index in its upper 24 bits, and the tag.
    pub key: u32,
    /// Its first byte.
    pub va: u64,
    /// Number of bytes, up to 4,096.
    pub bytes: u16,
}

/// What a region is written with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// The lower 8 bits of its key.
    pub tag: u8,
    /// Its first byte.
    pub base: u64,
    /// Number of bytes, below 2⁴⁸.
    pub length: u64,
    /// Its page table, if it has one.
    pub table: Option<Table>,
}

impl Mapping {
    /// Numbers of the entries of its page table: one for each page that it touches.
    pub fn entries(&self) -> Range<u64> {
        match self.table {
            Some(table) if self.length > 0 => {
                let size = 4096u128 << table.page;
                let base = u128::from(self.base);
                let last = (base + u128::from(self.length) - 1) / size - base / size;
                table.first..table.first + last as u64 + 1
            }
            _ => 0..0,
        }
    }
}

/// Page table of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Size of its pages: 4 KiB, doubled so often, 0 to 9.
    pub page: u8,
    /// Number of its first entry.
    pub first: u64,
}

/// Inputs of a cycle.
#[derive(Debug, Clone, Copy, Default)]
pub struct TranslationIn {
    /// A region is written; without a mapping it is no more.
    pub write: Option<(u8, Option<Mapping>)>,
    /// A ring of receive asks.
    pub receive: Option<(u8, Ask)>,
    /// Transmit asks.
    pub transmit: Option<Ask>,
    /// Askers that take their next verdict, one bit each.
    pub ready: u16,
    /// The host takes the read of an entry.
    pub entry_ready: bool,
    /// An entry comes, and whether it names a page.
    pub come: Option<bool>,
}

/// Outputs of a cycle. Of sets of askers, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranslationOut {
    /// No region may be written.
    pub busy: bool,
    /// The read of the entry with this number.
    pub entry: Option<u64>,
    /// Rings may ask.
    pub room: bool,
    /// Askers that have a verdict.
    pub valid: u16,
    /// Askers that wait for entries.
    pub waits: u16,
    /// Askers whose verdict is that there is no page.
    pub gone: u16,
    /// An entry was there.
    pub hit: bool,
    /// An entry was not.
    pub miss: bool,
    /// Nothing is under way.
    pub idle: bool,
}

/// A verilated `nic_translation`.
pub struct RtlTranslation {
    unit: Driven<NicTranslation>,
}

impl RtlTranslation {
    /// Creates the unit. `seed` determines the random initial state of its registers.
    ///
    /// # Errors
    ///
    /// The model cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        let settings = Settings::new("nic_translation")
            .seed(seed)
            .period_ps(PERIOD_256_PS);
        Ok(Self {
            unit: Driven::new(&settings)?,
        })
    }

    /// Runs a cycle with reset, and turns translation on. The unit is busy for some cycles then.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn reset(&mut self, setup: TranslationSetup) -> Result<(), UnitError> {
        let off = NicSettings {
            translation_ahead: setup.ahead,
            translation_sets: setup.log_sets,
            ..NicSettings::default()
        };
        let pins = &mut self.unit.pins_in;
        pins.set_settings_i(&off);
        pins.rst_i = 1;
        self.cycle(&TranslationIn::default())?;
        let pins = &mut self.unit.pins_in;
        pins.rst_i = 0;
        pins.set_settings_i(&NicSettings {
            translation_on: true,
            ..off
        });
        Ok(())
    }

    /// Returns the outputs of a cycle, then applies the clock edge that ends it.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL failed.
    pub fn cycle(&mut self, inputs: &TranslationIn) -> Result<TranslationOut, UnitError> {
        let pins = &mut self.unit.pins_in;
        pins.region_write_i = u8::from(inputs.write.is_some());
        if let Some((index, mapping)) = inputs.write {
            let of = mapping.unwrap_or_default();
            pins.region_index_i = index;
            pins.set_region_i(&nic_pkg::Region {
                valid: mapping.is_some(),
                tag: of.tag,
                base: of.base,
                length: of.length,
                ..nic_pkg::Region::default()
            });
            let table = of.table.map(|table| nic_pkg::Table {
                translated: true,
                page: table.page,
                first: table.first,
            });
            pins.set_table_i(&table.unwrap_or_default());
        }
        pins.receive_ask_valid_i = u8::from(inputs.receive.is_some());
        if let Some((ring, ask)) = inputs.receive {
            pins.receive_ask_ring_i = ring;
            pins.set_receive_ask_i(&place(ask));
        }
        pins.transmit_ask_valid_i = u8::from(inputs.transmit.is_some());
        if let Some(ask) = inputs.transmit {
            pins.set_transmit_ask_i(&place(ask));
        }
        pins.verdict_ready_i = inputs.ready;
        pins.entry_ready_i = u8::from(inputs.entry_ready);
        pins.entry_come_i = u8::from(inputs.come.is_some());
        pins.entry_there_i = u8::from(inputs.come == Some(true));
        self.unit.cycle()?;
        let out = &self.unit.pins_out;
        let counts = |counter: Counter| out.event_o >> counter as u32 & 1 != 0;
        Ok(TranslationOut {
            busy: out.busy_o != 0,
            entry: (out.entry_valid_o != 0).then_some(out.entry_number_o),
            room: out.receive_room_o != 0,
            valid: out.verdict_valid_o,
            waits: out.verdict_waits_o,
            gone: out.verdict_gone_o,
            hit: counts(Counter::CountTranslationHits),
            miss: counts(Counter::CountTranslationMisses),
            idle: out.idle_o != 0,
        })
    }
}

fn place(ask: Ask) -> Place {
    Place {
        va: ask.va,
        key: ask.key,
        remote: false,
        bytes: ask.bytes,
    }
}
