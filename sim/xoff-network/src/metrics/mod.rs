//! Measurement of a [`Simulation`](crate::Simulation): metrics with typed names, and samples over time.
//!
//! | module | what is in it |
//! |---|---|
//! | `credit` | what flows have delivered, never faster than a line carries it |
//! | `fills` | how full switches were over intervals of different lengths |
//! | [`key`] | [`Metric`]: the name of a metric, and [`Quantity`]: what it measures |
//! | [`jobs`] | rounds of jobs |
//! | [`measure`] | [`Metrics`]: values by name; which metrics a scenario has; how they are read |
//! | [`recorder`] | [`Recorder`]: measures while the simulation runs, and takes [`Samples`] |
//! | `windows` | the least and the greatest of rates between two samples |
//!
//! ```
//! use xoff_network::Simulation;
//! use xoff_network::metrics::{Metric, Quantity, Recorder};
//! use xoff_network::scenario::{FlowSettings, NicKind, Scenario};
//! use xoff_sim::time::{Duration, Length, Time};
//!
//! let mut scenario = Scenario::new("two hosts", Duration::from_us(50))
//!     .host("a")
//!     .host("b")
//!     .link("a", "b", Length::from_m(2))
//!     .flow(FlowSettings::new("bulk", "a", "b"));
//! scenario.host.nic = NicKind::Model;
//! let mut simulation = Simulation::new(&scenario.checked()?)?;
//! let mut recorder = Recorder::new(&simulation);
//! simulation.run_until(Time::ZERO + scenario.duration)?;
//! let metrics = recorder.metrics(&simulation);
//! let goodput = metrics[&Metric::flow(Quantity::GoodputGbps, "bulk")];
//! assert!(goodput > 30.0 && goodput < 40.0);
//! # Ok::<(), xoff_network::SimulationError>(())
//! ```

mod credit;
mod fills;
pub mod jobs;
pub mod key;
pub mod measure;
pub mod recorder;
mod windows;

pub(crate) use credit::Credits;
pub use key::{Metric, Quantile, Quantity, Scope, Subject};
pub use measure::{Dropped, Metrics, dropped, lost_on_links, names, nic_cycles};
pub use recorder::{Interval, Recorder, Samples, Tally};
