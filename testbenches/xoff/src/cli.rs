//! The command line: the subcommands. Their arguments are declared beside the code that runs them.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::attach::AttachArgs;
use crate::calc::CalcArgs;
use crate::check::CheckArgs;
use crate::decode::DecodeArgs;
use crate::encode::EncodeArgs;
use crate::run::{CompareArgs, DiffArgs, ListArgs, RunArgs};
use crate::shadow::ShadowArgs;
use crate::show::ShowArgs;
use crate::truth::TruthArgs;
use crate::verify::Passed;
use crate::wave::WaveArgs;

/// Co-simulates a RoCEv2 NIC pipeline with the network around it.
#[derive(Debug, Parser)]
#[command(
    name = "xoff",
    version,
    after_help = "Exit codes: 0 success, 1 a difference or a failed expectation, 2 bad input, 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Decode a capture with the RTL parser, one row per frame
    Decode(DecodeArgs),
    /// Build described packets with the RTL builder, as hex or a capture
    Encode(EncodeArgs),
    /// Check a capture against the standards, one row per rule
    Check(CheckArgs),
    /// Put a NIC in the place of an end of a capture, and compare its answers
    Shadow(ShadowArgs),
    /// Attach a NIC to a peer outside of the simulation, such as Linux in a virtual machine
    Attach(AttachArgs),
    /// Calculate buffers, thresholds and rates
    Calc(CalcArgs),
    /// Run a scenario, measure it and check its expectations
    Run(RunArgs),
    /// Compare the results of two runs
    Diff(DiffArgs),
    /// Put any number of runs side by side: what happened, and what differs
    Compare(CompareArgs),
    /// Hold claims of papers against runs, and say where they differ
    Truth(TruthArgs),
    /// List the built-in scenarios, with their run times if asked
    List(ListArgs),
    /// Print a scenario, to read or to start your own from
    Show(ShowArgs),
    /// Print the JSON schema of scenarios, for editors
    Schema,
    /// Test a unit against its reference model with random histories
    #[command(disable_help_flag = true)]
    Fuzz(Passed),
    /// Run a kept failing case again, with waves around the failure
    #[command(disable_help_flag = true)]
    Replay(Passed),
    /// Show which situations fuzzing brought about
    #[command(disable_help_flag = true)]
    Cover(Passed),
    /// Run all units and scenarios over a range of seeds
    #[command(disable_help_flag = true)]
    Regress(Passed),
    /// Print completions for a shell: xoff completions bash > /etc/bash_completion.d/xoff
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print values of signals from a wave file
    Wave(WaveArgs),
}
