//! The command as a program: reads the arguments, runs the command and turns its outcome into an exit code.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use xoff_network::Endpoints;

use crate::Outcome;
use crate::cli::{Cli, Command};
use crate::terminal::Streams;

/// Exit code that shells use for a process ended by SIGINT: 128 + 2. SIGTERM has the same one, so that scripts see that
/// results are those of a part.
const INTERRUPTED: u8 = 130;

/// Runs the command with the arguments of the process, and these kinds of hosts for scenarios. A program with a NIC of its
/// own has the whole command by this.
///
/// # Panics
///
/// Panics if the program has set a handler of SIGINT before.
pub fn main_with(endpoints: &Endpoints) -> ExitCode {
    let cli = Cli::parse();
    if is_long(&cli.command) {
        // Also for SIGTERM and SIGHUP.
        ctrlc::set_handler(|| {
            // A second one ends the process at once.
            if crate::interruption::interrupt() {
                std::process::exit(INTERRUPTED.into());
            }
        })
        .expect("no other handler is set");
    }
    let mut streams = Streams::of_process();
    // Output written before an error is kept.
    let result = crate::run(&cli, endpoints, &mut streams).and_then(|outcome| {
        streams.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Held) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let flushed = streams.out.flush();
            eprintln!("xoff: {}", message(&error));
            drop(flushed);
            ExitCode::from(2)
        }
    }
}

/// Whether a command may take long, and says what it has found when it is asked to end.
const fn is_long(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Regress(_)
            | Command::Replay(_)
            | Command::Fuzz(_)
            | Command::Check(_)
            | Command::Decode(_)
    )
}

/// Formats the error and its causes. Causes whose text the message already ends with are left out.
fn message(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|mut said, cause| {
            if !said.ends_with(&cause) {
                said += ": ";
                said += &cause;
            }
            said
        })
        .unwrap_or_default()
}

/// A closed pipe, as in `xoff … | head`, is not a failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
