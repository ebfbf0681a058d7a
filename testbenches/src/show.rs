//! `xoff show` and `xoff schema`: scenarios as text, and the schema of scenarios.

use std::io::Write as _;

use anyhow::Context;

use crate::Outcome;
use crate::cli::ShowArgs;
use crate::scenario_file::Source;
use crate::terminal::Streams;

/// Prints a scenario: its text, or, when settings are given, all of its keys with the settings applied.
///
/// # Errors
///
/// Returns an error if there is no such scenario, if it or a setting is invalid, or if the output cannot be written.
pub fn show(arguments: &ShowArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let source = Source::find(&arguments.scenario)?;
    let scenario = source.read(&arguments.set)?;
    if arguments.set.is_empty() {
        streams.out.write_all(source.text.as_bytes())?;
        return Ok(Outcome::Held);
    }
    let settings = toml::to_string_pretty(&scenario)
        .with_context(|| format!("{}: cannot be written as TOML", source.origin))?;
    write!(streams.out, "# {} with", source.origin)?;
    for setting in &arguments.set {
        write!(
            streams.out,
            " {}={}",
            setting.key,
            setting.value.replace('\n', " ")
        )?;
    }
    writeln!(streams.out, "\n{}", settings.trim_end())?;
    Ok(Outcome::Held)
}

/// Prints the JSON schema of scenarios.
///
/// # Errors
///
/// Returns an error if the output cannot be written.
pub fn schema(streams: &mut Streams) -> anyhow::Result<Outcome> {
    serde_json::to_writer_pretty(&mut streams.out, &xoff_cosim::scenario::json_schema())?;
    writeln!(streams.out)?;
    Ok(Outcome::Held)
}
