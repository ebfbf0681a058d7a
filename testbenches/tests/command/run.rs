//! `xoff run` as a process: what it refuses and how it says so, what it leaves when it is interrupted, waves with layouts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::xoff;
use nix::sys::signal;
use nix::unistd::Pid;
use serde_json::Value;
use xoff_waves::capture::{PcapWriter, PcapngWriter};

/// Scenario `pair`, but for what is replaced.
fn scenario(folder: &Path, replace: (&str, &str)) -> String {
    let text = fs::read_to_string(crate::common::file("scenarios/pair.toml")).unwrap();
    assert!(text.contains(replace.0), "{}", replace.0);
    let path = folder.join("own.toml");
    fs::write(&path, text.replacen(replace.0, replace.1, 1)).unwrap();
    path.to_str().unwrap().into()
}

/// Runs what has to be refused: one line, exit 2, and no folder of results.
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

/// An entry that injects a capture, in front of the flows.
fn inject(file: &str, keys: &str) -> String {
    format!("[[inject]]\nfile = \"{file}\"\n{keys}\n\n[[flows]]")
}

/// Captures to inject: two good ones, one of them without a frame, and one that ends in the middle of its second frame.
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
        "xoff: scenario 'pear': neither one of pair, livelock, incast nor a file; did you mean 'pair'?\n"
    );
    assert_eq!(
        said(&["pair", "--set", "version=2"]),
        "xoff: scenario pair: version: 2: this xoff reads version 1\n"
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
    let mut names: Vec<_> = fs::read_dir(folder.path().join("pair"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let files = [
        "a.fst",
        "a.gtkw",
        "a.sucl",
        "capture.pcapng",
        "goodput.svg",
        "report.html",
        "series.csv",
        "summary.json",
    ];
    assert_eq!(names, files);
    assert!(
        said.contains(&format!(
            "waves: gtkwave {out}/pair/a.fst {out}/pair/a.gtkw\n"
        )),
        "{said}"
    );
}

#[test]
fn an_interrupted_run_leaves_files_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_xoff"))
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
    let said = String::from_utf8(output.stderr).unwrap();
    let place = format!(
        "xoff: interrupted; what was measured until then is in {}\n",
        results.display()
    );
    assert!(said.ends_with(&place), "{said}");
    let summary = fs::read(results.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
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
