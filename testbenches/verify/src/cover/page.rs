//! Functional coverage as a page of HTML: a table for each group, with a cell for each bin.

use maud::{Markup, html};
use xoff_waves::document::document;

use super::file::{Bin, Coverage, GroupCounts};

/// Style of the page.
const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:1100px;margin:24px auto;padding:0 16px;color:#1b1f24;background:#fff}\
table{border-collapse:collapse;font-size:14px;margin-bottom:12px}\
td,th{text-align:left;padding:3px 10px 3px 0;border-bottom:1px solid #d0d7de;vertical-align:top}\
td.bin{text-align:right;font-variant-numeric:tabular-nums;padding:3px 10px}\
.hit{background:#dff3e4}.hole{background:#f9d6d2;color:#7a1d16;font-weight:600}.never{color:#6a737d;background:#f3f5f7}\
.failed{color:#b3261e;font-weight:600}.passed{color:#1a6b35}";

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
    document("xoff cover", STYLE, &body).into_string()
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
                @for value in values.iter().take(width) { th { (value) } }
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
            page.contains("<th>side</th><th>small</th><th>large</th></tr>"),
            "{page}"
        );
        assert!(
            page.contains("1 of 2 bins") && page.contains("2 cases of seed 1"),
            "{page}"
        );
    }
}
