//! The page of `xoff truth`.

use maud::{Markup, html};
use xoff_waves::document::tables;

use super::{Row, Stands, total};

const STYLE: &str = "\
table{width:100%}td,th{padding:8px 14px 8px 0;overflow-wrap:break-word}\
th:nth-child(1){width:44%}th:nth-child(2),th:nth-child(3){width:14%}small{color:var(--dim)}\
.holds{color:var(--good)}.differs{color:var(--odd)}.broken{color:var(--bad);font-weight:600}\
@media(max-width:700px){table,tbody,tr,td{display:block}thead{display:none}td{border:0;padding:2px 0}\
tr{border-bottom:1px solid var(--line);padding:8px 0}td[data-name]::before{content:attr(data-name) ': ';color:var(--dim)}}";

const fn class(stands: Stands) -> &'static str {
    match stands {
        Stands::Holds => "holds",
        Stands::Differs => "differs",
        Stands::Broken => "broken",
    }
}

/// The page: a row a claim.
pub(super) fn page(rows: &[Row]) -> Markup {
    let body = html! {
        h1 { "What papers say, and what Xoff measures" }
        p { (total(rows)) "." }
        table {
            thead { tr { th { "claim" } th { "paper" } th { "here" } th { "stands" } } }
            tbody {
                @for row in rows {
                    tr id=(row.id) {
                        td {
                            (row.claim) " " small { (row.source) }
                            br; code { (row.command) }
                        }
                        td data-name="paper" { (row.paper) }
                        td data-name="here" { (row.ours.as_deref().unwrap_or("–")) }
                        td {
                            span class=(class(row.stands)) { (row.stands.name()) }
                            @if let Some(why) = &row.why { br; (why) }
                            @if let Some(note) = &row.note { br; small { (note) } }
                        }
                    }
                }
            }
        }
    };
    tables("What papers say, and what Xoff measures", STYLE, &body)
}
