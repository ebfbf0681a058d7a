//! `xoff run`, `xoff list`, `xoff diff` and `xoff compare`: runs scenarios, measures them and judges their
//! expectations.
//!
//! | module | contents |
//! |---|---|
//! | [`arguments`] | arguments of the commands |
//! | [`command`] | the command `xoff run`: sweeps, outputs |
//! | `planned` | the runs that its arguments ask for |
//! | [`mod@list`] | `xoff list`: the scenarios, and how long they run |
//! | [`mod@print`] | terminal output of a run and of a sweep |
//! | [`mod@diff`] | `xoff diff`: the differences between two runs |
//! | [`mod@compare`] | `xoff compare`: any number of runs side by side |
//! | `recorded` | the scenario of a run with a policy as one without |
//! | [`finished`] | runs whose results are in files |
//! | [`execute`] | executes one run: time, captures, waves, progress |
//! | `progress` | how far it is |
//! | [`checkpoint`] | files with the state of a run, from which it goes on |
//! | [`trigger`] | waves around the first clock edge at which a condition holds |
//! | [`monitors`] | the protocol monitors over a run |
//! | [`outside`] | a host outside of the simulation: its cable, and the pace of the clock |
//! | [`charts`] | charts and network for the report |
//! | [`pauses`] | how pauses spread |
//! | [`servers`] | charts of what the watch over servers saw |

pub mod arguments;
pub mod charts;
pub mod checkpoint;
pub mod command;
pub mod compare;
pub mod diff;
#[cfg(test)]
mod drawn;
pub mod execute;
mod finished;
pub mod list;
pub mod marks;
pub mod monitors;
pub mod outside;
pub mod pauses;
mod planned;
pub mod print;
mod progress;
mod recorded;
pub mod servers;
pub mod trigger;

pub(crate) use arguments::window_of;
pub use arguments::{CompareArgs, DiffArgs, RunArgs};
pub use command::run;
pub use compare::compare;
pub use diff::diff;
pub use list::{ListArgs, list};
