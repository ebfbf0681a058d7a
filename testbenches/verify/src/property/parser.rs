//! `packet_parser` against the reference parser, at both widths: any frames, any gaps; every field and every payload
//! byte are compared.

pub mod bins;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use xoff_cosim::units::UnitError;
use xoff_cosim::units::parser::{ParserTop, RtlParser};
use xoff_rtl::{PacketParser256, PacketParser512};
use xoff_sim::protocol;
use xoff_sim::wire::frame::ParsedFrame;

use super::bins::{Bins, Groups};
use super::history::{History, Part};
use super::{Case, Disagreement, Property, text, unit};
use xoff::decode::compare::differences;
use xoff::decode::details::details;

/// Maximum length of a frame in bytes (`rtl/parser/README.md`, Beats).
const MAX_FRAME_BYTES: usize = 16_383;

/// An input of the parser.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A frame and the cycles of its beats.
    Frame {
        /// Idle cycles before it.
        gap: u8,
        /// Bit b mod 16: an idle cycle before beat b; bit 0 is ignored.
        stutter: u16,
        /// The frame, 1 to 16,383 bytes.
        #[serde(with = "hex")]
        bytes: Vec<u8>,
    },
}

impl Event {
    fn bytes(&self) -> &[u8] {
        let Self::Frame { bytes, .. } = self;
        bytes
    }
}

impl Part for Event {
    fn valid(&self) -> Result<(), String> {
        match self.bytes().len() {
            1..=MAX_FRAME_BYTES => Ok(()),
            bytes => Err(format!(
                "a frame of {bytes} bytes; expected 1 to {MAX_FRAME_BYTES}"
            )),
        }
    }

    fn note(&self) -> Option<String> {
        Some(note(&protocol::parse(self.bytes())))
    }
}

/// A frame in words: `86 bytes, roce_v2, RC_CMP_SWAP to QP 0x54, PSN 4096, va 0x7f…`.
pub(super) fn note(frame: &ParsedFrame) -> String {
    let mut parts = vec![
        format!("{} bytes", frame.frame_bytes),
        frame.verdict.name().to_owned(),
    ];
    if let Some(bth) = &frame.bth {
        parts.push(format!("{} to QP {:#x}", bth.opcode, bth.dest_qp.get()));
        parts.push(format!("PSN {}", bth.psn));
    }
    parts.extend(details(frame).into_iter().map(|(_, text)| text));
    parts.join(", ")
}

/// Serialization of bytes as hexadecimal text.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let even = digits.len().is_multiple_of(2);
        (digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>())
            .filter(|_| even && !digits.contains('+'))
            .ok_or_else(|| D::Error::custom("expected pairs of hexadecimal digits, such as 0180c2"))
    }
}

/// The property.
pub struct Parser {
    narrow: RtlParser<PacketParser256>,
    wide: RtlParser<PacketParser512>,
}

fn timed_frame() -> impl Strategy<Value = Event> {
    let gap = prop_oneof![4 => Just(0), 1 => 0..4u8];
    let stutter = prop_oneof![4 => Just(0), 1 => any::<u16>()];
    let nonempty = |mut bytes: Vec<u8>| {
        if bytes.is_empty() {
            bytes.push(0);
        }
        bytes
    };
    (
        xoff_strategies::any_frame().prop_map(nonempty),
        gap,
        stutter,
    )
        .prop_map(|(bytes, gap, stutter)| Event::Frame {
            gap,
            stutter,
            bytes,
        })
}

impl Property for Parser {
    type Head = ();
    type Event = Event;
    const UNIT: &'static str = unit::PARSER.name;
    const EVENTS: &'static str = "frames";
    const CASES: u64 = unit::PARSER.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            narrow: RtlParser::of_width(seed)?,
            wide: RtlParser::of_width(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        (vec(timed_frame(), 1..=12).prop_map(|events| History { head: (), events })).boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        let frames: Vec<&[u8]> = case.events.iter().map(Event::bytes).collect();
        let gaps = |f: usize, b: usize| {
            let Event::Frame { gap, stutter, .. } = &case.events[f];
            match b {
                0 => u32::from(*gap),
                _ => u32::from(stutter >> (b % 16) & 1),
            }
        };
        let expected: Vec<_> = (frames.iter())
            .map(|frame| protocol::parse(frame))
            .collect();
        bins::see(bins, &case.events, &expected);
        self.narrow.reset().map_err(text)?;
        self.wide.reset().map_err(text)?;
        let narrow = self.narrow.parse_with_gaps(&frames, gaps).map_err(text)?;
        agree("256-bit RTL", &self.narrow, &narrow, &expected)?;
        let wide = self.wide.parse_with_gaps(&frames, gaps).map_err(text)?;
        agree("512-bit RTL", &self.wide, &wide, &expected)?;
        Ok(frames.len() as u64)
    }
}

fn agree<M: ParserTop>(
    who: &str,
    rtl: &RtlParser<M>,
    got: &[ParsedFrame],
    expected: &[ParsedFrame],
) -> Result<(), Disagreement> {
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got != expected {
            rtl.blame(i);
            let fields = differences([who, "reference"], got, expected).join("\n  ");
            return Err(format!("frame {}: {fields}", i + 1));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::history::cases_are_what_their_text_says;

    #[test]
    fn frames_are_what_their_text_says() {
        cases_are_what_their_text_says::<Parser>();
        let wrong = |bytes: &str| {
            let line = format!("frame {{\"gap\":0,\"stutter\":0,\"bytes\":\"{bytes}\"}}");
            History::<(), Event>::read(&line).unwrap_err()
        };
        assert!(wrong("").ends_with("a frame of 0 bytes; expected 1 to 16383"));
        for bytes in ["012", "0g", "+1", "é1"] {
            assert!(wrong(bytes).contains("expected pairs of hexadecimal digits"));
        }
    }
}
