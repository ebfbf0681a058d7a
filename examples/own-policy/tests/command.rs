//! The command, as users run it.

use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-policy"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .unwrap()
}

fn summary(arguments: &[&str]) -> Value {
    let ran = run(arguments);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.stdout.is_empty(), "{errors}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn shares_are_even_and_the_wire_is_full() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/shares");
    let ran = run(&["run", "shares.toml", "--out", out]);
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}{errors}");
    assert_eq!(said.matches("  held   ").count(), 3, "{said}");
}

/// The changes as events give the same digest, in the command of Xoff that does not know the policy too.
#[test]
fn what_was_recorded_needs_no_policy() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/recorded");
    let own = summary(&["run", "shares.toml", "--json", "--out", out]);
    assert_eq!(own["policy"]["looks"], 39);
    let file = format!("{out}/shares/{}", own["policy"]["recorded"].as_str().unwrap());
    let again = summary(&["run", &file, "--json", "--out", out]);
    assert_eq!(again["digest"], own["digest"]);
    assert_eq!(again["policy"], Value::Null);
}

#[test]
fn what_does_not_fit_is_named() {
    for (setting, right) in [
        (
            "policy.name=share",
            "policy.name: no policy of the name 'share': this program has ecn-tuner, shares; docs/own-policy.md says \
             how to add one; did you mean 'shares'?",
        ),
        ("policy.parameters.rooms=2", "unknown field `rooms`, expected `room` or `wire`"),
        ("policy.parameters.room=0.5", "policy.parameters: room and wire: 1 or more"),
        ("policy.every=\"4 ms\"", "policy.every: 4 ms: the run ends at 4 ms"),
    ] {
        let ran = run(&["run", "shares.toml", "--set", setting]);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && errors.contains(right), "{setting}: {errors}");
    }
}
