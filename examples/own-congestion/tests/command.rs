//! The command, as users run it.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-congestion"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn swift_holds_its_queue() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/out");
    let ran = run(&["run", "swift.toml", "--out", out]);
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}{errors}");
    assert_eq!(said.matches("  held   ").count(), 5, "{said}");
}

#[test]
fn what_does_not_fit_is_named() {
    for (setting, right) in [
        (
            "host.congestion=quick",
            "host.congestion: no congestion control of the name 'quick': this program has dcqcn, swift",
        ),
        (
            "host.congestion_parameters.gain=1",
            "host.congestion_parameters: gain: it has target_us, range_us, ai, beta, max_mdf",
        ),
        (
            "host.congestion_parameters.beta=2",
            "host.congestion_parameters: beta = 2: above 0 to 1",
        ),
        (
            "host.congestion=dcqcn",
            "host.congestion_parameters: target_us: goes with congestion = \"NAME\"",
        ),
    ] {
        let ran = run(&["run", "swift.toml", "--set", setting]);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && errors.contains(right), "{setting}: {errors}");
    }
}
