//! The table of findings: what detectors found, when, and what each kind means.

use maud::{Markup, html};

use super::{MOST_ROWS, with_code};
use crate::report::scale::time;
use crate::report::text::unbroken;
use xoff_network::results::{Finding, FindingKind};

/// Parts of a finding with a line each.
const MOST_DETAILS: usize = 10;

/// When a finding began and ended, in words. The whole of the run is not worth saying.
fn span(finding: &Finding) -> String {
    match (finding.from_ns, finding.to_ns) {
        (0, None) => String::new(),
        (from, None) => format!("{} to the end", time(from)),
        (from, Some(to)) if time(from) == time(to) => format!("at {}", time(from)),
        (from, Some(to)) => format!("{} to {}", time(from), time(to)),
    }
}

/// Renders the findings.
pub fn findings(findings: &[Finding]) -> Markup {
    let shown = &findings[..findings.len().min(MOST_ROWS)];
    html! {
        @if !findings.is_empty() {
            h2 { "Findings" }
            table.stack.findings {
                tbody { @for of_kind in shown.chunk_by(|a, b| a.kind == b.kind) { (kind(of_kind)) } }
            }
            @if findings.len() > shown.len() {
                p.muted { "and " (findings.len() - shown.len()) " more findings: summary.json has all" }
            }
        }
    }
}

/// Renders the findings of a kind, and under the last what they mean.
fn kind(findings: &[Finding]) -> Markup {
    let kind = findings[0].kind;
    html! {
        @for finding in findings {
            tr {
                td.state.bad[kind != FindingKind::ByDesign] { (kind.words()) }
                td {
                    (unbroken(&finding.text))
                    @let details = &finding.details[..finding.details.len().min(MOST_DETAILS)];
                    @for detail in details { span.why.muted { (detail) } }
                    @if finding.details.len() > details.len() {
                        span.why.muted { "and " (finding.details.len() - details.len()) " more: summary.json has all" }
                    }
                }
                td.when.muted { (span(finding)) }
            }
        }
        tr.meaning { td {} td colspan="2" { span.why.muted { (with_code(kind.meaning())) } } }
    }
}
