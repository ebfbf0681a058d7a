//! The subcommands that are in this library. Their arguments are declared beside the code that runs them.

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use xoff::Outcome;
use xoff::terminal::Streams;
use xoff::verify::Verify;
use xoff_network::Endpoints;

use crate::cover::{self, CoverArgs};
use crate::fuzz::{self, FuzzArgs};
use crate::regress::{self, RegressArgs};
use crate::replay::{self, ReplayArgs};

/// Words of the command line behind `xoff`.
#[derive(Debug, Parser)]
#[command(name = "xoff", disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "the help of each is at its arguments")]
pub enum Command {
    Fuzz(FuzzArgs),
    Replay(ReplayArgs),
    Cover(CoverArgs),
    Regress(RegressArgs),
}

/// Runs the subcommands in this process.
#[derive(Debug, Clone, Copy)]
pub struct Here;

impl Verify for Here {
    fn run(
        &self,
        words: &[OsString],
        endpoints: &Endpoints,
        streams: &mut Streams,
    ) -> anyhow::Result<Outcome> {
        let words = [&["xoff".into()], words].concat();
        // Help and wrong arguments as of all other subcommands.
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| error.exit());
        match &cli.command {
            Command::Fuzz(arguments) => fuzz::run(arguments, streams),
            Command::Replay(arguments) => replay::run(arguments, streams),
            Command::Cover(arguments) => cover::run(arguments, streams),
            Command::Regress(arguments) => regress::run(arguments, endpoints, streams),
        }
    }
}
