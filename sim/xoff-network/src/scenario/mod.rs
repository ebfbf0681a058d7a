//! Scenarios: a network, the flows in it, and what is expected of them. They are read from TOML or built in Rust.
//!
//! `docs/scenarios.md` describes every key. [`fn@json_schema`] provides the keys to editors; its descriptions are the
//! doc comments of the fields.
//!
//! | module | what is in it |
//! |---|---|
//! | [`schema`] | [`Scenario`] and its parts, with their defaults |
//! | [`host`] | [`HostSettings`]: NIC, classes, pauses, DCQCN |
//! | [`tcp`] | [`TcpSettings`]: TCP of hosts that speak it |
//! | [`switch`] | [`SwitchSettings`]: buffer, thresholds, marking |
//! | [`flow`] | [`FlowSettings`]: messages and the QP that carries them |
//! | [`pattern`] | [`Pattern`]: collectives, queries, incasts |
//! | [`depend`] | [`Gate`]: what flows wait for; [`Job`]: what is measured of it |
//! | [`pingmesh`] | [`Pingmesh`]: probes between hosts |
//! | [`watch`] | [`Watch`]: what is counted of each server, interval by interval |
//! | [`audit`] | [`Audit`]: what devices were meant to use; [`Onboarding`]: traffic that is let in by stages |
//! | [`policy`] | [`PolicySettings`]: what changes settings while the network runs |
//! | `subjects` | whom settings are changed of, by name |
//! | [`inject`] | [`InjectEntry`]: captured frames that are injected into wires |
//! | [`event`] | [`Event`]: what happens during the run; [`RouteEntry`]: routes that are given |
//! | [`expectation`] | [`Expectation`]: a metric compared with a number |
//! | [`variant`] | [`Variant`]: the same network with other settings |
//! | [`topology`] | [`Topology`]: networks that a few keys describe |
//! | [`clos`] | [`Clos`]: podsets, racks, leafs and spines |
//! | [`ns3`] | files of ns-3's RDMA simulations |
//! | [`goal`] | [`Goal`]: schedules of LogGOPSim and ATLAHS |
//! | [`names`] | [`Names`]: groups and ranges of nodes |
//! | [`connection`] | [`Connection`]: what entries of flows stand for |
//! | [`tool`] | [`ToolSettings`]: tools of hosts whose peer is outside; their checks |
//! | `notes` | what is not refused but may not be intended |
//! | `checked` | [`Checked`]: a scenario that has passed its check, written out |
//! | [`check`] | checks of a scenario before it runs; `check_events`: those of events, routes and switches; `check_depend`: those of what flows wait for; `check_selective`, `check_tcp`: those of flows that repeat selectively, and of TCP hosts |

pub mod audit;
pub mod check;
mod check_depend;
mod check_events;
mod check_selective;
mod check_tcp;
mod checked;
pub mod clos;
pub mod connection;
pub mod depend;
pub mod event;
pub mod expectation;
pub mod flow;
pub mod goal;
pub mod host;
pub mod inject;
mod json_schema;
mod mix;
pub mod names;
mod notes;
pub mod ns3;
pub mod pattern;
pub mod pingmesh;
pub mod policy;
pub mod schema;
mod storage;
pub(crate) mod subjects;
pub mod switch;
pub mod tcp;
pub mod tool;
pub mod topology;
pub mod translation;
pub mod variant;
pub mod watch;

pub use audit::{Audit, Onboarding, WantedHost, WantedSwitch};
pub use checked::Checked;
pub use clos::Clos;
pub use connection::{Connection, Series, entry_of};
pub use depend::{End, Gate, Job, Unit};
pub use event::{Action, Event, RouteEntry};
pub use expectation::{Expectation, Factors, Op};
pub use flow::{FlowSettings, Operation, Pairs, Recovery};
pub use goal::Goal;
pub use host::{HostSettings, IpVersion, NicKind};
pub use inject::{CapturedFrame, InjectEntry, Only, Towards};
pub use json_schema::json_schema;
pub use mix::Message;
pub(crate) use mix::shapes;
pub use names::Names;
pub use pattern::Pattern;
pub use pingmesh::Pingmesh;
pub use policy::PolicySettings;
pub use schema::{HostEntry, LinkEntry, Scenario, VERSION};
pub use switch::{ClassSettings, SwitchSettings};
pub use tcp::{TcpCongestion, TcpSettings};
pub use tool::{ToolName, ToolSettings};
pub use topology::{Ring, Star, Topology};
pub use translation::TranslationSettings;
pub use variant::Variant;
pub use watch::Watch;
