//! The command `xoff`, as a library so that tests can run it without a process.
//!
//! | module | what it has |
//! |---|---|
//! | [`cli`] | arguments and their help |
//! | [`terminal`] | where output goes: colour, width, progress |
//! | [`codec`] | what parses and builds frames: the RTL, the reference model, or both held against each other |
//! | [`property`] | random histories that turn the units against their references |
//! | [`mod@run`] | `xoff run` and `xoff list`: scenarios, measured and held against what they expect |
//! | [`show`] | `xoff show` and `xoff schema`: scenarios as text, and what a scenario may have in it |
//! | [`scenario_file`], [`injection`] | reading scenarios, and the captures that they inject |
//! | [`decode`] | `xoff decode`: captures to rows, JSON lines or a picture |
//! | [`check`] | `xoff check`: the protocol monitors over a capture |
//! | [`fuzz`] | `xoff fuzz` and `xoff replay`: the properties until a time or a count, and a kept failure again |
//! | [`encode`] | `xoff encode`: described packets to hex or captures |
//! | [`text_file`] | reading files of text, within limits |

pub mod check;
pub mod cli;
pub mod codec;
pub mod decode;
pub mod encode;
pub mod fuzz;
pub mod injection;
pub mod property;
pub mod run;
pub mod scenario_file;
pub mod show;
pub mod terminal;
pub mod text_file;

/// How a command ended when nothing was wrong with its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything held: exit code 0.
    Held,
    /// Something that was to hold did not: exit code 1.
    Failed,
    /// Stopped before its end by Ctrl-C: exit code 130.
    Interrupted,
}

/// Runs the command.
///
/// # Errors
///
/// Input that cannot be used (exit code 2), and output that cannot be written. A closed pipe is an
/// [`std::io::ErrorKind::BrokenPipe`] in the chain.
pub fn run(cli: &cli::Cli, streams: &mut terminal::Streams) -> anyhow::Result<Outcome> {
    match &cli.command {
        cli::Command::Decode(arguments) => decode::run(arguments, streams),
        cli::Command::Encode(arguments) => encode::run(arguments, streams),
        cli::Command::Check(arguments) => check::run(arguments, streams),
        cli::Command::Run(arguments) => run::run(arguments, streams),
        cli::Command::Diff(arguments) => run::diff(arguments, streams),
        cli::Command::List => run::list(streams),
        cli::Command::Show(arguments) => show::show(arguments, streams),
        cli::Command::Schema => show::schema(streams),
        cli::Command::Fuzz(arguments) => fuzz::run(arguments, streams),
        cli::Command::Replay(arguments) => fuzz::replay(arguments, streams),
    }
}
