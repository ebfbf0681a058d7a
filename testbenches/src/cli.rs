//! Arguments and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::calc::CalcArgs;
use crate::decode::FrameRange;
use xoff_sim::time::{Duration, LineRate};

use crate::property::unit::Unit;
use crate::scenario_file::Setting;

/// Maximum of `--threads`: more than the cores of any current machine, and few enough to be started.
pub const MAX_THREADS: i64 = 1_024;

/// Returns the number of threads to start: as many as asked for, otherwise one per core.
pub fn threads(asked: Option<u16>) -> usize {
    (asked.map(usize::from))
        .or_else(|| std::thread::available_parallelism().map(usize::from).ok())
        .unwrap_or(1)
}

/// Co-simulates a RoCEv2 NIC pipeline with the network around it.
#[derive(Debug, Parser)]
#[command(
    name = "xoff",
    version,
    after_help = "Exit codes: 0 all is well, 1 an expectation failed, 2 bad input, 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Real traffic through the RTL parser, a row a packet
    Decode(DecodeArgs),
    /// A described packet through the RTL builder, as hex or capture
    Encode(EncodeArgs),
    /// The protocol monitors over a capture, a row a rule
    Check(CheckArgs),
    /// Buffers, thresholds and rates, by the code of switch and reference models
    Calc(CalcArgs),
    /// A scenario: RTL NICs, switches, what is expected of them
    Run(RunArgs),
    /// What is different about two runs
    Diff(DiffArgs),
    /// The scenarios there are
    List,
    /// A scenario's text, to read or to start one's own from
    Show(ShowArgs),
    /// The JSON schema of scenarios, for editors
    Schema,
    /// Random histories through a unit and its reference, until a time or a count
    Fuzz(FuzzArgs),
    /// A kept failure again
    Replay(ReplayArgs),
}

/// Which implementation does the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct EngineArgs {
    /// Use the reference model instead of the RTL
    #[arg(long)]
    pub model: bool,
    /// Use RTL and reference model, compare; on a mismatch name frame and fields and exit with 1
    #[arg(long, conflicts_with = "model")]
    pub both: bool,
}

const DECODE_HELP: &str = "\
Columns:
  flags    S solicited event, A acknowledgement asked for, M migrated, F FECN, B BECN,
           C congestion met (ECN field CE)
  icrc     ok, BAD, or nothing when the frame has none
  details  payload bytes; remote address, key and length; syndrome and MSN; immediate data;
           what else is not as usual. Where a terminal is too narrow, on a line of their own.

Frames that are none of ours or broken are rows too, with the reason: nothing is lost silently.
A capture of several interfaces has a column port: →a.0 received there, a.0→ sent.
JSON lines have all that xoff encode needs to give the file back: decode --format jsonl | encode --jsonl -.

Examples:
  xoff decode loss.pcap                        a row a frame
  xoff decode --summary loss.pcap              a picture of the whole
  xoff decode --frames 100-120 loss.pcap       some frames
  xoff decode --format jsonl loss.pcap | jq 'select(.icrc_ok == false) | .frame'
  tcpdump -U -w - -i eth0 | xoff decode -      live
  xoff decode --both loss.pcap                 RTL and reference model against each other

Exit codes: 0 all is well, 1 RTL and model differ (--both), 2 bad input (rows before it are kept).";

/// Decodes a capture
///
/// Reads pcap (microseconds, nanoseconds, either byte order) and pcapng (any number of sections and interfaces), sends
/// every frame through the parser of the NIC pipeline and prints what it says: which packet this is, its headers,
/// whether its ICRC is right.
#[derive(Debug, Args)]
#[command(after_long_help = DECODE_HELP, after_help = "See --help for columns and examples.")]
pub struct DecodeArgs {
    /// Capture to read, pcap or pcapng; - for standard input
    pub file: PathBuf,
    /// Form of the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,
    /// Draw a picture of the whole instead of rows: operations, verdicts, ICRC, conversations
    #[arg(long, conflicts_with = "format")]
    pub summary: bool,
    /// Stop after so many frames
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Only these frames, counted from 1: 7, 7-20, 7- or -20
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    pub frames: Option<FrameRange>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
}

/// Checks a capture against the standards
///
/// Watches the frames of a capture, ours or a real NIC's, with state machines of RoCEv2, DCQCN and PFC. Prints a row a
/// rule with the frames that break it, what is wrong with each, and remarks: what is allowed and people stumble over.
#[derive(Debug, Args)]
#[command(after_long_help = crate::check::long_help(), after_help = "See --help for the rules and examples.")]
pub struct CheckArgs {
    /// Capture to read, pcap or pcapng; - for standard input
    pub file: PathBuf,
    /// Print what was found as JSON: frames, rules, violations, remarks
    #[arg(long)]
    pub json: bool,
    /// Show rules that found nothing to judge too
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Judge the time between CNPs to a queue pair by this interval, such as 50us; without it they are not judged
    #[arg(long, value_name = "TIME")]
    pub cnp_interval: Option<Duration>,
    /// Line rate of all interfaces, such as 40Gb/s, for rules about pauses [default: what a pcapng says]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<LineRate>,
    /// Interfaces that are a host's own port, such as a.0,b.0: nothing is lost there before the tap
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub host_port: Vec<String>,
    /// The network changes the order of frames or brings some twice: order is judged only where a host sends
    #[arg(long)]
    pub unordered: bool,
}

/// Form of the rows of `xoff decode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Aligned columns for people
    #[default]
    Table,
    /// One JSON object a line for programs
    Jsonl,
}

/// Encodes packets
///
/// Sends described packets through the builder of the NIC pipeline, which lays out the headers and computes checksum,
/// lengths, pad and ICRC, and writes the frames.
#[derive(Debug, Args)]
#[command(after_long_help = crate::encode::LONG_HELP, after_help = "See --help for the keys, their defaults and examples.")]
pub struct EncodeArgs {
    /// One packet, described by keys; the same keys as in `xoff decode --format jsonl`
    #[arg(
        value_name = "KEY=VALUE",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub description: Vec<String>,
    /// Packets from a file, a JSON object a line with the same keys; - for standard input
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Leave out rows of frames with verdict other or malformed, which the builder cannot build; without it their key
    /// raw is written
    #[arg(long, requires = "jsonl")]
    pub skip: bool,
    /// Form of the frames
    #[arg(long, value_enum, default_value_t)]
    pub format: FrameFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
}

/// Form of the frames of `xoff encode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FrameFormat {
    /// Hexadecimal digits, a line a frame
    #[default]
    Hex,
    /// Classic capture with nanoseconds, the frames one microsecond apart
    Pcap,
    /// The same as pcapng
    Pcapng,
}

const RUN_HELP: &str = "\
Results go to out/NAME/: report.html, goodput.svg, summary.json, series.csv, and capture.pcapng and waves where asked
for. A sweep adds out/NAME-sweep/: sweep.html, sweep.svg, sweep.csv. Files of an earlier run there are removed.

Examples:
  xoff run livelock                                 a scenario with the RTL NIC in it
  xoff run pair --set flows.bulk.mtu=4096           with another setting
  xoff run incast --sweep hosts.s.count=2,4,8       one run a value
  xoff run ring-deadlock --sweep variant=base,two --sweep seed=1..20
                                                    how many of 20 seeds lock, with and without the third flow
  xoff run pair --pcap all --waves a:10us-20us      every port captured, waves of host a
  xoff show pair > mine.toml                        a scenario to change
  xoff run mine.toml --json | jq .metrics           one's own scenario, for programs

docs/scenarios.md has every key of a scenario, the language of fault rules, and how to inject captures.

Exit codes: 0 every expectation held, 1 one failed, 2 bad input, 130 interrupted.";

/// Runs a scenario
///
/// Builds the network that a scenario describes, hosts with the NIC pipeline and switches, lets it run, measures, and
/// holds the measures against what the scenario expects. The same seed gives the same result to the bit, whatever the
/// threads, with waves and captures or without.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP, after_help = "See --help for outputs and examples.")]
pub struct RunArgs {
    /// Name of a scenario (xoff list), or a TOML file
    pub scenario: String,
    /// Another value for a key: duration="2 ms", flows.NAME.message="1 MB", host.nic=model
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// A run for each of several values, 1..20 for the numbers 1 to 20; several sweeps multiply
    #[arg(long, value_name = "KEY=A,B,…|A..B")]
    pub sweep: Vec<SweepArg>,
    /// What everything random is drawn from [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub threads: Option<u16>,
    /// Evaluate idle NICs too: the same result, slower
    #[arg(long)]
    pub no_skip: bool,
    /// Waves of a host's NIC, in a window of time or for the whole run: a:1ms-1.1ms, a
    #[arg(long, value_name = "HOST[:FROM-UNTIL]")]
    pub waves: Vec<WavesArg>,
    /// Capture ports: all, or nodes and ports such as a,s.2
    #[arg(long, value_name = "PORTS", num_args = 0..=1, default_missing_value = "all")]
    pub pcap: Option<String>,
    /// Print the summary as JSON, an array under a sweep
    #[arg(long)]
    pub json: bool,
    /// Where folders of results go
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub out: PathBuf,
}

const SHOW_HELP: &str = "\
Examples:
  xoff show livelock                                the text of a scenario, with its comments
  xoff show pair > mine.toml                        a scenario to change
  xoff show incast --set hosts.s.count=8            all keys, those not set with their defaults
  xoff schema > scenario.schema.json                for editors: '#:schema scenario.schema.json' as
                                                    the first line of mine.toml

docs/scenarios.md has every key.
Exit codes: 0 all is well, 2 bad input.";

/// Prints a scenario
///
/// Prints the text of a built-in scenario or of a file as it is. With --set it prints all keys with the values that a
/// run would have.
#[derive(Debug, Args)]
#[command(after_long_help = SHOW_HELP, after_help = "See --help for examples.")]
pub struct ShowArgs {
    /// Name of a scenario (xoff list), or a TOML file
    pub scenario: String,
    /// Another value for a key, as in xoff run
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
}

/// Compares two runs
///
/// Shows which settings are not the same, which metrics changed and by how much, and, when both runs have a capture,
/// the first frame that is different.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the same, 1 different, 2 bad input.")]
pub struct DiffArgs {
    /// A run: its folder, such as out/pair, or its summary.json
    #[arg(value_name = "RUN")]
    pub a: PathBuf,
    /// The other one
    #[arg(value_name = "RUN")]
    pub b: PathBuf,
    /// Show every metric that changed
    #[arg(long)]
    pub all: bool,
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
        for value in value.split(',').map(str::trim) {
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
        let Some((from, until)) = window.split_once('-') else {
            return Err(format!(
                "'{text}': expected HOST:FROM-UNTIL, such as a:1ms-1.1ms"
            ));
        };
        let read = |text: &str| text.parse::<Duration>().map_err(|error| error.to_string());
        let (from, until) = (read(from)?, read(until)?);
        if until <= from {
            return Err(format!("'{text}': the window ends before it begins"));
        }
        Ok(Self {
            host: host.into(),
            from,
            until: Some(until),
        })
    }
}

/// Turns a unit against its reference
///
/// Draws random histories, legal and hostile, runs them through the verilated unit and the reference model and
/// compares. The first that differs is shrunk, shown, and kept as a readable file that runs first from then on. Cases
/// kept earlier run first.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no difference, 1 a difference, 2 bad input.")]
pub struct FuzzArgs {
    /// The unit
    #[arg(value_enum)]
    pub unit: Unit,
    /// For how long, such as 60s or 5m
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub time: humantime::Duration,
    /// This many cases instead of a time
    #[arg(long, value_name = "N", conflicts_with = "time")]
    pub count: Option<u64>,
    /// What the cases are drawn from; the same seed and count give the same cases on any number of threads [default:
    /// the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub threads: Option<u16>,
    /// Where failing cases are kept and looked for [default: testbenches/cases in the sources, otherwise cases]
    #[arg(long, value_name = "FOLDER")]
    pub cases: Option<PathBuf>,
}

/// Runs a kept case again
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no difference, 1 a difference, 2 bad input.")]
pub struct ReplayArgs {
    /// The case, as xoff fuzz or a test has kept it
    pub case: PathBuf,
}
