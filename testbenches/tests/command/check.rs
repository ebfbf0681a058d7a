//! Tests of `xoff check` as a process: findings in captures of real NICs and of scenarios, and rejected input.

use std::fs;

use serde_json::Value;

use crate::command_line::{CAPTURES, LOSS, said};
use crate::common::{file, xoff};

/// Runs `xoff check --json` and expects the exit code that its violations imply.
fn checked(arguments: &[&str], code: i32) -> Value {
    let (out, err) = said(&[&["check", "--json"], arguments].concat(), [], code);
    assert_eq!(err, "");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        report["violations"].as_array().unwrap().is_empty(),
        code == 0
    );
    report
}

#[test]
fn check_finds_in_real_captures_what_was_damaged_and_nothing_else() {
    for (capture, frames, other) in [
        (CAPTURES[0], 438, 0),
        (CAPTURES[1], 114, 1),
        (CAPTURES[2], 22, 0),
        (CAPTURES[3], 89, 4),
    ] {
        let report = checked(&[capture], 0);
        assert_eq!(report["frames"], frames, "{capture}");
        assert_eq!(report["kinds"]["other"], other, "{capture}");
        let rules = report["rules"].as_array().unwrap();
        assert_eq!(rules.len(), xoff_monitor::Rule::ALL.len());
        assert!(
            rules
                .iter()
                .any(|rule| rule["rule"] == "icrc" && rule["checked"].as_u64() > Some(20))
        );
    }
    let report = checked(&[CAPTURES[4]], 1);
    let broken = |rule: &str| {
        let violations = report["violations"].as_array().unwrap().iter();
        violations.filter(|it| it["rule"] == rule).count()
    };
    assert_eq!(
        (broken("icrc"), broken("ip-checksum"), broken("opcode")),
        (15, 2, 1)
    );
    assert_eq!(report["violations"][0]["frame"], 1);
    let remarks = checked(&[LOSS], 0);
    let remarks: Vec<_> = remarks["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["remark"].clone())
        .collect();
    for habit in [
        "ack-coalesced",
        "ack-again",
        "read-again-middle",
        "resend-whole",
    ] {
        assert!(remarks.contains(&habit.into()), "{habit} in {remarks:?}");
    }
}

#[test]
fn check_takes_every_port_of_a_run_as_a_tap() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for settings in [
        &[
            "pair",
            "--set",
            "links.0.faults=[\"src 10.0.0.1, chance 1/40: drop\"]",
            "--set",
            "flows.bulk.message=20 KB",
        ][..],
        &[
            "incast",
            "--set",
            "measure_from=0 us",
            "--set",
            "switches.t.ecn.pmax=1.0",
        ],
    ] {
        let run = [
            "run",
            "--pcap",
            "all",
            "--set",
            "host.nic=model",
            "--set",
            "duration=400 us",
            "--out",
            out,
        ];
        let _ = xoff().args([&run[..], settings].concat()).output().unwrap();
        let capture = format!("{out}/{}/capture.pcapng", settings[0]);
        let hosts = if settings[0] == "pair" {
            "a.0,b.0"
        } else {
            "s0.0,s1.0,r.0"
        };
        let report = checked(
            &[&capture, "--host-port", hosts, "--cnp-interval", "50us"],
            0,
        );
        let count = |rule: &str| {
            let mut rules = report["rules"].as_array().unwrap().iter();
            rules.find(|it| it["rule"] == rule).unwrap()["checked"]
                .as_u64()
                .unwrap()
        };
        assert!(count("psn-order") > 300);
        let rule = if settings[0] == "pair" {
            "resend-start"
        } else {
            "pause-obeyed"
        };
        assert!(count(rule) > 3, "{rule}");
    }
    // The same frames, judged by a CNP interval that no receiver keeps.
    let capture = format!("{out}/incast/capture.pcapng");
    let report = checked(&[&capture, "--cnp-interval", "1ms"], 1);
    assert_eq!(report["violations"][0]["rule"], "cnp-interval");
    assert!(
        report["violations"][0]["interface"]
            .as_str()
            .unwrap()
            .contains('.')
    );
}

#[test]
fn check_names_bad_input_and_keeps_what_was_found() {
    let (out, err) = said(&["check", "-"], "GIF89a..........", 2);
    assert!(
        out.is_empty() && err.contains("not a packet capture"),
        "{err}"
    );
    let (_, err) = said(&["check", "captures/none.pcap"], [], 2);
    assert!(
        err.contains("captures/none.pcap: cannot be opened"),
        "{err}"
    );
    let (_, err) = said(&["check", "captures"], [], 2);
    assert!(err.contains("a directory"), "{err}");
    let (_, err) = said(&["check", LOSS, "--host-port", "eth0"], [], 2);
    assert!(
        err.contains("--host-port eth0: no interface of that name"),
        "{err}"
    );
    let (_, err) = said(&["check", LOSS, "--rate", "41Gb/s"], [], 2);
    assert!(err.contains("10, 25, 40"), "{err}");
    let whole = fs::read(file(LOSS)).unwrap();
    let (out, err) = said(&["check", "-"], &whole[..whole.len() - 10], 2);
    assert!(out.contains("437 frames: 437 RoCE"), "{out}");
    assert!(err.contains("record 438"), "{err}");
}
