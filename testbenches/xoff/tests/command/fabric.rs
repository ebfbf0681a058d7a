//! Waves of the network: `fabric.fst` shows what the run measured, on the time axis of the RTL's waves.

use std::path::Path;

use serde_json::Value;

use crate::common::run;

/// Runs a scenario and returns its summary.
fn summary(folder: &Path, arguments: &[&str]) -> Value {
    let out = folder.to_str().unwrap();
    let said = run(
        &[arguments, &["--json", "--out", out]].concat(),
        None,
        false,
    );
    said.outcome.unwrap();
    serde_json::from_str(&said.out).unwrap()
}

/// The rows of a wave file: times in nanoseconds, and the values of signals. Before the window they are unknown.
fn rows(file: &Path, signals: &str) -> Vec<(f64, Vec<u64>)> {
    let file = file.to_str().unwrap();
    let arguments = [
        "wave",
        file,
        "--signals",
        signals,
        "--format",
        "csv",
        "--radix",
        "dec",
    ];
    let said = run(&arguments, None, false);
    said.outcome.unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',');
        let time = cells.next().unwrap().parse().unwrap();
        (time, cells.map(|cell| cell.parse().unwrap()).collect())
    };
    let known = said.out.lines().skip(1).filter(|line| !line.contains('x'));
    known.map(row).collect()
}

/// How long a bit of a signal was set, in nanoseconds.
fn time_of_bit(rows: &[(f64, Vec<u64>)], bit: u32) -> f64 {
    let set = rows.windows(2).filter(|pair| pair[0].1[0] >> bit & 1 == 1);
    set.map(|pair| pair[1].0 - pair[0].0).sum()
}

const INCAST: [&str; 11] = [
    "run",
    "incast",
    "--set",
    "variant=static",
    "--set",
    "duration=300 us",
    "--set",
    "measure_from=0 us",
    "--set",
    "expect=[]",
    "--set",
];

/// Queues, pauses and delivered bytes are those of the summary, and the waves change no digest.
#[test]
fn waves_of_the_network_are_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [&INCAST[..], &["host.nic=model"]].concat();
    let without = summary(folder.path(), &settings);
    let with = summary(
        folder.path(),
        &[&settings[..], &["--waves", "fabric"]].concat(),
    );
    assert_eq!(without["digest"], with["digest"]);
    let measured = |metric: &str| with["metrics"][metric].as_f64().unwrap();
    let file = folder.path().join("incast/fabric.fst");

    // A value every 30 ns: 300 us in ten thousand steps.
    let step = 30.0;
    let occupancy = rows(&file, "t.occupancy");
    assert_eq!(
        occupancy.last().unwrap().1[0] as f64,
        measured("held_bytes.t")
    );
    let changes = rows(&file, "t.port*.ingress3");
    let most = changes.iter().flat_map(|(_, values)| values).max().unwrap();
    let peak = measured("ingress_peak_bytes.t.3");
    assert!(
        *most as f64 <= peak && *most as f64 > 0.9 * peak,
        "{most} of {peak}"
    );
    let paused = rows(&file, "s0.paused");
    let begins = paused.windows(2).filter(|pair| pair[0].1[0] < pair[1].1[0]);
    let pauses = begins.count() as f64;
    assert!(pauses > 3.0);
    let of_waves = time_of_bit(&paused, 3);
    let of_nic = measured("pause_time_ns.s0.3");
    assert!(
        (of_waves - of_nic).abs() <= 2.0 * step * (pauses + 1.0),
        "{of_waves} {of_nic}"
    );
    let delivered = rows(&file, "flows.*.delivered");
    let bytes: u64 = delivered.last().unwrap().1.iter().sum();
    let goodput = bytes as f64 * 8.0 / 300_000.0;
    // What the buffer holds at the end is delivered later than the line brought it.
    assert!(
        (goodput - measured("goodput_gbps.total")).abs() < 0.5,
        "{goodput}"
    );
}

/// A window of the RTL's waves has the network's beside it, from the same time on, with layouts of both.
#[test]
fn waves_of_a_host_come_with_those_of_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        &INCAST[..],
        &["hosts.s.count=2", "--waves", "s0:250us-252us"],
    ]
    .concat();
    summary(folder.path(), &settings);
    let run = |name: &str| folder.path().join("incast").join(name);
    for name in [
        "s0.fst",
        "s0.gtkw",
        "s0.sucl",
        "fabric.fst",
        "fabric.gtkw",
        "fabric.sucl",
    ] {
        assert!(run(name).is_file(), "{name}");
    }
    let network = rows(&run("fabric.fst"), "t.port*.egress");
    assert_eq!(network[0].0, 250_000.0);
    assert!(network.len() > 10, "{}", network.len());
    let layout = std::fs::read_to_string(run("fabric.gtkw")).unwrap();
    assert!(layout.contains("t.port0.ingress3"), "{layout}");
}

/// The file of a host that is called as the network's waves are is the host's.
#[test]
fn a_host_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("named.toml");
    let text = "title = 'Named'\nduration = '4 us'\nhosts = [{ name = 'fabric' }, { name = 'b' }]\n\
                links = [{ ends = ['fabric', 'b'] }]\nflows = [{ name = 'f', from = 'fabric', to = 'b' }]\n";
    std::fs::write(&scenario, text).unwrap();
    summary(
        folder.path(),
        &[
            "run",
            scenario.to_str().unwrap(),
            "--waves",
            "fabric:1us-3us",
        ],
    );
    let file = folder.path().join("named/fabric.fst");
    assert!(!rows(&file, "fabric.pins.nic.idle_o").is_empty());
}
