//! The command `xoff list`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use xoff_network::Endpoints;
use xoff_network::scenario::{Checked, NicKind};

use super::execute::{self, RunOptions};

use crate::Outcome;
use crate::interruption::interrupted;
use crate::scenario_file::{BUILT_IN, Source};
use crate::terminal::{Ink, Streams};

/// Lists scenarios
///
/// A line for each: what it shows, and what a run costs on any machine, which is the simulated time and the NICs. An
/// RTL NIC at work takes some hundred times as long as a model.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Names of scenarios, or TOML files [default: the built-in ones]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Run each, without its variants and without results in files, and say how long it took here; exit code 1 if an
    /// expectation failed
    #[arg(long)]
    pub times: bool,
}

/// The NICs of a scenario, by kind.
fn size(scenario: &Checked) -> String {
    let mut kinds = [0; 4];
    for entry in &scenario.hosts {
        let kind = match scenario.settings_of(entry).nic {
            NicKind::Model => 1,
            NicKind::Tcp => 2,
            NicKind::Attached => 3,
            NicKind::Rtl | NicKind::Custom(_) => 0,
        };
        kinds[kind] += entry.names().len();
    }
    let names = ["RTL", "model", "TCP", "attached"];
    let kinds = (kinds.iter().zip(names)).filter(|(count, _)| **count > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, kind)| {
            let noun = match (kind, count) {
                ("TCP" | "attached", 1) => "host",
                ("TCP" | "attached", _) => "hosts",
                (_, 1) => "NIC",
                _ => "NICs",
            };
            format!("{count} {kind} {noun}")
        })
        .collect();
    kinds.join(" and ")
}

/// Lists the scenarios, and runs them if times are asked for.
///
/// # Errors
///
/// Returns an error for a scenario that cannot be read or run (before anything is listed, if it cannot be read), and if
/// the output cannot be written.
pub fn list(
    arguments: &ListArgs,
    endpoints: &Endpoints,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let names: Vec<&str> = match &arguments.scenarios[..] {
        [] => BUILT_IN.iter().map(|(name, _)| *name).collect(),
        given => given.iter().map(String::as_str).collect(),
    };
    let read = |name: &&str| Source::find(name)?.read(&[]);
    let scenarios = names.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let longest = scenarios.iter().map(|it| it.name.chars().count()).max();
    let longest = longest.unwrap_or(0);
    let mut all = Duration::ZERO;
    let mut held = true;
    for (scenario, given) in scenarios.iter().zip(&names) {
        let name = format!("{:longest$}", scenario.name);
        write!(
            streams.out,
            "{} {}; {} of {}",
            streams.paint.paint(Ink::Heading, name),
            scenario.title,
            scenario.duration,
            size(scenario)
        )?;
        let variants: Vec<&str> = scenario.variants.keys().map(String::as_str).collect();
        if !variants.is_empty() {
            write!(streams.out, "; variants: {}", variants.join(", "))?;
        }
        if arguments.times {
            streams.out.flush()?;
            let began = Instant::now();
            let report = execute::run(scenario, &RunOptions::new(endpoints.clone()))?;
            if interrupted() {
                writeln!(streams.out)?;
                return Ok(Outcome::Interrupted);
            }
            let took = began.elapsed();
            all += took;
            write!(streams.out, "; ran in {:.1} s", took.as_secs_f64())?;
            if !report.summary.held() {
                held = false;
                write!(streams.out, ", and an expectation failed: xoff run {given}")?;
            }
        }
        writeln!(streams.out)?;
    }
    if arguments.times {
        writeln!(
            streams.out,
            "{:longest$} all ran in {:.1} s",
            "",
            all.as_secs_f64()
        )?;
    }
    Ok(if held { Outcome::Held } else { Outcome::Failed })
}
