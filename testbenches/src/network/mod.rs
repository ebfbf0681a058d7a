//! The network of a scenario: hosts with RTL or model NICs and switches, in the kernel's time.
//!
//! | module | what is in it |
//! |---|---|
//! | [`rtl_host`] | [`RtlHost`]: the verilated NIC with MACs and a host |
//! | [`model_host`] | [`ModelHost`]: the NIC made of the reference models |
//! | [`station`] | [`Station`]: a node of any kind |
//! | [`pause_log`] | [`PauseLog`](pause_log::PauseLog): when which class could not be sent |
//! | [`plan`] | addresses, routes, headroom: from a scenario's words to nodes |
//! | [`simulation`] | [`Simulation`]: a scenario in time |

pub mod model_host;
pub mod pause_log;
pub mod plan;
pub mod rtl_host;
pub mod simulation;
pub mod station;

pub use model_host::ModelHost;
pub use rtl_host::{RtlHost, RtlHostConfig, WaveWindow};
pub use simulation::{FlowEnds, Simulation, SimulationError};
pub use station::Station;
