//! Tests of the command as users run it, and of the built-in scenarios.
//!
//! | module | contents |
//! |---|---|
//! | [`command_line`] | arguments, exit codes, pipes |
//! | [`pictures`] | snapshots of the output |
//! | [`run`] | `xoff run`: its files, and what happens when it is interrupted |
//! | [`check`] | `xoff check`: captures checked against the standards |
//! | [`monitored`] | scenarios with the monitors at every port |
//! | [`injection`] | captured frames on the wires of a scenario |
//! | [`topologies`] | networks and workloads from files |
//! | [`page`] | the page of scenario keys is up to date |
//! | [`livelock`], [`scenarios`] | expected results of the built-in scenarios |

mod check;
mod command_line;
mod common;
mod injection;
mod livelock;
mod monitored;
mod page;
mod pictures;
mod run;
mod scenarios;
mod topologies;
