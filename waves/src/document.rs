//! The frame of an HTML page that needs no other file.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Returns a page with this title, style sheet and content of its `body` element.
pub fn document(title: &str, style: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body { (body) }
        }
    }
}

/// Style of pages of tables: their colours by names, for light and for dark, and how text and tables look.
const TABLES: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--back:#fff;--line:#d0d7de;--good:#1a6b35;--bad:#b3261e;--odd:#7a4b00;--dim:#57606a;\
--hit:#dff3e4;--hole:#f9d6d2;--shade:#f3f5f7}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--back:#0d1117;--line:#30363d;--good:#6fdd8b;--bad:#ff8a80;--odd:#e3b341;\
--dim:#9da7b3;--hit:#12351f;--hole:#4a1a16;--shade:#161b22}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:1100px;margin:24px auto;padding:0 16px;color:var(--ink);background:var(--back)}\
table{border-collapse:collapse;font-size:15px}\
td,th{text-align:left;padding:6px 14px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}\
code,pre{font:13px/1.5 ui-monospace,monospace}";

/// Returns a page whose content is mostly tables, light or dark as the reader's browser asks for. `style` is added to
/// what all such pages have, and takes its colours from there: `var(--ink)`, `--back`, `--line`, `--dim`, `--good`,
/// `--bad` and `--odd` for text and lines, `--hit`, `--hole` and `--shade` behind text.
pub fn tables(title: &str, style: &str, body: &Markup) -> Markup {
    document(title, &format!("{TABLES}{style}"), body)
}
