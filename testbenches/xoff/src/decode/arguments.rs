//! Arguments of `xoff decode`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::FrameRange;
use crate::codec::EngineArgs;

const DECODE_HELP: &str = "\
Columns:
  flags    S solicited event, A acknowledgement asked for, M migrated, F FECN, B
           BECN, C congestion met (ECN field CE)
  icrc     ok, BAD, or nothing when the frame has none
  details  payload bytes; remote address, key and length; syndrome and MSN;
           immediate data; anything unusual. On a narrow terminal they have a
           line of their own.

Frames of other protocols and malformed frames have rows too, with the reason. So have records \
without a verdict: cut (only the beginning was recorded; the headers that are there are shown), \
other link (a link type that is not read), too long (longer than any frame on a line, glued \
together by receive offload). Behind the headers of Linux cooked captures (tcpdump -i any) and raw \
IP, packets are read as behind those of Ethernet, but without MAC addresses. Each device of a cooked \
capture, version 2, is a port: if2. Of a frame in tunnels (VXLAN, GENEVE, GRE, NVGRE, ERSPAN, MPLS, IP \
in IP) the frame inside has the row, with the tunnels at the end of its details. \
A capture of several interfaces has a column port: →a.0 for received at a.0, a.0→ for sent. \
JSON lines contain all that is needed to write the same frames again, without their tunnels, but for \
those that are cut, too long or of another link: decode --format jsonl | encode --jsonl -.

Examples:
  # one row per frame
  xoff decode loss.pcap
  # a summary of the capture
  xoff decode --summary loss.pcap
  # some frames
  xoff decode --frames 100-120 loss.pcap
  xoff decode --format jsonl loss.pcap | jq 'select(.icrc_ok == false) | .frame'
  # live
  tcpdump -U -w - -i eth0 | xoff decode -
  # RTL and reference model, compared
  xoff decode --both loss.pcap

Exit codes: 0 all is well, 1 RTL and model differ (--both), 2 bad input (rows before it are kept).";

/// Decodes a capture
///
/// Reads pcap (microseconds, nanoseconds, either byte order) and pcapng (any number of sections and interfaces), sends
/// every frame through the parser of the NIC pipeline and prints its results: the kind of packet, its headers, whether
/// its ICRC is right. The frames are those of Ethernet, or packets of Linux cooked captures and raw IP.
#[derive(Debug, Args)]
#[command(after_long_help = DECODE_HELP, after_help = "See --help for columns and examples.")]
pub struct DecodeArgs {
    /// Capture to read, pcap or pcapng; - for standard input
    pub file: PathBuf,
    /// Format of the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,
    /// Print a summary instead of rows: operations, verdicts, ICRC, conversations
    #[arg(long, conflicts_with = "format")]
    pub summary: bool,
    /// Stop after this number of frames
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Only these frames, counted from 1: 7, 7-20, 7- or -20
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    pub frames: Option<FrameRange>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
}

/// Format of the rows of `xoff decode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Aligned columns for people
    #[default]
    Table,
    /// One JSON object per line, for programs
    Jsonl,
}
