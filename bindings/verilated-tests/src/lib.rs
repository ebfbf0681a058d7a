//! Models of the modules in `sv`, only for the tests of this crate.

verilated::tops!();

/// Runs `cycles` cycles of a plain C++ loop over [`Pipeline`] and returns a digest of the outputs. The stimulus is
/// repeated as often as needed.
///
/// # Panics
///
/// Panics if there is no stimulus.
pub fn pipeline_loop(stimulus: &[pipeline::In], cycles: u64) -> u64 {
    unsafe extern "C" {
        fn plain_pipeline(stimulus: *const pipeline::In, length: usize, cycles: u64) -> u64;
    }
    assert!(!stimulus.is_empty());
    // SAFETY: the pointer and the length belong to one slice, and C++ declares its elements with the same layout.
    unsafe { plain_pipeline(stimulus.as_ptr(), stimulus.len(), cycles) }
}

/// The example in the README, compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../verilated/README.md")]
pub struct Readme;
