//! Plain C++ loops over models of this crate, as a reference for the speed of the Rust side.
//!
//! Each runs on a thread of its own: such a loop has a Verilator context, which is the current one of its thread, and it
//! is gone when the loop ends.

use crate::{nic, packet_parser256};

/// Runs `cycles` cycles of a new `PacketParser256` and returns a digest of its outputs. The stimulus is repeated as
/// often as needed.
///
/// The digest starts at 0. After every cycle with `done_valid_o`, it is multiplied by 31 and `result_o + bth_o[0]` is
/// added. Then, after every cycle with `payload_valid_o`, it is multiplied by 31 and `payload_data_o[7]` is added.
///
/// # Panics
///
/// Panics if there is no stimulus.
pub fn parser_loop(stimulus: &[packet_parser256::In], cycles: u64) -> u64 {
    unsafe extern "C" {
        fn xoff_plain_parser_loop(
            stimulus: *const packet_parser256::In,
            length: usize,
            cycles: u64,
        ) -> u64;
    }
    assert!(!stimulus.is_empty());
    alone(|| {
        // SAFETY: the pointer and the length belong to one slice, and C++ has its elements with the same layout.
        unsafe { xoff_plain_parser_loop(stimulus.as_ptr(), stimulus.len(), cycles) }
    })
}

/// Runs a new `Nic` over the stimulus, once, and returns a digest of its outputs.
///
/// The digest starts at 0. It is multiplied by 31 and the last word of a beat is added: `tx_data_o[7]` after every
/// cycle with `tx_valid_o`, and then `write_data_o[7]` after every cycle with `write_valid_o`.
pub fn nic_loop(stimulus: &[nic::In]) -> u64 {
    unsafe extern "C" {
        fn xoff_plain_nic_loop(stimulus: *const nic::In, length: usize) -> u64;
    }
    alone(|| {
        // SAFETY: the pointer and the length belong to one slice, and C++ has its elements with the same layout.
        unsafe { xoff_plain_nic_loop(stimulus.as_ptr(), stimulus.len()) }
    })
}

/// Runs a loop on a thread of its own.
fn alone(run: impl FnOnce() -> u64 + Send) -> u64 {
    std::thread::scope(|scope| scope.spawn(run).join()).expect("a loop in C++ does not panic")
}
