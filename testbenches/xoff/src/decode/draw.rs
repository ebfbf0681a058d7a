//! Text graphics: bars, sparklines, numbers of things.

/// Eighths of a character cell, growing to the right.
const BAR: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Eighths of a character cell, growing upwards.
const SPARK: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar that is `cells` long when `value` is `most`. A value other than 0 shows at least an eighth of a cell.
pub fn bar(value: u64, most: u64, cells: usize) -> String {
    let eighths = scale(value, most, cells as u64 * 8);
    let (whole, rest) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(whole as usize);
    if rest > 0 {
        bar.push(BAR[rest as usize]);
    }
    bar
}

/// Returns one column per value, up to a full cell for `most`.
pub fn sparkline(values: &[u64], most: u64) -> String {
    values
        .iter()
        .map(|&value| SPARK[scale(value, most, 8) as usize])
        .collect()
}

/// Scales `value` to 0 to `full`, where `most` maps to `full` and only 0 maps to 0.
fn scale(value: u64, most: u64, full: u64) -> u64 {
    if value == 0 || most == 0 {
        return 0;
    }
    let scaled = (u128::from(value) * u128::from(full)).div_ceil(u128::from(most));
    (scaled as u64).clamp(1, full)
}

/// Formats a time span in a suitable unit with three digits: `1.23 ms`.
pub fn span(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let decimals = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use xoff_network::words::grouped;

    use super::*;

    #[test]
    fn bars_are_proportional_and_never_vanish() {
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, 1_000_000, 4), "▏");
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(3, 0, 4), "");
        assert_eq!(bar(u64::MAX, u64::MAX, 2), "██");
    }

    #[test]
    fn sparklines() {
        assert_eq!(sparkline(&[0, 1, 50, 100], 100), " ▁▄█");
    }

    #[test]
    fn numbers() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [7, 1_500, 99_940_000, 123_456_789, 61_000_000_000].map(span),
            ["7 ns", "1.50 µs", "99.9 ms", "123 ms", "61.0 s"]
        );
    }
}
