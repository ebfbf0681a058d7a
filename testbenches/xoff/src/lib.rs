//! The command `xoff`, as a library so that tests can run it without a process.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the subcommands |
//! | [`terminal`] | where output goes: colour, width, progress |
//! | [`codec`] | parsers and builders of frames: the RTL, the reference model, or both, compared |
//! | `program` | [`main_with`]: arguments to exit code |
//! | [`property`] | property tests: random histories run through the units and their references |
//! | [`mod@run`] | `xoff run` and `xoff list`: runs scenarios, measures them and judges their expectations |
//! | [`show`] | `xoff show` and `xoff schema`: scenarios as text, and the schema of scenarios |
//! | [`scenario_file`], [`injection`] | reading scenarios, and the captures that they inject |
//! | [`decode`] | `xoff decode`: captures to rows, JSON lines or a picture |
//! | [`check`] | `xoff check`: runs the protocol monitors over a capture |
//! | [`cover`] | `xoff cover`: shows the functional coverage that properties reached |
//! | [`calc`] | `xoff calc`: the planner's arithmetic, by the functions of switch and reference models |
//! | [`fuzz`] | `xoff fuzz`: runs the properties for a time or a count |
//! | [`replay`] | `xoff replay`: runs a kept failure again, with waves around it |
//! | [`row`] | a frame as a JSON line, which `xoff decode` writes and `xoff encode` reads |
//! | [`regress`] | `xoff regress`: runs all units and scenarios over a range of seeds and reports |
//! | [`wave`] | `xoff wave`: prints values of signals from wave files |
//! | [`encode`] | `xoff encode`: described packets to hex or captures |
//! | `columns` | aligned columns |
//! | [`interruption`] | the request to end, of Ctrl-C and SIGTERM |
//! | `standard_input` | standard input that ends when the process is asked to end |
//! | [`text_file`] | reads text files of limited size |
//! | [`threads`] | how many threads a command starts |
//! | [`whole_file`] | writes files that replace others only when they are whole |
//! | `words` | words of commands that a shell is to read |

pub mod calc;
pub mod check;
pub mod cli;
pub mod codec;
mod columns;
pub mod cover;
pub mod decode;
pub mod encode;
pub mod fuzz;
pub mod injection;
pub mod interruption;
pub mod ns3_files;
mod program;
pub mod property;
pub mod regress;
pub mod replay;
pub mod row;
pub mod run;
pub mod scenario_file;
pub mod show;
mod standard_input;
pub mod terminal;
pub mod text_file;
pub mod threads;
pub mod wave;
pub mod whole_file;
mod words;

pub use program::main_with;
use xoff_network::Endpoints;

/// Outcome of a command whose input was valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything held: exit code 0.
    Held,
    /// A check or an expectation failed: exit code 1.
    Failed,
    /// Interrupted by Ctrl-C or SIGTERM: exit code 130.
    Interrupted,
}

/// Runs the command. `endpoints` are the kinds of hosts that scenarios may have.
///
/// # Errors
///
/// Returns an error if the input cannot be used (exit code 2) or the output cannot be written. A closed pipe is an
/// [`std::io::ErrorKind::BrokenPipe`] in the chain.
pub fn run(
    cli: &cli::Cli,
    endpoints: &Endpoints,
    streams: &mut terminal::Streams,
) -> anyhow::Result<Outcome> {
    match &cli.command {
        cli::Command::Decode(arguments) => decode::run(arguments, streams),
        cli::Command::Encode(arguments) => encode::run(arguments, streams),
        cli::Command::Check(arguments) => check::run(arguments, streams),
        cli::Command::Calc(arguments) => calc::run(arguments, streams),
        cli::Command::Run(arguments) => run::run(arguments, endpoints, streams),
        cli::Command::Diff(arguments) => run::diff(arguments, streams),
        cli::Command::List(arguments) => run::list(arguments, endpoints, streams),
        cli::Command::Show(arguments) => show::show(arguments, streams),
        cli::Command::Schema => show::schema(streams),
        cli::Command::Fuzz(arguments) => fuzz::run(arguments, streams),
        cli::Command::Replay(arguments) => replay::run(arguments, streams),
        cli::Command::Cover(arguments) => cover::run(arguments, streams),
        cli::Command::Regress(arguments) => regress::run(arguments, endpoints, streams),
        cli::Command::Wave(arguments) => wave::run(arguments, streams),
    }
}
