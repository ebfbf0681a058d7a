//! Arguments of `xoff run` and `xoff diff`.

use std::path::PathBuf;

use clap::Args;
use xoff_sim::time::Duration;

use super::checkpoint::{Every, Resume};
use super::outside::AttachedHost;
use crate::attach::{Monitor, pace, step};
use crate::scenario_file::Setting;
use crate::threads::MAX_THREADS;
use xoff_waves::read::condition::Condition;

const RUN_HELP: &str = "\
Results go to out/NAME/: report.html, goodput.svg, summary.json, series.csv (values by time), spans.csv (pauses of \
hosts, if there were any); with --pcap capture.pcapng, with --waves the waves. A sweep adds out/NAME-sweep/: sweep.html, \
sweep.svg, sweep.csv. Files of an earlier run are removed first.

Examples:
  # a built-in scenario with RTL NICs
  xoff run livelock
  # with a key changed
  xoff run pair --set flows.bulk.mtu=4096
  # one run per value
  xoff run incast --sweep hosts.s.count=2,4,8
  # how many of 20 seeds lock, with and without the third flow
  xoff run ring-deadlock --sweep variant=base,two --sweep seed=1..20
  # every port captured, waves of host a
  xoff run pair --pcap all --waves a:10us-20us
  # later waves: from a checkpoint of the run before
  xoff run pair --waves a:900us-901us
  # waves around the first completion after 900 us
  xoff run pair --wave-when 'a.cqe_valid_o && a.cqe_ready_i' --wave-from 900us
  # every frame at every port judged by the rules of xoff check
  xoff run incast --check
  # a scenario to change
  xoff show pair > mine.toml
  # a scenario with Linux as one of its hosts: docs/interop.md
  xoff run tools/interop/incast.toml --attach linux=unix:link.sock
  # your own scenario, for programs
  xoff run mine.toml --json | jq .metrics

docs/scenarios.md has every key of a scenario, the language of fault rules, and how to inject captures.

Exit codes: 0 every expectation held, 1 one failed, or --check found a violation, 2 bad input, 130 interrupted.";

/// Runs a scenario
///
/// Builds the network that a scenario describes, simulates it, measures it, and compares the metrics with what the
/// scenario expects. The same seed gives exactly the same result with any number of threads, with waves and captures or
/// without.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP, after_help = "See --help for outputs and examples.")]
pub struct RunArgs {
    /// Name of a scenario (xoff list), or a TOML file
    pub scenario: String,
    /// Set a key to another value: duration="2 ms", flows.NAME.message="1 MB", host.nic=model
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// Run once for each value, 1..20 being the numbers 1 to 20; several sweeps run every combination
    #[arg(long, value_name = "KEY=A,B,…|A..B")]
    pub sweep: Vec<SweepArg>,
    /// Seed of everything random [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub threads: Option<u16>,
    /// Evaluate NICs also while they are idle: slower, the same result
    #[arg(long)]
    pub no_skip: bool,
    /// Write waves of a host's NIC, for a window of time or the whole run: a:1ms-1.1ms, a. Beside them fabric.fst has
    /// the network's: queues, pauses, rates; fabric:1ms-1.1ms writes these alone
    #[arg(long, value_name = "HOST[:FROM-UNTIL]")]
    pub waves: Vec<WavesArg>,
    /// The condition that triggers waves. The help is apart, because brackets would be a link here.
    #[arg(
        long,
        value_name = "EXPR",
        conflicts_with_all = ["waves", "pcap"],
        help = "Write waves around the first clock edge at which a condition on signals of a host's NIC holds, in the \
                language of xoff wave --when: a.pins.nic.u_pause.xoff[3], 'a.pins.nic.depth > 0x100 && !a.idle_o'"
    )]
    pub wave_when: Option<Condition>,
    /// Cycles before the edge of --wave-when in the waves
    #[arg(long, value_name = "N", default_value_t = 200, requires = "wave_when")]
    pub wave_before: u64,
    /// Cycles behind the edge of --wave-when in the waves
    #[arg(long, value_name = "N", default_value_t = 200, requires = "wave_when")]
    pub wave_after: u64,
    /// Look for the edge of --wave-when from this time on [default: the start]
    #[arg(long, value_name = "TIME", requires = "wave_when")]
    pub wave_from: Option<Duration>,
    /// Keep checkpoints, from which a later run with --waves or --resume begins: auto (where they cost less than a
    /// hundredth of the run, and not in sweeps), off, or one for each interval of simulated time, such as 1ms
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub checkpoints: Every,
    /// Go on from the newest checkpoint of a run that was ended, with as many ranks as you like; with a time from the
    /// last one until then
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "newest",
        conflicts_with_all = ["sweep", "waves", "wave_when", "pcap", "check", "attach"]
    )]
    pub resume: Option<Resume>,
    /// Capture ports: all, or nodes and ports such as a,s.2
    #[arg(long, value_name = "PORTS", num_args = 0..=1, default_missing_value = "all")]
    pub pcap: Option<String>,
    /// Watch ports with the protocol monitors of xoff check: all, or nodes and ports such as a,s.2. A violation is a
    /// finding, and the run has failed
    #[arg(
        long,
        value_name = "PORTS",
        num_args = 0..=1,
        default_missing_value = "all",
        conflicts_with = "wave_when"
    )]
    pub check: Option<String>,
    /// Where the peer of the host is whose nic is "attached": linux=unix:PATH, or any other cable of xoff attach
    #[arg(long, value_name = "HOST=CABLE", conflicts_with_all = ["sweep", "wave_when"])]
    pub attach: Option<AttachedHost>,
    /// Connect to the peer's socket instead of waiting there
    #[arg(long, requires = "attach")]
    pub connect: bool,
    /// Seconds to wait for the peer, and for its next frame
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "attach",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub wait: u64,
    /// Simulated seconds a second on the wall, with a peer; 1 if not given
    #[arg(long, value_name = "NUMBER", requires = "attach", value_parser = pace)]
    pub pace: Option<f64>,
    /// The peer is a guest of QEMU, which runs for so long and stands still while the simulation goes as far: from 10us to
    /// 100ms; with --qmp
    #[arg(long, value_name = "TIME", requires = "attach", value_parser = step)]
    pub step: Option<Duration>,
    /// QEMU's monitor, by which the guest is stopped for --step: unix:PATH or tcp:127.0.0.1:PORT
    #[arg(long, value_name = "MONITOR", requires = "attach")]
    pub qmp: Option<Monitor>,
    /// Print the summary as JSON; for a sweep an array of summaries
    #[arg(long)]
    pub json: bool,
    /// Folder in which the folders of results are created
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub out: PathBuf,
}

/// Compares two runs
///
/// Shows which settings differ, which metrics changed and by how much, and, if both runs have a capture, the first
/// frame that differs.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 equal, 1 different, 2 bad input.")]
pub struct DiffArgs {
    /// One run: its folder, such as out/pair, or its summary.json
    #[arg(value_name = "RUN")]
    pub a: PathBuf,
    /// The other run
    #[arg(value_name = "RUN")]
    pub b: PathBuf,
    /// Show every metric that changed
    #[arg(long)]
    pub all: bool,
}

/// Compares any number of runs
///
/// Runs that differ in the seed only are one variant, of which the median is shown and the range of 95 % of the seeds.
/// First comes what happened in each variant, then the settings and the metrics that differ: those that are apart
/// whatever the seed before those that are not. The page has the figures as charts, a dot and a range a variant.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 compared, 2 bad input.")]
pub struct CompareArgs {
    /// The runs: their folders, such as out/pair, or their summary.json
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub runs: Vec<PathBuf>,
    /// Show and draw these metrics, such as 'drops.*'; several times for several
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,
    /// Show every setting and metric that differs, instead of one metric a quantity
    #[arg(long)]
    pub all: bool,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    /// Folder in which the folder 'comparison' is created, with the page and a table
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub out: PathBuf,
}

/// A key and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepArg {
    /// As in a [`Setting`].
    pub key: String,
    /// The values, one per run.
    pub values: Vec<String>,
}

impl std::str::FromStr for SweepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Setting { key, value } = text.parse()?;
        let mut values = Vec::new();
        for value in parts(&value).into_iter().map(str::trim) {
            if value.is_empty() {
                return Err(format!("'{text}': a value is missing, such as {key}=1,2,4"));
            }
            let ends = value.split_once("..");
            let ends = ends.and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse().ok()?)));
            match ends {
                None => values.push(value.to_owned()),
                // Both ends included, as in names of hosts.
                Some((first, last))
                    if (first..first.saturating_add(MOST_VALUES)).contains(&last) =>
                {
                    values.extend((first..=last).map(|value| value.to_string()));
                }
                Some((first, last)) => {
                    return Err(format!(
                        "'{text}': {first}..{last} is no range of 1 to {MOST_VALUES} numbers, such as {key}=1..20"
                    ));
                }
            }
        }
        Ok(Self { key, values })
    }
}

/// What stands between the commas of a list of TOML values: those within a table, an array or a string divide nothing.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    text.split(|character| {
        match (quote, character) {
            _ if std::mem::take(&mut escaped) => {}
            (Some('"'), '\\') => escaped = true,
            (Some(open), _) => quote = quote.filter(|_| character != open),
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') => return depth == 0,
            (None, _) => {}
        }
        false
    })
    .collect()
}

/// The most numbers of a range in a sweep.
const MOST_VALUES: u64 = 1_000;

/// A host and a window of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WavesArg {
    /// The host.
    pub host: String,
    /// Start of the window.
    pub from: Duration,
    /// End of the window; `None`: the end of the run.
    pub until: Option<Duration>,
}

impl std::str::FromStr for WavesArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((host, window)) = text.split_once(':') else {
            return Ok(Self {
                host: text.into(),
                from: Duration::ZERO,
                until: None,
            });
        };
        let (from, until) = window_of(window, text, "HOST:FROM-UNTIL, such as a:1ms-1.1ms")?;
        Ok(Self {
            host: host.into(),
            from,
            until: Some(until),
        })
    }
}

/// Reads a window of time, FROM-UNTIL. An error names all of the argument's `text`, and the `form` that would be right.
pub fn window_of(window: &str, text: &str, form: &str) -> Result<(Duration, Duration), String> {
    let ends = window.split_once('-');
    let (from, until) = ends.ok_or_else(|| format!("'{text}': expected {form}"))?;
    let read = |text: &str| text.parse::<Duration>().map_err(|error| error.to_string());
    let (from, until) = (read(from)?, read(until)?);
    match until > from {
        true => Ok((from, until)),
        false => Err(format!("'{text}': the window ends before it begins")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_a_value_divide_no_sweep() {
        for (text, expected) in [
            ("1,2", &["1", "2"][..]),
            (
                "{ a = 1, b = 2 }, { a = 3 }",
                &["{ a = 1, b = 2 }", "{ a = 3 }"],
            ),
            ("[1, [2, 3]],4", &["[1, [2, 3]]", "4"]),
            (
                r#""a,b",'c,"d',"e\",f""#,
                &[r#""a,b""#, r#"'c,"d'"#, r#""e\",f""#],
            ),
            ("1..3", &["1", "2", "3"]),
        ] {
            let swept: SweepArg = format!("key={text}").parse().unwrap();
            assert_eq!(swept.values, expected, "{text}");
        }
        assert!("key=1,,2".parse::<SweepArg>().is_err());
    }
}
