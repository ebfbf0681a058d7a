//! `xoff calc pfc`: when a switch pauses its peers.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use xoff_sim::switch::Thresholds;
use xoff_sim::time::ByteCount;

use super::quantities::{self, Ratio};
use super::shared::{SharedArgs, SharedBuffer};
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};
use xoff_network::words::grouped;

const HELP: &str = "\
Static: with n ports and c lossless classes the largest threshold that cannot overrun the buffer is \
(B − c·n·headroom) / (c·n) (DCQCN, SIGCOMM 2015, section 4, with c = 8).

Dynamic: an ingress queue pauses its peer when it holds more than α times what is free of the \
shared buffer. With q queues that fill alike, each pauses at x = α·(B_shared − q·x), which is \
x = α·B_shared / (1 + q·α). No α overruns the shared buffer, but a small one pauses early: SIGCOMM \
2016 has 1/16, and up to 60,000 pauses in 5 minutes where a new model of switch had 1/64.

The simulated switch pauses with the first frame that does not fit, so up to a frame earlier. XON \
follows when a queue is --xon-offset below its limit.

Examples:
  xoff calc pfc --buffer 12MB --ports 32 --headroom 22.4KB
  xoff calc pfc --buffer 12MB --ports 32 --headroom 40KB --classes 2 \\
      --alpha 1/16,1/64
  xoff calc pfc --buffer 9MB --ports 32 --headroom 22.4KB --queues 1,4 \\
      --json | jq .dynamic

Exit codes: 0 all is well, 2 bad input.";

/// Calculates PFC thresholds
///
/// Prints the largest static threshold of a shared buffer, and the length at which queues pause under alpha.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the formulas, their sources and examples.")]
pub struct PfcArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub switch: SharedArgs,
    /// Alpha, the part of the free shared buffer that a queue may hold; several with commas between
    #[arg(
        long,
        value_name = "N/M",
        default_value = "1/16",
        value_delimiter = ','
    )]
    pub alpha: Vec<Ratio>,
    /// Numbers of queues (of a port and a class) that fill at the same rate [default: 1, 2, 4, … up to all]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub queues: Vec<u64>,
    /// How far below the threshold a queue resumes; two frames of 1,086 bytes, as in the paper
    #[arg(long, value_name = "BYTES", default_value = "2172B", value_parser = quantities::bytes)]
    pub xon_offset: ByteCount,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A result, in bytes.
#[derive(Debug, Serialize)]
struct Plan {
    #[serde(flatten)]
    buffer: SharedBuffer,
    static_xoff_bytes: u64,
    static_xon_bytes: u64,
    dynamic: Vec<Dynamic>,
}

/// Where queues pause under α.
#[derive(Debug, Serialize)]
struct Dynamic {
    alpha: Ratio,
    /// Number of queues that fill alike.
    queues: u64,
    xoff_bytes: u64,
    xon_bytes: u64,
    /// All of them together.
    together_bytes: u64,
}

/// Runs `xoff calc pfc`.
///
/// # Errors
///
/// Returns an error if the arguments do not fit together or the output cannot be written.
pub(super) fn run(arguments: &PfcArgs, streams: &mut Streams) -> anyhow::Result<()> {
    let thresholds = arguments.switch.thresholds()?;
    let queues = arguments.queues(thresholds.queues())?;
    let plan = arguments.plan(&thresholds, &queues);
    match arguments.json {
        true => super::json(&plan, streams),
        false => write(&plan, &thresholds, &queues, arguments, streams),
    }
}

impl PfcArgs {
    /// The numbers of queues that fill alike, of `all`.
    fn queues(&self, all: u64) -> anyhow::Result<Vec<u64>> {
        if let Some(more) = self.queues.iter().find(|queues| **queues > all) {
            bail!(
                "--queues {more}: there are {all}, one for each of {} ports and {} lossless classes",
                self.switch.ports,
                self.switch.classes
            );
        }
        if !self.queues.is_empty() {
            return Ok(self.queues.clone());
        }
        let powers = (0..)
            .map(|bits| 1 << bits)
            .take_while(|queues| *queues < all);
        Ok(powers.chain([all]).collect())
    }

    fn plan(&self, thresholds: &Thresholds, queues: &[u64]) -> Plan {
        let xon = |xoff: ByteCount| xoff.saturating_sub(self.xon_offset).get();
        let of = |alpha: Ratio, queues: u64| {
            let xoff = thresholds.alpha_pfc(alpha.num, alpha.den, queues);
            Dynamic {
                alpha,
                queues,
                xoff_bytes: xoff.get(),
                xon_bytes: xon(xoff),
                together_bytes: xoff.get() * queues,
            }
        };
        let alphas = self.alpha.iter();
        let dynamic = alphas.flat_map(|alpha| queues.iter().map(|queues| of(*alpha, *queues)));
        let fixed = thresholds.static_pfc();
        Plan {
            buffer: thresholds.into(),
            static_xoff_bytes: fixed.get(),
            static_xon_bytes: xon(fixed),
            dynamic: dynamic.collect(),
        }
    }
}

fn write(
    plan: &Plan,
    thresholds: &Thresholds,
    queues: &[u64],
    arguments: &PfcArgs,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let mut parts = super::shared::table(thresholds);
    let offset = grouped(arguments.xon_offset.get());
    for (name, bytes, source) in [
        (
            "static XOFF",
            plan.static_xoff_bytes,
            "shared / queues, rounded down: cannot overrun (SIGCOMM 2015, section 4)".into(),
        ),
        (
            "static XON",
            plan.static_xon_bytes,
            match plan.static_xon_bytes {
                0 => format!("an empty queue: XOFF is not above the offset of {offset}"),
                _ => format!("{offset} lower"),
            },
        ),
    ] {
        parts.row(Ink::Heading, [name, &grouped(bytes), &source]);
    }
    parts.write(streams)?;
    writeln!(streams.out)?;
    let heads = arguments
        .alpha
        .iter()
        .flat_map(|alpha| [format!("α {alpha}: XOFF"), "XON".into(), "together".into()]);
    let heads = ["queues full".to_owned()].into_iter().chain(heads);
    let mut table = Table::new(heads.map(|head| (head, Align::Right)));
    for (place, full) in queues.iter().enumerate() {
        let of_alphas = plan.dynamic.iter().skip(place).step_by(queues.len());
        let cells = of_alphas
            .flat_map(|it| [it.xoff_bytes, it.xon_bytes, it.together_bytes])
            .map(grouped);
        table.row(Ink::Plain, [grouped(*full)].into_iter().chain(cells));
    }
    Ok(table.write(streams)?)
}
