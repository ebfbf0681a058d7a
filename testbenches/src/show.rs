//! `xoff show` and `xoff schema`: scenarios as text, and what a scenario may have in it.

use std::io::Write as _;

use anyhow::Context;

use crate::Outcome;
use crate::cli::ShowArgs;
use crate::scenario_file::Source;
use crate::terminal::Streams;

/// Prints a scenario: its text, or with settings in place of what it says all of its keys.
///
/// # Errors
///
/// There is no such scenario, it or a setting is wrong, or the output cannot be written.
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
/// The output cannot be written.
pub fn schema(streams: &mut Streams) -> anyhow::Result<Outcome> {
    serde_json::to_writer_pretty(&mut streams.out, &xoff_cosim::scenario::json_schema())?;
    writeln!(streams.out)?;
    Ok(Outcome::Held)
}
