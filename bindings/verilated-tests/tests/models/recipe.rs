//! Builds and tests the crates of docs/own-rtl.md, from the text of the page, and of the examples, outside this
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
    let page = fs::read_to_string(workspace().join(page)).unwrap();
    let files = files(&page);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, shown);
    // The page assumes that the checkout lies beside the crate.
    passes(&files, "../xoff/", package, tests);
}

/// Builds a crate of these files, in which the workspace has the path `there`, and runs its tests.
fn passes(files: &[(String, String)], there: &str, package: &str, tests: &[&str]) {
    let workspace = workspace();
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let checkout = format!("{}/", workspace.display());
        let here = match &name[..] {
            "Cargo.toml" => text.replace(there, &checkout),
            _ => text.clone(),
        };
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
    // There must be no warnings of Cargo, which include Verilator's.
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
            "rtl/meter_pkg.sv",
            "rtl/meter.sv",
            "tests/meter.rs",
        ],
        "own-counter",
        &[
            "counts_when_enabled",
            "starts_again_after_its_limit",
            "a_second_clock_reads_the_sum",
        ],
    );
}

/// The files below a folder, by their paths in it. What Cargo leaves there is not among them.
fn files_below(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if ["target", "out", "Cargo.lock"].contains(&name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files
}

/// The examples have what their pages show of them.
#[test]
fn examples_are_as_their_pages_show() {
    for example in ["own-nic", "own-congestion", "own-policy"] {
        is_as_its_page_shows(example);
    }
}

fn is_as_its_page_shows(example: &str) {
    let page = fs::read_to_string(workspace().join(format!("docs/{example}.md"))).unwrap();
    let files = files_below(&workspace().join("examples").join(example));
    let mut blocks = page.split("```rust\n").skip(1).peekable();
    assert!(blocks.peek().is_some());
    for block in blocks {
        let shown = block.split("```").next().unwrap();
        let is_there = files.iter().any(|(_, text)| text.contains(shown));
        assert!(is_there, "no file of examples/{example} has:\n{shown}");
    }
}

#[test]
#[ignore = "compiles the simulator once more, some minutes: .ci/run asks for it"]
fn own_nic_works_as_it_is_written() {
    let files = files_below(&workspace().join("examples/own-nic"));
    passes(
        &files,
        "../../",
        "own-nic",
        &[
            "a_sweep_and_waves",
            "a_regression",
            "incast",
            "its_property",
            "messages_of_all_lengths_both_ways",
            "losses_are_recovered",
            "a_peer_that_never_answers_is_reported",
            "a_run_with_capture_and_report",
            "a_run_goes_on_from_a_checkpoint",
            "what_the_nic_cannot_carry_is_refused",
        ],
    );
}

#[test]
#[ignore = "compiles the simulator once more, some minutes: .ci/run asks for it"]
fn own_policy_works_as_it_is_written() {
    let files = files_below(&workspace().join("examples/own-policy"));
    passes(
        &files,
        "../../",
        "own-policy",
        &[
            "shares_are_even_and_the_wire_is_full",
            "what_was_recorded_needs_no_policy",
            "what_does_not_fit_is_named",
        ],
    );
}

#[test]
#[ignore = "compiles the simulator once more, some minutes: .ci/run asks for it"]
fn own_congestion_works_as_it_is_written() {
    let files = files_below(&workspace().join("examples/own-congestion"));
    passes(
        &files,
        "../../",
        "own-congestion",
        &[
            "swift_holds_its_queue",
            "what_does_not_fit_is_named",
            "a_checkpoint_has_its_state",
            "it_is_swift_that_keeps_the_queue_short",
        ],
    );
}
