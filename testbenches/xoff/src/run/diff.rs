//! `xoff diff`: differences between two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use xoff_waves::capture::{self, Direction, Reader};
use xoff_waves::results::CAPTURE;

use super::arguments::DiffArgs;
use super::finished::Run;
use super::print::number;
use crate::Outcome;
use crate::terminal::{Ink, Streams};

/// Maximum number of metrics shown, unless all are asked for.
const MOST_SHOWN: usize = 30;

/// Prints the differences between two runs: settings, metrics, and the first different frame of their captures.
///
/// # Errors
///
/// Returns an error if a run cannot be read or did not finish, or if the output cannot be written.
pub fn diff(arguments: &DiffArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let [a, b] = [Run::read(&arguments.a)?, Run::read(&arguments.b)?];
    for run in [&a, &b] {
        run.must_compare(streams)?;
    }
    let settings = changes(&a.settings(), &b.settings());
    let metrics = metric_changes(&a.summary.metrics, &b.summary.metrics);
    let digests = [&a.summary.digest, &b.summary.digest];
    let frame = first_frame(
        [&a, &b]
            .map(|run| run.folder.join(CAPTURE))
            .each_ref()
            .map(PathBuf::as_path),
    )?;
    let paint = streams.paint;
    let out = &mut streams.out;
    let same_run = digests[0] == digests[1];
    if settings.is_empty() && metrics.is_empty() && frame.is_none() && same_run {
        writeln!(out, "the same: digest {}", digests[0])?;
        return Ok(Outcome::Held);
    }
    let heading = |text: &str| paint.paint(Ink::Heading, text.to_owned());
    if digests[0] == digests[1] {
        writeln!(
            out,
            "{} {}, the same frames at the same times",
            heading("digest"),
            digests[0]
        )?;
    } else {
        writeln!(out, "{} {} → {}", heading("digest"), digests[0], digests[1])?;
    }
    if !settings.is_empty() {
        writeln!(out, "{}", heading("settings"))?;
        for (key, [a, b]) in &settings {
            writeln!(out, "  {key}: {a} → {b}")?;
        }
    }
    if !metrics.is_empty() {
        let same = a.summary.metrics.len().max(b.summary.metrics.len()) - metrics.len();
        let counts = format!("{} different, {same} the same", metrics.len());
        writeln!(out, "{} {counts}", heading("metrics"))?;
        let shown = if arguments.all {
            metrics.len()
        } else {
            MOST_SHOWN
        };
        for (name, values) in metrics.iter().take(shown) {
            let [before, after] = values.map(|value| value.map_or("–".into(), number));
            writeln!(out, "  {name}: {before} → {after}{}", relative(*values))?;
        }
        if metrics.len() > shown {
            writeln!(
                out,
                "  and {} more that changed less: --all",
                metrics.len() - shown
            )?;
        }
    }
    if let Some(frame) = frame {
        writeln!(out, "{} {frame}", heading("first frame"))?;
    }
    Ok(Outcome::Failed)
}

/// Returns the differences between two maps; a dash stands for a missing value.
fn changes(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<(String, [String; 2])> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let text = |map: &BTreeMap<String, String>, key| map.get(key).cloned().unwrap_or("–".into());
    let both = keys
        .into_iter()
        .map(|key| (key.clone(), [text(a, key), text(b, key)]));
    both.filter(|(_, [a, b])| a != b).collect()
}

type MetricChange = (String, [Option<f64>; 2]);

/// Returns the metrics that differ, the largest change first. Metrics that only one run has come last.
fn metric_changes(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Vec<MetricChange> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let both = keys
        .into_iter()
        .map(|key| (key.clone(), [a.get(key).copied(), b.get(key).copied()]));
    let mut changed: Vec<MetricChange> = both.filter(|(_, [a, b])| a != b).collect();
    changed.sort_by(|(_, a), (_, b)| change(*b).total_cmp(&change(*a)));
    changed
}

/// Returns the change of a value relative to the larger of both, 0 to 2; −1 when one is missing.
fn change(values: [Option<f64>; 2]) -> f64 {
    match values {
        [Some(a), Some(b)] => (b - a).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE),
        _ => -1.0,
    }
}

/// Formats the relative change, if there is one.
fn relative(values: [Option<f64>; 2]) -> String {
    match values {
        [Some(a), Some(b)] if a != 0.0 => format!(" ({:+.2} %)", (b - a) / a.abs() * 100.0),
        _ => String::new(),
    }
}

/// Describes the first frame in which two captures differ; `None` when they are equal or one of them does not exist.
///
/// # Errors
///
/// Returns an error if a capture cannot be read.
pub fn first_frame(paths: [&Path; 2]) -> anyhow::Result<Option<String>> {
    if !paths.iter().all(|path| path.is_file()) {
        return Ok(None);
    }
    let [mut a, mut b] = [
        capture::open(paths[0]).with_context(|| paths[0].display().to_string())?,
        capture::open(paths[1]).with_context(|| paths[1].display().to_string())?,
    ];
    for number in 1_u64.. {
        let what = match (next(&mut a, paths[0])?, next(&mut b, paths[1])?) {
            (None, None) => return Ok(None),
            (Some(only), None) => format!("{}, in the first run alone", only.text()),
            (None, Some(only)) => format!("{}, in the second run alone", only.text()),
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => a.against(&b),
        };
        return Ok(Some(format!("that is different, number {number}: {what}")));
    }
    Ok(None)
}

/// The compared data of a captured frame.
#[derive(PartialEq)]
struct Seen {
    time_ns: u64,
    port: Option<String>,
    direction: Option<Direction>,
    fcs_ok: bool,
    bytes: Vec<u8>,
}

fn next(reader: &mut Reader<File>, path: &Path) -> anyhow::Result<Option<Seen>> {
    let Some(record) = reader.next() else {
        return Ok(None);
    };
    let record = record.with_context(|| path.display().to_string())?;
    Ok(Some(Seen {
        time_ns: record.time_ns,
        port: (reader.interfaces().get(record.interface)).and_then(|port| port.name.clone()),
        direction: record.direction,
        fcs_ok: record.fcs_ok,
        bytes: record.bytes,
    }))
}

impl Seen {
    /// Describes the differences to the frame in the same place of the other capture.
    fn against(&self, other: &Self) -> String {
        let [a, b] = [self, other].map(Self::text);
        let unequal = |(_, (a, b)): &(usize, (&u8, &u8))| a != b;
        let mut bytes = self.bytes.iter().zip(&other.bytes).enumerate();
        match bytes.find(unequal) {
            Some((place, (x, y))) if a == b => format!("{a}: byte {place} is {x:#04x} → {y:#04x}"),
            _ => format!("{a} → {b}"),
        }
    }

    /// Describes the frame, and when and where it was seen.
    fn text(&self) -> String {
        let parsed = xoff_sim::protocol::parse(&self.bytes);
        let what = match parsed.bth {
            Some(bth) => {
                let icrc = match parsed.icrc_ok {
                    Some(false) => ", ICRC wrong",
                    _ => "",
                };
                format!(
                    "{} PSN {} to QP {:#x}{icrc}",
                    bth.opcode,
                    bth.psn.get(),
                    bth.dest_qp.get()
                )
            }
            None => parsed.verdict.to_string(),
        };
        let fcs = if self.fcs_ok { "" } else { ", FCS wrong" };
        let at = xoff_sim::time::Duration::from_ns(self.time_ns);
        let port = self.port.as_deref().unwrap_or("?");
        let way = match self.direction {
            Some(Direction::Sent) => " sent",
            Some(Direction::Received) => " received",
            None => "",
        };
        format!(
            "{what}, {} bytes{fcs},{way} at {port} at {at}",
            self.bytes.len()
        )
    }
}
