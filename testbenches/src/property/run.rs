//! Draws cases, checks them on all cores, shrinks the first that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{Disagreement, Property};

/// How much to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many cases.
    Cases(u64),
    /// As many as fit in this time.
    Time(Duration),
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Case i is drawn from this and i alone: the same on any number of threads.
    pub seed: u64,
    /// How much.
    pub limit: Limit,
    /// On how many threads; at least 1.
    pub threads: usize,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Report<C> {
    /// Cases checked.
    pub cases: u64,
    /// Events in them.
    pub events: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The failing case with the least number, shrunk.
    pub failure: Option<Failing<C>>,
}

/// A case that does not hold.
#[derive(Debug, Clone)]
pub struct Failing<C> {
    /// Its number in the run.
    pub number: u64,
    /// The smallest case found that fails too.
    pub case: C,
    /// What does not hold in it.
    pub disagreement: Disagreement,
    /// How many simpler cases were tried.
    pub shrink_steps: u32,
}

/// Simpler cases to try, at most. A count and no time: the same seed shrinks to the same case on a slow machine.
const MAX_SHRINK_STEPS: u32 = 5_000;

/// Runs a property. `progress` is called now and then, from one thread, with the cases and events so far.
///
/// # Errors
///
/// The property's unit cannot be made.
pub fn run<P: Property>(
    plan: Plan,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Report<P::Case>, Disagreement>
where
    P::Case: Send,
{
    let start = Instant::now();
    let next = AtomicU64::new(0);
    let (cases, events) = (AtomicU64::new(0), AtomicU64::new(0));
    // Cases with a greater number than a failing one need no check.
    let first_failure = AtomicU64::new(u64::MAX);

    let worker = |thread: usize| -> Result<Option<u64>, Disagreement> {
        let mut property = P::new(plan.seed)?;
        let strategy = P::cases();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over = match plan.limit {
                Limit::Cases(limit) => number >= limit,
                Limit::Time(limit) => start.elapsed() >= limit,
            };
            if over || number > first_failure.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let case = draw(&strategy, plan.seed, number).current();
            match checked(&mut property, &case) {
                Ok(count) => {
                    let events = events.fetch_add(count, Ordering::Relaxed) + count;
                    let cases = cases.fetch_add(1, Ordering::Relaxed) + 1;
                    if thread == 0 {
                        progress(cases, events);
                    }
                }
                Err(_) => {
                    cases.fetch_add(1, Ordering::Relaxed);
                    first_failure.fetch_min(number, Ordering::Relaxed);
                    return Ok(Some(number));
                }
            }
        }
    };
    let failures = std::thread::scope(|scope| {
        let worker = &worker;
        let threads: Vec<_> = (0..plan.threads.max(1))
            .map(|thread| scope.spawn(move || worker(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("checked() catches panics"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let failure = match failures.into_iter().flatten().min() {
        Some(number) => Some(shrink::<P>(plan.seed, number)?),
        None => None,
    };
    Ok(Report {
        cases: cases.into_inner(),
        events: events.into_inner(),
        elapsed: start.elapsed(),
        failure,
    })
}

/// Checks cases 0 to `cases` of a seed on this thread, in their order, until one fails; that is not shrunk. Returns its number.
///
/// # Errors
///
/// The property's unit cannot be made.
pub fn first_failure<P: Property>(
    seed: u64,
    cases: u64,
) -> Result<Option<(u64, Disagreement)>, Disagreement> {
    let mut property = P::new(seed)?;
    let strategy = P::cases();
    Ok((0..cases).find_map(|number| {
        let case = draw(&strategy, seed, number).current();
        let disagreement = checked(&mut property, &case).err()?;
        Some((number, disagreement))
    }))
}

/// Case `number` of a seed.
fn draw<S: Strategy>(strategy: &S, seed: u64, number: u64) -> S::Tree {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    strategy
        .new_tree(&mut TestRunner::new_with_rng(config, rng))
        .expect("strategies of properties reject nothing")
}

/// Checks a case; a panic in the unit, the reference or the driver is a disagreement too.
fn checked<P: Property>(property: &mut P, case: &P::Case) -> Result<u64, Disagreement> {
    catch_unwind(AssertUnwindSafe(|| property.check(case))).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<String>().cloned())
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Makes the failing case smaller, each attempt on a fresh unit.
fn shrink<P: Property>(seed: u64, number: u64) -> Result<Failing<P::Case>, Disagreement> {
    let strategy = P::cases();
    let mut tree = draw(&strategy, seed, number);
    let fails = |case: &P::Case| -> Result<Option<Disagreement>, Disagreement> {
        Ok(checked(&mut P::new(seed)?, case).err())
    };
    let mut case = tree.current();
    let Some(mut disagreement) = fails(&case)? else {
        return Ok(Failing {
            number,
            case,
            disagreement: "fails only behind the cases before it: the reset leaves state behind"
                .to_owned(),
            shrink_steps: 0,
        });
    };
    let mut shrink_steps = 0;
    let mut more = tree.simplify();
    while more && shrink_steps < MAX_SHRINK_STEPS {
        shrink_steps += 1;
        let simpler = tree.current();
        more = match fails(&simpler)? {
            Some(still) => {
                (case, disagreement) = (simpler, still);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    Ok(Failing {
        number,
        case,
        disagreement,
        shrink_steps,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Fails on a list with a number over 700 behind an even one.
    struct Planted;

    impl Property for Planted {
        type Case = Vec<u32>;
        const UNIT: &'static str = "planted";
        const EVENTS: &'static str = "numbers";

        fn new(_: u64) -> Result<Self, Disagreement> {
            Ok(Self)
        }
        fn cases() -> BoxedStrategy<Vec<u32>> {
            vec(0..1000u32, 0..20).boxed()
        }
        fn check(&mut self, case: &Vec<u32>) -> Result<u64, Disagreement> {
            match case.windows(2).find(|w| w[0] % 2 == 0 && w[1] > 700) {
                Some(pair) => Err(format!("{pair:?}")),
                None => Ok(case.len() as u64),
            }
        }
        fn write(case: &Vec<u32>) -> Vec<String> {
            case.iter().map(u32::to_string).collect()
        }
        fn read(lines: &[&str]) -> Result<Vec<u32>, String> {
            let number = |line: &&str| line.parse().map_err(|e| format!("{line}: {e}"));
            lines.iter().map(number).collect()
        }
    }

    #[test]
    fn first_failure_is_the_one_that_a_run_shrinks() {
        let (number, _) = first_failure::<Planted>(5, 500).unwrap().unwrap();
        assert_eq!(number, run_on(1).failure.unwrap().number);
        assert_eq!(first_failure::<Planted>(5, number).unwrap(), None);
    }

    fn run_on(threads: usize) -> Report<Vec<u32>> {
        let plan = Plan {
            seed: 5,
            limit: Limit::Cases(500),
            threads,
        };
        run::<Planted>(plan, &|_, _| ()).unwrap()
    }

    #[test]
    fn finds_and_shrinks_the_same_on_any_number_of_threads() {
        let one = run_on(1).failure.unwrap();
        // The smallest odd one out behind some even number: proptest does not try every even number.
        assert!(
            matches!(one.case[..], [even, 701] if even % 2 == 0),
            "{:?}",
            one.case
        );
        assert_eq!(one.disagreement, format!("{:?}", one.case));
        for threads in [2, 5] {
            let more = run_on(threads).failure.unwrap();
            assert_eq!((more.number, more.case), (one.number, one.case.clone()));
        }
    }
}
