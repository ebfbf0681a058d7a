//! One run of a scenario.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use xoff_network::judge::judge_all;
use xoff_network::messages::messages;
use xoff_network::metrics::names;
use xoff_network::parts::Way;
use xoff_network::plan::Plan;
use xoff_network::results::Summary;
use xoff_network::scenario::Checked;
use xoff_network::{Control, Endpoints, Observer, ObserverError, Run, Simulation, WaveWindow};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};
use xoff_waves::capture::RunCapture;
use xoff_waves::fabric::{FabricWaves, FabricWindow};
use xoff_waves::layout::Marker;
use xoff_waves::report::Report;

use super::checkpoint::{self, Checkpoints, Every, remark};
use super::monitors::Monitors;
use super::outside::{self, Peer, PeerOptions};
use super::progress::HowFar;
use super::trigger::Trigger;
use super::{charts, marks, pauses, servers};
use crate::interruption::interrupted;
use crate::terminal::Shown;

/// Options of a run. None of them changes its results.
#[derive(Debug, Clone, Default)]
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
    /// Which of several runs it is, such as `run 3 of 20`; of one alone nothing.
    pub which: Option<String>,
    /// The kinds of hosts, by their names in scenarios.
    pub endpoints: Endpoints,
    /// The peer of the host that is outside; absent: there is none.
    pub peer: Option<PeerOptions>,
    /// The way to other ranks, which have parts of the network; absent: there are none.
    pub way: Option<Way>,
}

impl RunOptions {
    /// All cores, results only, and these kinds of hosts.
    pub fn new(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            ..Self::default()
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
pub fn run(scenario: &Checked, options: &RunOptions) -> anyhow::Result<Report> {
    run_from(None, scenario, options).map(|(report, _)| report)
}

/// Like [`run`], from a checkpoint on if there is one; also returns the clock edge at which the condition of the
/// trigger held first.
///
/// # Errors
///
/// As [`run`].
pub fn run_from(
    checkpoint: Option<Run>,
    scenario: &Checked,
    options: &RunOptions,
) -> anyhow::Result<(Report, Option<Time>)> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()?;
    pool.install(|| run_here(checkpoint, scenario, options))
}

/// Runs a part of a network as the leading rank orders, from a checkpoint on if there is one. Writes nothing but its
/// part of checkpoints.
///
/// # Errors
///
/// What can go wrong in [`run`] before anything is written.
pub fn obey(
    checkpoint: Option<Run>,
    scenario: &Checked,
    options: &RunOptions,
) -> anyhow::Result<()> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()?;
    pool.install(|| {
        let run = options.start(checkpoint, scenario, None)?;
        Ok(run.simulation.obey(checkpoint::parts::keep)?)
    })
}

/// Checks that a scenario can be run and judged: finds what [`run`] would refuse, without running it.
///
/// # Errors
///
/// Returns an error for an inconsistent scenario and for an expectation of a metric that does not exist.
pub fn check(scenario: &Checked, options: &RunOptions) -> anyhow::Result<()> {
    Simulation::check(scenario, &options.endpoints)?;
    outside::check(scenario, options.peer.as_ref())?;
    if scenario.expect.is_empty() {
        return Ok(());
    }
    let unmeasured = names(scenario).into_iter().map(|name| (name, f64::NAN));
    judge_all(scenario, &unmeasured.collect())?;
    Ok(())
}

/// Returns all ports of the network of a scenario.
pub fn all_ports(scenario: &Checked) -> Vec<(NodeId, PortId)> {
    Plan::new(scenario).all_ports()
}

/// Returns the run at its last checkpoint between two times.
fn jump(checkpoints: &Checkpoints, from: Time, to: Time, endpoints: &Endpoints) -> Option<Run> {
    let (run, remarks) = checkpoints.latest(from, to, endpoints);
    for text in remarks {
        remark(Some(text));
    }
    let run = run?;
    told(&run);
    Some(run)
}

fn told(run: &Run) {
    let skipped = run.now().since_start();
    remark(Some(format!("goes on from a checkpoint at {skipped}")));
}

/// What may hold a run or move it: a peer outside, checkpoints, and the request to end.
struct Controls<'a> {
    peer: Option<Peer>,
    checkpoints: Option<Checkpoints>,
    /// The end of the last window of waves. Behind it nothing is of interest that an earlier run has not measured
    /// already, so there it goes on from the last checkpoint of that. `None`: there is none, or it has done so.
    waves_until: Option<Time>,
    endpoints: &'a Endpoints,
}

impl Control for Controls<'_> {
    fn before(&mut self, run: &mut Run) -> Result<Option<Time>, ObserverError> {
        if interrupted() {
            return Ok(None);
        }
        let stop = match &mut self.peer {
            None => Some(run.end()),
            Some(peer) => peer.before(run),
        };
        if let (Some(_), Some(checkpoints)) = (stop, &mut self.checkpoints) {
            checkpoints.look(run)?;
        }
        Ok(stop)
    }

    fn after(&mut self, run: &mut Run) -> Result<(), ObserverError> {
        if let Some(peer) = &mut self.peer {
            peer.after(run);
        }
        if let Some(checkpoints) = &self.checkpoints
            && self.waves_until.is_some_and(|last| last <= run.now())
        {
            self.waves_until = None;
            let behind = run.now() + Duration::from_ps(1);
            if let Some(later) = jump(checkpoints, behind, run.end(), self.endpoints) {
                run.simulation.close_waves()?;
                *run = later;
            }
        }
        Ok(())
    }

    fn end(&mut self, run: &mut Run) -> Result<(), ObserverError> {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.end(run)?;
        }
        Ok(())
    }
}

/// The windows of time of waves, of hosts and of the network.
struct Windows {
    of_hosts: Vec<(String, WaveWindow)>,
    of_network: Vec<(Time, Time)>,
    /// The edge at which the condition of the trigger holds.
    triggered: Option<Time>,
}

impl Windows {
    fn spans(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        let of_hosts = self.of_hosts.iter();
        let of_hosts = of_hosts.map(|(_, window)| (window.from, window.until));
        of_hosts.chain(self.of_network.iter().copied())
    }

    fn from(&self) -> Option<Time> {
        self.spans().map(|(from, _)| from).min()
    }

    fn until(&self) -> Option<Time> {
        self.spans().map(|(_, until)| until).max()
    }
}

impl RunOptions {
    /// The windows of waves, among them that around the edge at which the condition of the trigger holds, once it is
    /// known.
    fn windows(&self, triggered: Option<Time>) -> Windows {
        let of_trigger = (self.trigger.iter().zip(triggered))
            .map(|(trigger, edge)| (trigger.host.clone(), trigger.window(edge)));
        let of_network = self.fabric.iter().flat_map(|(_, windows)| windows);
        Windows {
            of_hosts: self.waves.iter().cloned().chain(of_trigger).collect(),
            of_network: of_network.copied().collect(),
            triggered,
        }
    }

    /// A run at a checkpoint: this one, or the last before the first waves. Without one, at time zero.
    fn start(
        &self,
        checkpoint: Option<Run>,
        scenario: &Checked,
        checkpoints: Option<&Checkpoints>,
    ) -> anyhow::Result<Run> {
        let trigger = (self.trigger.as_ref()).map(|trigger| trigger.window(trigger.from).from);
        let begin = self.windows(None).from().into_iter().chain(trigger).min();
        let jumped = match (checkpoint, checkpoints, begin) {
            (Some(run), ..) => Some(run),
            // Captures and monitors begin at the start.
            (None, Some(checkpoints), Some(begin)) if !self.observed() => {
                jump(checkpoints, Time::ZERO, begin, &self.endpoints)
            }
            _ => None,
        };
        let mut run = match jumped {
            Some(run) => run,
            None => {
                let mut run = Run::new(scenario, &self.endpoints)?;
                run.simulation.set_skip(!self.no_skip);
                run
            }
        };
        if let Some(way) = &self.way {
            run.divide(Arc::clone(way));
        }
        if let Some(at_most) = &self.shared_threads {
            (run.simulation.network_mut()).share_threads(Arc::clone(at_most));
        }
        Ok(run)
    }

    /// Finds the edge of the trigger, if there is one. Returns the run before its window, or where it was.
    fn trigger(&self, run: Run, how_far: &HowFar) -> anyhow::Result<(Run, Option<Time>)> {
        let Some(trigger) = &self.trigger else {
            return Ok((run, None));
        };
        let (run, edge) = trigger.find(run, &self.endpoints, |now| how_far.show(now))?;
        if edge.is_none() {
            remark(Some(format!(
                "--wave-when '{}': no clock edge fulfils it from {} to {}",
                trigger.condition,
                trigger.from.since_start(),
                run.now().since_start()
            )));
        }
        Ok((run, edge))
    }

    /// Whoever watches the run, in the order in which they see it; RTL writes its waves by itself.
    fn observers(
        &self,
        how_far: HowFar,
        run: &mut Run,
        scenario: &Checked,
        windows: &Windows,
    ) -> anyhow::Result<Vec<Box<dyn Observer>>> {
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(how_far)];
        for (host, window) in &windows.of_hosts {
            run.simulation.set_waves(host, window.clone())?;
        }
        if let Some(mut fabric) = self.fabric(run, scenario, windows)? {
            fabric.marker = windows.triggered.map(|edge| Marker {
                name: "trigger".into(),
                time_ps: edge.as_ps(),
            });
            observers.push(Box::new(fabric));
        }
        if let Some((ports, path)) = &self.capture {
            observers.push(Box::new(RunCapture::create(run, ports, path)?));
        }
        if let Some(ports) = &self.check {
            observers.push(Box::new(Monitors::new(
                scenario,
                &mut run.simulation,
                ports,
            )?));
        }
        Ok(observers)
    }

    /// The file of the network's waves, for one window around all others.
    fn fabric(
        &self,
        run: &Run,
        scenario: &Checked,
        windows: &Windows,
    ) -> anyhow::Result<Option<FabricWaves>> {
        let (Some((path, _)), Some(from), Some(until)) =
            (&self.fabric, windows.from(), windows.until())
        else {
            return Ok(None);
        };
        let dcqcn = (scenario.host.dcqcn.as_ref()).is_some_and(|dcqcn| dcqcn.on);
        let window = FabricWindow {
            path: path.clone(),
            from: from.max(run.now()),
            until: until.min(run.end()),
        };
        Ok(Some(FabricWaves::create(&run.simulation, dcqcn, &window)?))
    }
}

fn run_here(
    checkpoint: Option<Run>,
    scenario: &Checked,
    options: &RunOptions,
) -> anyhow::Result<(Report, Option<Time>)> {
    let mut checkpoints = (options.checkpoints.as_ref())
        .map(|(root, every)| Checkpoints::new(root, scenario.written(), options.no_skip, *every));
    outside::check(scenario, options.peer.as_ref())?;
    if let (Some(checkpoints), Some(run)) = (&mut checkpoints, &checkpoint) {
        told(run);
        checkpoints.go_on(run.now());
    }
    let run = options.start(checkpoint, scenario, checkpoints.as_ref())?;
    let how_far = HowFar::new(scenario, options.progress, options.which.as_deref());
    let (mut run, triggered) = options.trigger(run, &how_far)?;
    let windows = options.windows(triggered);
    let mut observers = options.observers(how_far, &mut run, scenario, &windows)?;
    let observers = observers.iter_mut();
    let mut observers: Vec<&mut dyn Observer> = observers.map(|it| &mut **it as _).collect();
    let mut controls = Controls {
        peer: match &options.peer {
            None => None,
            Some(peer) => Peer::meet(peer, &mut run, &Plan::new(scenario))?,
        },
        checkpoints,
        waves_until: windows.until().filter(|_| !options.observed()),
        endpoints: &options.endpoints,
    };
    let summary = run
        .go(&mut controls, &mut observers)
        .and_then(|()| run.finish(scenario, &mut observers))
        .map_err(anyhow::Error::from_boxed)?;
    let summary = Summary {
        settings: serde_json::to_value(scenario.written())?,
        attached: controls.peer.map(|peer| peer.end(&run)),
        ..summary
    };
    Ok((report(&run, scenario, summary, options), triggered))
}

/// The page about a run.
fn report(run: &Run, scenario: &Checked, summary: Summary, options: &RunOptions) -> Report {
    let (simulation, recorder) = (&run.simulation, &run.recorder);
    let mut charts = charts::charts(simulation, scenario, recorder.samples());
    charts.extend(summary.servers.iter().flat_map(servers::charts));
    let policy = summary.policy.as_ref();
    let marked = marks::marks(scenario, policy, &summary.findings, simulation.now());
    let part_ns = marks::part(&marked, &summary.findings, &charts, summary.duration_ns);
    let settled_ns = marks::settled(scenario, &marked);
    for chart in &mut charts {
        chart.markers.clone_from(&marked);
        chart.settled_ns = settled_ns;
    }
    for chart in charts.iter_mut().filter(|_| !run.has_ended()) {
        // So that charts and tables show it too.
        chart.title += " (interrupted)";
    }
    Report {
        title: scenario.title.clone(),
        description: scenario.description.trim().into(),
        command: options.command.clone(),
        summary,
        topology: charts::topology(simulation, scenario),
        messages: messages(simulation),
        part_ns,
        pauses: pauses::spread(simulation, recorder.detector()),
        charts,
    }
}
