//! Tests of the command as users run it, and of the built-in scenarios.
//!
//! | module | contents |
//! |---|---|
//! | [`answers`] | the first screen of reports says what broke and what cures it |
//! | [`attach`] | `xoff attach`: two of its ends at one cable, and peers that are none |
//! | [`attach_tap`] | `xoff attach tap:NAME`: the kernel of this machine as the peer |
//! | [`command_line`] | arguments, exit codes, pipes |
//! | [`pictures`] | snapshots of the output |
//! | [`run`] | `xoff run`: its files, and what happens when it is interrupted |
//! | [`check`] | `xoff check`: captures checked against the standards |
//! | [`claims`] | the table that says where claims end has every variant |
//! | [`compare`] | `xoff compare`: runs side by side |
//! | [`collectives`] | flows in lockstep and patterns: a ring all-reduce against its closed form |
//! | [`fabric`] | waves of the network |
//! | [`goal`] | schedules of GOAL files |
//! | [`calc`] | `xoff calc`: the numbers of the papers, tables, rejected input |
//! | [`monitored`] | scenarios with the monitors at every port |
//! | [`injection`] | captured frames on the wires of a scenario |
//! | [`help`] | help fits on 80 columns, and its examples are commands |
//! | [`incidents`] | the incidents: every scenario with and without its cure |
//! | [`lumina`] | losses, marks and errors at chosen packets, and what has to follow |
//! | [`topologies`] | networks and workloads from files |
//! | [`notes`] | settings that may not be intended, and what was sent in vain, are said |
//! | [`page`] | the page of scenario keys and the transcripts of the README are up to date |
//! | [`policy`] | policies: the recorded scenario, checkpoints, registers of RTL NICs, output |
//! | [`ranks`] | runs of several ranks |
//! | [`recorded`] | captures with cut frames, other links, frames that are too long |
//! | [`rtl_reads`] | READs by and from RTL NICs |
//! | [`shadow`] | `xoff shadow`: a NIC beside the answers of a capture
//! | [`translation`] | translation of addresses: pages that are freed, the sweep of a working set |
//! | [`truth`] | claims of papers against runs |
//! | [`turns`] | equal flows are equally fast whatever their classes; retries are used up for what was lost |
//! | [`verify`] | `xoff fuzz`, `replay`, `cover` and `regress` start the program that has them |
//! | [`walls`] | what may depend on what |
//! | [`wave`] | `xoff wave`: values over time, from wave files |
//! | [`scenario_runs`] | helpers that run scenarios |
//! | [`livelock`], [`scenarios`] | expected results of the built-in scenarios |

mod answers;
mod attach;
mod attach_step;
mod attach_tap;
mod calc;
mod check;
mod claims;
mod collectives;
mod command_line;
mod common;
mod compare;
mod fabric;
mod goal;
mod help;
mod incidents;
mod injection;
mod livelock;
mod lumina;
mod monitored;
mod notes;
mod page;
mod pictures;
mod policy;
mod ranks;
mod recorded;
mod rtl_reads;
mod run;
mod scenario_runs;
mod scenarios;
mod shadow;
mod topologies;
mod translation;
mod truth;
mod turns;
mod verify;
mod walls;
mod wave;

/// The command as a program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_xoff");

/// The command inside of a test.
fn program() -> xoff::Program<'static> {
    xoff::Program::new(xoff_cosim::endpoints())
}
