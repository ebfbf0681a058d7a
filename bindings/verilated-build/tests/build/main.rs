//! Tests that run build scripts.

mod sources;
mod store;
mod table;
mod toolchain;
