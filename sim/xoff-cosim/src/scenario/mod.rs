//! Scenarios: a network, the flows in it, and what is expected of them. Read from TOML, or built in Rust.
//!
//! `docs/scenarios.md` has every key. [`json_schema`] gives them to editors; its descriptions are the docs of the
//! fields.
//!
//! | module | what is in it |
//! |---|---|
//! | [`schema`] | [`Scenario`] and its parts, with their defaults |
//! | [`host`] | [`HostSettings`]: NIC, classes, pauses, DCQCN |
//! | [`switch`] | [`SwitchSettings`]: buffer, thresholds, marking |
//! | [`flow`] | [`FlowSettings`]: messages and the QP that carries them |
//! | [`inject`] | [`InjectEntry`]: captured frames that are put on wires |
//! | [`expectation`] | [`Expectation`]: a metric held against a number |
//! | [`clos`] | [`Clos`]: a scenario of any size |
//! | [`check`] | what can be wrong with a scenario before it runs |

pub mod check;
pub mod clos;
pub mod expectation;
pub mod flow;
pub mod host;
pub mod inject;
mod json_schema;
pub mod schema;
pub mod switch;

pub use clos::Clos;
pub use expectation::{Expectation, Factors, Op};
pub use flow::{FlowSettings, Operation, Recovery};
pub use host::{HostSettings, NicKind};
pub use inject::{CapturedFrame, InjectEntry, Only, Towards};
pub use json_schema::json_schema;
pub use schema::{HostEntry, LinkEntry, Scenario, VERSION};
pub use switch::SwitchSettings;
