//! Models of small modules, held to what `verilated` and `verilated-build` promise.

mod coverage;
mod failures;
mod ports;
mod recipe;
mod signals;
mod state;
mod threads;
mod types;
mod waves;
