//! Directed tests of a unit, as judges of what its property lets pass.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Tests that do not judge: digests of whole runs fail for any change, whether it is wrong or not, and a netlist has no
/// waves.
const OTHERS: [&str; 2] = ["baseline::", "waves::"];

/// The tests of a test executable, the quickest first, so that most mutants that are killed are killed soon.
#[derive(Debug)]
pub struct Tests {
    program: PathBuf,
    names: Vec<String>,
}

impl Tests {
    /// Runs each test on the unbroken netlist, on `threads` threads, to know how long it takes.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not run, or if a test fails with nothing broken.
    pub fn timed(program: &Path, threads: usize) -> Result<Self, String> {
        let listed = (Command::new(program).arg("--list").output())
            .map_err(|error| cannot_run(program, &error))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let left: VecDeque<_> = (listed.lines())
            .filter_map(|line| line.strip_suffix(": test"))
            .filter(|name| !OTHERS.iter().any(|other| name.starts_with(other)))
            .map(str::to_owned)
            .collect();
        if left.is_empty() {
            return Err(format!("{} has no tests", program.display()));
        }
        let left = Mutex::new(left);
        let worker = || {
            let mut timed = Vec::new();
            loop {
                let next = left.lock().expect("no panic is behind it").pop_front();
                let Some(name) = next else {
                    return Ok(timed);
                };
                let begin = Instant::now();
                if !passes(program, &name, 0)? {
                    return Err(format!("nothing is broken, yet {name} fails"));
                }
                timed.push((begin.elapsed(), name));
            }
        };
        let mut timed: Vec<(Duration, String)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            (workers.into_iter())
                .map(|worker| worker.join().expect("nothing in it panics"))
                .collect::<Result<Vec<_>, String>>()
        })?
        .concat();
        timed.sort();
        Ok(Self {
            program: program.to_owned(),
            names: timed.into_iter().map(|(_, name)| name).collect(),
        })
    }

    /// Returns the first test that a mutant fails, or `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not run.
    pub fn first_failure(&self, mutant: u16) -> Result<Option<&str>, String> {
        for name in &self.names {
            if !passes(&self.program, name, mutant)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Runs one test on a mutant, whose number it finds in `XOFF_MUTANT`.
fn passes(program: &Path, name: &str, mutant: u16) -> Result<bool, String> {
    let status = Command::new(program)
        .args(["--exact", name])
        .env("XOFF_MUTANT", mutant.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| cannot_run(program, &error))?;
    Ok(status.success())
}

fn cannot_run(program: &Path, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", program.display())
}
