//! Files: read, written when they differ, told apart by what they hold.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use twox_hash::XxHash3_128;

use crate::Error;

/// What Verilator wrote.
pub(crate) struct Generated {
    /// Names of the C++ sources that make the one unit, what runs often first.
    pub units: Vec<String>,
    /// Sources that hold nothing but wide constants. They stay out of the unit: a compiler that sees the value of a
    /// wide constant computes with it word by word, where it would otherwise load vectors. The CRC of a packet parser
    /// made the whole of it a third slower.
    pub constants: Vec<PathBuf>,
    /// Hash of all that was written in C++.
    pub fingerprint: u128,
    /// Signals whose edges processes wait for, each once.
    pub edges: Vec<String>,
}

pub(crate) fn generated_files(folder: &Path) -> Result<Generated, Error> {
    let mut names: Vec<String> = names_in(folder)?;
    let mut hash = Hash::new();
    let mut edges = Vec::new();
    for name in names
        .iter()
        .filter(|name| name.ends_with(".cpp") || name.ends_with(".h"))
    {
        let text = read(&folder.join(name))?;
        hash.add(name.as_bytes());
        hash.add(text.as_bytes());
        edges.extend(edges_in(&text).map(str::to_owned));
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
    })
}

/// The signals of `@(posedge a or negedge b)` in the texts that Verilator writes for debugging, one for each event that
/// something waits for. Events of combinational loops have no `posedge` or `negedge`.
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

/// The names in a folder, sorted.
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

/// XXH3 in 128 bits: the same on every machine and in every version of Rust, which `std`'s hashers do not promise.
pub(crate) struct Hash(XxHash3_128);

impl Hash {
    pub fn new() -> Hash {
        Hash(XxHash3_128::new())
    }

    /// One more part. Its length counts too, so that parts cannot run into each other.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(&(bytes.len() as u64).to_le_bytes());
        self.0.write(bytes);
    }

    pub fn value(&self) -> u128 {
        self.0.finish_128()
    }

    /// The value as the name of a file.
    pub fn name(&self) -> String {
        format!("{:032x}", self.value())
    }
}

/// Hashes of files by path. A file is read once, unless it was changed after this was made: then it is read each time.
pub(crate) struct Contents {
    root: PathBuf,
    began: SystemTime,
    known: Mutex<HashMap<PathBuf, u128>>,
}

impl Contents {
    /// Paths start at `root`.
    pub fn new(root: &Path) -> Contents {
        Contents {
            root: root.to_owned(),
            began: SystemTime::now(),
            known: Mutex::default(),
        }
    }

    /// Hash of the file's bytes; `None` if there is no such file.
    pub fn of(&self, path: &Path) -> Option<u128> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(hash), false) = (known.get(path), self.changed(path)) {
            return Some(*hash);
        }
        let hash = XxHash3_128::oneshot(&fs::read(self.root.join(path)).ok()?);
        known.insert(path.to_owned(), hash);
        Some(hash)
    }

    /// Whether the file was changed after this was made.
    pub fn changed(&self, path: &Path) -> bool {
        let time = fs::metadata(self.root.join(path)).and_then(|metadata| metadata.modified());
        time.map_or(true, |time| time >= self.began)
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(failed("read", path))
}

/// Leaves a file that already holds the text alone, so that its time does not change.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("write", path))?;
    }
    fs::write(path, text).map_err(failed("write", path))
}

/// The error of a file that could not be read or written, as the system's error becomes it.
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
