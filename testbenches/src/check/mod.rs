//! `xoff check`: runs the protocol monitors over a capture and prints one row per rule, with the frames that break it.

mod arguments;
mod captures;
mod table;

use std::fmt::Write as _;

use anyhow::bail;
use serde::Serialize;
use xoff_monitor::{FrameCounts, Monitor, Remark, Report, Rule, Sighting, Tally, Tap};
use xoff_sim::time::{Duration, LineRate, Rate, Time};
use xoff_waves::capture::Interface;

pub use arguments::CheckArgs;

use self::captures::Captures;
use crate::Outcome;
use crate::interruption::interrupted;
use crate::terminal::Streams;

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

const HELP: &str = "\
Each interface of a pcapng, such as each port of `xoff run --pcap all`, is a tap, and so is each
pcap of several, which are read in the order of their times. Of frames that were cut behind their
headers (tcpdump -s 128), the headers are judged. What a tap cannot see is not a violation: a loss
before or after it, the beginning of a connection before the capture, the end of the capture.

Examples:
  xoff check loss.pcap                                   one row per rule
  xoff check loss.pcap --json | jq '.violations[]'       for programs
  xoff check out/pair/capture.pcapng --host-port a.0,b.0 --cnp-interval 50us
  xoff check a.pcap b.pcap --host-port a.pcap,b.pcap     captured at both ends of a path
  tcpdump -U -w - -i eth0 -c 10000 | xoff check -        live

Exit codes: 0 no violation, 1 violations, 2 bad input (what was found before it is shown) or no frame that a rule
is about, 130 interrupted (what was found until then is shown).

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
/// Returns an error if a capture cannot be read (violations found before the bad position are written), if no frame in
/// it is one that a rule is about, if an option names no interface of it, or if the output cannot be written.
pub fn run(arguments: &CheckArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut captures = match Captures::open(&arguments.files) {
        Err(_) if interrupted() => return Ok(Outcome::Interrupted),
        captures => captures?,
    };
    let progress = streams.progress_bar(captures.bytes(), false);
    let mut monitor = Monitor::new();
    if let Some(interval) = arguments.cnp_interval {
        monitor = monitor.with_cnp_interval(interval);
    }
    if arguments.json {
        monitor = monitor.keep_all();
    }
    let mut watch = Watch {
        monitor,
        taps: 0,
        begin: None,
        arguments,
    };
    // What is read of a capture that is interrupted may end within a frame.
    let read = match watch.all(&mut captures, &progress) {
        Err(_) if interrupted() => Ok(()),
        read => read,
    };
    progress.finish_and_clear();
    if read.is_ok() && !interrupted() {
        hosts_exist(&arguments.host_port, &captures)?;
    }
    let report = watch.monitor.into_report();
    if arguments.json {
        serde_json::to_writer_pretty(&mut streams.out, &summary(&report))?;
        writeln!(streams.out)?;
    } else {
        table::write(&report, arguments.verbose, streams)?;
    }
    read?;
    if interrupted() {
        let frames = report.frames;
        writeln!(
            streams.err,
            "xoff: interrupted; this is about the first {frames} frames"
        )?;
        return Ok(Outcome::Interrupted);
    }
    if report.kinds.roce + report.kinds.pause == 0 {
        bail!(
            "{}: nothing was checked: {} frames, and no RoCE packet (UDP port 4791, EtherType 0x8915) or pause among them",
            captures.names(),
            report.frames
        );
    }
    Ok(match report.violation_count() {
        0 => Outcome::Held,
        _ => Outcome::Failed,
    })
}

/// Checks that every name of `--host-port` is that of a tap, or of an interface.
fn hosts_exist(hosts: &[String], captures: &Captures) -> anyhow::Result<()> {
    let taps = captures.taps();
    let known = |name: &&String| {
        let named = |(tap, interface): &(String, Interface)| {
            tap == *name || interface.name.as_ref() == Some(name)
        };
        taps.iter().any(named)
    };
    let Some(unknown) = hosts.iter().find(|name| !known(name)) else {
        return Ok(());
    };
    let names: Vec<&str> = (taps.iter())
        .map(|(tap, _)| &tap[..])
        .filter(|tap| !tap.is_empty())
        .collect();
    bail!(
        "{}: --host-port {unknown}: no interface of that name; there are: {}",
        captures.names(),
        names.join(", ")
    )
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

/// Feeds the records of captures to the monitors.
struct Watch<'a> {
    monitor: Monitor,
    /// Number of taps registered so far.
    taps: usize,
    /// Time of the first frame, ns.
    begin: Option<u64>,
    arguments: &'a CheckArgs,
}

impl Watch<'_> {
    fn all(
        &mut self,
        captures: &mut Captures,
        progress: &indicatif::ProgressBar,
    ) -> anyhow::Result<()> {
        while !interrupted()
            && let Some((tap, record)) = captures.next()?
        {
            for (name, interface) in &captures.taps()[self.taps..] {
                let tap = self.tap(name, interface);
                self.monitor.add_tap(tap);
            }
            self.taps = captures.taps().len();
            let since = record
                .time_ns
                .saturating_sub(*self.begin.get_or_insert(record.time_ns));
            self.monitor.see(&Sighting {
                tap,
                number: record.number,
                time: Time::from_ps(since.saturating_mul(PS_PER_NS)),
                direction: record.direction,
                bytes: &record.bytes,
                kept: record.kept,
                fcs_ok: record.fcs_ok,
            });
            // Without one of its packets, a connection breaks rules that it has kept.
            if self.monitor.report().kinds.headless > 0 {
                bail!(
                    "{}: record {}: {} of its {} bytes were recorded, and headers are missing; record at least 128 of \
                     each frame (tcpdump -s 128)",
                    captures.name(tap),
                    record.number,
                    record.kept,
                    record.bytes.len()
                );
            }
            progress.set_position(captures.offset());
        }
        Ok(())
    }

    fn tap(&self, name: &str, interface: &Interface) -> Tap {
        let rate = interface.bits_per_second.map(Rate::from_bits_per_second);
        let named = |host: &String| host == name || interface.name.as_ref() == Some(host);
        Tap {
            host: self.arguments.host_port.iter().any(named),
            orderly: !self.arguments.unordered,
            // A rate that Ethernet does not have cannot be the line rate. Rules about pauses are not applied then.
            rate: self
                .arguments
                .rate
                .or(rate.and_then(|rate| LineRate::try_from(rate).ok())),
            resolution: Duration::from_ps(PS_PER_S.div_ceil(interface.ticks_per_second)),
            ..Tap::new(name.to_owned())
        }
    }
}
