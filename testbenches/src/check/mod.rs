//! `xoff check`: runs the protocol monitors over a capture and prints one row per rule, with the frames that break it.

mod arguments;
mod table;

use std::fmt::Write as _;
use std::io::Read;

use anyhow::bail;
use serde::Serialize;
use xoff_monitor::{FrameCounts, Monitor, Remark, Report, Rule, Sighting, Tally, Tap};
use xoff_sim::time::{Duration, LineRate, Rate, Time};
use xoff_waves::capture::{Interface, Reader};

pub use arguments::CheckArgs;

use crate::Outcome;
use crate::decode;
use crate::terminal::Streams;

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

const HELP: &str = "\
Each interface of a pcapng, such as each port of `xoff run --pcap all`, is a tap. What a tap cannot see is not a
violation: a loss before or after it, the beginning of a connection before the capture, the end of the capture.

Examples:
  xoff check loss.pcap                                   one row per rule
  xoff check loss.pcap --json | jq '.violations[]'       for programs
  xoff check out/pair/capture.pcapng --host-port a.0,b.0 --cnp-interval 50us
  tcpdump -U -w - -i eth0 -c 10000 | xoff check -        live

Exit codes: 0 no violation, 1 violations, 2 bad input (what was found before it is shown).

Rules:
";

/// The long help: examples, and every rule.
pub fn long_help() -> String {
    let mut help = HELP.to_owned();
    for rule in Rule::ALL {
        let _ = writeln!(help, "  {rule}\n      {}", rule.statement());
    }
    help + "\ndocs/monitors.md says what each needs to see."
}

/// What `--json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    frames: u64,
    kinds: FrameCounts,
    rules: Vec<RuleRow>,
    violations: Vec<ViolationRow<'a>>,
    remarks: Vec<&'a Remark>,
}

/// A rule and how often it was applied.
#[derive(Serialize)]
struct RuleRow {
    rule: Rule,
    statement: &'static str,
    #[serde(flatten)]
    tally: Tally,
}

/// A frame that breaks a rule.
#[derive(Serialize)]
struct ViolationRow<'a> {
    rule: Rule,
    frame: u64,
    interface: &'a str,
    /// Time since the first frame of the capture.
    time_ns: u64,
    text: &'a str,
}

/// Runs `xoff check`.
///
/// # Errors
///
/// Returns an error if the capture cannot be read (violations found before the bad position are written), if an option
/// names no interface of it, or if the output cannot be written.
pub fn run(arguments: &CheckArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let (name, input, bytes) = decode::open(&arguments.file)?;
    let mut reader = Reader::new(name.clone(), input)?;
    let progress = streams.progress_bar(bytes, false);
    let mut monitor = Monitor::new();
    if let Some(interval) = arguments.cnp_interval {
        monitor = monitor.with_cnp_interval(interval);
    }
    let mut watch = Watch {
        monitor,
        taps: 0,
        begin: None,
        arguments,
    };
    let read = watch.all(&mut reader, &progress);
    progress.finish_and_clear();
    let hosts = &arguments.host_port;
    let known = |name: &&String| {
        reader
            .interfaces()
            .iter()
            .any(|it| it.name.as_ref() == Some(name))
    };
    if let Some(unknown) = hosts
        .iter()
        .find(|name| !known(name))
        .filter(|_| read.is_ok())
    {
        let names = reader
            .interfaces()
            .iter()
            .filter_map(|it| it.name.as_deref());
        let names: Vec<_> = names.collect();
        bail!(
            "{name}: --host-port {unknown}: no interface of that name; there are: {}",
            names.join(", ")
        );
    }
    let report = watch.monitor.into_report();
    if arguments.json {
        serde_json::to_writer_pretty(&mut streams.out, &summary(&report))?;
        writeln!(streams.out)?;
    } else {
        table::write(&report, arguments.verbose, streams)?;
    }
    read?;
    Ok(match report.violation_count() {
        0 => Outcome::Held,
        _ => Outcome::Failed,
    })
}

fn summary(report: &Report) -> Summary<'_> {
    let rules = report.rules.iter().map(|(rule, tally)| RuleRow {
        rule: *rule,
        statement: rule.statement(),
        tally: *tally,
    });
    let violations = report.violations.iter().map(|it| ViolationRow {
        rule: it.rule,
        frame: it.frame,
        interface: &it.tap,
        time_ns: it.time.as_ps() / PS_PER_NS,
        text: &it.text,
    });
    Summary {
        frames: report.frames,
        kinds: report.kinds,
        rules: rules.collect(),
        violations: violations.collect(),
        remarks: report.remarks.values().collect(),
    }
}

/// Feeds the records of a capture to the monitors.
struct Watch<'a> {
    monitor: Monitor,
    /// Number of interfaces registered as taps so far.
    taps: usize,
    /// Time of the first frame, ns.
    begin: Option<u64>,
    arguments: &'a CheckArgs,
}

impl Watch<'_> {
    fn all(
        &mut self,
        reader: &mut Reader<Box<dyn Read>>,
        progress: &indicatif::ProgressBar,
    ) -> anyhow::Result<()> {
        while let Some(record) = reader.next() {
            let record = record?;
            for interface in &reader.interfaces()[self.taps..] {
                let tap = self.tap(interface);
                self.monitor.add_tap(tap);
            }
            self.taps = reader.interfaces().len();
            let since = record
                .time_ns
                .saturating_sub(*self.begin.get_or_insert(record.time_ns));
            self.monitor.see(&Sighting {
                tap: record.interface,
                number: record.number,
                time: Time::from_ps(since.saturating_mul(PS_PER_NS)),
                direction: record.direction,
                bytes: &record.bytes,
                fcs_ok: record.fcs_ok,
            });
            progress.set_position(reader.offset());
        }
        Ok(())
    }

    fn tap(&self, interface: &Interface) -> Tap {
        let name = interface.name.clone().unwrap_or_default();
        let rate = interface.bits_per_second.map(Rate::from_bits_per_second);
        Tap {
            host: self.arguments.host_port.contains(&name),
            orderly: !self.arguments.unordered,
            // A rate that Ethernet does not have cannot be the line rate. Rules about pauses are not applied then.
            rate: self
                .arguments
                .rate
                .or(rate.and_then(|rate| LineRate::try_from(rate).ok())),
            resolution: Duration::from_ps(PS_PER_S.div_ceil(interface.ticks_per_second)),
            ..Tap::new(name)
        }
    }
}
