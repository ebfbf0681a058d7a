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

/// Units before which no line breaks, nor before an arrow.
const UNITS: [&str; 17] = [
    "B", "KB", "MB", "GB", "b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s", "ps", "ns", "µs", "ms", "s", "%",
    "m", "km",
];

/// Text with numbers that stay with their units, and arrows with what is before them, where it is folded into lines.
pub fn unbroken(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut before = "";
    for (place, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
        let after_number = before.ends_with(|last: char| last.is_ascii_digit());
        let stays = after_number && UNITS.contains(&unit) || word == "→" && !before.is_empty();
        if place > 0 {
            joined.push(if stays { '\u{a0}' } else { ' ' });
        }
        joined += word;
        before = word;
    }
    joined
}

/// Text without its numbers and their units: what texts have in common that differ in them only.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut after_number = false;
    for word in text.split(' ') {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        let is_unit = after_number && UNITS.contains(&bare);
        after_number = bare.starts_with(|first: char| first.is_ascii_digit());
        match (is_unit, after_number) {
            (true, _) => {}
            (_, true) => shape.push_str(" #"),
            _ => shape.extend([" ", word]),
        }
    }
    shape
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
    fn numbers_stay_with_their_units() {
        let text = "VS → T1 stands from 1.1 ms: 22 % of 4 flows, 191.1 KB held";
        let expected =
            "VS\u{a0}→ T1 stands from 1.1\u{a0}ms: 22\u{a0}% of 4 flows, 191.1\u{a0}KB held";
        assert_eq!(unbroken(text), expected);
    }

    #[test]
    fn numbers_and_their_units_are_no_part_of_the_shape() {
        let [a, b] = [
            "f2 stands for 850 µs, 12 % of it",
            "f2 stands for 1.2 ms, 9.5 % of it",
        ]
        .map(shape);
        assert_eq!(a, b);
        assert_ne!(a, shape("f3 stands for 850 µs, 12 % of it"));
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
