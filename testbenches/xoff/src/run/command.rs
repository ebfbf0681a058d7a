//! The command `xoff run`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use xoff_network::scenario::{NicKind, Scenario};
use xoff_network::{Endpoints, Run, WaveWindow};
use xoff_sim::time::Time;
use xoff_waves::fabric::FABRIC;
use xoff_waves::layout::{Beside, Layout, Marker, nic_layout};
use xoff_waves::read::types::EXTENSION as TYPES;
use xoff_waves::report::{Report, State, Summary, Sweep, SweepPoint};
use xoff_waves::results::{
    CAPTURE, FLOWS, METRICS, OutDir, PICTURE, RECORDED, REPORT, SERIES, SERVERS, SPANS, SUMMARY,
};

use super::arguments::{RunArgs, SweepArg};
use super::checkpoint::{Checkpoints, Resume};
use super::execute::{self, RunOptions};
use super::planned::{Planned, PlannedRun, plan};
use super::{print, recorded};
use crate::Outcome;
use crate::interruption::interrupted;
use crate::ranks::Ranks;
use crate::scenario_file::Setting;
use crate::shell;
use crate::terminal::{Ink, Streams};

/// The run at the checkpoint of `--resume`, in each rank. The leading one chooses it.
fn resumed(
    resume: Option<Resume>,
    planned: &PlannedRun,
    ranks: &Ranks,
) -> anyhow::Result<Option<Run>> {
    let options = &planned.options;
    let (Some(resume), Some((out, every))) = (resume, &options.checkpoints) else {
        return Ok(None);
    };
    let scenario = planned.scenario.written();
    let checkpoints = Checkpoints::new(out, scenario, options.no_skip, *every);
    let chosen = ranks.leads().then(|| checkpoints.choose(resume));
    let chosen = ranks.agree(chosen.transpose())?;
    let chosen = ranks.of_leader(chosen)?;
    let run = chosen.map(|chosen| chosen.resume(&options.endpoints));
    ranks.agree(run.transpose())
}

/// Has parts of the networks of runs, one after the other, as long as the leading rank begins another one.
fn obey(
    mut checkpoint: Option<Run>,
    runs: Vec<PlannedRun>,
    ranks: &Ranks,
) -> anyhow::Result<Outcome> {
    let mut runs = runs.into_iter();
    while ranks.begin(false)?
        && let Some(planned) = runs.next()
    {
        execute::obey(checkpoint.take(), &planned.scenario, &planned.options)?;
    }
    Ok(Outcome::Held)
}

/// Runs a scenario, or one run per combination of a sweep.
///
/// # Errors
///
/// Returns an error for invalid input (before anything is run), for files that cannot be written, and for a failing RTL
/// assertion.
pub fn run(
    arguments: &RunArgs,
    endpoints: &Endpoints,
    ranks: &Ranks,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let Planned {
        name: source,
        title,
        folder: of_scenario,
        runs,
    } = ranks.agree(plan(arguments, endpoints, ranks, streams))?;
    let mut checkpoint = match &runs[..] {
        [planned] => resumed(arguments.resume, planned, ranks)?,
        _ => None,
    };
    if !ranks.leads() {
        return obey(checkpoint, runs, ranks);
    }
    let mut points = Vec::new();
    for planned in runs {
        ranks.begin(true)?;
        let folder = OutDir::create(&arguments.out, &planned.name)?;
        let (mut report, triggered) = run_in(&folder, checkpoint.take(), &planned)?;
        if let (Some(edge), Some(condition)) = (triggered, &arguments.wave_when) {
            let at = edge.since_start();
            writeln!(
                streams.err,
                "xoff: --wave-when '{condition}': holds first at {at}"
            )?;
        }
        let files = Files::write(&folder, &planned, &mut report, triggered, &of_scenario)?;
        if !arguments.json {
            print::run(streams, &planned.scenario, &report.summary)?;
            files.tell(streams)?;
        }
        points.push(SweepPoint {
            values: planned.values,
            report: format!("../{}/{REPORT}", planned.name),
            summary: report.summary,
            charts: report.charts,
        });
        if interrupted() {
            writeln!(
                streams.err,
                "xoff: interrupted; what was measured until then is in {}",
                folder.path().display()
            )?;
            break;
        }
    }
    ranks.begin(false)?;
    if arguments.json {
        write_json(arguments, &points, streams)?;
    }
    let lost = points
        .iter()
        .find_map(|point| point.summary.attached.as_ref()?.error.as_ref());
    if let Some(why) = lost {
        bail!(
            "--attach: {why}; what was measured until then is in {}",
            arguments.out.display()
        );
    }
    let held = points.iter().all(|point| point.summary.held());
    if !arguments.sweep.is_empty() {
        let keys = arguments.sweep.iter().map(|sweep| sweep.key.clone());
        let sweep = Sweep {
            title,
            command: sweep_command(arguments),
            keys: keys.collect(),
            points,
            ..Sweep::default()
        };
        write_sweep(arguments, &format!("{source}-sweep"), &sweep, streams)?;
    }
    Ok(match (interrupted(), held) {
        (true, _) => Outcome::Interrupted,
        (_, true) => Outcome::Held,
        (_, false) => Outcome::Failed,
    })
}

/// Makes a run whose summary in the folder says how it stands. Also returns the edge of its trigger.
fn run_in(
    folder: &OutDir,
    checkpoint: Option<Run>,
    planned: &PlannedRun,
) -> anyhow::Result<(Report, Option<Time>)> {
    let PlannedRun {
        scenario, options, ..
    } = planned;
    let files = files(scenario, options);
    folder.begin(&scenario.name, &files)?;
    match execute::run_from(checkpoint, scenario, options) {
        Ok((mut report, triggered)) => {
            report.summary.files = files;
            Ok((report, triggered))
        }
        Err(error) => {
            let failed = Summary {
                scenario: scenario.name.clone(),
                state: State::Failed,
                files,
                ..Summary::default()
            };
            // The reason why the run failed is more important than an error of writing this.
            let _ = folder.write_summary(&failed);
            Err(error)
        }
    }
}

/// The files of a run that its output names.
struct Files {
    page: PathBuf,
    /// The scenario of a run with a policy, without it.
    recorded: Option<PathBuf>,
    /// Files of waves, with the layouts of viewers.
    waves: Vec<(PathBuf, Beside)>,
}

impl Files {
    /// Writes all files of a run but those that grew with it.
    fn write(
        folder: &OutDir,
        planned: &PlannedRun,
        report: &mut Report,
        triggered: Option<Time>,
        of_scenario: &Path,
    ) -> anyhow::Result<Self> {
        let mut without = None;
        if let Some(policy) = &mut report.summary.policy {
            let text = recorded::text(planned.scenario.written(), policy, of_scenario)?;
            without = Some(folder.write(RECORDED, |file| file.write_all(text.as_bytes()))?);
            policy.recorded = Some(RECORDED.into());
        }
        Ok(Self {
            recorded: without,
            waves: layouts(&planned.options, &planned.scenario, triggered)?,
            page: folder.write_all(report)?,
        })
    }

    /// Prints where they are.
    fn tell(&self, streams: &mut Streams) -> std::io::Result<()> {
        writeln!(streams.out, "  report: {}", self.page.display())?;
        if let Some(path) = &self.recorded {
            let path = shell::path(path);
            writeln!(
                streams.out,
                "  without the policy, its changes as events: xoff run {path}"
            )?;
        }
        for (waves, beside) in &self.waves {
            let files = [waves, &beside.gtkwave, &beside.start, &beside.surfer];
            let [waves, gtkwave, start, surfer] = files.map(|path| shell::path(path));
            writeln!(streams.out, "  waves: gtkwave -S {start} {waves} {gtkwave}")?;
            writeln!(
                streams.out,
                "      or surfer --command-file {surfer} {waves}"
            )?;
        }
        Ok(())
    }
}

/// Prints the summary of a run, or a list of those of a sweep.
fn write_json(
    arguments: &RunArgs,
    points: &[SweepPoint],
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let summaries: Vec<&Summary> = points.iter().map(|point| &point.summary).collect();
    match &summaries[..] {
        [one] if arguments.sweep.is_empty() => serde_json::to_writer_pretty(&mut streams.out, one)?,
        all => serde_json::to_writer_pretty(&mut streams.out, all)?,
    }
    Ok(writeln!(streams.out)?)
}

/// Returns the names of the files that a run may write into its folder.
fn files(scenario: &Scenario, options: &RunOptions) -> Vec<String> {
    let mut files = [
        SUMMARY, SERIES, FLOWS, METRICS, SPANS, SERVERS, REPORT, PICTURE,
    ]
    .map(String::from)
    .to_vec();
    files.extend(scenario.policy.as_ref().map(|_| RECORDED.into()));
    files.extend(options.capture.as_ref().map(|_| CAPTURE.into()));
    let triggered = options.trigger.iter().map(|trigger| &trigger.host[..]);
    let network = options.fabric.iter().map(|_| FABRIC);
    let hosts = options.waves.iter().map(|(host, _)| &host[..]);
    for host in hosts.chain(triggered).chain(network) {
        let endings = ["fst", TYPES].into_iter().chain(Beside::EXTENSIONS);
        files.extend(endings.map(|ending| format!("{host}.{ending}")));
    }
    files
}

/// Writes the table, picture and page of the sweep, and prints the table.
fn write_sweep(
    arguments: &RunArgs,
    name: &str,
    sweep: &Sweep,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let folder = OutDir::create(&arguments.out, name)?;
    folder.write("sweep.csv", |file| sweep.write_csv(file))?;
    if let Some(first) = sweep.charts().first() {
        folder.write_chart("sweep.svg", first)?;
    }
    let page = folder.write("sweep.html", |file| file.write_all(sweep.html().as_bytes()))?;
    if !arguments.json {
        let heading = format!("sweep over {}", sweep.keys.join(", "));
        writeln!(
            streams.out,
            "{}",
            streams.paint.paint(Ink::Heading, heading)
        )?;
        print::sweep(streams, sweep)?;
        writeln!(streams.out, "  report: {}", page.display())?;
    }
    Ok(())
}

/// Writes the viewer layouts beside each host's wave file, and returns all wave files with their layouts, the network's
/// last. A host whose window an interrupted run did not reach gets none. `triggered` is the edge to mark.
fn layouts(
    options: &RunOptions,
    scenario: &Scenario,
    triggered: Option<Time>,
) -> anyhow::Result<Vec<(PathBuf, Beside)>> {
    let of_window = |(host, window): &(String, WaveWindow)| (host.clone(), window.path.clone());
    let of_trigger = options.trigger.iter();
    let of_trigger = of_trigger.map(|trigger| (trigger.host.clone(), trigger.path.clone()));
    let all = options.waves.iter().map(of_window).chain(of_trigger);
    let marker = triggered.map(|edge| Marker {
        name: "trigger".into(),
        time_ps: edge.as_ps(),
    });
    let network = (options.fabric.iter())
        .filter(|(path, _)| path.exists())
        .map(|(path, _)| Ok((path.clone(), Beside::of(path))));
    all.filter(|(_, path)| path.exists())
        .map(|(host, path)| {
            // Of a NIC of one's own only the ports are known.
            let layout = match scenario.nic_of(&host) {
                Some(NicKind::Custom(_)) => Layout::of_ports(&path)?,
                _ => nic_layout(&host),
            };
            let beside = layout.write_marked(&path, marker.clone())?;
            Ok((path, beside))
        })
        .chain(network)
        .collect()
}

/// Returns the command line that repeats a sweep.
fn sweep_command(arguments: &RunArgs) -> String {
    let mut words = format!("xoff run {}", arguments.scenario);
    for Setting { key, value } in &arguments.set {
        let _ = write!(words, " --set '{key}={value}'");
    }
    for SweepArg { key, values } in &arguments.sweep {
        let _ = write!(words, " --sweep '{key}={}'", values.join(","));
    }
    if let Some(seed) = arguments.seed {
        let _ = write!(words, " --seed {seed}");
    }
    words
}
