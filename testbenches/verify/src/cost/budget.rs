//! The budgets of `cost.toml`, and the comparison of counts with them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use xoff_network::words::grouped;

/// How far a count may be above its budget.
const SLACK: f64 = 0.03;
/// How far a count may be below its budget before the budget is said to be too large.
const TOO_LARGE: f64 = 0.10;
/// What the file says of itself.
const HEADER: &str = "\
# What work may cost (`make cost`): instructions of a cycle, an event, a frame or a frame-hop, and bytes of models. A
# count more than 3 % above its budget fails. `make cost WRITE=1` writes what it counts; whoever raises a budget says
# why in the commit. `test` has the counts of the profile in which tests are compiled, which CI looks at, `release`
# those of `make demo`. Verilated code is compiled alike in both.

";

/// Counts by name.
pub type Counts = BTreeMap<String, u64>;

/// What work may cost.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// The compilers with which it was counted, by name.
    compilers: BTreeMap<String, String>,
    /// Bytes of code and of state, by top.
    bytes: Counts,
    /// Instructions, by load and unit.
    release: Counts,
    /// Instructions in the profile of tests.
    test: Counts,
}

/// A count beside its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Held,
    Above,
    Below,
    NoBudget,
}

impl Verdict {
    fn of(count: u64, budget: Option<u64>) -> Self {
        match (count as f64, budget.map(|budget| budget as f64)) {
            (_, None) => Self::NoBudget,
            (count, Some(budget)) if count > budget * (1.0 + SLACK) => Self::Above,
            (count, Some(budget)) if count < budget * (1.0 - TOO_LARGE) => Self::Below,
            _ => Self::Held,
        }
    }

    /// What a row says of it.
    fn words(self) -> &'static str {
        match self {
            Self::Held => "",
            Self::Above => "  above its budget",
            Self::Below => "  far below its budget: lower it",
            Self::NoBudget => "  has no budget",
        }
    }
}

/// The file of budgets.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cost.toml")
}

/// The page that shows budgets.
fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// The section of that page.
const TITLE: &str = "## What it costs";

fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write_text(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The versions of the compilers on this machine, as they print them.
fn compilers() -> BTreeMap<String, String> {
    let calls = [
        ("rustc", "rustc", "--version"),
        ("g++", "g++", "-dumpfullversion"),
        ("verilator", "verilator", "--version"),
    ];
    let version = |(name, program, argument): (&str, &str, &str)| {
        let output = Command::new(program).arg(argument).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((name.to_owned(), text.lines().next()?.trim().to_owned()))
    };
    calls.into_iter().filter_map(version).collect()
}

impl Budgets {
    /// Reads a file of budgets.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        toml::from_str(&read_text(path)?).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Replaces the budgets of this build's profile and the sizes by counts, and writes the file and README's table.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file that cannot be read or written.
    pub fn write(mut self, path: &Path, instructions: Counts, bytes: Counts) -> Result<(), String> {
        *self.of_profile_mut() = instructions;
        self.bytes = bytes;
        self.compilers = compilers();
        let text = toml::to_string(&self).map_err(|error| error.to_string())?;
        // Before anything is written: an error leaves both files as they were.
        let page = self.shown_in(&read_text(&readme())?)?;
        write_text(path, &format!("{HEADER}{text}"))?;
        write_text(&readme(), &page)
    }

    /// The text of README with the budgets of the release build in its table under [`TITLE`].
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such table, or if a row has no budget.
    fn shown_in(&self, readme: &str) -> Result<String, String> {
        let missing = || format!("README.md: no table of budgets under '{TITLE}'");
        let (before, rest) = readme.split_once(TITLE).ok_or_else(missing)?;
        let (section, after) = rest.split_at(rest.find("\n## ").unwrap_or(rest.len()));
        let mut rows = 0;
        let mut text = format!("{before}{TITLE}");
        for line in section.split_inclusive('\n') {
            let name = line
                .strip_prefix("| `")
                .and_then(|row| row.split_once("` | "));
            let Some((name, _)) = name else {
                text += line;
                continue;
            };
            let budget = (self.release.get(name)).ok_or_else(|| {
                format!("README.md: cost.toml has no budget of the release build for '{name}'")
            })?;
            let _ = writeln!(text, "| `{name}` | {} |", grouped(*budget));
            rows += 1;
        }
        match rows {
            0 => Err(missing()),
            _ => Ok(text + after),
        }
    }

    fn of_profile_mut(&mut self) -> &mut Counts {
        match cfg!(debug_assertions) {
            true => &mut self.test,
            false => &mut self.release,
        }
    }

    /// Compares instructions, and bytes if they were counted, with the budgets of the chosen loads. Returns a table,
    /// and whether each count has a budget and is within it, and each budget a count.
    pub fn compare(
        &self,
        instructions: &Counts,
        bytes: Option<&Counts>,
        chosen: &dyn Fn(&str) -> bool,
    ) -> (String, bool) {
        let mut text = String::new();
        let mut held = true;
        let of_profile = match cfg!(debug_assertions) {
            true => &self.test,
            false => &self.release,
        };
        let mut section =
            |title: &str, counts: &Counts, budgets: &Counts, chosen: &dyn Fn(&str) -> bool| {
                let _ = writeln!(text, "{title:<44} {:>12} {:>12}", "count", "budget");
                for (name, &count) in counts {
                    let budget = budgets.get(name).copied();
                    let verdict = Verdict::of(count, budget);
                    held &= !matches!(verdict, Verdict::Above | Verdict::NoBudget);
                    let budget = budget.map_or_else(String::new, |budget| budget.to_string());
                    let words = verdict.words();
                    let _ = writeln!(text, "{name:<44} {count:>12} {budget:>12}{words}");
                }
                for name in budgets.keys() {
                    if chosen(name) && !counts.contains_key(name) {
                        held = false;
                        let _ = writeln!(text, "{name:<44} {:>12} has a budget and no count", "");
                    }
                }
            };
        section("instructions", instructions, of_profile, chosen);
        if let Some(bytes) = bytes {
            section("bytes", bytes, &self.bytes, &|_| true);
        }
        if !held {
            let now = compilers();
            for (name, then) in &self.compilers {
                let now = now.get(name).map_or("none", String::as_str);
                if now != then {
                    let _ = writeln!(
                        text,
                        "{name}: the budgets are those of '{then}', here is '{now}'"
                    );
                }
            }
            text.push_str(
                "Not within cost.toml. Where a count has to grow, `make cost WRITE=1` writes what was counted; the \
                 commit says why.\n",
            );
        }
        (text, held)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::ValueEnum;
    use xoff_verify::property::unit::Unit;

    use super::*;
    use crate::loads;
    use crate::size::states;

    #[test]
    fn three_per_cent_above_a_budget_are_allowed() {
        assert_eq!(Verdict::of(1_030, Some(1_000)), Verdict::Held);
        assert_eq!(Verdict::of(1_031, Some(1_000)), Verdict::Above);
        assert_eq!(Verdict::of(890, Some(1_000)), Verdict::Below);
        assert_eq!(Verdict::of(1, None), Verdict::NoBudget);
    }

    #[test]
    fn a_budget_without_a_count_and_a_count_without_a_budget_are_not_held() {
        let counts = |names: &[&str]| -> Counts {
            names.iter().map(|name| ((*name).to_owned(), 100)).collect()
        };
        let mut budgets = Budgets::default();
        *budgets.of_profile_mut() = counts(&["a", "b"]);
        let held = |names| budgets.compare(&counts(names), None, &|_| true).1;
        assert!(held(&["a", "b"]));
        assert!(!held(&["a"]));
        assert!(!held(&["a", "b", "c"]));
        let (text, held) = budgets.compare(&counts(&["a"]), None, &|name| name == "a");
        assert!(held, "{text}");
    }

    /// What `rtl/units.toml` adds or takes away is noticed here, and not only when somebody counts.
    #[test]
    fn every_top_and_load_has_a_budget() {
        let budgets = Budgets::read(&file()).unwrap();
        let names = |counts: &Counts| -> BTreeSet<String> {
            let all = counts.keys().filter(|name| !name.contains(": a cycle of "));
            all.cloned().collect()
        };
        let sizes = |(top, _): (&'static str, usize)| {
            ["code", "state"].map(|what| format!("{top}: {what}"))
        };
        let tops: BTreeSet<String> = states().into_iter().flat_map(sizes).collect();
        let loads: BTreeSet<String> = (loads::ALL.iter())
            .map(|load| format!("{}: {}", load.name, load.unit))
            .collect();
        let both = [
            (&budgets.bytes, &tops),
            (&budgets.release, &loads),
            (&budgets.test, &loads),
        ];
        for (budgets, counted) in both {
            let names = names(budgets);
            let alone: Vec<_> = names.symmetric_difference(counted).collect();
            assert!(
                alone.is_empty(),
                "in cost.toml or in what is counted, but not in both: {alone:?}; `make cost WRITE=1`, and with \
                 PROFILE=dev, write budgets"
            );
        }
    }

    /// What a property runs is counted, so that a top without a count is one that its property leaves out.
    #[test]
    fn properties_run_all_tops_of_their_units() {
        let budgets = Budgets::read(&file()).unwrap();
        let mut count = 0;
        for unit in Unit::value_variants().iter().map(|unit| unit.listed()) {
            for top in unit.tops {
                let name = format!("fuzz {}: a cycle of {top}", unit.name);
                for counts in [&budgets.release, &budgets.test] {
                    assert!(
                        counts.contains_key(&name),
                        "cost.toml has no budget '{name}': the property of {} has to run {top}",
                        unit.name
                    );
                }
                count += 1;
            }
        }
        assert!(count >= 19, "{count} tops");
    }

    /// The table under 'What it costs' has the budgets of the release build.
    #[test]
    fn the_readme_shows_the_budgets() {
        let budgets = Budgets::read(&file()).unwrap();
        let text = read_text(&readme()).unwrap();
        assert_eq!(budgets.shown_in(&text).unwrap(), text);
        let other = text.replace("| `nic busy: a cycle` |", "| `nic lazy: a cycle` |");
        let error = budgets.shown_in(&other).unwrap_err();
        assert!(
            error.contains("no budget of the release build for 'nic lazy: a cycle'"),
            "{error}"
        );
        let error = budgets.shown_in("## What it costs\n\nMuch.\n").unwrap_err();
        assert_eq!(
            error,
            "README.md: no table of budgets under '## What it costs'"
        );
        let table = text.split_once(TITLE).unwrap().1;
        let table = table.split("\n## ").next().unwrap();
        let rows = table.lines().filter(|line| line.starts_with("| `")).count();
        assert!(rows >= 10, "{rows} rows");
    }
}
