//! The cost of a Clos network with model NICs as it grows, and of networks with RTL NICs: wall-clock time for a
//! millisecond of simulated time on one thread and on two, the time to build it, and its memory.
//!
//! Each figure comes from a process of its own. The time of a millisecond is that of the second half of a run, when all
//! flows have started and queues have filled, so that building and warming up are not in it.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use xoff::scenario_file::Source;
use xoff_network::scenario::{Clos, NicKind, Scenario};
use xoff_sim::time::{Duration, Time};

use crate::{Extent, work};

/// The argument with which the bench runs a single network and prints its figures.
pub const SINGLE: &str = "--one-network";
/// QPs from each host to its partner in the other podset.
const QPS: u32 = 8;
/// Simulated time of the whole run with model NICs, of which the second half is measured.
const SPAN: Duration = Duration::from_us(200);
/// Racks of a podset of [`Clos::PAPER`] and smaller or larger networks; each has eight hosts.
const TORS: [u32; 8] = [1, 2, 4, 8, 16, 24, 32, 64];
/// HPCC's distribution of WebSearch flows: bytes and percentile.
const WEB_SEARCH: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n5000000 90\n10000000 97\n30000000 100\n";

/// The paper's two podsets with `tors` racks each. Spines grow with them, so that the over-subscription of 3 stays as
/// it is as far as their number is a multiple of the leafs.
fn two_podsets(tors: u32) -> Scenario {
    let clos = Clos {
        tors,
        spines: (Clos::PAPER.spines * tors / Clos::PAPER.tors).next_multiple_of(Clos::PAPER.leafs),
        ..Clos::PAPER
    };
    clos.scenario(QPS, SPAN)
}

/// The network of ns-3's `fat.txt`: 320 hosts at 100 Gb/s, 56 switches with 400 Gb/s between them, 1 µs a link, and
/// flows of WebSearch at half load.
fn fat() -> Scenario {
    let sizes =
        std::env::temp_dir().join(format!("xoff-bench-{}-WebSearch.txt", std::process::id()));
    std::fs::write(&sizes, WEB_SEARCH).expect("the folder for temporary files can be written");
    // 162.5 m of cable take 812.5 ns, and the interfaces the 187.5 ns that are left of 1 µs.
    let text = format!(
        r#"
        title = "WebSearch at half load"
        duration = "{SPAN}"
        host = {{ nic = "model", rate = "100 Gb/s", dcqcn = {{}} }}

        [topology]
        switch = {{ ecn = {{}} }}

        [topology.clos]
        podsets = 5
        tors = 4
        hosts = 16
        leafs = 4
        spines = 16
        host_cable = "162.5 m"
        leaf_cable = "162.5 m"
        spine_cable = "162.5 m"
        leaf_rate = "400 Gb/s"
        spine_rate = "400 Gb/s"

        [[flows]]
        name = "web"
        sizes = {sizes:?}
        load = 0.5
        "#
    );
    let source = Source {
        name: "fat".into(),
        origin: "fat".into(),
        text,
        folder: std::path::PathBuf::new(),
    };
    let scenario = source.read(&[]).expect("the scenario is right");
    std::fs::remove_file(&sizes).expect("it was just written");
    scenario.written().clone()
}

/// `pair` for longer: two RTL NICs at a switch, one of which sends.
fn pair() -> Scenario {
    let source = Source::find("pair").expect("it is built in");
    let scenario = source.read(&[]).expect("the scenario is right");
    Scenario {
        duration: Duration::from_ms(4),
        ..scenario.written().clone()
    }
}

/// Eight RTL NICs in two podsets, four QPs from each to its partner in the other podset.
fn eight_rtl() -> Scenario {
    let clos = Clos {
        tors: 2,
        hosts: 2,
        leafs: 2,
        spines: 4,
        ..Clos::PAPER
    };
    with_rtl(clos.scenario(4, Duration::from_ms(2)))
}

fn with_rtl(mut scenario: Scenario) -> Scenario {
    scenario.host.nic = NicKind::Rtl;
    scenario
}

/// The paper's two podsets with RTL NICs, for a fifth of the time that those with model NICs run.
fn two_podsets_rtl() -> Scenario {
    Scenario {
        duration: SPAN / 5,
        ..with_rtl(two_podsets(Clos::PAPER.tors))
    }
}

/// The scenario of this name. Nothing is drawn, so one sample suffices.
fn scenario(name: &str) -> Scenario {
    let scenario = match name {
        "fat" => fat(),
        "pair" => pair(),
        "eight" => eight_rtl(),
        "rtl" => two_podsets_rtl(),
        tors => two_podsets(tors.parse().expect("a number of racks")),
    };
    Scenario {
        sample: Some(scenario.duration),
        ..scenario
    }
}

/// Runs a network and prints its figures, separated by spaces.
pub fn single(name: &str, threads: &str) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.parse().expect("a number of threads"))
        .build()
        .expect("threads start");
    pool.install(|| {
        let scenario = scenario(name).checked().expect("it fits together");
        let started = Instant::now();
        let mut simulation = xoff_cosim::simulation(&scenario).expect("the network is right");
        let built = started.elapsed().as_secs_f64();
        let half = Time::ZERO + scenario.duration / 2;
        simulation.run_until(half).expect("no NIC fails");
        let before = work::frames_sent(&simulation);
        let started = Instant::now();
        simulation
            .run_until(Time::ZERO + scenario.duration)
            .expect("no NIC fails");
        let wall = started.elapsed().as_secs_f64();
        let frames = work::frames_sent(&simulation) - before;
        let ms = (scenario.duration / 2).as_ps() as f64 / 1e9;
        let hosts = simulation
            .stations()
            .filter(|(_, station)| station.host().is_some());
        println!(
            "{} {} {} {built} {} {} {} {}",
            hosts.count(),
            simulation.names().len(),
            simulation.flows().len(),
            wall / ms,
            frames as f64 / ms,
            peak_bytes(),
            simulation.digest()
        );
    });
}

/// The most memory that this process has held, in bytes; 0 where `/proc` does not tell.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The figures of a network.
struct Figures {
    hosts: u64,
    nodes: u64,
    flows: u64,
    built: f64,
    /// Wall-clock seconds a simulated millisecond, and frames in it.
    wall: f64,
    frames: f64,
    peak: f64,
    digest: String,
}

fn measured(name: &str, threads: u32) -> Figures {
    let program = std::env::current_exe().expect("the bench knows its own file");
    let output = Command::new(program)
        .args([SINGLE, name, &threads.to_string()])
        .output()
        .expect("the bench starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split_whitespace();
    let mut next = || words.next().unwrap_or_default().to_owned();
    let number = |word: String| -> f64 {
        let errors = String::from_utf8_lossy(&output.stderr);
        word.parse()
            .unwrap_or_else(|_| panic!("network {name}: {text}{errors}"))
    };
    Figures {
        hosts: number(next()) as u64,
        nodes: number(next()) as u64,
        flows: number(next()) as u64,
        built: number(next()),
        wall: number(next()),
        frames: number(next()),
        peak: number(next()),
        digest: next(),
    }
}

/// Prints the table.
pub fn measure(extent: Extent) {
    println!("networks, wall-clock seconds a simulated millisecond");
    println!(
        "{:>20} {:>6} {:>6} {:>7} {:>8} {:>8} {:>9} {:>9} {:>6} {:>9}",
        "",
        "hosts",
        "nodes",
        "flows",
        "built s",
        "MB",
        "1 thread",
        "2 threads",
        "ratio",
        "µs/frame"
    );
    let tors = match extent {
        Extent::Whole => &TORS[..],
        Extent::Quick => &TORS[..1],
    };
    let names = (tors.iter()).map(|tors| ("two podsets", tors.to_string()));
    let others = [
        ("fat, WebSearch", "fat"),
        ("pair, RTL", "pair"),
        ("two podsets, RTL", "eight"),
        ("two podsets, RTL", "rtl"),
    ]
    .map(|(title, name)| (title, name.to_owned()));
    let others = (others.into_iter()).filter(|_| extent == Extent::Whole);
    for (title, name) in names.chain(others) {
        let [one, two] = [1, 2].map(|threads| measured(&name, threads));
        assert_eq!(
            one.digest, two.digest,
            "{title}: one result whatever the number of threads"
        );
        let mut row = String::new();
        let _ = write!(
            row,
            "{title:>20} {:>6} {:>6} {:>7} {:>8.2} {:>8.0}",
            one.hosts,
            one.nodes,
            one.flows,
            one.built,
            one.peak / 1e6
        );
        let _ = write!(
            row,
            " {:>9.2} {:>9.2} {:>6.2}",
            one.wall,
            two.wall,
            one.wall / two.wall
        );
        println!("{row} {:>9.2}", one.wall * 1e6 / one.frames);
    }
}
