//! `xoff check`: runs the protocol monitors over a capture and prints one row per rule, with the frames that break it.

mod arguments;
mod captures;
mod host_port;
mod table;
mod unseen;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::bail;
use serde::Serialize;
use xoff_monitor::{FrameCounts, Monitor, Remark, Report, Rule, Sighting, Tally, Tap};
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::time::{Duration, LineRate, Rate, Time};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_waves::capture::{Direction, Filled, Interface, Record};

pub use arguments::CheckArgs;

use self::captures::Captures;
use self::host_port::Directions;
use self::unseen::Unseen;
use crate::Outcome;
use crate::interruption::interrupted;
use crate::terminal::Streams;

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

const HELP: &str = "\
Each interface of a pcapng, such as each port of `xoff run --pcap all`, is a tap, and so is each \
pcap of several, which are read in the order of their times. Of frames that were cut behind their \
headers (tcpdump -s 128), the headers are judged. Packets of Linux cooked captures (tcpdump -i any; \
each device is a tap, such as if2) and of raw IP are judged as those of Ethernet, but for pauses. Of \
frames in tunnels (VXLAN, GENEVE, GRE, NVGRE, ERSPAN, MPLS, IP in IP) those inside are judged, by the \
class and the marks of what was on the line. \
What a tap cannot see is not a violation: a loss before or after it, the beginning of a connection \
before the capture, the end of the capture.

Examples:
  # one row per rule
  xoff check loss.pcap
  # for programs
  xoff check loss.pcap --json | jq '.violations[]'
  xoff check out/pair/capture.pcapng --host-port a.0,b.0 --cnp-interval 50us
  # two ends of a path, one a host's port
  xoff check a.pcap b.pcap --host-port a.pcap=192.0.2.1
  # of a device known to set a reserved bit
  xoff check nic.pcap --breaks bth-reserved
  # live
  tcpdump -U -w - -i eth0 -c 10000 | xoff check -

Exit codes: 0 no violation but of rules of --breaks, 1 violations, 2 bad input (what was found before it is shown) or no frame that a rule \
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
    /// What was not judged, or not in every way.
    unseen: &'a Unseen,
    rules: Vec<RuleRow>,
    violations: Vec<ViolationRow<'a>>,
    /// Violations of the rules that are known to be broken.
    by_design: Vec<ViolationRow<'a>>,
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
        hosts: Vec::new(),
        unseen: Unseen::default(),
        arguments,
    };
    // What is read of a capture that is interrupted may end within a frame.
    let read = match watch.all(&mut captures, &progress) {
        Err(_) if interrupted() => Ok(()),
        read => read,
    };
    progress.finish_and_clear();
    if read.is_ok() && !interrupted() {
        hosts_exist(arguments, &captures)?;
    }
    let report = watch.monitor.into_report();
    let by_design: BTreeSet<Rule> = arguments.breaks.iter().copied().collect();
    if arguments.json {
        serde_json::to_writer_pretty(
            &mut streams.out,
            &summary(&report, &by_design, &watch.unseen),
        )?;
        writeln!(streams.out)?;
    } else {
        table::write(&report, &by_design, arguments.verbose, streams)?;
        watch.unseen.write(&mut streams.out)?;
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
            "{}: nothing was checked: {} frames, and no RoCE packet (UDP port 4791, EtherType 0x8915) or pause among \
             them{}",
            captures.names(),
            report.frames,
            watch.unseen.others()
        );
    }
    Ok(
        match report.violation_count() - known(&report, &by_design) {
            0 => Outcome::Held,
            _ => Outcome::Failed,
        },
    )
}

/// Number of violations of the rules that are known to be broken.
fn known(report: &Report, by_design: &BTreeSet<Rule>) -> u64 {
    by_design
        .iter()
        .map(|rule| report.violations_of(*rule))
        .sum()
}

/// Checks that every name of `--host-port` is that of a tap, of an interface or of a capture.
fn hosts_exist(arguments: &CheckArgs, captures: &Captures) -> anyhow::Result<()> {
    let taps = 0..captures.taps().len();
    let known = |name: &str| taps.clone().any(|tap| captures.is_named(tap, name));
    let Some(unknown) = (arguments.host_port.iter()).find(|host| !known(&host.name)) else {
        return Ok(());
    };
    let names: Vec<&str> = taps.clone().map(|tap| captures.tap_name(tap)).collect();
    bail!(
        "{}: --host-port {}: no interface of that name; there are: {}",
        captures.names(),
        unknown.name,
        names.join(", ")
    )
}

fn summary<'a>(report: &'a Report, by_design: &BTreeSet<Rule>, unseen: &'a Unseen) -> Summary<'a> {
    let rules = report.rules.iter().map(|(rule, tally)| RuleRow {
        rule,
        statement: rule.statement(),
        tally: *tally,
    });
    let (by_design, violations) = (report.violations.iter())
        .map(|it| ViolationRow {
            rule: it.rule,
            frame: it.frame,
            interface: &it.tap,
            time_ns: it.time.as_ps() / PS_PER_NS,
            text: &it.text,
        })
        .partition(|row: &ViolationRow<'_>| by_design.contains(&row.rule));
    Summary {
        frames: report.frames,
        kinds: report.kinds,
        unseen,
        rules: rules.collect(),
        violations,
        by_design,
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
    /// For each tap that is the port of a host whose address is given: what it needs to find directions.
    hosts: Vec<Option<Directions>>,
    unseen: Unseen,
    arguments: &'a CheckArgs,
}

/// Marks a packet as the end of its tunnels does.
fn mark_as_outside(record: &Record, frame: &mut Filled<'_>) {
    if record.tunnels.is_empty() {
        return;
    }
    let ip = Headers::at(&frame.bytes).and_then(|headers| headers.ip);
    if let Some(ip) = ip.filter(|ip| record.is_marked_outside(ip.traffic_class)) {
        rewrite::mark_ce(frame.bytes.to_mut(), &ip);
    }
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
            for number in self.taps..captures.taps().len() {
                self.add_tap(number, captures);
            }
            self.taps = captures.taps().len();
            self.unseen.add(&record);
            let Some(mut filled) = record.filled() else {
                unseen::is_no_roce(&record, captures.name(tap))?;
                continue;
            };
            let direction = self.direction(tap, &record, &filled, captures)?;
            mark_as_outside(&record, &mut filled);
            let since = record
                .time_ns
                .saturating_sub(*self.begin.get_or_insert(record.time_ns));
            self.monitor.see(&Sighting {
                tap,
                number: record.number,
                time: Time::from_ps(since.saturating_mul(PS_PER_NS)),
                direction,
                bytes: &filled.bytes,
                line: record.line.as_deref(),
                kept: filled.kept,
                addressed: filled.addressed,
                fcs_ok: record.fcs_ok,
            });
            // Without one of its packets, a connection breaks rules that it has kept.
            if self.monitor.report().kinds.headless > 0 {
                bail!(
                    "{}: record {}: {} of its {} bytes were recorded, and headers are missing; record at least 128 of \
                     each frame (tcpdump -s 128)",
                    captures.name(tap),
                    record.number,
                    record.bytes.len(),
                    record.length
                );
            }
            progress.set_position(captures.offset());
        }
        Ok(())
    }

    fn add_tap(&mut self, number: usize, captures: &Captures) {
        let (name, interface) = &captures.taps()[number];
        let hosts = &self.arguments.host_port;
        let host = hosts
            .iter()
            .find(|host| captures.is_named(number, &host.name));
        let tap = self.tap(name, interface, host.is_some());
        self.monitor.add_tap(tap);
        let address = host.and_then(|host| host.address);
        self.hosts.push(address.map(Directions::new));
    }

    /// The direction of a frame, as the capture or else the host's address says.
    fn direction(
        &mut self,
        tap: usize,
        record: &Record,
        frame: &Filled<'_>,
        captures: &Captures,
    ) -> anyhow::Result<Option<Direction>> {
        if record.direction.is_some() {
            return Ok(record.direction);
        }
        if let Some(directions) = &mut self.hosts[tap] {
            return Ok(directions.of(frame));
        }
        let hosts = &self.arguments.host_port;
        let Some(host) = hosts.iter().find(|host| captures.is_named(tap, &host.name)) else {
            return Ok(None);
        };
        // Which of the two hosts of a packet it is cannot be seen.
        let parsed: ParsedFrame = xoff_sim::protocol::parse(&frame.bytes);
        if !parsed.verdict.is_roce() {
            return Ok(None);
        }
        let (src, dst) = crate::row::addresses(&parsed).unwrap_or_default();
        bail!(
            "{}: record {}: --host-port {name}: the frames have no direction, so that the host's address is needed: \
             {name}={src} or {name}={dst}",
            captures.name(tap),
            record.number,
            name = host.name
        )
    }

    fn tap(&self, name: &str, interface: &Interface, host: bool) -> Tap {
        let rate = interface.bits_per_second.map(Rate::from_bits_per_second);
        Tap {
            host,
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
