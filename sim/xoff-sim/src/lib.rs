//! RoCEv2 networks around an RTL NIC: wire formats, reference models, network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`wire`] | packet headers as views over bytes and as plain structs; what a parser reports of a frame |
//! | [`nic_registers`] | offsets and fields of the NIC's registers, generated from `rtl/nic/registers.toml` |
//! | [`protocol`] | models of the RTL's units, written from the standards: parser, builder, ICRC |
//! | [`time`] | instants, durations, rates, byte counts, cable lengths, clocks |
//! | [`frame`] | frames on a wire: bytes, and the instants of the first and the last bit |
//! | [`kernel`] | nodes that run independently between exchanges of frames; digests, captures, checkpoints |
//! | [`link`] | cable, MAC and PHY delay; injection of faults |
//! | [`mac`] | MACs between a wire's frames and an RTL NIC's beats |
//! | [`switch`] | the shared-buffer switch: pauses, marking, scheduling, routes, headroom |
//! | [`headers`] | the header fields that a switch reads |
//! | [`host`] | memory, the bus, applications that send messages and check what they receive |
//! | [`nic`] | settings, QPs, regions and counters of a NIC, RTL or model |
//! | [`seeded`] | random numbers from a seed |

#![forbid(unsafe_code)]

pub mod frame;
pub mod headers;
pub mod host;
pub mod kernel;
pub mod link;
pub mod mac;
pub mod nic;
pub mod nic_registers;
pub mod protocol;
pub mod seeded;
pub mod switch;
#[cfg(test)]
mod testing;
pub mod time;
pub mod wire;

// Tests in this crate need the strategies as part of it: as a dependency they would be of another build of its types.
#[cfg(test)]
extern crate self as xoff_sim;
#[cfg(test)]
#[path = "../../xoff-strategies/src/lib.rs"]
#[allow(unused_imports, dead_code, reason = "other crates use the rest")]
mod strategies;
