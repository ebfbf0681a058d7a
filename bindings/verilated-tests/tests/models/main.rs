//! Tests that models of small modules do what `verilated` and `verilated-build` document.

mod apart;
mod constants;
mod coverage;
mod failures;
mod gated;
mod ports;
mod recipe;
mod setup;
mod signals;
mod state;
mod threads;
mod types;
mod waves;
