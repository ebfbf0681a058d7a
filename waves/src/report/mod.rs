//! Reports of a run: one HTML page, and single charts as SVG.
//!
//! The types are plain values that a run fills in. [`Report::html`] renders the page, and [`Chart::svg`] renders a
//! separate picture. The page needs no other file and can be read without scripts. It is made for windows and phones,
//! light and dark, and never uses colour alone: words or shapes say everything too.
//!
//! ```
//! use xoff_waves::report::{Chart, Expectation, Line, Op, Report, Summary};
//!
//! let report = Report {
//!     title: "Go-back-0 under one loss in 256".into(),
//!     command: "xoff run livelock --set requester=go_back_0 --seed 1".into(),
//!     summary: Summary {
//!         scenario: "livelock".into(),
//!         seed: 1,
//!         duration_ns: 2_000_000,
//!         expectations: vec![Expectation::judge("goodput", Op::Eq, 0.0, Some(0.0), None)],
//!         ..Summary::default()
//!     },
//!     charts: vec![Chart {
//!         title: "Goodput".into(),
//!         unit: "b/s".into(),
//!         lines: vec![Line { name: "a→b".into(), points: vec![(0, 0.0), (2_000_000, 0.0)], ..Line::default() }],
//!         ..Chart::default()
//!     }],
//!     ..Report::default()
//! };
//! assert!(report.html().contains("Held: the one expectation is met."));
//! assert!(report.charts[0].svg().starts_with("<svg"));
//! ```

mod chart;
mod columns;
mod condense;
mod data;
mod decimate;
mod fct;
mod heat;
mod page;
mod pauses;
mod scale;
mod spans;
mod style;
mod sweep;
mod text;
mod topology;

pub use data::{
    Area, Band, Chart, Level, Line, Link, Marker, Node, NodeKind, PauseRow, Pauses, Report, Shape,
    Topology, Way,
};
pub use xoff_network::messages::MessageRow;
pub use xoff_network::results::{
    Drop, Expectation, Fault, Finding, FindingKind, Injection, Monitored, Op, State, Summary,
    SummaryVersion,
};

pub use page::sentence;
pub use scale::metric as metric_text;
pub use sweep::{Differing, Multiple, Origin, SeedTable, Sweep, SweepPoint};

impl Chart {
    /// Returns the chart as a whole SVG file with title and legend, for light and dark backgrounds. Without
    /// [`span_ns`](Chart::span_ns) its time axis ends where its data end.
    pub fn svg(&self) -> String {
        chart::standalone(self)
    }
}
