//! Drivers that operate the verilated units at their pins: they feed a unit, read its outputs in every cycle, and
//! check that it follows the protocol of its ports.
//!
//! | module | unit |
//! |---|---|
//! | [`parser`] | `packet_parser`: frames in, [`ParsedFrame`](xoff_sim::wire::frame::ParsedFrame)s out |
//! | [`builder`] | `packet_builder`: [`Descriptor`](xoff_sim::protocol::Descriptor)s in, frames out |
//! | [`driven`] | a unit of which each call is one cycle |
//! | [`axi_lite`] | an AXI4-Lite master |
//! | [`axi_stream`] | beats of AXI4-Stream |
//! | [`verbs`] | work requests, receive buffers and completions at ports |
//! | [`watch`] | counts cycles of units, and writes waves around a failure |
//! | [`beat`] | bytes to and from the beats of a stream |

pub mod axi_lite;
pub mod axi_stream;
pub mod beat;
pub mod builder;
pub mod driven;
pub mod parser;
mod skip;
pub mod verbs;
pub mod watch;

pub use skip::Skip;

use thiserror::Error;

/// Clock period of the 256-bit pipeline: 40 Gb/s at 195.3125 MHz.
pub const PERIOD_256_PS: u64 = 5_120;
/// Clock period of the 512-bit pipeline: 100 Gb/s at 312.5 MHz.
pub const PERIOD_512_PS: u64 = 3_200;

/// The error of a unit that cannot go on, or that broke the protocol of its ports.
///
/// Defects of frames are not reported in this way; they have verdicts.
#[derive(Debug, Error)]
pub enum UnitError {
    /// An assertion in the RTL failed.
    #[error(transparent)]
    Failure(#[from] verilated::Failure),
    /// The model could not be created.
    #[error(transparent)]
    Build(#[from] verilated::BuildError),
    /// The unit broke a rule of its ports.
    #[error("{unit}, cycle {cycle}: {what}")]
    Protocol {
        /// The name of the unit.
        unit: &'static str,
        /// Number of cycles since the driver was created.
        cycle: u64,
        /// The rule, and how it was broken.
        what: String,
    },
}
