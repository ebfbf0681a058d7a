//! Axes: positions of ticks, and formats of numbers.

/// A value axis: its ends, and ticks with their text.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Value at the lower end.
    pub low: f64,
    /// Value at the upper end.
    pub high: f64,
    /// Ticks within the axis, in order: value and text.
    pub ticks: Vec<(f64, String)>,
    /// The unit of the texts.
    pub unit: String,
    /// The axis' values divided by this are in `unit`.
    pub divisor: f64,
}

/// The greatest value on an axis.
const FARTHEST: f64 = 1e300;
/// Units that get a prefix.
const PREFIXED: [&str; 4] = ["b/s", "B", "B/s", "Hz"];
/// Prefixes as the project writes them: K is 1000.
const PREFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")];

impl Axis {
    /// Returns an axis from `low` to `high` at least, with about `count` ticks. With `fixed` the ends stay; otherwise
    /// they move outwards to a tick.
    pub fn new(low: f64, high: f64, count: usize, unit: &str, fixed: bool) -> Self {
        // Clamp the ends so that their difference is finite.
        let finite = |end: f64| {
            if end.is_nan() {
                0.0
            } else {
                end.clamp(-FARTHEST, FARTHEST)
            }
        };
        let (low, mut high) = (finite(low), finite(high));
        if high <= low {
            high = low + low.abs().max(1.0);
        }
        let (divisor, unit) = prefixed(low.abs().max(high.abs()), unit);
        let (mut low, mut high) = (low / divisor, high / divisor);
        let (step, power) = nice_step((high - low) / count.max(1) as f64);
        if !fixed {
            // The small offset keeps a rounding error of the division from adding a step.
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let decimals = (-power).max(0) as usize;
        let ticks = (first..=last)
            .map(|index| {
                let value = index as f64 * step;
                (value * divisor, with_groups(&format!("{value:.decimals$}")))
            })
            .collect();
        Self {
            low: low * divisor,
            high: high * divisor,
            ticks,
            unit,
            divisor,
        }
    }

    /// Returns an axis of names, [`Chart::categories`](super::Chart::categories), with at most about `most` of them
    /// shown.
    pub fn categories(names: &[String], most: usize) -> Self {
        let step = names.len().div_ceil(most.max(1)).max(1);
        let tick = |(place, name): (usize, &String)| (1_000.0 * place as f64 + 500.0, name.clone());
        Self {
            low: 0.0,
            high: 1_000.0 * names.len() as f64,
            ticks: names.iter().enumerate().step_by(step).map(tick).collect(),
            unit: String::new(),
            divisor: 1.0,
        }
    }

    /// Returns a time axis over nanoseconds, with about `count` ticks; its ends stay.
    pub fn time(from_ns: u64, to_ns: u64, count: usize) -> Self {
        let (divisor, unit) = time_unit(to_ns);
        let mut axis = Self::new(
            from_ns as f64 / divisor,
            to_ns as f64 / divisor,
            count,
            "",
            true,
        );
        axis.low *= divisor;
        axis.high *= divisor;
        for tick in &mut axis.ticks {
            tick.0 *= divisor;
        }
        Self {
            unit: unit.into(),
            divisor,
            ..axis
        }
    }

    /// Returns the position of a value: 0 at the lower end, 1 at the upper.
    pub fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// Formats a share in percent. A share above zero is never shown as zero.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        small if small < 0.1 => "< 0.1 %".into(),
        some if some < 10.0 => format!("{some:.1} %"),
        much if share < 1.0 => format!("{:.0} %", much.min(99.0)),
        _ => "100 %".into(),
    }
}

/// Returns the smallest step of at least `raw` that is 1, 2 or 5 times a power of ten, and that power.
fn nice_step(raw: f64) -> (f64, i32) {
    // Take the exponent from the printed number instead of libm, so that every machine draws the same.
    let power: i32 = format!("{raw:e}")
        .split_once('e')
        .and_then(|(_, power)| power.parse().ok())
        .unwrap_or(0);
    for power in [power, power + 1] {
        for factor in [1.0, 2.0, 5.0] {
            let step = scaled(factor, power);
            if step >= raw * (1.0 - 1e-9) {
                return (step, power);
            }
        }
    }
    unreachable!("ten times the power is more")
}

/// Returns `factor` times ten to the `power`, with the precision of parsing text.
fn scaled(factor: f64, power: i32) -> f64 {
    format!("{factor}e{power}").parse().unwrap_or(1.0)
}

fn prefixed(most: f64, unit: &str) -> (f64, String) {
    if PREFIXED.contains(&unit) {
        for (factor, prefix) in PREFIXES {
            if most >= factor {
                return (factor, format!("{prefix}{unit}"));
            }
        }
    }
    (1.0, unit.into())
}

/// Returns the unit that suits times up to `ns`: its length in nanoseconds and its name.
pub fn time_unit(ns: u64) -> (f64, &'static str) {
    match ns {
        0..2_000 => (1.0, "ns"),
        2_000..2_000_000 => (1e3, "µs"),
        2_000_000..2_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Formats a time with its unit: `1.25 ms`.
pub fn time(ns: u64) -> String {
    // An axis keeps the smaller unit up to 2,000 of it, but as a single value 1,000 ns is 1 µs.
    let (divisor, unit) = time_unit(ns.saturating_mul(2));
    format!("{} {unit}", number(ns as f64 / divisor))
}

/// Formats a number with about four significant digits, enough for the eye. Whole numbers below 10^15 are exact.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "–".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    if value.fract() == 0.0 && size < 1e15 {
        return with_groups(&format!("{value:.0}"));
    }
    if !(1e-4..1e15).contains(&size) {
        return minus(&format!("{value:.3e}"));
    }
    let whole_digits = format!("{size:.0}").len();
    let decimals = match size {
        1.0.. => 4_usize.saturating_sub(whole_digits),
        0.1.. => 4,
        0.01.. => 5,
        _ => 7,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    with_groups(text)
}

/// Formats a value with a unit, with a prefix if the unit takes one and the value needs it: `38.2 Gb/s`.
pub fn quantity(value: f64, unit: &str) -> String {
    let (divisor, unit) = prefixed(value.abs(), unit);
    let number = number(value / divisor);
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}

/// Formats a metric's value with the unit in its name: the end of its quantity, or of all of it.
pub fn metric(name: &str, value: f64) -> String {
    if !value.is_finite() {
        return number(value);
    }
    let unit = |name: &str| match name.rsplit_once('_')?.1 {
        "gbps" => Some(quantity(1e9 * value, "b/s")),
        "bps" => Some(quantity(value, "b/s")),
        "bytes" => Some(quantity(value, "B")),
        "ns" => {
            // As `time` does; less than a nanosecond has its digits.
            let (divisor, unit) = time_unit((2.0 * value.abs()).min(u64::MAX as f64) as u64);
            Some(format!("{} {unit}", number(value / divisor)))
        }
        "s" => Some(format!("{} s", number(value))),
        _ => None,
    };
    let of = name.split('.').next().unwrap_or_default();
    unit(of)
        .or_else(|| unit(name))
        .unwrap_or_else(|| number(value))
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// Formats digits in groups of three, with a real minus sign: −1,234.5.
pub fn with_groups(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        // No minus sign before zero.
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => ("", rest),
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::new(0.0, 0.97, 5, "", false);
        assert_eq!(texts(&axis), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let axis = Axis::new(0.0, 39.7e9, 4, "b/s", false);
        assert_eq!(texts(&axis), ["0", "10", "20", "30", "40"]);
        assert_eq!((axis.unit.as_str(), axis.high), ("Gb/s", 40e9));
        let axis = Axis::new(-1234.0, 4321.0, 3, "packets", false);
        assert_eq!(texts(&axis), ["−2,000", "0", "2,000", "4,000", "6,000"]);
    }

    #[test]
    fn time_ticks_stay_within() {
        let axis = Axis::time(0, 12_345_678, 6);
        assert_eq!(axis.unit, "ms");
        assert_eq!(texts(&axis), ["0", "5", "10"]);
        assert_eq!((axis.low, axis.high), (0.0, 12_345_678.0));
        assert_eq!(Axis::time(0, 1_500, 3).unit, "ns");
    }

    #[test]
    fn numbers_read_well() {
        let text: Vec<String> = [
            0.0,
            1.0,
            0.953_12,
            38.234_567,
            1234.56,
            1e6,
            0.000_012_34,
            -2.5,
            0.05,
            123_456_789.0,
            f64::NAN,
        ]
        .map(number)
        .into();
        assert_eq!(
            text,
            [
                "0",
                "1",
                "0.9531",
                "38.23",
                "1,235",
                "1,000,000",
                "1.234e−5",
                "−2.5",
                "0.05",
                "123,456,789",
                "–"
            ]
        );
        assert_eq!(quantity(38.2e9, "b/s"), "38.2 Gb/s");
        assert_eq!(quantity(24_470.0, "B"), "24.47 KB");
        assert_eq!(time(12_500_000), "12.5 ms");
        assert_eq!(metric("flow.a.goodput_bps", 38.21e9), "38.21 Gb/s");
        assert_eq!(metric("latency.p99_ns", 412_345.678), "412.3 µs");
        assert_eq!(metric("message_latency_ns.f.p99", 1_847_309.0), "1.847 ms");
        assert_eq!(metric("held_bytes.total", 4_548_666.0), "4.549 MB");
        assert_eq!(metric("goodput_gbps.f", 0.059_391), "59.39 Mb/s");
        assert_eq!(metric("frames", 12_345.0), "12,345");
    }

    proptest! {
        #[test]
        fn ticks_are_few_and_rise_and_cover(low in -1e6..1e6, span in 1.0..1e12, count in 1_usize..12, fixed in any::<bool>()) {
            let axis = Axis::new(low, low + span, count, "", fixed);
            prop_assert!(axis.ticks.len() <= count + 3, "{:?}", axis);
            prop_assert!(axis.ticks.is_sorted_by(|a, b| a.0 < b.0), "{:?}", axis);
            prop_assert!(fixed || axis.low <= low + span * 1e-6 && axis.high >= low + span * (1.0 - 1e-6), "{:?}", axis);
        }
    }
}
