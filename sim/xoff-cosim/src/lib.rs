//! RTL NICs in a simulated network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`units`] | drivers that operate the pins of the verilated units |
//! | [`network`] | hosts with RTL or model NICs, switches and cables in simulated time |
//! | [`detect`] | what went wrong in a simulation: cyclic waits, pause storms, victims of pauses |
//! | [`metrics`] | what a simulation measures: typed metric names, and samples over time |
//! | [`scenario`] | the description of a network, its flows and what is expected of them |

pub mod detect;
pub mod metrics;
pub mod network;
pub mod scenario;
pub mod units;
