//! `xoff show` and `xoff schema`: scenarios as text, and the schema of scenarios.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::scenario_file::{Setting, Source};
use crate::terminal::Streams;
use crate::{Outcome, ns3_config};

const SHOW_HELP: &str = "\
Examples:
  # the text of a scenario, with its comments
  xoff show livelock
  # a scenario to change
  xoff show pair > mine.toml
  # what ns-3's config.txt says
  xoff show --ns3 mix/config.txt > mine.toml
  # all keys, with defaults for those not set
  xoff show incast --set hosts.s.count=8
  # for editors: '#:schema scenario.schema.json' as
  xoff schema > scenario.schema.json
  the first line of mine.toml

docs/scenarios.md has every key. \
Exit codes: 0 all is well, 2 bad input.";

/// Prints a scenario
///
/// Prints the text of a built-in scenario or of a file as it is. With --set it prints all keys with the values that a
/// run would have.
#[derive(Debug, Args)]
#[command(after_long_help = SHOW_HELP, after_help = "See --help for examples.")]
pub struct ShowArgs {
    /// Name of a scenario (xoff list), or a TOML file
    #[arg(required_unless_present = "ns3")]
    pub scenario: Option<String>,
    /// Set a key to another value, as in xoff run
    #[arg(long, value_name = "KEY=VALUE", requires = "scenario")]
    pub set: Vec<Setting>,
    /// Make a scenario of a config.txt of ns-3's RDMA simulations, with what it does not have as remarks
    #[arg(long, value_name = "CONFIG", conflicts_with = "scenario")]
    pub ns3: Option<PathBuf>,
}

/// Prints a scenario: its text, or, when settings are given, all of its keys with the settings applied.
///
/// # Errors
///
/// Returns an error if there is no such scenario, if it or a setting is invalid, or if the output cannot be written.
pub fn show(arguments: &ShowArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let Some(scenario) = &arguments.scenario else {
        let config = arguments.ns3.as_deref().unwrap_or(Path::new(""));
        let text = ns3_config::scenario(config).map_err(|issues| anyhow::anyhow!("{issues}"))?;
        streams.out.write_all(text.as_bytes())?;
        return Ok(Outcome::Held);
    };
    let source = Source::find(scenario)?;
    let scenario = source.read(&arguments.set)?;
    if arguments.set.is_empty() {
        streams.out.write_all(source.text.as_bytes())?;
        return Ok(Outcome::Held);
    }
    let settings = toml::to_string_pretty(scenario.written())
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
    serde_json::to_writer_pretty(&mut streams.out, &xoff_network::scenario::json_schema())?;
    writeln!(streams.out)?;
    Ok(Outcome::Held)
}
