//! The command `xoff`, with this repository's NICs.

use std::process::ExitCode;

/// Frames are often freed by another thread than the one that made them. With the system's allocator threads wait for
/// each other there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    xoff::main_with(&xoff_cosim::endpoints())
}
