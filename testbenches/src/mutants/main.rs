//! `make mutants UNIT=…`: mutation tests of the properties of a unit.
//!
//! tools/mutants.py breaks the unit in many small ways, one at a time. Each mutant goes through the cases that `xoff
//! fuzz` would draw from a fixed seed, until one of them fails: then it is killed. With `--tests`, those that survived
//! this and are not proven to be equivalent to the original go through directed tests of the unit. The netlists to be
//! judged are compiled into this program.
//!
//! | module | of a unit's mutants |
//! |---|---|
//! | [`list`] | the files about them |
//! | [`directed`] | directed tests as judges |

mod directed;
mod list;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use directed::Tests;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use list::{Mutant, Verdicts, read_list, read_proven};
use xoff::property::Property;
use xoff::property::run::first_failure;
use xoff::property::unit::{Unit, WithProperty};
use xoff::threads::{MAX_THREADS, threads};

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
    /// Only these mutants, and say what killed each; 0 is the unbroken netlist
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

/// What killed a mutant, or `None`.
type Verdict = Option<String>;

/// Runs the cases of a mutant. A survivor runs all of them, which takes a few seconds.
struct Judge<'a> {
    mutant: &'a Mutant,
    cli: &'a Cli,
}

impl WithProperty for Judge<'_> {
    type Output = Result<Verdict, String>;

    fn with<P: Property>(self) -> Result<Verdict, String> {
        let plusarg = format!("mutant={}", self.mutant.number);
        let Cli {
            seed,
            effort,
            first,
            rest,
            ..
        } = *self.cli;
        let all = effort * P::CASES;
        let first = first.map_or(all, |first| first.min(all));
        let cases = if rest { first..all } else { 0..first };
        let failure =
            verilated::with_plusargs(&[plusarg], || first_failure::<P>(seed, cases.clone()))?;
        Ok(failure
            .map(|(case, why)| format!("case {case}: {}", why.lines().next().unwrap_or_default())))
    }
}

/// Judges mutants by their properties: all, or with `--rest` those that are left.
fn by_properties(cli: &Cli, begin: Instant) -> Result<Verdicts, String> {
    let mut before = Verdicts::default();
    let mut mutants = read_list(&cli.folder)?;
    if cli.rest {
        before = Verdicts::read(&cli.folder)?;
        mutants = left(cli, &before)?;
    }
    if !cli.only.is_empty() {
        mutants.retain(|mutant| cli.only.contains(&mutant.number));
    }
    let threads = threads(cli.threads);
    let verdicts = judge_all(cli, &mutants, threads, |mutant| {
        let verdict = Unit::named(&mutant.property)?.with(Judge { mutant, cli });
        match verdict {
            // Its reset fails.
            Err(why) if mutant.number > 0 => Ok(Some(why)),
            Ok(Some(why)) if mutant.number == 0 => Err(format!(
                "nothing is broken, yet {} differs: {why}",
                mutant.property
            )),
            verdict => verdict,
        }
    })?;
    let killed = (mutants.iter().zip(&verdicts))
        .filter(|(mutant, _)| mutant.number > 0)
        .map(|(mutant, verdict)| (mutant.number, verdict.is_some()));
    before.killed.extend(killed);
    Ok(Verdicts {
        seconds: before.seconds + begin.elapsed().as_secs_f64(),
        threads,
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

/// Judges by directed tests what survived and is not proven to be equivalent.
fn by_tests(cli: &Cli, program: &Path, begin: Instant) -> Result<Verdicts, String> {
    let mut verdicts = Verdicts::read(&cli.folder)?;
    let mutants = left(cli, &verdicts)?;
    let threads = threads(cli.threads);
    let tests = Tests::timed(program, threads)?;
    let found = judge_all(cli, &mutants, threads, |mutant| {
        Ok(tests.first_failure(mutant.number)?.map(str::to_owned))
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
    threads: usize,
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
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let verdicts = Mutex::new(vec![None; mutants.len()]);
    let worker = || -> Result<(), String> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(at).filter(|_| !stopped.load(Ordering::Relaxed)) else {
                return Ok(());
            };
            let verdict = judge(mutant).inspect_err(|_| stopped.store(true, Ordering::Relaxed))?;
            let line = match &verdict {
                Some(why) => format!("{}\tkilled\t{why}\n", mutant.number),
                None => format!("{}\tsurvived\t\n", mutant.number),
            };
            (&judged).write_all(line.as_bytes()).map_err(unwritten)?;
            verdicts.lock().expect("no panic is behind it")[at] = verdict;
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        (workers.into_iter()).try_for_each(|worker| worker.join().expect("panics are caught"))
    })?;
    bar.finish_and_clear();
    let verdicts = verdicts.into_inner().expect("no panic is behind it");
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
            property,
            top,
            broken,
            source,
        } = mutant;
        match verdict {
            Some(why) => println!(
                "killed    {number:3} {top}: {broken}\n              {source}\n              {why}"
            ),
            None if *number == 0 => println!("unbroken  {top}: no case of {property} differs"),
            None => {}
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let begin = Instant::now();
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
