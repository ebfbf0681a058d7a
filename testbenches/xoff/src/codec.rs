//! Parsers and builders of frames: the reference model, what the program brings, or both.
//!
//! They take batches, so that frames go through the RTL pipeline back to back.

use anyhow::Context as _;
use clap::Args;
use thiserror::Error;
use xoff_sim::protocol::Descriptor;
use xoff_sim::wire::frame::ParsedFrame;

/// Which implementation does the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct EngineArgs {
    /// Use the reference model instead of the RTL
    #[arg(long)]
    pub model: bool,
    /// Use both RTL and reference model and compare: a mismatch is reported with its frame and fields, exit code 1
    #[arg(long, conflicts_with = "model")]
    pub both: bool,
}

/// Failure of an implementation: a failing assertion or a pipeline that hangs.
#[derive(Debug, Error)]
#[error("the {engine} gave up: {source}")]
pub struct EngineError {
    /// Name of the implementation, such as `RTL` or `reference builder`.
    pub engine: &'static str,
    /// Why.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Parses frames.
pub trait FrameParser {
    /// Returns the name for messages, such as `RTL`.
    fn name(&self) -> &'static str;

    /// Parses `frames`, each of 1 to 16,383 bytes, back to back; the results are in the same order.
    ///
    /// # Errors
    ///
    /// Returns an error if the implementation failed. Malformed frames are not errors; they have verdicts.
    fn parse(&mut self, frames: &[&[u8]]) -> Result<Vec<ParsedFrame>, EngineError>;
}

/// The reference model's parser.
#[derive(Debug, Default)]
pub struct ModelParser;

impl FrameParser for ModelParser {
    fn name(&self) -> &'static str {
        "model"
    }

    fn parse(&mut self, frames: &[&[u8]]) -> Result<Vec<ParsedFrame>, EngineError> {
        Ok(frames
            .iter()
            .map(|frame| xoff_sim::protocol::parser::parse(frame))
            .collect())
    }
}

/// Builds frames.
pub trait FrameBuilder {
    /// Returns the name for messages, such as `RTL`.
    fn name(&self) -> &'static str;

    /// Builds the frame of each of `packets`, all of which must pass [`Descriptor::check`], back to back; the results
    /// are in the same order.
    ///
    /// # Errors
    ///
    /// Returns an error if the implementation failed.
    fn build(&mut self, packets: &[Descriptor]) -> Result<Vec<Vec<u8>>, EngineError>;
}

/// The reference model's builder.
#[derive(Debug, Default)]
pub struct ModelBuilder;

impl FrameBuilder for ModelBuilder {
    fn name(&self) -> &'static str {
        "model"
    }

    fn build(&mut self, packets: &[Descriptor]) -> Result<Vec<Vec<u8>>, EngineError> {
        let build = |packet: &Descriptor| {
            packet.build().map_err(|error| EngineError {
                engine: "reference builder",
                source: error.into(),
            })
        };
        packets.iter().map(build).collect()
    }
}

/// Makes parsers and builders of the RTL.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    /// Creates a parser.
    pub parser: fn() -> Result<Box<dyn FrameParser>, EngineError>,
    /// Creates a builder.
    pub builder: fn() -> Result<Box<dyn FrameBuilder>, EngineError>,
}

impl Codec {
    /// The RTL that a program has.
    ///
    /// # Errors
    ///
    /// It has none.
    pub fn of(rtl: Option<Self>) -> anyhow::Result<Self> {
        rtl.context("this program has no RTL: --model takes the reference model")
    }
}
