//! RTL NICs in a simulated network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`units`] | drivers of the verilated units at their pins |
//! | [`network`] | hosts with RTL or model NICs, switches and cables in simulated time |
//! | [`metrics`] | what is measured in a simulation, by typed names, and samples over time |
//! | [`scenario`] | the description of a network, its flows and what is expected of them |

pub mod metrics;
pub mod network;
pub mod scenario;
pub mod units;
