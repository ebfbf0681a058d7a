//! Builds and tests the crates of docs/own-rtl.md and docs/own-nic.md from the text of the pages, outside this
//! workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the files that a page shows. A file is a line that starts with "`NAME`" and ends in ":", where NAME has a
/// dot, followed by the file's text between fences.
fn files(page: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let name = line.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        let is_file = |(name, _): &(&str, &str)| name.contains('.') && line.ends_with(':');
        let Some((name, _)) = name.filter(is_file) else {
            continue;
        };
        let fenced = lines.by_ref().skip_while(|line| !line.starts_with("```"));
        let text: Vec<&str> = fenced
            .skip(1)
            .take_while(|line| !line.starts_with("```"))
            .collect();
        files.push((name.to_owned(), text.join("\n") + "\n"));
    }
    files
}

/// The workspace's folder.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Builds the crate of a page, which must show these files, and runs its tests. All must pass, and `tests` must be
/// among them.
fn works(page: &str, shown: &[&str], package: &str, tests: &[&str]) {
    let workspace = workspace();
    let page = fs::read_to_string(workspace.join(page)).unwrap();
    let files = files(&page);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, shown);

    let folder = tempfile::tempdir().unwrap();
    for (name, text) in &files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The page assumes that the checkout lies beside the crate.
        let checkout = format!("{}/", workspace.display());
        let here = text.replace("../xoff/", &checkout);
        assert_eq!(here != *text, name == "Cargo.toml", "{name}");
        fs::write(path, here).unwrap();
    }
    // Use the workspace's versions, profiles and target folder, so that its compiled crates are reused. Those of the
    // workspace itself, which are compiled once more, are not optimized: these tests are short.
    fs::copy(
        workspace.join("Cargo.lock"),
        folder.path().join("Cargo.lock"),
    )
    .unwrap();
    let manifest = fs::read_to_string(workspace.join("Cargo.toml")).unwrap();
    let profiles = folder.path().join("profiles.toml");
    let unoptimized = |line| match line {
        "opt-level = 1" | "opt-level = 2" => "opt-level = 0",
        line => line,
    };
    let of_manifest = manifest[manifest.find("[profile.").unwrap()..].lines();
    let text = of_manifest.map(unoptimized).collect::<Vec<_>>().join("\n");
    fs::write(&profiles, text).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();

    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--config"])
        .arg(&profiles)
        .arg("--target-dir")
        .arg(target)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    for test in tests {
        assert!(said.contains(&format!("test {test} ... ok")), "{said}");
    }
    // The page must not lead to warnings of Cargo, which include Verilator's.
    assert!(!errors.contains(&format!("{package}@")), "{errors}");
}

#[test]
fn own_rtl_works_as_it_is_written() {
    works(
        "docs/own-rtl.md",
        &[
            "Cargo.toml",
            "rtl/counter.sv",
            "build.rs",
            "src/lib.rs",
            "tests/counter.rs",
        ],
        "own-counter",
        &["counts_when_enabled", "starts_again_after_its_limit"],
    );
}

#[test]
#[ignore = "compiles the simulator once more, some minutes: .ci/run asks for it"]
fn own_nic_works_as_it_is_written() {
    works(
        "docs/own-nic.md",
        &[
            "rtl/axis_nic.sv",
            "rtl/crc32_byte.sv",
            "Cargo.toml",
            "build.rs",
            "src/lib.rs",
            "tests/talks.rs",
            "src/main.rs",
            "axis.toml",
            "tests/command.rs",
        ],
        "own-nic",
        &[
            "a_sweep_and_waves",
            "a_regression",
            "messages_of_all_lengths_both_ways",
            "losses_are_recovered",
            "a_peer_that_never_answers_is_reported",
            "a_run_with_capture_and_report",
            "a_run_goes_on_from_a_checkpoint",
            "what_the_nic_cannot_carry_is_refused",
        ],
    );
}
