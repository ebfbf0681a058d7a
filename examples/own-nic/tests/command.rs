//! The command, as users run it.

use std::path::Path;
use std::process::Command;

fn own_nic(arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_own-nic"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}{errors}");
    said
}

#[test]
fn a_sweep_and_waves() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/out");
    let said = own_nic(&["run", "axis.toml", "--out", out, "--sweep", "seed=1..2"]);
    assert_eq!(said.matches("held   messages.there").count(), 2, "{said}");
    let said = own_nic(&["run", "axis.toml", "--out", out, "--waves", "axis:10us-60us"]);
    assert!(said.contains("held   messages.there"), "{said}");
    assert!(Path::new(out).join("axis/axis.fst").is_file());
}

/// A scenario of Xoff, with this NIC in place of the senders'. It has one packet under way, so the line is not busy.
#[test]
fn incast() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/incast");
    let ran = Command::new(env!("CARGO_BIN_EXE_own-nic"))
        .args(["run", "incast", "--out", out])
        .args(["--set", "hosts.s.nic={ own = \"axis\" }"])
        .args(["--set", "flows.f.operation=send", "--set", "flows.f.message=1 KB"])
        .args(["--set", "duration=2 ms", "--set", "measure_from=1 ms"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    for held in ["drops.total", "payload_errors", "jain_index"] {
        assert!(said.contains(&format!("held   {held}")), "{said}");
    }
    assert!(said.contains("FAILED goodput_gbps.total"), "{said}");
}

/// Random messages, losses, duplicates and stalls, beside hosts of all kinds: judged by monitors and by memory.
#[test]
fn its_property() {
    let cases = concat!(env!("CARGO_TARGET_TMPDIR"), "/cases");
    let said = own_nic(&["fuzz", "hosts", "--seed", "1", "--count", "40", "--cases", cases]);
    assert!(said.contains("no difference"), "{said}");
}

#[test]
fn a_regression() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/regress");
    let arguments = ["--scenario", "axis.toml", "--only", "scenario/axis/*"];
    let seeds = ["--seeds", "1-3", "--restart", "--out", out];
    let said = own_nic(&[&["regress"], &arguments[..], &seeds[..]].concat());
    assert!(said.contains("3 items: 3 passed"), "{said}");
}
