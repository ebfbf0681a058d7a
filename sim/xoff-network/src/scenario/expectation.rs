//! What a scenario expects of its metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a metric is compared with a number; `within` needs a `tolerance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the signs say it")]
pub enum Op {
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "<")]
    Below,
    #[serde(rename = ">")]
    Above,
    #[serde(rename = "within")]
    Within,
}

/// One metric or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a metric or a list of metrics")]
pub enum Factors {
    /// One metric.
    One(String),
    /// Several metrics.
    Several(Vec<String>),
}

impl Factors {
    /// The names.
    pub fn names(&self) -> &[String] {
        match self {
            Factors::One(name) => std::slice::from_ref(name),
            Factors::Several(names) => names,
        }
    }
}

/// A metric and the value that it has to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The metric, such as `goodput_gbps.total`; `xoff run --json` prints all of a scenario.
    pub metric: String,
    /// How the metric is compared with the value.
    pub op: Op,
    /// The value that the metric is compared with; with `of` and `times` a factor of it.
    pub value: f64,
    /// Another metric by which `value` is multiplied.
    #[serde(default)]
    pub of: Option<String>,
    /// One more metric by which it is multiplied, or a list of them.
    #[serde(default)]
    pub times: Option<Factors>,
    /// With `within`: by which part of the value the metric may be off, 0 to below 1.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Why this is expected, for the report.
    #[serde(default)]
    pub why: String,
}
