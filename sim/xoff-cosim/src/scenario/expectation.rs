//! What a scenario expects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_waves::report::{Expectation as Judged, Op as SignedOp};

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

impl Expectation {
    /// Holds it against what was measured: a line, or two for `within`.
    ///
    /// # Errors
    ///
    /// The metric that does not exist.
    pub fn judge<'a>(&'a self, metrics: &BTreeMap<String, f64>) -> Result<Vec<Judged>, &'a str> {
        let find = |name: &'a str| metrics.get(name).copied().ok_or(name);
        let measured = find(&self.metric)?;
        let mut value = self.value;
        for factor in [&self.of, &self.times].into_iter().flatten() {
            value *= find(factor)?;
        }
        let off = self.tolerance.unwrap_or(0.0) * value.abs();
        let held_against: &[(SignedOp, f64)] = match self.op {
            Op::Equal => &[(SignedOp::Eq, value)],
            Op::AtMost => &[(SignedOp::Le, value)],
            Op::AtLeast => &[(SignedOp::Ge, value)],
            Op::Below => &[(SignedOp::Lt, value)],
            Op::Above => &[(SignedOp::Gt, value)],
            Op::Within => &[(SignedOp::Ge, value - off), (SignedOp::Le, value + off)],
        };
        let text = (!self.why.is_empty()).then(|| self.why.clone());
        // Such as the latency of messages of which none came to its end.
        let measured = measured.is_finite().then_some(measured);
        let judge = |(op, value): &(SignedOp, f64)| {
            Judged::judge(&self.metric, *op, *value, measured, text.clone())
        };
        Ok(held_against.iter().map(judge).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str) -> Result<bool, String> {
        let expectation: Expectation = toml::from_str(text).unwrap();
        let metrics = [("a", 95.0), ("b", 100.0), ("half", 0.5), ("none", f64::NAN)];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value)).into();
        expectation
            .judge(&metrics)
            .map(|judged| judged.iter().all(|judged| judged.held))
            .map_err(str::to_owned)
    }

    #[test]
    fn each_op_holds_and_fails() {
        for (op, value, held) in [
            ("==", 95.0, true),
            ("==", 95.1, false),
            ("<=", 95.0, true),
            ("<=", 94.9, false),
            (">=", 95.0, true),
            (">=", 95.1, false),
            ("<", 95.0, false),
            ("<", 95.1, true),
            (">", 95.0, false),
            (">", 94.9, true),
        ] {
            let text = format!("metric = 'a'\nop = '{op}'\nvalue = {value:.1}");
            assert_eq!(judge(&text), Ok(held), "{text}");
        }
    }

    #[test]
    fn within_is_a_part_of_the_value_and_factors_multiply() {
        let text = |tolerance| {
            format!(
                "metric = 'a'\nop = 'within'\nvalue = 1.92\nof = 'b'\ntimes = 'half'\ntolerance = {tolerance}"
            )
        };
        assert_eq!(judge(&text("0.02")), Ok(true));
        assert_eq!(judge(&text("0.01")), Ok(false));
        assert_eq!(judge("metric = 'none'\nop = '<='\nvalue = 1.0"), Ok(false));
        assert_eq!(
            judge("metric = 'c'\nop = '=='\nvalue = 0.0"),
            Err("c".into())
        );
    }
}
