//! Directed tests of a unit, as judges of what its property lets pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::list::Mutant;
use crate::reach::{self, WATCH};

/// Tests that do not judge: digests of whole runs fail for any change, whether it is wrong or not, a netlist has neither
/// waves nor the RTL's assertions, and the plain loop is that of the RTL, also where the NIC is a netlist.
const OTHERS: [&str; 4] = [
    "baseline::",
    "plain::",
    "reset::data_that_was_not_asked_for",
    "waves::",
];

/// A test of a test executable.
#[derive(Debug)]
struct Test {
    takes: Duration,
    name: String,
    reaches: BTreeSet<u16>,
}

/// The tests of a test executable, the quickest first, so that most mutants that are killed are killed soon.
#[derive(Debug)]
pub struct Tests {
    program: PathBuf,
    tests: Vec<Test>,
}

impl Tests {
    /// Runs each test on the unbroken netlist, to know how long it takes and which mutations it reaches. `folder` is
    /// for what the netlists write.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not run, or if a test fails with nothing broken.
    pub fn watched(program: &Path, folder: &Path) -> Result<Self, String> {
        let listed = (Command::new(program).arg("--list").output())
            .map_err(|error| cannot_run(program, &error))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names: Vec<_> = (listed.lines())
            .filter_map(|line| line.strip_suffix(": test"))
            .filter(|name| !OTHERS.iter().any(|other| name.starts_with(other)))
            .collect();
        if names.is_empty() {
            return Err(format!("{} has no tests", program.display()));
        }
        let watched = |name: &&str| {
            let file = folder.join(name.replace(':', "_"));
            let begin = Instant::now();
            let mut run = command(program, name, WATCH);
            if !passes(program, run.env("XOFF_REACHED", &file))? {
                return Err(format!("nothing is broken, yet {name} fails"));
            }
            Ok(Test {
                takes: begin.elapsed(),
                name: (*name).to_owned(),
                reaches: reach::read(&file)?,
            })
        };
        let mut tests: Vec<_> = names
            .par_iter()
            .with_max_len(1)
            .map(watched)
            .collect::<Result<_, _>>()?;
        tests.sort_by_key(|test| test.takes);
        Ok(Self {
            program: program.to_owned(),
            tests,
        })
    }

    /// Returns the first test that kills a mutant, or `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not run.
    pub fn first_failure(&self, mutant: &Mutant) -> Result<Option<&str>, String> {
        let number = mutant.number;
        for test in (self.tests.iter()).filter(|test| test.reaches.contains(&number)) {
            let mut run = command(&self.program, &test.name, number);
            if mutant.dies_when_reached || !passes(&self.program, &mut run)? {
                return Ok(Some(&test.name));
            }
        }
        Ok(None)
    }
}

/// Runs one test on a mutant, whose number it finds in `XOFF_MUTANT`.
fn command(program: &Path, name: &str, mutant: u16) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", name])
        .env("XOFF_MUTANT", mutant.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn passes(program: &Path, command: &mut Command) -> Result<bool, String> {
    let status = command
        .status()
        .map_err(|error| cannot_run(program, &error))?;
    Ok(status.success())
}

fn cannot_run(program: &Path, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", program.display())
}
