//! Tables that cannot work are rejected before Verilator runs, each with a sentence that says what to change.
//!
//! The environment of a build script is process-wide, so each case runs in a process of its own: this test runs
//! itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use verilated_build::{Build, Top};

/// Runs the case with this name as a build script with its folder at `folder`, and returns what it printed.
fn run(case: &str, folder: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            &format!("table::{case}"),
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("OUT_DIR", folder.join("out"))
        .env("CARGO_MANIFEST_DIR", folder)
        .env("CARGO_PKG_NAME", "case")
        .env("DEP_VERILATED_RUNTIME_VERSION", "5.006")
        .env("DEP_VERILATED_RUNTIME_PROGRAM", "/nonexistent/verilator")
        .env("DEP_VERILATED_RUNTIME_ROOT", folder)
        .env("DEP_VERILATED_RUNTIME_HEADERS", folder)
        .env("DEP_VERILATED_RUNTIME_FINGERPRINT", "")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.strip_prefix("RESULT "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn say(build: &Build) {
    match build.try_run() {
        Ok(()) => println!("\nRESULT fine"),
        Err(error) => println!("\nRESULT {error}"),
    }
}

#[test]
#[ignore = "run by the tests below"]
fn same_name() {
    say(&Build::new()
        .search(["a"])
        .top(Top::new("fifo"))
        .top(Top::new("fifo").param("W", 3)));
}

#[test]
#[ignore = "run by the tests below"]
fn no_file() {
    say(&Build::new()
        .packages(["pkg/x_pkg.sv"])
        .top(Top::new("fifo")));
}

#[test]
#[ignore = "run by the tests below"]
fn two_files() {
    say(&Build::new().search(["a", "b"]).top(Top::new("fifo")));
}

#[test]
#[ignore = "run by the tests below"]
fn no_module() {
    say(&Build::new().search(["a"]).top(Top::new("uart")));
}

#[test]
#[ignore = "run by the tests below"]
fn bad_name() {
    say(&Build::new()
        .search(["a"])
        .top(Top::new("fifo").named("2Fifo")));
}

#[test]
fn each_says_what_to_change() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["a/fifo.sv", "b/fifo.sv"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "module fifo; endmodule\n").unwrap();
    }
    let run = |case| run(case, folder.path());
    assert_eq!(
        run("same_name"),
        "two tops are called `Fifo`: give one of them another name with `.named(…)`"
    );
    assert_eq!(
        run("no_file"),
        "package `pkg/x_pkg.sv` does not exist; paths start at the crate's own folder"
    );
    assert_eq!(
        run("two_files"),
        "module `fifo` could be `a/fifo.sv` or `b/fifo.sv`: keep one, or name the file with `.source(…)`"
    );
    assert_eq!(
        run("no_module"),
        "no file for top `uart`: `a` should hold `uart.sv` or `uart.v`, or name it with `.source(…)`"
    );
    assert_eq!(
        run("bad_name"),
        "`2Fifo` cannot name a top: use letters, digits and `_`, a letter first, and no keyword of Rust"
    );
}
