//! Tests of `xoff fuzz`: cases that were kept, files that cannot be written, interruption.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use xoff::Outcome;

use crate::common::{file, run};

#[test]
fn all_kept_cases_run_and_those_that_fail_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("my cases/nic");
    fs::create_dir_all(&kept).unwrap();
    for name in ["a.case", "c.case"] {
        fs::copy(file("cases/planted/forged_payload.case"), kept.join(name)).unwrap();
    }
    // The same without the fault holds.
    let text = fs::read_to_string(kept.join("a.case")).unwrap();
    fs::write(kept.join("b.case"), text.replace("\"forged\":40,", "")).unwrap();
    let cases = kept.parent().unwrap().to_str().unwrap();
    let said = run(
        &["fuzz", "nic", "--count", "1", "--cases", cases],
        None,
        false,
    );
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let end = format!(
        "2 of 3 kept cases fail:\n  xoff replay '{0}/a.case'\n  xoff replay '{0}/c.case'\n",
        kept.display()
    );
    assert!(said.out.ends_with(&end), "{}", said.out);
    assert!(said.out.contains("b.case: "), "{}", said.out);
}

#[test]
fn a_key_that_no_event_has_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(file("cases/planted/forged_payload.case")).unwrap();
    let wrong = |from: &str, to: &str| {
        let path = folder.path().join("a.case");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let said = run(&["replay", path.to_str().unwrap()], None, false);
        let said = said.outcome.unwrap_err().to_string();
        said.strip_prefix(path.to_str().unwrap())
            .unwrap()
            .to_owned()
    };
    let said = wrong("\"qps\":", "\"qp\":4,\"qps\":");
    assert!(
        said.starts_with(": line 3: 'bench {") && said.contains("unknown field `qp`"),
        "{said}"
    );
    let said = wrong("\"buffer_late\":", "\"late\":1,\"buffer_late\":");
    assert!(
        said.contains(": 'post {") && said.contains("unknown field `late`"),
        "{said}"
    );
}

#[test]
fn coverage_that_cannot_be_written_is_known_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cases = folder.path().to_str().unwrap();
    let arguments = ["fuzz", "parser", "--time", "1h", "--cases", cases];
    let said = run(
        &[&arguments[..], &["--coverage", "/none/c.json"]].concat(),
        None,
        false,
    );
    let why = format!("{:#}", said.outcome.unwrap_err());
    assert!(
        why.starts_with("--coverage /none/c.json: cannot be written: No such file or directory"),
        "{why}"
    );
}

#[test]
fn an_interrupted_run_says_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let process = Command::new(env!("CARGO_BIN_EXE_xoff-verify"))
            .args([
                "fuzz",
                "parser",
                "--seed",
                "7",
                "--time",
                "1h",
                "--coverage",
                "c.json",
            ])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1_000));
        kill(Pid::from_raw(process.id() as i32), signal).unwrap();
        let output = process.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), &err[..]),
            (Some(130), "xoff: interrupted\n"),
            "{out}"
        );
        assert!(
            out.starts_with("parser: ") && out.contains("; seed 7\n"),
            "{out}"
        );
        assert!(out.ends_with("no difference until then\n"), "{out}");
        assert!(folder.path().join("c.json").is_file());
    }
}
