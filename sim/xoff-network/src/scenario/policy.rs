//! The policy of a scenario: what changes settings while the network runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::Duration;

use super::Scenario;
use super::check::{Issue, issue};
use super::check_events::LEAST_PERIOD;

/// A slow loop over congestion control: again and again a policy is told what was measured, and changes settings of
/// switches, NICs and flows. Each change is an event; a file of them in the folder of results does the same without the
/// policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySettings {
    /// The policy: `ecn-tuner`, or one that the program has by this name (docs/own-policy.md).
    pub name: String,
    /// The time from one look of the policy to the next, 1 us or longer and shorter than the run.
    #[serde(default = "often")]
    pub every: Duration,
    /// What the policy takes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

const fn often() -> Duration {
    Duration::from_ms(1)
}

impl Scenario {
    /// Checks the policy, but for its name and parameters, which the program knows.
    pub(super) fn check_policy(&self) -> Vec<Issue> {
        let Some(policy) = &self.policy else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if policy.name.is_empty() {
            found.push(issue("policy.name", "it has none: such as \"ecn-tuner\""));
        }
        if policy.every == Duration::ZERO {
            let problem = "must be above 0, for example '1 ms'";
            found.push(issue("policy.every", problem));
        } else if policy.every < LEAST_PERIOD {
            let problem = format!("{}: {LEAST_PERIOD} or longer", policy.every);
            found.push(issue("policy.every", problem));
        } else if policy.every >= self.duration {
            let problem = format!(
                "{}: the run ends at {}, before the policy sees anything",
                policy.every, self.duration
            );
            found.push(issue("policy.every", problem));
        }
        found
    }
}
