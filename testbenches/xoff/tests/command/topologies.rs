//! Topologies and workloads from files: what is measured, and what is said of broken ones.

use std::fs;
use std::path::Path;

use crate::common::xoff;
use crate::scenario_runs::run_watched;
use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::Source;

/// A small fat tree in ns-3's format: 4 racks of 2 hosts at 100 Gb/s, 2 spines at 400 Gb/s.
fn topology() -> String {
    let mut text = String::from("14 6 16\n8 9 10 11 12 13\n");
    for host in 0..8 {
        text += &format!("{host} {} 100Gbps 1000ns 0\n", 8 + host / 2);
    }
    for tor in 8..12 {
        for spine in 12..14 {
            text += &format!("{tor} {spine} 400Gbps 1000ns 0\n");
        }
    }
    text + "\nFirst line: total node #, switch node #, link #\n"
}

/// Sizes as of WebSearch, a hundred times smaller, so that a short run has many.
const SIZES: &str = "0 0\n100 15\n200 20\n300 30\n500 40\n800 53\n2000 60\n10000 70\n20000 80\n50000 90\n100000 97\n300000 100\n";

const SCENARIO: &str = r#"
title = "a fat tree of ns-3 at half load"
duration = "300 us"

[host]
nic = "model"

[topology]
ns3 = "net/fat.txt"

[[flows]]
name = "web"
sizes = "sizes.txt"
load = 0.5
until = "200 us"

[[flows]]
name = "list"
ns3 = "flow.txt"
start = "50 us"
"#;

/// Writes the files and reads the scenario. The topology is in a folder of its own, relative to the scenario's.
fn written(folder: &Path) -> Source {
    fs::create_dir(folder.join("net")).unwrap();
    fs::write(folder.join("net/fat.txt"), topology()).unwrap();
    fs::write(folder.join("sizes.txt"), SIZES).unwrap();
    fs::write(
        folder.join("flow.txt"),
        "2\n0 7 3 100 100000 2\n6 1 5 100 100000 2.00001\n",
    )
    .unwrap();
    fs::write(folder.join("own.toml"), SCENARIO).unwrap();
    Source::find(folder.join("own.toml").to_str().unwrap()).unwrap()
}

#[test]
fn a_fat_tree_of_ns3_at_half_load() {
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path());
    let run = |threads| {
        let options = RunOptions {
            threads: Some(threads),
            ..RunOptions::new(xoff_cosim::endpoints())
        };
        let scenario = source.read(&[]).unwrap();
        execute::run(&scenario, &options).unwrap().summary
    };
    run_watched(&source.read(&[]).unwrap(), &[]);
    let summary = run(1);
    let metric = |name: &str| summary.metrics[name];
    // Half of 8 · 100 Gb/s for 200 µs are 10 MB, of flows of 17,079 bytes: 585; five times the root is 121.
    let flows = metric("messages.web") + metric("flows_unfinished.web");
    assert!((464.0..706.0).contains(&flows), "{flows}");
    assert_eq!(metric("messages.list"), 2.0);
    assert_eq!(metric("flows_unfinished.list"), 0.0);
    assert_eq!(metric("drops.total"), 0.0);
    assert_eq!(metric("payload_errors"), 0.0);
    // Nothing is faster than alone, and in 100 µs of rest nearly all flows finish.
    assert!(metric("slowdown.web.p50") >= 1.0 && metric("slowdown.web.p50") < 2.0);
    assert!(metric("slowdown.web.p99") > metric("slowdown.web.p50"));
    assert!(metric("flows_unfinished.web") < 10.0);
    // All of a workload's metrics have the entry's name.
    let of_flows = summary.metrics.keys().filter(|name| name.contains(".web"));
    assert_eq!(of_flows.count(), 15);
    assert_eq!(summary.digest, run(2).digest);
    // The summary has the scenario as it was written, not 14 nodes and 16 links.
    assert_eq!(summary.settings["topology"]["ns3"], "net/fat.txt");
    assert_eq!(summary.settings["links"], serde_json::json!([]));
    let other = source.read(&["seed=2".parse().unwrap()]).unwrap();
    let other = execute::run(&other, &RunOptions::new(xoff_cosim::endpoints()))
        .unwrap()
        .summary;
    assert_ne!(summary.digest, other.digest);
}

/// What a run says of a scenario, with exit code 2.
fn said(folder: &Path) -> String {
    let output = xoff()
        .args(["run", folder.join("own.toml").to_str().unwrap()])
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    text.replace(folder.to_str().unwrap(), "…")
}

#[test]
fn a_distribution_has_a_name_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = folder.path().join("own.toml");
    let text = fs::read_to_string(&path).unwrap();
    let named = |name: &str| {
        let sizes = format!("sizes = \"{name}\"");
        fs::write(&path, text.replace("sizes = \"sizes.txt\"", &sizes)).unwrap();
    };
    named("websearh");
    assert_eq!(
        said(folder.path()),
        "xoff: …/own.toml: flows.web.sizes: websearh: No such file or directory (os error 2); known without a file: websearch, irn\n"
    );
    named("websearch");
    let source = Source::find(path.to_str().unwrap()).unwrap();
    source.read(&[]).unwrap();
}

#[test]
fn broken_files_are_listed_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "net/fat.txt",
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 fast 1us 0\n",
    );
    write("flow.txt", "2\n0 1 9 100 1 2\n0 1 3 100 1\n");
    fs::remove_file(folder.path().join("sizes.txt")).unwrap();
    assert_eq!(
        said(folder.path()),
        "xoff: …/own.toml: net/fat.txt:4: rate 'fast': 10 to 800 Gbps of whole picoseconds a byte, such as 100Gbps or, in bits a second, 100000000000\n\
         …/own.toml: flows.web.sizes: sizes.txt: No such file or directory (os error 2)\n\
         …/own.toml: flow.txt:2: priority 9: 0 to 7\n\
         …/own.toml: flow.txt:3: '0 1 3 100 1': 6 fields are right: src dst priority dst_port bytes start_s\n"
    );
}

#[test]
fn a_network_in_two_parts_is_said_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // Two switches, each with a host, and no link between them.
    write(
        "net/fat.txt",
        "4 2 2\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n",
    );
    write("flow.txt", "2\n0 1 3 100 1 2\n1 7 3 100 1 2\n");
    assert_eq!(
        said(folder.path()),
        "xoff: …/own.toml: flows.web.sizes: no path leads from h0 to h1\n\
         …/own.toml: flow.txt:2: no path leads from h0 to h1\n\
         …/own.toml: flow.txt:3: dst 7: there is no host h7: hosts are h0, h1\n"
    );
}
