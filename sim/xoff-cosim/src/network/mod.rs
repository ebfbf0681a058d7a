//! The network of a scenario: hosts with RTL or model NICs and switches, in the kernel's time.
//!
//! | module | what is in it |
//! |---|---|
//! | [`device`] | [`Device`] and [`Driver`]: what makes a NIC top a node: its pins, and the software around it |
//! | [`rtl_host`] | [`RtlHost`]: a verilated NIC with MACs, driver and host |
//! | [`xoff_nic`] | [`XoffNic`]: the driver of `rtl/nic` |
//! | [`own`] | [`Nics`]: NICs of one's own, by the names that scenarios call them |
//! | [`arp`] | [`Arp`](arp::Arp): answers ARP in the network's place, for NICs that ask |
//! | [`station`] | [`Station`]: a node of any kind |
//! | [`topology`] | addresses, routes, headroom: from a scenario's words to nodes |
//! | [`on_links`] | rules of faults and injected frames, and what they have done |
//! | [`simulation`] | [`Simulation`]: a scenario in time |

pub mod arp;
pub mod device;
pub mod on_links;
pub mod own;
pub mod rtl_host;
pub mod simulation;
pub mod station;
pub mod topology;
pub mod xoff_nic;

pub use device::{Device, Driver};
pub use on_links::{InjectionUse, RuleUse};
pub use own::Nics;
pub use rtl_host::{RtlHost, RtlHostConfig, RtlNode, WaveWindow};
pub use simulation::{FlowEnds, Simulation, SimulationError};
pub use station::Station;
pub use xoff_nic::XoffNic;
