//! The work whose instructions are counted.

use std::path::Path;
use std::sync::LazyLock;

use clap::{Parser, ValueEnum};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use verilated::Settings;
use xoff::cli::Cli;
use xoff::terminal::{Paint, Streams};
use xoff_network::scenario::{Clos, Scenario};
use xoff_rtl::nic_registers_pkg::COUNTERS;
use xoff_rtl::{Nic, PacketParser256, nic, packet_parser256};
use xoff_rtl_units::{NicCounters, nic_counters};
use xoff_sim::time::{Duration, Time};
use xoff_verify::property::Property;
use xoff_verify::property::bins::Bins;
use xoff_verify::property::unit::{Unit, WithProperty};
use xoff_waves::capture::Reader;

use crate::counted;
use crate::work::{self, NicLoad};

/// Work of one kind.
pub struct Load {
    /// Its name, and the part of a key of `cost.toml` before the colon.
    pub name: String,
    /// What its units are, the part behind the colon.
    pub unit: String,
    /// Whether cycles of tops are counted too. Callgrind counts calls outside of the counted part as well, so that has
    /// to have nearly all of them.
    pub tops: bool,
    run: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Load {
    /// Does the work, of which the part in [`counted`] counts. Returns the number of units in it.
    pub fn run(&self) -> u64 {
        (self.run)()
    }
}

fn load(name: &str, unit: &str, run: fn() -> u64) -> Load {
    Load {
        name: name.to_owned(),
        unit: unit.to_owned(),
        tops: false,
        run: Box::new(run),
    }
}

/// The first cases of the property of a unit, as many as the list of units says. `None` if it says nothing.
fn fuzz(unit: Unit) -> Option<Load> {
    let cost = unit.listed().cost;
    (cost > 0).then(|| Load {
        name: format!("fuzz {}", unit.listed().name),
        unit: unit.with(AnEvent),
        tops: true,
        run: Box::new(move || unit.with(Events(cost))),
    })
}

/// All of it. Those that take longest come first, so that two processors end at the same time.
pub static ALL: LazyLock<Vec<Load>> = LazyLock::new(|| {
    let units = Unit::value_variants().iter();
    let mut all = vec![load("network of model NICs", "a frame-hop", frame_hops)];
    all.extend(units.rev().copied().filter_map(fuzz));
    all.extend([
        load("nic busy", "a cycle", || nic_cycles(&work::nic(BUSY))),
        load("nic half", "a cycle", || {
            nic_cycles(&work::nic(NicLoad {
                sides: &[1],
                ..BUSY
            }))
        }),
        load("nic dcqcn", "a cycle", || {
            nic_cycles(&work::nic(NicLoad {
                dcqcn: true,
                ..BUSY
            }))
        }),
        load("nic translated", "a cycle", || {
            nic_cycles(&work::nic(NicLoad {
                translation: true,
                ..BUSY
            }))
        }),
        load("nic rest", "a cycle", || {
            nic_cycles(&work::nic_at_rest(3_000))
        }),
        load("parser busy", "a cycle", parser_cycles),
        load("counters", "a cycle", counter_cycles),
        load("decode", "a frame", decoded_frames),
    ]);
    all
});

/// Returns the load of this name.
///
/// # Errors
///
/// Returns the names that there are.
pub fn named(name: &str) -> Result<&'static Load, String> {
    (ALL.iter().find(|load| load.name == name))
        .ok_or_else(|| format!("no load '{name}'; the loads are {}", names()))
}

/// The names of all loads, for messages.
pub fn names() -> String {
    let names: Vec<_> = ALL.iter().map(|load| &load.name[..]).collect();
    names.join(", ")
}

/// Messages of 64 kB in both directions at line rate.
const BUSY: NicLoad = NicLoad {
    qps: 4,
    sides: &[0, 1],
    dcqcn: false,
    translation: false,
    cycles: 3_000,
};
/// The cycles that are counted: the last of a load, in which all QPs send.
const COUNTED_CYCLES: usize = 2_000;
/// The seed of the histories of properties.
const SEED: u64 = 1;

/// Runs a NIC with its inputs from reset on, of which the last are counted.
fn nic_cycles(stimulus: &[nic::In]) -> u64 {
    let settings = Settings::new("nic").period_ps(5_120);
    let mut model = Nic::new(&settings).expect("the settings are right");
    let mut out = nic::Out::default();
    let mut run = |cycles: &[nic::In]| {
        for pins in cycles {
            model.cycle(pins, &mut out).expect("no assertion fails");
        }
        cycles.len() as u64
    };
    let (before, last) = stimulus.split_at(stimulus.len() - COUNTED_CYCLES);
    run(before);
    counted(&mut || run(last))
}

/// Runs a parser with frames of all kinds, back to back.
fn parser_cycles() -> u64 {
    let stimulus = work::parser(400);
    let settings = Settings::new("parser").period_ps(5_120);
    let mut model = PacketParser256::new(&settings).expect("the settings are right");
    let mut out = packet_parser256::Out::default();
    counted(&mut || {
        for pins in &stimulus {
            model.cycle(pins, &mut out).expect("no assertion fails");
        }
        stimulus.len() as u64
    })
}

/// Runs the counters of a NIC, which no property runs alone: in every second cycle, all of them count.
fn counter_cycles() -> u64 {
    let settings = Settings::new("counters").period_ps(5_120);
    let mut model = NicCounters::new(&settings).expect("the settings are right");
    let mut out = nic_counters::Out::default();
    let mut pins = nic_counters::In {
        bytes_in_i: 1_000,
        bytes_out_i: 1_000,
        ..nic_counters::In::default()
    };
    const ALL: u64 = (1 << COUNTERS) - 1;
    counted(&mut || {
        for cycle in 0..20_000u64 {
            pins.rst_i = u8::from(cycle == 0);
            pins.event_i = if cycle % 2 == 1 { ALL } else { 0 };
            model.cycle(&pins, &mut out).expect("no assertion fails");
        }
        20_000
    })
}

/// Sends a capture of Linux through the RTL parser.
fn decoded_frames() -> u64 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/loss_mtu256_all_ops.pcap");
    let file = std::fs::File::open(&path).expect("the capture is in the repository");
    let frames = Reader::new("capture".to_owned(), file)
        .expect("it is a capture")
        .count() as u64;
    let path = path.display().to_string();
    let arguments = Cli::parse_from(["xoff", "decode", "--summary", &path]);
    let mut streams = Streams {
        out: Box::new(std::io::sink()),
        err: Box::new(std::io::sink()),
        paint: Paint { colour: false },
        width: None,
        progress: false,
    };
    let program = xoff::Program::new(xoff_cosim::endpoints());
    counted(&mut || {
        xoff::run(&arguments, &program, &mut streams).expect("the capture can be read");
        frames
    })
}

/// What a property counts, in the singular: `an event`.
struct AnEvent;

impl WithProperty for AnEvent {
    type Output = String;

    fn with<P: Property>(self) -> String {
        let event = P::EVENTS.trim_end_matches('s');
        let article = match event.starts_with(['a', 'e', 'i', 'o', 'u']) {
            true => "an",
            false => "a",
        };
        format!("{article} {event}")
    }
}

/// Runs the first cases of a seed of a property on this thread, so many. Returns the number of events in them.
struct Events(u64);

impl WithProperty for Events {
    type Output = u64;

    fn with<P: Property>(self) -> u64 {
        let mut property = P::new(SEED).expect("the units can be created");
        let mut bins = Bins::new(P::groups());
        let strategy = P::cases();
        let mut runner = TestRunner::new_with_rng(
            Config {
                failure_persistence: None,
                ..Config::default()
            },
            TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED as u8; 32]),
        );
        counted(&mut || {
            let mut events = 0;
            for _ in 0..self.0 {
                let case = (strategy.new_tree(&mut runner))
                    .expect("strategies of properties reject nothing")
                    .current();
                let checked = property.check(&case, &mut bins);
                events += checked.expect("the unit does what its reference does");
            }
            events
        })
    }
}

/// Two podsets of 32 hosts with model NICs, 8 QPs from each host to its partner in the other podset, for 20 µs after all
/// have started. Returns the number of frames that all ports have sent.
fn frame_hops() -> u64 {
    let span = Duration::from_us(40);
    let clos = Clos {
        tors: 4,
        hosts: 8,
        leafs: 4,
        spines: 8,
        ..Clos::PAPER
    };
    let scenario = Scenario {
        sample: Some(span),
        ..clos.scenario(8, span)
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a thread starts").install(|| {
        let mut simulation =
            xoff_cosim::simulation(&scenario.checked().unwrap()).expect("the network is right");
        let mut until = |end| {
            simulation.run_until(end).expect("no NIC fails");
            work::frames_sent(&simulation)
        };
        let before = until(Time::ZERO + span / 2);
        counted(&mut || until(Time::ZERO + span)) - before
    })
}
