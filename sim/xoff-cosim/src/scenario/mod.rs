//! Scenarios: what a network is made of, what runs in it, and what is expected of it. TOML, or built in Rust.
//!
//! | module | what is in it |
//! |---|---|
//! | [`schema`] | [`Scenario`] and its parts, with their defaults |
//! | [`host`] | [`HostSettings`]: NIC, classes, pauses, DCQCN |
//! | [`switch`] | [`SwitchSettings`]: buffer, thresholds, marking |
//! | [`flow`] | [`FlowSettings`]: messages and the QP that carries them |
//! | [`expectation`] | [`Expectation`]: a metric held against a number |
//! | [`clos`] | [`Clos`]: a scenario of any size |
//! | [`check`] | what can be said against a scenario before it runs |

pub mod check;
pub mod clos;
pub mod expectation;
pub mod flow;
pub mod host;
pub mod schema;
pub mod switch;

pub use clos::Clos;
pub use expectation::{Expectation, Op};
pub use flow::{FlowSettings, Operation, Recovery};
pub use host::{HostSettings, NicKind};
pub use schema::{HostEntry, LinkEntry, Scenario};
pub use switch::SwitchSettings;
