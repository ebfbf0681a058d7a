//! `packet_builder` against the reference builder, at both widths: any descriptors, any stalls, every byte; and through the verilated parser back to the
//! descriptor. Without stalls a frame takes as many cycles as it has beats.

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use xoff_rtl::{PacketBuilder256, PacketBuilder512};
use xoff_sim::protocol::{Content, Descriptor};
use xoff_sim::strategies;

use super::{Disagreement, Property};
use xoff_cosim::units::builder::{BuilderTop, RtlBuilder, Willing};
use xoff_cosim::units::parser::RtlParser;

/// Descriptors, and who is willing when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StalledPackets {
    /// What to build.
    pub packets: Vec<Descriptor>,
    /// When which side is willing.
    pub stalls: Stalls,
}

/// Bit c mod 32 of each: whether that side is willing in cycle c. All ones: always. Never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

/// The property.
pub struct Builder {
    narrow: RtlBuilder<PacketBuilder256>,
    wide: RtlBuilder<PacketBuilder512>,
    parser: RtlParser,
}

fn stalls() -> impl Strategy<Value = Stalls> {
    // The last bit is set, so that everybody is willing at some time.
    let pattern =
        || prop_oneof![2 => Just(u32::MAX), 3 => any::<u32>().prop_map(|bits| bits | 1 << 31)];
    (pattern(), pattern(), pattern()).prop_map(|(descriptor, payload, receiver)| Stalls {
        descriptor,
        payload,
        receiver,
    })
}

impl Property for Builder {
    type Case = StalledPackets;
    const UNIT: &'static str = "builder";
    const EVENTS: &'static str = "frames";

    fn new(seed: u64) -> Result<Self, Disagreement> {
        Ok(Self {
            narrow: RtlBuilder::of_width(seed).map_err(|error| error.to_string())?,
            wide: RtlBuilder::of_width(seed).map_err(|error| error.to_string())?,
            parser: RtlParser::of_width(seed).map_err(|error| error.to_string())?,
        })
    }

    fn cases() -> BoxedStrategy<StalledPackets> {
        let stalls = prop_oneof![1 => Just(Stalls::NONE), 2 => stalls()];
        (vec(strategies::descriptor(), 1..=8), stalls)
            .prop_map(|(packets, stalls)| StalledPackets { packets, stalls })
            .boxed()
    }

    fn check(&mut self, case: &StalledPackets) -> Result<u64, Disagreement> {
        let expected = (case.packets.iter())
            .map(Descriptor::build)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("a descriptor that cannot be built: {error}"))?;
        build_and_compare("256-bit RTL", &mut self.narrow, case, &expected)?;
        build_and_compare("512-bit RTL", &mut self.wide, case, &expected)?;

        // Linux and the standard judge the reference; here the parser's RTL judges the builder's.
        let frames: Vec<&[u8]> = expected.iter().map(Vec::as_slice).collect();
        let text = |error: xoff_cosim::units::UnitError| error.to_string();
        self.parser.reset().map_err(text)?;
        let parsed = self.parser.parse(&frames).map_err(text)?;
        for (i, (parsed, packet)) in parsed.iter().zip(&case.packets).enumerate() {
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
        Ok(case.packets.len() as u64)
    }

    fn write(case: &StalledPackets) -> Vec<String> {
        let stalls = format!("stalls {}", json(&case.stalls));
        let packets = (case.packets.iter()).map(|packet| format!("packet {}", json(packet)));
        std::iter::once(stalls).chain(packets).collect()
    }

    fn read(lines: &[&str]) -> Result<StalledPackets, String> {
        let mut case = StalledPackets {
            packets: Vec::new(),
            stalls: Stalls::NONE,
        };
        for (i, line) in lines.iter().enumerate() {
            let wrong = |error: &dyn std::fmt::Display| {
                format!(
                    "event {}: {error}; expected 'stalls JSON' or 'packet JSON'",
                    i + 1
                )
            };
            match line.split_once(' ') {
                Some(("stalls", json)) => {
                    case.stalls = serde_json::from_str(json).map_err(|error| wrong(&error))?;
                }
                Some(("packet", json)) => {
                    let packet = serde_json::from_str(json).map_err(|error| wrong(&error))?;
                    case.packets.push(packet);
                }
                _ => return Err(wrong(&format!("'{line}'"))),
            }
        }
        let Stalls {
            descriptor,
            payload,
            receiver,
        } = case.stalls;
        if descriptor == 0 || payload == 0 || receiver == 0 {
            return Err("stalls: a side that is never willing stalls for ever".to_owned());
        }
        Ok(case)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("descriptors have no keys but names")
}

/// A descriptor's pad count is the builder's to fill in.
fn without_pad(mut packet: Descriptor) -> Descriptor {
    if let Content::Roce(roce) = &mut packet.content {
        roce.bth.pad = 0;
    }
    packet
}

fn build_and_compare<M: BuilderTop>(
    who: &str,
    builder: &mut RtlBuilder<M>,
    case: &StalledPackets,
    expected: &[Vec<u8>],
) -> Result<(), Disagreement> {
    let text = |error: xoff_cosim::units::UnitError| format!("{who}: {error}");
    builder.reset().map_err(text)?;
    let mut cycle = 0;
    let willing = || {
        let now = |pattern: u32| pattern >> (cycle % 32) & 1 != 0;
        let sides = Willing {
            descriptor: now(case.stalls.descriptor),
            payload: now(case.stalls.payload),
            receiver: now(case.stalls.receiver),
        };
        cycle += 1;
        sides
    };
    let (frames, cycles) = (builder.build_with_stalls(&case.packets, willing)).map_err(text)?;
    for (i, (frame, expected)) in frames.iter().zip(expected).enumerate() {
        if frame != expected {
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
            return Err(format!(
                "packet {}\n{who}:  {}\nreference: {}",
                i + 1,
                hex(frame),
                hex(expected)
            ));
        }
    }
    let beats: usize = expected
        .iter()
        .map(|frame| frame.len().div_ceil(M::BEAT))
        .sum();
    if case.stalls == Stalls::NONE && cycles != beats as u64 {
        return Err(format!(
            "{who}: {beats} beats took {cycles} cycles with nobody stalling"
        ));
    }
    Ok(())
}
