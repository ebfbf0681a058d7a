//! The command `xoff`: reads arguments, runs, turns the outcome into an exit code.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use xoff::Outcome;
use xoff::cli::{Cli, Command};
use xoff::terminal::Streams;

/// What a shell says of a process that SIGINT ended: 128 + 2.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::Run(_) = cli.command {
        ctrlc::set_handler(|| {
            // Whoever asks twice does not want to wait.
            if xoff::run::interrupt() {
                std::process::exit(INTERRUPTED.into());
            }
        })
        .expect("no other handler is set");
    }
    let mut streams = Streams::of_process();
    // What was written before an error stays written.
    let result = xoff::run(&cli, &mut streams).and_then(|outcome| {
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

/// The error and its causes, those left out that it ends with anyway.
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

/// `xoff … | head` is no failure: the reader has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
