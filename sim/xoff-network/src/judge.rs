//! Comparison of expectations with measured values.

use thiserror::Error;

use crate::metrics::{Metric, Metrics};
use crate::results::{Expectation as Judged, Op as SignedOp};
use crate::scenario::{Expectation, Factors, Op, Scenario};

/// An expectation is of a metric that the scenario does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("scenario {scenario}: expect: no metric '{name}'; did you mean '{near}'?")]
pub struct UnknownMetric {
    /// The name of the scenario.
    pub scenario: String,
    /// The name that no metric has.
    pub name: String,
    /// The most similar one.
    pub near: String,
}

/// Compares the expectations of a scenario with the measured values.
///
/// # Errors
///
/// Returns the first metric that does not exist.
pub fn judge_all(scenario: &Scenario, metrics: &Metrics) -> Result<Vec<Judged>, UnknownMetric> {
    let mut judged = Vec::new();
    for expectation in &scenario.expect {
        let lines = judge(expectation, metrics).map_err(|name| {
            let distance = |known: &String| strsim::damerau_levenshtein(known, name);
            let near = metrics.keys().map(ToString::to_string).min_by_key(distance);
            UnknownMetric {
                scenario: scenario.name.clone(),
                name: name.into(),
                near: near.unwrap_or_default(),
            }
        })?;
        judged.extend(lines);
    }
    Ok(judged)
}

/// Compares an expectation with the measured values. Returns one line, or two for `within`.
///
/// # Errors
///
/// Returns the name of the metric if it does not exist.
pub fn judge<'a>(expectation: &'a Expectation, metrics: &Metrics) -> Result<Vec<Judged>, &'a str> {
    let find = |name: &'a str| {
        let metric: Option<Metric> = name.parse().ok();
        metric
            .and_then(|metric| metrics.get(&metric))
            .copied()
            .ok_or(name)
    };
    let measured = find(&expectation.metric)?;
    let mut value = expectation.value;
    let times = expectation.times.iter().flat_map(Factors::names);
    for factor in expectation.of.iter().chain(times) {
        value *= find(factor)?;
    }
    let off = expectation.tolerance.unwrap_or(0.0) * value.abs();
    let held_against: &[(SignedOp, f64)] = match expectation.op {
        Op::Equal => &[(SignedOp::Eq, value)],
        Op::AtMost => &[(SignedOp::Le, value)],
        Op::AtLeast => &[(SignedOp::Ge, value)],
        Op::Below => &[(SignedOp::Lt, value)],
        Op::Above => &[(SignedOp::Gt, value)],
        Op::Within => &[(SignedOp::Ge, value - off), (SignedOp::Le, value + off)],
    };
    let text = (!expectation.why.is_empty()).then(|| expectation.why.clone());
    // For example the latency of messages when none was completed.
    let measured = measured.is_finite().then_some(measured);
    let judge = |(op, value): &(SignedOp, f64)| {
        Judged::judge(&expectation.metric, *op, *value, measured, text.clone())
    };
    Ok(held_against.iter().map(judge).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str) -> Result<bool, String> {
        let expectation: Expectation = toml::from_str(text).unwrap();
        let metrics = [
            ("messages.a", 95.0),
            ("messages.b", 100.0),
            ("jain_index", 0.5),
            ("messages.none", f64::NAN),
        ];
        let metrics = metrics
            .map(|(name, value)| (name.parse().unwrap(), value))
            .into();
        super::judge(&expectation, &metrics)
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
            let text = format!("metric = 'messages.a'\nop = '{op}'\nvalue = {value:.1}");
            assert_eq!(judge(&text), Ok(held), "{text}");
        }
    }

    #[test]
    fn within_is_a_part_of_the_value_and_factors_multiply() {
        let text = |tolerance| {
            format!(
                "metric = 'messages.a'\nop = 'within'\nvalue = 1.92\nof = 'messages.b'\ntimes = 'jain_index'\ntolerance = {tolerance}"
            )
        };
        assert_eq!(judge(&text("0.02")), Ok(true));
        assert_eq!(judge(&text("0.01")), Ok(false));
        assert_eq!(
            judge("metric = 'messages.none'\nop = '<='\nvalue = 1.0"),
            Ok(false)
        );
        assert_eq!(
            judge("metric = 'messages.c'\nop = '=='\nvalue = 0.0"),
            Err("messages.c".into())
        );
    }
}
