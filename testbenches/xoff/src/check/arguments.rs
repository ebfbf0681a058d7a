//! Arguments of `xoff check`.

use std::path::PathBuf;

use clap::Args;
use xoff_monitor::Rule;
use xoff_sim::time::{Duration, LineRate};

use super::host_port::HostPort;

/// Checks a capture against the standards
///
/// Watches the frames of a capture, ours or a real NIC's, with state machines of RoCEv2, DCQCN and PFC. Prints one
/// row per rule with the frames that break it and what is wrong with each, then remarks about what is allowed but often
/// unexpected.
#[derive(Debug, Args)]
#[command(after_long_help = super::long_help(), after_help = "See --help for the rules and examples.")]
pub struct CheckArgs {
    /// Captures to read, pcap or pcapng; - for standard input. Several are taps of one network
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print the result as JSON: frames, rules, violations, remarks
    #[arg(long)]
    pub json: bool,
    /// Also show rules that applied to no frame
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Least time between two CNPs to a queue pair, such as 50us; without it this rule is not checked
    #[arg(long, value_name = "TIME")]
    pub cnp_interval: Option<Duration>,
    /// Line rate of all interfaces, such as 40Gb/s, for rules about pauses [default: what a pcapng says]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<LineRate>,
    /// Interfaces or captures that are ports of hosts, such as a.0,b.0: frames that the host sends are not lost before
    /// the tap. A capture without directions needs the host's address: a.pcap=192.0.2.1
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub host_port: Vec<HostPort>,
    /// Rules that a device is known to break, such as bth-reserved: violations of them are counted apart
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub breaks: Vec<Rule>,
    /// The network may reorder or duplicate frames: check their order only at ports where a host sends
    #[arg(long)]
    pub unordered: bool,
}
