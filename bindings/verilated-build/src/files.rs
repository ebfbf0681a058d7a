//! Files: reading, writing if changed, and hashing of contents.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use twox_hash::XxHash3_128;

use crate::Error;

/// The files that Verilator wrote.
pub(crate) struct Generated {
    /// Names of the C++ sources that form the one translation unit, often executed code first.
    pub units: Vec<String>,
    /// Sources that hold only wide constants. They stay out of the translation unit: if the compiler sees the value
    /// of a wide constant, it computes with it word by word instead of loading vectors. In a packet parser's CRC this
    /// made the whole parser a third slower.
    pub constants: Vec<PathBuf>,
    /// Hash of all C++ that was written.
    pub fingerprint: u128,
    /// The signals whose edges processes wait for, each once.
    pub edges: Vec<String>,
    /// Ranges of the coverage counts that are those of changes of single bits.
    pub changes: Vec<(usize, usize)>,
}

pub(crate) fn generated_files(folder: &Path) -> Result<Generated, Error> {
    let mut names: Vec<String> = names_in(folder)?;
    let mut hash = Hash::new();
    let mut edges = Vec::new();
    let (mut counts, mut number) = (Vec::new(), 0);
    for name in names
        .iter()
        .filter(|name| name.ends_with(".cpp") || name.ends_with(".h"))
    {
        let text = read(&folder.join(name))?;
        hash.add(name.as_bytes());
        hash.add(text.as_bytes());
        edges.extend(edges_in(&text).map(str::to_owned));
        counts.extend(counts_in(&text));
        number = number.max(number_of_counts(&text));
    }
    edges.sort();
    edges.dedup();
    names.retain(|name| name.ends_with(".cpp"));
    let (constants, mut units): (Vec<String>, _) = names
        .into_iter()
        .partition(|name| name.contains("__ConstPool_"));
    units.sort_by_key(|name| name.contains("Slow"));
    let constants = constants.iter().map(|name| folder.join(name)).collect();
    Ok(Generated {
        units,
        constants,
        fingerprint: hash.value(),
        edges,
        changes: changes_of(counts, number),
    })
}

/// Returns the places of coverage counts, and whether each is of changes of single bits.
fn counts_in(text: &str) -> impl Iterator<Item = (usize, bool)> {
    (text.lines())
        .filter(|line| line.contains("Insert(") && line.contains(", first, "))
        .filter_map(|line| {
            let (_, place) = line.split_once("__Vcoverage[")?;
            let place = place.split_once(']')?.0.parse().ok()?;
            Some((place, line.contains("\"v_toggle")))
        })
}

/// Returns the number of coverage counts, from the declaration of their array.
fn number_of_counts(text: &str) -> usize {
    let declared = text.split("> __Vcoverage[").nth(1);
    let number = declared.and_then(|rest| rest.split_once("];")?.0.parse().ok());
    number.unwrap_or(0)
}

/// Joins counts of changes to ranges. A place may stand for all counts up to the next one.
fn changes_of(mut counts: Vec<(usize, bool)>, number: usize) -> Vec<(usize, usize)> {
    counts.sort_unstable();
    let ends = (counts.iter().skip(1).map(|(place, _)| *place)).chain([number]);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for ((start, changes), end) in counts.iter().copied().zip(ends) {
        match ranges.last_mut() {
            _ if !changes => {}
            Some(last) if last.1 == start => last.1 = end,
            _ => ranges.push((start, end)),
        }
    }
    ranges
}

/// Returns the signals of `@(posedge a or negedge b)` in the debug texts that Verilator writes, one for each event
/// that a process waits for. Events of combinational loops have no `posedge` or `negedge`.
fn edges_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("is active: @(")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(r")\n")?.0))
        .flat_map(|event| event.split(" or "))
        .filter_map(|edge| {
            let edge = edge.trim();
            edge.strip_prefix("posedge ")
                .or_else(|| edge.strip_prefix("negedge "))
        })
}

/// Returns the names in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .and_then(|entries| {
            entries
                .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                .collect()
        })
        .map_err(failed("read", folder))?;
    names.sort();
    Ok(names)
}

/// XXH3 with 128 bits. Its result is the same on every machine and in every version of Rust, which `std`'s hashers do
/// not promise.
pub(crate) struct Hash(XxHash3_128);

impl Hash {
    pub fn new() -> Hash {
        Hash(XxHash3_128::new())
    }

    /// Adds a part. Its length is hashed too, so that the boundaries between parts matter.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(&(bytes.len() as u64).to_le_bytes());
        self.0.write(bytes);
    }

    pub fn value(&self) -> u128 {
        self.0.finish_128()
    }

    /// The value as a file name.
    pub fn name(&self) -> String {
        format!("{:032x}", self.value())
    }
}

/// Hashes of files by path. Each file is read once, unless it was changed after this object was created: then it is
/// read every time.
pub(crate) struct Contents {
    root: PathBuf,
    began: SystemTime,
    known: Mutex<HashMap<PathBuf, u128>>,
}

impl Contents {
    /// Creates an empty table of hashes for paths relative to `root`.
    pub fn new(root: &Path) -> Contents {
        Contents {
            root: root.to_owned(),
            began: SystemTime::now(),
            known: Mutex::default(),
        }
    }

    /// Returns the hash of the file's bytes, or `None` if there is no such file.
    pub fn of(&self, path: &Path) -> Option<u128> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(hash), false) = (known.get(path), self.changed(path)) {
            return Some(*hash);
        }
        let hash = XxHash3_128::oneshot(&fs::read(self.root.join(path)).ok()?);
        known.insert(path.to_owned(), hash);
        Some(hash)
    }

    /// Returns whether the file was changed after this object was created.
    pub fn changed(&self, path: &Path) -> bool {
        let time = fs::metadata(self.root.join(path)).and_then(|metadata| metadata.modified());
        time.map_or(true, |time| time >= self.began)
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(failed("read", path))
}

/// Writes a file, unless it already holds the text: its modification time then stays the same.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("write", path))?;
    }
    fs::write(path, text).map_err(failed("write", path))
}

/// Returns a function that turns the operating system's error into the error for a file that could not be read or
/// written.
pub(crate) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::File {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_changes() {
        let text = r#"
    std::atomic<uint32_t> __Vcoverage[9];
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[1]), first, "a.sv", 4, 23, ".a", "v_toggle/a", "rst_i", "");
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[0]), first, "a.sv", 3, 23, ".a", "v_toggle/a", "clk_i", "");
    vlSelf->__vlCoverInsert(&(vlSymsp->__Vcoverage[2]), first, "a.sv", 7, 3, ".a", "v_line/a", "block", "7");
    vlSelf->__vlCoverToggleInsert(0, 1, 1, &(vlSymsp->__Vcoverage[5]), first, "a.sv", 9, 3, ".a", "v_toggle/a", "b", "");
        "#;
        assert_eq!(number_of_counts(text), 9);
        let counts = counts_in(text).collect();
        assert_eq!(changes_of(counts, 9), [(0, 2), (5, 9)]);
        assert_eq!(changes_of(Vec::new(), 0), []);
    }

    #[test]
    fn edges_and_nothing_else() {
        let text = r#"
        VL_DBG_MSGF("         'act' region trigger index 0 is active: @(posedge clk_i)\n");
        VL_DBG_MSGF("         'act' region trigger index 1 is active: @(posedge ck or negedge rst_ni)\n");
        VL_DBG_MSGF("         'act' region trigger index 2 is active: @([hybrid] spin.turn)\n");
        VL_DBG_MSGF("         'act' region trigger index 3 is active: @(posedge (ck & en))\n");
        "#;
        assert_eq!(
            edges_in(text).collect::<Vec<_>>(),
            ["clk_i", "ck", "rst_ni", "(ck & en)"]
        );
        assert_eq!(edges_in("a @(posedge b)").count(), 0);
    }
}
