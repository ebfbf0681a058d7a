//! NIC, parser and builder of Xoff's `rtl/` as typed Rust structs. The tops of the other units, which only tests run, are
//! in `xoff-rtl-units`.
//!
//! Each top is a [`verilated::Instance`]. Its ports are the fields of `In` and `Out` in the module with its name. The
//! list of tops is `rtl/units.toml`.

verilated::tops!();

pub mod plain;
