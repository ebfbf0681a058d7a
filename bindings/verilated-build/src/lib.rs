//! Build-time half of `verilated`: runs Verilator and writes the typed Rust face of each top.
//!
//! A build script is a table of tops:
//!
//! ```no_run
//! use verilated_build::{Build, Top};
//!
//! fn main() {
//!     Build::new()
//!         .root("../..")                                  // paths below, and in messages, start here
//!         .packages(["rtl/pkg/bus_pkg.sv"])               // compiled first, in this order
//!         .search(["rtl/prim", "rtl/uart"])               // where modules are looked up by name
//!         .waiver("rtl/lint.vlt")
//!         .top(Top::new("uart"))
//!         .top(Top::new("fifo").param("Width", 64).named("Fifo64"))
//!         .run();
//! }
//! ```
//!
//! and the crate's `lib.rs` takes what came out with `verilated::tops!();`. The crate needs `verilated` and `cxx`
//! as dependencies and `verilated-build` as a build dependency.
//!
//! # What happens
//!
//! For each top, Verilator (5.006 or newer) writes C++ and its table of types, as XML or, from 5.036 on, as JSON. Packages, packed structs,
//! enums and parameters come from that table: `verilated`'s documentation says what they are in Rust. The port list is read from the header it generates, because
//! that header is what the C++ must agree with and its shape has stayed put, while the XML and JSON dumps change
//! between versions. From the ports come two plain structs, `In` and `Out`, on both sides of the border, and a class
//! whose `cycle` drives, settles, samples and clocks in one call. All C++ of a model is one translation unit at
//! `-O3`, whatever Cargo's profile says: at `-O0` a model runs twenty times slower.
//!
//! # Rebuilds
//!
//! The build script runs again when a file that Verilator read changes (its own dependency list, packages, headers and
//! waivers included), when Verilator itself or the variables that choose it change, and for nothing else.
//!
//! # The store
//!
//! What Verilator and the C++ compiler made is kept under a hash of everything that went into it: the contents of every
//! file that was read, Verilator's arguments and program, the run time's headers, the C++ compiler's version and flags,
//! the text that this crate and cxx generate. Whoever needs the same model again gets it from there: another profile,
//! `cargo clippy` after `cargo test`, another crate, an earlier state of the sources. So a change makes only those tops
//! again that read the changed file.
//!
//! The store is the folder that the variable `VERILATED_STORE` names, an absolute path; without it, `verilated-store`
//! in Cargo's target folder, which `cargo clean` removes. Several builds can use it at the same time. It holds 2 GiB;
//! beyond that, what was not used for longest is removed, but nothing that was used within the last hour. It can be
//! deleted whenever no build runs.
//!
//! # Environment
//!
//! `VERILATOR` names the program to run, default `verilator`. `CXX` and `CXXFLAGS` are honoured as the `cc` crate does.
//! `VERILATED_STORE` is described above.

mod builder;
mod compile;
mod deps;
mod error;
mod files;
mod list;
mod names;
mod parallel;
mod ports;
mod rust;
mod shim;
mod store;
mod toolchain;
mod top;
mod types;
mod verilate;

pub use builder::Build;
pub use compile::compile_runtime;
pub use deps::dependency_list;
pub use error::Error;
pub use toolchain::{Verilator, Version};
pub use top::Top;
