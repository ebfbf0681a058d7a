//! `xoff wave`: prints values of signals from a wave file, as a table, CSV or JSON.

mod arguments;
mod print;

use std::io::Write as _;

use anyhow::bail;
use xoff_waves::read::condition::Resolved;
use xoff_waves::read::file::Waves;
use xoff_waves::read::rows::{self, Window};

pub use arguments::{Base, WaveArgs, WaveFormat};
pub use print::short_names;

use crate::Outcome;
use crate::terminal::Streams;

/// Runs `xoff wave`.
///
/// # Errors
///
/// Returns an error if the file is not a wave file, if a signal does not exist or several have the name, if the window
/// is empty, or if the output cannot be written.
pub fn run(arguments: &WaveArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut waves = Waves::open(&arguments.file)?;
    let result = show(arguments, &mut waves, streams);
    // Whatever came of it: the reader may have left something out.
    for remark in &waves.remarks {
        writeln!(streams.err, "xoff: {}: {remark}", arguments.file.display())?;
    }
    result
}

fn show(arguments: &WaveArgs, waves: &mut Waves, streams: &mut Streams) -> anyhow::Result<Outcome> {
    if arguments.signals.is_empty() {
        if arguments.at.is_some() || arguments.when.is_some() {
            bail!("--at and --when choose rows: say which signals to print with --signals");
        }
        print::list(waves, arguments.format, streams)?;
        return Ok(Outcome::Held);
    }
    let shown = waves.select(&arguments.signals)?;
    let clock = match &arguments.at {
        Some(name) => Some(waves.find("--at", name)?),
        None => None,
    };
    let when = match &arguments.when {
        Some(condition) => Some(condition.resolve(waves, "--when")?),
        None => None,
    };
    let in_condition = when.iter().flat_map(Resolved::signals);
    for signal in shown.iter().chain(in_condition) {
        if signal.part.is_some_and(|part| part.guessed) {
            let name = &signal.name;
            writeln!(
                streams.err,
                "xoff: {name} is a bit: no file of types says whether an index counts bits or elements ([7:4] are bits)"
            )?;
        }
    }
    let window = Window::new(waves, arguments.from, arguments.to)?;
    let rows = rows::rows(waves, &shown, window, clock, when.as_ref())?;
    print::rows(waves, &shown, &rows, arguments, streams)?;
    if rows.is_empty() {
        let why = match (&arguments.when, &arguments.at) {
            (Some(when), _) => format!("no row fulfils '{when}'"),
            (None, Some(clock)) => format!("no rising edge of {clock}"),
            (None, None) => unreachable!("the beginning of the window is a row"),
        };
        writeln!(
            streams.err,
            "xoff: {why} from {} to {}",
            waves.time_text(window.from),
            waves.time_text(window.to)
        )?;
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Held)
}
