//! A slow loop over congestion control: again and again a policy sees what was measured, and changes settings.
//!
//! NICs react to each mark and each acknowledgement. A policy looks at the whole network every so often, and sets what
//! these reactions go by: marks and XOFF of switches, parameters of DCQCN, bounds of rates and windows. So do ACC
//! (SIGCOMM 2021, thresholds of marks), MOCC (EuroSys 2022), Spine (CoNEXT 2022) and Astraea (EuroSys 2024), whose
//! policies are learned. Here one is a [`Policy`] in Rust, and a scenario names it:
//!
//! ```toml
//! [policy]
//! name = "ecn-tuner"
//! every = "1 ms"
//! ```
//!
//! Its changes are events ([`Action`]): they take effect at the instant of the look, before everything else at that
//! instant, and a run of the scenario with these events in place of the policy has the same digest.
//!
//! | module | what is in it |
//! |---|---|
//! | `kind` | [`PolicyKind`]: a policy that a program knows by a name |
//! | [`measured`] | [`Measured`]: what a policy sees |
//! | `slow_loop` | [`SlowLoop`]: a policy in a run, and the changes that it made |
//! | [`ecn_tuner`] | [`EcnTuner`]: thresholds of marks by a rule of two lines |

pub mod ecn_tuner;
mod kind;
pub mod measured;
mod slow_loop;

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xoff_sim::time::{Duration, LineRate};

use crate::scenario::{Action, Event, Scenario};

pub use ecn_tuner::EcnTuner;
pub use kind::PolicyKind;
pub use measured::Measured;
pub use slow_loop::SlowLoop;

/// What changes settings while a network runs. Its state is plain data, so that it can be part of a checkpoint; nothing
/// but what it is told may have an effect on it: no clock of the machine, and no random number but of a generator that
/// it keeps itself.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use xoff_network::policy::{Measured, Policy, PolicySetup};
/// use xoff_network::scenario::Action;
///
/// /// Lets a flow rest from the second look on.
/// #[derive(Debug, Clone, Serialize, Deserialize)]
/// struct Rest {
///     flow: String,
///     looks: u32,
/// }
///
/// impl Policy for Rest {
///     fn new(setup: &PolicySetup<'_>) -> Result<Self, String> {
///         let flow = setup.flows.first().ok_or("there is no flow")?.clone();
///         Ok(Self { flow, looks: 0 })
///     }
///
///     fn step(&mut self, _measured: &Measured) -> Vec<Action> {
///         self.looks += 1;
///         match self.looks {
///             2 => vec![Action::Stop(self.flow.clone())],
///             _ => Vec::new(),
///         }
///     }
/// }
/// ```
pub trait Policy: Debug + Clone + Serialize + DeserializeOwned + Send + 'static {
    /// The policy of a run that begins.
    ///
    /// # Errors
    ///
    /// A parameter that does not fit, or a scenario in which there is nothing to set: what would be right, in a line.
    fn new(setup: &PolicySetup<'_>) -> Result<Self, String>;

    /// Looks at what was measured since the last look, or since the start, and returns the changes, which happen in
    /// this order. Those that it may make are [`Action::Set`], [`Action::Dcqcn`], [`Action::Pace`], [`Action::Stop`]
    /// and [`Action::Start`]; another one, or one that names what is not there, ends the run with an error.
    fn step(&mut self, measured: &Measured) -> Vec<Action>;
}

/// What a policy knows when its run begins.
#[derive(Debug, Clone)]
pub struct PolicySetup<'a> {
    /// The scenario, written out.
    pub scenario: &'a Scenario,
    /// The time from one look to the next.
    pub every: Duration,
    /// Hosts, then switches, in the order of the network.
    pub nodes: &'a [NodeFacts],
    /// The names of what is measured under one name: flows, and workloads as a whole.
    pub flows: &'a [String],
    /// What the scenario has in `policy.parameters`.
    pub parameters: &'a BTreeMap<String, Value>,
}

impl PolicySetup<'_> {
    /// The parameters as a type. With `#[serde(default, deny_unknown_fields)]` a key that it does not have is refused.
    ///
    /// # Errors
    ///
    /// A key or a value that does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let table = self.parameters.clone().into_iter().collect();
        serde_json::from_value(Value::Object(table)).map_err(|error| error.to_string())
    }

    /// The switches.
    pub fn switches(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes.iter().filter(|node| !node.host)
    }
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Whether it is a host.
    pub host: bool,
    /// The rate of each of its ports.
    pub ports: Vec<LineRate>,
}

/// What a policy did in a run, as results have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steered {
    /// The policy.
    pub name: String,
    /// The time from one look to the next, in nanoseconds.
    pub every_ns: u64,
    /// How often it looked.
    pub looks: u64,
    /// The changes, in the form of `[[events]]`.
    pub changes: Vec<Event>,
    /// The scenario with these events in place of the policy: the name of its file, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
}

impl Scenario {
    /// The scenario with events in place of the policy. What a variant has set stays, without the variants.
    #[must_use]
    pub fn recorded(&self, changes: &[Event]) -> Self {
        let mut recorded = self.clone();
        recorded.policy = None;
        recorded.events.extend_from_slice(changes);
        recorded.variant = crate::scenario::variant::BASE.into();
        recorded.variants.clear();
        recorded
    }
}

#[cfg(test)]
mod effects;
#[cfg(test)]
mod tests;
