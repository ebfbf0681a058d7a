//! A file of a checkpoint: before its state it has who wrote it, of what, at which time, and a checksum.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use twox_hash::XxHash3_64;
use xoff_sim::time::Time;

use crate::whole_file;

/// Magic, program, content, time, bytes of the state, checksum.
const HEADER: usize = 6 * 8;

/// What is in a file. Each begins with its own word, whose last digit is the version of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The state of a run.
    Whole,
    /// A list of the files in which the parts of a checkpoint are.
    List,
    /// One of these parts.
    Part,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Whole, Self::List, Self::Part];

    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Whole => *b"XOFFCKP1",
            Self::List => *b"XOFFCKL1",
            Self::Part => *b"XOFFCKN1",
        }
    }
}

/// Whose state a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The program that wrote it.
    pub program: u64,
    /// The scenario.
    pub content: u64,
    /// Its time.
    pub time: Time,
}

/// Why a file is not a checkpoint that can be used.
#[derive(Debug, Error)]
pub enum Unusable {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It was written by another program.
    #[error("written by another build of xoff")]
    Program,
    /// It is something else, cut or changed.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The file of a part is that.
    #[error("part {part} of {parts}, {}, {why}", file.display())]
    Part {
        /// Its number, from 0 on.
        part: usize,
        /// How many parts the checkpoint has.
        parts: usize,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Writes a file, so that it is whole or not there. Returns its length and the checksum of the state.
///
/// # Errors
///
/// It cannot be written.
pub fn write(path: &Path, kind: Kind, head: Head, state: &[u8]) -> io::Result<(u64, u64)> {
    let mut bytes = Vec::with_capacity(HEADER + state.len());
    bytes.extend(kind.magic());
    let sum = XxHash3_64::oneshot(state);
    let length = state.len() as u64;
    for word in [head.program, head.content, head.time.as_ps(), length, sum] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(state);
    whole_file::write(path, &bytes)?;
    Ok((bytes.len() as u64, sum))
}

/// Reads a file that has to be of this head. Returns what it is, its state and the checksum of that.
///
/// # Errors
///
/// It is something else, or damaged.
pub fn read(path: &Path, head: Head) -> Result<(Kind, Vec<u8>, u64), Unusable> {
    let mut bytes = fs::read(path)?;
    let wrong = |what: &str| Unusable::Damaged(what.into());
    let kind = |bytes: &[u8]| {
        Kind::ALL
            .into_iter()
            .find(|it| bytes.starts_with(&it.magic()))
    };
    let kind = (bytes.len() >= HEADER).then(|| kind(&bytes)).flatten();
    let kind = kind.ok_or_else(|| wrong("no checkpoint"))?;
    let state = bytes.split_off(HEADER);
    let word = |at| word(&bytes, at);
    if word(1) != head.program {
        return Err(Unusable::Program);
    }
    if (word(2), word(3)) != (head.content, head.time.as_ps()) {
        return Err(wrong("it has another name than when it was written"));
    }
    if word(4) != state.len() as u64 {
        return Err(wrong("it was cut or added to"));
    }
    let sum = XxHash3_64::oneshot(&state);
    if word(5) != sum {
        return Err(wrong("its checksum does not match"));
    }
    Ok((kind, state, sum))
}

/// The program that wrote a file.
///
/// # Errors
///
/// It cannot be read, or is too short.
pub fn program(path: &Path) -> io::Result<u64> {
    let mut header = [0; HEADER];
    fs::File::open(path)?.read_exact(&mut header)?;
    Ok(word(&header, 1))
}

/// The word at a place of a header.
fn word(header: &[u8], at: usize) -> u64 {
    let word: [u8; 8] = header[8 * at..8 * at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(word)
}
