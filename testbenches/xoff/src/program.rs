//! The command as a program: reads the arguments, runs the command and turns its outcome into an exit code.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use xoff_network::Endpoints;

use crate::Outcome;
use crate::cli::{Cli, Command};
use crate::codec::Codec;
use crate::ranks::{Agreed, Ranks};
use crate::terminal::Streams;
use crate::verify::{Started, Verify};

/// Exit code that shells use for a process ended by SIGINT: 128 + 2. SIGTERM has the same one, so that scripts see that
/// results are those of a part.
const INTERRUPTED: u8 = 130;
/// Exit code of an error.
const BAD_INPUT: u8 = 2;

/// What a program brings to the command.
pub struct Program<'a> {
    /// The kinds of hosts that scenarios may have.
    pub endpoints: Endpoints,
    /// The RTL of parser and builder; `None` leaves the reference model.
    pub rtl: Option<Codec>,
    /// What runs `xoff fuzz`, `replay`, `cover` and `regress`.
    pub verify: &'a dyn Verify,
}

impl Program<'_> {
    /// A program without RTL, with these kinds of hosts, which starts `xoff-verify` for what is not in it.
    pub fn without_rtl(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            rtl: None,
            verify: &Started,
        }
    }

    /// A program with the RTL of this repository and these kinds of hosts, which starts `xoff-verify` for what is not
    /// in it.
    #[cfg(feature = "rtl")]
    pub fn new(endpoints: Endpoints) -> Self {
        Self {
            rtl: Some(crate::rtl::CODEC),
            ..Self::without_rtl(endpoints)
        }
    }
}

/// Runs the command with the arguments of the process.
///
/// # Panics
///
/// Panics if the program has set a handler of SIGINT before.
pub fn main_with(program: &Program) -> ExitCode {
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
    let ranks = match &cli.command {
        Command::Run(_) => Ranks::of_process(),
        _ => Ok(Ranks::alone()),
    };
    let (ranks, result) = match ranks {
        Ok(ranks) => {
            let result = crate::run_among(&cli, program, &ranks, &mut streams);
            (ranks, result)
        }
        Err(error) => (Ranks::alone(), Err(error)),
    };
    // Output written before an error is kept.
    let result = result.and_then(|outcome| {
        streams.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Held) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) if is_closed_pipe(&error) => {
            ranks.abort(0);
            ExitCode::SUCCESS
        }
        Err(error) => {
            let flushed = streams.out.flush();
            match error.downcast_ref::<Agreed>() {
                Some(Agreed { said: Some(said) }) => say(said),
                // Another rank says it.
                Some(Agreed { said: None }) => {}
                None => {
                    say(&format!("{}{}", ranks.prefix(), message(&error)));
                    // The others would wait for this one.
                    ranks.abort(BAD_INPUT);
                }
            }
            drop(flushed);
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Says what ended the command. Where standard error is closed, nobody reads it.
fn say(words: &str) {
    drop(writeln!(io::stderr(), "xoff: {words}"));
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
            | Command::Attach(_)
    )
}

/// Formats the error and its causes. Causes whose text the message already ends with are left out.
pub(crate) fn message(error: &anyhow::Error) -> String {
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
