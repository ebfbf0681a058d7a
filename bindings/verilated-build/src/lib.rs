//! The build-time half of `verilated`: runs Verilator and generates the Rust types of each top.
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
//! The crate's `lib.rs` then includes the generated code with `verilated::tops!();`. The crate needs `verilated` and
//! `cxx` as dependencies and `verilated-build` as a build dependency.
//!
//! # What happens
//!
//! For each top, Verilator (5.006 or newer) writes C++ and its table of types, as XML or, from 5.036 on, as JSON.
//! Packages, packed structs, enums and parameters come from that table; `verilated`'s documentation says what they
//! become in Rust. The port list is read from the generated header instead, because the C++ code must agree with that
//! header and its form has not changed, while the XML and JSON dumps change between versions.
//!
//! From the ports, this crate generates two plain structs, `In` and `Out`, in both languages, and a C++ class whose
//! `cycle` drives, settles, samples and clocks in one call. The C++ of a model is compiled at `-O2` (rarely executed
//! code at `-Og`), whatever Cargo's profile says, because at `-O0` a model runs twenty times slower. It is one
//! translation unit, except for wide constants and, in a [`large`](Top::large) top, the rarely executed code.
//!
//! # Rebuilds
//!
//! The build script runs again only when a file that Verilator read changes (from Verilator's own dependency list,
//! including packages, headers and waivers), or when Verilator itself or the variables that select it change.
//!
//! # The store
//!
//! The output of Verilator and of the C++ compiler is stored under a hash of everything that went into it: the
//! contents of every file that was read, Verilator's arguments and program, the run time's headers, the C++
//! compiler's version and flags, and the text that this crate and cxx generate. A build that needs the same model
//! again takes it from the store. This holds across profiles, for `cargo clippy` after `cargo test`, for other
//! crates, and for earlier states of the sources. So a change rebuilds only the tops that read the changed file.
//!
//! The store is the folder in the variable `VERILATED_STORE`, an absolute path. Without it, the store is
//! `verilated-store` in Cargo's target folder, which `cargo clean` removes. Several builds can use the store at the
//! same time. It holds 2 GiB; beyond that, the least recently used entries are removed, but none that was used within
//! the last hour. The store can be deleted whenever no build is running.
//!
//! # Environment
//!
//! `VERILATOR` names the program to run, by default `verilator`. `CXX` and `CXXFLAGS` have the same meaning as for
//! the `cc` crate. `VERILATED_STORE` is described above.

mod apart;
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
mod sampled;
mod schedule;
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
