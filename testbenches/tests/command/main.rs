//! The command as its users run it, and the scenarios it brings.
//!
//! | module | what it has |
//! |---|---|
//! | [`command_line`] | arguments, exit codes, pipes |
//! | [`pictures`] | what is printed, as pictures of it |
//! | [`run`] | `xoff run`: its files, and what happens when it is interrupted |
//! | [`check`] | `xoff check`: captures held against the standards |
//! | [`monitored`] | scenarios with the monitors at every port |
//! | [`injection`] | captured frames on the wires of a scenario |
//! | [`page`] | the page of scenario keys is true |
//! | [`livelock`], [`scenarios`] | what has to come of the built-in scenarios |

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
