//! Models of the modules in `sv`, for the tests of this crate and for nobody else.

verilated::tops!();

/// A plain C++ loop over [`Pipeline`]: runs `cycles` cycles over the stimulus, again and again, and gives a digest of the outputs.
///
/// # Panics
///
/// If there is no stimulus.
pub fn pipeline_loop(stimulus: &[pipeline::In], cycles: u64) -> u64 {
    unsafe extern "C" {
        fn plain_pipeline(stimulus: *const pipeline::In, length: usize, cycles: u64) -> u64;
    }
    assert!(!stimulus.is_empty());
    // SAFETY: the pointer and the length are of one slice, whose elements C++ declares alike.
    unsafe { plain_pipeline(stimulus.as_ptr(), stimulus.len(), cycles) }
}

/// The example that users read.
#[cfg(doctest)]
#[doc = include_str!("../../verilated/README.md")]
pub struct Readme;
