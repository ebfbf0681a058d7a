//! Files: read, written when they differ, told apart by what they hold.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// What Verilator wrote.
pub(crate) struct Generated {
    /// Names of the C++ sources that make the one unit, what runs often first.
    pub units: Vec<String>,
    /// Sources that hold nothing but wide constants. They stay out of the unit: a compiler that sees the value of a wide constant computes with
    /// it word by word, where it would otherwise load vectors. The CRC of a packet parser made the whole of it a third slower.
    pub constants: Vec<PathBuf>,
    /// Hash of all that was written in C++.
    pub fingerprint: u64,
}

pub(crate) fn generated_files(folder: &Path) -> Result<Generated, Error> {
    let failed = |source| Error::File {
        action: "read",
        path: folder.to_owned(),
        source,
    };
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    names.sort();
    let mut hash = Hash::new();
    for name in names
        .iter()
        .filter(|name| name.ends_with(".cpp") || name.ends_with(".h"))
    {
        hash.add(name.as_bytes());
        hash.add(read(&folder.join(name))?.as_bytes());
    }
    names.retain(|name| name.ends_with(".cpp"));
    let (constants, mut units): (Vec<String>, _) = names
        .into_iter()
        .partition(|name| name.contains("__ConstPool_"));
    units.sort_by_key(|name| name.contains("Slow"));
    let constants = constants.iter().map(|name| folder.join(name)).collect();
    Ok(Generated {
        units,
        constants,
        fingerprint: hash.0,
    })
}

/// FNV-1a: the same on every machine and in every version of Rust, which `std`'s hashers do not promise.
pub(crate) struct Hash(pub u64);

impl Hash {
    pub fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::File {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

/// Leaves a file that already holds the text alone, so that its time does not change.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    let failed = |source| Error::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}
