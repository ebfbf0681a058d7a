//! Arguments of `xoff shadow`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use crate::nic_args::NicArgs;

/// Puts a NIC in the place of an end of a capture
///
/// The NIC gets the requests that the other end has sent, each at its time, and its answers are held against those in
/// the capture: opcode, PSN, syndrome, MSN, payload. Queue pairs, first PSNs, MTU, keys, memory and receive buffers are
/// inferred from the capture.
#[derive(Debug, Args)]
#[command(after_long_help = super::long_help(), after_help = "See --help for the rules and examples.")]
pub struct ShadowArgs {
    /// Capture to read, pcap or pcapng; - for standard input
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// IP address of the end that answers, in whose place the NIC stands
    #[arg(long, value_name = "ADDRESS")]
    pub side: IpAddr,
    /// The NIC.
    #[command(flatten)]
    pub nic: NicArgs,
    /// The interface to read, if the capture has several: its name, or its number from 0
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// How many READs and atomics a queue pair may have unanswered
    #[arg(long, value_name = "NUMBER", default_value_t = xoff_network::shadow::GRANTED,
          value_parser = clap::value_parser!(u16).range(1..=128))]
    pub granted: u16,
    /// TOML with what is known of connections and memory, where the capture does not show it
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// How many differences to show
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 10,
        conflicts_with = "json"
    )]
    pub show: usize,
}
