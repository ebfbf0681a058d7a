//! The contents of a report: plain values that a run fills in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// What detectors found, the gravest first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What about the settings may not be intended.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the protocol monitors saw, if they watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitored: Option<Monitored>,
    /// All metrics by name. Names that end in `_bps`, `_bytes`, `_ns` or `_s` are in bits per second, bytes,
    /// nanoseconds or seconds, and the page shows them with that unit.
    pub metrics: BTreeMap<String, f64>,
}

impl Summary {
    /// Returns whether every expectation held and the monitors, if they watched, found no violation.
    pub fn held(&self) -> bool {
        let violations = self.monitored.map_or(0, |monitored| monitored.violations);
        violations == 0 && self.expectations.iter().all(|expectation| expectation.held)
    }
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
            Self::Violation => "violation",
            Self::ByDesign => "by design",
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

/// A link that pauses stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseRow {
    /// Who stops whom, such as `h stops t0`.
    pub name: String,
    /// Number of links between it and where the pauses come from.
    pub distance: u32,
    /// Index of the row that it stood because of.
    #[serde(default)]
    pub cause: Option<usize>,
    /// When it was stopped first, in nanoseconds.
    pub from_ns: u64,
    /// How long it was stopped in all, in nanoseconds.
    pub total_ns: u64,
    /// Start and end of each time in which pauses were, and for how long of it the link was stopped, in nanoseconds,
    /// ordered by time.
    pub spans: Vec<(u64, u64, u64)>,
}

/// How pauses spread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pauses {
    /// Stopped links, from where the pauses come from outwards.
    pub rows: Vec<PauseRow>,
    /// Number of links that were stopped for less and are not among the rows.
    pub left_out: usize,
}

/// A report of a run on one page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// What the scenario shows, in one line.
    pub title: String,
    /// One or more paragraphs of plain text, separated by empty lines.
    pub description: String,
    /// The command line that repeats the run.
    pub command: String,
    /// The numbers of the run.
    pub summary: Summary,
    /// The nodes and the links between them.
    pub topology: Topology,
    /// Charts of values over time, the most informative first.
    pub charts: Vec<Chart>,
    /// How pauses spread.
    #[serde(default)]
    pub pauses: Pauses,
}

/// A chart of values over time: lines, and below them rows that are on or off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chart {
    /// What is shown, such as `Goodput`.
    pub title: String,
    /// Unit of the lines' values. `b/s`, `B`, `B/s` and `Hz` get a prefix K, M, G or T as the values need. Other
    /// units are shown as they are. Empty for plain numbers.
    pub unit: String,
    /// A sentence under the title that says what to look for.
    #[serde(default)]
    pub note: String,
    /// Values over time.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Ranges of values over time, drawn behind the lines.
    #[serde(default)]
    pub areas: Vec<Area>,
    /// States over time, one row each.
    #[serde(default)]
    pub bands: Vec<Band>,
    /// Marked moments.
    #[serde(default)]
    pub markers: Vec<Marker>,
    /// Values to compare the lines with, such as a threshold.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// Least and greatest value of the value axis. Without it, the axis goes from 0, or from the least value if that
    /// is negative, to the greatest value.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
    /// Names along the axis instead of times, such as the points of a sweep. The name with index `i` has its points
    /// at 1,000 · i + 500. If empty, the axis is time.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Start and end of the time axis in nanoseconds. Without it, the axis covers the whole run.
    #[serde(default)]
    pub span_ns: Option<(u64, u64)>,
}

/// How a line continues from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A straight line, for samples of a value that changes continuously.
    #[default]
    Straight,
    /// The value stays until the next point, for states such as a configured rate.
    Hold,
    /// The value is the mean since the previous point, for counts over an interval that are reported at its end, such
    /// as goodput.
    Mean,
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Time in nanoseconds and value, ordered by time. A value that is not a number is a gap.
    pub points: Vec<(u64, f64)>,
    /// How the line continues between points.
    #[serde(default)]
    pub shape: Shape,
}

/// A range of values over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Area {
    /// Its name in the legend.
    pub name: String,
    /// Time in nanoseconds, least and greatest value, ordered by time.
    pub points: Vec<(u64, f64, f64)>,
    /// How the edges continue between points.
    #[serde(default)]
    pub shape: Shape,
}

/// A state over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Band {
    /// Its name, shown to the left of the row.
    pub name: String,
    /// Start and end of each time in which the state is on, in nanoseconds, ordered by time.
    pub spans: Vec<(u64, u64)>,
}

/// A marked moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marker {
    /// The time in nanoseconds.
    pub at_ns: u64,
    /// What happened, in a few words.
    pub text: String,
}

/// A value to compare the lines with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// Its name, such as `XOFF`.
    pub name: String,
    /// The value, in the chart's unit.
    pub value: f64,
}

/// The nodes and the links between them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Cables between them.
    pub links: Vec<Link>,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A host whose NIC is the verilated pipeline.
    HostRtl,
    /// A host whose NIC is the reference model.
    HostModel,
    /// A switch.
    Switch,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name in the scenario.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
}

/// What happened on a cable in one direction, in the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Way {
    /// How long pauses of the receiving end stopped it, in nanoseconds; of several classes, the one that was stopped
    /// longest.
    pub paused_ns: u64,
    /// Frames that were lost on it, and those that its receiving end dropped.
    pub drops: u64,
    /// Packets that the sending end marked "congestion experienced".
    pub marks: u64,
}

/// A cable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Link {
    /// Name of the node at one end.
    pub a: String,
    /// Name of the node at the other.
    pub b: String,
    /// Its rate as text, such as `40 Gb/s`.
    pub rate: String,
    /// Its length as text, such as `300 m`.
    pub length: String,
    /// What happened from `a` to `b`.
    #[serde(default)]
    pub there: Way,
    /// What happened from `b` to `a`.
    #[serde(default)]
    pub back: Way,
}
