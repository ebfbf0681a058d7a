//! Plain C++ loops over models of this crate, to measure the Rust side against.

use crate::{nic, packet_parser256};

/// Runs `cycles` cycles of a new `PacketParser256` over the stimulus, again and again. Gives a digest of its outputs: after every cycle with `done_valid_o`, and then
/// after every one with `payload_valid_o`, it is multiplied by 31 and `result_o + bth_o[0]`, or `payload_data_o[7]`, is added.
///
/// # Panics
///
/// If there is no stimulus.
pub fn parser_loop(stimulus: &[packet_parser256::In], cycles: u64) -> u64 {
    unsafe extern "C" {
        fn xoff_plain_parser_loop(
            stimulus: *const packet_parser256::In,
            length: usize,
            cycles: u64,
        ) -> u64;
    }
    assert!(!stimulus.is_empty());
    // SAFETY: the pointer and the length are of one slice, whose elements C++ declares alike.
    unsafe { xoff_plain_parser_loop(stimulus.as_ptr(), stimulus.len(), cycles) }
}

/// Runs a new `Nic` over the stimulus, once. Gives a digest of its outputs: after every cycle with `tx_valid_o`, and then after every one with `write_valid_o`, it is
/// multiplied by 31 and the last word of the beat, `tx_data_o[7]` or `write_data_o[7]`, is added.
pub fn nic_loop(stimulus: &[nic::In]) -> u64 {
    unsafe extern "C" {
        fn xoff_plain_nic_loop(stimulus: *const nic::In, length: usize) -> u64;
    }
    // SAFETY: the pointer and the length are of one slice, whose elements C++ declares alike.
    unsafe { xoff_plain_nic_loop(stimulus.as_ptr(), stimulus.len()) }
}
