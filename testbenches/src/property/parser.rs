//! `packet_parser` against the reference parser, at both widths: any frames, any gaps, every field and every payload byte.

use proptest::collection::vec;
use proptest::prelude::*;
use xoff_rtl::{PacketParser256, PacketParser512};
use xoff_sim::protocol;
use xoff_sim::strategies;
use xoff_sim::wire::frame::ParsedFrame;

use super::{Disagreement, Property};
use xoff_cosim::units::parser::RtlParser;

/// A frame and when its beats come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimedFrame {
    /// The frame, 1 to 16,000 bytes.
    pub bytes: Vec<u8>,
    /// Idle cycles before it.
    pub gap: u8,
    /// Bit b mod 16: an idle cycle before beat b; bit 0 does not count.
    pub stutter: u16,
}

/// The property.
pub struct Parser {
    narrow: RtlParser<PacketParser256>,
    wide: RtlParser<PacketParser512>,
}

fn timed_frame() -> impl Strategy<Value = TimedFrame> {
    let gap = prop_oneof![4 => Just(0), 1 => 0..4u8];
    let stutter = prop_oneof![4 => Just(0), 1 => any::<u16>()];
    let nonempty = |mut bytes: Vec<u8>| {
        if bytes.is_empty() {
            bytes.push(0);
        }
        bytes
    };
    (strategies::any_frame().prop_map(nonempty), gap, stutter).prop_map(|(bytes, gap, stutter)| {
        TimedFrame {
            bytes,
            gap,
            stutter,
        }
    })
}

impl Property for Parser {
    type Case = Vec<TimedFrame>;
    const UNIT: &'static str = "parser";
    const EVENTS: &'static str = "frames";

    fn new(seed: u64) -> Result<Self, Disagreement> {
        Ok(Self {
            narrow: RtlParser::of_width(seed).map_err(|error| error.to_string())?,
            wide: RtlParser::of_width(seed).map_err(|error| error.to_string())?,
        })
    }

    fn cases() -> BoxedStrategy<Self::Case> {
        vec(timed_frame(), 1..=12).boxed()
    }

    fn check(&mut self, case: &Self::Case) -> Result<u64, Disagreement> {
        let frames: Vec<&[u8]> = case.iter().map(|frame| &frame.bytes[..]).collect();
        let gap = |f: usize, b: usize| {
            let frame: &TimedFrame = &case[f];
            match b {
                0 => u32::from(frame.gap),
                _ => u32::from(frame.stutter >> (b % 16) & 1),
            }
        };
        let expected: Vec<_> = (frames.iter())
            .map(|frame| protocol::parse(frame))
            .collect();
        let text = |error: xoff_cosim::units::UnitError| error.to_string();
        self.narrow.reset().map_err(text)?;
        self.wide.reset().map_err(text)?;
        let narrow = self.narrow.parse_with_gaps(&frames, gap).map_err(text)?;
        agree("256-bit RTL", &narrow, &expected)?;
        let wide = self.wide.parse_with_gaps(&frames, gap).map_err(text)?;
        agree("512-bit RTL", &wide, &expected)?;
        Ok(case.len() as u64)
    }

    fn write(case: &Self::Case) -> Vec<String> {
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let line = |frame: &TimedFrame| {
            format!(
                "frame gap={} stutter={:#x} {}",
                frame.gap,
                frame.stutter,
                hex(&frame.bytes)
            )
        };
        case.iter().map(line).collect()
    }

    fn read(lines: &[&str]) -> Result<Self::Case, String> {
        (lines.iter().enumerate())
            .map(|(i, line)| {
                read_line(line).ok_or_else(|| {
                    format!(
                        "event {} is '{}'; expected 'frame gap=N stutter=0xBITS HEX', as in 'frame gap=0 stutter=0x0 0180c2000001'",
                        i + 1,
                        line.chars().take(60).collect::<String>()
                    )
                })
            })
            .collect()
    }
}

fn read_line(line: &str) -> Option<TimedFrame> {
    let mut words = line.split_whitespace();
    let ("frame", gap, stutter, hex, None) = (
        words.next()?,
        words.next()?,
        words.next()?,
        words.next()?,
        words.next(),
    ) else {
        return None;
    };
    let digits = hex.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    Some(TimedFrame {
        bytes: digits.chunks(2).map(byte).collect::<Option<_>>()?,
        gap: gap.strip_prefix("gap=")?.parse().ok()?,
        stutter: u16::from_str_radix(stutter.strip_prefix("stutter=0x")?, 16).ok()?,
    })
}

fn agree(who: &str, got: &[ParsedFrame], expected: &[ParsedFrame]) -> Result<(), Disagreement> {
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got != expected {
            return Err(format!(
                "frame {}\n{who}:  {got:?}\nreference: {expected:?}",
                i + 1
            ));
        }
    }
    match got.len() == expected.len() {
        true => Ok(()),
        false => Err(format!(
            "{who}: {} answers to {} frames",
            got.len(),
            expected.len()
        )),
    }
}
