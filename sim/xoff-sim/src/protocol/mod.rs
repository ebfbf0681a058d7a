//! Reference models of the RTL's units, written from the standards and the units' contracts, never from the RTL.
//! Property tests compare the RTL with them.
//!
//! | module | unit |
//! |---|---|
//! | [`parser`] | `rtl/parser/packet_parser`: classifies a frame and reads its fields |
//! | [`builder`] | `rtl/parser/packet_builder`: builds the frame for a described packet |
//! | [`mod@icrc`] | the invariant CRC, which both need |
//! | [`pfc_rx`] | `rtl/pfc/pfc_rx`: which classes the peer's pauses stop |
//! | [`pfc_tx`] | `rtl/pfc/pfc_tx`: when to ask the peer to pause |
//! | [`pause_watchdog`] | `rtl/pfc/pause_watchdog`: when to stop asking |
//! | [`dcqcn`] | `rtl/dcqcn/`: reaction point, notification point, rate limiter |
//! | [`gbn`] | `rtl/gbn/`: go-back-N requester and responder |
//! | [`cycle`] | points in time and durations in clock cycles, at which units have deadlines |
//! | [`pause_time`] | quanta of pause in clock cycles |
//! | [`idle`] | how long a unit may be left unevaluated |
//!
//! Units with a timer are modelled cycle by cycle: `cycle(now, inputs)` returns the outputs in cycle `now` and then
//! applies the clock edge that ends it.

pub mod builder;
pub mod cycle;
pub mod dcqcn;
pub mod gbn;
pub mod icrc;
pub mod idle;
pub mod parser;
pub mod pause_time;
pub mod pause_watchdog;
pub mod pfc_rx;
pub mod pfc_tx;

pub use builder::{Content, Descriptor, DescriptorError, IpFields, RocePacket};
pub use cycle::Cycle;
pub use icrc::icrc;
pub use idle::Idle;
pub use parser::parse;
pub use pause_time::{CyclesPerQuantum, Quanta};
pub use pause_watchdog::PauseWatchdog;
pub use pfc_rx::PfcRx;
pub use pfc_tx::PfcTx;
