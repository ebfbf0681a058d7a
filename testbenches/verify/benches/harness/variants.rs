//! Compares this build with one that has a feature more, in the same cycles of the NIC and in scenarios.
//!
//! Each figure comes from a process of its own. The builds take turns, so that both have the same share of the machine,
//! and the ratio is taken within a turn.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::loads;

/// Builds the bench and `xoff`, with a feature or without, and returns their paths: in `folder`, because Cargo gives
/// both builds of `xoff` one path.
fn builds(feature: Option<&str>, folder: &Path) -> [PathBuf; 2] {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = |arguments: &[&str], kind: &str| {
        let mut command = Command::new(&cargo);
        (command.args(arguments)).args(["-p", "xoff", "--message-format=json"]);
        let output = command
            .args(feature.map(|name| format!("--features={name}")))
            .output()
            .expect("cargo starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let built = (text.lines())
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| message["target"]["kind"][0] == kind)
            .find_map(|message| message["executable"].as_str().map(str::to_owned))
            .expect("cargo names what it has built");
        let copy = folder.join(format!("{kind}-{}", feature.unwrap_or("as-is")));
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

/// Measures two programs in turns. `measure` returns a time and a digest, which has to be the same for both. Returns the
/// medians of both times and of their ratio.
fn in_turns(
    programs: [&Path; 2],
    rounds: usize,
    name: &str,
    measure: impl Fn(&Path) -> (f64, String),
) -> [f64; 3] {
    let rounds: Vec<[f64; 2]> = (0..rounds)
        .map(|_| {
            let [one, other] = programs.map(&measure);
            assert_eq!(one.1, other.1, "{name}: both do the same");
            [one.0, other.0]
        })
        .collect();
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

/// Measures loads of the NIC and scenarios in both builds. `words` are what the builds without and with the feature are
/// called.
pub fn compare(feature: &str, words: [&str; 2], rounds: usize) {
    let [usual_word, varied_word] = words;
    let folder = std::env::temp_dir().join(format!("xoff-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    // The usual build comes last and leaves `target/release/xoff` as it was.
    let varied = builds(Some(feature), &folder);
    let usual = builds(None, &folder);
    for name in loads::NAMES {
        let programs = [&*usual[0], &*varied[0]];
        let [one, other, ratio] = in_turns(programs, rounds, name, |program| {
            let text = output(program, &[loads::SINGLE, name]);
            let (time, digest) = text.trim().split_once(' ').expect("time and digest");
            (time.parse().expect("a number"), digest.to_owned())
        });
        println!(
            "nic cycle {name}: {one:.0} ns {usual_word}, {other:.0} ns {varied_word}, {ratio:.2} times as fast"
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
        let programs = [&*usual[1], &*varied[1]];
        let [one, other, ratio] = in_turns(programs, rounds, name, |program| {
            let start = Instant::now();
            let more = ["--threads", "1", "--out", &out];
            let text = output(program, &[scenario, &more].concat());
            let time = start.elapsed().as_secs_f64();
            let digest = text
                .split("digest ")
                .nth(1)
                .and_then(|rest| rest.split_whitespace().next());
            (time, digest.expect("a run ends with its digest").to_owned())
        });
        println!(
            "{name}: {one:.2} s {usual_word}, {other:.2} s {varied_word}, {ratio:.2} times as fast"
        );
    }
    let _ = std::fs::remove_dir_all(&folder);
}
