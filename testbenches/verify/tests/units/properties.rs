//! Property tests of the units against their references: kept cases first, then fixed seeds, then a fresh seed that is
//! printed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use xoff_verify::cover::file::{Bin, UnitCoverage};
use xoff_verify::property::Property;
use xoff_verify::property::case_file::{CaseFile, keep, kept};
use xoff_verify::property::run::{Limit, Plan, Report, run, same_from_any_start};
use xoff_verify::property::unit::{Unit, WithProperty};

/// The most simpler cases to try: a test says within a minute or so that it fails. `xoff replay --shrink` tries more.
const SHRINK: u32 = 200;

struct Holds;

impl WithProperty for Holds {
    type Output = ();

    fn with<P: Property>(self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        for path in kept::<P>(&folder).unwrap() {
            let held = CaseFile::open(&path).unwrap().replay::<P>().unwrap();
            if let Err(disagreement) = held {
                panic!("{disagreement}\nrepeat it: xoff replay {}", path.display());
            }
        }
        // XOFF_SEED repeats a run whose fresh seed failed.
        let given = std::env::var("XOFF_SEED")
            .ok()
            .map(|seed| seed.parse().expect("XOFF_SEED is a number"));
        let clock = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_secs()
        };
        let fresh = given.unwrap_or_else(clock);
        for (seed, cases) in [(1, P::CASES), (fresh, P::CASES / 4)] {
            println!("{}: seed {seed}, {cases} cases", P::UNIT);
            let plan = Plan {
                seed,
                limit: Limit::Cases(cases),
                threads: 2,
                shrink: SHRINK,
            };
            let report = run::<P>(plan, &|_, _| ()).unwrap();
            if let Some(failing) = &report.failure {
                let path = keep::<P>(&folder, seed, failing).unwrap();
                panic!(
                    "case {} of seed {seed}, shrunk in {} steps:\n{}\n{}\nrepeat it: xoff replay {}",
                    failing.number,
                    failing.shrink_steps,
                    failing.case.write().join("\n"),
                    failing.disagreement,
                    path.display()
                );
            }
            if seed == 1 {
                covered::<P>(seed, &report);
            }
        }
    }
}

/// The cases of the fixed seed hit every bin that is not declared unreachable, and none that is.
fn covered<P: Property>(seed: u64, report: &Report<P>) {
    let coverage = UnitCoverage::of_run(seed, report);
    for group in &coverage.groups {
        let named = |bin: &Bin| format!("{} {}: {}", P::UNIT, group.name, bin.at.join(" × "));
        let holes: Vec<_> = group.holes().map(named).collect();
        assert!(holes.is_empty(), "not hit:\n{}", holes.join("\n"));
        let wrong: Vec<_> = group.wrong().map(named).collect();
        assert!(
            wrong.is_empty(),
            "declared unreachable and hit:\n{}",
            wrong.join("\n")
        );
    }
}

macro_rules! tests {
    ($(#[$help:meta] $Unit:ident, $module:ident::$Property:ident, $LISTED:ident;)*) => {
        $(
            #[test]
            fn $module() {
                Unit::$Unit.with(Holds);
            }
        )*
    };
}

xoff_verify::for_each_unit!(tests);

/// Results after reset do not depend on what registers and memories start with.
struct AnyStart;

impl WithProperty for AnyStart {
    type Output = ();

    fn with<P: Property>(self) {
        // New units for each case and start, so there are few; two whole NICs cost most. The networks are models.
        let cases = match P::UNIT {
            "nic" => 1,
            "network" => return,
            _ => 6,
        };
        if let Err(what) = same_from_any_start::<P>(7, cases, &[0, 1, 2]) {
            panic!("{}: {what}", P::UNIT);
        }
    }
}

#[test]
fn results_do_not_depend_on_what_registers_start_with() {
    for &unit in Unit::value_variants() {
        unit.with(AnyStart);
    }
}

/// A planted dependency: the reset is left out.
#[test]
fn a_missing_reset_shows_in_the_start_of_registers() {
    use xoff_rtl_units::{PauseWatchdog, pause_watchdog::In};

    let outcome = |start: u64, resets: bool| {
        let settings = verilated::Settings::new("watchdog").seed(start);
        let mut unit = PauseWatchdog::new(&settings).unwrap();
        let mut out = Default::default();
        let reset = In {
            rst_i: resets.into(),
            ..In::default()
        };
        // Without a reset an assertion may fail too.
        match unit
            .cycle(&reset, &mut out)
            .and_then(|()| unit.cycle(&In::default(), &mut out))
        {
            Ok(()) => format!("silence {}", out.silence_o),
            Err(failure) => failure.to_string(),
        }
    };
    let outcomes = |resets: bool| -> BTreeSet<String> {
        (1..=16).map(|start| outcome(start, resets)).collect()
    };
    assert_eq!(outcomes(true), BTreeSet::from(["silence 0".to_owned()]));
    assert!(outcomes(false).len() > 1, "{:?}", outcomes(false));
}

#[test]
fn bins_do_not_depend_on_the_number_of_threads() {
    use xoff_verify::property::parser::Parser;

    let counts = |threads: usize| {
        let plan = Plan {
            seed: 3,
            limit: Limit::Cases(100),
            threads,
            shrink: SHRINK,
        };
        let report = run::<Parser>(plan, &|_, _| ()).unwrap();
        report.bins.counts().to_vec()
    };
    let one = counts(1);
    // Every case has a frame, which has an end.
    assert!(one.iter().flatten().sum::<u64>() >= 100);
    assert_eq!(one, counts(3));
}
