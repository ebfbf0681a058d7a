//! Which mutations a run of the original reaches: a netlist that is told to watch says so (`mutant_watch` in
//! tools/mutant_select.v). A run that does not reach a mutation is the same with it, and need not be repeated.

use std::collections::BTreeSet;
use std::path::Path;

/// The number, in place of a mutant's, with which a netlist is the original and watches.
pub const WATCH: u16 = 0xFFFF;

/// Reads the file that the netlists of a run have written; there is none if they reached nothing.
///
/// # Errors
///
/// Returns an error that names the file if it cannot be read or is something else.
pub fn read(file: &Path) -> Result<BTreeSet<u16>, String> {
    if !file.exists() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    (text
        .lines()
        .map(|line| line.parse().ok())
        .collect::<Option<_>>())
    .ok_or_else(|| format!("{} is not what a netlist writes", file.display()))
}
