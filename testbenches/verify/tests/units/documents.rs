//! The pages of docs/: their commands run, the files that they show are what they say, and the names in
//! docs/statements.md and docs/architecture.md exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use xoff_monitor::Rule;
use xoff_verify::property::Property;
use xoff_verify::property::unit::{Unit, WithProperty};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// Returns the blocks of a page between fences: the line before the fence that is not empty, the language, the text.
fn blocks(page: &str) -> Vec<(String, String, String)> {
    let mut blocks = Vec::new();
    let mut before = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let before = std::mem::take(&mut before);
            blocks.push((before, language.to_owned(), text.join("\n") + "\n"));
        } else if !line.is_empty() {
            before = line.to_owned();
        }
    }
    blocks
}

/// Writes the files of a page, whose names in ticks end the text before them, and runs its commands in their order.
fn runs(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    // The pages are about the repository, from whose root its kept cases have this name.
    let cases = folder.path().join("testbenches");
    std::os::unix::fs::symlink(
        repository().join("testbenches").canonicalize().unwrap(),
        cases,
    )
    .unwrap();
    let mut count = 0;
    for (before, language, text) in blocks(&page(name)) {
        let file = (before.strip_suffix("`:")).and_then(|text| text.rsplit_once('`'));
        if let Some((_, file)) = file {
            fs::write(folder.path().join(file), text).unwrap();
            continue;
        }
        for line in text.lines().filter(|_| language == "sh") {
            let words = shlex::split(line).unwrap();
            assert_eq!(words[0], "xoff", "{name}: {line}");
            let output = Command::new(env!("CARGO_BIN_EXE_xoff-verify"))
                .args(&words[1..])
                .current_dir(folder.path())
                .output()
                .unwrap();
            // Few cases leave bins out, which is exit code 1 of xoff cover.
            let most = i32::from(words[1] == "cover");
            let code = output.status.code().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                code <= most,
                "{name}: {line}\nexit code {code}\n{said}{errors}"
            );
            count += 1;
        }
    }
    assert!(count > 0, "{name} has no commands");
}

#[test]
fn commands_of_the_pages_run() {
    for name in [
        "first-bench.md",
        "adding-a-scenario.md",
        "adding-a-unit.md",
        "coverage.md",
        "regress.md",
        "shadow.md",
    ] {
        runs(name);
    }
}

#[test]
fn the_first_bench_is_the_example() {
    let example = repository().join("examples/first_bench.rs");
    let shown = blocks(&page("first-bench.md"))
        .into_iter()
        .find(|(_, language, _)| language == "rust");
    assert_eq!(shown.unwrap().2, fs::read_to_string(example).unwrap());
}

/// The names of the groups of bins of all units, as `UNIT/GROUP`.
fn groups() -> BTreeSet<String> {
    struct Names;
    impl WithProperty for Names {
        type Output = Vec<String>;
        fn with<P: Property>(self) -> Vec<String> {
            (P::groups().iter())
                .map(|group| format!("{}/{}", P::UNIT, group.name()))
                .collect()
        }
    }
    (Unit::value_variants().iter())
        .flat_map(|unit| unit.with(Names))
        .collect()
}

/// The Rust sources of the workspace.
fn sources() -> Vec<PathBuf> {
    let mut folders = vec![repository().join("sim"), repository().join("testbenches")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Checks that what holds a statement exists.
fn exists(holds: &str, files: &[PathBuf], groups: &BTreeSet<String>) -> Result<(), String> {
    if let Some(group) = holds.strip_prefix("bins ") {
        return match groups.contains(group) {
            true => Ok(()),
            false => Err(format!("no group of bins '{group}'; there are {groups:?}")),
        };
    }
    if let Some(rule) = holds.strip_prefix("rule ") {
        return match Rule::ALL.iter().any(|known| known.id() == rule) {
            true => Ok(()),
            false => Err(format!("no rule '{rule}' of the monitors")),
        };
    }
    if let Some(unit) = holds.strip_prefix("property ") {
        return Unit::named(unit).map(|_| ());
    }
    let Some((file, test)) = holds.split_once('#') else {
        return Err(format!(
            "'{holds}'; expected FILE#TEST, 'bins UNIT/GROUP', 'rule NAME' or 'property UNIT'"
        ));
    };
    let begins = format!("fn {test}(");
    let found = files
        .iter()
        .filter(|path| path.ends_with(file))
        .any(|path| {
            let text = fs::read_to_string(path).unwrap();
            let mut before = "";
            text.lines().any(|line| {
                let is_it = line.trim_start().starts_with(&begins) && before == "#[test]";
                before = line.trim();
                is_it
            })
        });
    match found {
        true => Ok(()),
        false => Err(format!("no test '{test}' in a file that ends in '{file}'")),
    }
}

#[test]
fn what_holds_the_statements_exists() {
    let (files, groups) = (sources(), groups());
    let page = page("statements.md");
    let rows: Vec<&str> = (page.lines())
        .filter(|line| line.starts_with("| ") && !line.starts_with("| statement |"))
        .collect();
    assert!(rows.len() > 50, "{} rows", rows.len());
    let mut named = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 2, "{row}");
        let holds: Vec<&str> = cells[1].split('`').skip(1).step_by(2).collect();
        assert!(!holds.is_empty(), "nothing holds: {row}");
        for holds in holds {
            exists(holds, &files, &groups).unwrap_or_else(|what| panic!("{what}\n{row}"));
            named.insert(holds.to_owned());
        }
    }
    // Each group of bins belongs to a statement or to the coverage of a form; each rule is a statement.
    let rules = Rule::ALL.iter().map(|rule| rule.id());
    let missing: Vec<_> = rules
        .filter(|id| !named.contains(&format!("rule {id}")))
        .collect();
    assert!(missing.is_empty(), "rules without a statement: {missing:?}");
    for wrong in [
        "psn.rs#no_such_test",
        "bins gbn/none",
        "rule none",
        "property none",
        "none",
    ] {
        assert!(exists(wrong, &files, &groups).is_err(), "{wrong}");
    }
}

/// The text of all sources below `folder` whose names end so.
fn sources_of(folder: &str, ending: &str) -> String {
    let mut folders = vec![repository().join(folder)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == ending) {
                text += &fs::read_to_string(path).unwrap();
            }
        }
    }
    text
}

/// A name is a path of the repository, a file, a crate, or a word of the sources.
fn is_there(name: &str, words: &BTreeSet<&str>, files: &[PathBuf]) -> bool {
    if name.contains('/') {
        return repository().join(name).exists();
    }
    if name.ends_with(".rs") || name.ends_with(".json") {
        let is_it = |path: &PathBuf| path.ends_with(name);
        return name == "summary.json" || files.iter().any(is_it);
    }
    let packages =
        ["bindings", "sim", "testbenches"].map(|folder| repository().join(folder).join(name));
    let parts = name.split([' ', '←']).filter(|part| !part.is_empty());
    packages
        .iter()
        .any(|path| path.join("Cargo.toml").is_file())
        || repository().join(name).is_dir()
        || parts.clone().all(|part| repository().join(part).is_dir())
        || parts.clone().all(|part| {
            let part = part.trim_end_matches('!').trim_start_matches("--");
            part.split("::").all(|word| words.contains(word))
        })
}

#[test]
fn names_in_the_architecture_exist() {
    let files = sources();
    let all = ["sim", "testbenches", "waves", "bindings"].map(|folder| sources_of(folder, "rs"));
    let all = all.join("\n") + &sources_of("rtl", "sv");
    let words: BTreeSet<&str> = all
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    let page = page("architecture.md");
    let mut count = 0;
    for name in page.split('`').skip(1).step_by(2) {
        // Commands, and crates that have other folders than their names.
        if name.starts_with("xoff ")
            || [
                "xoff-oracle",
                "xoff-verify",
                "xoff-waves",
                "--no-default-features",
                "--set",
                "--check",
                "fuzz hosts",
            ]
            .contains(&name)
        {
            continue;
        }
        assert!(is_there(name, &words, &files), "`{name}` is nowhere");
        count += 1;
    }
    assert!(count > 80, "{count} names");
    // In pieces, since this file is one of the sources.
    let no_type = ["No", "Such", "Type"].concat();
    for wrong in [&no_type, "sim/none", "xoff-none", "none.rs"] {
        assert!(!is_there(wrong, &words, &files), "{wrong}");
    }
    for link in page.split("](").skip(1) {
        let link = link.split(')').next().unwrap();
        assert!(repository().join("docs").join(link).exists(), "{link}");
    }
}
