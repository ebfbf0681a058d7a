//! `xoff fuzz`: runs the properties of a unit for a time or a count.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cover::file::{Coverage, UnitCoverage};
use crate::property::Property;
use crate::property::case_file::{self, CaseFile};
use crate::property::run::{Failing, Limit, Plan, SHRINK, run as run_property};
use crate::property::unit::{Unit, WithProperty};
use crate::replay;
use xoff::Outcome;
use xoff::interruption::interrupted;
use xoff::terminal::{Ink, Streams};
use xoff::threads::{MAX_THREADS, threads};
use xoff::{shell, whole_file};

/// Tests a unit against its reference model
///
/// Runs random histories, legal and hostile, through the verilated unit and the reference model, and compares the two.
/// The first history for which they differ is shrunk to a small case, shown, and kept as a readable file. Cases that
/// were kept earlier run first, all of them.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no difference, 1 a difference, 2 bad input, 130 interrupted (what was found is shown)."
)]
pub struct FuzzArgs {
    /// The unit
    #[arg(value_enum)]
    pub unit: Unit,
    /// How long to run, such as 60s or 5m
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub time: humantime::Duration,
    /// Number of cases to run, instead of a time
    #[arg(long, value_name = "N", conflicts_with = "time")]
    pub count: Option<u64>,
    /// Seed of the cases; the same seed and count give the same cases on any number of threads [default:
    /// the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub threads: Option<u16>,
    /// The most simpler cases to try for the one that fails; 0 keeps it as it was drawn
    #[arg(long, value_name = "N", default_value_t = SHRINK)]
    pub shrink: u32,
    /// Write to this file which of the unit's functional bins the cases hit, for xoff cover
    #[arg(long, value_name = "FILE")]
    pub coverage: Option<PathBuf>,
    /// Folder in which failing cases are kept [default: testbenches/cases in the sources, otherwise cases]
    #[arg(long, value_name = "FOLDER")]
    pub cases: Option<PathBuf>,
}

/// Runs `xoff fuzz`.
///
/// # Errors
///
/// Returns an error if the unit cannot be created, or if a case file cannot be read or written.
pub fn run(arguments: &FuzzArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    arguments.unit.with(Fuzz(arguments, streams))
}

/// Returns the folder for failing cases: in the source tree if that exists, otherwise in the working folder.
fn case_folder(arguments: &FuzzArgs) -> PathBuf {
    let in_sources = Path::new("testbenches/cases");
    match &arguments.cases {
        Some(folder) => folder.clone(),
        None if in_sources.parent().is_some_and(Path::is_dir) => in_sources.to_owned(),
        None => PathBuf::from("cases"),
    }
}

struct Fuzz<'a>(&'a FuzzArgs, &'a mut Streams);

impl WithProperty for Fuzz<'_> {
    type Output = anyhow::Result<Outcome>;

    fn with<P: Property>(self) -> anyhow::Result<Outcome> {
        fuzz::<P>(self.0, self.1)
    }
}

fn fuzz<P: Property>(arguments: &FuzzArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let folder = case_folder(arguments);
    if let Some(path) = &arguments.coverage {
        whole_file::check(path)
            .with_context(|| format!("--coverage {}: cannot be written", path.display()))?;
    }
    let kept = case_file::kept::<P>(&folder)?;
    let mut failing = Vec::new();
    for path in &kept {
        if interrupted() {
            break;
        }
        if replay::only::<P>(path, &CaseFile::open(path)?, streams)? == Outcome::Failed {
            failing.push(path);
        }
    }
    if !failing.is_empty() {
        let said = format!("{} of {} kept cases fail:", failing.len(), kept.len());
        writeln!(streams.out, "{}", streams.paint.paint(Ink::Bad, said))?;
        for path in failing {
            writeln!(streams.out, "  xoff replay {}", shell::path(path))?;
        }
        return Ok(match interrupted() {
            true => Outcome::Interrupted,
            false => Outcome::Failed,
        });
    }

    let seed = arguments.seed.unwrap_or_else(|| {
        (SystemTime::now().duration_since(UNIX_EPOCH)).map_or(0, |since| since.as_secs())
    });
    let limit = match arguments.count {
        Some(count) => Limit::Cases(count),
        None => Limit::Time(arguments.time.into()),
    };
    let plan = Plan {
        seed,
        limit,
        threads: threads(arguments.threads),
        shrink: arguments.shrink,
    };
    let bar = progress_bar::<P>(plan, streams);
    let report = run_property::<P>(plan, &|cases, events| {
        bar.set_position(match limit {
            Limit::Cases(_) => cases,
            Limit::Time(_) => bar.elapsed().as_secs(),
        });
        bar.set_message(events.to_string());
    })
    .map_err(|error| anyhow::anyhow!("{}: {error}", P::UNIT))?;
    bar.finish_and_clear();

    let coverage = UnitCoverage::of_run(seed, &report);
    let seconds = report.elapsed.as_secs_f64();
    writeln!(
        streams.out,
        "{}: {} cases, {} {} in {seconds:.1} s, {:.0} {} a second; seed {seed}",
        P::UNIT,
        report.cases,
        report.events,
        P::EVENTS,
        report.events as f64 / seconds,
        P::EVENTS,
    )?;
    let (hit, reachable) = coverage.sum();
    if reachable > 0 {
        writeln!(streams.out, "{hit} of {reachable} functional bins")?;
    }
    let outcome = match &report.failure {
        None => {
            let until = if interrupted() { " until then" } else { "" };
            let said = format!("no difference{until}");
            writeln!(streams.out, "{}", streams.paint.paint(Ink::Good, said))?;
            Outcome::Held
        }
        Some(failing) => {
            // Shown first, so that a folder that cannot be written loses nothing.
            tell::<P>(failing, streams)?;
            let path = case_file::keep::<P>(&folder, seed, failing)?;
            let path = shell::path(&path);
            writeln!(streams.out, "kept; again: xoff replay {path}")?;
            Outcome::Failed
        }
    };
    // Last, so that a file that cannot be written loses no failing case.
    if let Some(path) = &arguments.coverage {
        Coverage::of_unit(coverage).save(path)?;
    }
    if interrupted() {
        let shrinking = match &report.failure {
            Some(_) => "; the case may not be the smallest",
            None => "",
        };
        writeln!(streams.err, "xoff: interrupted{shrinking}")?;
        return Ok(Outcome::Interrupted);
    }
    Ok(outcome)
}

fn tell<P: Property>(failing: &Failing<P>, streams: &mut Streams) -> anyhow::Result<()> {
    let headline = format!(
        "case {} differs; shrunk in {} steps to:",
        failing.number, failing.shrink_steps
    );
    writeln!(streams.out, "{}", streams.paint.paint(Ink::Bad, headline))?;
    for line in failing.case.explained() {
        writeln!(streams.out, "  {line}")?;
    }
    writeln!(streams.out, "{}", failing.disagreement)?;
    Ok(())
}

fn progress_bar<P: Property>(plan: Plan, streams: &Streams) -> ProgressBar {
    if !streams.progress {
        return ProgressBar::hidden();
    }
    let (length, template) = match plan.limit {
        Limit::Cases(cases) => (cases, "{wide_bar} {pos}/{len} cases, {msg} "),
        Limit::Time(time) => (time.as_secs(), "{wide_bar} {pos}/{len} s, {msg} "),
    };
    let template = format!("{template}{}", P::EVENTS);
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(ProgressStyle::with_template(&template).expect("the template is right"))
        .with_message("0")
}
