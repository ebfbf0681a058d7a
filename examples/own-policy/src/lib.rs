//! Fair shares by bounds: a policy that gives each flow of a bottleneck the same rate.
//!
//! At each look the flows that moved share what moved, and each gets a bound of that share, with some room to grow:
//! what one of them leaves unused is seen at the next look, and the bounds rise. MOCC, Spine and Astraea set rates and
//! windows in such a loop; what they learned is how much.

use serde::{Deserialize, Serialize};
use xoff_network::metrics::{Metric, Quantity};
use xoff_network::policy::{Measured, Policy, PolicySetup};
use xoff_network::scenario::Action;
use xoff_network::scenario::event::Pace;
use xoff_sim::time::Rate;

/// What a scenario may set, in `[policy.parameters]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    /// By how much a bound is above the share, 1 or more.
    room: f64,
    /// Bytes on the wire for each byte of payload.
    wire: f64,
}

impl Default for Parameters {
    /// Frames of 1,086 bytes with preamble and gap, for 1,024 of payload.
    fn default() -> Self {
        Self {
            room: 1.1,
            wire: 1106.0 / 1024.0,
        }
    }
}

/// The policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    parameters: Parameters,
    flows: Vec<String>,
}

impl Policy for Shares {
    fn new(setup: &PolicySetup<'_>) -> Result<Self, String> {
        let parameters: Parameters = setup.read()?;
        match parameters.room >= 1.0 && parameters.wire >= 1.0 {
            true => Ok(Self {
                parameters,
                flows: setup.flows.to_vec(),
            }),
            false => Err("room and wire: 1 or more".into()),
        }
    }

    fn step(&mut self, measured: &Measured) -> Vec<Action> {
        let goodput = |flow: &String| measured.metrics[&Metric::flow(Quantity::GoodputGbps, flow)];
        let moved: Vec<&String> = self.flows.iter().filter(|flow| goodput(flow) > 0.0).collect();
        let all: f64 = moved.iter().map(|flow| goodput(flow)).sum();
        let Parameters { room, wire } = self.parameters;
        let share = all / moved.len() as f64 * room * wire;
        let pace = |flow: &&String| {
            Action::Pace(Pace {
                flow: (*flow).clone(),
                rate: Some(Rate::from_bits_per_second((share * 1e6).max(10.0) as u64 * 1_000)),
                window: None,
            })
        };
        moved.iter().map(pace).collect()
    }
}
