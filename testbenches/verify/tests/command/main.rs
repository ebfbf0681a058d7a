//! Tests of `xoff fuzz`, `replay`, `cover` and `regress` as users run them.
//!
//! | module | contents |
//! |---|---|
//! | [`fuzz`] | `xoff fuzz`: kept cases, files that cannot be written, interruption |
//! | [`regress`] | `xoff regress`: all items over a range of seeds, in parts, and against baselines |
//! | [`rejected`] | arguments and files that are refused |
//! | [`replay`] | from a failure to its waves: `xoff replay`, checkpoints of runs, `--wave-when`, docs/debugging.md |

#[path = "../../../xoff/tests/command/common/mod.rs"]
mod common;
mod fuzz;
mod regress;
mod rejected;
mod replay;

/// The command as a program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_xoff-verify");

/// The command inside of a test.
fn program() -> xoff::Program<'static> {
    xoff_verify::program(xoff_cosim::endpoints())
}
