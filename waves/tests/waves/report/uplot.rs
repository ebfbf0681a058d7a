//! uPlot is what its authors published, to the byte, and pages have it with its licence.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::invented;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/uplot"))
}

/// Returns the rows of the table of files in its README: name and SHA-256.
fn listed() -> Vec<(String, String)> {
    let text = fs::read_to_string(folder().join("README.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('`').collect();
        (cells.len() == 5).then(|| (cells[1].to_owned(), cells[3].to_owned()))
    };
    let table = text.lines().filter(|line| line.starts_with('|'));
    table.filter_map(row).collect()
}

#[test]
fn every_file_has_the_hash_that_stands_beside_it() {
    let listed = listed();
    for (name, hash) in &listed {
        let found = Sha256::digest(fs::read(folder().join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, *hash, "{name}");
    }
    let mut files: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    files.sort();
    let names: Vec<String> = listed.into_iter().map(|(name, _)| name).collect();
    assert_eq!(files, names);
}

#[test]
fn pages_have_it_once_with_its_licence() {
    let page = invented::livelock().html();
    for name in ["uPlot.iife.min.js", "uPlot.min.css", "LICENSE"] {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        assert_eq!(page.matches(text.trim()).count(), 1, "{name}");
    }
    // What ends the script early would be shown as text.
    let script = fs::read_to_string(folder().join("uPlot.iife.min.js")).unwrap();
    assert!(!script.contains("</script") && !script.contains("<!--"));
}
