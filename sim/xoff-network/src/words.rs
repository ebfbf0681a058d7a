//! Quantities in sentences: with four significant digits, which is what a person reads.

use xoff_sim::time::{ByteCount, Duration, Time};

use crate::nearest::nearest;

/// A number with four significant digits, without trailing zeros; whole numbers below 10,000 as they are.
pub fn digits(value: f64) -> String {
    let whole = format!("{:.0}", value.abs()).len();
    let decimals = match value.abs() {
        0.0 => 0,
        1.0.. => 4_usize.saturating_sub(whole),
        0.1.. => 4,
        _ => 5,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A value in the largest of these units that it reaches, or else in the last.
fn in_unit(value: f64, units: &[(f64, &str)]) -> String {
    let reached = units.iter().find(|(unit, _)| value >= *unit);
    let &(unit, name) = reached.unwrap_or(&units[units.len() - 1]);
    format!("{} {name}", digits(value / unit))
}

/// A length of time: `1.882 ms`.
pub fn length(time: Duration) -> String {
    let units = [(1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns")];
    in_unit(time.as_ps() as f64, &units)
}

/// A point in time, from the start.
pub fn at(time: Time) -> String {
    length(time.since_start())
}

/// A number of bytes: `2.681 MB`.
pub fn bytes(count: ByteCount) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")];
    in_unit(count.get() as f64, &units)
}

/// A rate, given in Gb/s: `37.04 Gb/s`, `59.39 Mb/s`.
pub fn gbps(rate: f64) -> String {
    let units = [
        (1e12, "Tb/s"),
        (1e9, "Gb/s"),
        (1e6, "Mb/s"),
        (1e3, "Kb/s"),
        (1.0, "b/s"),
    ];
    match rate {
        0.0 => "0 Gb/s".into(),
        _ => in_unit(1e9 * rate, &units),
    }
}

/// A part in per cent, with as many digits as are of use.
pub fn part(of_one: f64) -> String {
    let percent = 100.0 * of_one;
    match percent {
        10.0.. => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// A number with its noun: `1 frame`, `12,345 frames`.
pub fn count(number: u64, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {several}", grouped(number)),
    }
}

/// All of so many things: `the only frame`, `all 12,345 frames`.
pub fn all(number: u64, one: &str, several: &str) -> String {
    match number {
        1 => format!("the only {one}"),
        _ => format!("all {}", count(number, one, several)),
    }
}

/// A whole number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Names in a row: `a, b and c`; of more than `most`, the first of them and how many others.
pub fn list<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).into(),
        many if many.len() > most => {
            let shown = &many[..most.max(2) - 1];
            format!("{} and {} more", shown.join(", "), many.len() - shown.len())
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The end of a message about a word that is not known: the most similar one of those that are, if there is any.
pub fn did_you_mean<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(text, known).first().copied();
    near.map_or(String::new(), |known| format!("; did you mean '{known}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown() {
        let shown = [
            0.0, 1.0, 1.882_335, 23.456_7, 4_548.864, 12_345.6, 0.123_456, 0.012_345,
        ]
        .map(digits)
        .join(" ");
        assert_eq!(shown, "0 1 1.882 23.46 4549 12346 0.1235 0.01235");
        assert_eq!(length(Duration::from_ps(1_882_335_118)), "1.882 ms");
        assert_eq!(length(Duration::from_ps(999)), "0.999 ns");
        assert_eq!(length(Duration::from_us(120_000)), "120 ms");
        assert_eq!(bytes(ByteCount::new(2_680_776)), "2.681 MB");
        let rates = [0.0, 0.059_391, 37.036_9, 1_042.836_1].map(gbps);
        assert_eq!(rates.join(" "), "0 Gb/s 59.39 Mb/s 37.04 Gb/s 1.043 Tb/s");
        assert_eq!([0.98, 0.031_6, 0.1].map(part).join(" "), "98 % 3.2 % 10 %");
        assert_eq!(count(1, "frame", "frames"), "1 frame");
        assert_eq!(count(1_234_567, "frame", "frames"), "1,234,567 frames");
        assert_eq!(list(&["a", "b", "c"], 3), "a, b and c");
        assert_eq!(list(&["a", "b", "c", "d"], 3), "a, b and 2 more");
    }
}
