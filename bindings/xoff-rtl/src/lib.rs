//! The tops of Xoff's rtl/ as typed Rust structs.
//!
//! Each is a [`verilated::Instance`]; its ports are the fields of `In` and `Out` in the module of its name. The table of tops is this crate's `build.rs`.

verilated::tops!();

pub mod plain;
