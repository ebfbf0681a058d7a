//! The files in a folder of netlists: which mutants there are, and what was found out about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// A line of list.tsv.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// At least 1.
    pub number: u16,
    /// The property that judges it.
    pub property: String,
    pub top: String,
    /// To be reached kills it: no run is repeated with it.
    pub dies_when_reached: bool,
    pub broken: String,
    pub source: String,
}

/// Reads list.tsv.
///
/// # Errors
///
/// Returns an error that names the file if it cannot be read or is something else.
pub fn read_list(folder: &Path) -> Result<Vec<Mutant>, String> {
    read(folder, "list.tsv", "tools/mutants.py", |line| {
        let mut fields = line.split('\t').map(str::to_owned);
        Some(Mutant {
            number: fields.next()?.parse().ok()?,
            property: fields.next()?,
            top: fields.next()?,
            dies_when_reached: match fields.next()?.as_str() {
                "run" => false,
                "reach" => true,
                _ => return None,
            },
            broken: fields.next()?,
            source: fields.next()?,
        })
    })
}

/// verdicts.tsv: which mutants were killed, by number, and what it took.
#[derive(Debug, Default)]
pub struct Verdicts {
    pub seconds: f64,
    pub threads: usize,
    pub killed: BTreeMap<u16, bool>,
}

impl Verdicts {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file if it cannot be read or is something else.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let lines = read(folder, "verdicts.tsv", "xoff-mutants", |line| {
            let (first, second) = line.split_once('\t')?;
            Some((first.to_owned(), second.to_owned()))
        })?;
        let of_line = |line: &(String, String)| {
            let killed = ["survived", "killed"]
                .iter()
                .position(|word| *word == line.1)?;
            Some((line.0.parse().ok()?, killed == 1))
        };
        (lines.split_first())
            .and_then(|((seconds, threads), lines)| {
                Some(Self {
                    seconds: seconds.parse().ok()?,
                    threads: threads.parse().ok()?,
                    killed: lines.iter().map(of_line).collect::<Option<_>>()?,
                })
            })
            .ok_or_else(|| not_by(folder, "verdicts.tsv", "xoff-mutants"))
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file if it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let mut text = format!("{:.0}\t{}\n", self.seconds, self.threads);
        for (number, killed) in &self.killed {
            let word = if *killed { "killed" } else { "survived" };
            writeln!(text, "{number}\t{word}").expect("a string takes it");
        }
        let path = folder.join("verdicts.tsv");
        std::fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// Reads proofs.tsv: the mutants that are proven to be equivalent to the unbroken netlist.
///
/// # Errors
///
/// Returns an error that names the file if it cannot be read or is something else.
pub fn read_proven(folder: &Path) -> Result<BTreeSet<u16>, String> {
    let proofs = read(folder, "proofs.tsv", "tools/mutants_prove.py", |line| {
        let (number, rest) = line.split_once('\t')?;
        Some((number.parse().ok()?, rest.starts_with("equivalent")))
    })?;
    let proven = proofs.into_iter().filter(|(_, equivalent)| *equivalent);
    Ok(proven.map(|(number, _)| number).collect())
}

fn read<T>(
    folder: &Path,
    name: &str,
    writer: &str,
    of_line: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, String> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    (text.lines().map(of_line).collect::<Option<_>>()).ok_or_else(|| not_by(folder, name, writer))
}

fn not_by(folder: &Path, name: &str, writer: &str) -> String {
    format!(
        "{} is not what {writer} writes",
        folder.join(name).display()
    )
}
