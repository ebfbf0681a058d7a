//! `xoff calc mtt`: what a NIC's cache of translations costs.

use std::io::Write as _;

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde::Serialize;
use xoff_network::words::grouped;
use xoff_sim::host::{Order, PcieConfig, WorkingSet};
use xoff_sim::nic::ModelNicConfig;
use xoff_sim::nic::translation::plan::{Forecast, Misses, Pattern, Receiver};
use xoff_sim::nic::translation::{PageSize, TranslationConfig};
use xoff_sim::time::{ByteCount, Clock, Duration, Length, LineRate};

use super::quantities;
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};

/// Most QPs that are taken: those of a model NIC.
const MAX_QPS: u64 = 4096;

const HELP: &str = "\
A NIC keeps some translations of addresses (an MTT cache) and reads the others from page tables in the \
host's memory. With E entries and pages of P bytes it covers E·P: 2,048 entries cover 8 MiB with pages of \
4 KiB, 4 GiB with pages of 2 MiB (SIGCOMM 2016, section 4.4).

Misses are counted by running the simulated NIC's cache over the places that messages go to. With n pages \
drawn uniformly 1 − E/n of the lookups miss; a walk through more pages than fit misses each of them.

A miss takes the bus there and back, and receive waits for it: a message takes its misses and two cycles \
of the NIC a packet. If that is more than the line takes for it, the NIC pauses its peer. Each pause \
begins at --xoff and ends at --xon, and takes what is on its way behind both.

The line is full and all of it misses alike. Where misses and line are close, chance decides when it \
pauses, and the number of pauses is too high by up to a third; goodput is right to a few percent.

Examples:
  xoff calc mtt --working-set 4MiB,1GiB,8GiB
  xoff calc mtt --working-set 1GiB --page 4KiB,64KiB --pcie-latency 125ns
  xoff calc mtt --working-set 16MiB --order walk --qps 1 --json \\
      | jq .rows

Exit codes: 0 all is well, 2 bad input.";

/// Calculates what a cache of translations costs
///
/// Prints how much memory a cache covers, how often WRITEs miss it, and what that leaves of goodput.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the model, its limits and examples.")]
pub struct MttArgs {
    /// Memory that the messages of all QPs go through, such as 1GiB; several with commas between
    #[arg(long, value_name = "BYTES", required = true, value_delimiter = ',', value_parser = quantities::buffer)]
    pub working_set: Vec<ByteCount>,
    /// Sizes of pages, powers of two from 4KiB to 2MiB, with commas between
    #[arg(long, value_name = "BYTES", default_value = "4KiB,2MiB", value_delimiter = ',', value_parser = page)]
    pub page: Vec<PageSize>,
    /// Entries of the cache
    #[arg(long, value_name = "N", default_value = "2048")]
    pub entries: u32,
    /// Sets of the cache, which divide the entries [default: a quarter of the entries]
    #[arg(long, value_name = "N")]
    pub sets: Option<u32>,
    /// Places of messages: drawn, or one behind the other
    #[arg(long, value_name = "ORDER", default_value = "uniform")]
    pub order: Places,
    /// QPs that take turns, each with its part of the working set
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u64).range(1..=MAX_QPS))]
    pub qps: u64,
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value = "1KiB", value_parser = message)]
    pub message: ByteCount,
    /// Path MTU: 256 to 4096
    #[arg(long, value_name = "MTU", default_value = "1024", value_parser = quantities::mtu)]
    pub mtu: u64,
    /// Line rate
    #[arg(long, value_name = "RATE", default_value = "40Gb/s")]
    pub rate: LineRate,
    /// Latency between NIC and host memory, one way
    #[arg(long, value_name = "TIME", default_value = "250ns", value_parser = quantities::time)]
    pub pcie_latency: Duration,
    /// Fill of the NIC's receive buffer at which it pauses its peer
    #[arg(long, value_name = "BYTES", default_value = "32KiB", value_parser = quantities::buffer)]
    pub xoff: ByteCount,
    /// Fill at which the peer may send again
    #[arg(long, value_name = "BYTES", default_value = "30KiB", value_parser = quantities::bytes)]
    pub xon: ByteCount,
    /// Length of the cable to the peer
    #[arg(long, value_name = "LENGTH", default_value = "2m", value_parser = quantities::cable)]
    pub cable: Length,
    /// Delay of MAC and PHY in one direction, the sum of both ends
    #[arg(long, value_name = "TIME", default_value = "187.5ns", value_parser = quantities::time)]
    pub interface: Duration,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Places of messages in a working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Places {
    /// Drawn, all with the same chance
    Uniform,
    /// One behind the other, and from the start again
    Walk,
}

/// Reads the size of a page.
fn page(text: &str) -> Result<PageSize, String> {
    let bytes: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    PageSize::new(bytes)
}

/// Reads the size of a message.
fn message(text: &str) -> Result<ByteCount, String> {
    let bytes = quantities::buffer(text)?;
    match bytes.get() <= 1 << 31 {
        true => Ok(bytes),
        false => Err(format!("{bytes}: a message has 2 GiB at most")),
    }
}

/// A result.
#[derive(Debug, Serialize)]
struct Plan {
    entries: u32,
    sets: u32,
    qps: u64,
    message_bytes: u64,
    miss_ns: f64,
    line_gbps: f64,
    rows: Vec<Row>,
}

/// A working set in pages of a size.
#[derive(Debug, Serialize)]
struct Row {
    page_bytes: u64,
    coverage_bytes: u64,
    working_set_bytes: u64,
    pages: u64,
    /// Part of the lookups.
    miss_rate: f64,
    message_ns: f64,
    capacity_gbps: f64,
    goodput_gbps: f64,
    /// Part of the line's payload.
    goodput_part: f64,
    stalled_part: f64,
    pauses_per_second: f64,
}

/// Runs `xoff calc mtt`.
///
/// # Errors
///
/// Returns an error if the arguments do not fit together or the output cannot be written.
pub(super) fn run(arguments: &MttArgs, streams: &mut Streams) -> anyhow::Result<()> {
    let plan = arguments.plan()?;
    match arguments.json {
        true => super::json(&plan, streams),
        false => write(&plan, arguments, streams),
    }
}

impl MttArgs {
    fn cache(&self, page: PageSize) -> anyhow::Result<TranslationConfig> {
        let config = TranslationConfig {
            entries: self.entries,
            sets: self
                .sets
                .unwrap_or(TranslationConfig::sets_of(self.entries)),
            page,
            ..TranslationConfig::default()
        };
        match config.check() {
            Ok(()) => Ok(config),
            Err(wrong) => bail!("--{} {}", wrong.key, wrong.message),
        }
    }

    fn pattern(&self, working_set: ByteCount) -> anyhow::Result<Pattern> {
        let (all, message) = (working_set.get(), self.message.get());
        let step = message * self.qps;
        if all % step != 0 {
            bail!(
                "--working-set {working_set}: a multiple of {} QPs · {} of a message, such as {}",
                self.qps,
                self.message,
                ByteCount::new((all / step).max(1) * step)
            );
        }
        let each = all / self.qps;
        if each > WorkingSet::MOST_BYTES {
            let most = (WorkingSet::MOST_BYTES * self.qps) >> 30;
            bail!(
                "--working-set {working_set}: {} QPs have {most} GiB at most",
                self.qps
            );
        }
        Ok(Pattern {
            qps: self.qps,
            working_set: WorkingSet {
                bytes: each,
                order: match self.order {
                    Places::Uniform => Order::Uniform,
                    Places::Walk => Order::Walk,
                },
                seed: 1,
            },
            message: message as u32,
            mtu: self.mtu as u32,
        })
    }

    fn receiver(&self) -> anyhow::Result<Receiver> {
        if self.xon > self.xoff {
            bail!("--xon {}: at most --xoff, {}", self.xon, self.xoff);
        }
        Ok(Receiver {
            rate: self.rate,
            clock: Clock::new(ModelNicConfig::period(self.rate), Duration::ZERO),
            pcie: PcieConfig {
                latency: self.pcie_latency,
                ..PcieConfig::default()
            },
            jitter: Duration::ZERO,
            xoff: self.xoff.get(),
            xon: self.xon.get(),
            response: Duration::ZERO,
            link: self.cable.delay() + self.interface,
        })
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        let receiver = self.receiver()?;
        let mut rows = Vec::new();
        let mut last = None;
        for page in &self.page {
            let cache = self.cache(*page)?;
            for working_set in &self.working_set {
                let pattern = self.pattern(*working_set)?;
                let misses = pattern.misses(&cache);
                let forecast = receiver.forecast(&pattern, &misses);
                rows.push(row(&cache, &pattern, &misses, &forecast));
                last = Some((cache, forecast));
            }
        }
        let (cache, forecast) = last.expect("a page size and a working set are required");
        Ok(Plan {
            entries: cache.entries,
            sets: cache.sets,
            qps: self.qps,
            message_bytes: self.message.get(),
            miss_ns: forecast.miss_ns,
            line_gbps: forecast.line_bps / 1e9,
            rows,
        })
    }
}

fn row(cache: &TranslationConfig, pattern: &Pattern, misses: &Misses, forecast: &Forecast) -> Row {
    Row {
        page_bytes: cache.page.bytes(),
        coverage_bytes: cache.coverage(),
        working_set_bytes: pattern.qps * pattern.working_set.bytes,
        pages: pattern.pages(cache),
        miss_rate: misses.misses / misses.lookups,
        message_ns: forecast.message_ns,
        capacity_gbps: forecast.capacity_bps / 1e9,
        goodput_gbps: forecast.goodput_bps / 1e9,
        goodput_part: forecast.goodput_bps / forecast.line_bps,
        stalled_part: forecast.stalled,
        pauses_per_second: forecast.pauses,
    }
}

/// Bytes in the largest binary unit of which they are a whole number.
fn binary(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units
        .iter()
        .find(|(bits, _)| bytes != 0 && bytes.trailing_zeros() >= *bits);
    match whole {
        Some((bits, unit)) => format!("{} {unit}", grouped(bytes >> bits)),
        None => format!("{} B", grouped(bytes)),
    }
}

fn write(plan: &Plan, arguments: &MttArgs, streams: &mut Streams) -> anyhow::Result<()> {
    writeln!(
        streams.out,
        "{} entries in {} sets; a miss takes {:.1} ns, the line {:.1} ns for a message of {}: {:.2} Gb/s",
        grouped(plan.entries.into()),
        grouped(plan.sets.into()),
        plan.miss_ns,
        plan.message_bytes as f64 * 8.0 / plan.line_gbps,
        binary(arguments.message.get()),
        plan.line_gbps,
    )?;
    writeln!(streams.out)?;
    let mut table = Table::new(
        [
            "page", "covers", "memory", "pages", "misses", "message", "goodput", "of line",
            "stalled", "pauses/s",
        ]
        .map(|head| (head, Align::Right)),
    );
    for row in &plan.rows {
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        let ink = match row.pauses_per_second > 0.0 {
            true => Ink::Warning,
            false => Ink::Plain,
        };
        table.row(
            ink,
            [
                binary(row.page_bytes),
                binary(row.coverage_bytes),
                binary(row.working_set_bytes),
                grouped(row.pages),
                percent(row.miss_rate),
                format!("{:.1} ns", row.message_ns),
                format!("{:.2} Gb/s", row.goodput_gbps),
                percent(row.goodput_part),
                percent(row.stalled_part),
                grouped(row.pauses_per_second.round() as u64),
            ],
        );
    }
    Ok(table.write(streams)?)
}
