//! Arguments of `xoff encode`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::codec::EngineArgs;

/// The keys, for `xoff encode --help`.
pub(super) const LONG_HELP: &str = "\
Keys, with their defaults. Numbers are decimal or 0x…; a key that the packet lacks is \
an error.
  which packet   opcode or name: RC_SEND_ONLY, 0x04, …
                 verdict: roce_v2 (the default), roce_v1, cnp, pfc or pause
  Ethernet       src_mac 02:00:00:00:00:01, dst_mac 02:00:00:00:00:02
                 (pfc and pause: dst_mac 01:80:c2:00:00:01)
                 vlan, pcp, dei: a tag; none by default
                 bytes: length of the frame with padding; 60 at least by default
  IP             ip_version 4, or 6 when an address is
                 src_ip 192.0.2.1 or 2001:db8::1,
                 dst_ip 192.0.2.2 or 2001:db8::2
                 dscp 0, ecn 0, ttl 64
                 IPv4: ip_id 0, dont_fragment true; IPv6 and GRH: flow_label 0
  UDP            src_port 0xc000; the destination port is always 4791
  BTH            dest_qp 0x11, psn 0, pkey 0xffff
                 solicited, mig_req, fecn, becn, ack_req: false
                 (becn of a CNP: true)
  RETH, atomics  va 0, rkey 0, dma_len (the payload's length), swap_add 0,
                 compare 0
  AETH           syndrome 0x1f (an ACK), msn 0; atomic ACK: original 0
  others         imm 0, inv_rkey 0; UD: qkey 0, src_qp 0
  payload        payload=hex:00ff…, payload=text:… or payload=pattern:LENGTH
                 (0, 1, 2, …);
                 payload_bytes=LENGTH is the same pattern; none by default
  pfc, pause     quanta 0: for pfc eight with commas between, class 0 first; for
                 pause one
                 class_enable: one bit per class; by default those with quanta
  for errors     icrc_ok=false writes a wrong ICRC
  captures       time_ns: when; by default a microsecond after the frame before
                 interface, direction received or sent, fcs_ok=false: for pcapng
  checked        pad must fit the payload; frame, the number of a row, is
                 ignored
  in rows only   raw: the bytes of a frame that the builder cannot build;
                 written as they are

Examples:
  xoff encode opcode=RC_SEND_ONLY dest_qp=0x54 psn=7 payload=text:hello
  # a NAK: PSN sequence error
  xoff encode name=RC_ACK syndrome=0x60 msn=3 psn=100
  # pause class 3 for long
  xoff encode verdict=pfc quanta=0,0,0,0xffff,0,0,0,0
  xoff encode opcode=RC_WRITE_ONLY src_ip=2001:db8::1 va=0x7f00 rkey=0x12 \\
      payload_bytes=1024 --format pcap -o write.pcap
  xoff decode --format jsonl in.pcap | \\
      xoff encode --jsonl - --format pcap -o again.pcap

Exit codes: 0 all is well, 1 RTL and model differ (--both), 2 bad input.";

/// Encodes packets
///
/// Sends described packets through the builder of the NIC pipeline, which lays out the headers and computes checksum,
/// lengths, pad and ICRC, and writes the frames.
#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP, after_help = "See --help for the keys, their defaults and examples.")]
pub struct EncodeArgs {
    /// One packet, described by keys; the same keys as in `xoff decode --format jsonl`
    #[arg(
        value_name = "KEY=VALUE",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub description: Vec<String>,
    /// Read packets from a file with one JSON object of the same keys per line; - for standard input
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Skip rows that the builder cannot build: with verdict other or malformed, whose bytes in the key raw are written
    /// without --skip, and those that have no whole Ethernet frame, which are an error without --skip
    #[arg(long, requires = "jsonl")]
    pub skip: bool,
    /// Format of the frames
    #[arg(long, value_enum, default_value_t)]
    pub format: FrameFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
}

/// Format of the frames of `xoff encode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FrameFormat {
    /// Hexadecimal digits, one line per frame
    #[default]
    Hex,
    /// pcap with nanoseconds; frames are one microsecond apart
    Pcap,
    /// pcapng, with the same times
    Pcapng,
}
