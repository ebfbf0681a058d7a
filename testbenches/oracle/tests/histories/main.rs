//! Model NICs, which are right, pass the oracle over a path that loses, breaks, doubles and delays frames; and the
//! oracle finds what is changed in their logs.
//!
//! `ORACLE_CASES` and `ORACLE_FIRST` say how many cases are run, and the seed of the first.

use std::collections::BTreeMap;

use xoff_oracle::{Breach, Fact, Options, Oracle, Ps, What};
use xoff_sim::host::memory;
use xoff_sim::seeded::SplitMix;

use changes::Change;
use pair::{REST, log};

mod changes;
mod facts;
mod pair;

/// A number of the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |number| number.parse().expect("a number"))
}

fn source(_: usize, va: u64) -> u8 {
    let mut byte = [0];
    memory::fill(va, &mut byte);
    byte[0]
}

/// Judges a log.
fn judge(facts: &[Fact]) -> Result<(), Breach> {
    // These models answer what they have accepted, and their hosts take its bytes later.
    let options = Options {
        written_first: false,
        ..Options::default()
    };
    let mut oracle = Oracle::new(options, source);
    facts.iter().cloned().for_each(|fact| oracle.tell(fact));
    // Under go-back-0 a message that lacks a buffer for its last packet goes on for ever: its first ones are
    // acknowledged anew each time, which gives the retries back.
    match facts.last().is_some_and(|last| last.at < REST) {
        true => oracle.finish(),
        false => oracle.judge_until(Ps::MAX),
    }
}

#[test]
fn model_nics_pass() {
    let cases = number("ORACLE_CASES", 40);
    let first = number("ORACLE_FIRST", 0);
    let (mut frames, mut wrong) = (0, 0);
    let mut ends = BTreeMap::<String, u64>::new();
    for seed in first..first + cases {
        let facts = log(seed);
        for fact in &facts {
            match &fact.what {
                What::Sent(_) => frames += 1,
                What::Completed { completion, .. } => {
                    *ends
                        .entry(format!("{} {:?}", completion.receive, completion.status))
                        .or_default() += 1;
                }
                _ => {}
            }
        }
        if let Err(breach) = judge(&facts) {
            wrong += 1;
            println!("seed {seed}: {breach}");
        }
    }
    println!("{frames} frames, {ends:?}");
    assert_eq!(wrong, 0);
}

#[test]
fn what_is_changed_in_their_logs_is_found() {
    let cases = number("ORACLE_CASES", 30);
    let mut draw = SplitMix::new(7);
    let mut found = [[0; 2]; Change::ALL.len()];
    for seed in 0..cases {
        let facts = log(seed);
        for (index, change) in Change::ALL.into_iter().enumerate() {
            let places: Vec<usize> = (0..facts.len())
                .filter(|place| change.fits(&facts, *place))
                .collect();
            if places.is_empty() {
                continue;
            }
            let mut changed = facts.clone();
            change.make(&mut changed, draw.one_of(&places));
            found[index][0] += 1;
            found[index][1] += u64::from(judge(&changed).is_err());
        }
    }
    for (change, [all, found]) in Change::ALL.into_iter().zip(found) {
        println!("{change:?}: {found} of {all}");
        // What is lost, or comes again, may be what a right NIC could have done as well.
        let least = match change {
            Change::LoseFirstRequest | Change::LoseArrival | Change::LoseResponse => all / 3,
            Change::LoseWrite | Change::WriteTwice | Change::LoseCompletion | Change::SendTwice => {
                all * 4 / 5
            }
            _ => all,
        };
        assert!(found >= least && all > 0, "{change:?}: {found} of {all}");
    }
}
