//! Runs a load under callgrind and reads what it counted.

use std::collections::{BTreeMap, HashMap};
use std::process::Command;

use crate::{COUNTED, SINGLE};

/// Instructions of the calls of a function, callees included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    pub calls: u64,
    pub instructions: u64,
}

/// What callgrind counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// All instructions between entry and return of the counted function.
    pub instructions: u64,
    /// Cycles of tops, by their names in Rust.
    pub tops: BTreeMap<String, Calls>,
}

/// Runs the load of this name and returns the number of its units and what was counted.
///
/// # Errors
///
/// Returns an error if valgrind is missing, the load fails, or the profile is not understood.
pub fn of(name: &str) -> Result<(u64, Profile), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let file = folder.path().join("profile");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args([SINGLE, name])
        // One layout of the stack on every machine.
        .env_clear()
        .output()
        .map_err(|error| {
            format!(
                "valgrind does not start ({error}); `make cost` installs it on Debian and Ubuntu"
            )
        })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("it fails under valgrind: {}", said.trim()));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let units = (printed.trim().parse())
        .map_err(|_| format!("it should print a number of units; it printed '{printed}'"))?;
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("callgrind left no profile: {error}: {}", said.trim()))?;
    Ok((units, parse(&text)?))
}

/// Returns the top whose cycle a function is: `verilated_models$Vxoff_rtl_TOP$cxxbridge1$…$Shim$cycle`,
/// or with `xoff_rtl_units`.
fn top_of(function: &str) -> Option<&str> {
    let rest = function.strip_suffix("$Shim$cycle")?;
    let rest = rest.strip_prefix("verilated_models$Vxoff_rtl_")?;
    let rest = rest.strip_prefix("units_").unwrap_or(rest);
    rest.split('$').next()
}

/// Reads a profile in callgrind's format.
///
/// # Errors
///
/// Returns an error if nothing was counted.
fn parse(text: &str) -> Result<Profile, String> {
    let mut profile = Profile::default();
    let mut names: HashMap<&str, &str> = HashMap::new();
    // The name and the number of the calls whose cost the next line has.
    let mut called: Option<&str> = None;
    let mut calls: Option<u64> = None;
    for line in text.lines() {
        if let Some(total) = line.strip_prefix("totals: ") {
            profile.instructions = total.trim().parse().unwrap_or(0);
        } else if let Some(name) = line.strip_prefix("fn=").or(line.strip_prefix("cfn=")) {
            // `(12) name` where it is first met, `(12)` later.
            let (id, name) = name.split_once(' ').unwrap_or((name, ""));
            if !name.is_empty() {
                names.insert(id, name);
            }
            called = line
                .starts_with("cfn=")
                .then(|| names.get(id).copied().unwrap_or_default());
        } else if let Some(count) = line.strip_prefix("calls=") {
            calls = count.split(' ').next().and_then(|count| count.parse().ok());
        } else if let Some(count) = calls.take() {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse().ok());
            if let (Some(top), Some(cost)) = (called.and_then(top_of), cost) {
                let of_top: &mut Calls = profile.tops.entry(top.to_owned()).or_default();
                of_top.calls += count;
                let cost: u64 = cost;
                of_top.instructions += cost;
            }
        }
    }
    match profile.instructions {
        0 => Err(format!("callgrind counted nothing in {COUNTED}")),
        _ => Ok(profile),
    }
}
