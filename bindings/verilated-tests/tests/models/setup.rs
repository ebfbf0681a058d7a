//! `tools/setup.sh` takes a Verilator only if it can read its version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs the set-up with a Verilator of which `--version` prints this. Returns what it said, if it refused.
fn setup(version: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("verilator");
    fs::write(&program, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    run(&program)
}

fn run(verilator: &Path) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/setup.sh");
    let (output, said) = loop {
        let mut command = Command::new(&script);
        let output = command.env("VERILATOR", verilator).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Another test may have started a process while the program was being written, which still holds its file.
        if !said.contains("Text file busy") {
            break (output, said);
        }
    };
    let program = verilator.display().to_string();
    match output.status.success() {
        true => Ok(()),
        false => Err(said.trim().replace(&program, "PROGRAM")),
    }
}

#[test]
fn a_version_that_is_read_and_new_enough_is_taken() {
    for version in [
        "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)",
        "Verilator 5.048 2026-04-12 rev v5.048",
        "Verilator 6.000 2030-01-01",
    ] {
        assert_eq!(setup(version), Ok(()), "{version}");
    }
}

#[test]
fn one_that_is_too_old_is_refused() {
    let said = setup("Verilator 5.004 2022-12-14").unwrap_err();
    let begin = "setup: Verilator is 5.004; Xoff needs 5.006 or newer.";
    assert!(said.starts_with(begin), "{said}");
}

#[test]
fn one_that_cannot_be_read_is_refused_with_what_was_printed() {
    // The second is what a build from sources without a version prints.
    for printed in [
        "",
        " rev vUNKNOWN-built20260516-4e853d8",
        "Icarus Verilog version 11.0",
    ] {
        let said = setup(printed).unwrap_err();
        let begin = format!(
            "setup: the version of Verilator cannot be read: 'PROGRAM --version' printed '{printed}'; right is \
             'Verilator 5.006 …' or newer."
        );
        assert!(said.starts_with(&begin), "{said}");
    }
    assert_eq!(
        run(Path::new("/nonexistent/verilator")).unwrap_err(),
        "setup: VERILATOR is PROGRAM, which is no program that can be run. It names Verilator 5.006 or newer; without \
         it, the one on the path is taken."
    );
}
