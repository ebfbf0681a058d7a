//! The tops of Xoff's rtl/ as typed Rust structs.
