//! `xoff calc`: the planner's arithmetic of buffers, rates and translations, by the functions that the simulated switch
//! and the reference models use.
//!
//! | module | contents |
//! |---|---|
//! | [`headroom`] | what arrives after XOFF: a budget, term by term |
//! | [`pfc`] | static thresholds, and where queues pause under α |
//! | [`ecn`] | bounds of ECN thresholds, and what RED marks |
//! | [`dcqcn`] | rate and α of a reaction point after a list of CNPs |
//! | [`mtt`] | what a cache of translations covers, and what its misses cost |
//! | [`quantities`] | arguments in operators' units, with their ranges |
//! | [`shared`] | the arguments that describe a switch's buffer |

pub mod dcqcn;
pub mod ecn;
pub mod headroom;
pub mod mtt;
pub mod pfc;
pub mod quantities;
pub mod shared;

use std::io::Write as _;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::Outcome;
use crate::terminal::Streams;

const HELP: &str = "\
Examples:
  xoff calc headroom --rate 40Gb/s --cable 300m --mtu 1024 --classes 2 \\
      --ports 32
  xoff calc pfc --buffer 12MB --ports 32 --headroom 22.4KB --alpha 1/16,1/64
  xoff calc ecn --buffer 12MB --ports 32 --headroom 22.4KB --kmin 5KB \\
      --kmax 200KB --pmax 1%
  xoff calc dcqcn --cnps 100us,150us,200us --until 1ms
  xoff calc mtt --working-set 4MiB,1GiB,8GiB

Each has a --help with formulas, examples and the sources of its numbers. \
Exit codes: 0 all is well, 2 bad input.";

/// Calculates buffers, thresholds, rates and translations
///
/// Uses the functions that the simulated switch and the reference models run.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CalcArgs {
    /// What to calculate.
    #[command(subcommand)]
    pub calculation: Calculation,
}

/// The calculations.
#[derive(Debug, Subcommand)]
pub enum Calculation {
    /// Buffer for what arrives after XOFF: a budget of a link, term by term
    Headroom(headroom::HeadroomArgs),
    /// PFC thresholds: the largest static one, and where queues pause under alpha
    Pfc(pfc::PfcArgs),
    /// ECN thresholds that act before PFC, and what kmin, kmax and pmax mark
    Ecn(ecn::EcnArgs),
    /// Rate and alpha of a DCQCN sender after a list of CNPs
    Dcqcn(dcqcn::DcqcnArgs),
    /// Translations that a NIC keeps: coverage, misses, and what they leave of goodput
    Mtt(mtt::MttArgs),
}

/// Runs `xoff calc`.
///
/// # Errors
///
/// Returns an error if arguments do not fit together, or if the output cannot be written.
pub fn run(arguments: &CalcArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    match &arguments.calculation {
        Calculation::Headroom(arguments) => headroom::run(arguments, streams),
        Calculation::Pfc(arguments) => pfc::run(arguments, streams),
        Calculation::Ecn(arguments) => ecn::run(arguments, streams),
        Calculation::Dcqcn(arguments) => dcqcn::run(arguments, streams),
        Calculation::Mtt(arguments) => mtt::run(arguments, streams),
    }?;
    Ok(Outcome::Held)
}

/// Prints a result for programs.
fn json(result: &impl Serialize, streams: &mut Streams) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut streams.out, result)?;
    writeln!(streams.out)?;
    Ok(())
}
