//! What a regression runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;
use xoff_network::scenario::variant::BASE;

use super::arguments::{RegressArgs, Seeds};
use crate::property::Property;
use crate::property::case_file::{self, CaseFile, CaseFileError};
use crate::property::unit::{Unit, WithProperty};
use xoff::run::checkpoint;
use xoff::scenario_file::{BUILT_IN, Setting, Source};

/// Version of the files of a regression.
pub const VERSION: u32 = 1;

/// The maximum number of similar names in a message.
const MOST_NAMES: usize = 5;

/// What two regressions must have in common for their results to be combined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the format.
    pub version: u32,
    /// Seeds of each unit and scenario.
    pub seeds: Seeds,
    /// Cases of a unit for each seed.
    pub cases: Option<u64>,
    /// Settings of all scenarios, `KEY=VALUE`.
    pub set: Vec<String>,
    /// Hash of the program, whose results these are.
    #[serde(default)]
    pub program: String,
    /// Hashes of scenarios with their variants and the files that they name, and of kept cases, by the names of items
    /// without seeds.
    #[serde(default)]
    pub contents: BTreeMap<String, String>,
    /// Names of all items of all parts.
    pub items: Vec<String>,
}

impl Plan {
    /// Whether another plan has the same items and settings, perhaps of another build or of scenarios that have
    /// changed.
    pub fn same_work(&self, other: &Self) -> bool {
        let about = |plan: &Self| (plan.version, plan.seeds, plan.cases);
        about(self) == about(other) && (&self.set, &self.items) == (&other.set, &other.items)
    }

    /// Returns why an item may have another result than by an earlier plan with the same items.
    pub fn change_since(&self, earlier: &Self) -> Option<String> {
        if self.program != earlier.program {
            return Some("of another build of xoff".into());
        }
        let mut names = self.contents.iter();
        let changed = names.find(|(name, hash)| earlier.contents.get(*name) != Some(hash));
        changed.map(|(name, _)| format!("of before {name} changed"))
    }
}

/// Hashes the content of the running program.
fn program() -> anyhow::Result<&'static str> {
    static KNOWN: OnceLock<String> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let hash = || -> io::Result<String> {
        // Also when a new build has replaced the file, this is the one that runs.
        let file = File::open("/proc/self/exe");
        let mut file = file.or_else(|_| File::open(std::env::current_exe()?))?;
        let (mut hash, mut bytes) = (XxHash3_64::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(format!("{:016x}", hash.finish())),
                count => hash.write(&bytes[..count]),
            }
        }
    };
    let hash = hash().context("the program's own file cannot be read")?;
    Ok(KNOWN.get_or_init(|| hash))
}

/// A piece of work.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its name: `unit/pfc/1`, `scenario/deadlock/cured/7`.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// What is run.
    pub work: Work,
}

/// What an item runs.
#[derive(Debug, Clone)]
pub enum Work {
    /// The property of a unit.
    Unit(Unit),
    /// A kept case.
    Case {
        /// The unit that it is of.
        unit: Unit,
        /// Its file.
        path: PathBuf,
    },
    /// A scenario.
    Scenario {
        /// Its text.
        source: Source,
        /// How `xoff run` finds it: name or file.
        origin: String,
        /// The variant, `base` for none, and the settings of all scenarios.
        settings: Vec<Setting>,
    },
}

/// Returns what is to be run, and every item of it. Scenarios come first, because some take long.
///
/// # Errors
///
/// Returns an error if a scenario or setting is invalid, if two scenarios have the same name, or if no item is left.
pub fn plan(arguments: &RegressArgs) -> anyhow::Result<(Plan, Vec<Item>)> {
    let seeds = arguments.seeds.first..=arguments.seeds.last;
    let mut works = Vec::new();
    let built_in = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
    let mut names = Vec::new();
    for origin in built_in.chain(arguments.scenario.iter().cloned()) {
        let source = Source::find(&origin)?;
        if names.contains(&source.name) {
            bail!(
                "--scenario {origin}: there is already a scenario '{}': rename the file",
                source.name
            );
        }
        names.push(source.name.clone());
        let variants: Vec<String> = source.read(&[])?.variants.keys().cloned().collect();
        for variant in std::iter::once(BASE.to_owned()).chain(variants) {
            let name = format!("scenario/{}/{variant}", source.name);
            let chosen = (variant != BASE).then(|| Setting {
                key: "variant".into(),
                value: variant,
            });
            let settings: Vec<Setting> = chosen
                .into_iter()
                .chain(arguments.set.iter().cloned())
                .collect();
            let (source, origin) = (source.clone(), origin.clone());
            let work = Work::Scenario {
                source,
                origin,
                settings,
            };
            works.push((name, work));
        }
    }
    for unit in Unit::value_variants() {
        let name = unit.to_possible_value().expect("no unit is hidden");
        works.push((format!("unit/{}", name.get_name()), Work::Unit(*unit)));
    }
    let patterns: Vec<wildmatch::WildMatch> = arguments
        .only
        .iter()
        .map(|pattern| wildmatch::WildMatch::new(pattern))
        .collect();
    let wanted =
        |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name));
    let mut items = Vec::new();
    let mut contents = BTreeMap::new();
    for seed in seeds {
        for (work_name, work) in &works {
            let name = format!("{work_name}/{seed}");
            if wanted(&name) {
                // Invalid settings are found before anything runs.
                if let Work::Scenario {
                    source, settings, ..
                } = work
                    && !contents.contains_key(work_name)
                {
                    let content = checkpoint::content(source.read(settings)?.written(), false);
                    contents.insert(work_name.clone(), format!("{content:016x}"));
                }
                items.push(Item {
                    name,
                    seed,
                    work: work.clone(),
                });
            }
        }
    }
    for (work_name, seed, work, content) in kept(arguments.kept.as_deref())? {
        let name = format!("{work_name}/{seed}");
        if wanted(&name) {
            contents.insert(work_name, content);
            items.push(Item { name, seed, work });
        }
    }
    if items.is_empty() {
        let names = works.iter().map(|(name, _)| &name[..]);
        let near = nearest(&arguments.only, names).join(", ");
        bail!(
            "--only {}: matches none of {} items; the nearest are {near}, each with /SEED behind it",
            arguments.only.join(","),
            works.len() * arguments.seeds.count() as usize,
        );
    }
    let set = arguments.set.iter();
    let plan = Plan {
        version: VERSION,
        seeds: arguments.seeds,
        cases: arguments.cases,
        set: set
            .map(|Setting { key, value }| format!("{key}={value}"))
            .collect(),
        program: program()?.to_owned(),
        contents,
        items: items.iter().map(|item| item.name.clone()).collect(),
    };
    Ok((plan, items))
}

/// The kept cases in a folder of `xoff fuzz`: for each the name of its items without the seed, its seed, what is run,
/// and a hash of its content.
fn kept(folder: Option<&Path>) -> anyhow::Result<Vec<(String, u64, Work, String)>> {
    struct Kept<'a>(&'a Path);
    impl WithProperty for Kept<'_> {
        type Output = Result<Vec<(PathBuf, CaseFile)>, CaseFileError>;
        fn with<P: Property>(self) -> Self::Output {
            let open = |path: PathBuf| {
                let case = CaseFile::open(&path)?;
                // A case that cannot be read is found before anything runs.
                case.case::<P>()?;
                Ok((path, case))
            };
            case_file::kept::<P>(self.0)?
                .into_iter()
                .map(open)
                .collect()
        }
    }
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    if !folder.is_dir() {
        bail!("--kept {}: no such folder", folder.display());
    }
    let mut all = Vec::new();
    for unit in Unit::value_variants() {
        for (path, case) in unit.with(Kept(folder))? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("case/{}/{stem}", case.unit);
            let content = format!("{:016x}", case.content());
            all.push((name, case.seed, Work::Case { unit: *unit, path }, content));
        }
    }
    Ok(all)
}

/// Returns the names that are most similar to any of the patterns, the most similar first. A name counts with and
/// without the pattern's last part, which may be a seed.
fn nearest<'a>(patterns: &[String], names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let distance = |name: &str| {
        let to = |pattern: &String| {
            let whole = strsim::damerau_levenshtein(name, pattern);
            let (begin, _) = pattern.rsplit_once('/').unwrap_or((pattern, ""));
            whole.min(strsim::damerau_levenshtein(name, begin))
        };
        patterns.iter().map(to).min().unwrap_or(0)
    };
    let mut near: Vec<(usize, &str)> = names.map(|name| (distance(name), name)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter()
        .take(MOST_NAMES)
        .map(|(_, name)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_in_the_order_of_nearness() {
        let names = [
            "scenario/alpha/base",
            "scenario/deadlock/cured",
            "unit/gbn",
            "unit/pfc",
            "unit/parser",
            "unit/nic",
        ];
        let of = |pattern: &str| nearest(&[pattern.into()], names.into_iter());
        assert_eq!(of("unit/pcf/1")[0], "unit/pfc");
        assert_eq!(of("scenario/deadlok/cured/*")[0], "scenario/deadlock/cured");
        assert_eq!(of("unit/gbm/*").len(), MOST_NAMES);
    }
}
