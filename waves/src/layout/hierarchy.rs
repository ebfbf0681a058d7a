//! Lists the signals of a wave file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fst_reader::{FstHierarchyEntry, FstReader};

use super::Error;

/// A signal as a file stores it.
pub(super) struct Entry {
    /// The range as the file writes it, such as `[47:0]`; empty for a single bit.
    pub range: String,
    /// Whether the file has names for the signal's values, because it is of an enum.
    pub named: bool,
}

/// Returns every signal of an FST file, by its scopes and name separated by dots.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Entry>, Error> {
    let file = File::open(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    let broken = |error: fst_reader::ReaderError| Error::Read {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let mut reader = FstReader::open(BufReader::new(file)).map_err(broken)?;
    let mut scopes: Vec<String> = Vec::new();
    let mut signals = BTreeMap::new();
    // In the file, a reference to a table of names precedes its signal.
    let mut named = false;
    reader
        .read_hierarchy(|entry| match entry {
            FstHierarchyEntry::Scope { name, .. } => scopes.push(name),
            FstHierarchyEntry::UpScope => {
                scopes.pop();
            }
            FstHierarchyEntry::EnumTableRef { .. } => named = true,
            FstHierarchyEntry::Var { name, .. } => {
                let (name, range) = split_range(&name);
                let mut path = scopes.join(".");
                if !path.is_empty() {
                    path.push('.');
                }
                let range = range.to_owned();
                let named = std::mem::take(&mut named);
                signals.insert(path + name, Entry { range, named });
            }
            _ => {}
        })
        .map_err(broken)?;
    Ok(signals)
}

/// Splits a name and its range. Verilator writes `now_i [47:0]`.
fn split_range(name: &str) -> (&str, &str) {
    match name.split_once(" [") {
        Some((bare, _)) => (bare, &name[bare.len() + 1..]),
        None => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart() {
        assert_eq!(split_range("now_i [47:0]"), ("now_i", "[47:0]"));
        assert_eq!(split_range("depth[3] [23:0]"), ("depth[3]", "[23:0]"));
        assert_eq!(split_range("idle_o"), ("idle_o", ""));
    }
}
