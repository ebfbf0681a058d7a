//! `xoff calc ecn`: thresholds that mark before PFC pauses.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use xoff_sim::switch::{RedConfig, Thresholds};
use xoff_sim::time::ByteCount;

use super::quantities;
use super::shared::{SharedArgs, SharedBuffer};
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};
use xoff_network::words::grouped;

/// Largest β that is taken.
const MAX_BETA: u64 = 1_000_000;
/// Parts of the way from kmin to kmax at which probabilities are shown.
const QUARTERS: u64 = 4;

const HELP: &str = "\
Bounds on kmin, so that ECN marks before PFC pauses, with n ports and c lossless classes (DCQCN, \
SIGCOMM 2015, section 4, with c = 8):
  static    t_PFC / n with t_PFC = (B − c·n·headroom) / (c·n): all ports may
            send to one
  dynamic   β·(B − c·n·headroom) / (c·n·(β + 1)): the PFC threshold is β·free /
            (c·n), which is an α of β / (c·n) in xoff calc pfc
A bound below one frame cannot be met.

RED marks by the length of the egress queue: nothing up to kmin, then with a probability that rises \
linearly to pmax at kmax, everything above. When one of --kmin, --kmax, --pmax, --queue is given, \
the others are the paper's: 5 KB, 200 KB, 1 %.

Examples:
  xoff calc ecn --buffer 12MB --ports 32 --headroom 22.4KB
  xoff calc ecn --buffer 12MB --ports 32 --headroom 22.4KB --kmin 5KB \\
      --kmax 200KB --pmax 1%
  xoff calc ecn --buffer 12MB --ports 32 --headroom 22.4KB \\
      --queue 10KB,76.6KB --json | jq .marks

Exit codes: 0 all is well, 2 bad input.";

/// Calculates ECN thresholds
///
/// Prints the largest kmin with which ECN acts before PFC, and the probability of a mark under given settings.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the formulas, their sources and examples.")]
pub struct EcnArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub switch: SharedArgs,
    /// Beta of the dynamic PFC threshold; the paper: 8
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=MAX_BETA))]
    pub beta: u64,
    /// Longest frame of the class with FCS
    #[arg(long, value_name = "BYTES", default_value = "1086B", value_parser = quantities::frame)]
    pub frame: ByteCount,
    /// Queue up to which nothing is marked
    #[arg(long, value_name = "BYTES", value_parser = quantities::bytes)]
    pub kmin: Option<ByteCount>,
    /// Queue above which everything is marked
    #[arg(long, value_name = "BYTES", value_parser = quantities::bytes)]
    pub kmax: Option<ByteCount>,
    /// Probability of a mark at kmax: 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = quantities::probability_ppm)]
    pub pmax: Option<u32>,
    /// Lengths of the queue at which to show the probability [default: quarters from kmin to kmax]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = quantities::bytes)]
    pub queue: Vec<ByteCount>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A result, in bytes.
#[derive(Debug, Serialize)]
struct Plan {
    #[serde(flatten)]
    buffer: SharedBuffer,
    static_pfc_bytes: u64,
    static_ecn_bytes: u64,
    /// Whether a frame fits below the static bound.
    static_feasible: bool,
    beta: u64,
    dynamic_ecn_bytes: u64,
    /// Whether a frame fits below the dynamic bound.
    dynamic_feasible: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    red: Option<Red>,
    /// What RED does; empty without its settings.
    marks: Vec<Mark>,
}

/// The settings of RED.
#[derive(Debug, Serialize)]
struct Red {
    kmin_bytes: u64,
    kmax_bytes: u64,
    pmax: f64,
    /// Whether a queue is marked before PFC can pause, with a static and with a dynamic threshold.
    below_static: bool,
    below_dynamic: bool,
}

/// What RED does at a length of the queue.
#[derive(Debug, Serialize)]
struct Mark {
    queue_bytes: u64,
    probability: f64,
}

/// Runs `xoff calc ecn`.
///
/// # Errors
///
/// Returns an error if the arguments do not fit together or the output cannot be written.
pub(super) fn run(arguments: &EcnArgs, streams: &mut Streams) -> anyhow::Result<()> {
    let thresholds = arguments.switch.thresholds()?;
    let plan = arguments.plan(&thresholds)?;
    match arguments.json {
        true => super::json(&plan, streams),
        false => write(&plan, &thresholds, arguments.frame, streams),
    }
}

impl EcnArgs {
    /// The settings of RED, if any is given.
    fn red(&self) -> anyhow::Result<Option<RedConfig>> {
        if (self.kmin, self.kmax, self.pmax) == (None, None, None) && self.queue.is_empty() {
            return Ok(None);
        }
        let paper = RedConfig::DCQCN;
        let red = RedConfig {
            kmin: self.kmin.unwrap_or(paper.kmin),
            kmax: self.kmax.unwrap_or(paper.kmax),
            pmax_ppm: self.pmax.unwrap_or(paper.pmax_ppm),
            ..paper
        };
        if red.kmin >= red.kmax {
            bail!("--kmin {}: it has to be below kmax, {}", red.kmin, red.kmax);
        }
        Ok(Some(red))
    }

    fn plan(&self, thresholds: &Thresholds) -> anyhow::Result<Plan> {
        let red = self.red()?;
        let (fixed, dynamic) = (thresholds.static_ecn(), thresholds.dynamic_ecn(self.beta));
        Ok(Plan {
            buffer: thresholds.into(),
            static_pfc_bytes: thresholds.static_pfc().get(),
            static_ecn_bytes: fixed.get(),
            static_feasible: fixed >= self.frame,
            beta: self.beta,
            dynamic_ecn_bytes: dynamic.get(),
            dynamic_feasible: dynamic >= self.frame,
            marks: red.map_or_else(Vec::new, |red| self.marks(&red)),
            red: red.map(|red| Red {
                kmin_bytes: red.kmin.get(),
                kmax_bytes: red.kmax.get(),
                pmax: f64::from(red.pmax_ppm) / 1e6,
                below_static: red.kmin < fixed,
                below_dynamic: red.kmin < dynamic,
            }),
        })
    }

    fn marks(&self, red: &RedConfig) -> Vec<Mark> {
        let (kmin, span) = (red.kmin.get(), (red.kmax - red.kmin).get());
        let quarters = (0..=QUARTERS).map(|part| kmin + span * part / QUARTERS);
        let queues: Vec<u64> = match self.queue.is_empty() {
            true => quarters.chain([red.kmax.get() + 1]).collect(),
            false => self.queue.iter().map(|queue| queue.get()).collect(),
        };
        let mark = |queue_bytes: u64| {
            let (part, whole) = red.probability(queue_bytes);
            Mark {
                queue_bytes,
                probability: part as f64 / whole as f64,
            }
        };
        queues.into_iter().map(mark).collect()
    }
}

fn write(
    plan: &Plan,
    thresholds: &Thresholds,
    frame: ByteCount,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let mut table = super::shared::table(thresholds);
    let verdict = |formula: &str, feasible: bool| match feasible {
        true => format!("kmin has to be below {formula}"),
        false => format!(
            "{formula}: infeasible, below one frame of {} bytes",
            grouped(frame.get())
        ),
    };
    let queues = thresholds.queues();
    let (fixed, dynamic) = (plan.static_ecn_bytes, plan.dynamic_ecn_bytes);
    for (name, bytes, source) in [
        (
            "static t_PFC",
            plan.static_pfc_bytes,
            format!("shared / {} queues, rounded down", grouped(queues)),
        ),
        (
            "static t_ECN",
            fixed,
            verdict("t_PFC / ports", plan.static_feasible),
        ),
        (
            "dynamic t_ECN",
            dynamic,
            verdict(
                &format!("β·shared / (queues·(β + 1)), β = {}", plan.beta),
                plan.dynamic_feasible,
            ),
        ),
    ] {
        table.row(Ink::Heading, [name, &grouped(bytes), &source]);
    }
    let Some(red) = &plan.red else {
        return Ok(table.write(streams)?);
    };
    let of_kmin = match (red.below_static, red.below_dynamic) {
        (true, true) => "below both bounds: marks come before PFC".into(),
        (false, true) => {
            "below the dynamic bound alone: with a static PFC threshold pauses may come first"
                .into()
        }
        (true, false) => {
            "below the static bound alone: with a dynamic PFC threshold pauses may come first"
                .into()
        }
        (false, false) => format!(
            "not below {}: PFC may pause before the first mark",
            grouped(fixed.max(dynamic))
        ),
    };
    let of_kmin: String = of_kmin;
    table.row(Ink::Plain, ["kmin", &grouped(red.kmin_bytes), &of_kmin]);
    table.row(
        Ink::Plain,
        [
            "kmax",
            &grouped(red.kmax_bytes),
            "above it every packet is marked",
        ],
    );
    table.write(streams)?;
    writeln!(streams.out)?;
    let mut marks = Table::new([
        ("queue", Align::Right),
        ("probability", Align::Right),
        ("marks", Align::Left),
    ]);
    for mark in &plan.marks {
        let often = match mark.probability {
            0.0 => "none".into(),
            1.0 => "all".into(),
            probability => format!("1 in {:.0}", 1.0 / probability),
        };
        let probability = format!("{:.4} %", 100.0 * mark.probability);
        marks.row(Ink::Plain, [grouped(mark.queue_bytes), probability, often]);
    }
    Ok(marks.write(streams)?)
}
