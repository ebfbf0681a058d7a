//! Cases: the settings of a whole history, and its events in order.
//!
//! One engine serves all units. It draws a history with a plain function, because one proptest strategy for each field
//! of each event would cost more than the unit's cycles. It shrinks a history by removing events and simplifying the
//! remaining ones. It writes and reads a history as text:
//!
//! ```text
//! bench {"bench":"pair","start":1000}
//! open {"qp":3,"psn":16777215}
//! wait 100
//! ```

use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;

use proptest::prelude::Rng;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xoff_sim::seeded::SplitMix;

/// A component of a history: its head, or one of its events (an enum).
pub trait Part: Clone + Debug + PartialEq + Send + Serialize + DeserializeOwned + 'static {
    /// Simpler values to try instead of this one. Simplifying never leads back to an earlier value.
    fn simpler(&self) -> Vec<Self> {
        Vec::new()
    }

    /// What a person wants to know of this value that its line of text does not say, in words.
    fn note(&self) -> Option<String> {
        None
    }

    /// Checks that the unit accepts this value. Drawn values are always valid; values read from a file may not be.
    ///
    /// # Errors
    ///
    /// Returns a message that says what is wrong and what would be right.
    fn valid(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Part for () {}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History<H, E> {
    /// The head.
    pub head: H,
    /// The events.
    pub events: Vec<E>,
}

/// First word of the line of a head.
const HEAD: &str = "bench";

impl<H: Part, E: Part> History<H, E> {
    /// Writes the history as lines of text: the head, unless it is empty, then one event per line.
    pub fn write(&self) -> Vec<String> {
        let head = match json(&self.head) {
            serde_json::Value::Null => None,
            head => Some(format!("{HEAD} {head}")),
        };
        head.into_iter()
            .chain(self.events.iter().map(line))
            .collect()
    }

    /// Writes the history like [`History::write`], with the notes of its events as comments above them.
    pub fn explained(&self) -> Vec<String> {
        let mut lines = self.write();
        let head = lines.len() - self.events.len();
        for (at, event) in self.events.iter().enumerate().rev() {
            if let Some(note) = event.note() {
                lines.insert(head + at, format!("# {note}"));
            }
        }
        lines
    }

    /// Reads a history that [`History::write`] or [`History::explained`] wrote. Empty lines and lines that begin with
    /// `#` are ignored.
    ///
    /// # Errors
    ///
    /// Returns the number of the first invalid line and what it should be.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
            .peekable();
        let at = |number: usize, line: &str, what: String| {
            let begin: String = line.chars().take(60).collect();
            format!("line {number}: '{begin}': {what}")
        };
        let (number, first) = *lines.peek().ok_or("no events")?;
        let head = match first
            .strip_prefix(HEAD)
            .and_then(|rest| rest.strip_prefix(' '))
        {
            Some(head) => {
                lines.next();
                head
            }
            None => "null",
        };
        let head: H = serde_json::from_str(head).map_err(|error| match head {
            "null" => at(number, first, format!("expected '{HEAD} JSON' here")),
            _ => at(number, first, error.to_string()),
        })?;
        head.valid().map_err(|what| at(number, first, what))?;
        let events = lines
            .map(|(number, line)| {
                let read = read_line(line).and_then(|event: E| event.valid().map(|()| event));
                read.map_err(|what| at(number, line, what))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { head, events })
    }
}

fn json(part: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(part).expect("parts have no keys but names")
}

/// Writes the value of an enum as `name JSON`, or as `name` alone.
pub fn line(event: &impl Serialize) -> String {
    match json(event) {
        serde_json::Value::Object(fields) => (fields.into_iter())
            .map(|(name, fields)| format!("{name} {fields}"))
            .collect(),
        name => name.as_str().unwrap_or_default().to_owned(),
    }
}

/// Reads a value that [`line()`] wrote.
fn read_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    let json = match line.trim().split_once(' ') {
        Some((name, fields)) => format!("{{{}:{fields}}}", json(&name)),
        None => json(&line.trim()).to_string(),
    };
    serde_json::from_str(&json).map_err(|error| error.to_string())
}

/// A proptest strategy that draws histories with a function.
#[derive(Debug, Clone, Copy)]
pub struct Histories<H, E>(pub fn(&mut SplitMix) -> History<H, E>);

impl<H: Part, E: Part> Strategy for Histories<H, E> {
    type Tree = Shrinking<H, E>;
    type Value = History<H, E>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut draw = SplitMix::new(runner.rng().next_u64());
        Ok(Shrinking::of((self.0)(&mut draw)))
    }
}

/// The state of shrinking a history. It first removes events, in ever smaller runs, then simplifies events, and repeats
/// both while that helps; then it simplifies the head.
///
/// proptest's own lists would do the same, but they build a tree of boxes for every event, also in histories that never
/// fail.
#[derive(Debug, Clone)]
pub struct Shrinking<H, E> {
    best: History<H, E>,
    trial: Option<History<H, E>>,
    next: Attempt,
    /// Something became simpler since the current round began.
    helped: bool,
}

/// The next attempt.
#[derive(Debug, Clone, Copy)]
enum Attempt {
    /// Remove `run` events, starting at `at`.
    Without { run: usize, at: usize },
    /// Replace event `at` by its simpler form number `form`.
    Simpler { at: usize, form: usize },
    /// Replace the head by its simpler form number `form`.
    Head { form: usize },
}

impl<H: Part, E: Part> Shrinking<H, E> {
    /// Begins with a failing history.
    pub(super) fn of(best: History<H, E>) -> Self {
        let run = best.events.len();
        Self {
            best,
            trial: None,
            next: Attempt::Without { run, at: 0 },
            helped: false,
        }
    }

    fn try_next(&mut self) -> bool {
        let length = self.best.events.len();
        loop {
            let mut trial = None;
            self.next = match self.next {
                Attempt::Without { run: 0, .. } => Attempt::Simpler { at: 0, form: 0 },
                Attempt::Without { run, at } if at >= length => Attempt::Without {
                    run: run / 2,
                    at: 0,
                },
                Attempt::Without { run, at } => {
                    let mut without = self.best.clone();
                    without.events.drain(at..(at + run).min(length));
                    trial = Some(without);
                    Attempt::Without { run, at: at + run }
                }
                Attempt::Simpler { at, .. } if at >= length => {
                    match std::mem::take(&mut self.helped) {
                        true => Attempt::Without { run: length, at: 0 },
                        false => Attempt::Head { form: 0 },
                    }
                }
                Attempt::Simpler { at, form } => {
                    match self.best.events[at].simpler().into_iter().nth(form) {
                        None => Attempt::Simpler {
                            at: at + 1,
                            form: 0,
                        },
                        Some(event) => {
                            let simpler = trial.insert(self.best.clone());
                            simpler.events[at] = event;
                            Attempt::Simpler { at, form: form + 1 }
                        }
                    }
                }
                Attempt::Head { form } => match self.best.head.simpler().into_iter().nth(form) {
                    None => return false,
                    Some(head) => {
                        trial.insert(self.best.clone()).head = head;
                        Attempt::Head { form: form + 1 }
                    }
                },
            };
            if trial.is_some() {
                self.trial = trial;
                return true;
            }
        }
    }
}

impl<H: Part, E: Part> ValueTree for Shrinking<H, E> {
    type Value = History<H, E>;

    fn current(&self) -> History<H, E> {
        self.trial.as_ref().unwrap_or(&self.best).clone()
    }

    fn simplify(&mut self) -> bool {
        if let Some(trial) = self.trial.take() {
            self.helped = true;
            // After a removal, the events behind it begin where the removed ones began: go back there.
            self.next = match self.next {
                Attempt::Without { run, at } => Attempt::Without {
                    run,
                    at: at.saturating_sub(run),
                },
                Attempt::Simpler { at, .. } => Attempt::Simpler { at, form: 0 },
                Attempt::Head { .. } => Attempt::Head { form: 0 },
            };
            self.best = trial;
        }
        self.try_next()
    }

    fn complicate(&mut self) -> bool {
        self.trial = None;
        self.try_next()
    }
}

/// Numbers less than `n`: 0, then ever closer to `n`, so that shrinking finds the least failing number in few attempts.
pub fn less_than(n: u64) -> impl Iterator<Item = u64> {
    let nearer = (1..64)
        .map(move |halvings| n >> halvings)
        .take_while(|&gap| gap > 0)
        .map(move |gap| n - gap);
    std::iter::once(0)
        .chain(nearer)
        .filter(move |&less| less < n)
}

/// Draws a cycle in which a history begins: any of the 48 bits of `now_i`, and often one shortly before `now_i` wraps
/// or its highest bit is set.
pub fn any_start(draw: &mut SplitMix) -> u64 {
    match draw.within(0, 7) {
        0 => (1 << 48) - draw.any_length(24),
        1 => (1 << 47) - draw.any_length(24),
        _ => draw.any_length(48),
    }
}

/// Checks that a history may begin in this cycle. For heads.
///
/// # Errors
///
/// Returns an error if the cycle is far beyond the 48 bits of `now_i`.
pub fn valid_start(start: u64) -> Result<(), String> {
    match start >> 50 {
        0 => Ok(()),
        _ => Err(format!("start {start}; expected a cycle below 2^50")),
    }
}

/// Checks that each of these values, named as in a case file, is in its range. For heads and events.
///
/// # Errors
///
/// Returns an error that names the first value that is not, and its range.
pub fn in_ranges<T, const N: usize>(values: [(&str, T, RangeInclusive<T>); N]) -> Result<(), String>
where
    T: PartialOrd + Display,
{
    for (name, value, range) in values {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            return Err(format!("{name} {value}; expected {least} to {most}"));
        }
    }
    Ok(())
}

/// No bits, then all bits except one.
pub fn fewer_bits(set: u16) -> impl Iterator<Item = u16> {
    std::iter::once(0)
        .chain((0..16).map(move |bit| set & !(1 << bit)))
        .filter(move |&fewer| fewer != set)
}

/// Shrinks a history as long as `fails` holds and returns the smallest one. For tests of shrinking.
///
/// # Panics
///
/// Panics if the initial history does not fail.
#[cfg(test)]
pub(crate) fn smallest<T: ValueTree>(mut tree: T, fails: impl Fn(&T::Value) -> bool) -> T::Value {
    let mut smallest = tree.current();
    assert!(fails(&smallest));
    let mut more = tree.simplify();
    while more {
        let trial = tree.current();
        more = match fails(&trial) {
            true => {
                smallest = trial;
                tree.simplify()
            }
            false => tree.complicate(),
        };
    }
    smallest
}

/// Writes and reads 200 cases of a property. For tests of its text form.
///
/// # Panics
///
/// Panics if a case is not equal to the original after reading.
#[cfg(test)]
pub(crate) fn cases_are_what_their_text_says<P: super::Property>() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let case = P::cases().new_tree(&mut runner).unwrap().current();
        assert_eq!(History::read(&case.write().join("\n")), Ok(case));
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Number {
        Is(u32),
        None,
    }

    impl Part for Number {
        fn simpler(&self) -> Vec<Self> {
            match self {
                Self::Is(n) => less_than((*n).into()).map(|n| Self::Is(n as u32)).collect(),
                Self::None => vec![],
            }
        }

        fn valid(&self) -> Result<(), String> {
            match self {
                Self::Is(10..) => Err("a number below 10".to_owned()),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn shrinks_to_the_events_that_matter() {
        // Fails with a 7 or more anywhere before a 3 or more.
        let fails = |case: &History<(), Number>| {
            let of = |least: u32| move |n: &Number| matches!(n, Number::Is(n) if *n >= least);
            (case.events.iter().position(of(7)))
                .is_some_and(|at| case.events[at + 1..].iter().any(of(3)))
        };
        let histories = Histories(|draw| History {
            head: (),
            events: (0..100)
                .map(|_| Number::Is(draw.within(0, 9) as u32))
                .collect(),
        });
        let tree = histories
            .new_tree(&mut TestRunner::deterministic())
            .unwrap();
        assert_eq!(smallest(tree, fails).events, [Number::Is(7), Number::Is(3)]);
    }

    #[test]
    fn a_wrong_line_is_named_with_its_number() {
        let read = |text| History::<(), Number>::read(text).map(|case| case.events);
        assert_eq!(
            read("# a case\n\nis 3\nnone\n"),
            Ok(vec![Number::Is(3), Number::None])
        );
        let wrong = |text| read(text).unwrap_err();
        assert_eq!(wrong("# nothing"), "no events");
        assert_eq!(wrong("none\nis 11"), "line 2: 'is 11': a number below 10");
        let text = wrong("#\nwas 3");
        assert!(
            text.starts_with("line 2: 'was 3': unknown variant `was`, expected `is` or `none`"),
            "{text}"
        );
        assert!(wrong("is \"x").starts_with("line 1: 'is \"x': "));
        assert!(wrong("bench 3\nnone").starts_with("line 1: 'bench 3': "));
        let head = History::<u8, Number>::read("none").unwrap_err();
        assert_eq!(head, "line 1: 'none': expected 'bench JSON' here");
    }

    impl Part for u8 {}
}
