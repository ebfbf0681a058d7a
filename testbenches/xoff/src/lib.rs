//! The command `xoff`, as a library so that tests can run it without a process.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the subcommands |
//! | [`terminal`] | where output goes: colour, width, progress |
//! | [`codec`] | parsers and builders of frames: the RTL, the reference model, or both, compared |
//! | `rtl` | the RTL of this repository; only with the feature `rtl` |
//! | [`ranks`] | the ranks of MPI among which a run is divided |
//! | [`mod@program`] | [`main_with`]: arguments to exit code |
//! | [`mod@run`] | `xoff run` and `xoff list`: runs scenarios, measures them and judges their expectations |
//! | [`show`] | `xoff show` and `xoff schema`: scenarios as text, and the schema of scenarios |
//! | [`scenario_file`], [`injection`] | reading scenarios, and the captures that they inject |
//! | [`decode`] | `xoff decode`: captures to rows, JSON lines or a picture |
//! | [`check`] | `xoff check`: runs the protocol monitors over a capture |
//! | [`attach`] | `xoff attach`: a NIC whose peer is outside of the simulation |
//! | [`shadow`] | `xoff shadow`: puts a NIC in the place of an end of a capture |
//! | [`calc`] | `xoff calc`: the planner's arithmetic, by the functions of switch and reference models |
//! | `nearest` | the words most similar to a misspelt one |
//! | [`row`] | a frame as a JSON line, which `xoff decode` writes and `xoff encode` reads |
//! | [`wave`] | `xoff wave`: prints values of signals from wave files |
//! | [`encode`] | `xoff encode`: described packets to hex or captures |
//! | [`verify`] | `xoff fuzz`, `replay`, `cover` and `regress`: starts the program that has them |
//! | [`columns`] | aligned columns |
//! | [`interruption`] | the request to end, of Ctrl-C and SIGTERM |
//! | `standard_input` | standard input that ends when the process is asked to end |
//! | [`text_file`] | reads text files of limited size |
//! | [`threads`] | how many threads a command starts |
//! | [`whole_file`] | writes files that replace others only when they are whole |
//! | [`shell`] | words of commands that a shell is to read |

pub mod attach;
pub mod calc;
pub mod check;
pub mod cli;
pub mod codec;
pub mod columns;
pub mod decode;
pub mod encode;
pub mod injection;
pub mod interruption;
pub mod nic_args;
pub mod ns3_config;
mod ns3_files;
pub mod program;
pub mod ranks;
pub mod row;
#[cfg(feature = "rtl")]
pub mod rtl;
pub mod run;
pub mod scenario_file;
pub mod shadow;
pub mod shell;
pub mod show;
mod standard_input;
pub mod terminal;
pub mod text_file;
pub mod threads;
pub mod truth;
pub mod verify;
pub mod wave;
pub mod whole_file;

pub use program::{Program, main_with};

use clap::CommandFactory as _;

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

/// Runs the command.
///
/// # Errors
///
/// Returns an error if the input cannot be used (exit code 2) or the output cannot be written. A closed pipe is an
/// [`std::io::ErrorKind::BrokenPipe`] in the chain.
pub fn run(
    cli: &cli::Cli,
    program: &Program,
    streams: &mut terminal::Streams,
) -> anyhow::Result<Outcome> {
    run_among(cli, program, &ranks::Ranks::alone(), streams)
}

/// Runs the command in a process that is one of several ranks.
///
/// # Errors
///
/// As [`fn@run`]; [`ranks::Agreed`] if another rank says what is wrong.
pub fn run_among(
    cli: &cli::Cli,
    program: &Program,
    ranks: &ranks::Ranks,
    streams: &mut terminal::Streams,
) -> anyhow::Result<Outcome> {
    let endpoints = &program.endpoints;
    let verify = |name: &str, passed: &verify::Passed, streams: &mut terminal::Streams| {
        let words = [&[name.into()], &passed.arguments[..]].concat();
        program.verify.run(&words, endpoints, streams)
    };
    match &cli.command {
        cli::Command::Decode(arguments) => decode::run(arguments, program.rtl, streams),
        cli::Command::Encode(arguments) => encode::run(arguments, program.rtl, streams),
        cli::Command::Check(arguments) => check::run(arguments, streams),
        cli::Command::Attach(arguments) => attach::run(arguments, endpoints, streams),
        cli::Command::Shadow(arguments) => shadow::run(arguments, endpoints, streams),
        cli::Command::Calc(arguments) => calc::run(arguments, streams),
        cli::Command::Run(arguments) => run::run(arguments, endpoints, ranks, streams),
        cli::Command::Diff(arguments) => run::diff(arguments, streams),
        cli::Command::Compare(arguments) => run::compare(arguments, streams),
        cli::Command::Truth(arguments) => truth::truth(arguments, endpoints, streams),
        cli::Command::List(arguments) => run::list(arguments, endpoints, streams),
        cli::Command::Show(arguments) => show::show(arguments, streams),
        cli::Command::Schema => show::schema(streams),
        cli::Command::Fuzz(passed) => verify("fuzz", passed, streams),
        cli::Command::Replay(passed) => verify("replay", passed, streams),
        cli::Command::Cover(passed) => verify("cover", passed, streams),
        cli::Command::Regress(passed) => verify("regress", passed, streams),
        cli::Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut cli::Cli::command(), "xoff", &mut streams.out);
            Ok(Outcome::Held)
        }
        cli::Command::Wave(arguments) => wave::run(arguments, streams),
    }
}
