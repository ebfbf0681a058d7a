//! The contents of a report: plain values that a run fills in.

use serde::{Deserialize, Serialize};
use xoff_network::messages::MessageRow;
use xoff_network::results::Summary;

/// A link that pauses stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseRow {
    /// Who stops whom, such as `h stops t0`.
    pub name: String,
    /// Names of the nodes at its ends: who stands, and who stops it. Empty in files of earlier versions.
    #[serde(default)]
    pub ends: [String; 2],
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
    /// Messages, or flows of workloads, for `flows.csv` and the charts of slowdown.
    #[serde(skip)]
    pub messages: Vec<MessageRow>,
    /// Start and end of the part of the run that charts show, in nanoseconds. Without it, they show all of it.
    #[serde(default)]
    pub part_ns: Option<(u64, u64)>,
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
    /// When what comes up at the start has settled, in nanoseconds: if later values are far smaller, they set the value
    /// axis, and what is above is said.
    #[serde(default)]
    pub settled_ns: Option<u64>,
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
    /// Not at all: a dot for each point, and a stroke over its range. For values of things that are apart, such as the
    /// variants of a sweep.
    Dots,
    /// The value is the mean since the previous point, for counts over an interval that are reported at its end, such
    /// as goodput.
    Mean,
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// What it is shown together with where there are too many lines, such as the entry of the scenario that flows belong
    /// to; empty: nothing.
    #[serde(default)]
    pub group: String,
    /// Time in nanoseconds and value, ordered by time. A value that is not a number is a gap.
    pub points: Vec<(u64, f64)>,
    /// With [`Shape::Mean`], the least and the greatest value of the interval that ends at each point, drawn as a band;
    /// with [`Shape::Dots`], the ends of a stroke. Not numbers where they are unknown. Empty, or as long as `points`.
    #[serde(default)]
    pub ranges: Vec<(f64, f64)>,
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
    /// Frames that were lost on it alone.
    #[serde(default)]
    pub lost: u64,
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
