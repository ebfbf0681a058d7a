//! What the clock gates of the NIC save: the same cycles in two builds of this bench, with gates and with wires in
//! their place (the feature `ungated`). Then two scenarios, in both builds of `xoff`.
//!
//! Each figure comes from a process of its own. The builds take turns, so that both have the same share of the machine,
//! and the ratio is taken within a turn.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use xoff::property::nic::pair::{PERIOD, Pair, PairConfig, REGION, REGIONS, all};
use xoff_rtl::nic::In;
use xoff_rtl::plain;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Work, WorkKind};
use xoff_sim::time::Cycles;

/// The argument with which the bench measures one load in its own build and prints the result.
pub const SINGLE: &str = "--one-load";
const QPS: u16 = 8;
/// Cycles under load.
const BUSY: u64 = 20_000;
/// Idle cycles.
const IDLE: u64 = 40_000;
/// Turns of the two builds.
const ROUNDS: usize = 5;
/// With DCQCN, one packet in so many is marked.
const MARKED: u64 = 200;

/// What the NIC does in the measured cycles.
#[derive(Clone, Copy)]
enum Load {
    /// QPs write 64 kB messages in both directions.
    Busy,
    /// The NIC only sends.
    Sends,
    /// The NIC only receives.
    Receives,
    /// As `Busy`, with DCQCN and marked packets.
    Dcqcn,
    /// Nothing after reset.
    Rest,
}

const LOADS: [(&str, Load); 5] = [
    ("busy", Load::Busy),
    ("half, sending", Load::Sends),
    ("half, receiving", Load::Receives),
    ("DCQCN", Load::Dcqcn),
    ("rest", Load::Rest),
];

impl Load {
    /// The inputs of the NIC from its reset on.
    fn stimulus(self) -> Vec<In> {
        let sides: &[usize] = match self {
            Self::Busy | Self::Dcqcn => &[0, 1],
            Self::Sends => &[0],
            Self::Receives => &[1],
            Self::Rest => return rest(),
        };
        let dcqcn = matches!(self, Self::Dcqcn);
        load(sides, dcqcn)
    }
}

/// Returns the inputs for a reset followed by idle cycles.
pub fn rest() -> Vec<In> {
    let mut stimulus: Vec<_> = (0..IDLE)
        .map(|now_i| In {
            now_i,
            ..In::default()
        })
        .collect();
    stimulus[0].rst_i = 1;
    stimulus
}

/// Returns the inputs of a NIC from its reset on: registers, then QPs that write 64 kB messages from these sides.
pub fn load(sides: &[usize], dcqcn: bool) -> Vec<In> {
    let keeps = "the NIC keeps its rules";
    let mut pair = Pair::of(&PairConfig {
        seed: 1,
        settings: None,
        regions: REGIONS,
        change: &|_, _, _| {},
        qps: &(0..QPS).collect::<Vec<_>>(),
        read_delay: PERIOD * 100,
        times: [Cycles(0); 2],
        record: true,
    })
    .expect(keeps);
    if dcqcn {
        for side in 0..2 {
            (pair.write(side, reg::CONTROL, 1 << reg::DCQCN_ON_LOW)).expect(keeps);
        }
    }
    for id in 0..16 {
        for qp in 0..QPS {
            for &side in sides {
                let work = Work {
                    kind: WorkKind::WRITE,
                    length: 1 << 16,
                    local_va: 0x7F00_0000_0000 + (u64::from(qp) << 20),
                    remote_va: REGION + (u64::from(qp) << 20),
                    remote_key: pair.key[1 - side],
                    id,
                    ..Work::default()
                };
                pair.post(side, qp, work);
            }
        }
    }
    let mut packets = 0;
    let mut mark = |_: usize, bytes: &mut Vec<u8>, _: &_| {
        packets += 1;
        if packets % MARKED == 0 {
            let headers = Headers::at(bytes).expect("the NIC sends whole headers");
            rewrite::mark_ce(bytes, &headers.ip.expect("the NIC sends IP packets"));
        }
        true
    };
    for _ in 0..BUSY {
        match dcqcn {
            true => pair.step(&mut mark),
            false => pair.step(&mut all),
        }
        .expect(keeps);
    }
    pair.update(0, |host| host.take_record())
}

/// Runs one load and prints nanoseconds per cycle and the digest of the outputs.
pub fn single(name: &str) {
    let (_, load) = (LOADS.iter().find(|(known, _)| *known == name)).expect("a load of the list");
    let stimulus = load.stimulus();
    let start = Instant::now();
    let digest = plain::nic_loop(&stimulus);
    let per_cycle = start.elapsed().as_secs_f64() * 1e9 / stimulus.len() as f64;
    println!("{per_cycle} {digest:x}");
}

/// Builds the bench and `xoff`, with or without gates, and returns their paths: in `folder`, because Cargo gives both
/// builds of `xoff` one path.
fn builds(ungated: bool, folder: &Path) -> [PathBuf; 2] {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let features: &[&str] = match ungated {
        true => &["--features", "ungated"],
        false => &[],
    };
    let built = |arguments: &[&str], kind: &str| {
        let mut command = Command::new(&cargo);
        (command.args(arguments)).args(["-p", "xoff", "--message-format=json"]);
        let output = command.args(features).output().expect("cargo starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let built = (text.lines())
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| message["target"]["kind"][0] == kind)
            .find_map(|message| message["executable"].as_str().map(str::to_owned))
            .expect("cargo names what it has built");
        let copy = folder.join(format!("{kind}-{ungated}"));
        std::fs::copy(built, &copy).expect("the folder for temporary files can be written");
        copy
    };
    [
        built(&["bench", "--no-run", "--bench", "harness"], "bench"),
        built(&["build", "--release", "--bin", "xoff"], "bin"),
    ]
}

/// Runs a program and returns what it prints.
fn output(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    // A scenario whose expectations do not hold in the shorter time ends with 1.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{} {arguments:?}: {text}{errors}",
        program.display()
    );
    text
}

/// The median over rounds of both times and of their ratio.
fn medians(rounds: &[[f64; 2]]) -> [f64; 3] {
    let median = |of: fn(&[f64; 2]) -> f64| {
        let mut values: Vec<_> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    [
        median(|round| round[0]),
        median(|round| round[1]),
        median(|round| round[1] / round[0]),
    ]
}

/// Measures all loads and the scenarios.
pub fn measure() {
    let folder = std::env::temp_dir().join(format!("xoff-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    // The gated build comes last and leaves `target/release/xoff` as it was.
    let ungated = builds(true, &folder);
    let gated = builds(false, &folder);
    for (name, _) in LOADS {
        let rounds: Vec<[f64; 2]> = (0..ROUNDS)
            .map(|_| {
                let [one, other] = [&gated[0], &ungated[0]].map(|program| {
                    let text = output(program, &[SINGLE, name]);
                    let (time, digest) = text.trim().split_once(' ').expect("time and digest");
                    let time: f64 = time.parse().expect("a number");
                    (time, digest.to_owned())
                });
                assert_eq!(one.1, other.1, "{name}: gates change no output");
                [one.0, other.0]
            })
            .collect();
        let [with, without, ratio] = medians(&rounds);
        println!(
            "nic cycle {name}: {with:.0} ns gated, {without:.0} ns ungated, {ratio:.2} times as fast"
        );
    }
    let out = folder.join("out").display().to_string();
    let eight = [
        "run",
        "incast",
        "--set",
        "hosts.s.count=8",
        "--set",
        "duration=2 ms",
        "--set",
        "measure_from=1 ms",
    ];
    for (name, scenario) in [("pair", &["run", "pair"][..]), ("8:1 incast", &eight)] {
        let rounds: Vec<[f64; 2]> = (0..3)
            .map(|_| {
                let [one, other] = [&gated[1], &ungated[1]].map(|program| {
                    let start = Instant::now();
                    let more = ["--threads", "1", "--out", &out];
                    let text = output(program, &[scenario, &more].concat());
                    let time = start.elapsed().as_secs_f64();
                    let digest = text
                        .split("digest ")
                        .nth(1)
                        .and_then(|rest| rest.split_whitespace().next());
                    (time, digest.map(str::to_owned))
                });
                assert!(
                    one.1.is_some() && one.1 == other.1,
                    "{name}: gates change no digest"
                );
                [one.0, other.0]
            })
            .collect();
        let [with, without, ratio] = medians(&rounds);
        println!("{name}: {with:.2} s gated, {without:.2} s ungated, {ratio:.2} times as fast");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
