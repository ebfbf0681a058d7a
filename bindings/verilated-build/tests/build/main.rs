//! Build scripts, run by their own tests.

mod store;
mod table;
mod toolchain;
