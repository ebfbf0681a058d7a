//! The command `xoff truth`: what papers say, what runs of built-in scenarios measure, and why the two differ where they
//! do.

mod claims;
mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use xoff_network::Endpoints;
use xoff_network::judge::judge;
use xoff_network::metrics::Metrics;
use xoff_network::scenario::Expectation;
use xoff_network::words::{count, digits};

use self::claims::{Check, Claim, RunOf};
use crate::Outcome;
use crate::interruption::interrupted;
use crate::run::execute::{self, RunOptions};
use crate::scenario_file::{Setting, Source};
use crate::terminal::{Ink, Streams};
use crate::threads::{MAX_THREADS, threads};
use crate::whole_file;
use xoff_network::words::did_you_mean;

const HELP: &str = "\
A claim holds if a run of a built-in scenario, with model NICs, measures what the paper says. Where it \
measures something else, the reason is named with the parameter that would give the paper's number; \
such a claim must not hold, and the measured value has to stay what it is. Of some claims is said what \
is missing for a run. A claim is broken if none of this is so any more.

Examples:
  # all claims, and a page
  xoff truth -o truth.html
  # some of them
  xoff truth livelock deadlock-cure
  # does it hold with another parameter?
  xoff truth fair --set host.dcqcn.g=0.5

Exit codes: 0 no claim is broken, 1 one is, 2 bad input.";

/// Holds claims of papers against runs
///
/// A row a claim: what the paper says, what is measured here, and why the two differ where they do.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for examples.")]
pub struct TruthArgs {
    /// Claims to look at [default: all]
    pub claims: Vec<String>,
    /// Change a setting in all runs
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// Write a page with the table
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON in place of the table
    #[arg(long)]
    pub json: bool,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub threads: Option<u16>,
}

/// How a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// What is measured is what the paper says.
    Holds,
    /// It differs, for the reason that is named.
    Differs,
    /// It does not hold, or it does although it is said to differ, or it differs by something else.
    Broken,
}

impl Stands {
    const ALL: [Self; 3] = [Self::Holds, Self::Differs, Self::Broken];

    const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Broken => "BROKEN",
        }
    }

    const fn ink(self) -> Ink {
        match self {
            Self::Holds => Ink::Good,
            Self::Differs => Ink::Warning,
            Self::Broken => Ink::Bad,
        }
    }
}

/// A claim that was held against its run.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name of the claim.
    pub id: String,
    /// Paper and section.
    pub source: String,
    /// The statement.
    pub claim: String,
    /// The paper's number.
    pub paper: String,
    /// How it stands.
    pub stands: Stands,
    /// The metric that was measured.
    pub metric: String,
    /// What was measured, as the metric has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The same in the unit of the claim, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Why it differs, or why it is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What else has to be known of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The command that makes the run.
    pub command: String,
}

/// Holds claims against runs.
///
/// # Errors
///
/// Returns an error for a claim that there is not, a setting that a scenario does not have, a run that fails, and output
/// that cannot be written.
pub fn truth(
    arguments: &TruthArgs,
    endpoints: &Endpoints,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let chosen = choose(claims::all()?, &arguments.claims)?;
    if let Some(path) = &arguments.output {
        whole_file::check(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let runs: BTreeSet<RunOf> = chosen.iter().map(Claim::run).collect();
    let mut measured = BTreeMap::new();
    let progress = match streams.progress {
        true => ProgressBar::new(runs.len() as u64).with_style(style()),
        false => ProgressBar::hidden(),
    };
    for run in runs {
        progress.set_message(run.command());
        let metrics = metrics(&run, arguments, endpoints).with_context(|| run.command())?;
        if interrupted() {
            progress.finish_and_clear();
            return Ok(Outcome::Interrupted);
        }
        measured.insert(run, metrics);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let rows = chosen.iter().map(|claim| row(claim, &measured));
    let rows = rows.collect::<anyhow::Result<Vec<Row>>>()?;
    if let Some(path) = &arguments.output {
        whole_file::write(path, page::page(&rows).into_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        serde_json::to_writer_pretty(&mut streams.out, &rows)?;
        writeln!(streams.out)?;
    } else {
        print(&rows, streams)?;
    }
    let broken = rows.iter().any(|row| row.stands == Stands::Broken);
    Ok(if broken {
        Outcome::Failed
    } else {
        Outcome::Held
    })
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {msg}")
        .expect("the template is right")
}

/// The claims with these names, in their order; all if there are none.
fn choose(claims: Vec<Claim>, names: &[String]) -> anyhow::Result<Vec<Claim>> {
    for name in names {
        let all = || claims.iter().map(|claim| &claim.id[..]);
        if !all().any(|id| id == name) {
            let hint = did_you_mean(name, all());
            let all: Vec<&str> = all().collect();
            bail!("claim '{name}': the claims are {}{hint}", all.join(", "));
        }
    }
    let wanted = |claim: &Claim| names.is_empty() || names.contains(&claim.id);
    Ok(claims.into_iter().filter(wanted).collect())
}

/// Makes a run and returns what it measures.
fn metrics(run: &RunOf, arguments: &TruthArgs, endpoints: &Endpoints) -> anyhow::Result<Metrics> {
    let mut settings = run.settings()?;
    settings.extend(arguments.set.iter().cloned());
    let scenario = Source::find(&run.scenario)?.read(&settings)?;
    let options = RunOptions {
        threads: Some(threads(arguments.threads)),
        ..RunOptions::new(endpoints.clone())
    };
    let report = execute::run(&scenario, &options)?;
    let metrics = report.summary.metrics.iter();
    metrics
        .map(|(name, value)| Ok((name.parse()?, *value)))
        .collect()
}

/// Holds a claim against its run.
fn row(claim: &Claim, measured: &BTreeMap<RunOf, Metrics>) -> anyhow::Result<Row> {
    let (run, check) = (claim.run(), claim.check());
    let metrics = &measured[&run];
    let holds = |expected: &Expectation| held(claim, expected, metrics);
    let (Check::Agrees(agrees) | Check::Differs(agrees, ..)) = check;
    let (agreed, value) = holds(agrees)?;
    let (stands, why) = match check {
        Check::Agrees(_) if agreed => (Stands::Holds, None),
        Check::Agrees(_) => (Stands::Broken, Some("it held until now".into())),
        Check::Differs(..) if agreed => {
            let why = "it holds, and was said to differ: take `because` and `ours` away";
            (Stands::Broken, Some(why.into()))
        }
        Check::Differs(_, ours, because) => match holds(ours)?.0 {
            true => (Stands::Differs, Some(because.into())),
            false => (
                Stands::Broken,
                Some("it differs by something else than until now".into()),
            ),
        },
    };
    let ours = value.map(|value| {
        let text = format!("{} {}", digits(value * claim.scale), claim.unit);
        text.trim_end().to_owned()
    });
    Ok(Row {
        id: claim.id.clone(),
        source: claim.source.clone(),
        claim: claim.claim.clone(),
        paper: claim.paper.clone(),
        stands,
        metric: agrees.metric.clone(),
        measured: value,
        ours,
        why,
        note: claim.note.clone(),
        command: run.command(),
    })
}

/// Whether a metric is as expected, and its value; that is `None` if nothing was measured.
fn held(
    claim: &Claim,
    expected: &Expectation,
    metrics: &Metrics,
) -> anyhow::Result<(bool, Option<f64>)> {
    let judged = judge(expected, metrics);
    let judged =
        judged.map_err(|name| anyhow::anyhow!("claim {}: no metric '{name}'", claim.id))?;
    let value = judged.first().and_then(|line| line.measured);
    Ok((judged.iter().all(|line| line.held), value))
}

fn print(rows: &[Row], streams: &mut Streams) -> anyhow::Result<()> {
    let longest = rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
    for row in rows {
        let stands = streams
            .paint
            .paint(row.stands.ink(), format_args!("{:9}", row.stands.name()));
        let ours = row
            .ours
            .as_ref()
            .map_or(String::new(), |ours| format!("; here {ours}"));
        writeln!(
            streams.out,
            "{stands} {:longest$}  {}{ours}",
            row.id, row.paper
        )?;
        let mut below = |text: &str, ink: Ink| {
            let width = streams.width.unwrap_or(120).max(40) - 10;
            for line in textwrap::wrap(text, width) {
                writeln!(streams.out, "          {}", streams.paint.paint(ink, line))?;
            }
            std::io::Result::Ok(())
        };
        below(&format!("{} ({})", row.claim, row.source), Ink::Plain)?;
        if let Some(why) = &row.why {
            below(why, row.stands.ink())?;
        }
        if let Some(note) = &row.note {
            below(note, Ink::Dim)?;
        }
        if row.stands == Stands::Broken {
            below(&row.command, Ink::Plain)?;
        }
    }
    writeln!(streams.out, "\n{}", total(rows))?;
    Ok(())
}

/// How many claims stand in which way.
fn total(rows: &[Row]) -> String {
    let counts: Vec<String> = (Stands::ALL.into_iter())
        .map(|stands| {
            let of = rows.iter().filter(|row| row.stands == stands).count();
            let what = match stands {
                Stands::Holds => "hold",
                Stands::Differs => "differ for a reason that is named",
                Stands::Broken => "are broken",
            };
            format!("{of} {what}")
        })
        .collect();
    let claims = count(rows.len() as u64, "claim", "claims");
    format!("{claims}: {}", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use xoff_network::metrics::names;

    use super::*;

    /// What claims are held against is measured by their runs.
    #[test]
    fn every_metric_exists() {
        for claim in claims::all().unwrap() {
            let (run, check) = (claim.run(), claim.check());
            let settings = run.settings().unwrap();
            let scenario = Source::find(&run.scenario)
                .unwrap()
                .read(&settings)
                .unwrap();
            let unmeasured = names(&scenario).into_iter().map(|name| (name, f64::NAN));
            let unmeasured: Metrics = unmeasured.collect();
            let (agrees, ours) = match check {
                Check::Agrees(agrees) => (agrees, agrees),
                Check::Differs(agrees, ours, _) => (agrees, ours),
            };
            for expected in [agrees, ours] {
                held(&claim, expected, &unmeasured).unwrap();
            }
        }
    }
}
