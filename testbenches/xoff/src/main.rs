//! The command `xoff`, with this repository's NICs; without the feature `rtl`, with model NICs alone.

use std::process::ExitCode;

/// Frames are often freed by another thread than the one that made them. With the system's allocator threads wait for
/// each other there.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "rtl")]
    let program = xoff::Program::new(xoff_cosim::endpoints());
    #[cfg(not(feature = "rtl"))]
    let program = xoff::Program::without_rtl(xoff_network::Endpoints::default());
    xoff::main_with(&program)
}
