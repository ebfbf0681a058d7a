//! The command `xoff` with all that tests the RTL, for this repository's NICs.

use std::process::ExitCode;

/// That of `xoff`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    xoff_verify::main_with(xoff_cosim::endpoints())
}
