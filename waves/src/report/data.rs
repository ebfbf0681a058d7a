//! What a report is made of: plain values that a run fills in.

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
    /// The one that is written.
    pub const CURRENT: Self = Self(2);

    /// Of a file without a number.
    const fn unnumbered() -> Self {
        Self(1)
    }
}

impl Default for SummaryVersion {
    fn default() -> Self {
        Self::CURRENT
    }
}

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has begun and not ended, or was killed.
    Running,
    /// It came to its end.
    #[default]
    Finished,
    /// It was stopped before; figures are of the time until then, and nothing is judged.
    Interrupted,
    /// It ended with an error, such as a failed assertion of the RTL.
    Failed,
}

/// What a run was and what came out, in numbers: `summary.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this format.
    #[serde(default = "SummaryVersion::unnumbered")]
    pub version: SummaryVersion,
    /// How far the run came.
    #[serde(default)]
    pub state: State,
    /// Names of the files that the run wrote into its folder. The next run there removes them.
    #[serde(default)]
    pub files: Vec<String>,
    /// The scenario's name, such as `livelock`.
    pub scenario: String,
    /// The seed of everything random.
    pub seed: u64,
    /// Everything that was set, as the scenario file nests it.
    pub settings: serde_json::Value,
    /// Digest of the run: the same for the same scenario, settings and seed.
    pub digest: String,
    /// Simulated time in nanoseconds.
    pub duration_ns: u64,
    /// Time that the run took, in seconds. Not part of what repeats.
    pub wall_s: f64,
    /// NIC clock cycles that passed in the simulation, over all NICs.
    pub nic_cycles: u64,
    /// Of these, the ones that were evaluated; the others were skipped because the NIC was idle.
    pub nic_cycles_evaluated: u64,
    /// What the scenario expected, and what was measured.
    pub expectations: Vec<Expectation>,
    /// Frames dropped, by node and reason.
    pub drops: Vec<Drop>,
    /// The rules of faults and what they have done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Captured frames that were put on wires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injection>,
    /// Everything measured, by name. Names that end in `_bps`, `_bytes`, `_ns` or `_s` are bits a second, bytes, nanoseconds or seconds, and people read them with
    /// that unit.
    pub metrics: BTreeMap<String, f64>,
}

impl Summary {
    /// Whether every expectation held.
    pub fn held(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.held)
    }
}

/// How a measured value is held against an expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Below.
    #[serde(rename = "<")]
    Lt,
    /// At most.
    #[serde(rename = "<=")]
    Le,
    /// Exactly.
    #[serde(rename = "==")]
    Eq,
    /// Anything but.
    #[serde(rename = "!=")]
    Ne,
    /// At least.
    #[serde(rename = ">=")]
    Ge,
    /// Above.
    #[serde(rename = ">")]
    Gt,
}

impl Op {
    /// Whether `measured` stands so to `value`. Nothing but [`Ne`](Self::Ne) holds of what is not a number.
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

    /// As mathematicians write it.
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

/// One thing that the scenario expects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Which of [`Summary::metrics`].
    pub metric: String,
    /// How it must stand to `value`.
    pub op: Op,
    /// What it is held against.
    pub value: f64,
    /// What was measured; `None` when the run has no such metric.
    pub measured: Option<f64>,
    /// Whether it holds.
    pub held: bool,
    /// Why it is expected, in the scenario's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Expectation {
    /// Holds `measured` against `value`. What was not measured does not hold.
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
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// A rule of faults and what it has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its key in the scenario, such as `links.0.faults.1`.
    pub place: String,
    /// Its text.
    pub rule: String,
    /// Frames that its conditions matched.
    pub matched: u64,
    /// Of these, frames that were hit.
    pub hit: u64,
}

impl Fault {
    /// What is odd about a rule that has hit nothing; `None` if it has.
    pub fn unused(&self) -> Option<String> {
        match (self.matched, self.hit) {
            (0, _) => Some("never matched".into()),
            (matched, 0) => Some(format!("matched {matched} and hit none")),
            _ => None,
        }
    }
}

/// Captured frames that were put on the wire of a host, one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// The host.
    pub host: String,
    /// `towards` it or away `from` it.
    pub direction: String,
    /// Frames that the scenario has for this wire.
    pub frames: u64,
    /// Frames that were put on it; the others were to come after the end of the run.
    pub injected: u64,
    /// Of these, frames that waited until the wire was free.
    pub waited: u64,
    /// Other frames that came later because of them.
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

/// A run, told on one page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// One line: what the scenario shows.
    pub title: String,
    /// A paragraph or more, with an empty line between; plain text.
    pub description: String,
    /// The command line that repeats the run.
    pub command: String,
    /// The numbers.
    pub summary: Summary,
    /// Who is connected to whom.
    pub topology: Topology,
    /// What happened over time, the most telling first.
    pub charts: Vec<Chart>,
}

/// Values over time: lines, and under them rows that are on or off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chart {
    /// What is shown, such as `Goodput`.
    pub title: String,
    /// Unit of the lines' values. `b/s`, `B`, `B/s` and `Hz` get K, M or G before them as the values need; any other is shown as it is. Empty for
    /// plain numbers.
    pub unit: String,
    /// A sentence under the title: what to look for.
    #[serde(default)]
    pub note: String,
    /// Values over time.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Ranges of values over time, behind the lines.
    #[serde(default)]
    pub areas: Vec<Area>,
    /// States over time, a row each.
    #[serde(default)]
    pub bands: Vec<Band>,
    /// Moments to point at.
    #[serde(default)]
    pub markers: Vec<Marker>,
    /// Values to compare the lines with, such as a threshold.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// Least and greatest value of the value axis; otherwise from 0 to the greatest value.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
    /// Names of places along the axis instead of times, as of a sweep's points: the one of number `i` has its points at
    /// 1,000 · i + 500. Empty: the axis is time.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Start and end of the time axis in nanoseconds; otherwise the whole run.
    #[serde(default)]
    pub span_ns: Option<(u64, u64)>,
}

/// How a line goes from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Straight: samples of something that changes all the time.
    #[default]
    Straight,
    /// The value stays until the next point: states, such as a rate that is set.
    Hold,
    /// The value is the mean since the point before: what was counted in an interval and is told at its end, such as goodput.
    Mean,
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Nanoseconds and value, in order of time. What is not a number is a gap.
    pub points: Vec<(u64, f64)>,
    /// How it goes between points.
    #[serde(default)]
    pub shape: Shape,
}

/// A range of values over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Area {
    /// Its name in the legend.
    pub name: String,
    /// Nanoseconds, least and greatest value, in order of time.
    pub points: Vec<(u64, f64, f64)>,
    /// How its edges go between points.
    #[serde(default)]
    pub shape: Shape,
}

/// When something was so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Band {
    /// Its name, left of the row.
    pub name: String,
    /// From and to, in nanoseconds, in order of time.
    pub spans: Vec<(u64, u64)>,
}

/// A moment to point at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marker {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// What happened, in a few words.
    pub text: String,
}

/// A value to compare with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Level {
    /// Its name, such as `XOFF`.
    pub name: String,
    /// In the chart's unit.
    pub value: f64,
}

/// Who is connected to whom.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Cables between them.
    pub links: Vec<Link>,
}

/// What a node is.
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
    /// What it is.
    pub kind: NodeKind,
}

/// A cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the node at one end.
    pub a: String,
    /// Name of the node at the other.
    pub b: String,
    /// Its rate as text, such as `40 Gb/s`.
    pub rate: String,
    /// Its length as text, such as `300 m`.
    pub length: String,
}
