//! The units against their references: kept cases first, then fixed seeds, then a fresh one that is printed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use xoff::property::builder::Builder;
use xoff::property::dcqcn::Dcqcn;
use xoff::property::gbn::Gbn;
use xoff::property::nic::Nic;
use xoff::property::parser::Parser;
use xoff::property::pfc::Pfc;
use xoff::property::run::{Limit, Plan, run};
use xoff::property::{Property, case_file};

fn holds<P: Property>(cases: u64)
where
    P::Case: Send,
{
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    for path in case_file::kept::<P>(&folder).unwrap() {
        let case = case_file::read::<P>(&path).unwrap();
        let held = P::new(1).and_then(|mut property| property.check(&case));
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
    for (seed, cases) in [(1, cases), (fresh, cases / 4)] {
        println!("{}: seed {seed}, {cases} cases", P::UNIT);
        let plan = Plan {
            seed,
            limit: Limit::Cases(cases),
            threads: 2,
        };
        if let Some(failing) = run::<P>(plan, &|_, _| ()).unwrap().failure {
            let path = case_file::keep::<P>(&folder, &failing.case, &failing.disagreement).unwrap();
            panic!(
                "case {} of seed {seed}, shrunk in {} steps:\n{}\n{}\nrepeat it: xoff replay {}",
                failing.number,
                failing.shrink_steps,
                P::write(&failing.case).join("\n"),
                failing.disagreement,
                path.display()
            );
        }
    }
}

#[test]
fn parser() {
    holds::<Parser>(4_000);
}

#[test]
fn builder() {
    holds::<Builder>(2_000);
}

#[test]
fn pfc() {
    holds::<Pfc>(20_000);
}

#[test]
fn dcqcn() {
    holds::<Dcqcn>(8_000);
}

#[test]
fn gbn() {
    holds::<Gbn>(2_000);
}

#[test]
fn nic() {
    holds::<Nic>(200);
}
