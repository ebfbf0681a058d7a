//! Arguments of `xoff regress`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use xoff::scenario_file::Setting;
use xoff::threads::MAX_THREADS;

/// Most seeds of a regression: more are a mistake in the range.
const MAX_SEEDS: u64 = 1_000;

/// The folder for results.
const OUT: &str = "out/regress";

const HELP: &str = "\
An item is a unit of xoff fuzz or a scenario with one of its variants, and a seed: unit/pfc/1, \
scenario/deadlock/cured/7. With --kept each kept case is an item too, once: case/pfc/NAME/SEED.

Results go to out/regress/, or for part I of N to out/regress/I-of-N/: index.html, \
junit.xml, summary.json with the failures grouped by cause, each with the command that repeats it; failing cases of \
units are kept in cases/.

journal.jsonl has a line for each finished item. A regression that was killed continues from it when \
the same command is given again, with the same build and the same scenarios; if it had finished, it begins anew. \
Another command is refused in the same folder. --restart begins anew in any case.

Baselines: --update-baseline writes the digests of all scenario runs to the --baseline file, with \
--captures also a capture of each. Later runs with --baseline fail where a digest changed; with a \
capture they say which frame is the first that differs, when and at which port.

Examples:
  # everything, 20 seeds
  xoff regress --seeds 1-20
  # scenarios, with model NICs
  xoff regress --only 'scenario/*' --set host.nic=model
  # units, and cases that failed once
  xoff regress --kept testbenches/cases --only 'unit/*,case/*'
  # the default set, with times
  xoff regress --only 'scenario/*/base/*' --times
  # the third of eight parts
  xoff regress --shard 3/8
  # one report of all of them
  xoff regress merge out/regress/*-of-8
  # what later runs are compared with
  xoff regress --baseline digests.json --update-baseline

Exit codes: 0 no failure, 1 failures or missing items, 2 bad input, 130 interrupted.";

/// Runs all units and scenarios over a range of seeds
///
/// Runs the properties of all units and all built-in scenarios with their variants, several at a time, and writes
/// reports.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = HELP, after_help = "See --help for items, baselines and examples.")]
pub struct RegressArgs {
    #[command(subcommand)]
    #[allow(missing_docs)]
    pub command: Option<RegressCommand>,
    /// Seeds, such as 7 or 1-20
    #[arg(long, value_name = "A-B", default_value = "1")]
    pub seeds: Seeds,
    /// Only items whose name matches a pattern, in which * stands for any text: 'unit/*', '*/deadlock/*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Also run the scenario of a TOML file
    #[arg(long, value_name = "FILE")]
    pub scenario: Vec<String>,
    /// Also run the kept cases in a folder of xoff fuzz, such as testbenches/cases
    #[arg(long, value_name = "FOLDER")]
    pub kept: Option<PathBuf>,
    /// Set a key of all scenarios to another value, as in xoff run
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// Number of cases of a unit for each seed [default: as many as its test runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,
    /// Number of items that run at the same time [default: one per core]; the last ones share the threads of those
    /// that have ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub jobs: Option<u16>,
    /// Run only part I of N, of about the same number of items each
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub shard: Shard,
    /// File with the digests of earlier runs
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the digests of this regression to the --baseline file instead of comparing with it
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,
    /// With --update-baseline: also keep a capture of each run in FILE.captures
    #[arg(long, requires = "update_baseline")]
    pub captures: bool,
    /// Print how long each unit and scenario took
    #[arg(long)]
    pub times: bool,
    /// Discard the results of an earlier regression in the folder
    #[arg(long)]
    pub restart: bool,
    /// Folder for results [default: out/regress, for part I of N out/regress/I-of-N]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

impl RegressArgs {
    /// The folder for results. Parts have folders of their own, because they may run at the same time.
    pub fn folder(&self) -> PathBuf {
        let Shard { part, parts } = self.shard;
        match (&self.out, parts) {
            (Some(folder), _) => folder.clone(),
            (None, 1) => OUT.into(),
            (None, _) => PathBuf::from(OUT).join(format!("{part}-of-{parts}")),
        }
    }
}

/// The subcommands of `xoff regress`.
#[derive(Debug, Subcommand)]
pub enum RegressCommand {
    /// Combine the results of several parts into one report
    Merge(MergeArgs),
}

/// Arguments of `xoff regress merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of results
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder for the combined results
    #[arg(long, value_name = "FOLDER", default_value = OUT)]
    pub out: PathBuf,
}

/// A range of seeds, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

impl Seeds {
    /// How many there are.
    pub const fn count(self) -> u64 {
        self.last - self.first + 1
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last && last - first < MAX_SEEDS => {
                Ok(Self { first, last })
            }
            (Ok(first), Ok(last)) if first <= last => Err(format!(
                "{} seeds: expected {MAX_SEEDS} at most",
                last - first + 1
            )),
            _ => Err("expected a seed or a range of seeds, such as 7 or 1-20".into()),
        }
    }
}

/// One of several parts of the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the part, from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(part, parts)| {
            Some((part.trim().parse().ok()?, parts.trim().parse().ok()?))
        });
        match numbers {
            Some((part, parts)) if (1..=parts).contains(&part) => Ok(Self { part, parts }),
            Some((part, parts)) => Err(format!("there is no part {part} of {parts}: 1 to {parts}")),
            None => Err("expected I/N, such as 1/4".into()),
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_folders_of_their_own() {
        use clap::Parser;
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            arguments: RegressArgs,
        }
        let folder = |words: &[&str]| {
            let read = Only::try_parse_from([&["regress"], words].concat())
                .ok()
                .unwrap();
            read.arguments.folder()
        };
        assert_eq!(folder(&[]), PathBuf::from("out/regress"));
        assert_eq!(
            folder(&["--shard", "3/8"]),
            PathBuf::from("out/regress/3-of-8")
        );
        assert_eq!(
            folder(&["--shard", "3/8", "--out", "x"]),
            PathBuf::from("x")
        );
    }

    #[test]
    fn ranges_and_parts() {
        let seeds = |first, last| Ok(Seeds { first, last });
        assert_eq!("7".parse(), seeds(7, 7));
        assert_eq!("1-20".parse(), seeds(1, 20));
        for wrong in ["", "2-1", "-3", "a", "1-", "0-1000000"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
        assert_eq!("3/8".parse(), Ok(Shard { part: 3, parts: 8 }));
        let why = |text: &str| text.parse::<Shard>().unwrap_err();
        assert_eq!(why("3/2"), "there is no part 3 of 2: 1 to 2");
        assert_eq!(why("0/2"), "there is no part 0 of 2: 1 to 2");
        assert_eq!(why("half"), "expected I/N, such as 1/4");
    }
}
