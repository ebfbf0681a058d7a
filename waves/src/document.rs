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
