//! Build-time half of verilated: runs Verilator and writes the typed Rust face of each top.
