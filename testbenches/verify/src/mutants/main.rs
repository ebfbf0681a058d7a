//! `make mutants UNIT=…`: mutation tests of the properties of a unit.
//!
//! tools/mutants.py breaks the unit in many small ways, one at a time. Each mutant goes through the cases that `xoff
//! fuzz` would draw from a fixed seed, until one of them fails: then it is killed. Cases that do not reach what is
//! broken are left out. With `--tests`, those that survived
//! this and are not proven to be equivalent to the original go through directed tests of the unit. The netlists to be
//! judged are compiled into this program.
//!
//! | module | of a unit's mutants |
//! |---|---|
//! | [`list`] | the files about them |
//! | [`reach`] | which mutations a run reaches |
//! | [`directed`] | directed tests as judges |

mod directed;
mod list;
mod reach;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use directed::Tests;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use list::{Mutant, Verdicts, read_list, read_proven};
use rayon::prelude::*;
use reach::WATCH;
use xoff::threads::{MAX_THREADS, threads};
use xoff_verify::property::Property;
use xoff_verify::property::run::first_failure;
use xoff_verify::property::unit::{Unit, WithProperty};

/// The folder of the netlists in this program.
const FOLDER: &str = env!(
    "XOFF_MUTANTS",
    "this program is built by: make mutants UNIT=…"
);

/// Turns the properties of a unit against its mutants
#[derive(Debug, Parser)]
#[command(
    after_help = "Writes the verdicts to verdicts.tsv in the folder of the netlists, and each at once to judged.tsv with \
        what killed the mutant. Exit code 2: the unbroken netlist differs, or bad input."
)]
struct Cli {
    /// The unit, for the last line
    unit: String,
    /// Only these mutants, and say of each what killed it, or that it survived
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    only: Vec<u16>,
    /// Times as many cases as usual
    #[arg(long, value_name = "N", default_value_t = 1)]
    effort: u64,
    /// Only the first cases, so many; the tests and `--rest` follow
    #[arg(long, value_name = "N")]
    first: Option<u64>,
    /// The cases behind the first ones, for what verdicts.tsv says has survived and proofs.tsv does not say is
    /// equivalent
    #[arg(long, requires = "first", conflicts_with = "tests")]
    rest: bool,
    /// What the cases are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The folder of list.tsv and verdicts.tsv, where the program has the netlists of several units
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    folder: PathBuf,
    /// A test executable: judges what verdicts.tsv says has survived and proofs.tsv does not say is equivalent, and
    /// its verdicts to verdicts.tsv. It finds the mutant's number in XOFF_MUTANT
    #[arg(long, value_name = "PROGRAM")]
    tests: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: Option<u16>,
}

/// What the netlist says of a gate that rests too early (`gate_watch` in tools/mutant_select.v).
const RESTS: &str = "would change while its clock rests";

/// What killed a mutant, or `None`.
type Verdict = Option<String>;

/// Cases of a property that run on the same units, one after the other, and the mutations that they reach. Where all
/// cases are one run that is not known, `None`, and not worth knowing.
struct Run {
    unit: Unit,
    cases: Range<u64>,
    reaches: Option<BTreeSet<u16>>,
}

/// The cases that are asked for, in runs; and whether each case is a run.
struct Cases<'a>(&'a Cli);

impl WithProperty for Cases<'_> {
    type Output = (Vec<Range<u64>>, bool);

    fn with<P: Property>(self) -> (Vec<Range<u64>>, bool) {
        let Cli {
            effort,
            first,
            rest,
            ..
        } = *self.0;
        let all = effort * P::CASES;
        let first = first.map_or(all, |first| first.min(all));
        let cases = if rest { first..all } else { 0..first };
        let runs = match P::OWN_UNITS {
            true => cases.map(|case| case..case + 1).collect(),
            false => vec![cases],
        };
        (runs, P::OWN_UNITS)
    }
}

/// Runs cases on a netlist, with these plusargs.
struct Judge {
    seed: u64,
    cases: Range<u64>,
    plusargs: Vec<String>,
}

impl WithProperty for Judge {
    type Output = Result<Verdict, String>;

    fn with<P: Property>(self) -> Result<Verdict, String> {
        let failure =
            verilated::with_plusargs(&self.plusargs, || first_failure::<P>(self.seed, self.cases))?;
        Ok(failure
            .map(|(case, why)| format!("case {case}: {}", why.lines().next().unwrap_or_default())))
    }
}

/// Runs the cases on the unbroken netlists, to know which mutations they reach.
fn watched_runs(cli: &Cli, mutants: &[Mutant]) -> Result<Vec<Run>, String> {
    let folder = folder_of_reach(cli)?;
    let properties: BTreeSet<_> = mutants.iter().map(|mutant| &mutant.property).collect();
    let mut runs = Vec::new();
    for property in properties {
        let unit = Unit::named(property)?;
        let (ranges, watches) = unit.with(Cases(cli));
        runs.extend(
            ranges
                .into_iter()
                .map(|cases| (property, unit, cases, watches)),
        );
    }
    // A netlist that watches has more state, which properties of small units would compare.
    let watch = |(property, unit, cases, watches): (&String, Unit, Range<u64>, bool)| {
        let file = folder.join(format!("{property}_{}", cases.start));
        let plusargs = vec![
            format!("mutant={}", if watches { WATCH } else { 0 }),
            format!("reached={}", file.display()),
        ];
        let judge = Judge {
            seed: cli.seed,
            cases: cases.clone(),
            plusargs,
        };
        if let Some(why) = unit.with(judge)? {
            return Err(format!("nothing is broken, yet {property} differs: {why}"));
        }
        let reaches = watches.then(|| reach::read(&file)).transpose()?;
        Ok(Run {
            unit,
            cases,
            reaches,
        })
    };
    runs.into_par_iter().with_max_len(1).map(watch).collect()
}

/// An empty folder for what netlists write.
fn folder_of_reach(cli: &Cli) -> Result<PathBuf, String> {
    let folder = cli.folder.join("reached");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Judges mutants by their properties: all, or with `--rest` those that are left.
fn by_properties(cli: &Cli, begin: Instant) -> Result<Verdicts, String> {
    let mut before = Verdicts::default();
    let mut mutants = read_list(&cli.folder)?;
    if cli.rest {
        before = Verdicts::read(&cli.folder)?;
        mutants = left(cli, &before)?;
    }
    asked_for(cli, &mut mutants);
    let runs = watched_runs(cli, &mutants)?;
    let verdicts = judge_all(cli, &mutants, |mutant| {
        let unit = Unit::named(&mutant.property)?;
        let reaching = |run: &&Run| {
            let reaches = |numbers: &BTreeSet<u16>| numbers.contains(&mutant.number);
            run.unit == unit && run.reaches.as_ref().is_none_or(reaches)
        };
        for run in runs.iter().filter(reaching) {
            if mutant.dies_when_reached && run.reaches.is_some() {
                return Ok(Some(format!("case {}: {RESTS}", run.cases.start)));
            }
            let judge = Judge {
                seed: cli.seed,
                cases: run.cases.clone(),
                plusargs: vec![format!("mutant={}", mutant.number)],
            };
            // An error: its reset fails.
            if let Some(why) = unit.with(judge).unwrap_or_else(Some) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    })?;
    let killed =
        (mutants.iter().zip(&verdicts)).map(|(mutant, verdict)| (mutant.number, verdict.is_some()));
    before.killed.extend(killed);
    Ok(Verdicts {
        seconds: before.seconds + begin.elapsed().as_secs_f64(),
        threads: rayon::current_num_threads(),
        ..before
    })
}

/// The mutants that are not killed and not proven to be equivalent.
fn left(cli: &Cli, verdicts: &Verdicts) -> Result<Vec<Mutant>, String> {
    let proven = read_proven(&cli.folder)?;
    let mut mutants = read_list(&cli.folder)?;
    mutants.retain(|Mutant { number, .. }| {
        verdicts.killed.get(number) == Some(&false) && !proven.contains(number)
    });
    Ok(mutants)
}

/// Leaves those that `--only` names; without it, all.
fn asked_for(cli: &Cli, mutants: &mut Vec<Mutant>) {
    if !cli.only.is_empty() {
        mutants.retain(|mutant| cli.only.contains(&mutant.number));
    }
}

/// Judges by directed tests what survived and is not proven to be equivalent.
fn by_tests(cli: &Cli, program: &Path, begin: Instant) -> Result<Verdicts, String> {
    let mut verdicts = Verdicts::read(&cli.folder)?;
    let mut mutants = left(cli, &verdicts)?;
    asked_for(cli, &mut mutants);
    let tests = Tests::watched(program, &folder_of_reach(cli)?)?;
    let found = judge_all(cli, &mutants, |mutant| {
        Ok(tests.first_failure(mutant)?.map(str::to_owned))
    })?;
    for (mutant, verdict) in mutants.iter().zip(found) {
        verdicts.killed.insert(mutant.number, verdict.is_some());
    }
    verdicts.seconds += begin.elapsed().as_secs_f64();
    Ok(verdicts)
}

/// Judges mutants in parallel, and adds each verdict to judged.tsv at once, so that what an interrupted run has found
/// is kept. The first error ends it.
fn judge_all(
    cli: &Cli,
    mutants: &[Mutant],
    judge: impl Fn(&Mutant) -> Result<Verdict, String> + Sync,
) -> Result<Vec<Verdict>, String> {
    let bar =
        ProgressBar::with_draw_target(Some(mutants.len() as u64), ProgressDrawTarget::stderr())
            .with_style(
                ProgressStyle::with_template("{wide_bar} {pos}/{len} mutants").expect("right"),
            );
    let path = cli.folder.join("judged.tsv");
    let unwritten = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let judged = (std::fs::OpenOptions::new().create(true).append(true))
        .truncate(false)
        .open(&path)
        .map_err(unwritten)?;
    let judged_at_once = |mutant: &Mutant| {
        let verdict = judge(mutant)?;
        let line = match &verdict {
            Some(why) => format!("{}\tkilled\t{why}\n", mutant.number),
            None => format!("{}\tsurvived\t\n", mutant.number),
        };
        (&judged).write_all(line.as_bytes()).map_err(unwritten)?;
        bar.inc(1);
        Ok(verdict)
    };
    let verdicts = (mutants.par_iter())
        .with_max_len(1)
        .map(judged_at_once)
        .collect::<Result<Vec<_>, String>>()?;
    bar.finish_and_clear();
    if !cli.only.is_empty() {
        print(mutants, &verdicts);
    }
    Ok(verdicts)
}

/// Prints what killed each mutant.
fn print(mutants: &[Mutant], verdicts: &[Verdict]) {
    for (mutant, verdict) in mutants.iter().zip(verdicts) {
        let Mutant {
            number,
            top,
            broken,
            source,
            ..
        } = mutant;
        match verdict {
            Some(why) => println!(
                "killed    {number:3} {top}: {broken}\n              {source}\n              {why}"
            ),
            None => println!("survived  {number:3} {top}: {broken}\n              {source}"),
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let begin = Instant::now();
    (rayon::ThreadPoolBuilder::new().num_threads(threads(cli.threads)))
        .build_global()
        .expect("no pool is there before");
    let (verdicts, judge) = match &cli.tests {
        Some(tests) => (by_tests(cli, tests, begin)?, "property and tests"),
        None if cli.rest => (by_properties(cli, begin)?, "all cases and tests"),
        None => {
            // What was judged before was another netlist, or other cases.
            drop(std::fs::remove_file(cli.folder.join("judged.tsv")));
            (by_properties(cli, begin)?, "property")
        }
    };
    verdicts.write(&cli.folder)?;
    let killed = verdicts.killed.values().filter(|killed| **killed).count();
    println!(
        "{}: {judge}: {killed} killed, {} survived in {:.0} s on {} threads",
        cli.unit,
        verdicts.killed.len() - killed,
        verdicts.seconds,
        verdicts.threads
    );
    Ok(())
}

fn main() -> ExitCode {
    // Drivers may panic because of a mutant's behaviour. That kills the mutant and need not be printed.
    std::panic::set_hook(Box::new(|_| ()));
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xoff-mutants: {error}");
            ExitCode::from(2)
        }
    }
}
