//! RoCEv2 networks around an RTL NIC: wire formats, reference models, network.
//!
//! | module | what is in it |
//! |---|---|
//! | [`wire`] | packet headers as views over bytes and as plain structs; what a parser reports of a frame |
//! | [`mod@reference`] | models of the RTL's units, written from the standards: parser, builder, ICRC |
//! | [`time`] | instants, durations, rates, byte counts, cable lengths, clocks |
//! | [`strategies`] | random frames for property tests: valid, damaged, garbage |

pub mod reference;
pub mod strategies;
pub mod time;
pub mod wire;
