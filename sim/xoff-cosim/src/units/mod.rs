//! Drivers of the verilated units at their pins: they feed a unit, read its outputs in every cycle, and hold it to the protocol of its ports.
//!
//! | module | unit |
//! |---|---|
//! | [`parser`] | `packet_parser`: frames in, [`ParsedFrame`](xoff_sim::wire::frame::ParsedFrame)s out |
//! | [`builder`] | `packet_builder`: [`Descriptor`](xoff_sim::protocol::Descriptor)s in, frames out |
//! | [`dcqcn`] | the DCQCN units: a cycle a call |
//! | [`gbn`] | the go-back-N units, and what may stand in their place: a cycle a call |
//! | [`pfc`] | `pfc_rx`, `pfc_tx`, `pause_watchdog`: a cycle a call |
//! | [`axi_lite`] | an AXI4-Lite master |
//! | [`axi_stream`] | beats of AXI4-Stream |
//! | [`verbs`] | work requests, receive buffers, completions at ports |
//! | [`beat`] | bytes to and from the beats of a stream |

pub mod axi_lite;
pub mod axi_stream;
pub mod beat;
pub mod builder;
pub mod dcqcn;
pub mod gbn;
pub mod parser;
pub mod pfc;
mod skip;
pub mod verbs;

pub use skip::{Rest, Skip};

use thiserror::Error;

/// Clock period of the 256-bit pipeline: 40 Gb/s at 195.3125 MHz.
pub const PERIOD_256_PS: u64 = 5_120;
/// Clock period of the 512-bit pipeline: 100 Gb/s at 312.5 MHz.
pub const PERIOD_512_PS: u64 = 3_200;

/// A unit that cannot go on, or that broke the protocol of its ports. No property of a frame: for those there are verdicts.
#[derive(Debug, Error)]
pub enum UnitError {
    /// An assertion in the RTL failed.
    #[error(transparent)]
    Failure(#[from] verilated::Failure),
    /// The model could not be made.
    #[error(transparent)]
    Build(#[from] verilated::BuildError),
    /// The unit broke a rule of its ports.
    #[error("{unit}, cycle {cycle}: {what}")]
    Protocol {
        /// The unit.
        unit: &'static str,
        /// Cycles since the driver was made.
        cycle: u64,
        /// The rule and how it was broken.
        what: String,
    },
}
