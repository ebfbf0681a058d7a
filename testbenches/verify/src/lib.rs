//! Tests of the RTL: property tests of the units and of the NIC, and regressions of these and of scenarios.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the subcommands, in place of those of `xoff` that start this program |
//! | [`property`] | property tests: random histories run through the units and their references |
//! | [`units`] | drivers of units that are tested alone |
//! | [`fuzz`] | `xoff fuzz`: runs the properties for a time or a count |
//! | [`replay`] | `xoff replay`: runs a kept failure again, with waves around it |
//! | [`cover`] | `xoff cover`: shows the functional coverage that properties reached |
//! | [`regress`] | `xoff regress`: runs all units and scenarios over a range of seeds and reports |
//!
//! A program with a NIC of its own has the whole command by [`main_with`].

pub mod cli;
pub mod cover;
pub mod fuzz;
pub mod property;
pub mod regress;
pub mod replay;
pub mod units;

use std::process::ExitCode;

pub use cli::Here;
use xoff::Program;
use xoff_network::Endpoints;

/// The command with these kinds of hosts, and with all that is in this library.
pub fn program(endpoints: Endpoints) -> Program<'static> {
    property::hosts::set_kinds(&endpoints);
    Program {
        verify: &Here,
        ..Program::new(endpoints)
    }
}

/// Runs the whole command with the arguments of the process, and these kinds of hosts for scenarios.
///
/// # Panics
///
/// Panics if the program has set a handler of SIGINT before.
pub fn main_with(endpoints: Endpoints) -> ExitCode {
    xoff::main_with(&program(endpoints))
}
