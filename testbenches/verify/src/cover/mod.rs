//! `xoff cover`: merges the functional coverage that `xoff fuzz --coverage` writes, and shows the holes.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@file`] | the file: every declared bin of a unit, by name, with its hits or the reason why it has none |
//! | [`page`] | the same as a page of HTML |

pub mod file;
pub mod page;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use file::{Coverage, GroupCounts};
use xoff::Outcome;
use xoff::columns::{Align, Table};
use xoff::terminal::{Ink, Streams};
use xoff::whole_file;

/// Shows the functional coverage of properties
///
/// Reads files that xoff fuzz --coverage wrote, adds up those of one unit, and prints for each group of bins how many
/// were hit, of those that can be, and the bins that were not.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every bin that can be hit was, 1 some were not, 2 bad input.\n\n\
                  Example:\n  xoff fuzz gbn --seed 1 --count 2000 --coverage gbn.json\n  \
                  xoff cover gbn.json --html gbn.html"
)]
pub struct CoverArgs {
    /// Files of coverage
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Write the sum to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page with every bin to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Most bins of a group that are listed by name on the terminal; the page has all.
const HOLES_MAX: usize = 12;

/// Runs `xoff cover`.
///
/// # Errors
///
/// Returns an error if a file cannot be read, is no coverage, or declares other bins than another one of its unit.
pub fn run(arguments: &CoverArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut all = Coverage::default();
    for path in &arguments.files {
        let coverage = Coverage::open(path)?;
        all.merge(coverage)
            .map_err(|what| anyhow::anyhow!("{}: {what}", path.display()))?;
    }
    if let Some(path) = &arguments.json {
        all.save(path)?;
    }
    if let Some(path) = &arguments.html {
        whole_file::write(path, page::html(&all))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&all, streams)
}

fn print(all: &Coverage, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut table = Table::new([
        ("unit", Align::Left),
        ("group", Align::Left),
        ("hit", Align::Right),
        ("of", Align::Right),
        ("unreachable", Align::Right),
        ("counts", Align::Left),
    ]);
    let mut whole = true;
    for unit in &all.units {
        for group in &unit.groups {
            let ink = match (group.wrong().next(), group.holes().next()) {
                (None, None) => Ink::Plain,
                _ => Ink::Bad,
            };
            whole &= ink == Ink::Plain;
            table.row(
                ink,
                [
                    unit.unit.clone(),
                    group.name.clone(),
                    group.hit().to_string(),
                    group.reachable().to_string(),
                    (group.bins.len() - group.reachable()).to_string(),
                    group.counts.clone(),
                ],
            );
        }
    }
    table.write(streams)?;
    for unit in &all.units {
        for group in &unit.groups {
            named(&unit.unit, group, streams)?;
        }
        let (hit, reachable) = unit.sum();
        let runs: Vec<String> = unit.runs.iter().map(ToString::to_string).collect();
        let share = match reachable {
            0 => String::new(),
            _ => format!(", {:.1} %", 100.0 * hit as f64 / reachable as f64),
        };
        writeln!(
            streams.out,
            "{}: {hit} of {reachable} bins{share}; {}",
            unit.unit,
            runs.join(", ")
        )?;
    }
    Ok(match whole {
        true => Outcome::Held,
        false => Outcome::Failed,
    })
}

/// Names the bins of a group that were not hit, and those that were hit although it is said that they cannot be.
fn named(unit: &str, group: &GroupCounts, streams: &mut Streams) -> anyhow::Result<()> {
    let out = &mut streams.out;
    let holes = group.holes().count();
    for bin in group.holes().take(HOLES_MAX) {
        writeln!(
            out,
            "  not hit: {unit} {}: {}",
            group.name,
            bin.at.join(" × ")
        )?;
    }
    if holes > HOLES_MAX {
        writeln!(
            out,
            "  not hit: {unit} {}: {} more",
            group.name,
            holes - HOLES_MAX
        )?;
    }
    for bin in group.wrong() {
        writeln!(
            out,
            "  declared unreachable and hit: {unit} {}: {} ({} times)",
            group.name,
            bin.at.join(" × "),
            bin.hits
        )?;
    }
    Ok(())
}
