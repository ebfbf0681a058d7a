//! Variants of a scenario: the same network with other settings and other expectations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Expectation;

/// Name of the variant without changes.
pub const BASE: &str = "base";

/// A variant of the scenario, such as one with the cure: `--set variant=NAME` runs it, and
/// `--sweep variant=base,NAME` runs both, side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What the variant shows, in a line; without it the title of the scenario.
    #[serde(default)]
    pub title: Option<String>,
    /// Keys with other values, as in `--set`: `{ "switches.t.xoff.alpha.den" = 64 }`.
    #[serde(default)]
    pub set: BTreeMap<String, serde_json::Value>,
    /// What is expected of the variant's metrics, in place of what is expected without it.
    #[serde(default)]
    pub expect: Option<Vec<Expectation>>,
}
