//! `xoff run` and `xoff list`: scenarios, measured and held against what they expect.
//!
//! | module | what is in it |
//! |---|---|
//! | [`command`] | the commands: sweeps, outputs, what is printed |
//! | [`execute`] | one run: time, captures, waves, progress |
//! | [`judge`] | expectations held against what was measured |
//! | [`recorder`] | samples for charts, and where counters stood when measuring began |
//! | [`metrics`] | all that was measured, by name |
//! | [`charts`] | charts and network for the report |

pub mod charts;
pub mod command;
pub mod execute;
pub mod judge;
pub mod metrics;
pub mod recorder;

pub use command::{list, run};
pub use execute::interrupt;
