//! The network of a scenario: hosts with RTL or model NICs, and switches, as nodes of the simulation kernel.
//!
//! | module | what is in it |
//! |---|---|
//! | [`device`] | [`Device`] and [`Driver`]: the pins of a NIC top, and the software around it |
//! | [`rtl_host`] | [`RtlHost`]: a verilated NIC with MACs, driver and host |
//! | [`xoff_nic`] | [`XoffNic`]: the driver of `rtl/nic` |
//! | [`own`] | [`Nics`]: NICs of your own, registered by the names that scenarios use |
//! | [`arp`] | [`Arp`](arp::Arp): answers ARP on behalf of the network, for NICs that ask |
//! | `events` | what happens during the run |
//! | `convergence` | the routes that switches have once they know which links are down |
//! | [`station`] | [`Station`]: a node of any kind |
//! | [`alone`] | how long a message takes when nothing else is on its way |
//! | [`topology`] | addresses, routes and headroom, derived from a scenario |
//! | [`on_links`] | fault rules and injected frames, and what they have done |
//! | [`simulation`] | [`Simulation`]: a scenario that runs |

pub mod alone;
pub mod arp;

mod convergence;
pub mod device;
mod events;
pub mod on_links;
pub mod own;
pub mod rtl_host;
pub mod simulation;
#[cfg(test)]
mod started;
pub mod station;
pub mod topology;
pub mod xoff_nic;

pub use device::{Device, DeviceModel, Driver};
pub use on_links::{InjectionUse, RuleUse};
pub use own::Nics;
pub use rtl_host::{RtlHost, RtlHostConfig, RtlNode, WaveWindow};
pub use simulation::{FlowEnds, Simulation, SimulationError};
pub use station::Station;
pub use xoff_nic::XoffNic;
