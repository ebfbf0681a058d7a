//! `xoff compare`: runs side by side, what happened in each and what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use wildmatch::WildMatch;
use xoff_waves::report::{Differing, Origin, Sweep, SweepPoint};
use xoff_waves::results::{OutDir, REPORT};

use super::arguments::CompareArgs;
use super::finished::Run;
use super::print;
use crate::Outcome;
use crate::shell;
use crate::terminal::{Ink, Streams};
use xoff_network::nearest::nearest;

/// Name of the folder with the page.
const FOLDER: &str = "comparison";
/// Keys of what a scenario says of itself and expects, which is no setting.
const SAID: [&str; 6] = [
    "name",
    "title",
    "description",
    "expect",
    "breaks",
    "variants",
];
/// Settings by which runs are told apart, at most. Of more, the runs go by their names.
const MOST_KEYS: usize = 3;
/// Settings and metrics that are printed, at most, unless all are asked for.
const MOST_SHOWN: usize = 30;
/// Metrics that are drawn because they are asked for, at most.
const MOST_DRAWN: usize = 12;

/// Compares runs: prints what happened in each variant and what differs, and writes the same as a page. Runs that
/// differ in the seed only are one variant.
///
/// # Errors
///
/// Returns an error if a run cannot be read, did not finish or is named twice, if no run has a metric that is asked
/// for, or if the output cannot be written.
pub fn compare(arguments: &CompareArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut runs: Vec<Run> = Vec::new();
    for path in &arguments.runs {
        let run = Run::read(path)?;
        run.must_compare(streams)?;
        let folder = run.folder.canonicalize()?;
        if let Some(first) = runs.iter().find(|other| other.folder == folder) {
            let (first, again) = (first.path.display(), path.display());
            bail!("{again}: the same run as {first}; expected runs of which each is named once");
        }
        runs.push(Run { folder, ..run });
    }
    let folder = OutDir::create(&arguments.out, FOLDER)?;
    let sweep = sweep(arguments, runs, &folder.path().canonicalize()?)?;
    folder.write("comparison.csv", |file| sweep.write_csv(file))?;
    let page = folder.write("comparison.html", |file| {
        file.write_all(sweep.html().as_bytes())
    })?;
    let rows = rows(arguments, &sweep);
    if arguments.json {
        serde_json::to_writer_pretty(&mut streams.out, &Comparison::of(&sweep, rows))?;
        writeln!(streams.out)?;
        return Ok(Outcome::Held);
    }
    print(arguments, &sweep, &rows, streams)?;
    writeln!(streams.out, "  report: {}", page.display())?;
    Ok(Outcome::Held)
}

/// The metrics to show: those that are asked for, all that differ, or one a quantity.
fn rows(arguments: &CompareArgs, sweep: &Sweep) -> Vec<Differing> {
    match (arguments.metric.is_empty(), arguments.all) {
        (true, false) => sweep.differing_by_quantity(),
        (true, true) => sweep.differing(),
        (false, _) => {
            let mut rows = sweep.differing();
            rows.retain(|row| wanted(&arguments.metric, &row.metric));
            rows
        }
    }
}

fn wanted(patterns: &[String], metric: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| WildMatch::new(pattern).matches(metric))
}

/// Puts the runs side by side, on a page in the folder `from`.
fn sweep(arguments: &CompareArgs, runs: Vec<Run>, from: &Path) -> anyhow::Result<Sweep> {
    let names: BTreeSet<&String> = runs
        .iter()
        .flat_map(|run| run.summary.metrics.keys())
        .collect();
    for pattern in &arguments.metric {
        let matcher = WildMatch::new(pattern);
        if !names.iter().any(|name| matcher.matches(name)) {
            let near = nearest(pattern, names.iter().map(|name| &***name));
            let near = match near.is_empty() {
                true => "docs/metrics.md has all".to_owned(),
                false => format!("near it: {}", near.join(", ")),
            };
            bail!("--metric '{pattern}': no run has such a metric; {near}");
        }
    }
    let drawn: Vec<String> = (names.iter())
        .filter(|name| wanted(&arguments.metric, name))
        .map(|name| (*name).clone())
        .take(MOST_DRAWN)
        .collect();
    let told = Told::of(&runs);
    let scenarios: BTreeSet<&str> = runs.iter().map(|run| &*run.summary.scenario).collect();
    let scenarios: Vec<&str> = scenarios.into_iter().collect();
    let words: Vec<String> = runs.iter().map(|run| shell::path(&run.path)).collect();
    let patterns = arguments
        .metric
        .iter()
        .map(|pattern| format!(" --metric {}", shell::quoted(pattern)));
    let point = |(run, values): (Run, Vec<String>)| SweepPoint {
        values,
        report: relative(from, &run.folder.join(REPORT)),
        summary: run.summary,
        charts: Vec::new(),
    };
    let title = format!("{} runs of {}", runs.len(), scenarios.join(", "));
    let mut points: Vec<SweepPoint> = runs.into_iter().zip(told.values).map(point).collect();
    // Runs of a variant stand together, in the order of the first of each.
    let seedless = told.keys.iter().take_while(|key| **key != "seed").count();
    let variants: Vec<Vec<String>> = points
        .iter()
        .map(|point| point.values[..seedless].to_vec())
        .collect();
    points.sort_by_key(|point| {
        variants
            .iter()
            .position(|it| *it == point.values[..seedless])
    });
    Ok(Sweep {
        origin: Origin::Comparison,
        title,
        command: format!(
            "xoff compare {}{}",
            words.join(" "),
            patterns.collect::<String>()
        ),
        keys: told.keys,
        settings: told.settings,
        drawn,
        points,
    })
}

/// By what runs are told apart.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    keys: Vec<String>,
    /// For each run, the value of each key.
    values: Vec<Vec<String>>,
    /// The settings that differ and are no keys, with the value of each variant.
    settings: Vec<(String, Vec<String>)>,
}

impl Told {
    /// Finds the settings that differ. Few are the keys. Of many, the variant is if it tells all of them apart; otherwise
    /// runs go by their paths, and those with the same settings but for the seed by the path of the first.
    fn of(runs: &[Run]) -> Self {
        let mut maps: Vec<BTreeMap<String, String>> = runs.iter().map(Run::settings).collect();
        let seeds: Vec<String> = maps
            .iter_mut()
            .filter_map(|map| map.remove("seed"))
            .collect();
        for map in &mut maps {
            map.retain(|key, _| !SAID.contains(&key.split('.').next().unwrap_or_default()));
        }
        let keys: BTreeSet<&String> = maps.iter().flat_map(BTreeMap::keys).collect();
        let text = |map: &BTreeMap<String, String>, key: &str| {
            map.get(key)
                .map_or("–".to_owned(), |value| value.trim_matches('"').to_owned())
        };
        let differs = |key: &&&String| maps.iter().any(|map| map.get(**key) != maps[0].get(**key));
        let differing: Vec<&String> = keys.iter().filter(differs).copied().collect();
        let keys = match (1..=MOST_KEYS).contains(&differing.len()) {
            true => differing.clone(),
            false => tells_all(&maps, &differing).into_iter().collect(),
        };
        let by_settings = !keys.is_empty();
        let several = seeds.iter().any(|seed| *seed != seeds[0]);
        let first = |place: usize| {
            maps.iter()
                .position(|map| *map == maps[place])
                .unwrap_or(place)
        };
        let firsts: BTreeSet<usize> = (0..maps.len()).map(first).collect();
        let path = |place: usize| runs[place].path.display().to_string();
        let values = |place: usize| -> Vec<String> {
            let seed = several.then(|| seeds[place].clone());
            match by_settings {
                true => keys
                    .iter()
                    .map(|key| text(&maps[place], key))
                    .chain(seed)
                    .collect(),
                // Runs of one seed and the same settings are not put together.
                false if several => [path(first(place))].into_iter().chain(seed).collect(),
                false => vec![path(place)],
            }
        };
        let others = differing.iter().filter(|key| !keys.contains(key));
        let settings = others.map(|key| {
            let of = |place: &usize| text(&maps[*place], key);
            ((*key).clone(), firsts.iter().map(of).collect())
        });
        let settings = settings.collect();
        let seed = several.then(|| "seed".to_owned());
        let named: Vec<String> = match by_settings {
            true => keys.iter().map(|key| (*key).clone()).collect(),
            false => vec!["run".into()],
        };
        Self {
            values: (0..runs.len()).map(values).collect(),
            keys: named.into_iter().chain(seed).collect(),
            settings,
        }
    }
}

/// The scenario's variant, if no two settings that differ have the same.
fn tells_all<'a>(maps: &[BTreeMap<String, String>], keys: &[&'a String]) -> Option<&'a String> {
    let key = keys.iter().find(|key| **key == "variant")?;
    let all: BTreeSet<_> = maps.iter().collect();
    let values: BTreeSet<_> = maps.iter().map(|map| map.get(*key)).collect();
    (all.len() == values.len()).then_some(*key)
}

/// The way from a folder to a file, both absolute, as an address.
fn relative(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components());
    let common = common.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Prints what happened, the figures of each run, and what differs.
fn print(
    arguments: &CompareArgs,
    sweep: &Sweep,
    rows: &[Differing],
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let heading = format!("{} over {}", sweep.title, sweep.keys.join(", "));
    writeln!(
        streams.out,
        "{}",
        streams.paint.paint(Ink::Heading, heading)
    )?;
    for (name, outcomes) in sweep.outcomes() {
        for (headline, count) in outcomes {
            let count = match count {
                1 => String::new(),
                count => format!(" (the first of {count} runs alike)"),
            };
            writeln!(streams.out, "  {name}: {headline}{count}")?;
        }
    }
    print::sweep(streams, sweep)?;
    let names = sweep.names();
    let head = |first: &str| {
        [first.to_owned()]
            .into_iter()
            .chain(names.clone())
            .collect::<Vec<_>>()
    };
    let shown = |all: usize| {
        if arguments.all {
            all
        } else {
            all.min(MOST_SHOWN)
        }
    };
    if !sweep.settings.is_empty() {
        let settings = (sweep.settings.iter().take(shown(sweep.settings.len())))
            .map(|(key, values)| [key.clone()].into_iter().chain(values.clone()).collect());
        let table: Vec<Vec<String>> = [head("settings that differ")]
            .into_iter()
            .chain(settings)
            .collect();
        print::table(&mut *streams.out, &table)?;
        more(
            streams,
            sweep.settings.len() - shown(sweep.settings.len()),
            "settings",
        )?;
    }
    if rows.is_empty() {
        writeln!(streams.out, "  no metric differs")?;
        return Ok(());
    }
    let row = |row: &Differing| {
        let mut name = row.metric.clone();
        if row.others > 0 {
            name += &format!(" and {} more", row.others);
        }
        if row.within_seeds() {
            name += ", within the seeds";
        }
        [name].into_iter().chain(row.texts()).collect()
    };
    let metrics = rows.iter().take(shown(rows.len())).map(row);
    let table: Vec<Vec<String>> = [head("metrics that differ")]
        .into_iter()
        .chain(metrics)
        .collect();
    print::table(&mut *streams.out, &table)?;
    more(streams, rows.len() - shown(rows.len()), "metrics")
}

/// Says how many rows are left out.
fn more(streams: &mut Streams, left: usize, what: &str) -> anyhow::Result<()> {
    if left > 0 {
        writeln!(streams.out, "  and {left} more {what} that differ: --all")?;
    }
    Ok(())
}

/// What `--json` prints.
#[derive(Serialize)]
struct Comparison {
    /// What tells the variants apart.
    keys: Vec<String>,
    variants: Vec<Variant>,
    /// Other settings that differ, each with its value in every variant.
    settings: BTreeMap<String, Vec<String>>,
    /// Metrics that differ.
    metrics: Vec<Differing>,
}

/// A variant, and what happened in its runs.
#[derive(Serialize)]
struct Variant {
    name: String,
    outcomes: Vec<Outcomes>,
}

/// Runs with one outcome.
#[derive(Serialize)]
struct Outcomes {
    headline: String,
    runs: usize,
}

impl Comparison {
    fn of(sweep: &Sweep, metrics: Vec<Differing>) -> Self {
        let outcomes = |(headline, runs): (&str, usize)| Outcomes {
            headline: headline.into(),
            runs,
        };
        let variant = |(name, said): (String, Vec<(&str, usize)>)| Variant {
            name,
            outcomes: said.into_iter().map(outcomes).collect(),
        };
        Self {
            keys: sweep.keys.clone(),
            variants: sweep.outcomes().into_iter().map(variant).collect(),
            settings: sweep.settings.iter().cloned().collect(),
            metrics,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use xoff_waves::report::Summary;

    use super::*;

    fn run(path: &str, seed: u64, settings: serde_json::Value) -> Run {
        Run {
            path: path.into(),
            folder: path.into(),
            summary: Summary {
                seed,
                settings,
                ..Summary::default()
            },
        }
    }

    #[test]
    fn few_settings_tell_runs_apart() {
        let settings =
            |kmin: &str| json!({"switches": {"ecn": {"kmin": kmin}}, "duration": "1 ms"});
        let runs = [("a", 1, "5 KB"), ("b", 2, "5 KB"), ("c", 1, "40 KB")];
        let told = Told::of(&runs.map(|(path, seed, kmin)| run(path, seed, settings(kmin))));
        assert_eq!(told.keys, ["switches.ecn.kmin", "seed"]);
        assert_eq!(told.values, [["5 KB", "1"], ["5 KB", "2"], ["40 KB", "1"]]);
        assert_eq!(told.settings, []);
    }

    /// Runs of one variant are those that the seed alone tells apart.
    #[test]
    fn many_settings_leave_the_names_of_runs() {
        let a = json!({"one": 1, "two": 2, "three": 3, "four": 4});
        let b = json!({"one": 5, "two": 6, "three": 7});
        let told = Told::of(&[run("a", 1, a.clone()), run("a2", 2, a), run("b", 1, b)]);
        assert_eq!(told.keys, ["run", "seed"]);
        assert_eq!(told.values, [["a", "1"], ["a", "2"], ["b", "1"]]);
        let four = ("four".to_owned(), vec!["4".to_owned(), "–".to_owned()]);
        assert_eq!(told.settings.len(), 4);
        assert_eq!(told.settings[0], four);
    }

    #[test]
    fn equal_settings_leave_the_names_of_runs() {
        let one = json!({"one": 1});
        let told = Told::of(&[run("a", 1, one.clone()), run("b", 1, one)]);
        assert_eq!(told.keys, ["run"]);
        assert_eq!(told.values, [["a"], ["b"]]);
    }

    #[test]
    fn the_page_links_to_reports_wherever_they_are() {
        let link = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(
            link("/x/out/comparison", "/x/out/pair/report.html"),
            "../pair/report.html"
        );
        assert_eq!(
            link("/x/out/comparison", "/y/report.html"),
            "../../../y/report.html"
        );
    }
}
