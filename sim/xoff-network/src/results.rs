//! Results of a run: what `summary.json` has, and reports show.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::time::{Duration, Time};

use crate::answer::Answer;
use crate::attach::{Ended, Messages};
use crate::audit::Auditor;
use crate::detect::{Probes, probes, unpaused};
use crate::judge::{UnknownMetric, judge_all};
use crate::metrics::jobs::rounds;
use crate::metrics::{dropped, lost_on_links, nic_cycles};
use crate::onboarding::{Gatekeeper, Stage};
use crate::policy::{SlowLoop, Steered};
use crate::scenario::Checked;
use crate::watch::{ServerWatch, Servers};
use crate::{Run, Simulation};

/// Whole nanoseconds since the start.
pub const fn ns(time: Time) -> u64 {
    time.as_ps() / 1_000
}

/// Version of the format of `summary.json`.
///
/// | version | what is new |
/// |---|---|
/// | 1 | the file has no `version` |
/// | 2 | `version`, `state`, `files`; goodput is over the measured window |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SummaryVersion(pub u32);

impl SummaryVersion {
    /// The version that is written.
    pub const CURRENT: Self = Self(2);

    /// The version of a file without a number.
    const fn unnumbered() -> Self {
        Self(1)
    }
}

impl Default for SummaryVersion {
    fn default() -> Self {
        Self::CURRENT
    }
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The run has begun and not ended, or it was killed.
    Running,
    /// The run reached its end.
    #[default]
    Finished,
    /// The run was stopped early. Its figures are for the time until then, and nothing is judged.
    Interrupted,
    /// The run ended with an error, such as a failed assertion of the RTL.
    Failed,
}

/// What a run was and its results in numbers: `summary.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this format.
    #[serde(default = "SummaryVersion::unnumbered")]
    pub version: SummaryVersion,
    /// The state of the run.
    #[serde(default)]
    pub state: State,
    /// Names of the files that the run wrote into its folder. The next run in that folder removes them.
    #[serde(default)]
    pub files: Vec<String>,
    /// The scenario's name, such as `livelock`.
    pub scenario: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// All settings, nested as in the scenario file.
    pub settings: serde_json::Value,
    /// Digest of the run. The same scenario, settings and seed give the same digest.
    pub digest: String,
    /// Simulated time in nanoseconds.
    pub duration_ns: u64,
    /// Wall-clock time of the run, in seconds. It differs between repetitions.
    pub wall_s: f64,
    /// NIC clock cycles in simulated time, over all NICs.
    pub nic_cycles: u64,
    /// The number of these cycles that were evaluated. The others were skipped because the NIC was idle.
    pub nic_cycles_evaluated: u64,
    /// The scenario's expectations and the measured values.
    pub expectations: Vec<Expectation>,
    /// Frames dropped, by node and reason.
    pub drops: Vec<Drop>,
    /// The fault rules and their effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Captured frames that were injected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injection>,
    /// What happened, in a sentence. None in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What detectors found, the gravest first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What probes of Pingmesh met, from the nearest reach on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probes>,
    /// What the watch over servers saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Servers>,
    /// The stages in which flows were let in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub onboarding: Vec<Stage>,
    /// What the policy changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Steered>,
    /// What flows did together, round by round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// What about the settings may not be intended.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the protocol monitors saw, if they watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitored: Option<Monitored>,
    /// What hosts did whose peer is outside of the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// What the parts exchanged, if the network was divided into several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchanged>,
    /// All metrics by name. Names that end in `_bps`, `_bytes`, `_ns` or `_s` are in bits per second, bytes,
    /// nanoseconds or seconds, and the page shows them with that unit.
    pub metrics: BTreeMap<String, f64>,
}

impl Summary {
    /// The results of a run that has ended, or was interrupted: that one is not judged. Left to the caller are the
    /// settings as they were written, the wall-clock time, what monitors saw, and files.
    ///
    /// # Errors
    ///
    /// An expectation is of a metric that does not exist.
    pub fn of(run: &mut Run, scenario: &Checked) -> Result<Self, UnknownMetric> {
        let interrupted = !run.has_ended();
        run.recorder.sample(&mut run.simulation);
        let metrics = run.recorder.metrics(&run.simulation);
        let expectations = match interrupted {
            true => Vec::new(),
            false => judge_all(scenario, &metrics)?,
        };
        let simulation = &run.simulation;
        let on_its_own = scenario.host.marks().is_none();
        let unpaused = on_its_own.then(|| unpaused::note(simulation)).flatten();
        let finite = metrics.iter().filter(|(_, value)| value.is_finite());
        let (nic_cycles, nic_cycles_evaluated) = nic_cycles(simulation);
        let mut findings = run.recorder.detector().findings(simulation);
        findings.extend(
            run.recorder
                .gatekeeper()
                .into_iter()
                .flat_map(Gatekeeper::findings),
        );
        findings.extend(
            run.recorder
                .auditor()
                .into_iter()
                .flat_map(Auditor::findings),
        );
        findings.extend(
            run.recorder
                .watch()
                .into_iter()
                .flat_map(ServerWatch::findings),
        );
        let drops = drops(simulation);
        Ok(Self {
            answer: Some(Answer::of(run, scenario, &metrics, (&findings, &drops))),
            state: match interrupted {
                true => State::Interrupted,
                false => State::Finished,
            },
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            digest: simulation.digest().to_string(),
            duration_ns: ns(simulation.now()),
            nic_cycles,
            nic_cycles_evaluated,
            expectations,
            drops,
            metrics: finite
                .map(|(metric, value)| (metric.to_string(), *value))
                .collect(),
            faults: simulation.faults(scenario),
            injections: simulation.injections(scenario),
            jobs: jobs(simulation, run.recorder.from()),
            probes: probes(simulation),
            onboarding: (run.recorder.gatekeeper())
                .map_or(Vec::new(), |gatekeeper| gatekeeper.stages().to_vec()),
            servers: run.recorder.watch().map(ServerWatch::servers),
            policy: run.slow_loop().map(SlowLoop::steered),
            findings,
            notes: simulation.notes().iter().cloned().chain(unpaused).collect(),
            ..Self::default()
        })
    }

    /// Returns whether every expectation held and the monitors, if they watched, found no violation.
    pub fn held(&self) -> bool {
        let violations = self.monitored.map_or(0, |monitored| monitored.violations);
        let mut tools = self.attached.iter().flat_map(|attached| &attached.tools);
        let complete = tools.all(|tool| tool.ended == Ended::Complete);
        violations == 0 && complete && self.expectations.iter().all(|expectation| expectation.held)
    }
}

/// What hosts did whose peer is outside of the simulation. Such a run is not the same again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attached {
    /// Where the peer's socket is, or the device.
    pub cable: String,
    /// Why the run ended before its time.
    pub error: Option<String>,
    /// Frames that the cable has lost, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// The steps of the guest, if it went in step with the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped: Option<Stepped>,
    /// The tools, in the order of the hosts.
    pub tools: Vec<ToolEnd>,
}

/// The steps of a guest that went in step with the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    /// How many.
    pub steps: u64,
    /// What has passed of the guest's time, and of simulated time.
    pub guest: Duration,
    /// The longest: how far the clocks were apart at most.
    pub longest: Duration,
}

/// What became of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEnd {
    /// The host that runs it.
    pub host: String,
    /// How it ended.
    pub ended: Ended,
    /// Its messages.
    pub messages: Messages,
}

/// What the parts of a network gave to each other. Times differ between repetitions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Exchanged {
    /// How many parts there were.
    pub parts: u32,
    /// Windows that all parts ran together.
    pub windows: u64,
    /// Frames for nodes of other parts.
    pub frames: u64,
    /// Bytes of all messages: frames, and what parts have shown to be measured.
    pub bytes: u64,
    /// For each part the real time for which it waited for messages of the others, in seconds. It has the time in which
    /// others still ran.
    pub waited_s: Vec<f64>,
}

/// What protocol monitors saw of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Monitored {
    /// The number of ports.
    pub ports: usize,
    /// The number of frames at these ports.
    pub frames: u64,
    /// How often a frame was judged by a rule.
    pub checks: u64,
    /// How many of these judgements found that the frame breaks the rule.
    pub violations: u64,
    /// How many more found that a frame breaks a rule that the scenario breaks by design.
    #[serde(default)]
    pub by_design: u64,
}

impl std::fmt::Display for Monitored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            ports,
            frames,
            checks,
            violations,
            by_design,
        } = self;
        let found = match violations {
            0 => "no violation".to_owned(),
            1 => "1 violation".to_owned(),
            _ => format!("{violations} violations"),
        };
        write!(
            f,
            "{frames} frames at {ports} ports, {checks} checks, {found}"
        )?;
        match by_design {
            0 => Ok(()),
            _ => write!(f, ", {by_design} by design"),
        }
    }
}

/// The comparison of a measured value with an expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Less than.
    #[serde(rename = "<")]
    Lt,
    /// At most.
    #[serde(rename = "<=")]
    Le,
    /// Equal.
    #[serde(rename = "==")]
    Eq,
    /// Not equal.
    #[serde(rename = "!=")]
    Ne,
    /// At least.
    #[serde(rename = ">=")]
    Ge,
    /// Greater than.
    #[serde(rename = ">")]
    Gt,
}

impl Op {
    /// Returns whether the comparison of `measured` with `value` holds. If either is not a number, only
    /// [`Ne`](Self::Ne) holds.
    pub fn holds(self, measured: f64, value: f64) -> bool {
        match self {
            Self::Lt => measured < value,
            Self::Le => measured <= value,
            Self::Eq => measured == value,
            Self::Ne => measured != value,
            Self::Ge => measured >= value,
            Self::Gt => measured > value,
        }
    }

    /// Returns the mathematical sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "≤",
            Self::Eq => "=",
            Self::Ne => "≠",
            Self::Ge => "≥",
            Self::Gt => ">",
        }
    }
}

/// An expectation of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The name of one of [`Summary::metrics`].
    pub metric: String,
    /// The comparison.
    pub op: Op,
    /// The value to compare with.
    pub value: f64,
    /// The measured value, or `None` if the run has no such metric.
    pub measured: Option<f64>,
    /// Whether the expectation holds.
    pub held: bool,
    /// The reason for the expectation, in the scenario's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Expectation {
    /// Compares `measured` with `value`. An expectation without a measured value does not hold.
    pub fn judge(
        metric: impl Into<String>,
        op: Op,
        value: f64,
        measured: Option<f64>,
        text: Option<String>,
    ) -> Self {
        let held = measured.is_some_and(|measured| op.holds(measured, value));
        Self {
            metric: metric.into(),
            op,
            value,
            measured,
            held,
            text,
        }
    }
}

/// Frames that a node dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drop {
    /// The node's name.
    pub node: String,
    /// The reason.
    pub reason: String,
    /// The number of frames.
    pub count: u64,
}

/// A fault rule and its effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its key in the scenario, such as `links.0.faults.1`.
    pub place: String,
    /// The rule's text.
    pub rule: String,
    /// The number of frames that its conditions matched.
    pub matched: u64,
    /// The number of these frames that were hit.
    pub hit: u64,
}

impl Fault {
    /// Returns why a rule has hit nothing, or `None` if it has hit something.
    pub fn unused(&self) -> Option<String> {
        match (self.matched, self.hit) {
            (0, _) => Some("never matched".into()),
            (matched, 0) => Some(format!("matched {matched} and hit none")),
            _ => None,
        }
    }
}

/// Captured frames that were injected on a host's wire, in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// The host.
    pub host: String,
    /// `towards` the host, or away `from` it.
    pub direction: String,
    /// The number of frames that the scenario has for this wire.
    pub frames: u64,
    /// The number of frames that were injected. The others were due after the end of the run.
    pub injected: u64,
    /// The number of these frames that waited until the wire was free.
    pub waited: u64,
    /// The number of other frames that these frames delayed.
    pub delayed: u64,
}

impl std::fmt::Display for Injection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            host,
            direction,
            frames,
            injected,
            waited,
            delayed,
        } = self;
        write!(
            f,
            "injected {direction} {host}: {injected} of {frames} frames"
        )?;
        if *waited > 0 {
            write!(f, "; {waited} waited for the wire")?;
        }
        if *delayed > 0 {
            write!(f, "; {delayed} other frames came later")?;
        }
        Ok(())
    }
}

/// The kind of a finding, from the gravest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A cycle of stopped links that cannot end by itself.
    Deadlock,
    /// A cycle of stopped links.
    CyclicWait,
    /// A host that pauses for a large part of the time.
    Storm,
    /// A host that pauses for more than it should.
    Alarm,
    /// A flow that stood because of pauses that it did not cause.
    Victim,
    /// QPs that gave up.
    FailedQps,
    /// Frames that had nowhere to go.
    BlackHole,
    /// What probes of Pingmesh tell.
    Probes,
    /// What the watch over servers saw.
    Servers,
    /// Settings that are not as they were wanted, or not as at the other end of a link.
    Audit,
    /// Where onboarding was stopped.
    Onboarding,
    /// Frames that break a standard.
    Violation,
    /// Frames that break a standard, as the scenario says that they do.
    ByDesign,
}

impl FindingKind {
    /// Returns the kind in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::CyclicWait => "cyclic wait",
            Self::Storm => "pause storm",
            Self::Alarm => "pauses",
            Self::Victim => "victim",
            Self::FailedQps => "failed QPs",
            Self::BlackHole => "black hole",
            Self::Probes => "pingmesh",
            Self::Servers => "servers",
            Self::Audit => "audit",
            Self::Onboarding => "onboarding",
            Self::Violation => "violation",
            Self::ByDesign => "by design",
        }
    }

    /// Returns what a finding of this kind means, and what it says of others.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Deadlock => {
                "Each link of the cycle is stopped until the next one moves. Neither hosts nor time end that, only drops do."
            }
            Self::CyclicWait => {
                "Links waited for each other in a cycle, but enough of its bytes could leave by ports outside of it: no deadlock."
            }
            Self::Storm => {
                "A host stops its switch for half of a millisecond out of one, or what `detect` sets. What stands behind it is not congested: it waits for that host."
            }
            Self::Alarm => {
                "A host stops its switch for more than a thousandth of the time, or what `detect` sets, but never for long enough to be a storm."
            }
            Self::Victim => {
                "A flow whose packets wait at a stopped link, although neither its path nor its receiver is why the link is stopped. The times before and during other findings count: one flow may be a victim of congestion first, and then of a deadlock or storm."
            }
            Self::FailedQps => {
                "A QP ends when it has sent a packet again as often as its retries allow. Its messages are lost to the application."
            }
            Self::BlackHole => {
                "Frames that were sent and had nowhere to go. Their senders learn of it by timeouts."
            }
            Self::Probes => {
                "What probes alone tell, without a look into switches and NICs: the smallest place that bad pairs have in common."
            }
            Self::Servers => {
                "What the watch over servers saw: whose pauses were above its alarms, and how many servers were available."
            }
            Self::Audit => {
                "A device uses something else than was wanted, or the two ends of a link do not use the same. It was found when the time says, whether or not it did harm."
            }
            Self::Onboarding => {
                "A stage of the onboarding was not let in, or was stopped, and those behind it never began."
            }
            Self::Violation => {
                "A frame breaks a rule of a standard: docs/monitors.md has the rules."
            }
            Self::ByDesign => "The scenario says that these rules are broken.",
        }
    }
}

/// Something that a detector found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// What was found, in a line.
    pub text: String,
    /// Its parts, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// When it began, in nanoseconds.
    pub from_ns: u64,
    /// When it ended, in nanoseconds; `None` if it lasts.
    pub to_ns: Option<u64>,
}

/// A pattern, or requests with their answers: how long its rounds took within the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name of its entry of `flows`.
    pub name: String,
    /// The pattern, or `requests`.
    pub kind: String,
    /// Hosts that take part in a round.
    pub hosts: usize,
    /// Rounds that are over.
    pub rounds: usize,
    /// The median time of a round, in nanoseconds; absent without a round.
    pub median_ns: Option<u64>,
    /// The longest time of a round, in nanoseconds.
    pub longest_ns: Option<u64>,
    /// Bytes that each host has to send at least over the median time, in Gb/s.
    pub bus_bandwidth_gbps: Option<f64>,
    /// Hosts that were last most often, and by how much; at most three.
    pub stragglers: Vec<Straggler>,
}

/// A host that was last in rounds of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Straggler {
    /// The host's name.
    pub host: String,
    /// In how many rounds it was last.
    pub rounds: usize,
    /// How much later than the median host it was at most, in nanoseconds.
    pub late_ns: u64,
}

/// Most stragglers of a job.
const MOST_STRAGGLERS: usize = 3;

/// The jobs, with their rounds that ended at `from` or later.
fn jobs(simulation: &Simulation, from: Time) -> Vec<Job> {
    let of = |job: &crate::scenario::Job| {
        let rounds = rounds(simulation, job, from);
        let mut times: Vec<u64> = rounds
            .iter()
            .map(|round| round.end.saturating_since(round.begin).as_ps() / 1_000)
            .collect();
        times.sort_unstable();
        let median = times.get(times.len().saturating_sub(1) / 2).copied();
        let mut last = BTreeMap::<&str, Straggler>::new();
        // A round that all ended at once has no straggler.
        for round in rounds.iter().filter(|round| round.late.as_ps() > 0) {
            let host = simulation.names()[round.last.0 as usize].as_str();
            let known = last.entry(host).or_insert_with(|| Straggler {
                host: host.into(),
                rounds: 0,
                late_ns: 0,
            });
            known.rounds += 1;
            known.late_ns = known.late_ns.max(round.late.as_ps() / 1_000);
        }
        let mut stragglers: Vec<Straggler> = last.into_values().collect();
        stragglers.sort_by_key(|one| std::cmp::Reverse((one.rounds, one.late_ns)));
        stragglers.truncate(MOST_STRAGGLERS);
        let bandwidth = |ns: u64| job.bus_bytes * 8.0 / ns.max(1) as f64;
        Job {
            name: job.name.clone(),
            kind: job.kind().into(),
            hosts: job.hosts,
            rounds: rounds.len(),
            median_ns: median,
            longest_ns: times.last().copied(),
            bus_bandwidth_gbps: median.filter(|_| job.bus_bytes > 0.0).map(bandwidth),
            stragglers,
        }
    };
    simulation.jobs().iter().map(of).collect()
}

/// What nodes dropped, by reason, and what was lost on links.
pub fn drops(simulation: &Simulation) -> Vec<Drop> {
    let name = |node: xoff_sim::kernel::NodeId| simulation.names()[node.0 as usize].as_str();
    let drop = |drop: crate::metrics::Dropped| Drop {
        node: name(drop.node).into(),
        reason: drop.reason.to_string(),
        count: drop.frames,
    };
    let on_links = lost_on_links(simulation).map(|((node, port), count)| {
        let peer = simulation.network().peer(node, port);
        let to = peer.map_or("?", |(peer, _)| name(peer));
        Drop {
            node: format!("{} → {to}", name(node)),
            reason: "link".into(),
            count,
        }
    });
    let all = dropped(simulation).into_iter().map(drop).chain(on_links);
    all.filter(|drop| drop.count > 0).collect()
}
