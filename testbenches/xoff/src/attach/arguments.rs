//! Arguments of `xoff attach`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, Subcommand, ValueEnum};
use xoff_network::attach::{Perftest, Pingpong, Role, Rping, Tool, Verb};
use xoff_sim::link::FaultRule;
use xoff_sim::time::Duration;
use xoff_sim::wire::MacAddr;

use super::Monitor;
use super::cable::Place;
use crate::nic_args::NicArgs;
use crate::run::window_of;

/// READs and atomics that may be unanswered: as many as an RTL NIC has.
const OUTS: u16 = 16;
/// Bytes of the word that an atomic changes.
const WORD: u32 = 8;

/// How long a guest may run at a time.
const SHORTEST_STEP: Duration = Duration::from_us(10);
const LONGEST_STEP: Duration = Duration::from_ms(100);

const HELP: &str = "\
The cable is a socket as QEMU's network backends have it. stream: raw Ethernet frames, each behind its length in four \
bytes, big-endian. dgram: a frame a datagram, between two sockets. Or it is a TAP device of Linux, whose kernel is the \
peer: one that is there and that this user may open, or as root one that is made and is gone at the end. The NIC takes \
RoCE and MAC control; ARP, neighbour discovery, pings, TCP and RDMA CM go to the host beside it. Simulated time keeps \
the pace of the clock on the wall, or a fraction of it with --pace; while the simulation is too slow for it, simulated \
time stands still. With --step a guest of QEMU stands still meanwhile, and the two clocks are never further apart than a \
step, or the time that QEMU takes to stop the guest.

Results go to the folder of --out: capture.pcapng, every frame at the NIC's port; summary.json; waves.fst with \
--waves. They are written however the run ends.

Examples:
  # the RTL NIC waits for a virtual machine with
  #   -netdev stream,id=net0,server=off,addr.type=unix,addr.path=link.sock
  # and answers its ibv_rc_pingpong -d rxe0 -g 1 192.0.2.2
  xoff attach unix:link.sock ibv_rc_pingpong
  # the same with a frame a datagram
  xoff attach dgram:nic.sock,vm.sock ibv_rc_pingpong
  # this machine's own kernel is the peer, at a device that was made before with
  #   sudo ip tuntap add dev xoff0 mode tap user \"$USER\"
  #   sudo ip link set xoff0 mtu 9000 up
  #   sudo ip addr add 192.0.2.1/24 dev xoff0
  xoff attach tap:xoff0 ibv_rc_pingpong
  # as the client of ibv_rc_pingpong -d rxe0 -g 1 -m 4096 in the machine
  xoff attach unix:link.sock ibv_rc_pingpong -m 4096 192.0.2.1
  # as the client of ib_write_bw -d rxe0 -x 1 -F -n 100 in the machine
  xoff attach unix:link.sock ib_write_bw -n 100 192.0.2.1
  # as the server of ib_atomic_bw -d rxe0 -x 1 -F -A CMP_AND_SWAP 192.0.2.2 in the machine
  xoff attach unix:link.sock ib_atomic_bw -A CMP_AND_SWAP
  # as the server of rping -c -a 192.0.2.2 -C 10 -S 4000 -V in the machine
  xoff attach unix:link.sock rping -s -C 10 -S 4000
  # as the client of rping -s in the machine
  xoff attach unix:link.sock rping -c -a 192.0.2.1 -C 10
  # the machine's clock goes no faster than the simulation; of QEMU's options -qmp unix:qmp.sock,server=on,wait=off
  xoff attach unix:link.sock --step 50us --qmp unix:qmp.sock ibv_rc_pingpong
  # one frame of the peer in nine lost, and the rules of the standards
  xoff attach unix:link.sock --fault-in 'any, chance 1/9: drop' ibv_rc_pingpong
  xoff check out/attach/capture.pcapng

Exit codes: 0 every message went and is what was sent, 1 messages are changed or the transport has failed, 2 bad \
input: the peer never came, went away or said what no tool says, 130 interrupted.";

/// Attaches a NIC to a peer outside of the simulation, such as Linux in a virtual machine
///
/// The host beside the NIC runs a tool as the peer does: it speaks the tool's exchange over TCP, or connects by RDMA
/// CM, and has the NIC send and receive what the tool would.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the cable and examples.")]
pub struct AttachArgs {
    /// The cable: unix:PATH, tcp:127.0.0.1:PORT, dgram:PATH,PEER, udp:127.0.0.1:PORT,127.0.0.1:PEER or tap:NAME
    #[arg(value_name = "CABLE")]
    pub cable: Place,
    /// Connect to the cable's socket instead of waiting there for the peer
    #[arg(long)]
    pub connect: bool,
    /// The NIC.
    #[command(flatten)]
    pub nic: NicArgs,
    /// MAC address of the NIC
    #[arg(long, value_name = "ADDRESS", default_value = "02:00:00:00:00:02")]
    pub mac: MacAddr,
    /// IPv4 address of the host, in a network of 24 bits
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.2")]
    pub ip: Ipv4Addr,
    /// IPv6 address of the host beside its link-local one, in a network of 64 bits
    #[arg(long, value_name = "ADDRESS")]
    pub ipv6: Option<Ipv6Addr>,
    /// Fault rule for frames from the peer: 'any, chance 1/100: drop'
    #[arg(long, value_name = "RULE")]
    pub fault_in: Vec<FaultRule>,
    /// Fault rule for frames to the peer
    #[arg(long, value_name = "RULE")]
    pub fault_out: Vec<FaultRule>,
    /// Seed of all that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write waves of the NIC, for the whole run or a window of simulated time: --waves=1ms-1.1ms
    #[arg(long, value_name = "FROM-UNTIL", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub waves: Option<Window>,
    /// Simulated seconds a second on the wall, 1 if not given: less leaves a slow peer more time before the NIC sends
    /// again
    #[arg(long, value_name = "NUMBER", value_parser = pace)]
    pub pace: Option<f64>,
    /// The guest runs for so long, of its own time, and stands still while the simulation goes as far: from 10us to
    /// 100ms; with --qmp
    #[arg(long, value_name = "TIME", value_parser = step)]
    pub step: Option<Duration>,
    /// QEMU's monitor, by which the guest is stopped for --step: unix:PATH or tcp:127.0.0.1:PORT
    #[arg(long, value_name = "MONITOR")]
    pub qmp: Option<Monitor>,
    /// Seconds to wait for the peer, or for a TAP device to be set up, and for the next frame; with --step, those of the
    /// guest's clock
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub wait: u64,
    /// Folder of results
    #[arg(long, value_name = "FOLDER", default_value = "out/attach")]
    pub out: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// The tool.
    #[command(subcommand)]
    pub tool: ToolArgs,
}

/// The tools, with their own options.
#[derive(Debug, Subcommand)]
pub enum ToolArgs {
    /// A message goes to and fro: as ibv_rc_pingpong of libibverbs
    #[command(name = "ibv_rc_pingpong")]
    Pingpong(PingpongArgs),
    /// The client sends messages: as ib_send_bw of perftest
    #[command(name = "ib_send_bw")]
    SendBw(PerftestArgs),
    /// The client writes to the server's memory: as ib_write_bw of perftest
    #[command(name = "ib_write_bw")]
    WriteBw(PerftestArgs),
    /// The client reads the server's memory: as ib_read_bw of perftest
    #[command(name = "ib_read_bw")]
    ReadBw(ReadArgs),
    /// The client changes words of the server's memory: as ib_atomic_bw of perftest
    #[command(name = "ib_atomic_bw")]
    AtomicBw(AtomicArgs),
    /// The server reads and writes the client's memory: as rping of librdmacm, whose ends connect by RDMA CM
    #[command(name = "rping")]
    Rping(RpingArgs),
}

impl ToolArgs {
    /// The tool with its options, and which end it is.
    pub fn tool(&self) -> (Tool, Role) {
        let role = |host: Option<IpAddr>| host.map_or(Role::Server, Role::Client);
        match self {
            Self::Pingpong(it) => (Tool::Pingpong(it.tool()), role(it.host)),
            Self::SendBw(it) => (it.tool(Verb::Send), role(it.common.host)),
            Self::WriteBw(it) => (it.tool(Verb::Write), role(it.common.host)),
            Self::ReadBw(it) => (it.tool(), role(it.common.host)),
            Self::AtomicBw(it) => (it.tool(), role(it.common.host)),
            Self::Rping(it) => (it.tool(), role(it.address.filter(|_| it.client))),
        }
    }
}

/// Options of `ibv_rc_pingpong`.
#[derive(Debug, Args)]
pub struct PingpongArgs {
    /// The server to connect to; without it this end is the server
    #[arg(value_name = "HOST")]
    pub host: Option<IpAddr>,
    /// The server's TCP port
    #[arg(short, long, value_name = "PORT", default_value_t = Pingpong::default().port,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Bytes of a message
    #[arg(short, long, value_name = "BYTES", default_value_t = Pingpong::default().size,
          value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub size: u32,
    /// Path MTU
    #[arg(short, long, value_name = "BYTES", default_value = "1024", value_parser = mtu())]
    pub mtu: u32,
    /// How often a message goes to and fro
    #[arg(short = 'n', long, value_name = "N", default_value_t = Pingpong::default().iterations,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub iters: u64,
}

impl PingpongArgs {
    /// The tool with these options.
    const fn tool(&self) -> Pingpong {
        Pingpong {
            size: self.size,
            mtu: self.mtu,
            iterations: self.iters,
            port: self.port,
        }
    }
}

/// Options of all tools of perftest.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// The server to connect to; without it this end is the server
    #[arg(value_name = "HOST")]
    pub host: Option<IpAddr>,
    /// The server's TCP port
    #[arg(short, long, value_name = "PORT", default_value_t = Pingpong::default().port,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Path MTU; the smaller one of both ends counts
    #[arg(short, long, value_name = "BYTES", default_value = "4096", value_parser = mtu())]
    pub mtu: u32,
    /// Number of messages
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub iters: u64,
    /// Use a key, or as the server tell one, that no memory has
    #[arg(long)]
    pub wrong_key: bool,
}

impl CommonArgs {
    const fn tool(&self, verb: Verb, size: u32, buffers: u64, reads: u16) -> Tool {
        Tool::Perftest(Perftest {
            verb,
            size,
            mtu: self.mtu,
            iterations: self.iters,
            buffers,
            reads,
            port: self.port,
            wrong_key: self.wrong_key,
        })
    }
}

/// Options of `ib_send_bw` and `ib_write_bw`.
#[derive(Debug, Args)]
pub struct PerftestArgs {
    /// Those of all tools.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Bytes of a message
    #[arg(short, long, value_name = "BYTES", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub size: u32,
    /// Receive buffers that a server of SENDs keeps posted
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=16))]
    pub rx_depth: u64,
}

impl PerftestArgs {
    /// The tool with these options.
    const fn tool(&self, verb: Verb) -> Tool {
        self.common.tool(verb, self.size, self.rx_depth, OUTS)
    }
}

/// Options of `ib_read_bw`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Those of all tools.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Bytes of a message
    #[arg(short, long, value_name = "BYTES", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub size: u32,
    /// READs that may be unanswered; the smaller one of both ends counts
    #[arg(short, long, value_name = "N", default_value_t = OUTS,
          value_parser = clap::value_parser!(u16).range(1..=i64::from(OUTS)))]
    pub outs: u16,
}

impl ReadArgs {
    /// The tool with these options.
    const fn tool(&self) -> Tool {
        self.common.tool(Verb::Read, self.size, 0, self.outs)
    }
}

/// Options of `ib_atomic_bw`.
#[derive(Debug, Args)]
pub struct AtomicArgs {
    /// Those of all tools.
    #[command(flatten)]
    pub common: CommonArgs,
    /// The operation
    #[arg(
        short = 'A',
        long = "atomic_type",
        value_name = "TYPE",
        default_value = "FETCH_AND_ADD"
    )]
    pub kind: AtomicType,
    /// Atomics that may be unanswered; the smaller one of both ends counts
    #[arg(short, long, value_name = "N", default_value_t = OUTS,
          value_parser = clap::value_parser!(u16).range(1..=i64::from(OUTS)))]
    pub outs: u16,
}

/// An atomic, as the tool calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AtomicType {
    /// Adds 1.
    #[value(name = "FETCH_AND_ADD")]
    FetchAndAdd,
    /// Writes another number if there is the expected one.
    #[value(name = "CMP_AND_SWAP")]
    CmpAndSwap,
}

impl AtomicArgs {
    /// The tool with these options.
    const fn tool(&self) -> Tool {
        let verb = match self.kind {
            AtomicType::FetchAndAdd => Verb::FetchAdd,
            AtomicType::CmpAndSwap => Verb::CmpSwap,
        };
        self.common.tool(verb, WORD, 0, self.outs)
    }
}

/// Options of `rping`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("end").required(true).args(["server", "client"])))]
pub struct RpingArgs {
    /// This end is the server
    #[arg(short, long)]
    pub server: bool,
    /// This end is the client
    #[arg(short, long, requires = "address")]
    pub client: bool,
    /// The server to connect to
    #[arg(short, long, value_name = "HOST", conflicts_with = "server")]
    pub address: Option<IpAddr>,
    /// The server's port, in RDMA's TCP port space
    #[arg(short, long, value_name = "PORT", default_value_t = Rping::default().port,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Bytes of a buffer; a server takes what is no larger
    #[arg(short = 'S', long, value_name = "BYTES", default_value_t = Rping::default().size,
          value_parser = clap::value_parser!(u32).range(i64::from(Rping::MIN_SIZE)..=i64::from(Rping::MAX_SIZE)))]
    pub size: u32,
    /// Number of pings; without it a client goes on until it is interrupted, and a server takes what comes
    #[arg(short = 'C', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Path MTU of a client; a server has that of the client
    #[arg(short, long, value_name = "BYTES", default_value = "4096", value_parser = mtu())]
    pub mtu: u32,
    /// Compare what comes, as the tool does with it; this end does so in any case
    #[arg(short = 'V', long)]
    pub validate: bool,
}

impl RpingArgs {
    /// The tool with these options.
    const fn tool(&self) -> Tool {
        Tool::Rping(Rping {
            size: self.size,
            count: self.count,
            port: self.port,
            mtu: self.mtu,
        })
    }
}

/// Reads the pace of simulated time.
pub(crate) fn pace(text: &str) -> Result<f64, String> {
    let pace = text
        .parse()
        .ok()
        .filter(|pace| (0.001..=1000.0).contains(pace));
    pace.ok_or_else(|| format!("'{text}': expected a number from 0.001 to 1000"))
}

/// Reads the length of a guest's steps.
pub(crate) fn step(text: &str) -> Result<Duration, String> {
    let step: Duration = text.parse().map_err(|why| format!("{why}"))?;
    match (SHORTEST_STEP..=LONGEST_STEP).contains(&step) {
        true => Ok(step),
        false => Err(format!(
            "'{text}': from {SHORTEST_STEP} to {LONGEST_STEP} is right; a guest takes longer than {SHORTEST_STEP} to stop \
             and go on"
        )),
    }
}

/// Reads a path MTU.
fn mtu() -> impl clap::builder::TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["256", "512", "1024", "2048", "4096"])
        .map(|text| text.parse::<u32>().expect("each is a number"))
}

/// A window of simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub from: Duration,
    /// Its end; `None`: that of the run.
    pub until: Option<Duration>,
}

impl std::str::FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self {
                from: Duration::ZERO,
                until: None,
            });
        }
        let (from, until) = window_of(text, text, "FROM-UNTIL, such as 1ms-1.1ms")?;
        Ok(Self {
            from,
            until: Some(until),
        })
    }
}
