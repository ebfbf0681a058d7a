//! What a scenario expects.

use serde::{Deserialize, Serialize};

/// How a metric is held against a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Nearer to the value than `tolerance`, a part of the value.
    #[serde(rename = "within")]
    Within,
}

/// A metric and what it has to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The metric.
    pub metric: String,
    /// How it is compared.
    pub op: Op,
    /// With what; with `of` and `times` a factor.
    pub value: f64,
    /// `value` times this metric.
    #[serde(default)]
    pub of: Option<String>,
    /// And times this one.
    #[serde(default)]
    pub times: Option<String>,
    /// Of `within`: the part of the value that it may be off.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Why, for the report.
    #[serde(default)]
    pub why: String,
}
