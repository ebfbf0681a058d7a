//! The network of a scenario: hosts with RTL or model NICs and switches, in the kernel's time.
//!
//! | module | what is in it |
//! |---|---|
//! | [`rtl_host`] | [`RtlHost`]: the verilated NIC with MACs and a host |
//! | [`station`] | [`Station`]: a node of any kind |
//! | [`topology`] | addresses, routes, headroom: from a scenario's words to nodes |
//! | [`on_links`] | rules of faults and injected frames, and what they have done |
//! | [`simulation`] | [`Simulation`]: a scenario in time |

pub mod on_links;
pub mod rtl_host;
pub mod simulation;
pub mod station;
pub mod topology;

pub use on_links::{InjectionUse, RuleUse};
pub use rtl_host::{RtlHost, RtlHostConfig, WaveWindow};
pub use simulation::{FlowEnds, Simulation, SimulationError};
pub use station::Station;
