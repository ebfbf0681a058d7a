//! Estimates of text width, precise enough to keep labels apart without a font.

/// Returns the width of `text` in pixels at a font size of `size` pixels, in a sans-serif face. It tends to
/// overestimate.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

fn em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '→' | '…' | '×' => 0.95,
        'A'..='Z' | '_' => 0.7,
        '\0'..='\u{2e7f}' => 0.6,
        // Beyond Latin, Greek and similar scripts, a character can be as wide as it is high.
        _ => 1.0,
    }
}

/// Returns `text`, or as much of it as fits into `room` pixels, followed by an ellipsis.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut left = room - width("…", size);
    let kept: String = text
        .chars()
        .take_while(|&character| {
            left -= em(character) * size;
            left >= 0.0
        })
        .collect();
    kept.trim_end().to_owned() + "…"
}

/// Removes characters that neither HTML nor XML may contain.
pub fn clean(markup: String) -> String {
    let bad = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    if markup.contains(bad) {
        markup.replace(bad, "\u{fffd}")
    } else {
        markup
    }
}

/// Formats a coordinate with at most one decimal.
pub fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_gets_an_ellipsis() {
        assert_eq!(fitted("t0.p3 class 3", 12.0, 200.0), "t0.p3 class 3");
        let cut = fitted("a-very-long-name-of-a-node class 3", 12.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 100.0, "{cut}");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([12.04, -0.01, 3.25].map(coordinate), ["12", "0", "3.2"]);
    }

    #[test]
    fn control_characters_go() {
        assert_eq!(clean("a\0b\u{1b}[31m\n".into()), "a\u{fffd}b\u{fffd}[31m\n");
    }
}
