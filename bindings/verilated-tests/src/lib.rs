//! Models of the modules in `sv`, for the tests of this crate and for nobody else.

verilated::tops!();
