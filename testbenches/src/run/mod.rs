//! `xoff run`, `xoff list` and `xoff diff`: scenarios, measured and held against what they expect.
//!
//! | module | what is in it |
//! |---|---|
//! | [`command`] | the commands: sweeps, outputs |
//! | [`print`] | what the terminal says of a run, and of a sweep |
//! | [`diff`] | `xoff diff`: what is different about two runs |
//! | [`execute`] | one run: time, captures, waves, progress |
//! | [`judge`] | expectations held against what was measured |
//! | [`charts`] | charts and network for the report |

pub mod charts;
pub mod command;
pub mod diff;
pub mod execute;
pub mod judge;
pub mod print;

pub use command::{list, run};
pub use diff::diff;
pub use execute::interrupt;
