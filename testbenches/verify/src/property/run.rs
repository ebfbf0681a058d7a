//! Draws cases, checks them on all cores, shrinks the first that fails.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::bins::Bins;
use super::history::Shrinking;
use super::{Case, Disagreement, Property, text};
use xoff::interruption::interrupted;

/// Amount of work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many cases.
    Cases(u64),
    /// As many as fit in this time.
    Time(Duration),
}

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Seed. Case i depends only on the seed and on i, so it is the same with any number of threads.
    pub seed: u64,
    /// Amount of work to do.
    pub limit: Limit,
    /// Number of threads, at least 1.
    pub threads: usize,
    /// The most simpler cases to try for the one that fails, by default [`SHRINK`].
    pub shrink: u32,
}

/// Result of a run.
#[derive(Clone)]
pub struct Report<P: Property> {
    /// Cases checked.
    pub cases: u64,
    /// Events in these cases.
    pub events: u64,
    /// Duration of the run.
    pub elapsed: Duration,
    /// The bins that they hit. Without a failure they depend only on the seed and the number of cases; after a failure
    /// also on how far other threads had come.
    pub bins: Bins,
    /// The failing case with the least number, shrunk.
    pub failure: Option<Failing<P>>,
}

/// A failing case.
#[derive(Debug, Clone)]
pub struct Failing<P: Property> {
    /// Its number in the run.
    pub number: u64,
    /// The smallest failing case that shrinking found.
    pub case: Case<P>,
    /// What does not hold in the shrunk case.
    pub disagreement: Disagreement,
    /// Number of simpler cases tried.
    pub shrink_steps: u32,
    /// Whether it fails alone; otherwise only behind the cases before it.
    pub alone: bool,
}

/// The most simpler cases to try. It is a count and not a time, so that the same seed shrinks to the same case on a
/// slow machine too.
pub const SHRINK: u32 = 5_000;

/// Runs a property; ends early when the process is asked to end. `progress` is called from time to time, from one
/// thread, with the numbers of cases and events so far.
///
/// # Errors
///
/// Returns an error if the property's unit cannot be created.
pub fn run<P: Property>(
    plan: Plan,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Report<P>, Disagreement> {
    let start = Instant::now();
    let next = AtomicU64::new(0);
    let (cases, events) = (AtomicU64::new(0), AtomicU64::new(0));
    // Only the failing case with the least number is reported, so cases with greater numbers need no check.
    let first_failure = AtomicU64::new(u64::MAX);

    let worker = |thread: usize| -> Result<(Option<u64>, Bins), Disagreement> {
        let mut property = P::new(plan.seed).map_err(text)?;
        let mut bins = Bins::new(P::groups());
        let strategy = P::cases();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over = match plan.limit {
                Limit::Cases(limit) => number >= limit,
                Limit::Time(limit) => start.elapsed() >= limit,
            };
            if over || interrupted() || number > first_failure.load(Ordering::Relaxed) {
                return Ok((None, bins));
            }
            let case = draw(&strategy, plan.seed, number).current();
            match checked(&mut property, &case, &mut bins) {
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
                    return Ok((Some(number), bins));
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
    let mut bins = Bins::new(P::groups());
    failures.iter().for_each(|(_, hit)| bins.merge(hit));
    let failure = match failures
        .into_iter()
        .filter_map(|(failure, _)| failure)
        .min()
    {
        Some(number) => Some(shrink::<P>(plan.seed, number, plan.shrink)?),
        None => None,
    };
    Ok(Report {
        cases: cases.into_inner(),
        events: events.into_inner(),
        elapsed: start.elapsed(),
        bins,
        failure,
    })
}

/// Checks these cases of a seed on this thread, in order, until one fails. Returns the number of that case, which is
/// not shrunk.
///
/// # Errors
///
/// Returns an error if the property's unit cannot be created.
pub fn first_failure<P: Property>(
    seed: u64,
    cases: Range<u64>,
) -> Result<Option<(u64, Disagreement)>, Disagreement> {
    first_failure_until::<P>(seed, cases, &|| false)
}

/// Like [`first_failure`], and ends early, without a failure, when `stop` returns true, which is asked before each
/// case.
///
/// # Errors
///
/// Returns an error if the property's unit cannot be created.
pub fn first_failure_until<P: Property>(
    seed: u64,
    cases: Range<u64>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<(u64, Disagreement)>, Disagreement> {
    let mut property = P::new(seed).map_err(text)?;
    let mut bins = Bins::new(P::groups());
    let strategy = P::cases();
    let mut cases = cases.take_while(|_| !stop());
    Ok(cases.find_map(|number| {
        let case = draw(&strategy, seed, number).current();
        let disagreement = checked(&mut property, &case, &mut bins).err()?;
        Some((number, disagreement))
    }))
}

/// Checks cases 0 to `cases` (exclusive) of a seed, each on new units whose registers and memories start with the
/// random bits of each of `starts` in turn. After reset nothing may depend on them: each case has to hold with the same
/// number of events and the same bins.
///
/// # Errors
///
/// Returns the first case that fails or differs, with the two starts.
pub fn same_from_any_start<P: Property>(
    seed: u64,
    cases: u64,
    starts: &[u64],
) -> Result<(), Disagreement> {
    let strategy = P::cases();
    for number in 0..cases {
        let case = draw(&strategy, seed, number).current();
        let mut first: Option<(u64, u64, Bins)> = None;
        for &start in starts {
            let mut bins = Bins::new(P::groups());
            let mut property = P::new(start).map_err(text)?;
            let events = checked(&mut property, &case, &mut bins)
                .map_err(|what| format!("case {number}, registers of start {start}: {what}"))?;
            match &first {
                None => first = Some((start, events, bins)),
                Some((_, same, hit)) if *same == events && hit.counts() == bins.counts() => {}
                Some((other, ..)) => {
                    return Err(format!(
                        "case {number}: another run with registers of start {start} than with those of {other}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Draws case `number` of a seed.
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

/// Checks a case. A panic in the unit, the reference or the driver counts as a failure too.
///
/// # Errors
///
/// Returns what does not hold.
pub(super) fn checked<P: Property>(
    property: &mut P,
    case: &Case<P>,
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    caught(|| property.check(case, bins))
}

/// Calls a part of a property. A panic counts as a failure.
///
/// # Errors
///
/// Returns what does not hold.
pub(super) fn caught<R>(part: impl FnOnce() -> Result<R, Disagreement>) -> Result<R, Disagreement> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<String>().cloned())
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Shrinks a failing case of a seed, with at most `most` attempts, each with a new unit. When the process is asked to
/// end, the smallest case so far is the result.
///
/// # Errors
///
/// Returns an error if the property's unit cannot be created.
pub fn shrink<P: Property>(seed: u64, number: u64, most: u32) -> Result<Failing<P>, Disagreement> {
    let tree = draw(&P::cases(), seed, number);
    let case = tree.current();
    let shrunk = smaller::<P>(seed, tree, most)?;
    Ok(match shrunk {
        Some(shrunk) => Failing {
            number,
            case: shrunk.case,
            disagreement: shrunk.disagreement,
            shrink_steps: shrunk.steps,
            alone: true,
        },
        None => Failing {
            number,
            case,
            disagreement: "fails only behind the cases before it: the reset leaves state behind"
                .to_owned(),
            shrink_steps: 0,
            alone: false,
        },
    })
}

/// The result of shrinking.
#[derive(Debug, Clone)]
pub struct Shrunk<P: Property> {
    /// The smallest failing case that was found.
    pub case: Case<P>,
    /// What does not hold in it.
    pub disagreement: Disagreement,
    /// Number of simpler cases tried.
    pub steps: u32,
}

/// Shrinks a case that somebody has kept or written, like [`shrink`]; `None` if it does not fail.
///
/// # Errors
///
/// Returns an error if the property's unit cannot be created.
pub fn shrink_case<P: Property>(
    seed: u64,
    case: Case<P>,
    most: u32,
) -> Result<Option<Shrunk<P>>, Disagreement> {
    smaller(seed, Shrinking::of(case), most)
}

/// Shrinks what a tree begins with; `None` if that does not fail.
fn smaller<P: Property>(
    seed: u64,
    mut tree: impl ValueTree<Value = Case<P>>,
    most: u32,
) -> Result<Option<Shrunk<P>>, Disagreement> {
    // What simpler cases hit is not counted.
    let mut bins = Bins::new(P::groups());
    let mut fails = |case: &Case<P>| -> Result<Option<Disagreement>, Disagreement> {
        Ok(checked(&mut P::new(seed).map_err(text)?, case, &mut bins).err())
    };
    let mut case = tree.current();
    let Some(mut disagreement) = fails(&case)? else {
        return Ok(None);
    };
    let mut steps = 0;
    let mut more = tree.simplify();
    while more && steps < most && !interrupted() {
        steps += 1;
        let simpler = tree.current();
        more = match fails(&simpler)? {
            Some(still) => {
                (case, disagreement) = (simpler, still);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    Ok(Some(Shrunk {
        case,
        disagreement,
        steps,
    }))
}

/// Artificial properties, for tests of the code that runs properties and keeps failing cases.
#[cfg(test)]
pub(super) mod planted {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use xoff_cosim::units::UnitError;

    use super::super::history::{History, Part};
    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Number {
        Is(u32),
    }

    impl Part for Number {}

    fn numbers() -> BoxedStrategy<History<(), Number>> {
        let events = vec((0..1000u32).prop_map(Number::Is), 0..20);
        (events.prop_map(|events| History { head: (), events })).boxed()
    }

    /// Fails on a list with a number over 700 after an even one.
    #[derive(Debug, Clone)]
    pub struct Planted;

    impl Property for Planted {
        type Head = ();
        type Event = Number;
        const UNIT: &'static str = "planted";
        const EVENTS: &'static str = "numbers";
        const CASES: u64 = 500;

        fn new(_: u64) -> Result<Self, UnitError> {
            Ok(Self)
        }
        fn cases() -> BoxedStrategy<Case<Self>> {
            numbers()
        }
        fn check(&mut self, case: &Case<Self>, _: &mut Bins) -> Result<u64, Disagreement> {
            let bad = |pair: &&[Number]| matches!(pair, [Number::Is(a), Number::Is(b)] if a % 2 == 0 && *b > 700);
            match case.events.windows(2).find(bad) {
                Some(pair) => Err(format!("{pair:?}")),
                None => Ok(case.events.len() as u64),
            }
        }
    }

    /// Fails on every case when the seed is odd.
    #[derive(Debug, Clone)]
    pub struct ByStart(u64);

    impl Property for ByStart {
        type Head = ();
        type Event = Number;
        const UNIT: &'static str = "by_start";
        const EVENTS: &'static str = "numbers";
        const CASES: u64 = 1;

        fn new(seed: u64) -> Result<Self, UnitError> {
            Ok(Self(seed))
        }
        fn cases() -> BoxedStrategy<Case<Self>> {
            numbers()
        }
        fn check(&mut self, case: &Case<Self>, _: &mut Bins) -> Result<u64, Disagreement> {
            // A panic is a failure in a replay too.
            assert!(self.0.is_multiple_of(2), "the registers start odd");
            Ok(case.events.len() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::planted::{ByStart, Number, Planted};
    use super::*;

    #[test]
    fn first_failure_is_the_one_that_a_run_shrinks() {
        let (number, _) = first_failure::<Planted>(5, 0..500).unwrap().unwrap();
        assert_eq!(number, run_on(1).failure.unwrap().number);
        assert_eq!(first_failure::<Planted>(5, 0..number).unwrap(), None);
        assert_eq!(
            first_failure::<Planted>(5, number..500).unwrap().unwrap().0,
            number
        );
    }

    #[test]
    fn what_depends_on_the_start_is_found() {
        // ByStart fails where the start is odd.
        assert_eq!(same_from_any_start::<ByStart>(1, 3, &[2, 4]), Ok(()));
        let found = same_from_any_start::<ByStart>(1, 3, &[2, 3]).unwrap_err();
        assert!(
            found.starts_with("case 0, registers of start 3: panic"),
            "{found}"
        );
    }

    fn run_on(threads: usize) -> Report<Planted> {
        let plan = Plan {
            seed: 5,
            limit: Limit::Cases(500),
            threads,
            shrink: SHRINK,
        };
        run::<Planted>(plan, &|_, _| ()).unwrap()
    }

    #[test]
    fn few_attempts_leave_a_larger_case() {
        let number = run_on(1).failure.unwrap().number;
        let of = |most| shrink::<Planted>(5, number, most).unwrap();
        let (none, few, all) = (of(0), of(3), of(SHRINK));
        assert_eq!((none.shrink_steps, few.shrink_steps), (0, 3));
        assert!(none.case.events.len() > all.case.events.len());
        assert!(few.case.events.len() >= all.case.events.len());
    }

    #[test]
    fn finds_and_shrinks_the_same_on_any_number_of_threads() {
        let one = run_on(1).failure.unwrap();
        // The smallest failing number after some even number: proptest does not try every even number.
        let events = &one.case.events[..];
        assert!(
            matches!(events, [Number::Is(even), Number::Is(701)] if even % 2 == 0),
            "{events:?}"
        );
        assert_eq!(one.disagreement, format!("{events:?}"));
        for threads in [2, 5] {
            let more = run_on(threads).failure.unwrap();
            assert_eq!((more.number, more.case), (one.number, one.case.clone()));
        }
    }
}
