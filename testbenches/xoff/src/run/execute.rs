//! One run of a scenario.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use anyhow::Context;
use xoff_network::detect::unpaused;
use xoff_network::metrics::{Metrics, Recorder, dropped, lost_on_links, names, nic_cycles};
use xoff_network::plan::Plan;
use xoff_network::scenario::{Scenario, Towards};
use xoff_network::{Endpoints, InjectionUse, RuleUse, Simulation, WaveWindow};
use xoff_sim::kernel::{NodeId, PortId, Record};
use xoff_sim::time::{Duration, Time};
use xoff_waves::capture::{TapPort, TapWriter};
use xoff_waves::layout::Marker;
use xoff_waves::report::{Drop, Expectation, Fault, Injection, Report, State, Summary};

use super::checkpoint::{Checkpoints, Every, RunState};
use super::monitors::Monitors;
use super::trigger::Trigger;
use super::{charts, judge, pauses};
use crate::interruption::interrupted;
use crate::terminal::{Progress, Shown};
use xoff_waves::fabric::{FabricWaves, FabricWindow};

/// Options of a run. None of them changes its results.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The command that repeats the run.
    pub command: String,
    /// Number of threads; `None`: one per core.
    pub threads: Option<usize>,
    /// How many of these may be used at the moment; absent: all.
    pub shared_threads: Option<Arc<AtomicU32>>,
    /// Evaluate idle cycles too.
    pub no_skip: bool,
    /// Ports to capture, and the path of the capture.
    pub capture: Option<(Vec<(NodeId, PortId)>, std::path::PathBuf)>,
    /// Ports that the protocol monitors watch; not together with `trigger`.
    pub check: Option<Vec<(NodeId, PortId)>>,
    /// Waves of hosts.
    pub waves: Vec<(String, WaveWindow)>,
    /// The file of the network's waves, and windows for them beside those of the hosts' waves. They are written for one
    /// window around all of these.
    pub fabric: Option<(std::path::PathBuf, Vec<(Time, Time)>)>,
    /// Waves around a condition; not together with `waves` or `capture`.
    pub trigger: Option<Trigger>,
    /// Folder of results, in which checkpoints are kept, and when they are taken; `None`: none are.
    pub checkpoints: Option<(std::path::PathBuf, Every)>,
    /// How it is shown how far the run is.
    pub progress: Shown,
    /// The kinds of hosts, by their names in scenarios.
    pub endpoints: Endpoints,
}

impl RunOptions {
    /// All cores, results only, and these kinds of hosts.
    pub fn new(endpoints: Endpoints) -> Self {
        Self {
            command: String::new(),
            threads: None,
            shared_threads: None,
            no_skip: false,
            capture: None,
            check: None,
            waves: Vec::new(),
            fabric: None,
            trigger: None,
            checkpoints: None,
            progress: Shown::default(),
            endpoints,
        }
    }

    /// Whether frames are observed, so that the run has to begin at the start.
    const fn observed(&self) -> bool {
        self.capture.is_some() || self.check.is_some()
    }
}

/// Runs a scenario and measures it. An [interrupted](crate::interruption) run is measured up to that point and not
/// judged.
///
/// # Errors
///
/// Returns an error for an inconsistent scenario, a failing RTL assertion, a file that cannot be written, and an
/// expectation of a metric that does not exist.
pub fn run(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<Report> {
    run_triggered(scenario, options).map(|(report, _)| report)
}

/// Like [`run`]; also returns the clock edge at which the condition of the trigger held first.
///
/// # Errors
///
/// As [`run`].
pub fn run_triggered(
    scenario: &Scenario,
    options: &RunOptions,
) -> anyhow::Result<(Report, Option<Time>)> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()?;
    pool.install(|| run_here(scenario, options))
}

/// Checks that a scenario can be run and judged: finds what [`run`] would refuse, without running it.
///
/// # Errors
///
/// Returns an error for an inconsistent scenario and for an expectation of a metric that does not exist.
pub fn check(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<()> {
    Simulation::check(scenario, &options.endpoints)?;
    if scenario.expect.is_empty() {
        return Ok(());
    }
    let unmeasured = names(scenario).into_iter().map(|name| (name, f64::NAN));
    judge_all(scenario, &unmeasured.collect()).map(drop)
}

/// Returns all ports of the network of a scenario.
///
/// # Errors
///
/// Returns an error for a topology that cannot be built.
pub fn all_ports(scenario: &Scenario) -> anyhow::Result<Vec<(NodeId, PortId)>> {
    let whole = scenario.expanded()?;
    Ok(Plan::new(&whole).all_ports())
}

/// Compares the expectations with the measured values.
fn judge_all(scenario: &Scenario, metrics: &Metrics) -> anyhow::Result<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for expectation in &scenario.expect {
        let judged = judge::judge(expectation, metrics).map_err(|name| {
            let distance = |known: &String| strsim::damerau_levenshtein(known, name);
            let near = metrics.keys().map(ToString::to_string).min_by_key(distance);
            let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            anyhow::anyhow!(
                "scenario {}: expect: no metric '{name}'{near}",
                scenario.name
            )
        })?;
        expectations.extend(judged);
    }
    Ok(expectations)
}

/// A port as an interface of a capture.
pub fn tap_port(simulation: &Simulation, (node, port): (NodeId, PortId)) -> TapPort {
    TapPort {
        node,
        port,
        name: simulation.port_name(node, port),
        rate: Some(simulation.line_rate(node, port)),
    }
}

/// The time between two samples of a run.
fn sampling_of(scenario: &Scenario, simulation: &Simulation) -> Duration {
    scenario.sampling(simulation.series().len(), simulation.names().len())
}

/// A run at time zero.
fn fresh(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<RunState> {
    let mut simulation = Simulation::with(scenario, &options.endpoints)?;
    simulation.set_skip(!options.no_skip);
    Ok(RunState {
        recorder: Recorder::with(&simulation, scenario.detect),
        next_sample: Time::ZERO + sampling_of(scenario, &simulation),
        simulation,
    })
}

/// Returns the run at its last checkpoint between two times.
fn jump(
    checkpoints: &Checkpoints,
    from: Time,
    to: Time,
    endpoints: &Endpoints,
) -> Option<RunState> {
    let (state, remarks) = checkpoints.latest(from, to, endpoints);
    for text in remarks {
        remark(Some(text));
    }
    let mut state = state?;
    let skipped = state.simulation.now().since_start();
    remark(Some(format!("goes on from a checkpoint at {skipped}")));
    // The run that wrote it may have had a capture.
    for (node, port) in state.simulation.all_ports() {
        state.simulation.network_mut().tap(node, port, false);
    }
    Some(state)
}

/// Tells something that changes no result.
fn remark(text: Option<String>) {
    if let Some(text) = text {
        anstream::eprintln!("xoff: {text}");
    }
}

impl RunState {
    /// Runs to the next sample, the start of the measured window, the end of the scenario or `stop`, whichever is first,
    /// and returns that time.
    pub fn advance(
        &mut self,
        scenario: &Scenario,
        stop: Time,
        observe: impl FnMut(&[Record]),
    ) -> anyhow::Result<Time> {
        let end = Time::ZERO + scenario.duration;
        let from = Time::ZERO + scenario.measure_from;
        let begins = (self.simulation.now() < from).then_some(from);
        let until = begins
            .map_or(self.next_sample, |begins| begins.min(self.next_sample))
            .min(end)
            .min(stop);
        self.simulation.run_until_observed(until, observe)?;
        if until == from && begins.is_some() {
            self.recorder.begin(&self.simulation);
        }
        if until == self.next_sample || until == end {
            self.recorder.sample(&self.simulation);
            self.next_sample = until + sampling_of(scenario, &self.simulation);
        }
        Ok(until)
    }
}

fn run_here(scenario: &Scenario, options: &RunOptions) -> anyhow::Result<(Report, Option<Time>)> {
    let started = Instant::now();
    // The summary has the scenario as it was written.
    let settings = serde_json::to_value(scenario)?;
    let mut checkpoints = (options.checkpoints.as_ref())
        .map(|(root, every)| Checkpoints::new(root, scenario, options.no_skip, *every));
    let trigger = options.trigger.as_ref();
    let of_network = options.fabric.iter().flat_map(|(_, windows)| windows);
    let begin = (options.waves.iter().map(|(_, window)| window.from))
        .chain(of_network.clone().map(|(from, _)| *from))
        .chain(trigger.map(|trigger| trigger.window(trigger.from).from))
        .min();
    let jumped = match (&checkpoints, begin) {
        // Captures and monitors begin at the start.
        (Some(checkpoints), Some(begin)) if !options.observed() => {
            jump(checkpoints, Time::ZERO, begin, &options.endpoints)
        }
        _ => None,
    };
    let mut state = match jumped {
        Some(state) => state,
        None => fresh(scenario, options)?,
    };
    if let Some(at_most) = &options.shared_threads {
        (state.simulation.network_mut()).share_threads(Arc::clone(at_most));
    }
    let whole = scenario.expanded()?;
    let scenario = &*whole;
    let length = scenario.duration.as_ps() / 1_000;
    let template = "{wide_bar} {msg}, {eta} left";
    let progress = Progress::new(options.progress, length, template);
    let show = |now: Time| {
        let ns = now.as_ps() / 1_000;
        let real = started.elapsed().as_nanos().max(1) as f64;
        let words = format!(
            "{} of {}, {:.0} times slower than life",
            now.since_start(),
            scenario.duration,
            real / ns.max(1) as f64
        );
        progress.at(ns, &words);
    };
    let end = Time::ZERO + scenario.duration;
    let mut windows = options.waves.clone();
    let mut triggered = None;
    if let Some(trigger) = trigger {
        (state, triggered) = trigger.find(state, scenario, end, &options.endpoints, show)?;
        match triggered {
            Some(edge) => windows.push((trigger.host.clone(), trigger.window(edge))),
            None => remark(Some(format!(
                "--wave-when '{}': no clock edge fulfils it from {} to {}",
                trigger.condition,
                trigger.from.since_start(),
                state.simulation.now().since_start()
            ))),
        }
    }
    let spans: Vec<(Time, Time)> = (windows
        .iter()
        .map(|(_, window)| (window.from, window.until)))
    .chain(of_network.copied())
    .collect();
    for (host, window) in &windows {
        let window = window.clone();
        state.simulation.set_waves(host, window)?;
    }
    let waves_until = spans.iter().map(|(_, until)| *until).max();
    let mut fabric = match (
        &options.fabric,
        spans.iter().map(|(from, _)| *from).min(),
        waves_until,
    ) {
        (Some((path, _)), Some(from), Some(until)) => {
            let dcqcn = (scenario.host.dcqcn.as_ref()).is_some_and(|dcqcn| dcqcn.on);
            let window = FabricWindow {
                path: path.clone(),
                from: from.max(state.simulation.now()),
                until: until.min(end),
            };
            Some(FabricWaves::create(&state.simulation, dcqcn, &window)?)
        }
        _ => None,
    };
    let mut capture = match &options.capture {
        None => None,
        Some((ports, path)) => {
            let file = File::create(path).with_context(|| format!("{}", path.display()))?;
            let taps = ports.iter().map(|port| tap_port(&state.simulation, *port));
            let writer = TapWriter::new(file, taps)?;
            for (node, port) in ports {
                state.simulation.network_mut().tap(*node, *port, true);
            }
            Some(writer)
        }
    };
    let mut monitors = (options.check.as_ref())
        .map(|ports| Monitors::new(scenario, &mut state.simulation, ports))
        .transpose()?;
    let of_capture = || {
        let path = options
            .capture
            .as_ref()
            .map(|(_, path)| path.display().to_string());
        format!("{}: cannot be written", path.unwrap_or_default())
    };
    // Nothing behind the last window is of interest that an earlier run has not measured already.
    let mut after_waves = waves_until.filter(|_| !options.observed());
    let mut written = Ok(());
    while state.simulation.now() < end && !interrupted() {
        if let Some(fabric) = &mut fabric {
            fabric.sample(&state.simulation)?;
        }
        let stop = fabric.as_ref().and_then(FabricWaves::due).unwrap_or(end);
        let until = state.advance(scenario, stop, |records| {
            if let Some(capture) = &mut capture {
                // Monitors may watch other ports.
                let wrote = records.iter().try_for_each(|record| {
                    match capture.has(record.node, record.port) {
                        true => capture.write(record),
                        false => Ok(()),
                    }
                });
                if written.is_ok() {
                    written = wrote;
                }
            }
            if let Some(monitors) = &mut monitors {
                records.iter().for_each(|record| monitors.see(record));
            }
        })?;
        std::mem::replace(&mut written, Ok(())).with_context(of_capture)?;
        if let Some(checkpoints) = &mut checkpoints {
            if after_waves.is_some_and(|last| last <= until) {
                after_waves = None;
                if let Some(later) = jump(
                    checkpoints,
                    until + Duration::from_ps(1),
                    end,
                    &options.endpoints,
                ) {
                    state.simulation.close_waves()?;
                    state = later;
                }
            } else {
                remark(checkpoints.offer(&state));
            }
        }
        show(state.simulation.now());
    }
    progress.end();
    if let Some(checkpoints) = &mut checkpoints
        && state.simulation.now() >= end
    {
        remark(checkpoints.end(&state));
    }
    if let Some(mut fabric) = fabric {
        fabric.sample(&state.simulation)?;
        let marker = triggered.map(|edge| Marker {
            name: "trigger".into(),
            time_ps: edge.as_ps(),
        });
        fabric.finish(marker)?;
    }
    let RunState {
        simulation,
        recorder,
        ..
    } = &mut state;
    let interrupted = simulation.now() < end;
    if let Some(mut capture) = capture {
        if interrupted {
            let now = simulation.now();
            let text = format!("interrupted at {}", now.since_start());
            (capture.comment(now.as_ps() / 1_000, &text)).with_context(of_capture)?;
        }
        capture.flush().with_context(of_capture)?;
    }
    simulation.close_waves()?;
    recorder.sample(simulation);
    let metrics = recorder.metrics(simulation);
    let expectations = match interrupted {
        true => Vec::new(),
        false => judge_all(scenario, &metrics)?,
    };
    let drop = |drop: xoff_network::metrics::Dropped| Drop {
        node: simulation.names()[drop.node.0 as usize].clone(),
        reason: drop.reason.to_string(),
        count: drop.frames,
    };
    let on_links = lost_on_links(simulation).map(|((node, port), count)| {
        let peer = simulation.network().peer(node, port);
        let [from, to] = [Some(node), peer.map(|(peer, _)| peer)]
            .map(|node| node.map_or("?", |node| &simulation.names()[node.0 as usize]));
        Drop {
            node: format!("{from} → {to}"),
            reason: "link".into(),
            count,
        }
    });
    let drops = dropped(simulation).into_iter().map(drop).chain(on_links);
    let mut findings = pauses::findings(simulation, recorder.detector());
    let monitored = monitors.map(|monitors| {
        let (monitored, violations) = monitors.end();
        findings.extend(violations);
        monitored
    });
    let on_its_own = (scenario.host.dcqcn.as_ref()).is_none_or(|dcqcn| !dcqcn.on);
    let unpaused = on_its_own.then(|| unpaused::note(simulation)).flatten();
    let notes = simulation.notes().iter().cloned().chain(unpaused).collect();
    let finite = metrics.iter().filter(|(_, value)| value.is_finite());
    let (nic_cycles, nic_cycles_evaluated) = nic_cycles(simulation);
    let summary = Summary {
        state: if interrupted {
            State::Interrupted
        } else {
            State::Finished
        },
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        settings,
        digest: simulation.digest().to_string(),
        duration_ns: simulation.now().as_ps() / 1_000,
        wall_s: started.elapsed().as_secs_f64(),
        nic_cycles,
        nic_cycles_evaluated,
        expectations,
        drops: drops.filter(|drop| drop.count > 0).collect(),
        metrics: finite
            .map(|(metric, value)| (metric.to_string(), *value))
            .collect(),
        faults: faults(simulation, scenario),
        injections: injections(simulation, scenario),
        findings,
        notes,
        monitored,
        ..Summary::default()
    };
    let mut charts = charts::charts(simulation, scenario, recorder.samples());
    for chart in charts.iter_mut().filter(|_| interrupted) {
        // So that charts and tables show it too.
        chart.title += " (interrupted)";
    }
    let report = Report {
        title: scenario.title.clone(),
        description: scenario.description.trim().into(),
        command: options.command.clone(),
        summary,
        topology: charts::topology(simulation, scenario),
        pauses: pauses::spread(simulation, recorder.detector()),
        charts,
    };
    Ok((report, triggered))
}

/// Returns the fault rules of the scenario and what they have done.
fn faults(simulation: &Simulation, scenario: &Scenario) -> Vec<Fault> {
    let fault = |RuleUse {
                     place,
                     rule,
                     counters,
                 }| Fault {
        place,
        rule,
        matched: counters.matched,
        hit: counters.hit,
    };
    simulation
        .rule_uses(scenario)
        .into_iter()
        .map(fault)
        .collect()
}

/// Returns the frames that the scenario injects, one entry per wire.
fn injections(simulation: &Simulation, scenario: &Scenario) -> Vec<Injection> {
    let injection = |wire: InjectionUse| Injection {
        host: wire.host,
        direction: match wire.towards {
            Towards::Host => "towards".into(),
            Towards::Network => "from".into(),
        },
        frames: wire.frames,
        injected: wire.counters.injected,
        waited: wire.counters.waited,
        delayed: wire.counters.delayed,
    };
    let wires = simulation.injection_uses(scenario);
    wires.into_iter().map(injection).collect()
}
