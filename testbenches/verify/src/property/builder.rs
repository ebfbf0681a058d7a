//! `packet_builder` against the reference builder, at both widths: any descriptors, any stalls, every byte compared.
//! Each frame also goes through the verilated parser and has to give back the descriptor. Without stalls a frame takes
//! as many cycles as it has beats.

pub mod bins;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use xoff_cosim::units::UnitError;
use xoff_cosim::units::builder::{BuilderTop, RtlBuilder, Willing};
use xoff_cosim::units::parser::RtlParser;
use xoff_rtl::{PacketBuilder256, PacketBuilder512};
use xoff_sim::protocol::{self, Content, Descriptor};

use super::bins::{Bins, Groups};
use super::history::{History, Part};
use super::parser;
use super::{Case, Disagreement, Property, text, unit};

/// What the builder is asked to build.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A frame.
    Packet(Descriptor),
}

impl Event {
    fn packet(&self) -> &Descriptor {
        let Self::Packet(packet) = self;
        packet
    }
}

impl Part for Event {
    fn valid(&self) -> Result<(), String> {
        (self.packet().build()).map_or_else(|error| Err(error.to_string()), |_| Ok(()))
    }

    fn note(&self) -> Option<String> {
        let frame = self.packet().build().ok()?;
        Some(parser::note(&protocol::parse(&frame)))
    }
}

/// Bit c mod 32 of each: whether that side is ready in cycle c. All ones: always ready. Never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stalls {
    descriptor: u32,
    payload: u32,
    receiver: u32,
}

impl Stalls {
    const NONE: Self = Self {
        descriptor: u32::MAX,
        payload: u32::MAX,
        receiver: u32::MAX,
    };
}

impl Part for Stalls {
    fn valid(&self) -> Result<(), String> {
        match [self.descriptor, self.payload, self.receiver].contains(&0) {
            true => Err("a side that is never willing; expected a 1 in each of the three".into()),
            false => Ok(()),
        }
    }
}

/// The property.
pub struct Builder {
    narrow: RtlBuilder<PacketBuilder256>,
    wide: RtlBuilder<PacketBuilder512>,
    parser: RtlParser,
}

fn stalls() -> impl Strategy<Value = Stalls> {
    // The last bit is set, so that each side is ready at some time.
    let pattern =
        || prop_oneof![2 => Just(u32::MAX), 3 => any::<u32>().prop_map(|bits| bits | 1 << 31)];
    (pattern(), pattern(), pattern()).prop_map(|(descriptor, payload, receiver)| Stalls {
        descriptor,
        payload,
        receiver,
    })
}

impl Property for Builder {
    type Head = Stalls;
    type Event = Event;
    const UNIT: &'static str = unit::BUILDER.name;
    const EVENTS: &'static str = "frames";
    const CASES: u64 = unit::BUILDER.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            narrow: RtlBuilder::of_width(seed)?,
            wide: RtlBuilder::of_width(seed)?,
            parser: RtlParser::of_width(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        let stalls = prop_oneof![1 => Just(Stalls::NONE), 2 => stalls()];
        let packet = xoff_strategies::descriptor().prop_map(Event::Packet);
        (vec(packet, 1..=8), stalls)
            .prop_map(|(events, head)| History { head, events })
            .boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        let packets: Vec<_> = case
            .events
            .iter()
            .map(|event| event.packet().clone())
            .collect();
        let expected = (packets.iter())
            .map(Descriptor::build)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("a descriptor that cannot be built: {error}"))?;
        bins::see(bins, &case.events, case.head, &expected);
        build_and_compare(
            "256-bit RTL",
            &mut self.narrow,
            &packets,
            case.head,
            &expected,
        )?;
        build_and_compare(
            "512-bit RTL",
            &mut self.wide,
            &packets,
            case.head,
            &expected,
        )?;

        // The references are tested against Linux captures and the standard; here the RTL parser checks the RTL
        // builder.
        let frames: Vec<&[u8]> = expected.iter().map(Vec::as_slice).collect();
        self.parser.reset().map_err(text)?;
        let parsed = self.parser.parse(&frames).map_err(text)?;
        for (i, (parsed, packet)) in parsed.iter().zip(&packets).enumerate() {
            let back = Descriptor::from_parsed(parsed);
            if back.map(without_pad).as_ref() != Some(&without_pad(packet.clone())) {
                return Err(format!(
                    "packet {}\nbuilt:      {packet:?}\nparsed as:  {parsed:?}",
                    i + 1
                ));
            }
            if parsed.icrc_ok == Some(false) {
                return Err(format!("packet {}: its own ICRC is wrong", i + 1));
            }
        }
        Ok(packets.len() as u64)
    }
}

/// The builder fills in the pad count of a descriptor.
fn without_pad(mut packet: Descriptor) -> Descriptor {
    if let Content::Roce(roce) = &mut packet.content {
        roce.bth.pad = 0;
    }
    packet
}

/// Says where a frame is another than expected: in its length, or in which bytes.
fn first_other_byte(who: &str, frame: &[u8], expected: &[u8]) -> String {
    if frame.len() != expected.len() {
        return format!(
            "length: {who} {}, reference {}",
            frame.len(),
            expected.len()
        );
    }
    let other = |at: &usize| frame[*at] != expected[*at];
    let others: Vec<usize> = (0..frame.len()).filter(other).collect();
    let first = others.first().copied().unwrap_or_default();
    format!(
        "byte {first}: {who} {:#04x}, reference {:#04x}; {} of {} bytes are different",
        frame[first],
        expected[first],
        others.len(),
        frame.len()
    )
}

fn build_and_compare<M: BuilderTop>(
    who: &str,
    builder: &mut RtlBuilder<M>,
    packets: &[Descriptor],
    stalls: Stalls,
    expected: &[Vec<u8>],
) -> Result<(), Disagreement> {
    let text = |error: UnitError| format!("{who}: {error}");
    builder.reset().map_err(text)?;
    let mut cycle = 0;
    let willing = || {
        let now = |pattern: u32| pattern >> (cycle % 32) & 1 != 0;
        let sides = Willing {
            descriptor: now(stalls.descriptor),
            payload: now(stalls.payload),
            receiver: now(stalls.receiver),
        };
        cycle += 1;
        sides
    };
    let (frames, cycles) = (builder.build_with_stalls(packets, willing)).map_err(text)?;
    for (i, (frame, expected)) in frames.iter().zip(expected).enumerate() {
        if frame != expected {
            builder.blame(i);
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
            return Err(format!(
                "packet {}: {}\n{who}:  {}\nreference: {}",
                i + 1,
                first_other_byte(who, frame, expected),
                hex(frame),
                hex(expected)
            ));
        }
    }
    let beats: usize = expected
        .iter()
        .map(|frame| frame.len().div_ceil(M::BEAT))
        .sum();
    if stalls == Stalls::NONE && cycles != beats as u64 {
        return Err(format!(
            "{who}: {beats} beats took {cycles} cycles with nobody stalling"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::history::cases_are_what_their_text_says;

    #[test]
    fn packets_are_what_their_text_says() {
        cases_are_what_their_text_says::<Builder>();
        let never = r#"bench {"descriptor":1,"payload":0,"receiver":1}"#;
        let wrong = History::<Stalls, Event>::read(never).unwrap_err();
        assert!(wrong.contains("a side that is never willing"), "{wrong}");
    }
}
