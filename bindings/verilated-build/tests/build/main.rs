//! Build scripts, run by their own tests.

mod sources;
mod store;
mod table;
mod toolchain;
