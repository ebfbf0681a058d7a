//! Hints to the processor about memory that will be read soon.
//!
//! A large network's state does not fit into a core's caches, and a window touches all of it, so that most of a
//! window's time would be spent waiting for memory, one line at a time. While one node runs, the lines of the next ones
//! are therefore asked for.

/// Bytes of a cache line on the processors for which [`prefetch`] does something.
const LINE: usize = 64;

/// Asks for the memory of `values` (not for what they point to). Has no effect but on speed.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    // From the start of the first line.
    let before = values.as_ptr().addr() % LINE;
    let bytes = before + std::mem::size_of_val(values);
    let start = values.as_ptr().cast::<i8>().wrapping_sub(before);
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: a prefetch reads nothing that the program sees, and does not fault whatever the address is.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start, LINE);
}

/// As [`prefetch`], for a single value.
#[inline]
pub fn prefetch_one<T>(value: &T) {
    prefetch(std::slice::from_ref(value));
}
