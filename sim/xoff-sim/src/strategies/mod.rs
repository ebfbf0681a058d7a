//! Random frames for property tests: valid, damaged, garbage. The benches turn RTL and reference against each other on them.
//!
//! | strategy | gives |
//! |---|---|
//! | [`descriptor`] | a frame, described; every one can be built |
//! | [`frame`] | a valid frame, IPv4 options and trailing bytes included |
//! | [`damaged_frame`] | a valid frame after one to four [`Damage`]s, checksums repaired or not |
//! | [`any_bytes`] | garbage, some of it behind headers that lure a parser in |
//! | [`any_frame`] | bytes from any of the above |
//!
//! Everything shrinks towards the shortest untagged RC SEND over IPv4 with zero fields: payload bytes are drawn as length and seed, so that shrinking is
//! a matter of a few numbers and not of thousands of bytes.

mod bytes;
mod damage;
mod descriptors;

pub use bytes::{any_bytes, pattern, payload};
pub use damage::{Damage, HeaderField, Repair, TestFrame, any_frame, damaged_frame, frame, repair};
pub use descriptors::{control_descriptor, descriptor, roce_descriptor};
