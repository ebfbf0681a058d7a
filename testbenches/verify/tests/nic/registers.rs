//! The register file, at the pins: rtl/nic/registers.md holds at every address.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use xoff_rtl::Nic;
use xoff_rtl::nic::{In, Out};
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::SplitMix;

use crate::fixture::judged;

/// The word of [`reg::IDENTITY`], 'XOFF'.
const IDENTITY: u32 = u32::from_be_bytes(*b"XOFF");
const VERSION: u32 = 2;
/// Cycles within which an access is done. Clearing the regions after a reset takes longest.
const ACCESS_MAX: u32 = 1_000;
/// Cells of the receive buffer.
const CELLS: u32 = xoff_rtl::nic::BUFFER_BYTES / 64;
/// The registers are at addresses up to this one.
const FILE: u16 = 0xFFF;
/// Responses to an access that has succeeded, and to one that has failed (AXI4, RESP).
const OKAY: u8 = 0;
const SLVERR: u8 = 2;

/// An AXI4-Lite master that makes one access at a time.
struct Bus {
    nic: Nic,
    pins: In,
    out: Out,
}

impl Bus {
    fn new() -> Self {
        Self::of(1)
    }

    /// A NIC whose registers are drawn from `seed` before its reset.
    fn of(seed: u64) -> Self {
        let nic = judged(|| Nic::new(&verilated::Settings::new("nic").seed(seed)));
        let mut bus = Self {
            nic: nic.unwrap(),
            pins: In::default(),
            out: Out::default(),
        };
        bus.pins.rst_i = 1;
        bus.cycle();
        bus.pins.rst_i = 0;
        bus
    }

    fn cycle(&mut self) {
        self.nic.cycle(&self.pins, &mut self.out).unwrap();
        self.pins.now_i += 1;
    }

    /// Runs cycles until one in which `done` holds.
    fn until(&mut self, what: &str, done: impl Fn(&Out) -> bool) {
        for _ in 0..ACCESS_MAX {
            self.cycle();
            if done(&self.out) {
                return;
            }
        }
        panic!("{what} is not done in {ACCESS_MAX} cycles");
    }

    fn write(&mut self, address: u16, word: u32) {
        let response = self.try_write(address, word);
        assert_eq!(response, OKAY, "a write to {address:#06x}");
    }

    fn try_write(&mut self, address: u16, word: u32) -> u8 {
        (self.pins.awaddr_i, self.pins.wdata_i) = (address, word);
        (self.pins.wstrb_i, self.pins.awvalid_i, self.pins.wvalid_i) = (0xF, 1, 1);
        let what = format!("a write to {address:#06x}");
        self.until(&what, |out| out.awready_o != 0);
        (self.pins.awvalid_i, self.pins.wvalid_i, self.pins.bready_i) = (0, 0, 1);
        self.until(&what, |out| out.bvalid_o != 0);
        self.pins.bready_i = 0;
        self.out.bresp_o
    }

    fn read(&mut self, address: u16) -> u32 {
        (self.pins.araddr_i, self.pins.arvalid_i) = (address, 1);
        let what = format!("a read of {address:#06x}");
        self.until(&what, |out| out.arready_o != 0);
        (self.pins.arvalid_i, self.pins.rready_i) = (0, 1);
        self.until(&what, |out| out.rvalid_o != 0);
        assert_eq!(self.out.rresp_o, OKAY, "{what}");
        self.pins.rready_i = 0;
        self.out.rdata_o
    }
}

/// What reads as something else than 0, if no frame has passed: the words of the map, and the settings.
fn map(settings: &BTreeMap<u16, u32>) -> BTreeMap<u16, u32> {
    let words = [(reg::IDENTITY, IDENTITY), (reg::VERSION, VERSION)];
    words
        .into_iter()
        .chain(settings.iter().map(|(address, word)| (*address, *word)))
        .collect()
}

/// Compares addresses, those between words too, with the map.
fn read(bus: &mut Bus, settings: &BTreeMap<u16, u32>, addresses: RangeInclusive<u16>) {
    let map = map(settings);
    for address in addresses {
        let expected = map.get(&address).copied().unwrap_or(0);
        let found = bus.read(address);
        assert_eq!(found, expected, "at {address:#06x}");
    }
}

#[test]
fn reset_sets_every_register_whatever_was_in_it() {
    for seed in 1..=16 {
        let mut bus = Bus::of(seed);
        for setting in reg::SETTINGS {
            let name = setting.name;
            assert_eq!(bus.read(setting.address), setting.reset, "{name}, {seed}");
        }
    }
}

#[test]
fn every_register_is_at_its_own_address_alone() {
    let mut bus = Bus::new();
    let reset = reg::SETTINGS.map(|setting| (setting.address, setting.reset));
    let mut settings = BTreeMap::from(reset);
    read(&mut bus, &settings, 0..=FILE);
    let mut draw = SplitMix::new(1);
    let words = reg::SETTINGS.map(|_| draw.bits() as u32);
    // Each bit is 0 once, and 1 once. An address that reads as a register of another one does so whatever the words
    // are, so addresses far from the registers are read with one of them.
    for (inverted, last) in [(0, FILE), (u32::MAX, u16::MAX)] {
        for (setting, word) in reg::SETTINGS.iter().zip(words) {
            let word = match setting.name {
                // Parts of the buffer have to fit into it.
                "buffer_cells" => (word ^ inverted) % (CELLS / 7),
                "buffer_map" => (word ^ inverted) & 0x7777_7777,
                _ => word ^ inverted,
            };
            bus.write(setting.address, word);
            settings.insert(setting.address, word & setting.bits);
        }
        read(&mut bus, &settings, 0..=last);
    }
    // All other addresses but those of commands; far from the registers, those of words.
    let commands = [
        reg::QP_COMMAND,
        reg::QP_QUERY,
        reg::REGION_COMMAND,
        reg::REARM,
    ];
    for address in (0..=FILE).chain((FILE + 1..=u16::MAX).step_by(4)) {
        if !settings.contains_key(&address) && !commands.contains(&address) {
            bus.write(address, draw.bits() as u32);
        }
    }
    for (address, word) in &settings {
        assert_eq!(bus.read(*address), *word, "at {address:#06x}");
    }
}

/// AXI4: SLVERR says that an access has reached its slave and failed. Parts of the receive buffer hold what it has, 2,048
/// cells; there are eight parts; and what waits in a part that is cut would be lost. What is refused changes nothing.
#[test]
fn parts_of_the_buffer_that_do_not_fit_are_refused() {
    let mut bus = Bus::new();
    let cells = |part: u16| reg::BUFFER_CELLS + 4 * (part - 1);
    for (address, word, response) in [
        (cells(1), 2_049, SLVERR),
        (cells(1), 0xFFFF, SLVERR),
        (cells(1), 2_048, OKAY),
        (cells(2), 1, SLVERR),
        (cells(1), 1_000, OKAY),
        (cells(2), 1_048, OKAY),
        (cells(3), 1, SLVERR),
        (cells(1), 0xFFFF, SLVERR),
        (cells(2), 1_000, OKAY),
        (cells(3), 48, OKAY),
        (cells(7), 1, SLVERR),
        (reg::BUFFER_MAP, 0x7654_3210, OKAY),
        (reg::BUFFER_MAP, 0x0000_0008, SLVERR),
        (reg::BUFFER_MAP, 0x8000_0000, SLVERR),
    ] {
        let what = format!("{word:#x} at {address:#x}");
        assert_eq!(bus.try_write(address, word), response, "{what}");
    }
    let state =
        |bus: &mut Bus| [cells(1), cells(2), cells(3), reg::BUFFER_MAP].map(|at| bus.read(at));
    let right = [1_000, 1_000, 48, 0x7654_3210];
    assert_eq!(state(&mut bus), right);
    // While a QP is open its packets may be in the buffer; the map only says where the next ones go.
    bus.write(reg::QP_COMMAND, 1 << 16 | 5);
    while bus.read(reg::BUSY) != 0 {}
    assert_eq!(bus.try_write(cells(1), 900), SLVERR);
    bus.write(reg::BUFFER_MAP, 0x0123_0123);
    assert_eq!(state(&mut bus)[..3], right[..3]);
    bus.write(reg::QP_COMMAND, 5);
    while bus.read(reg::BUSY) != 0 {}
    bus.write(cells(1), 900);
    assert_eq!(state(&mut bus), [900, 1_000, 48, 0x0123_0123]);
}
