//! A missing or too old Verilator produces one clear sentence; a newer one is never rejected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use verilated_build::{Verilator, Version};

/// Creates a program that answers as Verilator would.
fn fake(folder: &Path, version: &str) -> String {
    let root = folder.join("root");
    fs::create_dir_all(root.join("include")).unwrap();
    fs::write(root.join("include/verilated.cpp"), "").unwrap();
    let program = folder.join("verilator");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo '{version}';;\n--getenv) echo '{}';;\nesac\n",
        root.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

fn at(version: &str) -> Result<Version, String> {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), version);
    loop {
        let found = Verilator::at(&program)
            .map(|verilator| verilator.version)
            .map_err(|error| error.to_string().replace(&program, "PROGRAM"));
        match found {
            // Another test has started a process while the program was being written, which still holds its file.
            Err(error) if error.contains("Text file busy") => std::thread::yield_now(),
            found => return found,
        }
    }
}

#[test]
fn the_floor_and_everything_above_it() {
    assert_eq!(
        at("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"),
        Ok(Version { major: 5, minor: 6 })
    );
    assert_eq!(
        at("Verilator 5.020 2024-01-01 rev v5.020"),
        Ok(Version {
            major: 5,
            minor: 20
        })
    );
    assert_eq!(
        at("Verilator 6.000 2030-01-01"),
        Ok(Version { major: 6, minor: 0 })
    );
    assert_eq!(
        at("Verilator 5.041 devel rev v5.040-12-gabc"),
        Ok(Version {
            major: 5,
            minor: 41
        })
    );
}

#[test]
fn too_old() {
    let text = at("Verilator 4.038 2020-07-11 rev v4.036-114-g0cd4a57ad").unwrap_err();
    assert_eq!(
        text,
        "Verilator 4.038 is too old: `PROGRAM` must be 5.006 or newer. Install a newer one, or set VERILATOR to its program"
    );
    assert!(
        at("Verilator 5.004 2022-12-14")
            .unwrap_err()
            .starts_with("Verilator 5.004 is too old")
    );
}

#[test]
fn something_else() {
    let text = at("Icarus Verilog version 11.0").unwrap_err();
    assert_eq!(
        text,
        "`PROGRAM --version` did not answer as Verilator does: it said \"Icarus Verilog version 11.0\". Set VERILATOR to Verilator 5.006 or newer"
    );
}

#[test]
fn none_at_all() {
    let text = Verilator::at("/nonexistent/verilator")
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("Verilator was not found: cannot run `/nonexistent/verilator` ("),
        "{text}"
    );
    assert!(text.ends_with("or set VERILATOR to the program"), "{text}");
}
