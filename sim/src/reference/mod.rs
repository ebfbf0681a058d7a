//! Models of the RTL's units, written from the standards and the units' contracts, never from the RTL. They judge it in property tests.
//!
//! | module | unit |
//! |---|---|
//! | [`parser`] | `rtl/parser/packet_parser`: a frame, and what it is |
//! | [`builder`] | `rtl/parser/packet_builder`: the frame for a described packet |
//! | [`mod@icrc`] | the invariant CRC that both need |

pub mod builder;
pub mod icrc;
pub mod parser;

pub use builder::{Content, Descriptor, DescriptorError, IpFields, RocePacket};
pub use icrc::icrc;
pub use parser::parse;
