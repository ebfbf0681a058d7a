//! Functional coverage as a page of HTML: a table for each group, with a cell for each bin.

use maud::{Markup, html};
use xoff_waves::document::tables;

use super::file::{Bin, Coverage, GroupCounts};

/// Style of the page.
const STYLE: &str = "\
table{font-size:14px;margin-bottom:12px}td,th{padding:3px 10px 3px 0}\
td.bin{text-align:right;font-variant-numeric:tabular-nums;padding:3px 10px}\
.hit{background:var(--hit)}.hole{background:var(--hole);color:var(--bad);font-weight:600}\
.never{color:var(--dim);background:var(--shade)}\
.failed{color:var(--bad);font-weight:600}.passed{color:var(--good)}\
@media(max-width:700px){th.value{writing-mode:vertical-rl}td,th{padding:3px 6px 3px 0}td.bin{padding:3px 2px}}";

/// Returns the page.
pub fn html(all: &Coverage) -> String {
    let body = html! {
        h1 { "Functional coverage" }
        p {
            "A number is how often a bin was hit. " span class="hole" { "0" }
            " was not hit; " span class="never" { "–" }
            " cannot be hit, and below the table is why."
        }
        @for unit in &all.units {
            @let (hit, reachable) = unit.sum();
            h2 { (unit.unit) }
            p class=(if hit < reachable { "failed" } else { "passed" }) {
                (hit) " of " (reachable) " bins"
            }
            p {
                @for (place, run) in unit.runs.iter().enumerate() {
                    @if place > 0 { ", " }
                    (run)
                }
            }
            @for group in &unit.groups { (table(group)) }
        }
    };
    tables("xoff cover", STYLE, &body).into_string()
}

/// A row for each combination of all axes but the last, and a column for each value of the last.
fn table(group: &GroupCounts) -> Markup {
    let last = group.axes.len().saturating_sub(1);
    // The last axis changes fastest: its values are those until the first comes again.
    let values: Vec<&String> = group
        .bins
        .iter()
        .filter_map(|bin| bin.at.get(last))
        .collect();
    let again = (1..values.len()).find(|&at| values[at] == values[0]);
    let width = again.unwrap_or(values.len()).max(1);
    let mut reasons: Vec<&str> = Vec::new();
    for reason in group
        .bins
        .iter()
        .filter_map(|bin| bin.unreachable.as_deref())
    {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    html! {
        h3 { (group.name) }
        p { (group.counts) ": " (group.hit()) " of " (group.reachable()) }
        table {
            tr {
                @for axis in &group.axes[..last] { th { (axis) } }
                @for value in values.iter().take(width) { th class="value" { (value) } }
            }
            @for row in group.bins.chunks(width) {
                tr {
                    @for value in &row[0].at[..last] { td { (value) } }
                    @for bin in row { (cell(bin)) }
                }
            }
        }
        @if !reasons.is_empty() {
            ul {
                @for reason in reasons { li class="never" { (reason) } }
            }
        }
    }
}

fn cell(bin: &Bin) -> Markup {
    let (class, text) = match (&bin.unreachable, bin.hits) {
        (Some(_), 0) => ("never", "–".to_owned()),
        (Some(_), hits) => ("hole", format!("{hits}, and it is said to be unreachable")),
        (None, 0) => ("hole", "0".to_owned()),
        (None, hits) => ("hit", hits.to_string()),
    };
    html! {
        td class={"bin " (class)} title=(bin.unreachable.as_deref().unwrap_or_default()) { (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{Run, UnitCoverage};
    use super::*;

    #[test]
    fn a_cell_for_each_bin_and_every_reason_once() {
        let bin = |a: &str, b: &str, hits, unreachable: Option<&str>| Bin {
            at: vec![a.into(), b.into()],
            hits,
            unreachable: unreachable.map(str::to_owned),
        };
        let bins = vec![
            bin("left", "small", 7, None),
            bin("left", "large", 0, Some("no <room>")),
            bin("right", "small", 0, None),
            bin("right", "large", 3, Some("no <room>")),
        ];
        let group = GroupCounts {
            name: "shapes".into(),
            counts: "shapes".into(),
            axes: vec!["side".into(), "size".into()],
            bins,
        };
        let page = html(&Coverage::of_unit(UnitCoverage {
            unit: "u".into(),
            runs: vec![Run { seed: 1, cases: 2 }],
            groups: vec![group],
        }));
        let times = |text: &str| page.matches(text).count();
        assert_eq!(times("<td class=\"bin "), 4);
        assert_eq!(
            (times("bin hit"), times("bin hole"), times("bin never")),
            (1, 2, 1)
        );
        assert_eq!(times("<li class=\"never\">no &lt;room&gt;</li>"), 1);
        assert!(
            page.contains(
                "<th>side</th><th class=\"value\">small</th><th class=\"value\">large</th></tr>"
            ),
            "{page}"
        );
        assert!(
            page.contains("1 of 2 bins") && page.contains("2 cases of seed 1"),
            "{page}"
        );
    }
}
