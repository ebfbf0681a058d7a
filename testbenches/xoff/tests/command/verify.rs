//! `xoff fuzz`, `replay`, `cover` and `regress` start the program that has them. Here it is a script, beside a copy of
//! `xoff`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script says its arguments, and ends with exit code 1.
const SCRIPT: &str = "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 1\n";

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with a copy of `xoff`.
struct Place(tempfile::TempDir);

impl Place {
    /// `folder` is that of the copy, in a temporary one.
    fn new(folder: &str) -> (Self, PathBuf) {
        let place = Self(tempfile::tempdir().unwrap());
        let folder = place.0.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(crate::PROGRAM, folder.join("xoff")).unwrap();
        (place, folder)
    }

    fn run(folder: &Path, cargo: &Path, arguments: &[&str]) -> Output {
        Command::new(folder.join("xoff"))
            .args(arguments)
            .env("CARGO", cargo)
            .output()
            .unwrap()
    }
}

#[test]
fn arguments_and_exit_code_are_those_of_the_program_beside() {
    let (_place, folder) = Place::new("bin");
    executable(&folder.join("xoff-verify"), SCRIPT);
    for (arguments, expected) in [
        (
            &["fuzz", "pfc", "--time", "1s"][..],
            "<fuzz><pfc><--time><1s>",
        ),
        (&["replay", "--help"], "<replay><--help>"),
        (&["cover", "-h"], "<cover><-h>"),
        (&["regress", "merge", "a b"], "<regress><merge><a b>"),
        (&["regress"], "<regress>"),
    ] {
        let output = Place::run(&folder, Path::new("/none/cargo"), arguments);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_missing_program_is_named() {
    let (_place, folder) = Place::new("bin");
    let output = Place::run(&folder, Path::new("/none/cargo"), &["fuzz", "pfc"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "xoff: xoff fuzz: it is in the program xoff-verify, which is not in {}: \
         cargo install --path testbenches/verify\n",
        folder.display()
    );
    assert_eq!(said, expected);
    assert_eq!(output.status.code(), Some(2));
}

/// Where Cargo built `xoff`, it builds the program too, in the same profile; what takes long is said.
#[test]
fn in_a_checkout_the_program_is_built() {
    for (profile, passed) in [("debug", "dev"), ("release", "release"), ("x86/own", "own")] {
        let (place, folder) = Place::new(&format!("target/{profile}"));
        fs::write(place.0.path().join("target/CACHEDIR.TAG"), "").unwrap();
        let cargo = place.0.path().join("cargo");
        let program = folder.join("xoff-verify");
        executable(&place.0.path().join("script"), SCRIPT);
        let script = format!(
            "#!/bin/sh\necho \"$@\" >{0}/called\nsleep 1.3\ncp {0}/script {1}\n",
            place.0.path().display(),
            program.display()
        );
        executable(&cargo, &script);
        let output = Place::run(&folder, &cargo, &["fuzz", "pfc"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("xoff: builds xoff-verify, "), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "<fuzz><pfc>");
        let called = fs::read_to_string(place.0.path().join("called")).unwrap();
        let target = folder.parent().unwrap();
        let begins = format!("build --quiet --bin xoff-verify --profile {passed} --manifest-path ");
        let ends = format!("--target-dir {}\n", target.display());
        assert!(
            called.starts_with(&begins) && called.ends_with(&ends),
            "{called}"
        );
    }
}

#[test]
fn a_build_that_fails_is_said() {
    let (place, folder) = Place::new("target/debug");
    fs::write(place.0.path().join("target/CACHEDIR.TAG"), "").unwrap();
    let cargo = place.0.path().join("cargo");
    executable(&cargo, "#!/bin/sh\necho 'error: no g++' >&2\nexit 101\n");
    let output = Place::run(&folder, &cargo, &["cover", "a.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: no g++\nxoff: xoff-verify cannot be built\n");
    assert_eq!(output.status.code(), Some(2));
}
