//! `xoff fuzz`: a unit's properties until a time or a count. `xoff replay`: one kept case again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Outcome;
use crate::cli::{FuzzArgs, ReplayArgs};
use crate::property::builder::Builder;
use crate::property::dcqcn::Dcqcn;
use crate::property::gbn::Gbn;
use crate::property::nic::Nic;
use crate::property::parser::Parser;
use crate::property::pfc::Pfc;
use crate::property::run::{Failing, Limit, Plan, run as run_property};
use crate::property::{Property, case_file};
use crate::terminal::{Ink, Streams};

/// The units that have properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unit {
    /// packet_parser: any frames, any gaps
    Parser,
    /// packet_builder: any descriptors, any stalls
    Builder,
    /// pfc_rx, pfc_tx and pause_watchdog: any frames, depths and stalls, time that jumps
    Pfc,
    /// dcqcn_rp, dcqcn_np and rate_limiter: any events, rates and parameters, back to back and idle
    Dcqcn,
    /// gbn_requester and gbn_responder: any events, alone and against each other over a bad path
    Gbn,
    /// nic: two of them over a bad path, any messages, stalls and pauses
    Nic,
}

/// Calls a generic function with the property of a unit.
macro_rules! with_property {
    ($unit:expr, $function:ident ( $($argument:expr),* )) => {
        match $unit {
            Unit::Parser => $function::<Parser>($($argument),*),
            Unit::Builder => $function::<Builder>($($argument),*),
            Unit::Pfc => $function::<Pfc>($($argument),*),
            Unit::Dcqcn => $function::<Dcqcn>($($argument),*),
            Unit::Gbn => $function::<Gbn>($($argument),*),
            Unit::Nic => $function::<Nic>($($argument),*),
        }
    };
}

/// Runs `xoff fuzz`.
///
/// # Errors
///
/// The unit cannot be made, or a case file cannot be read or written.
pub fn run(arguments: &FuzzArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    with_property!(arguments.unit, fuzz(arguments, streams))
}

/// Runs `xoff replay`.
///
/// # Errors
///
/// The file is no case.
pub fn replay(arguments: &ReplayArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let name = case_file::unit_of(&arguments.case)?;
    let unit = Unit::from_str(&name, false).map_err(|_| {
        let known: Vec<_> = (Unit::value_variants().iter())
            .filter_map(|unit| Some(unit.to_possible_value()?.get_name().to_owned()))
            .collect();
        let file = arguments.case.display();
        anyhow::anyhow!(
            "{file}: case of '{name}'; the units are {}",
            known.join(", ")
        )
    })?;
    with_property!(unit, replay_case(&arguments.case, streams))
}

/// Where failing cases are kept: with the sources if they are there, otherwise in the working folder.
fn case_folder(arguments: &FuzzArgs) -> PathBuf {
    let in_sources = Path::new("testbenches/cases");
    match &arguments.cases {
        Some(folder) => folder.clone(),
        None if in_sources.parent().is_some_and(Path::is_dir) => in_sources.to_owned(),
        None => PathBuf::from("cases"),
    }
}

fn fuzz<P: Property>(arguments: &FuzzArgs, streams: &mut Streams) -> anyhow::Result<Outcome>
where
    P::Case: Send,
{
    let folder = case_folder(arguments);
    for path in case_file::kept::<P>(&folder)? {
        if replay_case::<P>(&path, streams)? == Outcome::Failed {
            return Ok(Outcome::Failed);
        }
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
        threads: (arguments.threads.map(usize::from))
            .or_else(|| std::thread::available_parallelism().map(usize::from).ok())
            .unwrap_or(1),
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
    match &report.failure {
        None => {
            writeln!(
                streams.out,
                "{}",
                streams.paint.paint(Ink::Good, "no difference")
            )?;
            Ok(Outcome::Held)
        }
        Some(failing) => {
            let path = case_file::keep::<P>(&folder, &failing.case, &failing.disagreement)?;
            tell::<P>(failing, &path, streams)?;
            Ok(Outcome::Failed)
        }
    }
}

fn tell<P: Property>(
    failing: &Failing<P::Case>,
    path: &Path,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let headline = format!(
        "case {} differs; shrunk in {} steps to:",
        failing.number, failing.shrink_steps
    );
    writeln!(streams.out, "{}", streams.paint.paint(Ink::Bad, headline))?;
    for line in P::write(&failing.case) {
        writeln!(streams.out, "  {line}")?;
    }
    writeln!(streams.out, "{}", failing.disagreement)?;
    writeln!(streams.out, "kept; again: xoff replay {}", path.display())?;
    Ok(())
}

fn replay_case<P: Property>(path: &Path, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let case = case_file::read::<P>(path)?;
    let held = P::new(1).and_then(|mut property| property.check(&case));
    let file = path.display();
    Ok(match held {
        Ok(events) => {
            let good = streams.paint.paint(Ink::Good, "no difference");
            writeln!(streams.out, "{file}: {events} {}, {good}", P::EVENTS)?;
            Outcome::Held
        }
        Err(disagreement) => {
            let bad = streams.paint.paint(Ink::Bad, "differs");
            writeln!(streams.out, "{file}: {bad}\n{disagreement}")?;
            Outcome::Failed
        }
    })
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
