//! Tests of `xoff run` as a process: rejected input and its messages, the files of an interrupted run, waves with
//! layouts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{said, xoff};
use nix::sys::signal;
use nix::unistd::Pid;
use serde_json::Value;
use xoff_waves::capture::{PcapWriter, PcapngWriter};

/// Writes scenario `pair` with one text replaced.
fn scenario(folder: &Path, replace: (&str, &str)) -> String {
    let text = fs::read_to_string(crate::common::file("scenarios/pair.toml")).unwrap();
    assert!(text.contains(replace.0), "{}", replace.0);
    let path = folder.join("own.toml");
    fs::write(&path, text.replacen(replace.0, replace.1, 1)).unwrap();
    path.to_str().unwrap().into()
}

/// Runs input that has to be refused: one line, exit code 2, and no folder of results.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let out = folder.join("out");
    let output = xoff()
        .args(["run", "--out", out.to_str().unwrap()])
        .args(arguments)
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert!(!out.exists(), "{arguments:?} left a folder");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    said.replace(folder.to_str().unwrap(), "…")
}

/// A line for each scenario with what a run costs anywhere; how long it takes here only where that was measured.
#[test]
fn scenarios_are_listed_with_their_run_times() {
    let list = |arguments: &[&str], code| {
        let arguments = [&["list"], arguments].concat();
        let (out, err) = crate::common::said(&arguments, [], code);
        assert_eq!(err, "");
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = list(&[], 0);
    assert_eq!(all.len(), xoff::scenario_file::BUILT_IN.len());
    assert!(all[0].starts_with("pair "), "{all:?}");
    assert!(all[0].ends_with("; 1 ms of 2 RTL NICs"), "{all:?}");
    let two = list(&["headroom", "pair"], 0);
    assert!(two[0].ends_with("; 5 ms of 3 model NICs; variants: short"));
    assert_eq!(two[1], all[0].replace("pair         ", "pair    "));
    // Ten messages of 1 KiB take some microseconds, and there are no eleven of them.
    let network = "
        title = 'Ten messages'
        duration = '40 us'
        host.nic = 'model'
        hosts = [{ name = 'a' }, { name = 'b' }]
        links = [{ ends = ['a', 'b'] }]
        flows = [{ name = 'f', from = 'a', to = 'b', message = '1 KiB', count = 10 }]
        expect = [{ metric = 'messages.f', op = '==', value = 10 }]
    ";
    let folder = tempfile::tempdir().unwrap();
    let [good, bad] = ["good.toml", "bad.toml"].map(|name| folder.path().join(name));
    fs::write(&good, network).unwrap();
    fs::write(&bad, network.replace("value = 10", "value = 11")).unwrap();
    let [good, bad] = [&good, &bad].map(|path| path.to_str().unwrap());
    let seconds = |line: &str| {
        let (_, time) = line.rsplit_once(" ran in ").unwrap();
        let number = time.strip_suffix(" s").unwrap();
        number.parse::<f64>().unwrap()
    };
    let ran = list(&["--times", good, good], 0);
    assert!(ran[0].starts_with("good Ten messages; 40 us of 2 model NICs; ran in "));
    assert!(ran[2].starts_with("     all ran in "), "{ran:?}");
    // Each is rounded to a tenth.
    assert!((seconds(&ran[0]) + seconds(&ran[1]) - seconds(&ran[2])).abs() < 0.151);
    let failed = list(&["--times", bad], 1);
    let expected = format!(" s, and an expectation failed: xoff run {bad}");
    assert!(failed[0].ends_with(&expected), "{failed:?}");
}

/// Inserts an entry that injects a capture before the flows.
fn inject(file: &str, keys: &str) -> String {
    format!("[[inject]]\nfile = \"{file}\"\n{keys}\n\n[[flows]]")
}

/// Writes captures to inject: two valid ones, one of them without a frame, and one that ends in the middle of its
/// second frame.
fn captures(folder: &Path) {
    let file = |name: &str| fs::File::create(folder.join(name)).unwrap();
    let mut hostile = PcapngWriter::new(file("hostile.pcapng"), ["eth0"]).unwrap();
    hostile.write(0, 0, &[2; 60]).unwrap();
    PcapWriter::new(file("empty.pcap")).unwrap();
    let mut cut = PcapWriter::new(file("cut.pcap")).unwrap();
    (0..2).for_each(|time| cut.write(time, &[2; 60]).unwrap());
    drop(cut);
    let cut = fs::OpenOptions::new()
        .write(true)
        .open(folder.join("cut.pcap"))
        .unwrap();
    cut.set_len(cut.metadata().unwrap().len() - 7).unwrap();
}

#[test]
fn what_is_wrong_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    captures(folder);
    let mut all = String::new();
    let say = |all: &mut String, arguments: &[&str]| {
        let said = refused(folder, arguments);
        let what = arguments.join(" ");
        let what = what.replace(folder.to_str().unwrap(), "…");
        *all += &format!("$ xoff run {what}\n{said}\n");
    };
    for replace in [
        ("duration = \"1 ms\"", "duration = 10"),
        ("duration = \"1 ms\"", "duration = \"10 parsecs\""),
        ("duration = \"1 ms\"", "duration = \"0 ms\""),
        ("duration = \"1 ms\"", "durations = \"1 ms\""),
        ("name = \"s\"", "name = \"s\"\nbuffer = \"4 KB\""),
        ("to = \"b\"", "to = \"c\""),
        ("ends = [\"b\", \"s\"]", "ends = [\"b\", \"t\"]"),
        (
            "metric = \"goodput_gbps.bulk\"",
            "metric = \"goodput_gbps.bulky\"",
        ),
        ("title", "version = 2\nflavour = 1\ntitle"),
        ("title", "version = 0\ntitle"),
        ("title", "version = \"1\"\ntitle"),
        (
            "name = \"s\"",
            "name = \"s\"\nfaults = [\"psn 150-50: drop\"]",
        ),
        (
            "name = \"s\"",
            "name = \"s\"\nfaults = [\"psn +150-+50: drop\"]",
        ),
        ("[[flows]]", &inject("hostile.pcapng", "host = \"c\"")),
        (
            "[[flows]]",
            &inject("hostile.pcapng", "host = \"b\"\nstart = \"1 ms\""),
        ),
        (
            "[[flows]]",
            &inject("hostile.pcapng", "host = \"b\"\nscale = 0.0"),
        ),
        (
            "[[flows]]",
            &inject("hostile.pcapng", "host = \"b\"\ninterface = \"eth7\""),
        ),
        (
            "[[flows]]",
            &inject("hostile.pcapng", "host = \"b\"\nonly = \"sent\""),
        ),
        ("[[flows]]", &inject("nowhere.pcap", "host = \"b\"")),
        ("[[flows]]", &inject("own.toml", "host = \"b\"")),
        ("[[flows]]", &inject("cut.pcap", "host = \"b\"")),
        ("[[flows]]", &inject("empty.pcap", "host = \"b\"")),
        ("value = 37.034", "value = nan"),
        ("name = \"a\"", "name = \"a\"\ncount = 1_000_000_000"),
        (
            "duration = \"1 ms\"",
            "duration = \"1 ms\"\nsample = \"1 ps\"",
        ),
    ] {
        all += &format!("# {}\n", replace.1.replace('\n', "\n# "));
        say(&mut all, &[&scenario(folder, replace)]);
    }
    for arguments in [
        &["nowhere"][..],
        &["pair", "--set", "host.rate=\"10 Gb/s\""],
        &["pair", "--set", "host.nic=rlt"],
        &["pair", "--set", "hosts"],
        &["pair", "--sweep", "seed"],
        &["pair", "--seed", "3", "--sweep", "seed=1,2"],
        &["pair", "--seed", "3", "--set", "seed=1"],
        &["pair", "--pcap", "s.9"],
        &["pair", "--pcap", "t"],
        &["pair", "--waves", "c"],
        &["pair", "--waves", "a:2ms-3ms"],
        &["pair", "--waves", "a:2us-1us"],
        &["pair", "--waves", "a", "--set", "host.nic=model"],
        &["pair", "--threads", "0"],
    ] {
        say(&mut all, arguments);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn show_names_what_is_wrong() {
    let said = |arguments: &[&str]| {
        let output = xoff()
            .arg("show")
            .args(arguments)
            .assert()
            .code(2)
            .get_output()
            .clone();
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        said(&["pear"]),
        "xoff: scenario 'pear': neither one of pair, livelock, incast, dcqcn, deadlock, ring-deadlock, pause-storm, slow-receiver, unfairness, victim-flow, alpha, headroom, long-link, reroute, routing-loop, lossy, irn, dscp-vs-vlan, ecmp, allreduce, collectives, latency, pingmesh, onboarding, late-cnps nor a file; did you mean 'pair'?\n"
    );
    assert_eq!(
        said(&["pair", "--set", "version=2"]),
        "xoff: scenario pair: version: 2: this xoff reads version 1\n"
    );
    assert_eq!(
        said(&["pair", "--set", "switches.s.lossless=[0,1,2,3,4,5,6,7]"]),
        "xoff: scenario pair: switches.s.lossless: all eight classes: at most seven, since broadcast and multicast need \
         a lossy one\n"
    );
    assert_eq!(
        said(&["pair", "--set", "variants.base={set={seed=2}}"]),
        "xoff: scenario pair: variants.base: 'base' is the scenario without a variant; its settings are those at the top\n"
    );
    assert!(said(&["nowhere.toml"]).starts_with("xoff: nowhere.toml: No such file"));
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let output = xoff()
        .args(["run", "pair", "--out", file])
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "xoff: {file}/pair: the folder for results cannot be made: Not a directory (os error 20)\n"
        )
    );
}

#[test]
fn waves_come_with_layouts_and_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = [
        "run",
        "pair",
        "--out",
        out,
        "--set",
        "duration=\"30us\"",
        "--set",
        "measure_from=\"10us\"",
        "--waves",
        "a:12us-14us",
        "--pcap",
        "a,s",
    ];
    let output = xoff().args(arguments).assert().get_output().clone();
    let said = String::from_utf8(output.stdout).unwrap();
    let names = names(&folder.path().join("pair"));
    let files = [
        "a.fst",
        "a.gtkw",
        "a.sucl",
        "a.tcl",
        "a.types.json",
        "capture.pcapng",
        "fabric.fst",
        "fabric.gtkw",
        "fabric.sucl",
        "fabric.tcl",
        "flows.csv",
        "goodput.svg",
        "metrics.csv",
        "report.html",
        "series.csv",
        "summary.json",
    ];
    assert_eq!(names, files);
    assert!(
        said.contains(&format!(
            "waves: gtkwave -S {out}/pair/a.tcl {out}/pair/a.fst {out}/pair/a.gtkw\n"
        )),
        "{said}"
    );
}

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// `xoff run pair` for a few microseconds, with model NICs, into a folder.
fn short_run(out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let out = out.to_str().unwrap();
    let fixed = [
        "run",
        "pair",
        "--out",
        out,
        "--set",
        "host.nic=model",
        "--set",
    ];
    let fixed = fixed.iter().chain(&["duration=\"130us\""]);
    xoff().args(fixed.chain(more)).assert()
}

#[test]
fn a_run_removes_the_files_of_the_one_before_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("pair");
    short_run(folder.path(), &["--pcap", "a"]).code(0);
    assert!(results.join("capture.pcapng").exists());
    fs::write(results.join("notes.txt"), "mine").unwrap();
    fs::write(results.join("b.fst"), "somebody's waves").unwrap();
    short_run(folder.path(), &[]).code(0);
    let files = [
        "b.fst",
        "flows.csv",
        "goodput.svg",
        "metrics.csv",
        "notes.txt",
        "report.html",
        "series.csv",
        "summary.json",
    ];
    assert_eq!(names(&results), files);
}

#[test]
fn without_expectations_the_terminal_says_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(crate::common::file("scenarios/pair.toml")).unwrap();
    let own = folder.path().join("own.toml");
    fs::write(&own, text.split("[[expect]]").next().unwrap()).unwrap();
    let settings = ["--set", "host.nic=model", "--set", "duration=\"200us\""];
    let assert = xoff()
        .args(["run", own.to_str().unwrap(), "--out"])
        .arg(folder.path().join("out"))
        .args(settings)
        .assert()
        .code(0);
    let said = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let figures: Vec<&str> = said.lines().skip(1).take(3).collect();
    insta::assert_snapshot!(figures.join("\n"));
}

#[test]
fn a_sweep_ends_with_one_table_one_chart_and_one_csv() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--sweep", "flows.bulk.message=32 KiB,64 KiB"];
    let assert = short_run(folder.path(), &arguments).code(0);
    let said = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let table = said
        .split_once("sweep over flows.bulk.message\n")
        .unwrap()
        .1;
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.contains("\n  64 KiB  ") && table.contains(" held\n"),
        "{table}"
    );
    let sweep = folder.path().join("pair-sweep");
    assert_eq!(names(&sweep), ["sweep.csv", "sweep.html", "sweep.svg"]);
    let csv = fs::read_to_string(sweep.join("sweep.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("flows.bulk.message,seed,digest,expected,"));
    assert!(lines[0].contains(",goodput_gbps.bulk,") && lines[2].starts_with("64 KiB,1,"));
}

#[test]
fn diff_says_what_is_different() {
    let folder = tempfile::tempdir().unwrap();
    let outs = ["a", "b", "c"].map(|name| folder.path().join(name));
    short_run(&outs[0], &["--pcap", "a"]).code(0);
    short_run(&outs[1], &["--pcap", "a"]).code(0);
    short_run(&outs[2], &["--pcap", "a", "--set", "flows.bulk.dscp=24"]).code(0);
    let [a, b, c] = outs.map(|out| out.join("pair").to_str().unwrap().to_owned());
    let diff = |arguments: &[&str], code| {
        let assert = xoff().arg("diff").args(arguments).assert().code(code);
        let output = assert.get_output().clone();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        text.replace(folder.path().to_str().unwrap(), "…")
    };
    let same = diff(&[&a, &format!("{b}/summary.json")], 0);
    assert!(same.starts_with("the same: digest "), "{same}");
    let different = diff(&[&a, &c], 1);
    assert!(
        different.contains("  flows.bulk.dscp: 26 → 24\n"),
        "{different}"
    );
    assert!(
        different.contains("first frame that is different, number 1: RC_WRITE_FIRST PSN"),
        "{different}"
    );
    assert!(
        different.contains(": byte 15 is 0x68 → 0x60\n"),
        "{different}"
    );
    // A future version, a file that is not a summary, and a missing file.
    let newer = folder.path().join("newer.json");
    let text = fs::read_to_string(format!("{a}/summary.json")).unwrap();
    let other = text.replace("\"version\": 2", "\"version\": 3");
    assert_ne!(text, other);
    fs::write(&newer, other).unwrap();
    let mut refused = diff(&[&a, newer.to_str().unwrap()], 2);
    refused += &diff(&[&a, &format!("{a}/report.html")], 2);
    refused += &diff(&[&a, folder.path().to_str().unwrap()], 2);
    // A run that did not end is not the same as itself: nobody knows what it would have been.
    for state in ["running", "interrupted", "failed"] {
        let other = text.replace(
            "\"state\": \"finished\"",
            &format!("\"state\": \"{state}\""),
        );
        assert_ne!(text, other);
        let path = folder.path().join(format!("{state}.json"));
        fs::write(&path, other).unwrap();
        let path = path.to_str().unwrap();
        refused += &diff(&[path, path], 2);
        refused += &diff(&[&a, path], 2);
    }
    insta::assert_snapshot!(refused);
}

/// ACKs have the DSCP that the flow's key says, and so the switch's class of it; requests keep theirs.
#[test]
fn acks_have_a_dscp_and_a_pcp_of_their_own() {
    for nic in ["rtl", "model"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        let mut arguments = vec!["run", "pair", "--out", out, "--pcap", "s"];
        let nic = format!("host.nic={nic}");
        let keys = [
            &nic[..],
            "duration=\"130us\"",
            "flows.bulk.pcp=3",
            "flows.bulk.ack_dscp=50",
            "flows.bulk.ack_pcp=2",
        ];
        arguments.extend(keys.iter().flat_map(|key| ["--set", key]));
        xoff().args(&arguments).assert().success();
        let capture = folder.path().join("pair/capture.pcapng");
        let decoded = [
            "decode",
            "--model",
            "--format",
            "jsonl",
            capture.to_str().unwrap(),
        ];
        let output = xoff().args(decoded).assert().success().get_output().clone();
        let rows = String::from_utf8(output.stdout).unwrap();
        let mut seen = [0; 2];
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            // The switch takes the tag off.
            if row["direction"] == "sent" {
                continue;
            }
            let ack = row["name"] == "RC_ACK";
            let marks = [&row["dscp"], &row["pcp"]].map(|mark| mark.as_u64().unwrap());
            assert_eq!(marks, [[26, 3], [50, 2]][usize::from(ack)], "{row}");
            seen[usize::from(ack)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 10), "{nic}: {seen:?}");
    }
}

/// Runs a script for `sh` in a mount namespace of its own, on a disk of this many MB.
fn on_a_small_disk(megabytes: u32, script: &str) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "set -e; mount -t tmpfs -o size={megabytes}m xoff-test \"$1\"; cd \"$1\"; {script}"
    );
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    let user: &[&str] = if id.starts_with(b"0\n") {
        &[]
    } else {
        &["--map-root-user"]
    };
    Command::new("unshare")
        .args(user)
        .args(["--mount", "sh", "-c", &script, crate::PROGRAM])
        .arg(folder.path())
        .output()
        .unwrap()
}

/// The wave writer of Verilator neither notices a full disk nor survives it: it dies of SIGBUS.
#[test]
fn a_full_disk_under_waves_is_an_error_that_names_the_file() {
    let run = "\"$0\" run pair --set duration='\"20ms\"' --waves a --out out";
    let none = on_a_small_disk(8, run);
    let said = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(2), "{said}");
    assert!(
        said.contains("cannot write waves of `a` to `out/pair/a.fst`: 8 MB are left"),
        "{said}"
    );
    // Another process fills the disk while waves are written.
    let filled = format!(
        "{run} & while ! [ -s out/pair/a.fst ]; do sleep 0.05; done; sleep 1; head -c 60M /dev/zero > other || true; \
         wait $! || code=$?; head -c 4 out/pair/a.fst | od -c; ls out/pair; exit $code"
    );
    let filled = on_a_small_disk(100, &filled);
    let said = String::from_utf8(filled.stderr).unwrap();
    let listed = String::from_utf8(filled.stdout).unwrap();
    assert_eq!(filled.status.code(), Some(2), "{said}");
    assert!(
        said.contains("cannot write waves of `a` to `out/pair/a.fst`: "),
        "{said}"
    );
    assert!(
        listed.contains("summary.json") && !listed.contains("hier"),
        "{listed}"
    );
}

#[test]
fn a_full_disk_under_a_capture_is_an_error_that_names_the_file() {
    let run = "\"$0\" run pair --set host.nic=model --set duration='\"20ms\"' --pcap all --out out";
    let output = on_a_small_disk(4, run);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("out/pair/capture.pcapng: cannot be written: No space left"),
        "{said}"
    );
}

#[test]
fn an_interrupted_run_leaves_files_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(crate::PROGRAM)
        .args([
            "run",
            "pair",
            "--set",
            "duration=\"10 s\"",
            "--pcap",
            "all",
            "--waves",
            "b:5us-6us",
            "--out",
        ])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let results = folder.path().join("pair");
    let capture = results.join("capture.pcapng");
    let waits = Instant::now();
    while fs::metadata(&capture).map_or(0, |file| file.len()) < 100_000 {
        assert!(
            waits.elapsed() < Duration::from_secs(120),
            "no capture grows"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = Pid::from_raw(child.id().try_into().unwrap());
    signal::kill(id, signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    let place = format!(
        "xoff: interrupted; what was measured until then is in {}\n",
        results.display()
    );
    assert!(said.ends_with(&place), "{said}");
    let summary = fs::read(results.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["state"], "interrupted");
    assert_eq!(summary["expectations"].as_array().unwrap().len(), 0);
    for file in ["report.html", "series.csv", "goodput.svg"] {
        let text = fs::read_to_string(results.join(file)).unwrap();
        assert!(text.contains("interrupted"), "{file}");
    }
    let bytes = fs::read(&capture).unwrap();
    let comment = b"interrupted at ";
    assert!(bytes.windows(comment.len()).any(|part| part == comment));
    let simulated = summary["duration_ns"].as_u64().unwrap();
    assert!((10_000..10_000_000_000).contains(&simulated), "{simulated}");
    let mut frames = 0;
    for record in xoff_waves::capture::open(&capture).unwrap() {
        record.unwrap();
        frames += 1;
    }
    assert!(frames > 90, "{frames} frames");
    assert!(
        fs::read_to_string(results.join("report.html"))
            .unwrap()
            .trim_end()
            .ends_with("</html>")
    );
    assert!(results.join("b.gtkw").exists());
}

/// A host whose bus takes 2 Gb/s of the 40 Gb/s that come. `beside` only shares the way to its switch.
const SLOW_HOST: &str = r#"
title = "A slow host"
duration = "3 ms"
host.nic = "model"
hosts = [{ name = "a" }, { name = "b" }, { name = "h", pcie_rate = "2 Gb/s" }, { name = "r" }]
switches = [{ name = "t0", xoff = { static = "40 KB" } }, { name = "t1", xoff = { static = "40 KB" } }]
links = [
    { ends = ["a", "t0"] },
    { ends = ["b", "t0"] },
    { ends = ["h", "t1"] },
    { ends = ["r", "t1"] },
    { ends = ["t0", "t1"] },
]
flows = [{ name = "slow", from = "a", to = "h" }, { name = "beside", from = "b", to = "r" }]
"#;

#[test]
fn findings_are_in_every_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    fs::write(&file, SLOW_HOST).unwrap();
    let out = folder.path().join("out");
    let output = xoff()
        .args([
            "run",
            file.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ])
        .assert()
        .success()
        .get_output()
        .clone();
    let said = String::from_utf8(output.stdout).unwrap();
    let line = |start: &str| {
        said.lines()
            .find(|line| line.trim_start().starts_with(start))
    };
    let storm = line("pause storm: h paused class 3 from ").expect(&said);
    // The links from both senders, and the one between the switches.
    assert!(
        storm.ends_with("3 more links stood because of it"),
        "{storm}"
    );
    let victim = line("victim: flow beside stood for ").expect(&said);
    assert!(
        victim.ends_with("because of h that pauses, which is not on its path"),
        "{victim}"
    );
    assert!(
        line("deadlock").is_none() && line("cyclic wait").is_none(),
        "{said}"
    );
    let summary = fs::read(out.join("slow/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let kinds = summary["findings"].as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["storm", "victim"]);
    let metric = |name: &str| summary["metrics"][name].as_f64();
    let counts = [
        "storms",
        "storm_links",
        "victims",
        "deadlocks",
        "deadlock_us",
    ]
    .map(metric);
    assert_eq!(counts, [Some(1.0), Some(4.0), Some(1.0), Some(0.0), None]);
    // h takes 2 of 40 Gb/s, so its port at the switch rests for about 95 % of 3 ms.
    let stopped = metric("port_pause_time_ns.t1.0").unwrap();
    assert!((2.6e6..2.95e6).contains(&stopped), "{stopped}");
    let page = fs::read_to_string(out.join("slow/report.html")).unwrap();
    let (_, rows) = page
        .split_once("Who paused whom")
        .expect("a picture of pauses");
    let places = ["h stops t1", "t1 stops t0", "t0 stops a"].map(|row| rows.find(row).unwrap());
    assert!(places.is_sorted(), "from the root outwards: {places:?}");
    let series = fs::read_to_string(out.join("slow/series.csv")).unwrap();
    assert!(series.contains("\nPause time,t1 → h class 3,%,"));
    let spans = fs::read_to_string(out.join("slow/spans.csv")).unwrap();
    assert!(spans.contains("\nPaused,"), "{spans}");
}

#[test]
fn thresholds_of_detectors_are_parts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (key, said) in [
        (
            "storm_part = 2.0",
            "detect.storm_part: 2 must be above 0 and at most 1",
        ),
        (
            "alarm_part = 0.0",
            "detect.alarm_part: 0 must be above 0 and at most 1",
        ),
        (
            "storm_window = '0 us'",
            "detect.storm_window: 0 has no pauses in it: such as '1 ms'",
        ),
    ] {
        let duration = "duration = \"1 ms\"";
        let path = scenario(folder, (duration, &format!("{duration}\ndetect.{key}")));
        let refused = refused(folder, &[&path]);
        assert!(refused.contains(said), "{refused}");
    }
}

/// What is drawn does not depend on how often a run is sampled: a sample of 25 us has the least, the greatest and the
/// mean of the 25 samples of 1 us that it takes the place of.
#[test]
fn short_and_long_samples_draw_the_same() {
    /// The line, the time in us, and mean, least and greatest.
    type Row = ((String, String), u64, [Option<f64>; 3]);
    let folder = tempfile::tempdir().unwrap();
    let [short, long] = ["1 us", "25 us"].map(|sample| {
        let out = folder.path().join(sample);
        let set = format!("sample={sample}");
        let run = ["run", "headroom", "--set", "host.nic=model", "--set", &set];
        said(
            &[&run[..], &["--out", out.to_str().unwrap()]].concat(),
            [],
            0,
        );
        let mut reader = csv::Reader::from_path(out.join("headroom/series.csv")).unwrap();
        let row = |row: csv::StringRecord| -> Row {
            let value = |at: usize| row[at].parse().ok();
            let line = (row[0].to_owned(), row[1].to_owned());
            let time = row[3].parse::<u64>().unwrap() / 1_000;
            (line, time, [value(4), value(5), value(6)])
        };
        let rows: Vec<Row> = reader.records().map(|it| row(it.unwrap())).collect();
        rows
    });
    assert!(short.len() == 25 * long.len() && long.len() % 200 == 0);
    let mut bands = 0;
    for (row, parts) in long.iter().zip(short.chunks(25)) {
        let of = |number: usize| parts.iter().filter_map(move |part| part.2[number]);
        let same =
            (parts.iter()).all(|part| part.0 == row.0 && part.1 + 25 > row.1 && part.1 <= row.1);
        assert!(same, "{row:?}: {parts:?}");
        let right = [
            Some(of(0).sum::<f64>() / 25.0),
            of(1).reduce(f64::min),
            of(2).reduce(f64::max),
        ];
        assert_eq!(
            right.map(|it| it.is_some()),
            row.2.map(|it| it.is_some()),
            "{row:?}"
        );
        bands += usize::from(right[1].is_some());
        for (right, found) in right.into_iter().flatten().zip(row.2.into_iter().flatten()) {
            // Goodput is of whole packets.
            let bound = if row.0.0 == "Goodput" { 0.01 } else { 1e-6 };
            assert!(
                (found - right).abs() <= bound * right.max(1.0),
                "{row:?}: {right}"
            );
        }
    }
    assert!(
        bands > long.len() / 2,
        "{bands} of {} rows have bands",
        long.len()
    );
}
