//! RTL as parts of a simulated network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`units`] | drivers that operate the pins of the verilated units |
//! | [`network`] | hosts with RTL NICs: this repository's, and those of your own |

pub mod network;
pub mod units;

use xoff_network::scenario::Checked;
use xoff_network::{Endpoints, Simulation, SimulationError};

/// The endpoints of a program that has this repository's RTL NIC: model NICs too.
pub fn endpoints() -> Endpoints {
    Endpoints::default().with(
        xoff_network::endpoint::RTL,
        network::kind::<network::XoffNic>(),
    )
}

/// Builds the network of a scenario that has RTL NICs or model NICs, at time zero.
///
/// # Errors
///
/// As [`Simulation::with`].
pub fn simulation(scenario: &Checked) -> Result<Simulation, SimulationError> {
    Simulation::with(scenario, &endpoints())
}
