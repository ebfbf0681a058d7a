//! What the NIC is measured under, and the measurement of one load in a process of its own.

use std::time::Instant;

use xoff_rtl::nic::In;
use xoff_rtl::plain;

use crate::work::{self, NicLoad};

/// The argument with which the bench measures one load in its own build and prints the result.
pub const SINGLE: &str = "--one-load";

/// QPs write 64 kB messages in both directions.
pub const BUSY: NicLoad = NicLoad {
    qps: 8,
    sides: &[0, 1],
    dcqcn: false,
    translation: false,
    cycles: 20_000,
};
/// Idle cycles.
pub const IDLE: u64 = 40_000;

/// The names of all loads.
pub const NAMES: [&str; 5] = ["busy", "half, sending", "half, receiving", "DCQCN", "rest"];

/// The inputs of the NIC from its reset on.
fn inputs(name: &str) -> Vec<In> {
    let load = match name {
        "busy" => BUSY,
        "half, sending" => NicLoad {
            sides: &[0],
            ..BUSY
        },
        "half, receiving" => NicLoad {
            sides: &[1],
            ..BUSY
        },
        "DCQCN" => NicLoad {
            dcqcn: true,
            ..BUSY
        },
        "rest" => return work::nic_at_rest(IDLE),
        _ => panic!("no load '{name}'"),
    };
    work::nic(load)
}

/// Runs one load and prints nanoseconds per cycle and the digest of the outputs.
pub fn single(name: &str) {
    let stimulus = inputs(name);
    let start = Instant::now();
    let digest = plain::nic_loop(&stimulus);
    let per_cycle = start.elapsed().as_secs_f64() * 1e9 / stimulus.len() as f64;
    println!("{per_cycle} {digest:x}");
}
