//! Tops of Xoff's `rtl/` that only tests of units run, as typed Rust structs. Those of NICs, parsers and builders are in
//! `xoff-rtl`.

verilated::tops!();
