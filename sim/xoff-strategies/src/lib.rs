//! Random frames for property tests: valid, damaged, garbage. The benches use them to compare RTL and reference
//! models.
//!
//! | strategy | gives |
//! |---|---|
//! | [`descriptor`] | the description of a frame; every one can be built |
//! | [`frame`] | a valid frame, possibly with IPv4 options and trailing bytes |
//! | [`damaged_frame`] | a valid frame after one to four [`Damage`]s, checksums repaired or not |
//! | [`any_bytes`] | garbage, some of it after headers that make a parser continue |
//! | [`any_frame`] | bytes from any of the above |
//!
//! Everything shrinks towards the shortest untagged RC SEND over IPv4 with zero fields. Payload is drawn as a length
//! and a seed, so that only a few numbers have to be shrunk instead of thousands of bytes.

mod bytes;
mod damage;
mod descriptors;

pub use bytes::{any_bytes, pattern, payload};
pub use damage::{Damage, HeaderField, Repair, TestFrame, any_frame, damaged_frame, frame, repair};
pub use descriptors::{control_descriptor, descriptor, roce_descriptor};
