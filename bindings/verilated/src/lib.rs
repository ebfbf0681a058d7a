//! Runs models that Verilator 5 generates from SystemVerilog: drive, trace, save and restore them from Rust.
//!
//! A crate whose build script uses `verilated-build` turns SystemVerilog modules into Rust types with one line,
//! `verilated::tops!();`. Each type is an [`Instance`] of its [`Top`]:
//!
//! - [`Instance::cycle`] drives all inputs, settles the model, samples all outputs and raises the clock. It crosses
//!   the language border once per cycle. [`Instance::eval`] does the same without the clock.
//! - A failing assertion, `$error`, `$fatal`, `$stop` and `$finish` are returned as a [`Failure`] that names the
//!   instance, the time, the file and the line. None of them ends the process.
//! - [`Instance::save`] copies the state to memory and [`Instance::restore`] loads it back. [`Instance::state`]
//!   returns the state without the time, for comparisons.
//! - [`Instance::signal`] and [`Instance::read`] read a register or a memory inside the model by its path.
//! - [`Instance::trace_open`] writes FST or VCD waves. A run can write any number of wave files, each for a part of
//!   the run.
//! - Instances are [`Send`] and each has a context of its own, so hundreds of them can run on any number of threads.
//! - Packed structs, enums and constants of the source become Rust types and constants: see [Types](#types).
//!
//! The crate's README has an example that goes from `build.rs` to a wave file.
//!
//! Code that works on any model, whether it is RTL or not, takes `M: `[`Model`].
//!
//! # Ports in Rust
//!
//! `In` has a field for each input except the clock and `Out` has one for each output. The fields have the names of
//! the source.
//!
//! | bits | field |
//! |---|---|
//! | 1 to 8 | `u8` |
//! | 9 to 16 | `u16` |
//! | 17 to 32 | `u32` |
//! | 33 to 64 | `u64` |
//! | 65 and more | `[u32; N]`, N = bits / 32 rounded up |
//! | unpacked array | array of the above |
//!
//! In a `[u32; N]`, **word 0 is the least significant**: port bit `b` is bit `b % 32` of word `b / 32`.
//!
//! Bits of an input above the port's width are ignored. Bits of an output above its width are zero.
//!
//! # Types
//!
//! Every package of the source becomes a module, which all tops of the crate share. It has a Rust type for each
//! packed struct, packed union and enum, and a constant for each parameter whose value is a bit vector.
//! `gbn_pkg::work_t` becomes `gbn_pkg::Work`, `status_e` becomes `Status` with the source's names as variants, and
//! `MessageBytesMax` becomes `MESSAGE_BYTES_MAX`. Where a struct and an enum would share a name, the enum keeps its
//! suffix: `work_e` becomes `WorkE`. A top's parameters are constants of its own module: `nic::QPS`.
//!
//! A port of such a type keeps its field of plain bits, which is what crosses the language border, and has two
//! methods: `out.completion_o()` reads the struct and `inputs.set_work_i(&work)` writes one. Each member access is a
//! shift and a mask, at a position known at compile time.
//!
//! | SystemVerilog | Rust |
//! |---|---|
//! | 1 bit | `bool` |
//! | 2 to 128 bits | the smallest of `u8` to `u128` that holds them, `i8` to `i128` if signed |
//! | 129 bits and more | `[u32; N]`, word 0 least significant |
//! | packed array | array; element 0 is the one with the lowest index, whichever way the range is written |
//! | enum | `enum` with the same names and codes |
//! | packed union | a struct of the bits, with a method to read and a method to make each member |
//!
//! Reading a type that contains an enum with fewer names than codes returns a `Result`: a code without a name is a
//! [`BadEnum`]. To drive such a code on purpose, write it with the struct's [`Member`] constant. Writing a value that
//! has more bits than its member panics and names the member. All these types implement [`Packed`]. No other harness
//! for Verilator provides the types of the source.
//!
//! # Types in waves
//!
//! In a wave file a packed struct or array is one vector. Beside `a.fst` a model writes `a.types.json`, which says what
//! the vectors are made of:
//!
//! | key | value |
//! |---|---|
//! | `top` | the module that the model is made of |
//! | `modules` | by name: `signals`, the places in `types` of those that are structs, unions or arrays, and `instances`, the modules of those that have such signals within. Before a name are the generate blocks around it, with dots between |
//! | `types` | `{"bits": [left, right]}`, with `signed`; `{"enum": {name: code}, "of": place}`; `{"struct": [[name, place]]}`, the most significant member first; `{"union": …}` likewise; `{"array": [left, right], "of": place}` |
//!
//! Signals are named as in the source, with the module's scope first: that of `top` is named after it.
//!
//! # A cycle
//!
//! Let `t` be the [`time`](Instance::time_ps) before a cycle and `p` the clock period. At `t` the clock falls, the
//! inputs take their values, the model settles and the outputs are sampled. At `t + p/2` the clock rises. After the
//! call the time is `t + p`. `Out` therefore shows the values that a register clocked by the same rising edge would
//! store.

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

/// Includes the code that `verilated-build` generated for this crate: a type for each top and a module with its `In`
/// and `Out`.
#[macro_export]
macro_rules! tops {
    () => {
        include!(concat!(env!("OUT_DIR"), "/verilated/tops.rs"));
    };
}
