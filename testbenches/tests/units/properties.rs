//! Property tests of the units against their references: kept cases first, then fixed seeds, then a fresh seed that is
//! printed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use xoff::property::Property;
use xoff::property::case_file::{CaseFile, keep, kept};
use xoff::property::run::{Limit, Plan, run};
use xoff::property::unit::{Unit, WithProperty};

struct Holds;

impl WithProperty for Holds {
    type Output = ();

    fn with<P: Property>(self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
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
            };
            if let Some(failing) = run::<P>(plan, &|_, _| ()).unwrap().failure {
                let path = keep::<P>(&folder, seed, &failing).unwrap();
                panic!(
                    "case {} of seed {seed}, shrunk in {} steps:\n{}\n{}\nrepeat it: xoff replay {}",
                    failing.number,
                    failing.shrink_steps,
                    failing.case.write().join("\n"),
                    failing.disagreement,
                    path.display()
                );
            }
        }
    }
}

macro_rules! tests {
    ($($(#[$help:meta])* $Unit:ident, $module:ident::$Property:ident;)*) => {
        $(
            #[test]
            fn $module() {
                Unit::$Unit.with(Holds);
            }
        )*
    };
}

xoff::for_each_unit!(tests);
