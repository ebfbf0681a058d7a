//! The table of expectations: those that are met alike share a row.

use maud::{Markup, html};

use crate::report::scale::{metric, with_groups};
use xoff_network::results::{Expectation, Op};

/// A row of the table.
struct Row<'a> {
    held: bool,
    /// The metrics that are expected to have the same, and have it.
    metrics: Vec<&'a str>,
    why: Option<&'a str>,
    expected: String,
    measured: String,
}

/// A bound and what was measured, in words. If both look alike and are not, as they are.
pub fn in_words(expectation: &Expectation) -> (String, String) {
    let (name, bound) = (&expectation.metric, expectation.value);
    let sign = expectation.op.sign();
    let Some(value) = expectation.measured else {
        return (
            format!("{sign} {}", metric(name, bound)),
            "no such metric".into(),
        );
    };
    let [near, at] = [bound, value].map(|value| metric(name, value));
    match near == at && bound != value {
        true => {
            let [bound, value] = [bound, value].map(|value| with_groups(&value.to_string()));
            (format!("{sign} {bound}"), value)
        }
        false => (format!("{sign} {near}"), at),
    }
}

/// What a metric's name says but for what it is of: the first and the last of its parts.
fn kind(metric: &str) -> (&str, &str) {
    let first = metric.split('.').next().unwrap_or_default();
    (first, metric.rsplit('.').next().unwrap_or_default())
}

/// Whether two expectations are the bounds of one metric, both met.
fn are_bounds(low: &Expectation, high: &Expectation) -> bool {
    let met = low.held && high.held && low.measured.is_some();
    met && low.metric == high.metric
        && (low.op, high.op) == (Op::Ge, Op::Le)
        && (low.text == high.text || high.text.is_none())
}

fn rows(expectations: &[Expectation]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut rest = expectations;
    while let [first, others @ ..] = rest {
        rest = others;
        let (mut expected, measured) = in_words(first);
        if let [second, others @ ..] = others
            && are_bounds(first, second)
        {
            let [low, high] = [first, second].map(|bound| metric(&bound.metric, bound.value));
            expected = format!("{low} to {high}");
            rest = others;
        }
        let why = first.text.as_deref();
        if let Some(last) = rows.last_mut()
            && last.held
            && first.held
            && (&last.expected, &last.measured) == (&expected, &measured)
            && (why.is_none() || why == last.why)
            && kind(last.metrics[0]) == kind(&first.metric)
        {
            last.metrics.push(&first.metric);
            continue;
        }
        rows.push(Row {
            held: first.held,
            metrics: vec![&first.metric],
            why,
            expected,
            measured,
        });
    }
    rows
}

/// Renders the table.
pub fn expectations(expectations: &[Expectation]) -> Markup {
    html! {
        @if !expectations.is_empty() {
            table.stack.expected {
                thead { tr { th {} th { "metric" } th.number { "expected" } th.number { "measured" } } }
                tbody { @for row in rows(expectations) {
                    tr {
                        td.state.good[row.held].bad[!row.held] {
                            @if row.held { "✓ held" } @else { "✗ failed" }
                        }
                        td {
                            @for (place, metric) in row.metrics.iter().enumerate() {
                                @if place > 0 { ", " }
                                span.metric { (metric) }
                            }
                            @if let Some(text) = row.why { span.why.muted { (text) } }
                        }
                        td.number data-label="expected" { (row.expected) }
                        td.number data-label="measured" { (row.measured) }
                    }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(metric: &str, op: Op, value: f64, measured: f64) -> Expectation {
        let held = match op {
            Op::Ge => measured >= value,
            Op::Le => measured <= value,
            _ => measured == value,
        };
        Expectation {
            metric: metric.into(),
            op,
            value,
            measured: Some(measured),
            held,
            text: None,
        }
    }

    fn texts(all: &[Expectation]) -> Vec<String> {
        let text = |row: &Row<'_>| {
            format!(
                "{}: {}, {}",
                row.metrics.join(" "),
                row.expected,
                row.measured
            )
        };
        rows(all).iter().map(text).collect()
    }

    #[test]
    fn what_is_met_alike_shares_a_row() {
        let [drops, more] = ["drops.T0.headroom_full", "drops.T1.headroom_full"]
            .map(|name| expected(name, Op::Eq, 0.0, 0.0));
        let other = expected("timeouts.total", Op::Eq, 0.0, 0.0);
        assert_eq!(
            texts(&[drops, more, other]),
            [
                "drops.T0.headroom_full drops.T1.headroom_full: = 0, 0",
                "timeouts.total: = 0, 0"
            ]
        );
        let within = |measured| {
            let bound = |op, value| expected("job_completion_ns.tcp.p99", op, value, measured);
            texts(&[bound(Op::Ge, 630_000.0), bound(Op::Le, 770_000.0)])
        };
        assert_eq!(
            within(714_693.0),
            ["job_completion_ns.tcp.p99: 630 µs to 770 µs, 714.7 µs"]
        );
        // What is not met stands alone.
        assert_eq!(within(800_000.0).len(), 2);
    }

    #[test]
    fn values_apart_never_look_alike() {
        let near = expected("goodput_gbps.total", Op::Ge, 37.0369, 37.036_89);
        assert!(!near.held);
        assert_eq!(in_words(&near), ("≥ 37.0369".into(), "37.03689".into()));
        let far = expected("held_bytes.total", Op::Ge, 2_824_000.0, 4_548_666.0);
        assert_eq!(in_words(&far), ("≥ 2.824 MB".into(), "4.549 MB".into()));
    }
}
