//! The register file, at the pins: rtl/nic/registers.md holds at every address.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use xoff_rtl::Nic;
use xoff_rtl::nic::{In, Out};
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::SplitMix;

use crate::tested::judged;

/// The word of [`reg::IDENTITY`], 'XOFF'.
const IDENTITY: u32 = u32::from_be_bytes(*b"XOFF");
const VERSION: u32 = 1;
/// Cycles within which an access is done. Clearing the regions after a reset takes longest.
const ACCESS_MAX: u32 = 1_000;
/// Cells of the receive buffer.
const CELLS: u32 = xoff_rtl::nic::BUFFER_BYTES / 64;
/// The registers are at addresses up to this one.
const FILE: u16 = 0xFFF;
/// Response to an access that has succeeded (AXI4, RESP).
const OKAY: u8 = 0;

/// An AXI4-Lite master that makes one access at a time.
struct Bus {
    nic: Nic,
    pins: In,
    out: Out,
}

impl Bus {
    fn new() -> Self {
        let nic = judged(|| Nic::new(&verilated::Settings::new("nic")));
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
        (self.pins.awaddr_i, self.pins.wdata_i) = (address, word);
        (self.pins.wstrb_i, self.pins.awvalid_i, self.pins.wvalid_i) = (0xF, 1, 1);
        let what = format!("a write to {address:#06x}");
        self.until(&what, |out| out.awready_o != 0);
        (self.pins.awvalid_i, self.pins.wvalid_i, self.pins.bready_i) = (0, 0, 1);
        self.until(&what, |out| out.bvalid_o != 0);
        assert_eq!(self.out.bresp_o, OKAY, "{what}");
        self.pins.bready_i = 0;
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
                "buffer_cells" => (word ^ inverted) % (CELLS / 3),
                _ => word ^ inverted,
            };
            bus.write(setting.address, word);
            settings.insert(setting.address, word & setting.bits);
        }
        read(&mut bus, &settings, 0..=last);
    }
    // All other addresses but those of commands; far from the registers, those of words.
    let commands = [reg::QP_COMMAND, reg::REGION_COMMAND, reg::REARM];
    for address in (0..=FILE).chain((FILE + 1..=u16::MAX).step_by(4)) {
        if !settings.contains_key(&address) && !commands.contains(&address) {
            bus.write(address, draw.bits() as u32);
        }
    }
    for (address, word) in &settings {
        assert_eq!(bus.read(*address), *word, "at {address:#06x}");
    }
}
