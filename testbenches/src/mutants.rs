//! `make mutants UNIT=…`: mutation tests of the properties of a unit.
//!
//! tools/mutants.py breaks the unit in many small ways, one at a time. Each mutant goes through the cases that `xoff
//! fuzz` would draw from a fixed seed, until one of them fails: then it is killed. A survivor is either equivalent to
//! the original, or shows that a case is missing: tools/mutants_equal.py reads the verdicts and says which. The
//! netlists to be judged are compiled into this program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    after_help = "Writes the verdicts to verdicts.tsv in the folder of the netlists, and each at once to judged.tsv with what killed the mutant. Exit code 2: the unbroken netlist differs, or bad input."
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
    /// What the cases are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The folder of list.tsv and verdicts.tsv, where the program has the netlists of several units
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    folder: PathBuf,
    /// A test executable that judges what its property lets pass; it finds the mutant's number in XOFF_MUTANT
    #[arg(long, value_name = "PROGRAM")]
    tests: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: Option<u16>,
}

/// A line of the list.
#[derive(Debug, Clone, Copy)]
struct Mutant<'a> {
    /// 0: the unbroken netlist.
    number: u16,
    /// The property that judges it.
    property: &'a str,
    top: &'a str,
    broken: &'a str,
    source: &'a str,
}

/// Result of a property for a mutant: the number of the case that failed and why, or `None`.
type Verdict = Option<(u64, String)>;

/// Reads the list: the unbroken netlist for each property, then the mutants.
fn read_list(list: &str) -> Option<Vec<Mutant<'_>>> {
    let mutants = list
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            Some(Mutant {
                number: fields.next()?.parse().ok()?,
                property: fields.next()?,
                top: fields.next()?,
                broken: fields.next()?,
                source: fields.next()?,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    let originals: BTreeMap<_, _> = (mutants.iter())
        .map(|mutant| {
            let original = Mutant {
                number: 0,
                broken: "nothing",
                source: "",
                ..*mutant
            };
            (mutant.property, original)
        })
        .collect();
    Some(originals.into_values().chain(mutants).collect())
}

/// Runs the cases of a mutant. A survivor runs all of them, which takes a few seconds.
struct Judge<'a> {
    mutant: &'a Mutant<'a>,
    seed: u64,
    effort: u64,
}

impl WithProperty for Judge<'_> {
    type Output = Result<Verdict, String>;

    fn with<P: Property>(self) -> Result<Verdict, String> {
        let plusarg = format!("mutant={}", self.mutant.number);
        verilated::with_plusargs(&[plusarg], || {
            first_failure::<P>(self.seed, self.effort * P::CASES)
        })
    }
}

fn judge(mutant: &Mutant<'_>, cli: &Cli) -> Result<Verdict, String> {
    let verdict = Unit::named(mutant.property)?.with(Judge {
        mutant,
        seed: cli.seed,
        effort: cli.effort,
    })?;
    match (verdict, &cli.tests) {
        (None, Some(tests)) => directed(mutant, tests),
        (verdict, _) => Ok(verdict),
    }
}

/// Runs the directed tests of a unit. The first one that fails kills, and ends them. Digests of whole runs are left out:
/// they fail for any change, whether it is wrong or not.
fn directed(mutant: &Mutant<'_>, tests: &Path) -> Result<Verdict, String> {
    let cannot = |error: std::io::Error| format!("cannot run {}: {error}", tests.display());
    let mut running = Command::new(tests)
        .args(["--test-threads", "1", "--skip", "baseline::"])
        .env("XOFF_MUTANT", mutant.number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(cannot)?;
    let told = running.stdout.take().expect("it is piped");
    for line in BufReader::new(told).lines() {
        if let Some(test) = line.map_err(cannot)?.strip_suffix(" ... FAILED") {
            running
                .kill()
                .and_then(|()| running.wait())
                .map_err(cannot)?;
            return Ok(Some((0, test.to_owned())));
        }
    }
    let status = running.wait().map_err(cannot)?;
    Ok((!status.success()).then(|| (0, format!("the tests end by {status}"))))
}

fn run(cli: &Cli) -> Result<(), String> {
    let path = cli.folder.join("list.tsv");
    let list = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut mutants = read_list(&list)
        .ok_or_else(|| format!("{} is not what tools/mutants.py writes", path.display()))?;
    if !cli.only.is_empty() {
        mutants.retain(|mutant| cli.only.contains(&mutant.number));
    }
    let bar =
        ProgressBar::with_draw_target(Some(mutants.len() as u64), ProgressDrawTarget::stderr())
            .with_style(
                ProgressStyle::with_template("{wide_bar} {pos}/{len} mutants").expect("right"),
            );
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    // What an interrupted run has found is kept.
    let path = cli.folder.join("judged.tsv");
    let unwritten = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let judged = std::fs::File::create(&path).map_err(unwritten)?;
    let verdicts = Mutex::new(vec![None; mutants.len()]);
    let worker = || -> Result<(), String> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(at).filter(|_| !stopped.load(Ordering::Relaxed)) else {
                return Ok(());
            };
            let verdict = match judge(mutant, cli) {
                // Its reset fails.
                Err(why) if mutant.number > 0 => Some((0, why)),
                verdict => verdict?,
            };
            if let (0, Some((case, why))) = (mutant.number, &verdict)
                && cli.only.is_empty()
            {
                stopped.store(true, Ordering::Relaxed);
                return Err(format!(
                    "nothing is broken, yet case {case} of {} differs: {why}",
                    mutant.property
                ));
            }
            let line = match &verdict {
                Some((case, why)) => {
                    let why = why.lines().next().unwrap_or_default();
                    format!("{}\tkilled\tcase {case}: {why}\n", mutant.number)
                }
                None => format!("{}\tsurvived\t\n", mutant.number),
            };
            (&judged).write_all(line.as_bytes()).map_err(unwritten)?;
            verdicts.lock().expect("no panic is behind it")[at] = verdict;
            bar.inc(1);
        }
    };
    let threads = threads(cli.threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        (workers.into_iter()).try_for_each(|worker| worker.join().expect("panics are caught"))
    })?;
    bar.finish_and_clear();

    let seconds = begin.elapsed().as_secs_f64();
    let verdicts = verdicts.into_inner().expect("no panic is behind it");
    let mut written = format!("{seconds:.0}\t{threads}\n");
    let (mut killed, mut survived) = (0, 0);
    for (mutant, verdict) in mutants.iter().zip(verdicts) {
        let Mutant {
            number,
            property,
            top,
            broken,
            source,
        } = mutant;
        if let (false, Some((case, why))) = (cli.only.is_empty(), &verdict) {
            println!(
                "killed    {number:3} {top}: {broken}\n              {source}\n              case {case}: {why}"
            );
        }
        if *number == 0 {
            if !cli.only.is_empty() && verdict.is_none() {
                println!("unbroken  {top}: no case of {property} differs");
            }
            continue;
        }
        let word = match verdict {
            Some(_) => {
                killed += 1;
                "killed"
            }
            None => {
                survived += 1;
                "survived"
            }
        };
        writeln!(written, "{number}\t{word}").expect("a string takes it");
    }
    let path = cli.folder.join("verdicts.tsv");
    std::fs::write(&path, written)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!(
        "{}: {killed} killed, {survived} survived in {seconds:.0} s on {threads} threads",
        cli.unit
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
