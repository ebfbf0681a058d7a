//! Bytes of code and of state of the models.

use std::collections::BTreeMap;
use std::process::Command;

use verilated::{Model, Settings};

use crate::budget::Counts;

/// Defines a function that returns the name of each top and its state in bytes, as it is saved.
macro_rules! tops {
    ($($package:ident::$Top:ident,)*) => {
        pub fn states() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($Top), state_of(
                $package::$Top::new(&Settings::new("size")).expect("the settings are right")
            )),)*]
        }
    };
}

// The tops of rtl/units.toml.
include!(concat!(env!("OUT_DIR"), "/tops.rs"));

fn state_of(mut model: impl Model) -> usize {
    model.state().expect("a new model can be saved").len()
}

/// Returns the bytes of code of each top, that of a second model with its waves aside, and of its state.
///
/// # Errors
///
/// Returns an error if `nm` does not run.
pub fn of_models() -> Result<Counts, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("nm")
        .args(["--print-size", "--radix=d", "--defined-only"])
        .arg(&program)
        .output()
        .map_err(|error| format!("nm does not start ({error}); it comes with g++, in binutils"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut code: BTreeMap<&str, usize> = BTreeMap::new();
    let states = states();
    for line in text.lines() {
        // address, size, kind, name
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, size, "t" | "T" | "w" | "W", name] = words[..]
            && let Some((_, rest)) = name.split_once("Vxoff_rtl_")
            && let Some((top, _)) = rest.split_once("___024root")
            && let top = top.strip_prefix("units_").unwrap_or(top)
            && let Some((top, _)) = states.iter().find(|(known, _)| *known == top)
            && let Ok(size) = size.parse::<usize>()
        {
            *code.entry(top).or_default() += size;
        }
    }
    let rows = states.iter().flat_map(|(top, state)| {
        let code = code.get(top).copied().unwrap_or(0);
        [("code", code), ("state", *state)]
            .map(|(what, bytes)| (format!("{top}: {what}"), bytes as u64))
    });
    Ok(rows.collect())
}
