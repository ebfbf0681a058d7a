//! What a cycle of each top, an event of each property, a frame of `xoff decode` and a frame-hop of a network cost, in
//! instructions, which are the same on any machine with the same compilers.
//!
//! `make cost` installs valgrind and runs this: it counts everything and compares the counts with the budgets in
//! `cost.toml`. Arguments choose loads by the beginnings of their names: `xoff-cost nic`; `bytes` chooses the sizes of
//! models. Each load runs in a process of its own under callgrind, which counts from the entry of [`counted`] to its
//! return. `--write` makes budgets of the counts.
//!
//! Exit codes: 0 all counts are within their budgets, 1 one is more than 3 % above, 2 bad input.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

mod budget;
mod loads;
mod profile;
mod size;
#[path = "../../benches/work.rs"]
mod work;

use budget::{Budgets, Counts};
use loads::Load;
use profile::Profile;

/// That of `xoff`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The argument with which this program runs one load itself and prints how many units of work it did.
const SINGLE: &str = "--one";
/// The argument with which the counts become the budgets.
const WRITE: &str = "--write";
/// The argument for the sizes of models.
const BYTES: &str = "bytes";
/// The part of a run that is counted: callgrind is told this name.
const COUNTED: &str = "xoff_cost_counted";

/// Runs the part of a load that is counted.
#[inline(never)]
#[unsafe(export_name = "xoff_cost_counted")]
fn counted(work: &mut dyn FnMut() -> u64) -> u64 {
    work()
}

/// Instructions of one load.
struct Measured {
    load: &'static Load,
    /// Cycles, events, frames or frame-hops.
    units: u64,
    profile: Profile,
}

impl Measured {
    /// What is counted of this load, by name: a unit of its work, and a cycle of each top that ran in it.
    fn counts(&self) -> Vec<(String, u64)> {
        let Load { name, unit, .. } = self.load;
        let each = |instructions: u64, of: u64| (instructions + of / 2) / of;
        let whole = each(self.profile.instructions, self.units);
        let mut counts = vec![(format!("{name}: {unit}"), whole)];
        if self.load.tops {
            counts.extend(self.profile.tops.iter().map(|(top, cost)| {
                let count = each(cost.instructions, cost.calls);
                (format!("{name}: a cycle of {top}"), count)
            }));
        }
        counts
    }
}

/// Counts loads, two at a time where there are two processors.
fn measure(loads: &[&'static Load]) -> Result<Vec<Measured>, String> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(loads.len()) {
            scope.spawn(|| {
                while let Some(load) = loads.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = profile::of(&load.name)
                        .map(|(units, profile)| Measured {
                            load,
                            units,
                            profile,
                        })
                        .map_err(|error| format!("{}: {error}", load.name));
                    done.lock().expect("no thread panics").push(result);
                }
            });
        }
    });
    let done = done.into_inner().expect("no thread panics");
    let mut measured = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    measured.sort_by_key(|one| loads.iter().position(|load| load.name == one.load.name));
    Ok(measured)
}

fn run(arguments: &[String]) -> Result<bool, String> {
    if let [single, name] = arguments
        && single == SINGLE
    {
        println!("{}", loads::named(name)?.run());
        return Ok(true);
    }
    let (options, wanted): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|name| name.starts_with("--"));
    let write = match options[..] {
        [] => false,
        [option] if option == WRITE && wanted.is_empty() => true,
        _ => return Err(format!("{WRITE} stands alone, or names of loads do")),
    };
    let chosen =
        |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.starts_with(*part));
    let known =
        |part: &str| part == BYTES || loads::ALL.iter().any(|load| load.name.starts_with(part));
    if let Some(unknown) = wanted.iter().find(|part| !known(part)) {
        return Err(format!(
            "no load '{unknown}'; the loads are {}, and {BYTES}",
            loads::names()
        ));
    }
    let budgets = Budgets::read(&budget::file())?;
    let loads: Vec<_> = (loads::ALL.iter())
        .filter(|load| chosen(&load.name))
        .collect();
    let instructions: Counts = (measure(&loads)?.iter())
        .flat_map(Measured::counts)
        .collect();
    let bytes = match wanted.is_empty() || wanted.iter().any(|part| *part == BYTES) {
        true => Some(size::of_models()?),
        false => None,
    };
    let (text, held) = budgets.compare(&instructions, bytes.as_ref(), &chosen);
    print!("{text}");
    match bytes {
        Some(bytes) if write => {
            budgets.write(&budget::file(), instructions, bytes)?;
            Ok(true)
        }
        _ => Ok(held),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::from(2)
        }
    }
}
