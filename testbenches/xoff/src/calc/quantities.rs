//! Arguments in operators' units. Each is refused outside of a range in which all sums fit into 64 bits and that is
//! wider than any network's.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate};

/// Smallest Ethernet frame with FCS.
const SMALLEST_FRAME: ByteCount = ByteCount::new(64);
/// Longest frame that is taken; jumbo frames have about 9 KB.
const LONGEST_FRAME: ByteCount = ByteCount::new(65_535);
/// Longest cable that is taken: more than twice around the Earth.
const LONGEST_CABLE: Length = Length::from_m(100_000_000);
/// Longest delay, timer or time that is taken.
pub(super) const LONGEST_TIME: Duration = Duration::from_s(1);
/// Largest buffer that is taken.
const LARGEST_BUFFER: ByteCount = ByteCount::new(1_000_000_000_000);
/// Path MTUs of InfiniBand and RoCE (IBTA volume 1).
const MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

/// Reads a quantity and refuses one outside of a range.
fn within<Q>(text: &str, low: Q, high: Q) -> Result<Q, String>
where
    Q: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display,
{
    let quantity: Q = text.parse().map_err(|error: Q::Err| error.to_string())?;
    if quantity < low || quantity > high {
        return Err(format!("{quantity}: expected {low} to {high}"));
    }
    Ok(quantity)
}

/// Reads the size of a frame with FCS.
pub(super) fn frame(text: &str) -> Result<ByteCount, String> {
    within(text, SMALLEST_FRAME, LONGEST_FRAME)
}

/// Reads the length of a cable.
pub(super) fn cable(text: &str) -> Result<Length, String> {
    within(text, Length::default(), LONGEST_CABLE)
}

/// Reads a delay, a timer or a time.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO, LONGEST_TIME)
}

/// Reads a time that is not zero.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_ps(1), LONGEST_TIME)
}

/// Reads the size of a buffer.
pub(super) fn buffer(text: &str) -> Result<ByteCount, String> {
    within(text, ByteCount::new(1), LARGEST_BUFFER)
}

/// Reads a part of a buffer.
pub(super) fn bytes(text: &str) -> Result<ByteCount, String> {
    within(text, ByteCount::ZERO, LARGEST_BUFFER)
}

/// Reads a path MTU.
pub(super) fn mtu(text: &str) -> Result<u64, String> {
    let mtu = text.parse().ok().filter(|mtu| MTUS.contains(mtu));
    mtu.ok_or_else(|| {
        "a path MTU is 256, 512, 1024, 2048 or 4096; --frame takes other sizes".into()
    })
}

/// A positive ratio of integers, such as the α of a buffer. Its text form is `1/16`, or `2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator, not 0.
    pub num: u32,
    /// Denominator, not 0.
    pub den: u32,
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (num, den) = text.split_once('/').unwrap_or((text, "1"));
        let read = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
        let ratio = read(num).zip(read(den)).map(|(num, den)| Self { num, den });
        ratio.ok_or_else(|| "expected a ratio of whole numbers above 0, such as 1/16 or 2".into())
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.den {
            1 => write!(f, "{}", self.num),
            den => write!(f, "{}/{den}", self.num),
        }
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Reads a probability to parts per million, to which it is rounded: `0.01` or `1%`.
pub(super) fn probability_ppm(text: &str) -> Result<u32, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 1e4),
        None => (text, 1e6),
    };
    let ppm = number.trim().parse::<f64>().map(|number| number * scale);
    match ppm {
        Ok(ppm) if (0.0..=1e6).contains(&ppm) => Ok(ppm.round() as u32),
        _ => Err("a probability is 0 to 1, such as 0.01 or 1%".into()),
    }
}

/// Reads the gain g of DCQCN: `1/256` or `0.00390625`.
pub(super) fn gain(text: &str) -> Result<f64, String> {
    let gain = match text.parse::<Ratio>() {
        Ok(ratio) => f64::from(ratio.num) / f64::from(ratio.den),
        Err(_) => text.parse().unwrap_or(f64::NAN),
    };
    // The fixed point of the NIC has 16 bits of g.
    match (1.0 / 65_536.0..1.0).contains(&gain) {
        true => Ok(gain),
        false => Err("a gain is 1/65536 to below 1, such as 1/256".into()),
    }
}

/// The time that a port takes to act on a pause: a time, or quanta of 512 bit times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// In quanta, as standards and vendors state it: `118`.
    Quanta(u16),
    /// As a time: `1.5us`.
    Time(Duration),
}

impl Response {
    /// The time at a line rate.
    pub fn at(self, rate: LineRate) -> Duration {
        match self {
            Self::Quanta(quanta) => rate.time_of_quanta(quanta),
            Self::Time(time) => time,
        }
    }
}

impl FromStr for Response {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix("quanta").unwrap_or(text).trim();
        if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
            return match text.ends_with("quanta") {
                true => Err("expected quanta such as '118', or a time such as '1.5us'".into()),
                false => time(text).map(Self::Time),
            };
        }
        let quanta = number.parse().map(Self::Quanta);
        quanta
            .map_err(|_| format!("{number} quanta: expected 0 to 65535, or a time such as '1.5us'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_quanta_or_times() {
        assert_eq!("118".parse(), Ok(Response::Quanta(118)));
        assert_eq!("118 quanta".parse(), Ok(Response::Quanta(118)));
        let time = Duration::from_ps(614_400);
        assert_eq!("614.4ns".parse(), Ok(Response::Time(time)));
        // 118 quanta of 512 bits at 25 ps a bit.
        let at_40g = Response::Quanta(118).at(LineRate::G40);
        assert_eq!(at_40g, Duration::from_ps(118 * 512 * 25));
        for wrong in ["70000", "quanta", "x quanta", "1.5", "2s", ""] {
            assert!(wrong.parse::<Response>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ratios_probabilities_and_gains() {
        assert_eq!("1/16".parse(), Ok(Ratio { num: 1, den: 16 }));
        assert_eq!("8".parse(), Ok(Ratio { num: 8, den: 1 }));
        for wrong in ["0", "1/0", "-1", "0.5", "1/2/3", ""] {
            assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
        }
        assert_eq!(probability_ppm("1%"), Ok(10_000));
        assert_eq!(probability_ppm("0.01"), Ok(10_000));
        assert_eq!(probability_ppm("1"), Ok(1_000_000));
        for wrong in ["2", "101%", "-0.1", "NaN", "%", ""] {
            assert!(probability_ppm(wrong).is_err(), "{wrong}");
        }
        assert_eq!(gain("1/256"), Ok(1.0 / 256.0));
        assert_eq!(gain("0.5"), Ok(0.5));
        for wrong in ["1", "0", "1/65537", "NaN", "g"] {
            assert!(gain(wrong).is_err(), "{wrong}");
        }
    }
}
