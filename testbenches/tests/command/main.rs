//! The command as its users run it, and the scenarios it brings.
//!
//! | module | what it has |
//! |---|---|
//! | [`command_line`] | arguments, exit codes, pipes |
//! | [`pictures`] | what is printed, as pictures of it |
//! | [`run`] | `xoff run`: its files, and what happens when it is interrupted |
//! | [`livelock`], [`scenarios`] | what has to come of the built-in scenarios |

mod command_line;
mod common;
mod livelock;
mod pictures;
mod run;
mod scenarios;
