//! Run time of models that Verilator 5 made of SystemVerilog: drive, trace, save, restore.
//!
//! A crate whose build script uses `verilated-build` turns SystemVerilog modules into Rust types with one line, `verilated::tops!();`.
//! Each type is an [`Instance`] of its [`Top`]:
//!
//! - [`Instance::cycle`] drives all inputs, settles, samples all outputs and raises the clock: one call across the
//!   language border a cycle. [`Instance::eval`] does the same without the clock.
//! - A failing assertion, `$error`, `$fatal`, `$stop` and `$finish` come back as a [`Failure`] that names instance, time,
//!   file and line. The process never ends.
//! - [`Instance::save`] and [`Instance::restore`] move the state to memory and back; [`Instance::state`] is the state
//!   without time, to compare.
//! - [`Instance::signal`] and [`Instance::read`] read a register or a memory inside the model by its path.
//! - [`Instance::trace_open`] writes FST or VCD, for as many windows of the run as wanted.
//! - Instances are [`Send`], each with a context of its own: hundreds run on as many threads as there are.
//! - Packed structs, enums and constants of the source are Rust types: see [Types](#types).
//!
//! The crate's README has an example from `build.rs` to a wave file.
//!
//! Code that works on any model, RTL or not, takes `M: `[`Model`].
//!
//! # Ports in Rust
//!
//! `In` has a field for each input except the clock, `Out` one for each output, named as in the source.
//!
//! | bits | field |
//! |---|---|
//! | 1 to 8 | `u8` |
//! | 9 to 16 | `u16` |
//! | 17 to 32 | `u32` |
//! | 33 to 64 | `u64` |
//! | 65 and more | `[u32; N]`, N = bits / 32 rounded up, **word 0 least significant**: port bit `b` is bit `b % 32` of word `b / 32` |
//! | unpacked array | array of the above |
//!
//! Bits of an input above the port's width are ignored. Bits of an output above its width are zero.
//!
//! # Types
//!
//! Every package of the source is a module, shared by all tops of the crate, with a Rust type for each packed struct, packed union
//! and enum and a constant for each parameter that has a value of bits. `gbn_pkg::work_t` is `gbn_pkg::Work`, `status_e` is `Status`
//! with the source's names as variants, `MessageBytesMax` is `MESSAGE_BYTES_MAX`. Where a struct and an enum would share a name, the enum
//! keeps its ending: `work_e` is `WorkE`. A top's parameters are constants of its own module: `nic::QPS`.
//!
//! A port of such a type keeps its field of plain bits, which is what crosses the border, and has two methods: `out.completion_o()`
//! reads the struct, `inputs.set_work_i(&work)` puts one there. Each member is a shift and a mask at a place known to the compiler.
//!
//! | SystemVerilog | Rust |
//! |---|---|
//! | 1 bit | `bool` |
//! | 2 to 128 bits | the least of `u8` to `u128` that holds them, `i8` to `i128` if signed |
//! | 129 bits and more | `[u32; N]`, word 0 least significant |
//! | packed array | array; element 0 is the one with the lowest index, whichever way the range is written |
//! | enum | `enum` of the same names and codes |
//! | packed union | a struct of the bits, with a method to read and one to make each member |
//!
//! Reading a type in which an enum has fewer names than codes is a `Result`: a code without a name is a [`BadEnum`]. To drive such a code,
//! put it there with the [`Member`] constant of the struct. Putting a value that has more bits than its member panics and names the
//! member. [`Packed`] is the trait behind all of them. No other harness for Verilator brings types across.
//!
//! # A cycle
//!
//! With `t` the [`time`](Instance::time_ps) before a cycle and `p` the clock period: at `t` the clock falls, the inputs
//! take their values, everything settles and the outputs are sampled; at `t + p/2` the clock rises; then the time is `t + p`.
//! So `Out` shows what a register that shares the rising edge would take in.

pub mod ffi;

mod coverage;
mod failure;
mod instance;
mod model;
pub mod packed;
mod port;
mod settings;
mod signal;
mod snapshot;
mod top;
mod trace;
mod vcd;

pub use coverage::CoverageError;
pub use failure::{Failure, FailureKind};
pub use instance::Instance;
pub use model::Model;
pub use packed::{BadEnum, Member, Packed, PortBits};
pub use port::{Direction, Port};
pub use settings::{BuildError, Settings, with_plusargs};
pub use signal::{Dimension, Signal, SignalError};
pub use snapshot::RestoreError;
pub use top::Top;
pub use trace::{TraceError, TraceFormat};

/// Takes in what `verilated-build` made for this crate: a type for each top and a module with its `In` and `Out`.
#[macro_export]
macro_rules! tops {
    () => {
        include!(concat!(env!("OUT_DIR"), "/verilated/tops.rs"));
    };
}
