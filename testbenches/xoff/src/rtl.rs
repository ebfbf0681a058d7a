//! The RTL of this repository, as the command takes it.

use xoff_cosim::units::UnitError;
use xoff_cosim::units::builder::RtlBuilder;
use xoff_cosim::units::parser::RtlParser;
use xoff_sim::protocol::Descriptor;
use xoff_sim::wire::frame::ParsedFrame;

use crate::codec::{Codec, EngineError, FrameBuilder, FrameParser};

/// Seed of the random initial values of the RTL's registers. Results do not depend on it.
const SEED: u64 = 1;

/// The RTL's parser and builder.
pub const CODEC: Codec = Codec {
    parser: || Ok(Box::new(RtlParser::new(SEED).map_err(error)?)),
    builder: || Ok(Box::new(RtlBuilder::new(SEED).map_err(error)?)),
};

impl FrameParser for RtlParser {
    fn name(&self) -> &'static str {
        "RTL"
    }

    fn parse(&mut self, frames: &[&[u8]]) -> Result<Vec<ParsedFrame>, EngineError> {
        RtlParser::parse(self, frames).map_err(error)
    }
}

impl FrameBuilder for RtlBuilder {
    fn name(&self) -> &'static str {
        "RTL"
    }

    fn build(&mut self, packets: &[Descriptor]) -> Result<Vec<Vec<u8>>, EngineError> {
        RtlBuilder::build(self, packets).map_err(error)
    }
}

fn error(source: UnitError) -> EngineError {
    EngineError {
        engine: "RTL",
        source: source.into(),
    }
}
