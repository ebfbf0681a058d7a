//! Terminal output of a run and of a sweep.

use std::io::{self, Write};

use xoff_network::answer::Cure;
use xoff_network::attach::{Ended, Messages};
use xoff_network::metrics::{Metric, Quantile, Quantity, Subject};
use xoff_network::results::{Exchanged, ToolEnd};
use xoff_network::scenario::Scenario;
use xoff_network::words::count;
use xoff_waves::report::{Finding, FindingKind, State, Summary, Sweep, metric_text, sentence};

use crate::terminal::{Ink, Paint, Streams};

/// Maximum number of flows with a row each. For more flows the distribution is shown.
const MOST_FLOWS: usize = 8;
/// Maximum number of findings of a kind with a line each.
const MOST_FINDINGS: usize = 4;

/// Prints the outcome of a run: expectations, or the main figures if there are none; drops; and the cost of the run.
///
/// # Errors
///
/// Returns an error if the output cannot be written.
pub fn run(streams: &mut Streams, scenario: &Scenario, summary: &Summary) -> io::Result<()> {
    let paint = streams.paint;
    let out = &mut streams.out;
    let title = format!("{}: {}", scenario.name, scenario.title);
    writeln!(out, "{}", paint.paint(Ink::Heading, title))?;
    if let Some(answer) = &summary.answer {
        let ink = if answer.broke { Ink::Bad } else { Ink::Good };
        writeln!(out, "  {}", paint.paint(ink, &answer.headline))?;
        for cure in &answer.cures {
            writeln!(out, "  {}: {}", cure.word(), in_words(cure))?;
        }
    }
    for expectation in &summary.expectations {
        let (word, ink) = if expectation.held {
            ("held  ", Ink::Good)
        } else {
            ("FAILED", Ink::Bad)
        };
        let measured = match expectation.measured {
            Some(value) => format!("measured {}", number(value)),
            None => "not measured".into(),
        };
        writeln!(
            out,
            "  {} {}: {measured}, expected {} {}",
            paint.paint(ink, word),
            expectation.metric,
            expectation.op.sign(),
            number(expectation.value),
        )?;
    }
    if summary.expectations.is_empty() {
        figures(out, summary)?;
    }
    for drop in &summary.drops {
        writeln!(
            out,
            "  dropped at {}: {} ({})",
            drop.node, drop.count, drop.reason
        )?;
    }
    watched(out, summary)?;
    findings(out, &paint, &summary.findings)?;
    for note in &summary.notes {
        writeln!(out, "  {}: {note}", paint.paint(Ink::Warning, "note"))?;
    }
    if let Some(monitored) = &summary.monitored {
        writeln!(out, "  monitors: {monitored}")?;
    }
    for tool in summary.attached.iter().flat_map(|attached| &attached.tools) {
        attached(out, &paint, tool)?;
    }
    for fault in &summary.faults {
        if let Some(unused) = fault.unused() {
            let unused = paint.paint(Ink::Warning, unused);
            writeln!(
                out,
                "  fault rule {unused}: '{}' ({})",
                fault.rule, fault.place
            )?;
        }
    }
    for injection in &summary.injections {
        writeln!(out, "  {injection}")?;
    }
    if summary.state == State::Interrupted {
        writeln!(out, "  {}", sentence(summary))?;
    }
    if let Some(exchanged) = &summary.exchange {
        writeln!(out, "  exchange: {}", exchange(exchanged, summary.wall_s))?;
    }
    let (cycles, evaluated) = (summary.nic_cycles, summary.nic_cycles_evaluated);
    let cycles = match cycles {
        0 => String::new(),
        _ => {
            let part = evaluated as f64 / cycles as f64 * 100.0;
            format!("{part:.1} % of {cycles} NIC cycles evaluated; ")
        }
    };
    writeln!(
        out,
        "  {} of simulated time in {:.1} s; {cycles}digest {}",
        xoff_sim::time::Duration::from_ns(summary.duration_ns),
        summary.wall_s,
        summary.digest,
    )
}

/// What became of the tool of a host.
fn attached(out: &mut impl Write, paint: &Paint, tool: &ToolEnd) -> io::Result<()> {
    let (ink, words) = match &tool.ended {
        Ended::Complete => (Ink::Good, "complete".to_owned()),
        Ended::Running => (Ink::Bad, "not complete".into()),
        Ended::Changed => (Ink::Bad, "messages came changed".into()),
        Ended::Failed(why) | Ended::Refused(why) => (Ink::Bad, why.clone()),
    };
    let Messages { sent, received, .. } = tool.messages;
    writeln!(
        out,
        "  the tool of {}: {}, {sent} messages sent, {received} received",
        tool.host,
        paint.paint(ink, words)
    )
}

/// What the ranks of a run that took so many seconds exchanged.
fn exchange(exchanged: &Exchanged, wall_s: f64) -> String {
    let count = |count: u64| metric_text("", count as f64);
    let part = |waited: &f64| format!("{:.0} %", 100.0 * waited / wall_s.max(1e-9));
    let waited: Vec<String> = exchanged.waited_s.iter().map(part).collect();
    format!(
        "{} ranks, {} windows, {} frames, {} in all; waited for others {} of the time",
        exchanged.parts,
        count(exchanged.windows),
        count(exchanged.frames),
        metric_text("_bytes", exchanged.bytes as f64),
        waited.join(", "),
    )
}

/// A cure in a line: what `--set` takes, and what it does.
fn in_words(cure: &Cure) -> String {
    let (shown, more) = cure.shown();
    let set = shown.iter().map(|set| format!("--set '{set}' "));
    let mut text: String = set.collect();
    match more {
        0 => {}
        more => text += &format!("and {more} more in summary.json "),
    }
    match text.is_empty() {
        true => cure.why.clone(),
        false => format!("{}: {}", text.trim_end(), cure.why),
    }
}

/// Prints what a policy did, what probes met by how far they go, and how available servers were.
fn watched(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let ns = |ns: u64| metric_text("_ns", ns as f64);
    if !summary.onboarding.is_empty() {
        let begun = summary
            .onboarding
            .iter()
            .filter(|stage| stage.from_ns.is_some());
        let (begun, all) = (begun.count(), summary.onboarding.len());
        writeln!(out, "  onboarding: {begun} of {all} stages were let in")?;
    }
    if let Some(policy) = &summary.policy {
        let looks = count(policy.looks, "time", "times");
        let changes = count(policy.changes.len() as u64, "change", "changes");
        writeln!(
            out,
            "  policy {}: looked {looks} and made {changes}",
            policy.name
        )?;
    }
    for probes in &summary.probes {
        let latency = probes
            .latency_ns
            .map_or("none answered".into(), |[p50, p99, p999, _]| {
                format!("p50 {}, p99 {}, p99.9 {}", ns(p50), ns(p99), ns(p999))
            });
        let failed = probes
            .failed
            .iter()
            .map(|(reason, count)| format!(", {count} {}", reason.words()));
        let failed: String = failed.collect();
        writeln!(
            out,
            "  probes, {}: {} answered of {} pairs, {latency}{failed}",
            probes.reach, probes.answered, probes.pairs
        )?;
    }
    if let Some(servers) = &summary.servers {
        writeln!(
            out,
            "  {} servers over {} intervals of {}: available for {} of the time",
            servers.number,
            servers.intervals.len(),
            xoff_sim::time::Duration::from_ns(servers.interval_ns),
            servers.availability_text(),
        )?;
    }
    Ok(())
}

/// Prints a line for each finding; of many of one kind, the first.
fn findings(out: &mut dyn Write, paint: &Paint, findings: &[Finding]) -> io::Result<()> {
    for of_kind in findings.chunk_by(|a, b| a.kind == b.kind) {
        for finding in of_kind.iter().take(MOST_FINDINGS) {
            let ink = match finding.kind {
                FindingKind::Deadlock | FindingKind::Storm | FindingKind::Violation => Ink::Bad,
                _ => Ink::Warning,
            };
            let kind = paint.paint(ink, finding.kind.words());
            writeln!(out, "  {kind}: {}", finding.text)?;
        }
        if let more @ 1.. = of_kind.len().saturating_sub(MOST_FINDINGS) {
            let kind = of_kind[0].kind.words();
            writeln!(out, "  {kind}: {more} more in summary.json")?;
        }
    }
    Ok(())
}

/// What was measured, if it was.
fn value(summary: &Summary, metric: Metric) -> Option<f64> {
    summary.metrics.get(&metric.to_string()).copied()
}

/// A value with the unit that its name says.
fn shown(name: &str, value: Option<f64>) -> String {
    value.map_or("–".into(), |value| metric_text(name, value))
}

/// A row a flow, or the distribution of many: goodput, messages and their latency.
fn flow_rows(summary: &Summary) -> Vec<[String; 5]> {
    let value = |metric| value(summary, metric);
    let rate = |gbps: Option<f64>| shown("_bps", gbps.map(|gbps| gbps * 1e9));
    let flows: Vec<(&str, [Option<f64>; 4])> = (summary.metrics.keys())
        .filter_map(|name| {
            let flow = name.strip_prefix("goodput_gbps.")?;
            let latency = |quantile| {
                value(Metric {
                    quantity: Quantity::MessageLatencyNs,
                    subject: Subject::Quantile(flow.into(), quantile),
                })
            };
            let figures = [
                value(Metric::flow(Quantity::GoodputGbps, flow)),
                value(Metric::flow(Quantity::Messages, flow)),
                latency(Quantile::P50),
                latency(Quantile::P99),
            ];
            (flow != "total").then_some((flow, figures))
        })
        .collect();
    let mut rows = vec![["flow", "goodput", "messages", "latency p50", "p99"].map(String::from)];
    let row = |name: &str, [goodput, messages, p50, p99]: [Option<f64>; 4]| {
        [
            name.to_owned(),
            rate(goodput),
            shown("", messages),
            shown("_ns", p50),
            shown("_ns", p99),
        ]
    };
    if flows.len() <= MOST_FLOWS {
        rows.extend(flows.iter().map(|(name, figures)| row(name, *figures)));
    } else {
        for (name, part) in [("least", 0.0), ("median", 0.5), ("greatest", 1.0)] {
            let figures = std::array::from_fn(|column| {
                let column = flows.iter().filter_map(|(_, figures)| figures[column]);
                let mut column: Vec<f64> = column.collect();
                column.sort_by(f64::total_cmp);
                let place = part * column.len().saturating_sub(1) as f64;
                column.get(place.round() as usize).copied()
            });
            rows.push(row(&format!("{name} of {}", flows.len()), figures));
        }
    }
    if flows.len() > 1 {
        let total = [Quantity::GoodputGbps, Quantity::Messages].map(|of| value(Metric::total(of)));
        rows.push(row("in all", [total[0], total[1], None, None]));
    }
    rows
}

/// Prints goodput and latency of flows, and what went wrong, in a few lines.
fn figures(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let value = |metric| value(summary, metric);
    table(out, &flow_rows(summary))?;
    for name in summary.metrics.keys() {
        let Some(workload) = name.strip_prefix("flows_unfinished.") else {
            continue;
        };
        // Rounds of a job are what counts of it.
        if summary.jobs.iter().any(|job| job.name == workload) {
            continue;
        }
        let slowdown = |quantile| {
            let metric = Metric {
                quantity: Quantity::Slowdown,
                subject: Subject::Quantile(workload.into(), quantile),
            };
            shown("", value(metric))
        };
        let [p50, p99, p999] = [Quantile::P50, Quantile::P99, Quantile::P999].map(slowdown);
        let open = shown("", value(Metric::flow(Quantity::FlowsUnfinished, workload)));
        writeln!(
            out,
            "  slowdown of {workload}: p50 {p50}, p99 {p99}, p99.9 {p999}; {open} flows unfinished"
        )?;
    }
    for job in &summary.jobs {
        let time = |ns: Option<u64>| ns.map_or("–".into(), |ns| metric_text("_ns", ns as f64));
        let (median, longest) = (time(job.median_ns), time(job.longest_ns));
        let rate = job.bus_bandwidth_gbps;
        let rate = rate.map_or(String::new(), |rate| {
            format!(", {}", metric_text("_bps", rate * 1e9))
        });
        writeln!(
            out,
            "  {} ({} of {}): {} over, median {median}, longest {longest}{rate}",
            job.name, job.kind, job.hosts, job.rounds
        )?;
    }
    let count = |quantity, what: &str| {
        let count = value(Metric::total(quantity)).unwrap_or(0.0);
        format!("{} {what}", metric_text("", count))
    };
    let counts = [
        count(Quantity::Drops, "frames dropped"),
        count(Quantity::PauseFramesTx, "pause frames"),
        count(Quantity::RetransmittedPackets, "packets sent again"),
        count(Quantity::CnpsTx, "CNPs"),
    ];
    writeln!(out, "  {}", counts.join(", "))?;
    let wrong = [
        (Quantity::PayloadErrors, "bytes wrong"),
        (Quantity::CompletionErrors, "completions wrong"),
        (Quantity::FailedQps, "QPs failed"),
    ];
    for (quantity, what) in wrong {
        let count = value(Metric::network(quantity)).unwrap_or(0.0);
        if count > 0.0 {
            writeln!(out, "  {} {what}", metric_text("", count))?;
        }
    }
    Ok(())
}

/// Prints the table of a sweep.
///
/// # Errors
///
/// Returns an error if the output cannot be written.
pub fn sweep(streams: &mut Streams, sweep: &Sweep) -> io::Result<()> {
    let rows: Vec<Vec<String>> = [sweep.head()].into_iter().chain(sweep.rows()).collect();
    table(&mut *streams.out, &rows)?;
    for over in sweep.over_seeds() {
        writeln!(streams.out, "over the seeds, {}:", over.title)?;
        table(&mut *streams.out, &over.rows)?;
    }
    Ok(())
}

/// Prints aligned columns: the first left-aligned, the others right-aligned.
pub(super) fn table<R: AsRef<[String]>>(out: &mut dyn Write, rows: &[R]) -> io::Result<()> {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row.as_ref()[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (place, (text, width)) in row.as_ref().iter().zip(&widths).enumerate() {
            line += &match place {
                0 => format!("  {text:width$}"),
                _ => format!("  {text:>width$}"),
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Formats a number with at most four decimals and without trailing zeros; from 10⁵ on without decimals.
pub fn number(value: f64) -> String {
    if value.abs() >= 1e5 || value == value.trunc() {
        return format!("{value:.0}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}
