//! The request to end, of Ctrl-C and SIGTERM. What takes long asks for it, and ends with what it has until then.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Asks all work of this process to end soon, with complete files. Returns whether it was asked before. For handlers of
/// signals.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::Relaxed)
}

/// Returns whether work was asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
