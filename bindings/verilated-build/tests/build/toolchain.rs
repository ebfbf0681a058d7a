//! A missing or too old Verilator produces one clear sentence; a newer one is never rejected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

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
    executable(&program, &script);
    program.to_str().unwrap().to_owned()
}

fn executable(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
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

#[test]
#[ignore = "run by the test below"]
fn runtime() {
    verilated_build::compile_runtime("cpp", &[], "ffi.rs");
}

/// Builds the run time with a Verilator whose writer of waves is this, and a compiler that does not find lz4. Returns
/// what the build script said.
fn runtime_without_lz4(writer: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), "Verilator 5.048 2026-04-12 rev v5.048");
    let include = folder.path().join("root/include/fstcpp");
    fs::create_dir_all(&include).unwrap();
    fs::write(include.join("fstcpp_writer.cpp"), writer).unwrap();
    let compiler = folder.path().join("g++");
    let probe = folder.path().join("verilated_probe.cpp");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*verilated_probe.cpp*) ! grep -q lz4 {};;\n*) echo gcc;;\nesac\n",
        probe.display()
    );
    executable(&compiler, &script);
    loop {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["toolchain::runtime", "--exact", "--ignored", "--nocapture"])
            .env("OUT_DIR", folder.path())
            .env("CARGO_MANIFEST_DIR", folder.path())
            .env("HOST", "x86_64-unknown-linux-gnu")
            .env("TARGET", "x86_64-unknown-linux-gnu")
            .env("OPT_LEVEL", "1")
            .env("VERILATOR", &program)
            .env("CXX", &compiler)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // As in `at`.
        if !said.contains("Text file busy") {
            return said.replace(&folder.path().display().to_string(), "FOLDER");
        }
    }
}

#[test]
fn lz4_is_missed_by_the_writers_that_need_it() {
    let missing = "cargo::error=lz4's header lz4.h was not found by `FOLDER/g++`: the FST wave writer of this Verilator \
                   needs it. Install it (Debian, Ubuntu: `apt-get install liblz4-dev`), or set VERILATOR to an older one";
    let said = runtime_without_lz4("#include <lz4.h>\n#include <zlib.h>\n");
    assert!(said.contains(missing), "{said}");
    let said = runtime_without_lz4("#include <zlib.h>\n");
    assert!(!said.contains("lz4"), "{said}");
}
